"""Every head at once, layers down and heads across, as bytes for `grid.js` to paint on a canvas.

The bytes are: the header's length (uint32, little-endian), the header (JSON, UTF-8), and one byte a pixel, ordered
layer, head, row, column. A pixel is an index into the header's 256 colours; the last one is masked.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from attnviz.analysis.heads import mean_entropy, strongest_link
from attnviz.analysis.view import HeadMatrix, Lens, View
from attnviz.figures.theme import LIGHT, Theme, rgb
from attnviz.trace import AttentionMap

SCRIPT = Path(__file__).with_name("grid.js").read_text(encoding="utf-8")
STYLE = Path(__file__).with_name("grid.css").read_text(encoding="utf-8")
# More pixels than this on a side cannot be told apart in a cell of the grid.
CELL_PIXELS = 64
MASKED = 255


@dataclass(frozen=True, eq=False)
class Painted:
    """The pictures of all heads, and what hovering says of each: the part of the bytes that takes time to make."""

    pixels: UInt8[np.ndarray, "layer head row column"]
    notes: list[dict[str, object]]


def paint(attention: AttentionMap, *, view: View | None = None, full_scale: bool = True) -> Painted:
    """A small picture of every head.

    Raises:
        TraceError: the view leaves no token.
    """
    lens = Lens(attention, view or View())
    pictures, notes = [], []
    for layer in range(attention.n_layers):
        visible = attention.visible(layer)
        for weights in attention.layer_weights(layer):
            matrix = lens.matrix(weights, visible)
            highest = 1.0 if full_scale else max(float(matrix.weights.max()), 1e-9)
            pictures.append(pixels(matrix, highest))
            notes.append(_note(matrix))
    stacked = np.stack(pictures).reshape(attention.n_layers, attention.n_heads, *pictures[0].shape)
    return Painted(stacked, notes)


def grid_bytes(painted: Painted, *, theme: Theme = LIGHT, selected: tuple[int, int | None] = (0, 0)) -> bytes:
    """The bytes for `grid.js`; `selected` is the (layer, head) to outline, head None for the whole layer.

    >>> from attnviz.trace import DenseWeights, Token
    >>> tokens = (Token("a", 0, 1), Token("b", 2, 3))
    >>> attention = AttentionMap("encoder", tokens, tokens, DenseWeights((np.array([[[0, 1], [0.5, 0.5]]]),)))
    >>> data = grid_bytes(paint(attention))
    >>> list(data[4 + int.from_bytes(data[:4], "little") :])
    [0, 254, 127, 127]
    """
    layers, heads, rows, columns = painted.pixels.shape
    header = {
        "layers": layers,
        "heads": heads,
        "rows": rows,
        "columns": columns,
        "selected": selected,
        "notes": painted.notes,
        "colours": _colours(theme).reshape(-1).tolist(),
        "accent": theme.accent,
        "text": theme.text,
        "faint": theme.faint,
    }
    encoded = json.dumps(header, ensure_ascii=False).encode()
    return len(encoded).to_bytes(4, "little") + encoded + painted.pixels.tobytes()


def pixels(matrix: HeadMatrix, highest: float) -> UInt8[np.ndarray, "row column"]:
    """The picture of one head. Where several cells share a pixel the largest counts, so that a single bright one survives."""
    scaled = np.clip(matrix.weights / highest, 0, 1) * (MASKED - 1)
    # Masked cells rank below every weight while pooling: a pixel is masked only where all its cells are.
    ranked = np.where(matrix.visible, np.rint(scaled), -1)
    pooled = _max_pool(_max_pool(ranked, CELL_PIXELS).T, CELL_PIXELS).T
    return np.where(pooled < 0, MASKED, pooled).astype(np.uint8)


def _max_pool(rows: Float[np.ndarray, "row other"], limit: int) -> Float[np.ndarray, "pooled other"]:
    if len(rows) <= limit:
        return rows
    starts = np.linspace(0, len(rows), limit, endpoint=False).astype(int)
    return np.maximum.reduceat(rows, starts, axis=0)


def _colours(theme: Theme) -> UInt8[np.ndarray, "256 3"]:
    weights = theme.lookup[np.rint(np.linspace(0, 255, MASKED)).astype(int)]
    return np.vstack([weights, np.array([rgb(theme.masked)], dtype=np.uint8)])


def _note(matrix: HeadMatrix) -> dict[str, object]:
    """What hovering a head says of it: its entropy in bits, and its strongest link between words."""
    link = strongest_link(matrix)
    return {
        "entropy": round(mean_entropy(matrix), 2),
        "query": matrix.queries[link.query].text if link else "",
        "key": matrix.keys[link.key].text if link else "",
        "weight": round(link.weight, 3) if link else 0,
    }
