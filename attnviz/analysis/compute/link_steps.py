"""The steps from a head's vectors to one weight of a real model, and whether they end at the heatmap's number."""

from dataclasses import dataclass

import numpy as np

from attnviz.analysis.compute.additive import unfold_additive
from attnviz.analysis.compute.dot_product import unfold_dot_product
from attnviz.analysis.compute.long_vectors import QueryKey
from attnviz.analysis.compute.rounding import largest_remainder, number_text
from attnviz.analysis.compute.steps import ComputationStep, Matrix, Origin, Term, summed, weight_rows
from attnviz.analysis.token_words import word_groups
from attnviz.core.head_inputs import Additive, Ingredients
from attnviz.core.trace import AttentionMap


@dataclass(frozen=True, eq=False)
class LinkSteps:
    """The steps, which of them ends in the weight, the weight as the heatmap has it, and how far apart the two are."""

    steps: tuple[ComputationStep, ...]
    last: int
    weight: float
    difference: float


def link_steps(
    inputs: Ingredients, attention: AttentionMap, head: tuple[int, int], link: QueryKey, *, words: bool
) -> LinkSteps:
    """Compute the weight of a link step by step; `head` is its layer and head, whose `inputs` these are.

    `words` adds the step that merges subwords to words.

    Raises:
        TraceError: there is no such layer or head.
    """
    steps = unfold_additive(inputs, link) if isinstance(inputs, Additive) else unfold_dot_product(inputs, link)
    weight = float(attention.weights(*head)[link.query, link.key])
    last = next(index for index, step in enumerate(steps) if step.result.weights)
    computed = float(steps[last].result.values[steps[last].start])
    if words and (step := _merge_step(attention, layer=head[0], head=head[1], query=link.query, key=link.key)):
        # Before the context: it is the heatmap's number, and no further step needs it.
        steps = (*steps[: last + 1], step, *steps[last + 1 :])
    return LinkSteps(steps, last, weight, abs(weight - computed))


def _merge_step(attention: AttentionMap, *, layer: int, head: int, query: int, key: int) -> ComputationStep | None:
    """Show how the weights between the pieces of two words become one; None where both words are one piece."""
    queries, keys = (
        next(group for group in word_groups(tokens) if position in group)
        for tokens, position in ((attention.queries, query), (attention.keys, key))
    )
    if len(queries) == len(keys) == 1:
        return None
    weights = attention.weights(layer, head)[np.ix_(queries, keys)].astype(np.float64)
    rows, columns = (tuple(tokens[at].text for at in places) for tokens, places in
                     ((attention.queries, queries), (attention.keys, keys)))  # fmt: skip
    total = float(weights.sum())
    counts = largest_remainder(weights.ravel())
    texts, totals = weight_rows(weights)
    pieces = Matrix("α", weights, rows, columns, texts, totals=totals, size=f"{len(rows)} × {len(columns)}", weights=True)
    names = "".join(rows), "".join(columns)
    result = Matrix("word", np.array([[total / len(rows)]]), names[:1], names[1:], weights=True)
    over = f" / {len(rows)}" if len(rows) > 1 else ""
    text = f"({summed(counts)}){over} = {number_text(total)}{over} = " if over else f"{summed(counts)} = "
    cells = tuple(pieces.place(row, column) for row in range(len(rows)) for column in range(len(columns)))
    origin = Origin(cells, (Term(text), Term(result.shown[0][0], "word")))
    sentence = "What a word receives is the sum over its pieces; what it gives is the mean over them."
    return ComputationStep(
        "word", "Whole words", "Σ over keys, mean over queries", sentence, (pieces, result), ("→",), {(0, 0): origin}
    )
