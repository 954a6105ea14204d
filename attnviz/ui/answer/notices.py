"""What Answer says: the answer and how sure the model is, sentences made of its numbers, and how all of it is computed."""

import html
from collections.abc import Iterable, Iterator

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.answer.question_attention import (
    QuestionAttention,
    describe_answer,
    describe_confidence,
    describe_question_words,
    describe_word,
)
from attnviz.analysis.wording import NUMBERS, Sentence, percent
from attnviz.models import catalog
from attnviz.models.result import Result
from attnviz.ui.answer.controls import AnswerView, chosen_word
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.layout import story

_CHOOSE = "Choose a model in the sidebar: one, or two side by side."
_NO_MODEL = (
    "Choose a model in the sidebar. None travels with this copy of attnviz yet: train one with "
    "`python -m recipes answer-en --data FOLDER`, or name one of the hub, such as distilbert-base-cased-distilled-squad."
)
_HOW = """
Question and passage go through an encoder, and every token of the passage gets two numbers: how much speaks for the answer
**starting** there, and for it **ending** there. A span's score is their sum; answer-en takes a little from it for each token
after the first. All spans are compared at once, *start ≤ end*, with no answer as one more choice, and the softmax over them is
what is shown: bars under a token are its share of the starts and of the ends. Where p(no answer) exceeds a threshold that was
set on questions held out of training, the passage is taken not to say; a model of the hub has none, and declines where no
answer is likelier than any span.

- **answer-en** reads both texts as one pair, so that they meet in every layer; **answer-en-dual** reads each on its own (as
  Seo et al. 2017, *Bidirectional Attention Flow for Machine Comprehension*), so that all one learns of the other comes
  through the cross-attention. Compare the two.
- Across, the passage's tokens are the **queries** and the question's the **keys**: every row is a token of the passage, and
  sums to 1 over the question.
- The page opens where the answer looks most firmly at one word of the question. Read as one pair, the texts have met long
  before the cross-attention, which then has little left to tell: in the encoder an answer often looks at *Who* or *Where*.
- Models of the hub have no cross-attention. Where question and passage meet are blocks of their encoder's attention; a row
  there sums to 1 only with what is not shown.
- A long passage is read in overlapping windows; a token counts as it was read where it stands farthest from an edge. The
  attention is that of the window with the answer.
"""
_BELIEVE = """
- The numbers are the model's own, from a forward pass over this very text.
- A probability says how the spans compare **to this model**. One that was trained on encyclopedia articles can be sure, and
  wrong, anywhere else.
- How often answers this sure are right was measured on passages of four kinds that do answer. It can be more than p: several
  spans may be right, as with and without *the*.
- It answers with words of the passage, true or not: it does not know the world.
- Whether the passage answers at all was learned from questions put to passages that do not; a passage that almost answers is
  the hardest.
- Where a token **looked** is not why the span was chosen: values, other heads and later layers decide what becomes of it.
"""


def ask_for_model() -> None:
    """What to do where no model is chosen."""
    st.info(_CHOOSE if catalog.available_for("answer") else _NO_MODEL, icon=":material/school:")


def show_answer(slot: int, result: Result, view: AnswerView, place: DeltaGenerator) -> None:
    """One model's answer, and sentences made of its numbers."""
    own = view.of(result.trace)
    shown = own.question_attention(result.trace)
    _show_headline(result, place)
    story(*_sentences(result, shown, chosen_word(shown, slot)), place=place)


def _show_headline(result: Result, place: DeltaGenerator) -> None:
    """The answer in large type, or that there is none; and how sure the model is, and how good it was measured to be."""
    answers, card = result.answers, result.card
    best = answers.result.spans[0]
    facts = [card.name, f"{percent(best.probability)} sure"]
    if (sure := answers.confidence) is not None:
        facts.append(describe_confidence(sure))
    span = f"<bdi>{html.escape(answers.text(best))}</bdi>"
    if answers.declined:
        facts[1] = f"{percent(answers.result.nothing)} for no answer"
        span = f'<em>The passage does not say.</em> <span class="declined">Likeliest: {span}</span>'
    place.html(f'<p class="answer">{span} <small>{html.escape(" · ".join(facts))}</small></p>')


def _sentences(result: Result, shown: QuestionAttention, word: int | None) -> tuple[Sentence, Sentence]:
    """Where the answer looks in the question; and the next best answer, or what else looks at the chosen word."""
    answers = result.answers
    spans = answers.result.spans
    texts = [answers.text(span) for span in spans]
    nothing = answers.result.nothing if answers.declined else None
    likely = describe_answer(texts, spans, nothing=nothing, threshold=answers.decoding.declines_above)
    number = NUMBERS[result.quantity]
    looks = describe_question_words(shown, texts[0], answers.place, number, word=word)
    return looks, likely if word is None else describe_word(shown, word, number)


def windows_notice(result: Result) -> Iterator[str]:
    """Of a passage that was read in parts, which part the attention is of."""
    found = result.answers.result
    if len(found.windows) > 1:
        window = found.windows[found.best]
        yield (
            f"{escaped(result.card.name)} read this passage in {len(found.windows)} overlapping windows. The attention is "
            f"that of the one with the likeliest answer, tokens {window.start + 1:,} to {window.stop:,} of "
            f"{len(result.answers.tokens):,}."
        )


def explain_answer(results: Iterable[Result]) -> None:
    """How an answer is found, and how much to trust this."""
    with st.expander("How this answer is found · softmax over all spans"):
        st.markdown(_HOW)
        st.latex(r"p(i, j) = \frac{e^{\,s_i + e_j}}{e^{\,0} + \sum_{k \le l \le k + L} e^{\,s_k + e_l}}")
    with st.expander("How much to trust this"):
        st.markdown(_BELIEVE)
        for card in (each.card for each in results):
            if "F1" in card.metrics:
                st.markdown(f"- {escaped(card.name)}: F1 {card.metrics['F1']:.0f} on held-out questions of SQuAD.")
