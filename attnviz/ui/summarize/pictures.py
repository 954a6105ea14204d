"""The Summarize page: what to keep and by which way, and its pictures mounted."""

import html
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.head_metrics import strongest_link
from attnviz.analysis.summarize.rouge import rouge
from attnviz.analysis.summarize.selection import Amount, Passage, Selection, choose
from attnviz.analysis.summarize.selectors import Selector, selectors, shares_of_heads
from attnviz.analysis.summarize.summary_words import SummaryWord
from attnviz.analysis.view import View, head_matrix
from attnviz.analysis.wording import head_name
from attnviz.core.trace import AttentionMap
from attnviz.figures import html as shared
from attnviz.figures.summarize.passage import STYLE, marked_passage, summary_buttons
from attnviz.figures.summarize.selectors import Row, heads_agreement, ways_table
from attnviz.paths import assets_folder
from attnviz.ui.address.state import LINK_CHARACTERS, forget, publish, restore, value
from attnviz.ui.address.widgets import bounded, dropdown, segments, toggle
from attnviz.ui.background.jobs import at_a_place
from attnviz.ui.background.results import Traced
from attnviz.ui.explain import explain_button
from attnviz.ui.explorer import PLOTLY, all_heads, open_head
from attnviz.ui.layout import escaped, theme
from attnviz.ui.markup import Markup
from attnviz.ui.prompt import long_notice
from attnviz.ui.sidebar import HeadChoice, one_model, stepper

_markup = Markup("passage", shared.STYLE + STYLE)
# Two pages: more is no summary.
MOST_REFERENCE = 5_000
OWN = "summarize-en"
# Rows of what was measured (attnviz.training.summarize.evaluate).
ALONE, BEST = "Attention alone, the best of all ways", "Best sentence there is"
# Models of the hub that write summaries, and encoders to compare with.
HUB = ("sshleifer/distilbart-cnn-6-6", "facebook/bart-large-cnn", "t5-small", "google/pegasus-xsum", "bert-base-uncased")
# What the address calls the ways, whose names tell numbers that a person chooses.
WAYS = {"trained": "Trained selector", "last": "last layer", "mean": "mean of all", "head": "chosen head",
        "rollout": "rollout", "first": "First", "random": "Random"}  # fmt: skip

_HOW = """
Every token gives out attention that sums to 1. What a word **receives** is the mean over all tokens that were typed
(special tokens ask nothing), summed over its subwords. The words that receive most are kept, in the order of the text; a
sentence's score is the sum over its words.

- **Trained selector**: two layers on top of a frozen encoder, trained so that the first one's attention falls on the words,
  and the second one's on the sentence, that a person's summary of an abstract keeps.
- **Rollout** follows attention through all layers, residuals counted as half: Abnar & Zuidema 2020, *Quantifying Attention
  Flow in Transformers*, section 3.
- **First** and **Random** look at no attention: a way that does no better has found nothing.
"""
_BELIEVE = """
- The numbers are the model's own, from one forward pass over this very text.
- Attention that was **not** trained to select mostly falls on punctuation, special tokens and words that help to read the
  others. What receives much is not what matters: see the measured line under the picture.
- The trained selector has read two thousand abstracts of machine-learning papers, and nothing else: elsewhere it is a
  guess.
- Kept words are no sentence, and a kept sentence may need the one before it.
- ROUGE counts words in common with a reference. It does not know whether a summary is true.
- Of a model that writes, a bar is where its decoder **looked** while it wrote, not proof that the word came from there.
"""


@dataclass(frozen=True)
class Options:
    """What is chosen in the sidebar: `head` None is the mean over the layer's heads."""

    layer: int
    head: int | None
    way: str
    amount: Amount
    words: bool
    punctuation: bool


def summarizer_picker() -> str:
    """The model that reads the text: of the catalog, of the hub, or any id or folder that is typed."""
    return one_model(
        [OWN, "minilm", *HUB],
        "summarize-en and minilm are on this machine and choose from the text. Others come from the Hugging Face hub: "
        "BART, T5 and Pegasus write a summary of their own; or type any model's id, or a folder.",
    )


def options(attention: AttentionMap, selects: tuple[int, int] | None, sidebar: DeltaGenerator) -> Options:
    """The way to choose, how much to keep, layer and head; all of it in the address."""
    ways = [name for name in WAYS if selects or name != "trained"]
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
    return f"{kind}{WAYS[way]}{more}"


def chosen_way(found: tuple[Selector, ...], way: str) -> Selector:
    """The way that the sidebar names; the first where there is no such."""
    return next((each for each in found if WAYS[way] in each.name), found[0])


def show_passage(found: Passage, kept: Selection, way: Selector, row: SummaryWord | None) -> None:
    """The text with bars: what each word receives, or, of a chosen word of a summary, what it gave to each."""
    scores = way.units - min(float(way.units.min()), 0.0) if row is None else found.by_unit(row.row)
    shares = way.sentences if way.tokens is not None else None
    _markup("passage", marked_passage(found, kept, scores, shares, theme=theme()))


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


def show_heads(attention: AttentionMap, found: Passage, kept: Selection, chosen: Options) -> None:
    """How much of every head's attention goes to the kept words, and folded all heads over the text. A click chooses a head."""
    shares = shares_of_heads(attention, found, kept.units)

    def select() -> None:
        points = st.session_state.heads.selection.points
        if points:
            choose_head(int(points[0]["y"]), int(points[0]["x"]))

    figure = heads_agreement(shares, selected=(chosen.layer, chosen.head), theme=theme())
    alt = "For every head the share of its attention to words that goes to the kept ones"
    st.plotly_chart(figure, theme=None, key="heads", on_select=select, selection_mode="points", config=PLOTLY, alt=alt)
    all_heads(attention, HeadChoice(chosen.layer, chosen.head, View(words=chosen.words), False), choose_head)
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


def every_way(found: Passage, traced: Traced, chosen: Options) -> tuple[Selector, ...]:
    """Every way to choose from a text: all its heads are computed for that."""
    with at_a_place():
        return selectors(found, traced.trace, selects=traced.card.selects, layer=chosen.layer, head=chosen.head)


def show_ways(found: Passage, all_ways: tuple[Selector, ...], chosen: Selector, amount: Amount, reference: str) -> None:
    """Every way's choice from this text, and its ROUGE where there is a reference."""
    rows = []
    with at_a_place():
        for way in all_ways:
            kept = choose(found, way.units, way.sentences, amount)
            extract = found.extract(kept.sentences)
            score = rouge(extract, [reference]) if reference else None
            rows.append(Row(way.name, extract, found.words(kept.units), score))
    _markup("ways", ways_table(rows, chosen=chosen.name, theme=theme()))


def reference_box() -> str:
    """Where a person writes what the summary should be."""
    restore("reference", "")
    text = st.text_area(
        "A summary of your own",
        key="reference",
        height="content",
        placeholder="Write what you would keep: every way is then measured against it (ROUGE)",
    )
    publish("reference", text if len(text) <= LINK_CHARACTERS else "", "")
    long_notice("summary", text)
    if len(text) > MOST_REFERENCE:
        st.error(
            f"This summary has {len(text):,} characters and at most {MOST_REFERENCE:,} are compared: shorten it.",
            icon=":material/edit:",
        )
        return ""
    return text.strip()


def headline(traced: Traced, found: Passage, kept: Selection, way: Selector) -> None:
    """What the model wrote, or else the sentences that were kept, in large type; and by which model and way."""
    wrote = traced.trace.output
    small = f"{traced.card.name} wrote this" if wrote else f"{traced.card.name} · {way.name}"
    if not wrote and way.tokens is not None:
        share = float(way.sentences[kept.sentences].sum())
        small += f" · {share:.0%} of the attention that sentences receive"
    text = html.escape(wrote or found.extract(kept.sentences)) or "<em>nothing</em>"
    st.html(f'<p class="answer"><bdi>{text}</bdi> <small>{html.escape(small)}</small></p>')


@cache
def measured() -> dict[str, Any]:
    """What `attnviz evaluate summarize-en` has measured; empty where it was not trained yet."""
    path = assets_folder() / "models" / OWN / "metrics.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def honest_line() -> None:
    """How good attention alone is at this, as it was measured."""
    figures = measured()
    rows = (ALONE, "First", "Random", "Trained selector", BEST)
    found = [figures.get(f"{row}: ROUGE-1") for row in rows]
    if None in found:
        return
    alone, first, chance, trained, best = (f"{value:.1f}" for value in found if value is not None)
    st.caption(
        f":material/straighten: How good attention alone is at this: on {figures['abstracts']} held-out abstracts, the "
        f"sentence that the best of all heads and ways finds has ROUGE-1 {alone}; the first sentence has {first}, a random one "
        f"{chance}, the trained selector's {trained}, and the best there is {best}."
    )


def forget_word() -> None:
    """Lets go of the chosen word of a summary: it belonged to the text before."""
    forget("word")


def explained() -> None:
    """How a choice comes about, and how much to trust this."""
    with st.expander("How this choice comes about · attention received"):
        st.markdown(_HOW)
        st.latex(r"r_j = \frac{1}{|H|\,|Q|} \sum_{h \in H} \sum_{i \in Q} \alpha^{h}_{ij}")
    with st.expander("How much to trust this"):
        st.markdown(_BELIEVE)
