"""The matrix to export, as it is shown, with its trace."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from attnviz.analysis.head_view import HeadMatrix, View, colour_limit, default_layer, default_map, head_matrix
from attnviz.analysis.wording import head_name
from attnviz.core.trace import AttentionTrace, Kind


@dataclass(frozen=True, eq=False)
class Picture:
    """One matrix of a trace as it is shown.

    head        None: the mean over the heads of the layer
    view        which tokens the matrix shows, and how
    full_scale  colours run from 0 to 1; False: to the largest weight shown
    limit       the weight from which on a part of a long text has the strongest colour, as the whole has; None: see `end`
    """

    trace: AttentionTrace
    kind: Kind
    layer: int
    head: int | None
    matrix: HeadMatrix
    view: View = field(default_factory=View)
    full_scale: bool = True
    limit: float | None = None

    @property
    def name(self) -> str:
        """Such as "L3·H1"."""
        return head_name(self.layer, self.head)

    @property
    def model(self) -> str:
        """The model's name, and what was edited in it."""
        return f"{self.trace.model}{f', edited {self.trace.edits.text}' if self.trace.edits else ''}"

    @property
    def highest(self) -> float:
        """What colours could run to: 1, or the largest weight."""
        return 1.0 if self.full_scale else max(float(self.matrix.weights.max()), 1e-9)

    @property
    def end(self) -> float:
        """The weight of the strongest colour; in a long text larger ones have it as well (`colour_limit`)."""
        limit = colour_limit(self.matrix) if self.limit is None else self.limit
        return self.highest if limit is None else min(self.highest, limit)


# Tokens of a long text that are seen at once.
PART = 60


def other_head(picture: Picture, layer: int, head: int | None) -> Picture:
    """Make the picture of another head of the same map, under the same view."""
    attention = picture.trace.map(picture.kind)
    return replace(picture, layer=layer, head=head, matrix=head_matrix(attention, layer=layer, head=head, view=picture.view))


def is_whole(picture: Picture) -> bool:
    """Tell whether the matrix is all of the head, with its own tokens and weights."""
    again = other_head(picture, picture.layer, picture.head).matrix
    return (again.queries, again.keys) == (picture.matrix.queries, picture.matrix.keys) and np.array_equal(
        again.weights, picture.matrix.weights
    )


def parts(picture: Picture) -> list[range]:
    """Cut a long text into parts of up to 60 tokens, whose labels can be read."""
    count = max(picture.matrix.weights.shape)
    return [range(start, min(start + PART, count)) for start in range(0, count, PART)]


def part_of(picture: Picture, part: range) -> Picture:
    """Cut a picture to the queries and the keys of a part; of a text that ends before it, to its last ones."""
    matrix = picture.matrix
    starts = (min(part.start, max(count - PART, 0)) for count in matrix.weights.shape)
    rows, columns = (range(start, min(part.stop, count)) for start, count in zip(starts, matrix.weights.shape, strict=True))
    return replace(picture, matrix=matrix.part(rows, columns), limit=picture.limit or colour_limit(matrix))


def picture(
    trace: AttentionTrace,
    *,
    kind: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    view: View | None = None,
) -> Picture:
    """Make the picture of one head of a trace. Defaults: the last map (cross-attention, if there is one), its last layer, the
    mean over the heads of that layer.

    Raises:
        TraceError: there is no such map, layer or head, or the view leaves no token.
    """
    attention = default_map(trace, kind)
    layer = default_layer(attention, layer)
    view = view or View()
    return Picture(trace, attention.kind, layer, head, head_matrix(attention, layer=layer, head=head, view=view), view)


def pictures(
    trace: AttentionTrace,
    *,
    kind: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    view: View | None = None,
) -> Iterator[Picture]:
    """Make a picture of every head of a map, or of one layer, or of that head in every layer; one at a time, to save memory.

    Raises:
        TraceError: as of `picture`.
    """
    attention = default_map(trace, kind)
    for each in range(attention.n_layers) if layer is None else (layer,):
        for one in range(attention.n_heads) if head is None else (head,):
            yield picture(trace, kind=attention.kind, layer=each, head=one, view=view)
