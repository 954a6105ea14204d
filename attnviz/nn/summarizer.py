"""An attention summarizer: what a text's tokens look at most is kept, and the rest is left out.

    embed      token + position (learned) + number of its sentence, counted from the start and from the end (learned)
    attend     blocks of multi-head self-attention with a padding mask, residuals, normalization and feed-forward
    score      attention received: the mean over heads and true queries of a key's column
    keep       the k tokens that receive most, in their original order

Nothing but its attention chooses, so a picture of it shows all of the choice. Sentence numbers are those of Liu & Lapata 2019,
arXiv:1908.08345, section 3.1, which told odd from even; in an abstract the place itself says a lot.
"""

from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnviz.nn.attention import Attended, LearnedPositions
from attnviz.nn.encoder import BlockConfig, EncoderBlock


@dataclass(frozen=True)
class SummarizerConfig:
    """`n_layers` blocks over tokens of a vocabulary, or over the states of an encoder that has read the text already.

    n_outputs   the size of a token's logits: a vocabulary, or the labels that a token may get
    vocabulary  number of token ids; None: it reads states of `state_dim` instead
    sentences   how many sentences are told apart from the start, and as many from the end; all others are alike
    dropout     share of what the first block reads that is left out in training, 0 to 1

    >>> SummarizerConfig(n_outputs=17, n_layers=1, block=BlockConfig(dim=22, n_heads=2, hidden=13), vocabulary=17).max_tokens
    512
    """

    n_outputs: int
    n_layers: int
    block: BlockConfig
    vocabulary: int | None = None
    state_dim: int = 384
    sentences: int = 16
    max_tokens: int = 512
    dropout: float = 0.2


class Summarizer(nn.Module):
    """Self-attention whose received weights say what to keep.

    Raises:
        ModelError: the heads do not divide the dimension, or a text has more tokens than there are positions.

    >>> block = BlockConfig(dim=22, n_heads=2, hidden=13)
    >>> model = Summarizer(SummarizerConfig(n_outputs=17, n_layers=1, block=block, vocabulary=17))
    >>> logits, weights = model(torch.tensor([[2, 3, 5, 7, 11]]), torch.tensor([[0, 0, 0, 1, 1]]))
    >>> logits.shape, len(weights), weights[0].shape
    (torch.Size([1, 5, 17]), 1, torch.Size([1, 2, 5, 5]))
    """

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__()
        self.config = config
        dim = config.block.dim
        self.source = nn.Linear(config.state_dim, dim) if config.vocabulary is None else nn.Embedding(config.vocabulary, dim)
        self.positions = LearnedPositions(config.max_tokens, dim)
        self.from_start, self.from_end = nn.Embedding(config.sentences, dim), nn.Embedding(config.sentences, dim)
        for table in (self.from_start, self.from_end):
            # As small as the positions at first, for the same reason.
            nn.init.normal_(table.weight, std=0.02)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(EncoderBlock(config.block) for _ in range(config.n_layers))
        self.output = nn.Linear(dim, config.n_outputs)

    def forward(
        self,
        source: Int[Tensor, "batch token"] | Float[Tensor, "batch token state"],
        sentences: Int[Tensor, "batch token"],
        *,
        visible: Bool[Tensor, "batch token"] | None = None,
    ) -> tuple[Float[Tensor, "batch token output"], tuple[Float[Tensor, "batch head token token"], ...]]:
        """Compute each token's logits, and each layer's weights, lowest first; `sentences` numbers each token's, from 0."""
        states = self.dropout(self.embed(source, sentences))
        weights = []
        for block in self.blocks:
            states, layer_weights = block(states, visible=visible)
            weights.append(layer_weights)
        return self.output(states), tuple(weights)

    def attended(
        self, source: Int[Tensor, "batch token"] | Float[Tensor, "batch token state"], sentences: Int[Tensor, "batch token"]
    ) -> tuple[Attended, ...]:
        """Return what each layer's attention reads, of texts without padding: a trace keeps this in place of the weights."""
        states, layers = self.embed(source, sentences), []
        for block in cast("list[EncoderBlock]", list(self.blocks)):
            layers.append(block.attended(states))
            states, _ = block(states)
        return tuple(layers)

    def embed(
        self, source: Int[Tensor, "batch token"] | Float[Tensor, "batch token state"], sentences: Int[Tensor, "batch token"]
    ) -> Float[Tensor, "batch token dim"]:
        """Compute what the first block reads: the token, its place in the text, and its sentence's place from either end."""
        last = self.config.sentences - 1
        # The end is that of each text, not of the longest in the batch: padding is of sentence 0, which changes no end.
        left = sentences.max(dim=1, keepdim=True).values - sentences
        places = self.from_start(sentences.clamp(0, last)) + self.from_end(left.clamp(0, last))
        return self.positions(self.source(source)) + places


def received(
    weights: Float[Tensor, "batch head query key"], queries: Bool[Tensor, "batch query"]
) -> Float[Tensor, "batch key"]:
    """Attention that each key receives, averaged over heads and over the true queries alone; zeros where there are none.

    A padding token is no query: counted as one, it would pull every text towards what its neighbours in the batch need.

    >>> weights = torch.tensor([[[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]]])
    >>> received(weights, torch.tensor([[True, True, False]]))
    tensor([[0.7500, 0.2500, 0.0000]])
    """
    # The mean over axis -2, the queries: the mean over keys would be 1/n for everyone.
    asked = queries[:, None, :, None]
    total = (weights * asked).sum(dim=2).mean(dim=1)
    return total / queries.sum(dim=1, keepdim=True).clamp(min=1)


def keep(scores: Float[Tensor, "batch token"], k: int, real: Bool[Tensor, "batch token"]) -> Bool[Tensor, "batch token"]:
    """True for the k tokens of the highest scores, of two equal ones the first; never for one that is not real.

    A text of fewer than k real tokens keeps them all. Read from left to right, what is kept is in its original order.

    >>> keep(torch.tensor([[0.9, 0.1, 0.3, 0.2]]), 2, torch.tensor([[False, True, True, True]]))
    tensor([[False, False,  True,  True]])
    """
    ranked = scores.masked_fill(~real, -torch.inf).argsort(dim=1, descending=True, stable=True)
    chosen = torch.zeros_like(real)
    chosen.scatter_(1, ranked[:, : max(k, 0)], True)
    # More than there are would reach what is not real: specials, padding.
    return chosen & real
