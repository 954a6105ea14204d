"""The Summarize page: what to keep and by which way, and its pictures mounted."""

from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.head_metrics import strongest_link
from attnviz.analysis.summarize.rouge import rouge
from attnviz.analysis.summarize.selection import Amount, Passage, Selection, choose, read_passage
from attnviz.analysis.summarize.selectors import Selector, selectors, shares_of_heads
from attnviz.analysis.summarize.summary_words import SummaryWord
from attnviz.analysis.view import View, head_matrix
from attnviz.analysis.wording import head_name
from attnviz.core.trace import AttentionMap
from attnviz.figures import html as shared
from attnviz.figures.summarize.passage import STYLE, marked_passage, summary_buttons
from attnviz.figures.summarize.selectors import Row, heads_agreement, ways_table
from attnviz.ui.address.state import forget, publish, value
from attnviz.ui.address.widgets import bounded, clicked, dropdown, segments, text_field, toggle
from attnviz.ui.background.jobs import at_a_place
from attnviz.ui.background.results import Traced
from attnviz.ui.edit.current_map import Shown
from attnviz.ui.explain import explain_button
from attnviz.ui.explorer import PLOTLY, all_heads, open_head
from attnviz.ui.layout import escaped, theme
from attnviz.ui.markup import Markup
from attnviz.ui.prompt import long_notice
from attnviz.ui.sidebar import HeadChoice, one_model, stepper
from attnviz.ui.summarize.notices import OWN, measured_rouge, rouge_note

_markup = Markup("passage", shared.STYLE + STYLE)
# Two pages: more is no summary.
MOST_REFERENCE = 5_000
# Models of the hub that write summaries, and encoders to compare with.
HUB = ("sshleifer/distilbart-cnn-6-6", "facebook/bart-large-cnn", "t5-small", "google/pegasus-xsum", "bert-base-uncased")
# What the address calls the ways, whose names tell numbers that a person chooses.
METHODS = {"trained": "Trained selector", "last": "last layer", "mean": "mean of all", "head": "chosen head",
        "rollout": "rollout", "first": "First", "random": "Random"}  # fmt: skip


@dataclass(frozen=True)
class Options:
    """What is chosen in the sidebar: `head` None is the mean over the layer's heads."""

    layer: int
    head: int | None
    way: str
    amount: Amount
    words: bool
    punctuation: bool

    def as_in(self, attention: AttentionMap) -> "Options":
        """The same for a map that may have fewer heads, such as one in which they are mixed: there, their mean."""
        return self if self.head is None or self.head < attention.n_heads else replace(self, head=None)


def summarizer_picker() -> str:
    """The model that reads the text: of the catalog, of the hub, or any id or folder that is typed."""
    return one_model(
        [OWN, "minilm", *HUB],
        "summarize-en and minilm are on this machine and choose from the text. Others come from the Hugging Face hub: "
        "BART, T5 and Pegasus write a summary of their own; or type any model's id, or a folder.",
    )


def options(attention: AttentionMap, selects: tuple[int, int] | None, sidebar: DeltaGenerator) -> Options:
    """The way to choose, how much to keep, layer and head; all of it in the address."""
    ways = [name for name in METHODS if selects or name != "trained"]
    way = dropdown(sidebar, "Chosen by", "way", options=ways, format_func=_way_label)
    left, right = sidebar.columns(2)
    with left:
        layer = stepper("Layer", "layer", selects[0] if selects else attention.n_layers - 1, attention.n_layers)
    with right:
        head = stepper("Head", "head", 0, attention.n_heads, disabled=value("all_heads", True))
    mean = toggle(sidebar, "Mean over heads", "all_heads")
    unit = segments(sidebar, "Words to keep", "unit")
    if unit == "Count":
        words = bounded(sidebar, "How many words", "words_kept", slider=True)
    else:
        words = bounded(sidebar, "How many percent of the words", "share_kept", slider=True)
    sentences = bounded(sidebar, "Sentences to keep", "sentences_kept", slider=True)
    merged = toggle(sidebar, "Merge subwords to words", "whole_words")
    punctuation = toggle(sidebar, "Punctuation may be kept", "punctuation")
    return Options(layer, None if mean else head, way, Amount(words, sentences, unit == "Share"), merged, punctuation)


def _way_label(way: str) -> str:
    kind = {"last": "Attention, ", "mean": "Attention, ", "head": "Attention, ", "rollout": "Attention "}.get(way, "")
    more = {"mean": " layers", "first": " words and sentence", "random": " words and sentence"}.get(way, "")
    return f"{kind}{METHODS[way]}{more}"


@dataclass(frozen=True, eq=False)
class Summary:
    """What every way would keep of a text, in the order of `ways`; and `at`, which of the ways is shown large."""

    passage: Passage
    ways: tuple[Selector, ...]
    kept: tuple[Selection, ...]
    at: int

    @property
    def way(self) -> Selector:
        return self.ways[self.at]

    @property
    def selection(self) -> Selection:
        return self.kept[self.at]


def summary_of(traced: Traced, attention: AttentionMap, chosen: Options) -> Summary:
    """Let every way choose from the text that was read.

    Raises:
        TraceError: the text has no word.
    """
    text = traced.trace.prompt.text
    passage = read_passage(text, attention.keys, words=chosen.words, punctuation=chosen.punctuation)
    # All heads are computed for this.
    with at_a_place():
        ways = selectors(passage, traced.trace, selects=traced.card.selects, layer=chosen.layer, head=chosen.head)
        kept = tuple(choose(passage, way.units, way.sentences, chosen.amount) for way in ways)
    return Summary(passage, ways, kept, next((at for at, way in enumerate(ways) if METHODS[chosen.way] in way.name), 0))


def show_ways(shown: Summary, model: str, reference: str) -> None:
    """What every way keeps of this text, with its ROUGE; a click shows a way large."""
    rows = []
    for way, kept in zip(shown.ways, shown.kept, strict=True):
        extract = shown.passage.extract(kept.sentences)
        score = rouge(extract, [reference]) if reference else None
        key = next(key for key, name in METHODS.items() if name in way.name)
        rows.append(Row(key, way.name, extract, shown.passage.words(kept.units), score, measured_rouge(model, way.name)))

    def pick(key: str) -> None:
        st.session_state.way = key

    _markup("ways", ways_table(rows, chosen=rows[shown.at].key, theme=theme()), pick)
    if note := rouge_note(model, reference):
        st.caption(note)


def show_passage(shown: Summary, word: SummaryWord | None) -> None:
    """The text with bars: what each word receives, or, of a chosen word of a summary, what it gave to each."""
    way, passage = shown.way, shown.passage
    scores = way.units - min(float(way.units.min()), 0.0) if word is None else passage.by_unit(word.row)
    shares = way.sentences if way.tokens is not None else None
    _markup("passage", marked_passage(passage, shown.selection, scores, shares, theme=theme()))


def show_written(words: tuple[SummaryWord, ...]) -> SummaryWord | None:
    """The summary that a model wrote; a click on a word chooses it. Returns the chosen word, if any."""
    word = value("word")
    chosen = word if word is not None and 0 <= word < len(words) else None
    publish("word", chosen, None)

    def pick(picked: str) -> None:
        # A second click on a word lets go of it.
        forget_word()
        if int(picked) != chosen:
            st.session_state.word = int(picked)

    _markup("written", summary_buttons(words, chosen=chosen, theme=theme()), pick)
    return None if chosen is None else words[chosen]


def choose_head(layer: int, head: int | None) -> None:
    """Makes a head, or with None the mean of its layer, the way to choose; for a callback."""
    open_head(layer, head)
    st.session_state.update(way="head", all_heads=head is None)


def show_heads(maps: Shown, shown: Summary, chosen: Options) -> None:
    """How much of every head's attention goes to the kept words, and folded all heads over the text. A click chooses a head."""
    attention = maps.current
    shares = shares_of_heads(attention, shown.passage, shown.selection.units)

    def select() -> None:
        if points := clicked("heads"):
            choose_head(int(points[0]["y"]), int(points[0]["x"]))

    figure = heads_agreement(shares, selected=(chosen.layer, chosen.head), theme=theme())
    alt = "For every head the share of its attention to words that goes to the kept ones"
    st.plotly_chart(figure, theme=None, key="heads", on_select=select, selection_mode="points", config=PLOTLY, alt=alt)
    choice = HeadChoice(chosen.layer, chosen.head, View(words=chosen.words), False)
    all_heads(maps.drawn, maps.choice(choice), choose_head, editing=maps.editing)
    # A model that writes has searched for its summary; Compute reads a text, and would look at another.
    if chosen.head is not None and attention.kind == "encoder":
        _explain(attention, chosen.layer, chosen.head)


def _explain(attention: AttentionMap, layer: int, head: int) -> None:
    """The way into Compute for the strongest link of the chosen head."""
    matrix = head_matrix(attention, layer=layer, head=head, view=View())
    if (link := strongest_link(matrix)) is None:
        return
    place = {"model": st.session_state.model, "layer": layer, "head": head, "pair": "", "target": ""}
    place |= {"query": matrix.rows[link.query], "key": matrix.columns[link.key]}
    asking, asked = matrix.queries[link.query].text, matrix.keys[link.key].text
    explain_button(attention, place, label=f"Explain {head_name(layer, head)}: {escaped(asking)} → {escaped(asked)}")


def reference_box() -> str:
    """Where a person writes what the summary should be."""
    written = text_field(
        st.text_area,
        "A summary of your own",
        "reference",
        height="content",
        placeholder="Write what you would keep: every way is then measured against it (ROUGE)",
    )
    long_notice("summary", written)
    if len(written) > MOST_REFERENCE:
        st.error(
            f"This summary has {len(written):,} characters and at most {MOST_REFERENCE:,} are compared: shorten it.",
            icon=":material/edit:",
        )
        return ""
    return written.strip()


def forget_word() -> None:
    """Lets go of the chosen word of a summary: it belonged to the text before."""
    forget("word")
