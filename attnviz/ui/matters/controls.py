"""What is asked on the page Matters: the text, what about its output, and which of its words are taken away."""

from collections.abc import Sequence

import streamlit as st

from attnviz.analysis.matters.faithfulness import AttributionReport
from attnviz.attribution.methods import HeadMethod, method_named
from attnviz.core.errors import ModelError, PromptError
from attnviz.core.trace import Prompt
from attnviz.models.catalog import CATALOG, HUB
from attnviz.ui.address.state import forget, publish, remember, remembered, url_value, value
from attnviz.ui.address.widgets import dropdown
from attnviz.ui.boxes import Box, run_boxes, tell_unrun
from attnviz.ui.examples import examples
from attnviz.ui.layout import escaped
from attnviz.ui.permissions import check_length
from attnviz.ui.prompt import long_notice

# What the second box is for, by what the model does.
_SECOND = {"answer": "Question", "encode": "Second text", "translate": "Translation, if not the model's own"}


def text_boxes(model: str) -> Prompt | None:
    """What is typed for a model: a text, and what else it reads; None after the page has said what is wrong."""
    known = CATALOG[model].task if model in CATALOG else "translate" if model in HUB["encoder-decoder"] else "encode"
    text, pair = _first(known)
    boxes, run = [Box("typed", "Text", "Type a text")], {"typed": remembered("text", text)}
    if known in _SECOND:
        boxes.append(Box("typed_pair", _SECOND[known], _SECOND[known], one_line=True))
        # Beside another text the usual one would mean nothing.
        pair = pair if run["typed"] == text else ""
        run["typed_pair"] = remembered("pair", pair)
    if typed := run_boxes(boxes, run):
        take([])
        forget("about")
        run = typed
    tell_unrun()
    given, second = run["typed"], run.get("typed_pair", "")
    pair = pair if given == text else ""
    remember("text", given, text)
    long_notice("text", given)
    if known in _SECOND:
        remember("pair", second, pair)
    try:
        check_length(given, second)
        if known == "translate":
            return Prompt(given, target=second or None)
        return Prompt(given, question=second or None, pair=second or None)
    except PromptError as error:
        st.error(escaped(error), icon=":material/edit:")
        return None


def _first(task: str) -> tuple[str, str]:
    """What stands in the boxes unasked, by what the model does."""
    if task == "answer":
        shown = examples("answer")[0]
        return shown.text, shown.question
    if task == "encode":
        return "A man is playing a guitar on the stage.", "Somebody plays music in front of people."
    shown = examples("translate" if task == "translate" else "summarize")[0]
    return shown.text, ""


def seen_head() -> str:
    """The head from which somebody came, as a way of asking; "" where there is none."""
    seen = value("seen", "")
    try:
        known = seen if seen and isinstance(method_named(seen), HeadMethod) else ""
    except ModelError:
        known = ""
    publish("seen", known, "")
    return known


def about(model: str) -> str:
    """What about the output is asked, as the address has it; "" for what the model is there for.

    What was asked of another model is forgotten.
    """
    state = st.session_state
    if state.get("about_of", model) != model:
        forget("about", "taken")
    state.about_of = model
    chosen = str(value("about", ""))
    return "" if chosen == state.get("about_first") else chosen


def target_picker(report: AttributionReport) -> None:
    """What can be asked about the output, in the sidebar, once it is known."""
    if not (options := list(report.targets)):
        return
    st.session_state.about_first = options[0]
    dropdown(
        st.sidebar, "Asked about", "about", options=options, format_func=lambda name: report.targets[name], on_change=take,
        args=([],), help="What about the output the words are worth something to.",
    )  # fmt: skip


def ask_again() -> None:
    """The way back from something that cannot be asked about."""
    if url_value("about", ""):
        st.button("Ask about what the model is there for", icon=":material/undo:", on_click=forget, args=("about",))


def taken_words(report: AttributionReport) -> tuple[int, ...]:
    """The words that the person has taken away, as the address has them."""
    written = str(value("taken", ""))
    places = {int(part) for part in written.split(".") if part.isdecimal() and len(part) < 6}
    taken = tuple(sorted(place for place in places if place < len(report.words) and place not in report.own))
    publish("taken", ".".join(map(str, taken)), "")
    return taken


def take(places: Sequence[int]) -> None:
    """Takes words away, and gives back all others; for a callback."""
    st.session_state.taken = ".".join(map(str, places))
