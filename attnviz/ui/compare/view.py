"""The parts of the page Compare: what is compared, how far each head has changed, the chosen head on both sides."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.analysis.compare.comparison import Comparison
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import AttnvizError, PromptError
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.export.compare import matrices
from attnviz.figures.compare.matrices import STYLE, changes_table, divergence_grid, three_matrices
from attnviz.figures.html import STYLE as MARKUP
from attnviz.ui.address.state import forget, remember, value
from attnviz.ui.address.widgets import one_or_typed, text_field
from attnviz.ui.checkpoints import checkpoints, label, nearest, publish_settings
from attnviz.ui.download import drawing_buttons, file_button
from attnviz.ui.examples import Example, examples
from attnviz.ui.head_picker import clicked_head, pick_head
from attnviz.ui.layout import escaped, theme
from attnviz.ui.markup import Markup
from attnviz.ui.permissions import any_model, check_length, offered
from attnviz.ui.prompt import example_pills
from attnviz.ui.sidebar import KNOWN_MODELS, one_model
from attnviz.ui.text_boxes import TextBox, forget_typed, long_notice, run_texts, text_box, unrun_notice

_markup = Markup("compare", MARKUP + STYLE)
ABOUT = "The model of both texts, or of the first. Two models must have the same number of layers and of heads."


@dataclass(frozen=True)
class Sides:
    """What is compared: of each side the model and the prompt, and the edits of the second."""

    models: tuple[str, str]
    prompts: tuple[Prompt, Prompt]
    edits: Edits = NO_EDITS

    @property
    def names(self) -> tuple[str, str]:
        """What each side is called: by what differs."""
        if self.models[0] != self.models[1]:
            return label(self.models[0]), label(self.models[1])
        return ("Before", "After the edit") if self.edits else ("First text", "Second text")


def sides_controls() -> tuple[Sides | None, Example | None]:
    """What is typed and chosen, and the example it is; None after the page has said what is wrong with it."""
    if name := value("model"):
        st.session_state.model = nearest(name)
    model = one_model(KNOWN_MODELS, ABOUT, own=checkpoints(), label=label)
    second = _second_model(model)
    publish_settings(model, second)
    edits = _edits()
    first = examples("compare")[0]
    second_box = TextBox("other", "Second text", "Type another, or the same again", first.other)
    texts = run_texts([text_box("First text", first=first.text), second_box])
    text, other = texts["text"], texts["other"] or texts["text"]
    remember("other", other, first.other)
    example = _example_pills((model, second, text, other, "" if edits is None else edits.text))
    long_notice("text", text)
    if edits is None:
        return None, None
    try:
        check_length(text, other)
        return Sides((model, second), (Prompt(text), Prompt(other)), edits), example
    except PromptError as error:
        st.error(escaped(error), icon=":material/edit:")
        return None, None


def _second_model(model: str) -> str:
    """The model of the second side, which is that of the first unless another is chosen."""
    st.session_state.second = nearest(value("second", ""))
    name = one_or_typed(
        st.sidebar, "Second model", "second", ["", *offered(KNOWN_MODELS), *checkpoints()], "", accept_new_options=any_model(),
        format_func=lambda name: label(name) or "Same model",
    )  # fmt: skip
    return name or model


def _edits() -> Edits | None:
    """The edits of the second side; None after the page has said what is wrong with them."""
    written = text_field(
        st.sidebar.text_input, "Edits of the second side", "edits", placeholder="e3.1z",
        help="e3.1z switches L3·H1 of the encoder off, e3.1c4.7 cuts its link from token 4 to token 7, several with commas.",
    )  # fmt: skip
    try:
        return Edits.parse(written.strip())
    except AttnvizError as error:
        st.error(escaped(error), icon=":material/edit:")
        return None


def _example_pills(seen: tuple[str, ...]) -> Example | None:
    """The examples as chips; the one that is shown is marked."""
    shown = examples("compare")

    def of(each: Example) -> tuple[str, ...]:
        model = each.model or KNOWN_MODELS[0]
        return model, each.second or model, each.text, each.other, each.edits

    def choose(each: Example) -> None:
        forget_typed()
        forget("layer", "head", "attention")
        st.session_state.update(text=each.text, other=each.other, edits=each.edits, second=each.second)
        st.session_state.model = each.model or KNOWN_MODELS[0]

    current = next((each for each in shown if of(each) == seen), None)
    with st.container(horizontal=True, vertical_alignment="center"):
        example_pills(shown, current, choose)
        unrun_notice()
    return current


def chosen_head(compared: Comparison) -> tuple[int, int] | None:
    """The head that was clicked, or that the address names; None: the one that changed most."""
    return clicked_head(list(np.ndindex(compared.divergence.shape)))


def show_heads(compared: Comparison, chosen: tuple[int, int]) -> None:
    """How far each head has changed; a click chooses one."""
    _markup("divergence", divergence_grid(compared, chosen=chosen, theme=theme()), on_pick=pick_head)


def show_head(compared: Comparison, chosen: tuple[int, int], names: tuple[str, str]) -> None:
    """The chosen head on both sides, and what has changed."""
    _markup("matrices", three_matrices(compared, *chosen, names, theme=theme()))


def show_changes(compared: Comparison, chosen: tuple[int, int]) -> None:
    """The links that changed most in the chosen head."""
    if changes := compared.changes(*chosen):
        _markup("changes", changes_table(changes, theme=theme()))


def tell_aligned_rows(compared: Comparison) -> None:
    """How many tokens are aligned, where some are not."""
    tokens = len(compared.after.queries)
    if len(compared.queries) < tokens:
        st.caption(f"{len(compared.queries)} of {tokens} rows have a token on both sides, and are compared.")


def download_buttons(compared: Comparison, traces: tuple[AttentionTrace, AttentionTrace], chosen: tuple[int, int]) -> None:
    """The picture as a drawing, and how far each head has changed as CSV."""
    with st.container(horizontal=True):
        drawing_buttons("compared", lambda: matrices.draw_comparison(compared, traces, *chosen))
        file_button("compared.csv", lambda: matrices.comparison_csv(compared))
