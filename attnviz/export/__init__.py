"""What a person takes along: pictures for papers, tables for programs, and the lines of Python that make the picture.

No format needs a browser or a network. A new format is one function of pictures to bytes, and its line in `FORMATS`.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from attnviz.core.errors import AttnvizError
from attnviz.export.picture import Picture, picture, pictures

__all__ = ["FORMATS", "Format", "Picture", "export", "picture", "pictures"]


class Format(NamedTuple):
    """How a format is written ("module:function", of pictures to bytes), what it is, and whether it holds several heads."""

    writer: str
    media_type: str
    several: bool


FORMATS = {
    "svg": Format("attnviz.export.svg:picture_svg", "image/svg+xml", False),
    "png": Format("attnviz.export.png:picture_png", "image/png", False),
    "html": Format("attnviz.export.document:explorer_page", "text/html", False),
    "csv": Format("attnviz.export.tables:csv", "text/csv", True),
    "npz": Format("attnviz.export.tables:npz", "application/octet-stream", True),
    "json": Format("attnviz.export.tables:json", "application/json", True),
}


def export(shown: Picture | Sequence[Picture], to: str) -> bytes:
    """Write one picture, or those of several heads of one map, in a format of `FORMATS`.

    Raises:
        AttnvizError: there is no such format, or it holds one picture only.
    """
    several = [shown] if isinstance(shown, Picture) else list(shown)
    if to not in FORMATS:
        raise AttnvizError(f"attnviz does not write {to!r}: choose one of {', '.join(FORMATS)}.")
    if len(several) > 1 and not FORMATS[to].several:
        raise AttnvizError(f"A {to} file shows one head: choose which.")
    module, function = FORMATS[to].writer.split(":")
    write: Callable[[Sequence[Picture]], bytes] = getattr(importlib.import_module(module), function)
    return write(several)
