"""What the explorer shows of a map before a head is opened: a picture and the numbers of every head, and marks on some.

A package is the header's length (uint32, little-endian), the header (JSON, UTF-8), and the chunks one after another. The
header's `chunks` has for each its name, where it starts behind the header, and its length. Chunks are zlib streams:

    thumbs  one byte a pixel, ordered layer, head, row, column: the weight as a share of the head's largest, 0 to 254; 255 is
            masked. Where the header says `signed`, the map is a difference: -1 to 1 times its largest, 127 is 0
    3:1     L3·H1, and 3:mean the mean over the heads of layer 3: first one byte that is not compressed, the number of decimals;
            then a code of two bytes a cell, ordered query, key: the low bytes of all cells, then the high bytes, which are
            nearly all 0 and take nearly no room. A code is the weight in units of 10^-decimals, so that hovering tells the
            weight's own digits; 65535 is masked. Of a difference, 0 stands for -1
"""

import functools
import hashlib
import json
import math
import os
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Shaped, UInt8, UInt16
from threadpoolctl import ThreadpoolController

from attnviz.analysis.head_metrics import HeadMeter, HeadNumbers, Link, matrix_slabs
from attnviz.analysis.head_view import HeadMatrix, Lens, View, head_weights, is_difference, whole_words
from attnviz.core.edits import Edit, Edits, HeadPatched, HeadSet, LinkCut, WeightSet, WordHidden
from attnviz.core.errors import EditError, cancellation_point
from attnviz.core.trace import AttentionMap, Token
from attnviz.core.weights import Kind, Slab
from attnviz.figures.html import direction
from attnviz.text.words import visible_text

# More pixels than this on a side cannot be told apart in a cell of the grid.
THUMB_PIXELS = 64
THUMB_MASKED = 255
MASKED = 65535
# Digits after the point where the largest weight of a head is over 0.1; a head of smaller ones has more, so that four count.
LEAST_DECIMALS, MOST_DECIMALS = 4, 8
SLAB_CELLS = 2**17


def pack_chunks(header: Mapping[str, object], chunks: Mapping[str, bytes]) -> bytes:
    """Write one package.

    >>> data = pack_chunks({"kind": "encoder"}, {"0:0": b"abc"})
    >>> header, read = unpack_chunks(data)
    >>> header["kind"], read["0:0"]
    ('encoder', b'abc')
    """
    places, start = {}, 0
    for name, chunk in chunks.items():
        places[name] = (start, len(chunk))
        start += len(chunk)
    encoded = json.dumps({**header, "chunks": places}, ensure_ascii=False, separators=(",", ":")).encode()
    return b"".join([len(encoded).to_bytes(4, "little"), encoded, *chunks.values()])


def unpack_chunks(data: bytes) -> tuple[dict, dict[str, bytes]]:
    """Read the header and the chunks of a package, as the explorer's script does."""
    body = 4 + int.from_bytes(data[:4], "little")
    header = json.loads(data[4:body].decode())
    return header, {name: data[body + start : body + start + size] for name, (start, size) in header["chunks"].items()}


def squeeze(*parts: bytes | memoryview) -> bytes:
    """Compress to a zlib stream. Weights repeat in runs alone: looking for nothing longer is zlib's fastest, and the smallest.

    >>> zlib.decompress(squeeze(b"aaa", b"ab"))
    b'aaaab'
    """
    stream = zlib.compressobj(strategy=zlib.Z_RLE)
    return b"".join([*map(stream.compress, parts), stream.flush()])


def decimals_of(matrix: HeadMatrix, *, signed: bool = False) -> int:
    """Choose how many digits after the point the weights of a head are written with."""
    highest = 1.0 if signed else float(matrix.weights.max())
    return min(LEAST_DECIMALS + max(0, math.floor(-math.log10(highest))), MOST_DECIMALS) if highest > 0 else LEAST_DECIMALS


def codes_of(
    weights: Float[np.ndarray, "query key"], visible: Bool[np.ndarray, "query key"], decimals: int, *, signed: bool = False
) -> UInt16[np.ndarray, "query key"]:
    """Round the weights of a head to whole numbers of 10^-decimals, from -1 on where `signed`; masked cells are `MASKED`."""
    # Adding a half and cutting is rounding, without an array in between.
    one = np.float32(10**decimals)
    codes = (weights * one + np.float32(0.5 + (one if signed else 0))).astype(np.uint16)
    codes[~visible] = MASKED
    return codes


def head_chunk(matrix: HeadMatrix, *, signed: bool = False) -> bytes:
    """Write the chunk of a head: the number of decimals in its first byte, then its compressed codes."""
    decimals = decimals_of(matrix, signed=signed)
    low, high = (np.empty(matrix.weights.shape, dtype=np.uint8) for _ in range(2))
    step = max(1, SLAB_CELLS // len(matrix.keys))
    # Of a long text some rows at a time: what is made of them on the way stays in the processor's cache.
    for start in range(0, len(low), step):
        rows = slice(start, start + step)
        codes = codes_of(matrix.weights[rows], matrix.visible[rows], decimals, signed=signed)
        low[rows], high[rows] = codes & 255, codes >> 8
    return bytes([decimals]) + squeeze(low.data, high.data)


def thumb_of(matrix: HeadMatrix, *, signed: bool = False) -> tuple[UInt8[np.ndarray, "row column"], float]:
    """Shrink a head to its small picture; also its largest weight, which the levels are shares of.

    Where several cells share a pixel the largest counts, so that a single bright one survives. A pixel is masked only where all
    of its cells are.
    """
    pooled = _pool(matrix.weights, np.maximum)
    if signed:
        lowest = _pool(matrix.weights, np.minimum)
        pooled = np.where(-lowest > pooled, lowest, pooled)
    return thumb_levels(pooled, pooled_mask(matrix.visible), signed=signed)


def thumb_levels(
    pooled: Float[np.ndarray, "row column"], visible: Bool[np.ndarray, "row column"], *, signed: bool = False
) -> tuple[UInt8[np.ndarray, "row column"], float]:
    """Write the pixels of a small picture in levels from its largest weight; and that weight."""
    highest = float(np.abs(pooled).max())
    shares = pooled / max(highest, 1e-12)
    levels = np.rint((shares + 1) / 2 * (THUMB_MASKED - 1) if signed else shares * (THUMB_MASKED - 1))
    return np.where(visible, levels, THUMB_MASKED).astype(np.uint8), highest


def pooled_mask(visible: Bool[np.ndarray, "query key"]) -> Bool[np.ndarray, "row column"]:
    """Mark the pixels of a small picture under which a query may look at a key: the same for all heads of a layer."""
    return _pool(visible, np.logical_or)


class PooledRows:
    """The largest weights of a head, some rows at a time: of a row of pixels in each of its columns."""

    def __init__(self, n_queries: int, n_keys: int) -> None:
        self._starts = [start for start, _ in _edges(n_queries)]
        self._rows = np.zeros((len(self._starts), n_keys), np.float32)

    def add(self, rows: slice, weights: Float[np.ndarray, "query key"]) -> None:
        """Take the next rows; they may end within a row of pixels."""
        first = bisect_right(self._starts, rows.start) - 1
        for row in range(first, bisect_left(self._starts, rows.stop)):
            begin = max(self._starts[row], rows.start)
            end = min(self._starts[row + 1] if row + 1 < len(self._starts) else rows.stop, rows.stop)
            highest = self._rows[row, : weights.shape[1]]
            np.maximum(highest, weights[begin - rows.start : end - rows.start].max(axis=0), out=highest)

    def pooled(self) -> Float[np.ndarray, "row column"]:
        """Pool the columns too."""
        return _pool_rows(np.ascontiguousarray(self._rows.T), np.maximum).T


def _pool(cells: Shaped[np.ndarray, "query key"], combine: np.ufunc) -> Shaped[np.ndarray, "row column"]:
    return _pool_rows(np.ascontiguousarray(_pool_rows(cells, combine).T), combine).T


def _pool_rows(cells: Shaped[np.ndarray, "row other"], combine: np.ufunc) -> Shaped[np.ndarray, "pooled other"]:
    """Combine whole rows at once, which is twice as fast as numpy's reduceat."""
    if len(cells) <= THUMB_PIXELS:
        return cells
    pooled = np.empty((THUMB_PIXELS, cells.shape[1]), cells.dtype)
    for row, (start, end) in enumerate(_edges(len(cells))):
        combine.reduce(cells[start:end], axis=0, out=pooled[row])
    return pooled


@functools.cache
def _edges(count: int) -> tuple[tuple[int, int], ...]:
    """Return where each row of pixels starts and ends among so many rows of cells."""
    return tuple(pairwise(np.linspace(0, count, min(count, THUMB_PIXELS) + 1).astype(int).tolist()))


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

    Of the difference of two maps (`attnviz.analysis.head_view.difference`) the same, on a scale with two sides.

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
    told: dict[str, object] = {"name": name, "signed": signed, "causal": attention.causal, "words": _words(lens)}
    # An address has positions in the map.
    told["at"] = None if lens.whole else [[part[0] for part in parts] for parts in (lens.row_parts, lens.column_parts)]
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
    return meter.numbers().note, rows.pooled()


def _note_of_change(matrix: HeadMatrix) -> dict[str, object]:
    """Note the link of a difference that changed most; what is measured of attention is not of changes."""
    query, key = np.unravel_index(int(np.abs(matrix.weights).argmax()), matrix.weights.shape)
    link = Link(int(query), int(key), float(matrix.weights[query, key]))
    return HeadNumbers(0.0, link if round(link.weight, 4) else None, 0.0, None).note


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
