"""Weights, probabilities, costs and shares of a model as it ships, held against the same model and analysis in float64.

Each row is one quantity of one model: the largest difference over some sentences of the shipped treebank, beside the last digit
that a page shows of it. A translation is the one that the shipped model writes, so that both are asked of the same words.
"""

from argparse import Namespace
from collections.abc import Iterator
from itertools import islice, pairwise

import numpy as np

import attnviz
from attnviz.analysis.head_metrics import entropy
from attnviz.analysis.whatif.comparison import compare
from attnviz.attribution.methods import METHODS, USUAL
from attnviz.attribution.token_removal import shares_by_method
from attnviz.core.edits import NO_EDITS
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import bind_target, capabilities
from attnviz.models.reading import shifts
from attnviz.models.run_task import run_task
from attnviz.models.tasks import read
from attnviz.models.whatif.head_costs import every_head, without
from attnviz.survey.corpora import TREEBANK, shipped
from benchmarks.harness import Row, run
from tests.float64 import exact, in_float64

QUESTION = "What is this about?"
# Words of a sentence.
SHORTEST, LONGEST = 5, 10
# The last digit that is shown: of a share, a part of the largest of its text, for words are shaded by that.
WEIGHT, BITS, PROBABILITY, DISTANCE, COST, SHARE = 0.001, 0.001, 0.001, 0.001, 0.0001, 0.001


def numbers(model: AttentionModel, prompt: Prompt, every: int) -> Iterator[tuple[str, float, np.ndarray]]:
    """Compute what pages show of a text: each quantity with its last digit. Of the heads, one of `every` is switched off."""
    able = capabilities(model)
    heads = every_head(model)[::every]
    trace, edited = model.trace(prompt), model.trace(prompt, without(heads[:1]))
    for each in trace.maps:
        for layer in range(each.n_layers):
            weights = each.store.layer(layer)
            yield "weight", WEIGHT, weights
            yield "entropy of a row, bits", BITS, entropy(weights)
        yield "change by a head off (Jensen-Shannon), bits", BITS, compare(trace, edited, kind=each.kind).divergence
    scorer = able.scorer(prompt)
    scores = scorer.scores([NO_EDITS, *(without([head]) for head in heads)])
    yield f"cost of a head, {'nats' if scorer.unit == 'nats' else '1 − cosine'}", COST, scores[0] - scores[1:]
    if "question" in model.card.reads:
        result = able.answers(prompt).result
        yield (
            "p of spans and of no answer",
            PROBABILITY,
            np.array([*(span.probability for span in result.spans), result.nothing]),
        )
    if prompt.target:
        yield (
            "p of a written piece",
            PROBABILITY,
            np.array([step.probability for step in run_task(model, "translate", prompt).draft.steps]),
        )
    if able.can_read:
        before, after = (read(model, prompt, edits) for edits in (NO_EDITS, without(heads[:1])))
        yield "how far a state has turned, 1 − cosine", DISTANCE, shifts(before, after)
    bound = bind_target(model, prompt, next(iter(able.targets(prompt))))
    methods = [*(method for method in USUAL if method.name != "random"), METHODS["value-zeroing"]]
    made = shares_by_method(bound, methods).shares
    for name, shares in made.items():
        yield f"share by {METHODS[name].title.lower()}, of the largest", SHARE, shares.values / np.abs(shares.values).max()


def prompts(model: AttentionModel, sentences: int) -> Iterator[Prompt]:
    """Choose short sentences of the treebank, in the form that the model reads."""
    texts = [each.text for each in shipped(TREEBANK) if SHORTEST <= len(each.words) <= LONGEST and each.text.isascii()]
    for text, other in islice(pairwise(texts), sentences):
        reads = model.card.reads
        if "question" in reads:
            yield Prompt(text, question=QUESTION)
        elif "target" in reads:
            yield Prompt(text, target=model.trace(text).output)
        elif model.card.selects is not None:
            yield Prompt(f"{text} {other}")
        else:
            yield Prompt(text, pair=other)


def rows(given: Namespace) -> Iterator[Row]:
    """The largest difference of each quantity, model by model."""
    for name in given.models:
        model, doubled = attnviz.load(name), exact(name)
        digits: dict[str, float] = {}
        largest: dict[str, float] = {}
        for prompt in prompts(model, given.sentences):
            as_shipped = list(numbers(model, prompt, given.every))
            with in_float64():
                precise = list(numbers(doubled, prompt, given.every))
            for (what, digit, one), (same, _, other) in zip(as_shipped, precise, strict=True):
                assert what == same
                digits[what] = digit
                largest[what] = max(largest.get(what, 0.0), float(np.abs(one - other).max(initial=0)))
        for what, difference in largest.items():
            yield Row(f"{name}: {what}", f"{difference:.1e}", f"< {digits[what]:g}", difference < digits[what], exact=True)


if __name__ == "__main__":
    run(rows, minutes=240, sizes={"models": ([*attnviz.available()], ["minilm"]), "sentences": (50, 1), "every": (12, 36)})
