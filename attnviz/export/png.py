"""A sheet as PNG, drawn by matplotlib: no browser, no display, and nothing global is touched."""

import io
import threading
import warnings
from collections.abc import Callable
from functools import cache
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font_names
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from attnviz.export.sheet import Arc, Label, Pixels, Polyline, Rectangle, Sheet, width_of
from attnviz.figures.theme import LIGHT

DPI = 600
# On the longer side: what every program opens.
MOST_PIXELS = 6_000
POINTS = 72
_SIDES = {"start": "left", "middle": "center", "end": "right"}
# A glyph comes from the first of these that is installed and has it; DejaVu Sans travels with matplotlib.
FONTS = (
    "Source Sans 3", "Arial", "Liberation Sans", "DejaVu Sans", "Noto Sans", "Noto Sans Arabic", "Noto Kufi Arabic",
    "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei",
    "Noto Emoji", "Segoe UI Emoji",
)  # fmt: skip
# matplotlib's fonts are shared, and not safe to use from several threads.
_ONE_AT_A_TIME = threading.Lock()


def sheet_png(sheet: Sheet) -> bytes:
    """Draw a sheet as PNG, as its SVG looks: at 600 dots an inch, or as many as `MOST_PIXELS` allow."""
    dots = min(DPI, POINTS * MOST_PIXELS / max(sheet.width, sheet.height))
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        # A character that no font has is drawn as a box, which says as much as the warning.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(sheet.width / POINTS, sheet.height / POINTS), dpi=dots, facecolor=LIGHT.background)
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, sheet.width), ylim=(sheet.height, 0))
        axes.set_axis_off()
        for kind, together in groupby(sheet.items, type):
            _DRAW[kind](axes, list(together))
        axes.set_xlim(0, sheet.width)
        axes.set_ylim(sheet.height, 0)
        buffer = io.BytesIO()
        FigureCanvasAgg(figure).print_png(buffer)
    return buffer.getvalue()


def _rectangles(axes: Axes, items: list[Rectangle]) -> None:
    corners = [
        [(each.x + right * each.width, each.y + below * each.height) for right, below in ((0, 0), (1, 0), (1, 1), (0, 1))]
        for each in items
    ]
    edges = [each.stroke or "none" for each in items]
    fills = [each.fill for each in items]
    axes.add_collection(PolyCollection(corners, facecolors=fills, edgecolors=edges, linewidths=0.8, antialiased=False))


def _arcs(axes: Axes, items: list[Arc]) -> None:
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    for each in items:
        middle = (each.x + each.to_x) / 2
        path = Path([(each.x, each.y), (middle, each.y), (middle, each.to_y), (each.to_x, each.to_y)], codes)
        axes.add_patch(PathPatch(path, facecolor="none", edgecolor=each.colour, linewidth=each.thickness, alpha=each.opacity))


def _lines(axes: Axes, items: list[Polyline]) -> None:
    for each in items:
        look = {"edgecolor": each.colour, "facecolor": each.fill, "linewidth": each.thickness, "alpha": each.opacity}
        axes.add_patch(PathPatch(Path(list(each.points)), **look))


def _images(axes: Axes, items: list[Pixels]) -> None:
    for each in items:
        extent = (each.x, each.x + each.width, each.y + each.height, each.y)
        axes.imshow(each.colours, extent=extent, aspect="auto", interpolation="nearest")


def _labels(axes: Axes, items: list[Label]) -> None:
    for each in items:
        axes.text(
            each.x, each.y, each.text, ha=_SIDES[each.anchor], va="center_baseline", rotation=each.angle,
            rotation_mode="anchor", fontsize=each.size * _scale(each), fontweight="bold" if each.bold else "normal",
            family=_fonts(), color=each.colour, parse_math=False,
        )  # fmt: skip


def _scale(label: Label) -> float:
    """Shrink the font of a label that has a width of its own, where matplotlib's would be wider."""
    if label.width is None or not label.text:
        return 1.0
    # What is estimated holds for most fonts; DejaVu Sans, which is always there, is a tenth wider.
    return min(1.0, label.width / (width_of(label.text) * label.size * 1.1))


_DRAW: dict[type, Callable[[Axes, list], None]] = {
    Rectangle: _rectangles, Arc: _arcs, Polyline: _lines, Pixels: _images, Label: _labels,
}  # fmt: skip


@cache
def _fonts() -> list[str]:
    installed = set(get_font_names())
    return [name for name in FONTS if name in installed]
