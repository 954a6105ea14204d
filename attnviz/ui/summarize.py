"""What stands on the page Summarize: the choices, the kept words and sentences, how good each selector is, notices."""

import html
import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.head_metrics import strongest_link
from attnviz.analysis.head_view import HeadView, View
from attnviz.analysis.summary_selection import (
    ABOUT_BARS,
    HOW_CHOSEN,
    NO_LOOK,
    TRUST_SUMMARIES,
    Amount,
    Passage,
    Selection,
    Selector,
    SummaryWord,
    choose,
    describe_choice,
    describe_copies,
    describe_measured,
    describe_rouge,
    describe_sentences,
    describe_word_origin,
    read_passage,
    rouge,
    selectors,
    shares_of_heads,
    summary_words,
)
from attnviz.analysis.wording import Sentence, head_name
from attnviz.core.trace import AttentionMap
from attnviz.export.paper import Sheet, draw_marked
from attnviz.figures import html as shared
from attnviz.figures.before_after import changed_text
from attnviz.figures.explorer.exported_file import records_script
from attnviz.figures.head_grid import STYLE as GRID
from attnviz.figures.summary_passage import STYLE, kept_passage, summary_buttons
from attnviz.models.result import Result
from attnviz.settings import assets_folder
from attnviz.ui.address.address_sync import bounded, dropdown, forget, picked_cell, publish, segments, text_field, toggle, value
from attnviz.ui.background.jobs import at_a_place
from attnviz.ui.download import Download, explain_button, head_download
from attnviz.ui.edit import CurrentMap
from attnviz.ui.edit_panel import show_changes, show_edit_panel
from attnviz.ui.explorer import all_heads, open_head
from attnviz.ui.frame.sidebar import head_steppers, merge_toggle, one_model
from attnviz.ui.layout import Markup, escaped, theme
from attnviz.ui.prompt_box import long_notice

# The selector that travels with attnviz, and the encoder that it stands on, not one weight of which was changed.
OWN, READ_BY = "summarize-en", "minilm"


def show_kept(result: Result, passage: Passage, selection: Selection, selector: Selector) -> None:
    """Show what the model wrote, or else the sentences that were kept, in large type; and by which model and selector."""
    wrote = result.trace.output
    small = f"{result.card.name} wrote this" if wrote else f"The summary · {result.card.name} · {selector.name}"
    text = html.escape(wrote or passage.extract(selection.sentences)) or "<em>nothing</em>"
    st.html(f'<p class="answer"><bdi>{text}</bdi> <small>{html.escape(small)}</small></p>')


@cache
def measured() -> dict[str, Any]:
    """Read what was measured of summarize-en; empty where it was not trained yet."""
    path = assets_folder() / "models" / OWN / "metrics.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def measured_rouge(model: str, selector: str) -> float | None:
    """Return the measured ROUGE-1 of a selector, in percent; None of other models, and of selectors that nobody measured."""
    return measured().get(f"{selector}: ROUGE-1") if model in (OWN, READ_BY) else None


def rouge_note(model: str, reference: str) -> str:
    """Say what the figures in the table of selectors are; empty where it has none."""
    if reference:
        return "ROUGE of the kept sentences against your summary, in percent."
    if model not in (OWN, READ_BY) or not measured():
        return ""
    return f"{describe_rouge(measured()['abstracts'])} Write a summary of your own below, and this very text is scored."


def show_measured() -> None:
    """Say how good attention alone is at this, as it was measured."""
    if said := describe_measured(measured()):
        st.caption(f":material/straighten: {said}")


def explain_choice() -> None:
    """Explain how a choice comes about, and how much to trust this."""
    title, how = HOW_CHOSEN
    with st.expander(title):
        st.markdown(how)
        st.latex(r"r_j = \frac{1}{|H|\,|Q|} \sum_{h \in H} \sum_{i \in Q} \alpha^{h}_{ij}")
    with st.expander("How much to trust this"):
        st.markdown(TRUST_SUMMARIES)


# Two pages: more is no summary.
MOST_REFERENCE = 5_000
# Models of the hub that write summaries, and encoders to compare with.
HUB = ("sshleifer/distilbart-cnn-6-6", "facebook/bart-large-cnn", "t5-small", "google/pegasus-xsum", "bert-base-uncased")
# What the address calls the selectors, whose names tell numbers that a person chooses.
SELECTORS = {"trained": "Trained selector", "last": "last layer", "mean": "mean of all", "head": "chosen",
        "rollout": "rollout", "first": "First", "random": "Random"}  # fmt: skip


@dataclass(frozen=True)
class SummaryView(HeadView):
    """Which head is looked at, by which selector and how much of the text is kept, and whether punctuation may be."""

    selector: str
    amount: Amount
    punctuation: bool

    def of(self, attention: AttentionMap) -> "SummaryView":
        """Return the same view for a map that may have fewer heads, such as one in which they are mixed: there, their mean."""
        return self.within(attention, mean=self.head is not None and self.head >= attention.n_heads)


def summarizer_picker() -> str:
    """Offer the models that read the text: of the catalog, of the hub, or any id or folder that is typed."""
    return one_model(
        [OWN, "minilm", *HUB],
        "summarize-en and minilm are on this machine and choose from the text. Others come from the Hugging Face hub: "
        "BART, T5 and Pegasus write a summary of their own; or type any model's id, or a folder.",
    )


def summary_view_picker(attention: AttentionMap, selects: tuple[int, int] | None, sidebar: DeltaGenerator) -> SummaryView:
    """Offer the selector, how much to keep, layer and head; keep all of it in the address."""
    names = [name for name in SELECTORS if selects or name != "trained"]
    selector = dropdown(sidebar, "Choose by", "way", options=names, format_func=_selector_label)
    first, shape = (selects[0] if selects else attention.n_layers - 1, 0), (attention.n_layers, attention.n_heads)
    layer, head = head_steppers(sidebar, first, shape, disabled=value("all_heads", True))
    mean = toggle(sidebar, "Mean over heads", "all_heads")
    unit = segments(sidebar, "Words to keep", "unit")
    if unit == "Count":
        words = bounded(sidebar, "How many words", "words_kept", slider=True)
    else:
        words = bounded(sidebar, "How many percent of the words", "share_kept", slider=True)
    sentences = bounded(sidebar, "Sentences to keep", "sentences_kept", slider=True)
    merged = merge_toggle("whole_words")
    punctuation = toggle(sidebar, "Punctuation may be kept", "punctuation")
    amount = Amount(words, sentences, unit == "Share")
    return SummaryView(layer, None if mean else head, View(words=merged), False, selector, amount, punctuation)


def _selector_label(name: str) -> str:
    kind = {"last": "Attention, ", "mean": "Attention, ", "head": "Attention, ", "rollout": "Attention "}.get(name, "")
    more = {"mean": " layers", "head": " head or layer", "first": " words and sentence", "random": " words and sentence"}.get(
        name, ""
    )
    return f"{kind}{SELECTORS[name]}{more}"


def reference_summary() -> str:
    """Return the summary that a person wrote in `reference_box`, to compare with; none where it is too long."""
    written = value("reference", "")
    return written.strip() if len(written) <= MOST_REFERENCE else ""


def reference_box() -> None:
    """Draw the box where a person writes what the summary should be."""
    written = text_field(
        st.text_area,
        "A summary of your own",
        "reference",
        height="content",
        placeholder="Write what you would keep: every selector is then compared with it (ROUGE)",
    )
    long_notice(summary=written)
    if len(written) > MOST_REFERENCE:
        st.error(
            f"This summary has {len(written):,} characters and at most {MOST_REFERENCE:,} are compared: shorten it.",
            icon=":material/edit:",
        )


def forget_word() -> None:
    """Lets go of the chosen word of a summary: it belonged to the text before."""
    forget("word")


def choose_head(layer: int, head: int | None) -> None:
    """Makes a head, or with None the mean of its layer, the selector; for a callback."""
    open_head(layer, head)
    st.session_state.update(way="head", all_heads=head is None)


_markup = Markup("passage", shared.STYLE + STYLE)
_record = Markup("summary-records", shared.STYLE + STYLE + GRID, records_script())


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


def show_selectors(summary: Summary, model: str, reference: str) -> None:
    """Show what every selector keeps of this text, with its ROUGE; a click shows one large."""
    rows = []
    for selector, kept in zip(summary.selectors, summary.selections, strict=True):
        extract = summary.passage.extract(kept.sentences)
        score = rouge(extract, [reference]) if reference else None
        figures = [measured_rouge(model, selector.name)]
        if score:
            figures = [100 * score.one, 100 * score.two, 100 * score.longest]
        key = next(key for key, name in SELECTORS.items() if name in selector.name)
        words = summary.passage.words(kept.units)
        rows.append({"key": key, "name": selector.name, "sentences": extract, "words": words, "figures": figures})

    def pick(key: str) -> None:
        st.session_state.way = key

    drawn = {"part": "selectors", "rows": rows, "chosen": rows[summary.at]["key"]}
    _record("ways", drawn, pick)
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


def written_summary(result: Result, attention: AttentionMap, summary: Summary, view: SummaryView) -> Written:
    """Return the summary that a model wrote, with the word that the address chooses."""
    words: tuple[SummaryWord, ...] = ()
    if result.trace.output:
        words = summary_words(attention, summary.passage, layer=view.layer, head=view.head)
    word = value("word")
    at = word if word is not None and 0 <= word < len(words) else None
    publish("word", at, None)
    return Written(words, at)


def show_summary(result: Result, summary: Summary, written: Written) -> None:
    """Show what the chosen selector keeps, large: the summary, and the text it was taken from."""
    if written.words:
        _show_written(written)
    else:
        show_kept(result, summary.passage, summary.selection, summary.selector)
    _show_passage(summary, written.chosen)
    st.caption(
        "A bar is what the chosen word of the summary gave to each word of the text while it was written."
        if written.chosen
        else ABOUT_BARS
    )


def describe_summary(summary: Summary, written: Written) -> list[Sentence]:
    """Say how much attention the kept words receive, or where the words of a summary came from."""
    passage, kept, selector, word = summary.passage, summary.selection, summary.selector, written.chosen
    sentences: list[Sentence] = [NO_LOOK]
    if selector.tokens is not None:
        sentences = [describe_sentences(passage, kept, selector.sentences), describe_choice(passage, kept, selector.units)]
    if written.words:
        sentences = [describe_copies(written.words), describe_word_origin(word, passage) if word else sentences[-1]]
    return sentences


def _show_passage(summary: Summary, word: SummaryWord | None) -> None:
    """Draw the text with bars: what each word receives, or, of a chosen word of a summary, what it gave to each."""
    selector, passage = summary.selector, summary.passage
    scores = summary.scores if word is None else passage.by_unit(word.row)
    shares = selector.sentences if selector.tokens is not None else None
    drawn = {"part": "kept", "text": passage.text, "passage": kept_passage(passage, summary.selection, scores, shares)}
    _record("passage", drawn)


def _show_written(written: Written) -> None:
    """Show the summary that a model wrote; a click on a word chooses it."""

    def pick(picked: str) -> None:
        # A second click on a word lets go of it.
        forget_word()
        if int(picked) != written.at:
            st.session_state.word = int(picked)

    _markup("written", summary_buttons(written.words, chosen=written.at, theme=theme()), pick)


def show_every_head(current: CurrentMap, summary: Summary, view: SummaryView) -> None:
    """Show how much of each head's attention goes to the kept words, and, folded, all heads; a click chooses one."""
    attention, view = current.current, view.of(current.current)
    shares = shares_of_heads(attention, summary.passage, summary.selection.units)

    def pick(picked: str) -> None:
        if head := picked_cell(picked):
            choose_head(*head)

    chosen = {"layer": view.layer, "head": view.head}
    _record("heads", {"part": "shares", "shares": shares.ravel().tolist(), "shape": shares.shape, **chosen}, pick)
    all_heads(current.drawn, current.drawn_as(view), choose_head, editing=current.editing)
    # A model that writes has searched for its summary; Compute reads a text, and would look at another.
    if view.head is not None and attention.kind == "encoder":
        _explain(attention, replace(view, view=View()))


def _explain(attention: AttentionMap, view: SummaryView) -> None:
    """Offer the way into Compute for the strongest link of the chosen head."""
    matrix = view.matrix(attention)
    if (link := strongest_link(matrix)) is None:
        return
    asking, asked = matrix.queries[link.query].text, matrix.keys[link.key].text
    label = f"Explain {head_name(view.layer, view.head)}: {escaped(asking)} → {escaped(asked)}"
    explain_button(attention.kind, view, matrix, (link.query, link.key), label=label, pair="", target="")


def show_summary_edits(current: CurrentMap, view: SummaryView) -> None:
    """Show what is edited and the way back; and what is kept, or the summary that the model writes, before and after."""
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


def summary_download(result: Result, current: CurrentMap, view: SummaryView, summary: Summary) -> Download:
    """Return the download of the head that is chosen by, and of the text with what is kept of it framed."""

    def sheet() -> Sheet:
        title = f"What is kept, framed; shaded by: {summary.selector.name}"
        return draw_marked(summary.passage.units, summary.scores, summary.selection.units, title)

    head = replace(view.of(current.current), view=View(), full_scale=True)
    return head_download(result, current.kind, head, {"Passage": sheet})
