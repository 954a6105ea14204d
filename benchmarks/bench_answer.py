"""How long an answerer takes, whether it finds what stands at the end of a long text, and whether its spans are the best.

python benchmarks/bench_answer.py                seconds; exits 1 where a bar is missed
python benchmarks/bench_answer.py --data FOLDER  also the 500 development questions with the shortest passages, each against a
                                                 search over every pair of tokens
"""

import argparse
import math
import statistics
import sys
import time
from pathlib import Path

import torch

from attnviz.core.trace import Prompt
from attnviz.models import catalog
from attnviz.models.answer.own import AnswerModel
from recipes.answer.questions import Question, read_questions

FACT, QUESTION, ANSWER = "The lighthouse of Rosewater was built in 1887 by Ada Quill.", "Who built the lighthouse?", "Ada Quill"
FILLER = (
    "Rain fell on the hills for most of the week, and the road to the market stayed closed until Friday. Farmers brought "
    "apples, cheese and wool to the square, where a band from the next valley played until it was dark."
)
# Words of a passage, milliseconds that an answer may take, and the runs of which the median counts.
SHORT, LONG = (150, 150.0, 15), (2000, 2000.0, 3)
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
        text = model.best(prompt).text
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


def check(model: AnswerModel, data: Path) -> int:
    """How many of the questions with the shortest passages have another answer, or another sum, than the search finds."""
    questions = sorted(read_questions(data, "qa.dev"), key=lambda one: len(one.context))[:CHECKED]
    wrong = 0
    for one in questions:
        sum_, text = searched(model, one)
        actual = model.answers(Prompt(one.context, question=one.text), n_best=1)
        best, nothing = actual.result.spans[0], actual.result.nothing
        wrong += actual.text(best) != text or abs(math.log(best.probability / nothing) - sum_) > 1e-4
    return wrong


def main() -> int:
    """Print the table; 1 if any model misses a bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    data, missed = parser.parse_args().data, False
    print(f"{'model':18}{'words':>7}{'median':>12}{'limit':>10}  answer")
    for name in (name for name in catalog.available() if name.startswith("answer-")):
        model = catalog.load(name)
        assert isinstance(model, AnswerModel)
        for words, limit, runs in (SHORT, LONG):
            median, text = timed(model, words, runs)
            missed |= median > limit or text != ANSWER
            print(f"{name:18}{words:>7}{median:>9.0f} ms{limit:>7.0f} ms  {text}", flush=True)
        if data is not None:
            wrong = check(model, data)
            missed |= wrong > 0
            print(f"{name:18}{wrong} of {CHECKED} answers are not those of a search over all pairs", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
