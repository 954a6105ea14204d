"""A sheet as SVG: vectors and real text, to be searched, edited and read aloud."""

import base64
import io
from functools import singledispatch
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from PIL import Image

from attnviz.export.sheet import Arc, Item, Label, Pixels, Polyline, Rectangle, Sheet
from attnviz.figures.theme import LIGHT

FAMILY = "'Source Sans 3', 'Source Sans Pro', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"


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
