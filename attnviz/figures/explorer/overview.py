"""What the explorer shows of a map before a head is opened: a picture and the numbers of every head, and marks on some."""

import functools
import hashlib
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from attnviz.analysis.difference import is_difference
from attnviz.analysis.head_metrics import HeadMeter, matrix_slabs
from attnviz.analysis.head_view import HeadMatrix, Lens, View, head_weights
from attnviz.analysis.token_words import whole_words
from attnviz.core.edits import Edit, Edits, HeadPatched, HeadSet, LinkCut, WeightSet, WordHidden
from attnviz.core.errors import EditError, cancellation_point
from attnviz.core.trace import AttentionMap, Token
from attnviz.core.weights import Kind, Slab
from attnviz.figures.explorer.packages import PooledRows, head_chunk, pack_chunks, pooled_mask, squeeze, thumb_levels, thumb_of
from attnviz.figures.html import direction
from attnviz.text.words import visible_text

# Two bytes a cell before compression. What takes more comes head by head.
MESSAGE_BYTES = 8 * 2**20
BYTES_PER_CELL = 2
# How often it is looked whether somebody else is to go first.
LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Overview:
    """All heads of a map under one view, as a package; the slow part of a picture, made once.

    It does not hold its map, so that it may be kept as long as the map is, and no longer.

    name      of its content: the same for the same picture
    complete  whether every head is in it; else `heads_package` makes those that are looked at
    """

    lens: Lens
    data: bytes
    name: str
    complete: bool

    def matrix(self, attention: AttentionMap, layer: int, head: int | None) -> HeadMatrix:
        """Make the matrix of a head of the map, or with None of the mean of the layer's, under the view."""
        return self.lens.matrix(head_weights(attention, layer, head), attention.visible(layer))


def overview(attention: AttentionMap, *, view: View | None = None, limit: int = MESSAGE_BYTES) -> Overview:
    """Make a small picture and the numbers of every head; and the heads themselves where they take no more than `limit` bytes.

    Of the difference of two maps (`attnviz.analysis.difference`) the same, on a scale with two sides.

    Raises:
        TraceError: the view leaves no token.
    """
    lens = Lens(attention, view or View())
    whole = attention.n_layers * attention.n_heads * len(lens.queries) * len(lens.keys) * BYTES_PER_CELL <= limit

    layers = _surveyed(attention, lens, keep=whole)
    thumbs = np.stack([each.thumbs for each in layers])
    chunks = {"thumbs": squeeze(thumbs.tobytes())}
    for each in layers:
        chunks |= each.chunks
    header = {
        "kind": attention.kind,
        "layers": attention.n_layers,
        "heads": attention.n_heads,
        "rows": thumbs.shape[2],
        "columns": thumbs.shape[3],
        "queries": _tokens(lens.queries),
        "keys": _tokens(lens.keys),
        "own": lens.own,
        "direction": [direction(lens.queries), direction(lens.keys)],
        "notes": [note for each in layers for note in each.notes],
    }
    signed = is_difference(attention)
    # The name of what is no difference is in addresses: it stays, whatever else is told.
    content = pack_chunks(header | ({"signed": True} if signed else {}), chunks)
    name = hashlib.blake2b(content, digest_size=12).hexdigest()
    told = {"name": name, "signed": signed, "causal": attention.causal, "words": _words(lens)}
    return Overview(lens, pack_chunks(header | told, chunks), name, whole)


@functools.cache
def _products() -> ThreadpoolController:
    """Control the threads that NumPy multiplies matrices with."""
    return ThreadpoolController().select(internal_api="openblas")


def heads_package(
    current: Overview,
    attention: AttentionMap,
    heads: Mapping[tuple[int, int | None], HeadMatrix | None],
    table: tuple[str, np.ndarray] | None = None,
    **settings: object,
) -> bytes:
    """Pack what the explorer that shows `current` of a map is to look at, and the heads that it does not have yet.

    A head that has been made under the view already comes with its matrix, else with None. `table`: what some words give in all
    heads, by the name that the explorer's script has for it.
    """
    chunks = {
        chunk_name(layer, head): head_chunk(matrix or current.matrix(attention, layer, head), signed=is_difference(attention))
        for (layer, head), matrix in heads.items()
        if not current.complete
    }
    if table and not current.complete:
        chunks[table[0]] = table[1].astype("<f4").tobytes()
    return pack_chunks({"overview": current.name, **settings}, chunks)


def chunk_name(layer: int, head: int | None) -> str:
    """Name the chunk of a head.

    >>> chunk_name(3, 1), chunk_name(3, None)
    ('3:1', '3:mean')
    """
    return f"{layer}:{'mean' if head is None else head}"


@dataclass(frozen=True, eq=False)
class _Layer:
    thumbs: np.ndarray
    notes: list[dict[str, object]]
    chunks: dict[str, bytes]


def _surveyed(attention: AttentionMap, lens: Lens, *, keep: bool) -> "list[_Layer]":
    """Survey layers side by side: NumPy and zlib let go of the interpreter.

    Where this thread waits at its cancellation point, all wait, each once its head is done.
    """
    go_on = Lock()
    # A product that were shared among threads besides would have them wait for each other.
    with _products().limit(limits=1), ThreadPoolExecutor(os.cpu_count()) as workers:
        layers = [workers.submit(_survey, attention, lens, each, go_on, keep=keep) for each in range(attention.n_layers)]
        try:
            while wait(layers, timeout=LOOK_SECONDS).not_done:
                with go_on:
                    cancellation_point()
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            raise
        return [each.result() for each in layers]


def _survey(attention: AttentionMap, lens: Lens, layer: int, go_on: Lock, *, keep: bool) -> _Layer:
    visible, signed = attention.visible(layer), is_difference(attention)
    mask, thumbs, notes, chunks = None, [], [], {}
    for head in range(attention.n_heads):
        with go_on:
            pass
        # Of a long text whose heads are not packed yet, no head is ever there as a whole.
        slabs = attention.slabs(layer, head)
        matrix = None
        if keep or signed or not lens.whole:
            slabs, matrix = _together(slabs, lens, visible)
        if matrix is not None and signed:
            thumb, highest = thumb_of(matrix, signed=True)
            note = _note_of_change(matrix)
        else:
            mask = pooled_mask(visible if matrix is None else matrix.visible) if mask is None else mask
            note, pooled = _measured(lens, slabs)
            thumb, highest = thumb_levels(pooled, mask)
        thumbs.append(thumb)
        notes.append(note | {"highest": highest})
        if keep and matrix is not None:
            chunks[chunk_name(layer, head)] = head_chunk(matrix, signed=signed)
    if keep:
        mean = attention.layer_weights(layer).mean(axis=0)
        chunks[chunk_name(layer, None)] = head_chunk(lens.matrix(mean, visible), signed=signed)
    return _Layer(np.stack(thumbs), notes, chunks)


def _together(slabs: Iterable[Slab], lens: Lens, visible: np.ndarray) -> tuple[Iterable[Slab], HeadMatrix]:
    """Put the rows of a head together, and see them through a lens; where that shows every token, they remain as they came."""
    weights, kept = np.zeros(visible.shape, np.float32), []
    for slab in slabs:
        place = weights[slab.rows, : slab.weights.shape[1]]
        place[:] = slab.weights
        kept.append(slab._replace(weights=place))
    matrix = lens.matrix(weights, visible)
    return kept if lens.whole else matrix_slabs(matrix), matrix


def _measured(lens: Lens, slabs: Iterable[Slab]) -> tuple[dict[str, object], np.ndarray]:
    """Compute the numbers of a head and the pixels of its small picture, both while its rows are computed."""
    meter, rows = HeadMeter(lens.queries, lens.keys, lens.own), PooledRows(len(lens.queries), len(lens.keys))
    for slab in slabs:
        meter.add(slab)
        rows.add(slab.rows, slab.weights)
    numbers = meter.numbers()
    link, distance = numbers.link, numbers.distance
    note: dict[str, object] = {
        "entropy": round(numbers.entropy, 3),
        "link": [link.query, link.key, round(link.weight, 4)] if link else None,
        "diagonal": None if distance is None else round(numbers.near, 4),
        "distance": None if distance is None else round(distance, 3),
    }
    return note, rows.pooled()


def _note_of_change(matrix: HeadMatrix) -> dict[str, object]:
    """Note the link of a difference that changed most; what is measured of attention is not of changes."""
    query, key = np.unravel_index(int(np.abs(matrix.weights).argmax()), matrix.weights.shape)
    weight = round(float(matrix.weights[query, key]), 4)
    return {"entropy": 0, "link": [int(query), int(key), weight] if weight else None, "diagonal": None, "distance": None}


def _words(lens: Lens) -> dict[str, object]:
    """List the words of both axes, each with its rows or columns; `own`: for each word that looks, where it is looked at."""
    queries, keys = whole_words(lens.queries), whole_words(lens.keys)
    word_of = {column: word for word, (parts, _) in enumerate(keys) for column in parts}
    own = [None if (column := lens.own[parts[0]]) is None else word_of[column] for parts, _ in queries]
    named = [
        [{"text": visible_text(token.text), "special": token.special, "parts": list(parts)} for parts, token in axis]
        for axis in (queries, keys)
    ]
    return {"queries": named[0], "keys": named[1], "own": own}


def _tokens(tokens: tuple[Token, ...]) -> list[list[object]]:
    """List for each token its text, whether the model added it, and how its vocabulary writes it, where that differs."""
    return [[visible_text(each.text), int(each.special), each.piece if each.piece != each.text else ""] for each in tokens]


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
