"""The curve of p(output) while words are masked."""

from attnviz.analysis.matters.faithfulness import Removals
from attnviz.analysis.wording import percent, whole_percent
from attnviz.figures.curve import Axes, Series, lines_figure
from attnviz.figures.theme import AGAINST, FOR, LIGHT, Theme

_UP = tuple((1 - share, whole_percent(share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0))


def deletion_figure(removals: Removals, order: str, *, theme: Theme = LIGHT) -> str:
    """Draw p(output) as the most important words go first, and as the least important ones do, in the `order` of a method.

    The further the two lines are apart, the better the order.

    >>> drawn = deletion_figure(Removals((0, 1, 2), (0.9, 0.2, 0.1), (0.9, 0.8, 0.1)), "rollout")
    >>> drawn.count("<polyline"), "1 word masked: 20\N{NO-BREAK SPACE}%" in drawn
    (2, True)
    """
    most = max(removals.gone[-1], 1)
    across = tuple((count / most, str(count)) for count in removals.gone)
    masked = [f"{count} {'word' if count == 1 else 'words'} masked" for count in removals.gone]
    lines = [
        Series(
            name, colour, tuple((x, 1 - value) for (x, _), value in zip(across, values, strict=True)),
            tuple(f"{words}: {percent(value)}" for words, value in zip(masked, values, strict=True)),
        )
        for name, values, colour in (
            ("most important first", removals.most_first, FOR), ("least important first", removals.least_first, AGAINST)
        )
    ]  # fmt: skip
    whole = percent(removals.most_first[0])
    label = f"The probability of the output falls from {whole} as words are removed in the order of {order}."
    return lines_figure(lines, Axes(across, _UP, "number of masked words · up: probability of the output", label), theme=theme)
