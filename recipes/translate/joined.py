"""Several sentences read as one: what a model that has only met short ones learns about long ones.

Nine in ten everyday sentences have at most nine words. What is learned from them alone does not know where to look in the
twentieth; two to four of them in a row are a long text whose translation and whose links are known.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from recipes.translate.sentence_pairs import Row
from recipes.translate.supervised_head import PieceLinks


@dataclass(frozen=True)
class Joined:
    """From the epoch `since` on, a `share` (0 to 1) of all rows are two to `most` sentences, one after the other.

    >>> Joined(since=7).most
    4
    """

    since: int = 0
    share: float = 0.5
    most: int = 4


def join(
    rows: Sequence[Row], how: Joined, links: PieceLinks, generator: random.Random
) -> tuple[list[Row], dict[Row, tuple[tuple[int, int], ...]]]:
    """Join some sentences to those that follow; all stand once, with the links of the joined ones.

    >>> rows = [((7,), (5, 6)), ((8,), (5,))]
    >>> join(rows, Joined(share=1.0, most=2), {rows[1]: ((0, 0),)}, random.Random(0))
    ([((7, 8), (5, 6, 5))], {((7, 8), (5, 6, 5)): ((2, 1),)})
    """
    texts: list[Row] = []
    joined: dict[Row, tuple[tuple[int, int], ...]] = {}
    place = 0
    while place < len(rows):
        n = generator.randint(2, how.most) if generator.random() < how.share else 1
        parts = rows[place : place + n]
        place += n
        row = tuple(piece for source, _ in parts for piece in source), tuple(piece for _, target in parts for piece in target)
        texts.append(row)
        if len(parts) > 1:
            joined[row] = _moved(parts, links)
    return texts, joined


def _moved(parts: Sequence[Row], links: PieceLinks) -> tuple[tuple[int, int], ...]:
    """Move the links of each part to where it now stands."""
    moved, query, key = [], 0, 0
    for source, target in parts:
        moved += [(query + row, key + column) for row, column in links.get((source, target), ())]
        query, key = query + len(target), key + len(source)
    return tuple(moved)
