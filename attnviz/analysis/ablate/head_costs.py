"""What heads cost, in words."""

from attnviz.analysis.wording import Part, Sentence, head_name, signed
from attnviz.core.shares import Head, HeadCosts, RemovalCurve


def name_of(head: Head, costs: HeadCosts) -> str:
    """Name a head, with the kind of its attention where the model has several."""
    name = head_name(*head[1:])
    return name if len(costs.costs) == 1 else f"{head[0]} {name}"


def written_cost(cost: float, largest: float) -> str:
    """Write a cost with as many digits as the largest of its picture needs.

    >>> written_cost(0.0123, 3.3), written_cost(-0.0123, 0.05), written_cost(-0.00001, 0.5)
    ('0.01', '−0.012', '0.000')
    """
    digits = 2 if largest >= 1 else 3 if largest >= 0.01 else 4
    return signed(cost, f".{digits}f")


def describe_costs(costs: HeadCosts) -> Sentence:
    """Say which head costs most, and how many cost less than a tenth of that."""
    most = costs.ranked[-1]
    largest = costs.of(most)
    if largest <= 0:
        return (Part("Switching off any single head leaves the output as likely, or makes it likelier."),)
    few = sum(costs.of(head) < largest / 10 for head in costs.ranked)
    what = (
        f"ln p of this output falls by {largest:.2f} nats"
        if costs.unit == "nats"
        else (f"the last states turn by {largest:.3f} (1 − cosine)")
    )
    rest = f"; {few} of the {len(costs.ranked)} heads cost less than a tenth of that."
    return (Part("Without "), Part(name_of(most, costs), True), Part(f" {what}, more than without any other head{rest}"))


def describe_head(head: Head, costs: HeadCosts) -> Sentence:
    """Say what one head costs, and its place among all."""
    cost, place = costs.of(head), len(costs.ranked) - costs.ranked.index(head)
    unit = "nats" if costs.unit == "nats" else "(1 − cosine)"
    return (
        Part(name_of(head, costs), True),
        Part(f" costs {written_cost(cost, abs(cost))} {unit}: number {place} of {len(costs.ranked)}."),
    )


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
        Part(f"Switching off {heads} costs {least} if they are the least costly, {most} if they are the most costly, and "),
        Part(f"{mean} if they are random ({low} to {high} in {len(drawn)} draws)."),
    )
