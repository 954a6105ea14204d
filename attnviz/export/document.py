"""The explorer as a file: every head of the trace, opened at the head of the picture, for any browser and without a network."""

from attnviz.export.picture import Picture
from attnviz.figures.explorer import page


def explorer_page(shown: Picture) -> bytes:
    """Write an HTML document in UTF-8.

    Raises:
        TooLargeError: the trace has more weights than a file that a browser opens can hold.
    """
    return page(shown.trace, view=shown.view, opens=(shown.kind, shown.layer, shown.head)).encode("utf-8")
