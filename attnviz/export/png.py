"""A picture as PNG, drawn by matplotlib: no browser, no display, and nothing global is touched."""

import io
import threading
import warnings
from collections.abc import Sequence
from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font_names

from attnviz.export.picture import Picture
from attnviz.export.sheet import BAR_HEIGHT, BAR_LENGTH, MASKED_SIDE, Sheet, lay_out
from attnviz.figures.theme import LIGHT

DPI = 600
POINTS = 72
_SIDES = {"start": "left", "end": "right"}
# A glyph comes from the first of these that is installed and has it; DejaVu Sans travels with matplotlib.
FONTS = (
    "Source Sans 3", "Arial", "Liberation Sans", "DejaVu Sans", "Noto Sans", "Noto Sans Arabic", "Noto Kufi Arabic",
    "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei",
    "Noto Emoji", "Segoe UI Emoji",
)  # fmt: skip
# matplotlib's fonts are shared, and not safe to use from several threads.
_ONE_AT_A_TIME = threading.Lock()


def write(pictures: Sequence[Picture]) -> bytes:
    """Draw one picture as PNG, as its SVG looks, at 600 dots an inch."""
    (picture,) = pictures
    sheet = lay_out(picture)
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        # A character that no font has is drawn as a box, which says as much as the warning.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(sheet.width / POINTS, sheet.height / POINTS), dpi=DPI, facecolor=LIGHT.background)
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, sheet.width), ylim=(sheet.height, 0))
        axes.set_axis_off()
        _draw(axes, sheet)
        buffer = io.BytesIO()
        FigureCanvasAgg(figure).print_png(buffer)
    return buffer.getvalue()


def _draw(axes: Axes, sheet: Sheet) -> None:
    rows, columns, _ = sheet.colours.shape
    right, bottom = sheet.left + columns * sheet.cell, sheet.top + rows * sheet.cell
    axes.imshow(sheet.colours, extent=(sheet.left, right, bottom, sheet.top), aspect="auto", interpolation="nearest")
    if sheet.gap:
        across = [[(sheet.left, y), (right, y)] for y in sheet.top + sheet.cell * np.arange(1, rows + 1)]
        down = [[(x, sheet.top), (x, bottom)] for x in sheet.left + sheet.cell * np.arange(1, columns + 1)]
        axes.add_collection(LineCollection(across + down, colors=LIGHT.background, linewidths=sheet.gap))
    bar = sheet.bar_top, sheet.bar_top + BAR_HEIGHT
    end = sheet.left + BAR_LENGTH
    axes.imshow(LIGHT.lookup[None], extent=(sheet.left, end, bar[1], bar[0]), aspect="auto", interpolation="nearest")
    if sheet.masked is not None:
        y = sheet.bar_top + (BAR_HEIGHT - MASKED_SIDE) / 2
        axes.fill_between([sheet.masked, sheet.masked + MASKED_SIDE], y, y + MASKED_SIDE, color=LIGHT.masked, linewidth=0)
    for each in sheet.labels:
        axes.text(
            each.x, each.y, each.text, ha=_SIDES[each.anchor], va="center_baseline", rotation=each.angle,
            rotation_mode="anchor", fontsize=sheet.font, family=_fonts(), color=LIGHT.text, parse_math=False,
        )  # fmt: skip
    axes.set_xlim(0, sheet.width)
    axes.set_ylim(sheet.height, 0)


@cache
def _fonts() -> list[str]:
    installed = set(get_font_names())
    return [name for name in FONTS if name in installed]
