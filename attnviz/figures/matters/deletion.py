"""The curve of p(output) while words are masked."""

from attnviz.analysis.matters.faithfulness import Removals
from attnviz.figures.curve import Axes, Series, lines_figure
from attnviz.figures.theme import AGAINST, FOR, LIGHT, Theme

_UP = tuple((1 - share, f"{share:g}") for share in (0.0, 0.25, 0.5, 0.75, 1.0))


def deletion_figure(removals: Removals, order: str, *, theme: Theme = LIGHT) -> str:
    """Draw p(output) as the most important words go first, and as the least important ones do, in the `order` of a method.

    The further the two lines are apart, the better the order.

    >>> drawn = deletion_figure(Removals((0, 1, 2), (0.9, 0.2, 0.1), (0.9, 0.8, 0.1)), "rollout")
    >>> drawn.count("<polyline"), "1 words masked: 0.20" in drawn
    (2, True)
    """
    most = max(removals.gone[-1], 1)
    across = tuple((count / most, str(count)) for count in removals.gone)
    lines = [
        Series(
            name, colour, tuple((x, 1 - value) for (x, _), value in zip(across, values, strict=True)),
            tuple(f"{count} words masked: {value:.2f}" for count, value in zip(removals.gone, values, strict=True)),
        )
        for name, values, colour in (
            ("most important first", removals.most_first, FOR), ("least important first", removals.least_first, AGAINST)
        )
    ]  # fmt: skip
    label = f"p of the output falls from {removals.most_first[0]:.2f} as words are removed in the order of {order}."
    return lines_figure(lines, Axes(across, _UP, "words masked · up: p(output)", label), theme=theme)
