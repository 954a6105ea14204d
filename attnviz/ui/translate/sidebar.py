"""The sidebar of Translate: which models stand side by side, how they decode, and how their alignments are drawn."""

import html
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.view import View
from attnviz.models import catalog
from attnviz.models.translate.decode import DecodingOptions
from attnviz.ui.address.parameters import SLOTS
from attnviz.ui.address.state import forget, forget_drafts
from attnviz.ui.address.widgets import bounded, segments, toggle
from attnviz.ui.background.results import Answered, Drafted
from attnviz.ui.boxes import forget_typed
from attnviz.ui.examples import examples
from attnviz.ui.head_picker import head_picker, reading_picker
from attnviz.ui.permissions import offered
from attnviz.ui.quantity import heads_are_mixed
from attnviz.ui.sidebar import Choices, number, scale_picker, side_by_side
from attnviz.ui.translate.drawing import Drawing

# The page of examples of each language.
EXAMPLES = {"French": "translate", "German": "translate-german"}
# How the names of our translators into another language than the first end.
ENDINGS = {"German": "-en-de"}


def language() -> str:
    """The language that is translated into, where translators of ours know several."""
    known = {_language_of(name) for name in catalog.available_for("translate")}
    options = tuple(name for name in EXAMPLES if name in known)
    return segments(st.sidebar, "Into", "into", options=options, on_change=_other_language) if len(options) > 1 else "French"


def _language_of(name: str) -> str:
    return next((language for language, ending in ENDINGS.items() if name.endswith(ending)), "French")


def _other_language() -> None:
    """Its own translators, and the first of its examples unless something else was typed; for a callback."""
    forget_drafts()
    forget("models", "target")
    if st.session_state.get("text") in {example.text for page in EXAMPLES.values() for example in examples(page)}:
        forget_typed()
        st.session_state.text = examples(EXAMPLES[st.session_state.into])[0].text


def models_picker(into: str) -> tuple[str, ...]:
    """One to four translators, of the catalog, of the hub, or any id or folder that is typed."""
    own = catalog.available_for("translate")
    first = tuple(name for name in own if _language_of(name) == into)
    return side_by_side(
        Choices(
            offered([*first, *(name for name in own if name not in first), *catalog.HUB["encoder-decoder"]]),
            first[:SLOTS],
            SLOTS,
            "Choose a translator",
            "Up to four, side by side. Those named …-en-fr and …-en-de travel with attnviz; others come from the Hugging Face "
            "hub: type any encoder-decoder's id, or a folder.",
        )
    )


def decoding() -> DecodingOptions:
    """Greedy, or a beam with its width and length penalty."""
    sidebar = st.sidebar
    if segments(sidebar, "Decoding", "decoding") == "Greedy":
        return DecodingOptions()
    left, right = sidebar.columns(2)
    width = bounded(left, "Width", "width")
    penalty = bounded(
        right,
        "Length penalty",
        "penalty",
        help="α of ln p / length^α. 0 favours short translations; 1 compares them by the mean over their tokens.",
    )
    return DecodingOptions(width, penalty)


def drawing(shown: list[Drafted], sidebar: DeltaGenerator, folded: DeltaGenerator, word: str = "") -> Drawing:
    """Layer and head, where a model has several, and options for all alignments of the page; `word` is looked at first.

    What specialists choose stands in `folded`.
    """
    supervised_head = next((each.card.supervised_head for each in shown if each.card.supervised_head), None)
    layer, head = head_picker([each.trace.cross for each in shown], sidebar, supervised_head, mixed=heads_are_mixed(shown))
    reading = reading_picker(shown, folded)
    words = toggle(sidebar, "Merge subwords to words", "whole_words")
    hide = toggle(sidebar, "Hide special tokens", "hide_special")
    hard = segments(
        folded,
        "Hard links",
        "hard",
        help="Decided links over the soft weights: each target word's strongest; balanced, the same among words alone, and "
        "among punctuation, once every source word has got its share of attention: nearer to what people would link; or all "
        "from a weight on.",
    )
    threshold = 0.0
    if hard == "Threshold":
        threshold = bounded(folded, "From weight", "threshold", slider=True)
    return Drawing(layer, head, reading, View(words, hide), scale_picker(sidebar), hard, threshold, word)


def machines(drafted: Sequence[Drafted | Answered]) -> None:
    """How long each model took, and what it is."""
    for each in drafted:
        card = each.card
        device = "CPU" if card.device == "cpu" else card.device.upper()
        figures = f"{number(card.parameters)} parameters · {device} · {each.seconds * 1000:,.0f} ms"
        st.sidebar.html(f'<p class="machine"><bdi>{html.escape(card.name)}</bdi><br>{figures}</p>')
