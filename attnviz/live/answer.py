"""Answer's pictures: the answer, and the passage with bars where it starts and ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnviz.analysis.answer.question_attention import (
    SIDES,
    Side,
    describe_answer,
    describe_confidence,
    describe_question_words,
    describe_word,
    head_shares,
    joint,
    question_attention,
    sides,
    strongest_heads,
)
from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_ranking import strongest_places
from attnviz.analysis.head_view import View
from attnviz.analysis.wording import percent
from attnviz.core.trace import AttentionTrace, Token
from attnviz.figures.matrix import labels
from attnviz.live.sentence_parts import Described, sentence_parts
from attnviz.models.result import Result
from attnviz.text.words import visible_text

BARS = ("how likely the answer starts here", "how likely it ends here")
# As the page Answer says it, and draws it unasked.
DECLINES = "The passage does not say."
VIEW = View(words=True)


def describe_answers(results: Sequence[Result], example: Mapping[str, Any]) -> Described:
    """Describe the answer of the first model to the question of a prompt."""
    result = results[0]
    answers, trace = result.answers, result.trace
    strongest = strongest_heads(trace, *answers.place)
    asking: list[Side] = [side for side in sides(trace) if side != "question"]
    side = max(asking, key=lambda each: strongest[each].share)
    layer, head = strongest[side].layer, strongest[side].head
    spans, text = answers.result.spans, answers.text(answers.result.spans[0])
    nothing = answers.result.nothing if answers.declined else None
    likely = describe_answer(
        [answers.text(span) for span in spans], spans, nothing=nothing, threshold=answers.decoding.declines_above
    )
    seen = describe_head_of(trace, AnswerPlace(text, answers.place), side, layer=layer, head=head)
    kind = "cross" if side == SIDES[0] else "encoder"
    shown = question_attention(trace, side, layer=layer, head=head, view=VIEW)
    story = (describe_question_words(shown, text, answers.place), likely)
    more = {"answer": _headline(result), "passage": _passage(result), "seen": seen, "joint": _joint(result)}
    return Described({kind: (layer, head)}, story, more)


@dataclass(frozen=True)
class AnswerPlace:
    """An answer, the characters of the passage where it stands, and the tokens of the passage."""

    text: str
    place: tuple[int, int]
    tokens: Sequence[Token] = ()


def describe_head_of(
    trace: AttentionTrace,
    answer: AnswerPlace,
    side: Side,
    *,
    layer: int,
    head: int | None,
    word: int | None = None,
    view: View = VIEW,
) -> dict[str, Any]:
    """Describe one head as the page draws it: what it gives to each word of the question, and the heads that give most to one.

    word  of the question that was chosen; None: none was
    """
    shown = question_attention(trace, side, layer=layer, head=head, view=view)
    attention = trace.cross if side == SIDES[0] else trace.encoder
    shares, count = shown.of_text(*answer.place), attention.n_layers * attention.n_heads
    places = [place for place, token in enumerate(shown.question) if is_word(token)]
    most = max(places, key=lambda place: float(shares[place]), default=None) if word is None else word
    weights = head_shares(trace, side, view, answer.place, most) if count > 1 and most is not None else np.zeros((0, 0))
    story = [describe_question_words(shown, answer.text, answer.place, word=word)]
    return {
        "side": side,
        "kind": attention.kind,
        "layer": layer,
        "head": head,
        "count": count,
        "question": [[visible_text(token.text), int(token.special)] for token in shown.question],
        "shares": [round(float(share), 4) for share in shares],
        "word": word,
        "bars": None if word is None else [round(float(weight), 4) for weight in shown.of_word(word, answer.tokens)],
        "name": "" if most is None else shown.question[most].text,
        "heads": [[*place, round(float(weights[place]), 4)] for place in strongest_places(weights)],
        "story": [sentence_parts(each) for each in (story if word is None else [*story, describe_word(shown, word)])],
    }


def _headline(result: Result) -> dict[str, object]:
    answers, best = result.answers, result.answers.result.spans[0]
    sure = f"{percent(answers.result.nothing)} for no answer" if answers.declined else f"{percent(best.probability)} sure"
    facts = [result.card.name, sure]
    if (confidence := answers.confidence) is not None:
        facts.append(describe_confidence(confidence))
    return {"text": answers.text(best), "declined": DECLINES if answers.declined else "", "facts": facts}


def _passage(result: Result) -> dict[str, object]:
    answers = result.answers
    bars = (answers.result.start, answers.result.end)
    best, *others = ([span.start, span.end, round(span.probability, 4)] for span in answers.result.spans)
    return {
        "units": [[token.start, token.end] for token in answers.tokens],
        "bars": [{"name": name, "values": values.round(4).tolist()} for name, values in zip(BARS, bars, strict=True)],
        "spans": [best, *others],
        "declined": answers.declined,
    }


def _joint(result: Result) -> dict[str, object]:
    """Write start × end, where the answer is found."""
    answers = result.answers
    logits, decoding = answers.result.logits, answers.decoding
    table = joint(
        answers.tokens,
        logits.start,
        logits.end,
        answers.result.spans,
        limit=decoding.limit,
        length_penalty=decoding.length_penalty,
    )
    return {
        "rows": labels(table.starts),
        "columns": labels(table.ends),
        "weights": table.probabilities.ravel().round(6).tolist(),
        "masked": (~table.legal).ravel().tolist(),
        "ranks": table.marks,
    }
