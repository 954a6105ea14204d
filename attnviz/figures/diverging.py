"""Colours for numbers on both sides of 0: from the background to vermilion above it, to blue below it."""

from attnviz.figures.theme import AGAINST, FOR, LIGHT, Theme, rgb

ABOVE, BELOW = FOR, AGAINST


def diverging(share: float, theme: Theme = LIGHT) -> str:
    """Choose the colour of a number from -1 to 1.

    >>> diverging(0.0), diverging(1.0), diverging(-7.0)
    ('#ffffff', '#d55e00', '#0072b2')
    """
    return mixed(theme.background, ABOVE if share >= 0 else BELOW, min(abs(share), 1.0))


def mixed(background: str, colour: str, amount: float) -> str:
    """Blend a colour over a background, 0 the background alone, 1 the colour.

    >>> mixed("#ffffff", "#000000", 0.5)
    '#808080'
    """
    parts = (round(below + (above - below) * amount) for below, above in zip(rgb(background), rgb(colour), strict=True))
    return "#" + "".join(f"{part:02x}" for part in parts)
