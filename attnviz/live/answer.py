"""Answer's pictures: the answer, and the passage with bars where it starts and ends."""

from collections.abc import Mapping, Sequence
from typing import Any

from attnviz.analysis.answer.question_attention import (
    SIDES,
    Side,
    describe_answer,
    describe_confidence,
    describe_question_words,
    question_attention,
    sides,
    strongest_heads,
)
from attnviz.analysis.view import View
from attnviz.analysis.wording import percent
from attnviz.live.story import Described
from attnviz.models.result import Result

BARS = ("the answer starts here", "the answer ends here")
# As the page Answer says it.
DECLINES = "The passage does not say."


def describe_answers(results: Sequence[Result], example: Mapping[str, Any]) -> Described:
    """Describe the answer of the first model to the question of a prompt."""
    result = results[0]
    answers, trace = result.answers, result.trace
    strongest = strongest_heads(trace, *answers.place)
    asking: list[Side] = [side for side in sides(trace) if side != "question"]
    side = max(asking, key=lambda each: strongest[each].share)
    layer, head = strongest[side].layer, strongest[side].head
    shown = question_attention(trace, side, layer=layer, head=head, view=View(words=True))
    spans = answers.result.spans
    nothing = answers.result.nothing if answers.declined else None
    likely = describe_answer(
        [answers.text(span) for span in spans], spans, nothing=nothing, threshold=answers.decoding.declines_above
    )
    story = (describe_question_words(shown, answers.text(answers.result.spans[0]), answers.place), likely)
    kind = "cross" if side == SIDES[0] else "encoder"
    return Described({kind: (layer, head)}, story, {"answer": _headline(result), "passage": _passage(result)})


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
