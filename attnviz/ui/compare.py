"""The sidebar of Translate: which models stand side by side, how they decode, and how their alignments are drawn."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.alignment import Reading, balanced_links, links_from, read_as, strongest_links
from attnviz.analysis.heads import Link
from attnviz.analysis.view import HeadMatrix, View, head_matrix
from attnviz.export import Picture
from attnviz.models import catalog
from attnviz.models.drafts import WIDEST, Wish
from attnviz.trace import AttentionMap
from attnviz.ui.controls import Choice, Choices, number, scale_picker, side_by_side
from attnviz.ui.heads import head_picker, reading_picker, truer
from attnviz.ui.models import Answered, Drafted
from attnviz.ui.settings import offered
from attnviz.ui.state import SLOTS
from attnviz.ui.taking import Kept, kept_draft

HARD = ["Off", "Strongest", "Balanced", "Threshold"]


@dataclass(frozen=True)
class Drawing:
    """How every alignment of the page is drawn.

    head     None: the mean over the layer's heads
    reading  which of a word's two rows stands for it, in a model whose decoder reads what it wrote; None: the truer one
    hard     one of HARD: how the hard links are found; `threshold` is the weight from which on there is one
    word     the target word that is looked at where none was chosen, if it is there
    """

    layer: int
    head: int | None
    reading: Reading | None
    view: View
    full_scale: bool
    hard: str
    threshold: float
    word: str = ""

    def head_of(self, drafted: Drafted) -> tuple[int, int | None]:
        """Layer and head that are drawn of a model; of one with fewer, its last."""
        attention = drafted.trace.cross
        head = None if self.head is None else min(self.head, attention.n_heads - 1)
        return min(self.layer, attention.n_layers - 1), head

    def reading_of(self, drafted: Drafted) -> Reading:
        """The reading that is drawn of a model."""
        return self.reading or truer(drafted.card, *self.head_of(drafted))

    def attention(self, drafted: Drafted) -> AttentionMap:
        """The cross-attention of a model, its rows read as they are drawn."""
        draft = drafted.draft
        attention = draft.trace.cross
        return read_as(attention, draft.written, self.reading_of(drafted)) if draft.reads_its_rows else attention

    def choice(self, drafted: Drafted) -> Choice:
        """The head that is drawn of a model, and how."""
        return Choice(*self.head_of(drafted), self.view, self.full_scale)

    def matrix(self, drafted: Drafted) -> HeadMatrix:
        """The alignment as it is drawn."""
        layer, head = self.head_of(drafted)
        return head_matrix(self.attention(drafted), layer=layer, head=head, view=self.view)

    def kept(self, name: str, drafted: Drafted, wish: Wish) -> Kept:
        """The alignment of the model of that name as it is drawn, for who wants to keep it."""
        trace = drafted.trace
        layer, head = self.head_of(drafted)

        def picture() -> Picture:
            return Picture(trace, "cross", layer, head, self.matrix(drafted), self.view, self.full_scale)

        naive = drafted.draft.reads_its_rows and self.reading == "naive"
        usual = not drafted.draft.told and (trace.prompt.target or wish == Wish())
        return kept_draft(name, picture, trace.prompt, None if usual else wish, naive=naive)

    def links(self, matrix: HeadMatrix) -> tuple[Link, ...] | None:
        """The hard links of a matrix, None where they are off."""
        if self.hard == "Strongest":
            return strongest_links(matrix)
        if self.hard == "Balanced":
            return balanced_links(matrix)
        return links_from(matrix, self.threshold) if self.hard == "Threshold" else None


def models_picker() -> tuple[str, ...]:
    """One to four translators, of the catalog, of the hub, or any id or folder that is typed."""
    own = catalog.translators()
    return side_by_side(
        Choices(
            offered([*own, *catalog.HUB["encoder-decoder"]]),
            own[:SLOTS],
            SLOTS,
            "Choose a translator",
            "Up to four, side by side. Those named …-en-fr travel with attnviz; others come from the Hugging Face hub: type "
            "any encoder-decoder's id, or a folder.",
        )
    )


def decoding() -> Wish:
    """Greedy, or a beam with its width and length penalty."""
    sidebar = st.sidebar
    kind = sidebar.segmented_control(
        "Decoding", ["Greedy", "Beam"], key="decoding", default="Greedy", required=True, bind="query-params"
    )
    if kind == "Greedy":
        return Wish()
    left, right = sidebar.columns(2)
    with left:
        width = st.number_input("Width", 2, WIDEST, value=5, key="width", bind="query-params")
    with right:
        penalty = st.number_input(
            "Length penalty",
            0.0,
            2.0,
            value=1.0,
            step=0.1,
            key="penalty",
            bind="query-params",
            help="α of ln p / length^α. 0 favours short translations; 1 compares them by the mean over their tokens.",
        )
    return Wish(width, penalty)


def drawing(shown: list[Drafted], sidebar: DeltaGenerator, word: str = "") -> Drawing:
    """Layer and head, where a model has several, and options for all alignments of the page; `word` is looked at first."""
    told = next((each.card.told for each in shown if each.card.told), None)
    layer, head = head_picker([each.trace.cross for each in shown], sidebar, told)
    reading = reading_picker(shown, sidebar)
    words = sidebar.toggle("Merge subwords to words", value=True, key="whole_words", bind="query-params")
    hide = sidebar.toggle("Hide special tokens", key="hide_special", bind="query-params")
    hard = sidebar.segmented_control(
        "Hard links",
        HARD,
        key="hard",
        default=HARD[0],
        required=True,
        bind="query-params",
        help="Decided links over the soft weights: each target word's strongest; balanced, the same among words alone, and "
        "among punctuation, once every source word has got its share of attention: nearer to what people would link; or all "
        "from a weight on.",
    )
    threshold = 0.0
    if hard == "Threshold":
        threshold = sidebar.slider("From weight", 0.05, 0.95, value=0.3, step=0.05, key="threshold", bind="query-params")
    return Drawing(layer, head, reading, View(words, hide), scale_picker(sidebar), hard, threshold, word)


def machines(drafted: Sequence[Drafted | Answered]) -> None:
    """How long each model took, and what it is."""
    for each in drafted:
        card = each.card
        device = "CPU" if card.device == "cpu" else card.device.upper()
        figures = f"{number(card.parameters)} parameters · {device} · {each.seconds * 1000:,.0f} ms"
        st.sidebar.html(f'<p class="machine"><bdi>{html.escape(card.name)}</bdi><br>{figures}</p>')
