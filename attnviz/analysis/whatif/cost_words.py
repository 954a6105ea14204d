"""What heads cost, in words."""

import math

from attnviz.analysis.wording import Part, Sentence, head_name, head_words, signed
from attnviz.core.shares import Head, HeadCosts, RemovalCurve


def name_of(head: Head, costs: HeadCosts) -> str:
    """Name a head, with the kind of its attention where the model has several."""
    name = head_name(*head[1:])
    return name if len(costs.costs) == 1 else f"{head[0]} {name}"


_SCALE = "0 is as before, 1 unrelated. "
_HARMLESS = "Without any single head the output stays as likely, or becomes likelier."


def written_cost(cost: float, largest: float) -> str:
    """Write a cost with as many digits as the largest of its picture needs.

    >>> written_cost(0.0123, 3.3), written_cost(-0.0123, 0.05), written_cost(-0.00001, 0.5)
    ('0.01', '−0.012', '0.000')
    """
    digits = 2 if largest >= 1 else 3 if largest >= 0.01 else 4
    return signed(cost, f".{digits}f")


def describe_costs(costs: HeadCosts, chosen: Head | None = None) -> tuple[Sentence, Sentence]:
    """Say what the output loses without the chosen head, or the most costly one; and how many heads cost next to nothing."""
    most = costs.ranked[-1]
    head, heads = chosen or most, len(costs.ranked)
    place = heads - costs.ranked.index(head)
    rank = f"the most of all {heads}" if place == 1 and costs.of(head) > 0 else f"number {place} of {heads}"
    lead = (Part("Without "), Part(_in_words(head, costs), True), Part(f" {_effect(costs.of(head), costs)}: {rank}."))
    few = sum(costs.of(each) < costs.of(most) / 10 for each in costs.ranked)
    tenth = "that" if head == most else f"the most, which is {_in_words(most, costs)}"
    verb, scale = ("change it by", _SCALE) if costs.unit == "cosine" else ("cost", "")
    rest = f"{scale}{few} of the {heads} heads {verb} less than a tenth of {tenth}." if costs.of(most) > 0 else _HARMLESS
    return lead, (Part(rest), Part(" Click another head.", hint=True))


def _in_words(head: Head, costs: HeadCosts) -> str:
    return head_words(*head[1:], "" if len(costs.costs) == 1 else head[0])


def _effect(cost: float, costs: HeadCosts) -> str:
    """Say what a cost means for the output.

    >>> _effect(2.76, HeadCosts("nats", -3.0, {})), _effect(-0.1, HeadCosts("nats", -3.0, {}))
    ('the output is 16 times less likely', 'the output is 1.1 times likelier')
    >>> _effect(0.055, HeadCosts("cosine", 0.0, {}))
    'the model reads this text differently, by 0.055'
    """
    if costs.unit == "cosine":
        return f"the model reads this text differently, by {written_cost(cost, abs(cost))}"
    times = math.exp(min(abs(cost), 600))
    if times < 1.005:
        return "the output stays as likely"
    digits = 0 if times >= 10 else 1 if times >= 1.1 else 2
    return f"the output is {times:.{digits}f} times {'less likely' if cost > 0 else 'likelier'}"


def describe_curve(curve: RemovalCurve) -> Sentence:
    """Say what half of all heads cost together: the least costly, random ones, the most costly."""
    place = min(range(len(curve.counts)), key=lambda at: abs(curve.counts[at] - curve.counts[-1] / 2))
    drawn = curve.random[:, place]
    largest = max(float(curve.most.max()), float(curve.random.max()))
    least, mean, low, high, most = (
        written_cost(float(cost), largest)
        for cost in (curve.least[place], drawn.mean(), drawn.min(), drawn.max(), curve.most[place])
    )
    heads = f"{curve.counts[place]} of {curve.counts[-1]} heads at once"
    return (
        Part(f"Switching off {heads} costs {least} if they are the least important, {most} if the most important, "),
        Part(f"{mean} if random ({low} to {high} in {len(drawn)} draws)."),
    )
