"""A picture as SVG: vectors and real text, at the width of a paper's column, to be searched, edited and read aloud."""

import base64
import io
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from PIL import Image

from attnviz.export.picture import Picture
from attnviz.export.sheet import BAR_HEIGHT, BAR_LENGTH, MASKED_SIDE, Sheet, lay_out
from attnviz.figures.theme import LIGHT

FONT = "'Source Sans 3', 'Source Sans Pro', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
# A cell of its own takes about 110 bytes. Of more cells, a file would be too large for a paper: they become one image.
MAX_CELLS = 16_384
STOPS = 11


def write(pictures: Sequence[Picture]) -> bytes:
    """Draw one picture as SVG. Each cell has its query, its key and its weight as attributes; a masked one has no weight."""
    (picture,) = pictures
    sheet = lay_out(picture)
    size = f'width="{sheet.width:.2f}pt" height="{sheet.height:.2f}pt" viewBox="0 0 {sheet.width:.2f} {sheet.height:.2f}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}" font-size="{sheet.font:.2f}">',
        f"<title>{escape(_title(picture))}</title>",
        f'<rect width="100%" height="100%" fill="{LIGHT.background}"/>',
        *(_cells(picture, sheet) if picture.matrix.weights.size <= MAX_CELLS else _image(sheet)),
        *_bar(sheet),
        *_texts(sheet),
        "</svg>\n",
    ]
    return "\n".join(lines).encode("utf-8")


def _title(picture: Picture) -> str:
    edited = f", edited {picture.trace.edits.text}" if picture.trace.edits else ""
    return f"{picture.name} of {picture.trace.model}{edited}, {picture.kind} attention: queries down, keys across"


def _cells(picture: Picture, sheet: Sheet) -> Iterator[str]:
    matrix, side = picture.matrix, sheet.cell - sheet.gap
    yield f'<g class="cells" shape-rendering="{"auto" if sheet.gap else "crispEdges"}">'
    for query in range(matrix.weights.shape[0]):
        y = sheet.top + query * sheet.cell
        for key in range(matrix.weights.shape[1]):
            red, green, blue = sheet.colours[query, key]
            weight = f' data-weight="{matrix.weights[query, key]:.6g}"' if matrix.visible[query, key] else ""
            yield (
                f'<rect x="{sheet.left + key * sheet.cell:.2f}" y="{y:.2f}" width="{side:.2f}" height="{side:.2f}" '
                f'fill="#{red:02x}{green:02x}{blue:02x}" data-query="{query}" data-key="{key}"{weight}/>'
            )
    yield "</g>"


def _image(sheet: Sheet) -> Iterator[str]:
    """Draw the cells as the pixels of one image, which stay sharp."""
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(sheet.colours)).save(buffer, "PNG")
    rows, columns, _ = sheet.colours.shape
    place = f'x="{sheet.left:.2f}" y="{sheet.top:.2f}" width="{columns * sheet.cell:.2f}" height="{rows * sheet.cell:.2f}"'
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    yield f'<image {place} preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'


def _bar(sheet: Sheet) -> Iterator[str]:
    stops = "".join(
        f'<stop offset="{index / (STOPS - 1):.1f}" stop-color="{LIGHT.colour(index / (STOPS - 1))}"/>' for index in range(STOPS)
    )
    yield f'<defs><linearGradient id="weights">{stops}</linearGradient></defs>'
    place = f'x="{sheet.left:.2f}" y="{sheet.bar_top:.2f}"'
    yield f'<rect class="bar" {place} width="{BAR_LENGTH}" height="{BAR_HEIGHT}" fill="url(#weights)"/>'
    if sheet.masked is not None:
        y = sheet.bar_top + (BAR_HEIGHT - MASKED_SIDE) / 2
        square = f'width="{MASKED_SIDE}" height="{MASKED_SIDE}" fill="{LIGHT.masked}"'
        yield f'<rect class="masked" x="{sheet.masked:.2f}" y="{y:.2f}" {square}/>'


def _texts(sheet: Sheet) -> Iterator[str]:
    for each in sheet.labels:
        # The middle of small letters stands at about a third of the font above the line that they stand on.
        turn = f' transform="rotate({-each.angle:g} {each.x:.2f} {each.y:.2f})"' if each.angle else ""
        place = f'x="{each.x:.2f}" y="{each.y:.2f}" dy="0.33em" text-anchor={quoteattr(each.anchor)}'
        yield f'<text {place} fill="{LIGHT.text}" xml:space="preserve"{turn}>{escape(each.text)}</text>'
