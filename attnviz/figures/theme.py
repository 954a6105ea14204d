"""The colours of every picture, light and dark: one scale for weights, one accent, one palette for heads.

The scale goes from the background to the strongest contrast with lightness falling (or rising) evenly, so that twice the
weight looks twice as strong, in grey and to colour-blind eyes too.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import UInt8

# Okabe & Ito 2008, "Color Universal Design": told apart by people with any common colour blindness.
HEAD_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
# Of what speaks for an output, and against it.
FOR, AGAINST = HEAD_COLOURS[5], HEAD_COLOURS[0]
FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", system-ui, sans-serif'
LABEL_SIZE = 14


@dataclass(frozen=True)
class Theme:
    """Colours as "#rrggbb". `scale` runs from weight 0 to weight 1."""

    name: str
    background: str
    panel: str
    text: str
    faint: str
    border: str
    accent: str
    masked: str
    scale: tuple[str, ...]

    @cached_property
    def lookup(self) -> UInt8[np.ndarray, "256 3"]:
        """The scale as 256 colours, for painting pixels."""
        stops = np.array([rgb(colour) for colour in self.scale], dtype=float)
        at = np.linspace(0, len(stops) - 1, 256)
        channels = [np.interp(at, np.arange(len(stops)), stops[:, channel]) for channel in range(3)]
        return np.stack(channels, axis=1).round().astype(np.uint8)

    @property
    def plotly_scale(self) -> list[tuple[float, str]]:
        last = len(self.scale) - 1
        return [(index / last, colour) for index, colour in enumerate(self.scale)]

    def colour(self, weight: float) -> str:
        """Look up the colour of a weight from 0 to 1."""
        red, green, blue = self.lookup[round(min(max(weight, 0.0), 1.0) * 255)]
        return f"#{red:02x}{green:02x}{blue:02x}"

    def ink(self, weight: float) -> str:
        """Choose the colour of text on the colour of that weight."""
        return ink_on(self.colour(weight))


def rgb(colour: str) -> tuple[int, int, int]:
    """Read red, green and blue of "#rrggbb", 0 to 255.

    >>> rgb("#4f46e5")
    (79, 70, 229)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def relative_luminance(colour: str) -> float:
    """Compute Y of a colour, 0 (black) to 1 (white): WCAG 2.2, "relative luminance".

    >>> relative_luminance("#000000"), round(relative_luminance("#808080"), 3)
    (0.0, 0.216)
    """
    channels = np.array(rgb(colour)) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))


def ink_on(colour: str) -> str:
    """Choose black or white, whichever is better read on a colour: none leaves both under a contrast of 4.58 (WCAG 2.2).

    >>> ink_on("#12121a"), ink_on("#f0e442")
    ('#ffffff', '#000000')
    """
    luminance = relative_luminance(colour)
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


LIGHT = Theme(
    name="light",
    background="#ffffff",
    panel="#f3f3fa",
    text="#1a1a2e",
    faint="#5f6075",
    border="#dfdfea",
    accent="#4f46e5",
    masked="#dcdce2",
    scale=(
        "#f6f6fc", "#d9dbff", "#bdc0fe", "#a2a5ff", "#8888fe", "#7168fd",
        "#5c50e4", "#493cc4", "#372c9e", "#271f75", "#17144d",
    ),
)  # fmt: skip
DARK = Theme(
    name="dark",
    background="#12121a",
    panel="#1c1e2a",
    text="#ececf4",
    faint="#a3a4b8",
    border="#31333f",
    accent="#8b83ff",
    masked="#3c3d47",
    scale=(
        "#1d1d27", "#2b2957", "#3d3387", "#503eb4", "#634edb", "#7863fa",
        "#8d83ff", "#a5a1fe", "#bebdff", "#d8d9fe", "#f4f4fc",
    ),
)  # fmt: skip


def css_variables(theme: Theme) -> str:
    """Write the theme as CSS variables, for the style of an element or a page."""
    return ";".join(f"--{name}:{getattr(theme, name)}" for name in ("background", "panel", "text", "faint", "border", "accent"))


def diverging(share: float, theme: Theme = LIGHT) -> str:
    """Choose the colour of a number from -1 to 1: vermilion above 0, blue below.

    >>> diverging(0.0), diverging(1.0), diverging(-7.0)
    ('#ffffff', '#d55e00', '#0072b2')
    """
    return mixed(theme.background, FOR if share >= 0 else AGAINST, min(abs(share), 1.0))


def mixed(background: str, colour: str, amount: float) -> str:
    """Blend a colour over a background, 0 the background alone, 1 the colour.

    >>> mixed("#ffffff", "#000000", 0.5)
    '#808080'
    """
    parts = (round(below + (above - below) * amount) for below, above in zip(rgb(background), rgb(colour), strict=True))
    return "#" + "".join(f"{part:02x}" for part in parts)
