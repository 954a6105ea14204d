"""Batches of a translator: pairs of ids, padded, with start and end marks."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

START, END = 1, 2


@dataclass(frozen=True, eq=False)
class TranslationBatch:
    """Rows of one source length; targets padded with 0. The decoder reads `inputs` and should write `labels`."""

    source: Int[Tensor, "batch key"]
    inputs: Int[Tensor, "batch query"]
    labels: Int[Tensor, "batch query"]


def collate(rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> TranslationBatch:
    """Pad pairs of ids into a batch, with start and end marks.

    >>> collate([((7,), (5, 6)), ((8,), (5,))]).labels
    tensor([[5, 6, 2],
            [5, 2, 0]])
    """
    sources, targets = zip(*rows, strict=True)
    return TranslationBatch(
        _padded(sources),
        _padded([(START, *target) for target in targets]),
        _padded([(*target, END) for target in targets]),
    )


def _padded(rows: Sequence[Sequence[int]]) -> Int[Tensor, "batch token"]:
    width = max(len(row) for row in rows)
    return torch.tensor([(*row, *([0] * (width - len(row)))) for row in rows], dtype=torch.long)
