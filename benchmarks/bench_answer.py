"""How long an answerer takes, whether it finds what stands at the end of a long text, and whether its spans are the best.

With --data FOLDER also the 500 development questions with the shortest passages, each against a search over all pairs.
"""

import math
import statistics
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import torch

from attnviz.core.trace import Prompt
from attnviz.models import catalog
from attnviz.models.shipped_answerer import AnswerModel
from benchmarks.harness import Row, at_most, none, run
from recipes.answer.calibrate import best_span
from recipes.answer.questions import Question, read_questions

FACT, QUESTION, ANSWER = "The lighthouse of Rosewater was built in 1887 by Ada Quill.", "Who built the lighthouse?", "Ada Quill"
FILLER = (
    "Rain fell on the hills for most of the week, and the road to the market stayed closed until Friday. Farmers brought "
    "apples, cheese and wool to the square, where a band from the next valley played until it was dark."
)
# Milliseconds that an answer may take, by the words of its passage.
LIMITS = {150: 150.0, 2000: 2000.0}
CHECKED = 500


def passage(words: int) -> str:
    """A text of so many words that says only at its end what is asked."""
    n_fact = len(FACT.split())
    filler = FILLER.split()
    return " ".join([*(filler[place % len(filler)] for place in range(words - n_fact)), FACT])


def timed(model: AnswerModel, words: int, runs: int) -> tuple[float, str]:
    """The median of some runs in milliseconds, after one that nobody counts, and the answer."""
    prompt, actual, text = Prompt(passage(words), question=QUESTION), [], ""
    for _ in range(runs + 1):
        start = time.perf_counter()
        text = best_span(model, prompt).text
        actual.append((time.perf_counter() - start) * 1000)
    return statistics.median(actual[1:]), text


def searched(model: AnswerModel, question: Question) -> tuple[float, str]:
    """The best span's logit and its text, by a search of our own: over what the tokenizer and the model give, pair by pair."""
    joint = model.answerer.config.joint
    sides = [model.encoder.tokenizer(text, return_offsets_mapping=True) for text in (question.text, question.context)]
    asked, read = (torch.tensor([side["input_ids"]]) for side in sides)
    offsets = sides[1]["offset_mapping"]
    if joint:
        read, offsets = read[:, 1:], offsets[1:]
    with torch.inference_mode():
        start, end, _ = model.answerer(
            asked, read, question_visible=torch.ones_like(asked).bool(), context_visible=torch.ones_like(read).bool()
        )
    starts, ends = start[0].double().tolist(), end[0].double().tolist()
    best, text = -float("inf"), ""
    for first in range(len(starts)):
        for last in range(first, min(len(ends), first + model.decoding.limit + 1)):
            logit = starts[first] + ends[last] - model.decoding.length_penalty * (last - first)
            if logit > best:
                best, text = logit, question.context[offsets[first][0] : offsets[last][1]]
    return best, text


def other_answers(model: AnswerModel, data: Path) -> list[str]:
    """The questions with the shortest passages that have another answer, or another sum, than the search finds."""
    questions = sorted(read_questions(data, "qa.dev"), key=lambda one: len(one.context))[:CHECKED]
    wrong = []
    for one in questions:
        sum_, text = searched(model, one)
        actual = model.answers(Prompt(one.context, question=one.text), n_best=1)
        best, nothing = actual.result.spans[0], actual.result.nothing
        if actual.text(best) != text or abs(math.log(best.probability / nothing) - sum_) > 1e-4:
            wrong.append(one.text)
    return wrong


def rows(given: Namespace) -> Iterator[Row]:
    """Each answerer that comes with the app."""
    for name in given.models:
        model = catalog.load(name)
        assert isinstance(model, AnswerModel)
        for words in given.words:
            median, text = timed(model, words, min(given.runs, 3000 // words))
            yield at_most(f"{name}, {words:,} words", median, LIMITS[words], "ms")
            yield none(f"{name}, {words:,} words: another answer than {ANSWER}", [text] if text != ANSWER else [])
        if given.data:
            yield none(f"{name}: answers that a search over all pairs does not find", other_answers(model, Path(given.data)))


if __name__ == "__main__":
    names = [name for name in catalog.available() if name.startswith("answer-")]
    run(rows, minutes=10, sizes={"models": (names, names[:1]), "words": ([*LIMITS], [150]), "runs": (15, 1), "data": ("", "")})
