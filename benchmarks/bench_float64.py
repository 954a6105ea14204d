"""Every kind of number that attnviz shows, of each model as it ships, held against the same model and analysis in float64.

Each row is one quantity of one model: the largest difference over some sentences of the shipped treebank, beside the last digit
that is shown of it; its bar is half of that. What is compared is the same question twice: a translation is the one that the
shipped model writes, and heads and words go in the order in which the shipped model ranks them. What takes long is asked
of every second, eighth or 25th sentence only; a row says of how many numbers it is the largest difference.
"""

from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

import numpy as np

import attnviz
from attnviz.analysis.head_metrics import entropy, measure, score, summarize
from attnviz.analysis.head_view import head_matrix
from attnviz.analysis.heads.measures import MEASURES
from attnviz.analysis.heads.measures import measure as measure_text
from attnviz.analysis.matters import by_word, most_important_first
from attnviz.analysis.summary_selection import Amount, choose, read_passage, selectors, shares_of_heads
from attnviz.analysis.translation_alignment import balanced
from attnviz.analysis.whatif_comparison import compare
from attnviz.attribution.methods import METHODS
from attnviz.attribution.quantity_maps import in_quantity
from attnviz.attribution.token_removal import (
    Cell,
    MethodShares,
    deletion_curve,
    faithfulness,
    removable_words,
    shares_by_method,
    why,
    word_removals,
)  # fmt: skip
from attnviz.core.edits import NO_EDITS
from attnviz.core.errors import ModelError
from attnviz.core.trace import HeadCosts, Prompt
from attnviz.models.base import AttentionModel, shifts
from attnviz.models.capabilities import bind_target, capabilities
from attnviz.models.tasks import read, run_task
from attnviz.models.whatif import every_head, head_costs, removal_curve, without
from attnviz.text.corpora import TREEBANK, shipped
from benchmarks.harness import Row, run
from tests.float64 import exact, in_float64

QUESTION = "What is this about?"
# Words of a sentence.
SHORTEST, LONGEST = 5, 10
# What takes some passes, a pass a word or step, or hundreds of passes, is asked of every so many-th sentence.
SOME, SLOW, SLOWEST = 2, 8, 25
# The last digit that is shown: of a share, a part of the largest of its text, for words are shaded by that.
WEIGHT, SHARE, PROBABILITY, COST, BITS, LOG, DISTANCE, SCORE = 1e-4, 1e-3, 1e-4, 1e-4, 1e-3, 1e-2, 1e-3, 1e-2
Number = tuple[str, float, Any]


@dataclass(eq=False)
class Question:
    """What is asked of a model: a prompt, and what its shipped weights have ranked, which decides what is asked next.

    place  of the sentence among all: it decides which of the slow quantities are asked
    """

    prompt: Prompt
    place: int
    ranked: dict[str, Any] = field(default_factory=dict)

    def is_turn(self, number: int, of: int) -> bool:
        """Whether a quantity that is asked of every `of`-th sentence is asked of this one."""
        return self.place % of == number

    def once(self, name: str, made: Any) -> Any:
        """Keep what was computed first, by the shipped model; the same of the other."""
        return self.ranked.setdefault(name, made)


def attention_numbers(model: AttentionModel, asked: Question) -> Iterator[Number]:
    """Compute the weights, and what is said of each head."""
    for each in model.trace(asked.prompt).maps:
        statistics = measure_text(each)
        for name, of_heads, rows in zip(MEASURES, statistics.sums, statistics.rows, strict=True):
            yield f"measure of a head over a text: {name}", WEIGHT, of_heads / max(rows, 1)
        for layer in range(each.n_layers):
            weights = each.layer_weights(layer)
            yield "weight", WEIGHT, weights
            yield "entropy of a row, bits", BITS, entropy(weights)
            strongest = asked.once(f"strongest {each.kind} {layer}", weights.argmax(axis=-1, keepdims=True))
            yield (
                "weight of the strongest key of a row, below the largest of that row",
                WEIGHT,
                (weights.max(axis=-1) - np.take_along_axis(weights, strongest, axis=-1)[..., 0]),
            )
        layer, head = (asked.place % each.n_layers, asked.place % each.n_heads)
        matrix = head_matrix(each, layer=layer, head=head)
        small, whole = measure(matrix), summarize(matrix)
        yield "mean entropy of a head, bits", BITS, [small.entropy, whole.entropy]
        yield "mean distance of a head, tokens", BITS, small.distance or 0
        shares = [small.near, whole.itself, whole.previous, whole.following, whole.special, whole.first]
        yield "shares of a head: itself, next, special, near", WEIGHT, shares
        if found := score(each, layer=layer, head=head, query=len(each.queries) - 1, key=0):
            yield "q · k, scaled", SCORE, [found.product * found.scaling, found.scaled]
        if each.kind == "cross":
            yield "Sinkhorn share", WEIGHT, [balanced(each.weights(layer, head)) for head in range(each.n_heads)]


def moved_numbers(model: AttentionModel, asked: Question) -> Iterator[Number]:
    """Compute norms and mixing in place of weights, of every second sentence."""
    if not asked.is_turn(0, SOME):
        return
    task = "translate" if "target" in model.card.reads else "encode"
    result = run_task(model, task, Prompt(asked.prompt.text, pair=asked.prompt.pair, question=asked.prompt.question))
    for quantity in ("norms", "mixing"):
        try:
            shown = in_quantity(model, result, quantity)
        except ModelError:
            continue
        yield f"weight, as {quantity}", WEIGHT, np.concatenate([
            each.layer_weights(layer).ravel() for each in shown.trace.maps for layer in range(each.n_layers)
        ])  # fmt: skip
        yield "mixing ratio of a layer", SHARE, list(shown.mixing.values())


def edit_numbers(model: AttentionModel, asked: Question) -> Iterator[Number]:
    """Switch a head off: how far the attention of all has moved, and the model's states."""
    heads = every_head(model)
    off = without([heads[asked.place * 7 % len(heads)]])
    trace, edited = model.trace(asked.prompt), model.trace(asked.prompt, off)
    for each in trace.maps:
        comparison = compare(trace, edited, kind=each.kind)
        yield "change by a head off (Jensen-Shannon), bits", BITS, comparison.divergence
        layer = asked.place % each.n_layers
        yield "difference of two weights", WEIGHT, [comparison.difference(layer, head) for head in range(each.n_heads)]
    if capabilities(model).can_read:
        before, after = (read(model, asked.prompt, edits) for edits in (NO_EDITS, off))
        yield "how far a state has turned, 1 − cosine", DISTANCE, shifts(before, after)
        if before.similarity is not None and after.similarity is not None:
            yield "likeness of two texts", SCORE, [before.similarity, after.similarity]


def cost_numbers(model: AttentionModel, asked: Question) -> Iterator[Number]:
    """Switch every eighth head off in turn; of every 25th sentence every head, and then more and more of them."""
    heads, scorer = every_head(model), capabilities(model).scorer(asked.prompt)
    unit = "nats" if scorer.unit == "nats" else "1 − cosine"
    if asked.is_turn(0, SLOWEST):
        costs = head_costs(model, asked.prompt)
        yield f"cost of a head, {unit}", COST, np.concatenate([each[~np.isnan(each)] for each in costs.costs.values()])
        shipped_costs: HeadCosts = asked.once("costs", costs)
        same = HeadCosts(costs.unit, costs.before, shipped_costs.costs)
        curve = removal_curve(model, asked.prompt, same)
        yield f"cost of k heads, {unit}", SCORE, np.concatenate([curve.least, curve.most, curve.random.ravel()])
    else:
        scores = scorer.scores([NO_EDITS, *(without([head]) for head in heads[asked.place % SLOW :: SLOW])])
        yield f"cost of a head, {unit}", COST, scores[0] - scores[1:]


def share_numbers(model: AttentionModel, asked: Question) -> Iterator[Number]:
    """Compute shares of words, p without each word, and how faithful each method is, of every second sentence."""
    if not asked.is_turn(1, SOME):
        return
    bound = bind_target(model, asked.prompt, next(iter(capabilities(model).targets(asked.prompt))))
    turns = {"integrated-gradients": 1, "value-zeroing": 3, "flow": 5, "leave-one-out": 7}
    methods = [each for name, each in METHODS.items() if name not in turns or asked.is_turn(turns[name], SLOW)]
    made = shares_by_method(bound, methods)
    for name, shares in made.shares.items():
        largest = np.abs(shares.values).max()
        yield f"share by {METHODS[name].title.lower()}, of the largest", SHARE, shares.values / (largest or 1)
    if not asked.is_turn(7, SLOW):
        return
    same: MethodShares = asked.once("shares", made)
    figures = faithfulness(bound, same)
    yield "comprehensiveness and sufficiency", SHARE, [[each.comprehensiveness, each.sufficiency] for each in figures.values()]
    groups = removable_words(bound)
    curve = deletion_curve(bound, groups, most_important_first(by_word(same.shares["attention"].values, groups)).tolist())
    yield "p of the output as words are masked", SHARE, [curve.most_first, curve.least_first]
    removals = word_removals(model, asked.prompt)
    yield "p of the output without a word", SHARE, [removals.before.probability, *removals.without]


def task_numbers(model: AttentionModel, asked: Question) -> Iterator[Number]:
    """Compute what the model is for: answers, translations, what it keeps."""
    if "question" in model.card.reads:
        answers = capabilities(model).answers(asked.prompt)
        found = answers.result
        yield "p of a span, and of no answer", PROBABILITY, [*(span.probability for span in found.spans), found.nothing]
        yield "p that an answer starts, or ends, at a token", PROBABILITY, [found.start, found.end]
        sure = answers.decoding.confidence(found.spans[0].probability, found.nothing)
        yield "correct at this confidence", SHARE, min(sure, 1 - found.nothing)
    if asked.prompt.target:
        draft = run_task(model, "translate", asked.prompt).draft
        yield "p of a written piece", PROBABILITY, [step.probability for step in draft.steps]
        yield "p of another piece", PROBABILITY, [[p for _, p in step.alternatives] for step in draft.steps]
        yield "ln p of a translation", LOG, draft.log_probability
    if model.card.selects is not None:
        trace = model.trace(asked.prompt)
        passage = read_passage(asked.prompt.text, trace.maps[0].queries)
        chosen = selectors(passage, trace, selects=model.card.selects, layer=asked.place % trace.maps[0].n_layers, head=None)
        for each in chosen:
            if each.tokens is not None:
                yield "attention that a word receives", PROBABILITY, each.units
                yield "share of a sentence", PROBABILITY, each.sentences
        kept = asked.once("kept", choose(passage, chosen[0].units, chosen[0].sentences, Amount(3)).units)
        yield "share of a head's attention that lands on kept words", SHARE, shares_of_heads(trace.maps[0], passage, kept)


def pair_numbers(model: AttentionModel, asked: Question) -> Iterator[Number]:
    """Decompose a score over pairs of tokens, of every 25th sentence."""
    if not asked.is_turn(4, SLOWEST):
        return
    kind = model.trace(asked.prompt).maps[0].kind
    try:
        pairs = why(model, asked.prompt, Cell(kind, asked.place % model.card.n_layers, 0, 1, 2))
    except ModelError:
        return
    yield "what a pair of tokens adds to a score", SCORE, pairs.values
    yield "what a token adds to a score", SCORE, [*pairs.sides()]


PARTS: dict[str, Callable[[AttentionModel, Question], Iterator[Number]]] = {
    "attention": attention_numbers, "moved": moved_numbers, "edits": edit_numbers, "costs": cost_numbers,
    "shares": share_numbers, "task": task_numbers, "pairs": pair_numbers,
}  # fmt: skip


def prompts(model: AttentionModel, sentences: int) -> Iterator[Prompt]:
    """Choose short sentences of the treebank, in the form that the model reads."""
    texts = [
        each.text for each in shipped(TREEBANK)
        if SHORTEST <= len(each.words) <= LONGEST and each.text.isascii() and each.text.endswith(".")
    ]  # fmt: skip
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


@dataclass
class Largest:
    """The largest difference of a quantity, and of how many numbers."""

    digit: float
    difference: float = 0.0
    cases: int = 0

    def add(self, one: np.ndarray, other: np.ndarray) -> None:
        """Compare numbers as shipped with the same in float64."""
        self.difference = max(self.difference, float(np.abs(one - other).max(initial=0)))
        self.cases += one.size


def rows(given: Namespace) -> Iterator[Row]:
    """The largest difference of each quantity, model by model."""
    for name in given.models:
        model, doubled = attnviz.load(name), exact(name)
        largest: dict[str, Largest] = {}
        for place, prompt in enumerate(prompts(model, given.sentences)):
            asked = Question(prompt, place)
            for part in given.parts:
                as_shipped = [(what, digit, np.array(one)) for what, digit, one in PARTS[part](model, asked)]
                with in_float64():
                    precise = [(what, np.array(other)) for what, _, other in PARTS[part](doubled, asked)]
                for (what, digit, one), (same, other) in zip(as_shipped, precise, strict=True):
                    assert what == same
                    largest.setdefault(what, Largest(digit)).add(one, other)
        for what, found in largest.items():
            half = found.digit / 2
            measured = f"{found.difference:.1e} of {found.cases:,} cases"
            yield Row(f"{name}: {what}", measured, f"≤ {half:g}", found.difference <= half, exact=True)


if __name__ == "__main__":
    run(
        rows, minutes=240,
        sizes={"models": ([*attnviz.available()], ["minilm"]), "sentences": (50, 1), "parts": ([*PARTS], [*PARTS])},
    )  # fmt: skip
