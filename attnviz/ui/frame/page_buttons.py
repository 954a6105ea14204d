"""The buttons that open other pages with what stands here, and the toolbar at the picture."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from attnviz.core.trace import AttentionMap
from attnviz.ui.address.address_sync import value, visit
from attnviz.ui.address.parameters import Written
from attnviz.ui.download import Download, download_button
from attnviz.ui.frame.toolbar import fill_toolbar

# The pages that read a text.
READERS = {
    "encode": "grid_on", "translate": "translate", "answer": "quiz", "summarize": "short_text", "write": "edit_note",
    "compute": "calculate",
}  # fmt: skip
SENTENCE_READERS = ("encode", "translate")
# Whose output has a number that heads can cost.
MODEL_PAGES = ("encode", "translate", "answer", "summarize")


def explain_button(
    attention: AttentionMap,
    place: dict[str, str | int],
    *,
    label: str = "Explain this cell",
    slot: str = "",
    begins: Sequence[str] = (),
) -> None:
    """The way from a heatmap into Compute: `place` has the model, the layer, the head, the query and the key.

    `slot` tells several pictures of a page apart; `begins` names the pieces of a translation that a search has found.
    """
    state = st.session_state
    address: dict[str, object] = {
        "source": "model",
        "text": state.get("text"),
        "pair": state.get("pair"),
        "target": state.get("target"),
    }
    address |= {"attention": attention.kind, **place, "begins": " ".join(begins)}
    st.button(
        label, key=f"explain{slot}", icon=":material/calculate:", help="Opens it in Compute, step by step.",
        on_click=visit, args=("compute",), kwargs=address,
    )  # fmt: skip


def show_toolbar(
    shown: Sequence[Download] = (), opens: str = "Opens this very picture", own: Callable[[], None] = lambda: None
) -> None:
    """Fills the toolbar at the picture with downloads and more, and draws here the buttons to other pages.

    `opens` says what the link opens: exactly this picture again, unless the page says another thing. `own` draws the download
    buttons of a page whose picture is no head.
    """
    _keep_for_home()
    with fill_toolbar(opens):
        download_button(shown, own)
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.session_state.page in MODEL_PAGES:
            _ablate_button()
            _matters_button()
        reader_buttons()


def _ablate_button() -> None:
    """The way to what each head costs this output; from Translate, that of the model in the large picture."""
    given = {name: value(name) for name in ("text", "pair", "question", "passage", "target")}
    st.button(
        "Which heads matter here?", key="to-whatif", icon=":material/tune:", help="Switches every head off in turn.",
        on_click=visit, args=("whatif",), kwargs={"change": "head", "model": _large_model(), **given},
    )  # fmt: skip


def _matters_button() -> None:
    """The way to what each word is worth to the output that stands here; from Encode, with the head that is looked at."""
    given = {"text": value("passage") or value("text"), "pair": value("question") or value("target") or value("pair")}
    if st.session_state.page == "encode" and not value("mean", False):
        given["seen"] = f"head:{value('attention', 'encoder')}:{value('layer', 0)}:{value('head', 0)}"
    st.button(
        "Does this matter?", key="to-matters", icon=":material/balance:",
        help="Which words the output depends on, asked in many ways.",
        on_click=visit, args=("matters",), kwargs={"model": _large_model(), **given},
    )  # fmt: skip


def _large_model() -> str | None:
    """The model of the page; of several, that in the large picture."""
    models = st.session_state.get("models") or [st.session_state.get("model")]
    return models[min(value("hero", 1), len(models)) - 1]


def _keep_for_home() -> None:
    """What was typed last on a page that reads a sentence is what Home shows."""
    state = st.session_state
    if state.page in SENTENCE_READERS and (text := state.address.get("text")):
        state.visits["home"] = {"text": text}


def reader_buttons(shown: Mapping[str, Written] | None = None) -> None:
    """The ways to what other pages make of the text that was run here, with the models that were chosen there.

    `shown`: what of this page's address Encode understands as well.
    """
    state = st.session_state
    if not (text := state.get("passage") or state.get("text")):
        return
    st.caption("This text on", width="content")
    for page, icon in READERS.items():
        if page != state.page:
            there = {name: value for name, value in state.visits.get(page, {}).items() if name in ("model", "models")}
            given = (
                {"source": "model", "text": text} if page == "compute" else {"passage" if page == "answer" else "text": text}
            )
            given |= dict(shown or {}) if page == "encode" else {}
            st.button(
                page.title(), key=f"to-{page}", type="tertiary", icon=f":material/{icon}:",
                on_click=visit, args=(page,), kwargs=there | given,
            )  # fmt: skip
