"""What Summarize says: what is kept, how good each selector was measured to be, and how all of it is computed."""

import html
import json
from functools import cache
from typing import Any

import streamlit as st

from attnviz.analysis.summarize.selection import Passage, Selection
from attnviz.analysis.summarize.selectors import Selector
from attnviz.analysis.summarize.summary_words import describe_rouge
from attnviz.models.result import Result
from attnviz.paths import assets_folder

# The selector that travels with attnviz, and the encoder that it stands on, not one weight of which was changed.
OWN, READ_BY = "summarize-en", "minilm"
# Rows of what was measured (recipes.summarize.evaluate).
ALONE, BEST = "Attention alone, the best of all ways", "Best sentence there is"
_HOW = """
Every token gives out attention that sums to 1. What a word **receives** is the mean over all tokens that were typed
(special tokens are left out), summed over its subwords. The words that receive most are kept, in the order of the text; a
sentence's score is the sum over its words.

- **Trained selector**: two layers on top of a frozen encoder, trained so that the first one's attention falls on the words,
  and the second one's on the sentence, that a person's summary of an abstract keeps.
- **Rollout** follows attention through all layers, residuals counted as half: Abnar & Zuidema 2020, *Quantifying Attention
  Flow in Transformers*, section 3.
- **First** and **Random** look at no attention: a selector that does no better has found nothing.
"""
_BELIEVE = """
- The numbers are the model's own, from one forward pass over this very text.
- Attention that was **not** trained to select mostly falls on punctuation, special tokens and words that help to read the
  others. What receives much is not what matters: see the measured line under the picture.
- The trained selector has read two thousand abstracts of machine-learning papers, and nothing else: on other texts it
  guesses.
- Kept words do not make a sentence, and a kept sentence may need the one before it.
- ROUGE counts words in common with a reference. It does not know whether a summary is true.
- Of a model that writes, a bar is where its decoder **looked** while it wrote, not proof that the word came from there.
"""


def show_kept(result: Result, passage: Passage, kept: Selection, selector: Selector) -> None:
    """What the model wrote, or else the sentences that were kept, in large type; and by which model and selector."""
    wrote = result.trace.output
    small = f"{result.card.name} wrote this" if wrote else f"The summary · {result.card.name} · {selector.name}"
    text = html.escape(wrote or passage.extract(kept.sentences)) or "<em>nothing</em>"
    st.html(f'<p class="answer"><bdi>{text}</bdi> <small>{html.escape(small)}</small></p>')


@cache
def measured() -> dict[str, Any]:
    """Read what was measured of summarize-en; empty where it was not trained yet."""
    path = assets_folder() / "models" / OWN / "metrics.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def measured_rouge(model: str, selector: str) -> float | None:
    """The measured ROUGE-1 of a selector, in percent; None of other models, and of selectors that nobody measured."""
    return measured().get(f"{selector}: ROUGE-1") if model in (OWN, READ_BY) else None


def rouge_note(model: str, reference: str) -> str:
    """What the figures in the table of selectors are; empty where it has none."""
    if reference:
        return "ROUGE of the kept sentences against your summary, in percent."
    if model not in (OWN, READ_BY) or not measured():
        return ""
    return f"{describe_rouge(measured()['abstracts'])} Write a summary of your own below, and this very text is scored."


def show_measured() -> None:
    """How good attention alone is at this, as it was measured."""
    figures = measured()
    rows = (ALONE, "First", "Random", "Trained selector", BEST)
    values = [figures.get(f"{row}: ROUGE-1") for row in rows]
    if None in values:
        return
    alone, first, chance, trained, best = (f"{value:.1f}" for value in values if value is not None)
    st.caption(
        f":material/straighten: How good attention alone is at this: on {figures['abstracts']} held-out abstracts, the "
        f"sentence that the best head and selector finds has ROUGE-1 {alone}; the first sentence has {first}, a random one "
        f"{chance}, the trained selector's {trained}, and the best there is {best}."
    )


def explain_choice() -> None:
    """How a choice comes about, and how much to trust this."""
    with st.expander("How this choice comes about · attention received"):
        st.markdown(_HOW)
        st.latex(r"r_j = \frac{1}{|H|\,|Q|} \sum_{h \in H} \sum_{i \in Q} \alpha^{h}_{ij}")
    with st.expander("How much to trust this"):
        st.markdown(_BELIEVE)
