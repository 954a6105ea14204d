"""Find heads by a pattern that a person draws: how like it is what a head does among the first words of many sentences.

The statistic is of constant size: the mean attention of each head among the first eight words of sentences that are as long.
"""

import re
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

WORDS = 8
Drawn = Bool[np.ndarray, "query key"]
_WRITTEN = re.compile(r"[0-9a-f]{16}")


def _pattern(is_drawn: Callable[[int, int], bool]) -> Drawn:
    return np.array([[is_drawn(query, key) for key in range(WORDS)] for query in range(WORDS)])


# What heads are known to do, to begin with.
PATTERNS: dict[str, Drawn] = {
    "Previous word": _pattern(lambda query, key: key == query - 1),
    "Next word": _pattern(lambda query, key: key == query + 1),
    "Itself": _pattern(lambda query, key: key == query),
    "Neighbours": _pattern(lambda query, key: abs(key - query) == 1),
    "First word": _pattern(lambda _, key: not key),
    "All before": _pattern(lambda query, key: key < query),
}


def pattern_text(drawn: Drawn) -> str:
    """Write a drawing as 16 hexadecimal digits, two a row.

    >>> pattern_text(PATTERNS["First word"])
    '8080808080808080'
    """
    return np.packbits(drawn).tobytes().hex()


def read_pattern(written: str) -> Drawn | None:
    """Read a drawing that `pattern_text` wrote; None: it is none.

    >>> bool((read_pattern("8080808080808080") == PATTERNS["First word"]).all()), read_pattern("80")
    (True, None)
    """
    if not _WRITTEN.fullmatch(written):
        return None
    return np.unpackbits(np.frombuffer(bytes.fromhex(written), dtype=np.uint8)).reshape(WORDS, WORDS).astype(bool)


def likeness(means: Float[np.ndarray, "layer head query key"], drawn: Drawn) -> Float[np.ndarray, "layer head"]:
    """Correlate (Pearson) each head's mean attention with a drawing, over all cells: -1 to 1, 0 for a head that looks evenly.

    >>> means = np.array([[np.eye(WORDS), np.ones((WORDS, WORDS))]])
    >>> likeness(means, PATTERNS["Itself"]).round(3).tolist()
    [[1.0, 0.0]]
    """
    cells = means.reshape(*means.shape[:2], -1).astype(np.float64)
    cells = cells - cells.mean(axis=-1, keepdims=True)
    pattern = drawn.ravel() - drawn.mean()
    scale = np.linalg.norm(cells, axis=-1) * np.linalg.norm(pattern)
    return np.divide(cells @ pattern, scale, out=np.zeros(scale.shape), where=scale > 1e-9)
