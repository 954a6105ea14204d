"""Where edits stand in a picture, and what a click in it edits: its cells are tokens of the map, or words of several."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from attnviz.analysis.head_view import HeadMatrix, Lens
from attnviz.core.arrays import Kind
from attnviz.core.edits import Edit, Edits, HeadPatched, HeadSet, LinkCut, WeightSet, WordHidden
from attnviz.core.errors import EditError
from attnviz.core.trace import AttentionMap

Parts = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class HeadMarks:
    """What is edited in the picture of one head.

    off      the head was set
    cells    links that are cut and weights that were typed: (row, column, "cut" or "set")
    columns  words that nobody may look at
    """

    off: bool = False
    cells: tuple[tuple[int, int, str], ...] = ()
    columns: tuple[int, ...] = ()


NO_MARKS = HeadMarks()


@dataclass(frozen=True)
class PicturePlaces:
    """Where the heads, rows and columns of a picture stand in the model: all that is needed to read a click.

    rows, columns  for each of the picture, the queries or keys of the map that it stands for
    """

    kind: Kind
    n_heads: int
    rows: Parts
    columns: Parts

    @staticmethod
    def of(attention: AttentionMap, lens: Lens) -> "PicturePlaces":
        """Makes the places of a map seen through a lens."""
        return PicturePlaces(attention.kind, attention.n_heads, lens.row_parts, lens.column_parts)

    def row_of(self, query: int) -> int:
        """Find the row that stands for a query of the map."""
        return next(row for row, part in enumerate(self.rows) if query in part)

    def column_of(self, key: int) -> int:
        """Find the column that stands for a key of the map."""
        return next(column for column, part in enumerate(self.columns) if key in part)

    def heads(self, head: int | None) -> range:
        """List the heads that a head is, or, where it is the mean of a layer, all of that."""
        return range(self.n_heads) if head is None else range(head, head + 1)

    def edits_of(self, click: Mapping[str, Any]) -> tuple[Edit, ...]:
        """Read what a click edits: `layer` and `head` (None: all), with `query` and `key` a link of them, with `key` a word.

        Raises:
            EditError: the picture has no such place.
        """
        layer, head, query, key = places = [click.get(name) for name in ("layer", "head", "query", "key")]
        if any(place is not None and (type(place) is not int or place < 0) for place in places):
            raise EditError("There is no such place in this picture: click in it again.")
        try:
            if query is not None and key is not None and layer is not None:
                return tuple(
                    LinkCut(self.kind, layer, each, row, column)
                    for each in self.heads(head) for row in self.rows[query] for column in self.columns[key]
                )  # fmt: skip
            if key is not None:
                return tuple(WordHidden(self.kind, column, layer) for column in self.columns[key])
            return () if layer is None else tuple(HeadSet(self.kind, layer, each) for each in self.heads(head))
        except IndexError as error:
            raise EditError("There is no such place in this picture: click in it again.") from error

    def within(self, matrix: HeadMatrix) -> "PicturePlaces":
        """Keep the rows and columns that a matrix shows, in its order."""
        rows = tuple(self.rows[self.row_of(query)] for query in matrix.rows)
        return replace(self, rows=rows, columns=tuple(self.columns[self.column_of(key)] for key in matrix.columns))

    def head_marks(self, edits: Edits, layer: int, head: int | None) -> HeadMarks:
        """Pick what a picture of one head marks, or with None of the mean of a layer."""
        places = self.marks(edits)
        return HeadMarks(
            [layer, head] in places["heads"],
            tuple((row, key, what) for of, own, row, key, what in places["cells"] if of == layer and head in (None, own)),
            tuple(column for of, column in places["columns"] if of in (None, layer)),
        )

    def marks(self, edits: Edits) -> dict[str, list]:
        """List what a picture marks: heads that were set, [layer, head]; cells and columns, each with the heads it is of.

        A place of a cell is [layer, head, row, column, cut or set]; of a column [layer or None, column].
        """
        rows = {query: row for row, part in enumerate(self.rows) for query in part}
        columns = {key: column for column, part in enumerate(self.columns) for key in part}
        places: dict[str, list] = {"heads": [], "cells": [], "columns": []}
        for edit in (edit for edit in edits.each if edit.kind == self.kind):
            if isinstance(edit, HeadSet | HeadPatched):
                places["heads"].append([edit.layer, edit.head])
            elif isinstance(edit, WordHidden):
                if edit.key in columns:
                    places["columns"].append([edit.layer, columns[edit.key]])
            elif edit.query in rows and edit.key in columns:
                what = "set" if isinstance(edit, WeightSet) else "cut"
                places["cells"].append([edit.layer, edit.head, rows[edit.query], columns[edit.key], what])
        return places
