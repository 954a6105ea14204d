"""Costs of heads for one output: every head off in turn, and many heads off at once."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from attnviz.core.edits import NO_EDITS, Edits, HeadSet, HeadValue
from attnviz.core.trace import Head, HeadCosts, Prompt, RemovalCurve
from attnviz.core.weights import Kind
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.models.capabilities import capabilities
from attnviz.models.edit import Scorer

DRAWS, STEPS = 20, 12


def every_head(model: AttentionModel) -> tuple[Head, ...]:
    """List the heads that can be switched off.

    Raises:
        EditError: the model cannot be edited.
    """
    points = capabilities(model).edit_points()
    return tuple(
        (kind, layer, head)
        for kind, (_, heads) in points.sizes.items()
        for layer in points.layers(kind)
        for head in range(heads)
    )


def without(heads: Sequence[Head], to: HeadValue = "zero") -> Edits:
    """Make the edits that set some heads, to zero where nothing else is said.

    >>> without([("cross", 1, 0)]).text
    'c1.0z'
    """
    return Edits(tuple(HeadSet(*head, to) for head in heads))


def head_costs(
    model: AttentionModel, prompt: Prompt | str, *, to: HeadValue = "zero", progress: Progress = silent
) -> HeadCosts:
    """Switch every head off in turn, and measure what each costs the output that the model gives without edits.

    Raises:
        EditError: the model cannot be edited, or its output is no number.
        CancelledError: nobody waits for it any more.
    """
    scorer, heads = capabilities(model).scorer(Prompt.of(prompt)), every_head(model)
    scores = _scored(scorer, [NO_EDITS, *(without([head], to) for head in heads)], progress)
    sizes = capabilities(model).edit_points().sizes
    costs: dict[Kind, np.ndarray] = {kind: np.full(size, np.nan) for kind, size in sizes.items()}
    for (kind, layer, head), score in zip(heads, scores[1:], strict=True):
        costs[kind][layer, head] = scores[0] - score
    return HeadCosts(scorer.unit, float(scores[0]), costs)


def removal_curve(
    model: AttentionModel, prompt: Prompt | str, costs: HeadCosts, *, to: HeadValue = "zero", progress: Progress = silent
) -> RemovalCurve:
    """Switch off more and more heads, k = 1 to all in about a dozen steps; a seed decides what is drawn by chance.

    Raises:
        EditError, CancelledError: as of `head_costs`.
    """
    ranked, dice = costs.ranked, np.random.default_rng(2019)
    counts = tuple(sorted({round(float(count)) for count in np.geomspace(1, len(ranked), min(STEPS, len(ranked)))}))
    orders = [ranked, ranked[::-1], *([ranked[place] for place in dice.permutation(len(ranked))] for _ in range(DRAWS))]
    rows = [without(order[:count], to) for order in orders for count in counts]
    scores = _scored(capabilities(model).scorer(Prompt.of(prompt)), rows, progress)
    table = costs.before - scores.reshape(len(orders), len(counts))
    return RemovalCurve(counts, table[0], table[1], table[2:])


def _scored(scorer: Scorer, rows: Sequence[Edits], progress: Progress) -> Float[np.ndarray, " row"]:
    scores = scorer.scores(rows, lambda done: progress("Switching heads off", done))
    progress("Switching heads off", 1.0)
    return scores
