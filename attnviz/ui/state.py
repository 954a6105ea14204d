"""What the address says of a page, and what the page tells the address.

Most controls are bound to a query parameter by Streamlit itself (`bind="query-params"`). The text is not: it belongs in the
address when it was run, not while it is being typed.
"""

from collections.abc import Collection

import streamlit as st

from attnviz.text.link import pack, unpack

# Browsers and proxies refuse longer addresses; such a text is not part of the link, and the page says so.
LINK_CHARACTERS = 4_000
# Models that stand side by side at most. What a person chose in one of them has the model's number, from 1, in its name.
SLOTS = 4

_OF_A_HEAD = ("layer", "head", "all_heads", "models")
_OF_A_VISIT = (
    "text",
    "pair",
    "typed",
    "typed_pair",
    "with_pair",
    "query",
    "key",
    "target",
    "model",
    "question",
    "passage",
    "typed_question",
    "typed_passage",
    "side",
    "between",
    "view",
    "look",
    "way",
    "word",
    "reference",
    *("source", "lesson", "tokens", "numbers", "heads", "mask", "own", "padded", "divide", "seed", "dim", "at", "at_step"),
    "revealed",
    *("toy", "toy_head", "toy_inputs"),
    "all",
    *(
        f"{name}{slot}"
        for name in ("query", "key", "begins", "candidate", "view", "look", "all", "asked")
        for slot in range(1, SLOTS + 1)
    ),
)


def arrive(page: str) -> None:
    """On the first run of a page after another: what the address says replaces what an earlier visit left behind.

    The head of one page means nothing on the next, whose models are others.
    """
    if st.session_state.get("page") != page:
        st.session_state.page = page
        for name in (*_OF_A_HEAD, *(_OF_A_VISIT if st.query_params else ())):
            st.session_state.pop(name, None)


def asked(name: str, default: str) -> str:
    """What the address says, as `publish` has put it there; the default where it says nothing, or nothing that can be read."""
    found = unpack(st.query_params.get(name, default))
    return default if found is None else found


def restore(name: str, default: str, options: Collection[str] = ()) -> None:
    """Gives the widget called `name` the value that the address holds, before the widget is drawn for the first time.

    For widgets whose labels differ from their values: Streamlit's own binding would put the labels into the address.
    """
    if name not in st.session_state:
        value = asked(name, default)
        st.session_state[name] = value if not options or value in options else default


def publish(name: str, value: str, default: str) -> None:
    """Puts a value into the address, unless it is the default."""
    if value == default:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != (packed := pack(value)):
        st.query_params[name] = packed


def remembered(name: str, default: str) -> str:
    """A value that was run: of this visit, else of the address, else the default."""
    if name not in st.session_state:
        st.session_state[name] = asked(name, default)
    return st.session_state[name]


def remember(name: str, value: str, default: str) -> None:
    """Keeps a value that is run now, and puts it into the address unless it is the default or too long."""
    st.session_state[name] = value
    publish(name, value if len(value) <= LINK_CHARACTERS else default, default)


def forget_cell() -> None:
    """Lets go of the chosen cells: the next picture shows its own strongest link."""
    for name in ("query", "key"):
        _forget(name, *(f"{name}{slot}" for slot in range(1, SLOTS + 1)))


def forget_drafts() -> None:
    """Lets go of what was chosen in the translations of a text: cells, how they begin, and which candidate is looked at."""
    forget_cell()
    for name in ("begins", "candidate"):
        _forget(*(f"{name}{slot}" for slot in range(1, SLOTS + 1)))


def _forget(*names: str) -> None:
    for name in names:
        st.session_state.pop(name, None)
        st.query_params.pop(name, None)
