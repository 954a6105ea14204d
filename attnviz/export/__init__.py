"""Export: pictures for papers, tables for programs, and the lines of Python that make the picture.

No format needs a browser or a network. A new format is one function to bytes, and its line in `FORMATS`: the shell and every
page then offer it.
"""

import importlib
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from attnviz.core.errors import AttnvizError
from attnviz.export.grids_and_matrices import draw_matrix
from attnviz.export.paper import Sheet
from attnviz.export.picture import Picture, picture, pictures

__all__ = ["FORMATS", "Format", "Picture", "draw_sheet", "export", "formats_of", "picture", "pictures"]

# drawing: a `Sheet`; numbers: pictures of several heads of one map; page: the picture of one head, with all others to explore.
Holds = Literal["drawing", "numbers", "page"]


class Format(NamedTuple):
    """How a format is written ("module:function", of what it `holds` to bytes), and what it is."""

    writer: str
    media_type: str
    holds: Holds

    @property
    def several(self) -> bool:
        """Whether it holds several heads."""
        return self.holds == "numbers"

    def write(self, content: Any) -> bytes:
        """Write what it holds."""
        module, function = self.writer.split(":")
        return getattr(importlib.import_module(module), function)(content)


FORMATS = {
    "svg": Format("attnviz.export.svg_png_pdf:sheet_svg", "image/svg+xml", "drawing"),
    "png": Format("attnviz.export.svg_png_pdf:sheet_png", "image/png", "drawing"),
    "pdf": Format("attnviz.export.svg_png_pdf:sheet_pdf", "application/pdf", "drawing"),
    "html": Format("attnviz.export.grids_and_matrices:explorer_page", "text/html", "page"),
    "csv": Format("attnviz.export.weights:csv", "text/csv", "numbers"),
    "npz": Format("attnviz.export.weights:npz", "application/octet-stream", "numbers"),
    "json": Format("attnviz.export.weights:json", "application/json", "numbers"),
}


def formats_of(holds: Holds) -> list[str]:
    """Name the formats of a drawing, of numbers, or of a page."""
    return [name for name, each in FORMATS.items() if each.holds == holds]


def export(pictures: Picture | Sequence[Picture], to: str) -> bytes:
    """Write one picture, or those of several heads of one map, in a format of `FORMATS`.

    Raises:
        AttnvizError: there is no such format, or it holds one picture only.
    """
    several = [pictures] if isinstance(pictures, Picture) else list(pictures)
    if to not in FORMATS:
        raise AttnvizError(f"attnviz does not write {to!r}: choose one of {', '.join(FORMATS)}.")
    if not several:
        raise AttnvizError("There is no picture to write: give one, or those of several heads.")
    if FORMATS[to].several:
        return FORMATS[to].write(several)
    if len(several) > 1:
        raise AttnvizError(f"A {to} file shows one head: choose which.")
    return draw_sheet(draw_matrix(several[0]), to) if FORMATS[to].holds == "drawing" else FORMATS[to].write(several[0])


def draw_sheet(sheet: Sheet, to: str) -> bytes:
    """Write a drawing in one of the formats that hold drawings."""
    return FORMATS[to].write(sheet)
