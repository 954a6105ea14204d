"""The explorer: all heads of a map at once, and any of them at full size, drawn on canvas from bytes.

Three hosts mount the same script: a Streamlit page, an HTML file (`page`), a notebook (`frame`).
"""

from attnviz.figures.explorer.exported_file import STYLE, TooLargeError, check_size, frame, page, script
from attnviz.figures.explorer.overview import MESSAGE_BYTES, Overview, PicturePlaces, chunk_name, heads_package, overview

__all__ = [
    "MESSAGE_BYTES", "STYLE", "Overview", "PicturePlaces", "TooLargeError", "check_size", "chunk_name", "frame",
    "heads_package", "overview", "page", "script",
]  # fmt: skip
