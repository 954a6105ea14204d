"""The pictures of Summarize: what each selector keeps, the text with bars, the summary that a model wrote, and every head."""

from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from jaxtyping import Float

from attnviz.analysis.head_metrics import strongest_link
from attnviz.analysis.head_view import View, head_matrix
from attnviz.analysis.summarize.rouge import rouge
from attnviz.analysis.summarize.selection import Passage, Selection, choose, read_passage
from attnviz.analysis.summarize.selectors import Selector, selectors, shares_of_heads
from attnviz.analysis.summarize.summary_words import (
    NO_LOOK,
    SummaryWord,
    describe_choice,
    describe_copies,
    describe_sentences,
    describe_word_origin,
    summary_words,
)
from attnviz.analysis.wording import Sentence, head_name
from attnviz.core.trace import AttentionMap
from attnviz.export import shaded_text
from attnviz.export.sheet import Sheet
from attnviz.figures import html as shared
from attnviz.figures.edit.before_after import changed_text
from attnviz.figures.head_grid import STYLE as GRID
from attnviz.figures.summarize.passage import STYLE, marked_passage, summary_buttons
from attnviz.figures.summarize.selectors import Row, heads_agreement, selectors_table
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import publish, value
from attnviz.ui.address.chosen_cell import picked_cell
from attnviz.ui.background.jobs import at_a_place
from attnviz.ui.download import Download, head_download
from attnviz.ui.edit.current_map import CurrentMap
from attnviz.ui.edit.output import show_changes
from attnviz.ui.edit.panel import show_edit_panel
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.explorer import all_heads
from attnviz.ui.frame.page_buttons import explain_button
from attnviz.ui.layout import theme
from attnviz.ui.markup import Markup
from attnviz.ui.summarize.controls import SELECTORS, SummaryView, choose_head, forget_word
from attnviz.ui.summarize.notices import measured_rouge, rouge_note, show_kept

_markup = Markup("passage", shared.STYLE + STYLE)
_HEADS = Markup("heads-kept", shared.STYLE + GRID)


@dataclass(frozen=True, eq=False)
class Summary:
    """What every selector would keep of a text, in the order of `selectors`; and `at`, which of them is shown large."""

    passage: Passage
    selectors: tuple[Selector, ...]
    selections: tuple[Selection, ...]
    at: int

    @property
    def selector(self) -> Selector:
        return self.selectors[self.at]

    @property
    def selection(self) -> Selection:
        return self.selections[self.at]

    @property
    def scores(self) -> Float[np.ndarray, " unit"]:
        """What each word has by the selector that is shown, from 0 on."""
        return self.selector.units - min(float(self.selector.units.min()), 0.0)


def summary_of(result: Result, attention: AttentionMap, view: SummaryView) -> Summary:
    """Let every selector choose from the text that was read.

    Raises:
        TraceError: the text has no word.
    """
    passage = read_passage(result.prompt.text, attention.keys, words=view.view.words, punctuation=view.punctuation)
    # All heads are computed for this.
    with at_a_place():
        chosen = selectors(passage, result.trace, selects=result.card.selects, layer=view.layer, head=view.head)
        kept = tuple(choose(passage, each.units, each.sentences, view.amount) for each in chosen)
    at = next((at for at, each in enumerate(chosen) if SELECTORS[view.selector] in each.name), 0)
    return Summary(passage, chosen, kept, at)


def show_selectors(shown: Summary, model: str, reference: str) -> None:
    """What every selector keeps of this text, with its ROUGE; a click shows one large."""
    rows = []
    for selector, kept in zip(shown.selectors, shown.selections, strict=True):
        extract = shown.passage.extract(kept.sentences)
        score = rouge(extract, [reference]) if reference else None
        key = next(key for key, name in SELECTORS.items() if name in selector.name)
        rows.append(
            Row(key, selector.name, extract, shown.passage.words(kept.units), score, measured_rouge(model, selector.name))
        )

    def pick(key: str) -> None:
        st.session_state.way = key

    _markup("ways", selectors_table(rows, chosen=rows[shown.at].key, theme=theme()), pick)
    if note := rouge_note(model, reference):
        st.caption(note)


@dataclass(frozen=True)
class Written:
    """The words of the summary that a model wrote, none of one that only selects; and which of them is chosen, if any."""

    words: tuple[SummaryWord, ...]
    at: int | None

    @property
    def chosen(self) -> SummaryWord | None:
        return None if self.at is None else self.words[self.at]


def written_summary(result: Result, attention: AttentionMap, shown: Summary, view: SummaryView) -> Written:
    """The summary that a model wrote, with the word that the address says is chosen."""
    if not result.trace.output:
        return Written((), None)
    words, word = summary_words(attention, shown.passage, layer=view.layer, head=view.head), value("word")
    at = word if word is not None and 0 <= word < len(words) else None
    if words:
        publish("word", at, None)
    return Written(words, at)


def show_summary(result: Result, shown: Summary, written: Written) -> None:
    """What the chosen selector keeps, large: the summary, and the text it was taken from."""
    if written.words:
        _show_written(written)
    else:
        show_kept(result, shown.passage, shown.selection, shown.selector)
    _show_passage(shown, written.chosen)
    st.caption(
        "A bar is what the chosen word of the summary gave to each word of the text while it was written."
        if written.chosen
        else "Marked words and sentences are kept. A bar is the attention that a word receives."
    )


def describe_summary(shown: Summary, written: Written) -> list[Sentence]:
    """What the numbers say: how much attention the kept words receive, or where the words of a summary came from."""
    passage, kept, selector, word = shown.passage, shown.selection, shown.selector, written.chosen
    sentences: list[Sentence] = [NO_LOOK]
    if selector.tokens is not None:
        sentences = [describe_sentences(passage, kept, selector.sentences), describe_choice(passage, kept, selector.units)]
    if written.words:
        sentences = [describe_copies(written.words), describe_word_origin(word, passage) if word else sentences[-1]]
    return sentences


def _show_passage(shown: Summary, word: SummaryWord | None) -> None:
    """The text with bars: what each word receives, or, of a chosen word of a summary, what it gave to each."""
    selector, passage = shown.selector, shown.passage
    scores = shown.scores if word is None else passage.by_unit(word.row)
    shares = selector.sentences if selector.tokens is not None else None
    _markup("passage", marked_passage(passage, shown.selection, scores, shares, theme=theme()))


def _show_written(written: Written) -> None:
    """The summary that a model wrote; a click on a word chooses it."""

    def pick(picked: str) -> None:
        # A second click on a word lets go of it.
        forget_word()
        if int(picked) != written.at:
            st.session_state.word = int(picked)

    _markup("written", summary_buttons(written.words, chosen=written.at, theme=theme()), pick)


def show_every_head(current: CurrentMap, shown: Summary, view: SummaryView) -> None:
    """How much of every head's attention goes to the kept words, and folded all heads over the text. A click chooses a head."""
    attention, view = current.current, view.of(current.current)
    shares = shares_of_heads(attention, shown.passage, shown.selection.units)

    def pick(picked: str) -> None:
        if head := picked_cell(picked):
            choose_head(*head)

    _HEADS("heads", heads_agreement(shares, selected=(view.layer, view.head), theme=theme()), pick)
    all_heads(current.drawn, current.drawn_as(view), choose_head, editing=current.editing)
    # A model that writes has searched for its summary; Compute reads a text, and would look at another.
    if view.head is not None and attention.kind == "encoder":
        _explain(attention, view.layer, view.head)


def _explain(attention: AttentionMap, layer: int, head: int) -> None:
    """The way into Compute for the strongest link of the chosen head."""
    matrix = head_matrix(attention, layer=layer, head=head, view=View())
    if (link := strongest_link(matrix)) is None:
        return
    place = {"model": st.session_state.model, "layer": layer, "head": head, "pair": "", "target": ""}
    place |= {"query": matrix.rows[link.query], "key": matrix.columns[link.key]}
    asking, asked = matrix.queries[link.query].text, matrix.keys[link.key].text
    explain_button(attention, place, label=f"Explain {head_name(layer, head)}: {escaped(asking)} → {escaped(asked)}")


def show_summary_edits(current: CurrentMap, view: SummaryView) -> None:
    """What is edited and the way back; and what is kept, or the summary that the model writes, without edits and with them."""
    result = current.result
    show_edit_panel(current)
    if result.before is None:
        return
    both = [summary_of(each, each.trace.map(current.kind), view) for each in (result.before, result)]
    rows = [
        changed_text("Kept words", *(each.passage.words(each.selection.units) for each in both)),
        changed_text("Kept sentences", *(each.passage.extract(each.selection.sentences) for each in both)),
    ]
    if result.before.trace.output:
        rows.insert(0, changed_text("Written", result.before.trace.output, result.trace.output))
    show_changes(rows)


def summary_download(result: Result, current: CurrentMap, view: SummaryView, shown: Summary) -> Download:
    """The head that is chosen by, and the text with what is kept of it framed."""

    def sheet() -> Sheet:
        title = f"What is kept, framed; shaded by: {shown.selector.name}"
        return shaded_text.draw_marked(shown.passage.units, shown.scores, shown.selection.units, title)

    head = replace(view.of(current.current), view=View(), full_scale=True)
    return head_download(result, current.kind, head, {"Passage": sheet})
