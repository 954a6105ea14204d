"""Train one attention head to align: Garg et al. 2019, arXiv:1909.02074.

A head that translation alone has trained looks wherever helps. This one also learns to point at the words that a statistical
aligner linked: its weights are a distribution over the source, and the cross-entropy to the links is added to the loss.

The row that is supervised for a target token is the one that reads it, not the one that writes it (the shifted reading of Chen
et al. 2020, arXiv:2004.14837): there the decoder knows the word whose origin is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from tokenizers import Encoding
from torch import Tensor

from attnviz.training.toy_training import TranslationBatch
from recipes.data import DataError
from recipes.translate.alignment_error import LinkedPair, by_word, read_links, spans
from recipes.translate.sentence_pairs import Row, Tokenizers

# (target piece, source piece), counted from 0, of every pair of ids that has links.
PieceLinks = Mapping[Row, tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class SupervisedHead:
    """Which head of the cross-attention is supervised, how much that counts beside the translation, and from which epoch on.

    >>> SupervisedHead(layer=1, head=0).since
    0
    """

    layer: int
    head: int
    weight: float = 0.1
    since: int = 0


def read_piece_links(data: Path, corpus: str, tokenizers: Tokenizers) -> PieceLinks:
    """Read the links of a corpus' training pairs, from words to pieces.

    Raises:
        DataError: there are none in the folder.
    """
    path = data / f"{corpus}.train.links.tsv.gz"
    if not path.is_file():
        raise DataError(
            f"a supervised head learns from {path.name}, which {data} lacks; make it: python -m recipes link NAME --data {data}"
        )
    pairs = read_links(path)
    sources = tokenizers.source.encode_batch([pair.texts[0] for pair in pairs])
    targets = tokenizers.target.encode_batch([pair.texts[1] for pair in pairs])
    return {
        (tuple(source.ids), tuple(target.ids)): piece_links(pair, source, target)
        for pair, source, target in zip(pairs, sources, targets, strict=True)
    }


def piece_links(pair: LinkedPair, source: Encoding, target: Encoding) -> tuple[tuple[int, int], ...]:
    """Link every piece of a word to every piece of its word; a target word that has no sure link has its possible ones."""
    words = np.zeros((len(pair.words[1]), len(pair.words[0])), dtype=bool)
    sure = {index for _, index in pair.sure}
    for other, index in pair.sure | {link for link in pair.possible if link[1] not in sure}:
        words[index, other] = True
    columns = by_word(source.offsets, spans(pair.words[0], pair.texts[0])) > 0
    rows = by_word(target.offsets, spans(pair.words[1], pair.texts[1])) > 0
    linked = np.argwhere(rows @ words @ columns.T)
    return tuple((int(row), int(column)) for row, column in linked)


def linked_rows(batch: TranslationBatch, links: PieceLinks) -> Float[Tensor, "batch query key"]:
    """Spread the head's target: a piece's links equally, in the row that reads it; a row of zeros where it has none."""
    rows = torch.zeros(*batch.inputs.shape, batch.source.shape[1])
    pairs = zip(batch.source.tolist(), batch.inputs[:, 1:].tolist(), strict=True)
    for index, (source, target) in enumerate(pairs):
        pair = tuple(source), tuple(piece for piece in target if piece)
        for query, key in links.get(pair, ()):
            rows[index, query + 1, key] = 1
    return rows / rows.sum(dim=-1, keepdim=True).clamp_min(1)


def alignment_loss(weights: Float[Tensor, "batch query key"], rows: Float[Tensor, "batch query key"]) -> Float[Tensor, ""]:
    """Average the cross-entropy between the rows that have links and the head's weights (Garg et al. 2019, section 4.2).

    >>> float(alignment_loss(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), torch.tensor([[[0.0, 0.0], [0.0, 1.0]]])))
    0.0
    """
    # A weight of 0 has no logarithm, and one far below float32's step to 1 says no more than this.
    losses = -(rows * weights.float().clamp_min(1e-9).log()).sum(dim=-1)
    return losses.sum() / rows.sum().clamp_min(1)
