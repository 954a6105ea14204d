"""A sheet as a file: SVG, or PNG and PDF drawn by matplotlib; no browser, and no display."""

import base64
import io
import threading
import warnings
from collections.abc import Callable
from functools import cache, singledispatch
from itertools import groupby
from operator import attrgetter
from xml.sax.saxutils import escape, quoteattr

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.ft2font import FT2Font
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from PIL import Image

from attnviz.export.paper import FAMILY, FONT, FONTS, PADDING, Arc, Item, Label, Pixels, Polyline, Rectangle, Sheet, width_of
from attnviz.figures.theme import LIGHT
from attnviz.text.words import visible


def sheet_svg(sheet: Sheet) -> bytes:
    """Write a sheet as SVG."""
    size = f'width="{sheet.width:.2f}pt" height="{sheet.height:.2f}pt" viewBox="0 0 {sheet.width:.2f} {sheet.height:.2f}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FAMILY}">',
        f"<title>{escape(sheet.title)}</title>",
        f'<rect width="100%" height="100%" fill="{LIGHT.background}"/>',
        *(_element(item) for item in sheet.items),
        "</svg>\n",
    ]
    return "\n".join(lines).encode("utf-8")


@singledispatch
def _element(item: Item) -> str:
    raise TypeError(f"{type(item).__name__} is no item of a sheet")


@_element.register
def _(item: Label) -> str:
    # The middle of small letters stands at about a third of the font above the line that they stand on.
    turn = f' transform="rotate({-item.angle:g} {item.x:.2f} {item.y:.2f})"' if item.angle else ""
    place = f'x="{item.x:.2f}" y="{item.y:.2f}" dy="0.33em" text-anchor={quoteattr(item.anchor)}'
    exact = "" if item.width is None else f' textLength="{item.width:.2f}" lengthAdjust="spacingAndGlyphs"'
    look = f'font-size="{item.size:g}" fill="{item.colour}"{" font-weight=" + quoteattr("bold") if item.bold else ""}'
    return f'<text {place} {look} xml:space="preserve"{exact}{turn}>{escape(item.text)}</text>'


@_element.register
def _(item: Rectangle) -> str:
    place = f'x="{item.x:.2f}" y="{item.y:.2f}" width="{item.width:.2f}" height="{item.height:.2f}"'
    edge = f' stroke="{item.stroke}" stroke-width="0.8"' if item.stroke else ""
    return f'<rect {place} fill="{item.fill}"{edge}{_attributes(item.data)}/>'


@_element.register
def _(item: Arc) -> str:
    middle = (item.x + item.to_x) / 2
    path = f"M{item.x:.2f} {item.y:.2f}C{middle:.2f} {item.y:.2f} {middle:.2f} {item.to_y:.2f} {item.to_x:.2f} {item.to_y:.2f}"
    line = f'stroke="{item.colour}" stroke-width="{item.thickness:.2f}" stroke-opacity="{item.opacity:.2f}"'
    return f'<path d="{path}" fill="none" {line}{_attributes(item.data)}/>'


@_element.register
def _(item: Polyline) -> str:
    points = " ".join(f"{x:.2f},{y:.2f}" for x, y in item.points)
    look = f'stroke="{item.colour}" stroke-width="{item.thickness:.2f}" opacity="{item.opacity:.2f}" stroke-linejoin="round"'
    return f'<polyline points="{points}" fill="{item.fill}" {look}/>'


@_element.register
def _(item: Pixels) -> str:
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(item.colours)).save(buffer, "PNG")
    place = f'x="{item.x:.2f}" y="{item.y:.2f}" width="{item.width:.2f}" height="{item.height:.2f}"'
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<image {place} preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'


def _attributes(data: tuple[tuple[str, str], ...]) -> str:
    return "".join(f" data-{name}={quoteattr(value)}" for name, value in data)


DPI = 600
# On the longer side: what every program opens.
MOST_PIXELS = 6_000
POINTS = 72
_SIDES = {"start": "left", "middle": "center", "end": "right"}
# matplotlib's fonts are shared, and not safe to use from several threads.
_ONE_AT_A_TIME = threading.Lock()


def sheet_png(sheet: Sheet) -> bytes:
    """Draw a sheet as PNG, as its SVG looks: at 600 dots an inch, or as many as `MOST_PIXELS` allow."""
    dots = min(float(DPI), POINTS * MOST_PIXELS / max(sheet.width, sheet.height))
    buffer = io.BytesIO()
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        # A character that no font has is drawn as a box, and a line below the drawing says so.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        FigureCanvasAgg(_figure(sheet, dots)).print_png(buffer)
    return buffer.getvalue()


def sheet_pdf(sheet: Sheet) -> bytes:
    """Draw a sheet as PDF, as LaTeX takes it: vectors, and text in embedded fonts that can be searched and selected."""
    buffer = io.BytesIO()
    # Outlines as TrueType: publishers refuse Type 3. A file is the same whenever it is made.
    with _ONE_AT_A_TIME, warnings.catch_warnings(), matplotlib.rc_context({"pdf.fonttype": 42}):
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        about = {"Title": sheet.title, "Creator": "attnviz", "CreationDate": None}
        FigureCanvasPdf(_figure(sheet, float(POINTS))).print_pdf(buffer, metadata=about)
    return buffer.getvalue()


def _figure(sheet: Sheet, dots: float) -> Figure:
    """Draw the items, on a sheet that is as much larger as its labels need in the fonts that are there."""
    figure = Figure(figsize=(sheet.width / POINTS, sheet.height / POINTS), dpi=dots, facecolor=LIGHT.background)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, sheet.width), ylim=(sheet.height, 0))
    axes.set_axis_off()
    labels = [*sheet.labels]
    if missing := sorted(_fonts(_characters(labels))[1]):
        names = ", ".join(f"U+{ord(each):04X}" for each in missing[:4]) + ", …" * (len(missing) > 4)
        note = f"No installed font has {names}: install one, or take SVG."
        labels.append(Label(PADDING, sheet.height + FONT / 2, note))
    for kind, together in groupby((*sheet.items, *labels[len(sheet.labels) :]), type):
        _DRAW[kind](axes, list(together))
    axes.set_xlim(0, sheet.width)
    axes.set_ylim(sheet.height, 0)
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    scale = POINTS / dots
    left, below = (max(0.0, *(-scale * side(box) for box in boxes), 0.0) for side in (attrgetter("x0"), attrgetter("y0")))
    right = max(0.0, *(scale * box.x1 - sheet.width for box in boxes), 0.0)
    above = max(0.0, *(scale * box.y1 - sheet.height for box in boxes), 0.0)
    figure.set_size_inches((sheet.width + left + right) / POINTS, (sheet.height + above + below) / POINTS)
    axes.set_xlim(-left, sheet.width + right)
    axes.set_ylim(sheet.height + below, -above)
    return figure


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
    families = _fonts(_characters(items))[0]
    for each in items:
        axes.text(
            each.x, each.y, visible(each.text), ha=_SIDES[each.anchor], va="center_baseline", rotation=each.angle,
            rotation_mode="anchor", fontsize=each.size * _scale(each), fontweight="bold" if each.bold else "normal",
            family=families, color=each.colour, parse_math=False,
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


def _characters(labels: list[Label]) -> frozenset[str]:
    return frozenset(character for each in labels for character in visible(each.text) if not character.isspace())


@cache
def _named_fonts() -> tuple[list[str], frozenset[str]]:
    """List the fonts of `FONTS` that are installed, and the characters that they have."""
    installed = {entry.name: entry.fname for entry in fontManager.ttflist if entry.name in FONTS}
    return [name for name in FONTS if name in installed], frozenset().union(*map(_letters, installed.values()))


@cache
def _letters(path: str) -> frozenset[str]:
    """List the characters of a font; none where matplotlib cannot draw it, as one of bitmaps."""
    try:
        font = FT2Font(path)
        return frozenset(map(chr, font.get_charmap())) if font.scalable else frozenset()
    except (OSError, RuntimeError):
        return frozenset()


def _fonts(characters: frozenset[str]) -> tuple[list[str], frozenset[str]]:
    """List the fonts for some characters, and the characters that no installed font has."""
    named, known = _named_fonts()
    families, missing = [*named], characters - known
    for entry in sorted(fontManager.ttflist, key=lambda entry: (entry.style != "normal", entry.weight != 400, entry.name)):
        if missing and "lastresort" not in entry.name.casefold().replace(" ", "") and missing & _letters(entry.fname):
            families.append(entry.name)
            missing -= _letters(entry.fname)
    return families, missing
