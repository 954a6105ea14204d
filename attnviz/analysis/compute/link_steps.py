"""The steps from a head's vectors to one weight of a real model, and whether they end at the heatmap's number."""

from dataclasses import dataclass

from attnviz.analysis.compute.additive import unfold_additive
from attnviz.analysis.compute.dot_product import unfold_dot_product
from attnviz.analysis.compute.long_vectors import QueryKey
from attnviz.analysis.compute.merged_pieces import merge_step
from attnviz.analysis.compute.steps import ComputationStep
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
    if words and (step := merge_step(attention, layer=head[0], head=head[1], query=link.query, key=link.key)):
        # Before the context: it is the heatmap's number, and no further step needs it.
        steps = (*steps[: last + 1], step, *steps[last + 1 :])
    return LinkSteps(steps, last, weight, abs(weight - computed))
