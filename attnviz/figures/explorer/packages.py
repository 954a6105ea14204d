"""The bytes that the explorer draws from: a header and chunks, each compressed by itself, to be unpacked when it is looked at.

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
import json
import math
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Shaped, UInt8, UInt16

from attnviz.analysis.head_view import HeadMatrix

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
