"""The Transformer that translates: Vaswani et al. 2017, arXiv:1706.03762, in the form of its section 3, whole.

    encoder   blocks of self-attention: every source token sees every other; there is no causal mask on a source
    decoder   blocks of self-attention over what is written so far, cross-attention to the encoder, and feed-forward

Row t of every attention in the decoder belongs to the token that it reads at step t, and whose successor it writes. Generation
keeps the keys and values of what is already written (`Cache`): one step costs one token, not the whole sentence again.
"""

from dataclasses import dataclass, replace
from typing import cast

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from attnviz.core.errors import ModelError
from attnviz.core.weights import Kind
from attnviz.nn.attention import Attended, KeyValues, MultiHeadAttention, SinusoidalPositions
from attnviz.nn.encoder import BlockConfig, Encoder, EncoderBlock, EncoderConfig, ResidualBlock

EncoderWeights = tuple[Float[Tensor, "batch head key key"], ...]
DecoderWeights = tuple[Float[Tensor, "batch head query query"], ...]
CrossWeights = tuple[Float[Tensor, "batch head query key"], ...]


@dataclass(frozen=True)
class TranslatorConfig:
    """`n_layers` blocks on either side, the same size everywhere; texts of at most `max_tokens`.

    >>> TranslatorConfig(11, 13, 2, BlockConfig(dim=22, n_heads=2, hidden=17)).max_tokens
    128
    """

    source_vocabulary: int
    target_vocabulary: int
    n_layers: int
    block: BlockConfig
    max_tokens: int = 128


@dataclass(frozen=True, eq=False)
class Attentions:
    """All weights of one pass, lowest layer first."""

    encoder: EncoderWeights
    decoder: DecoderWeights
    cross: CrossWeights


@dataclass(frozen=True, eq=False)
class LayerCache:
    """What a decoder block knows without computing it again: its own past, None before the first token, and the source."""

    past: KeyValues | None
    source: KeyValues

    def select(self, rows: Int[Tensor, " row"]) -> "LayerCache":
        """Return some of the rows, in another order or more than once."""
        past = None if self.past is None else KeyValues(self.past.key[rows], self.past.value[rows])
        return LayerCache(past, KeyValues(self.source.key[rows], self.source.value[rows]))


class DecoderBlock(ResidualBlock):
    """Self-attention, attention to the source, feed-forward; each in a residual with layer norm (section 3.1).

    >>> import torch
    >>> block = DecoderBlock(BlockConfig(dim=22, n_heads=2, hidden=13))
    >>> states, own, across = block(torch.ones(3, 5, 22), torch.ones(3, 7, 22))
    >>> own.shape, across.shape
    (torch.Size([3, 2, 5, 5]), torch.Size([3, 2, 5, 7]))
    """

    def __init__(self, config: BlockConfig) -> None:
        super().__init__()
        self.config = config
        self.attention = MultiHeadAttention(config.dim, config.n_heads, scaled=config.scaled, dropout=config.dropout)
        self.cross = MultiHeadAttention(config.dim, config.n_heads, scaled=config.scaled, dropout=config.dropout)
        self.expand = nn.Linear(config.dim, config.hidden)
        self.contract = nn.Linear(config.hidden, config.dim)
        self.dropout = nn.Dropout(config.dropout)
        norm = nn.Identity if config.norm == "off" else lambda: nn.LayerNorm(config.dim)
        self.attention_norm, self.cross_norm, self.feed_forward_norm = norm(), norm(), norm()

    def remember(self, states: Float[Tensor, "batch query dim"], past: KeyValues | None) -> KeyValues:
        """Return the keys and values of these states, after those of the past."""
        new = self.attention.project(self._enter(self.attention_norm, states))
        return new if past is None else past.append(new)

    def forward(
        self,
        states: Float[Tensor, "batch query dim"],
        source: Float[Tensor, "batch key dim"] | KeyValues,
        *,
        visible: Bool[Tensor, "batch key"] | None = None,
        known: KeyValues | None = None,
    ) -> tuple[Float[Tensor, "batch query dim"], Float[Tensor, "batch head query past"], Float[Tensor, "batch head query key"]]:
        """Compute the next states, the weights over what is written, and those over the source.

        `known` stands in for the keys and values of the states themselves, and may begin before them.
        """
        states, own = self._look_back(states, known)
        attended, across = self.cross(self._enter(self.cross_norm, states), source, visible=visible)
        states = self._leave(self.cross_norm, states, attended)
        return self._feed_forward(states), own, across

    def _look_back(
        self, states: Float[Tensor, "batch query dim"], known: KeyValues | None = None
    ) -> tuple[Float[Tensor, "batch query dim"], Float[Tensor, "batch head query past"]]:
        """Compute the states after self-attention, and its weights."""
        # Position t must not see its own target, which is the input at t + 1: causal.
        attended, own = self.attention(self._enter(self.attention_norm, states), known, causal=True)
        return self._leave(self.attention_norm, states, attended), own

    def attended(
        self, states: Float[Tensor, "batch query dim"], source: Float[Tensor, "batch key dim"]
    ) -> tuple[Attended, Attended]:
        """Return what the two attentions of `forward` read: that over what is written, and that over the source."""
        read = self._enter(self.attention_norm, states)
        across = self._enter(self.cross_norm, self._look_back(states)[0])
        return Attended(self.attention, read, read), Attended(self.cross, across, source)


@dataclass(frozen=True, eq=False)
class TranslatorDecoder:
    """A sentence on its way into another language, as `attnviz.nn.decoding` wants it, with a cache for each layer."""

    model: "Translator"
    caches: tuple[LayerCache, ...]
    visible: Bool[Tensor, "row key"] | None
    position: int = 0

    def next(self, tokens: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocabulary"], "TranslatorDecoder"]:
        """Return the scores of the token after these, and the decoder after this step."""
        states = self.model.embed(tokens[:, None], self.position)
        caches = []
        for block, cache in zip(self.model.blocks, self.caches, strict=True):
            known = block.remember(states, cache.past)
            states, _, _ = block(states, cache.source, visible=self.visible, known=known)
            caches.append(replace(cache, past=known))
        scores = self.model.scores(states)[:, 0]
        return scores, replace(self, caches=tuple(caches), position=self.position + 1)

    def select(self, rows: Int[Tensor, " row"]) -> "TranslatorDecoder":
        """Return some of the rows, in another order or more than once."""
        visible = None if self.visible is None else self.visible[rows]
        return replace(self, caches=tuple(cache.select(rows) for cache in self.caches), visible=visible)


class Translator(nn.Module):
    """Encoder and decoder; the target's embedding is also the matrix that scores words (section 3.4). Token 0 is padding.

    Raises:
        ModelError: the heads do not divide the dimension, or a text has more tokens than there are positions.

    >>> import torch
    >>> model = Translator(TranslatorConfig(11, 13, 2, BlockConfig(dim=22, n_heads=2, hidden=17)))
    >>> scores, weights = model(torch.ones(2, 3, dtype=torch.long), torch.ones(2, 5, dtype=torch.long))
    >>> scores.shape, weights.cross[0].shape
    (torch.Size([2, 5, 13]), torch.Size([2, 2, 5, 3]))
    """

    def __init__(self, config: TranslatorConfig) -> None:
        super().__init__()
        self.config = config
        block = config.block
        self.encoder = Encoder(EncoderConfig(config.source_vocabulary, config.n_layers, block, config.max_tokens))
        self.tokens = nn.Embedding(config.target_vocabulary, block.dim)
        nn.init.normal_(self.tokens.weight, std=block.dim**-0.5)
        self.positions = SinusoidalPositions(config.max_tokens, block.dim)
        self.dropout = nn.Dropout(block.dropout)
        self.decoder = nn.ModuleList(DecoderBlock(block) for _ in range(config.n_layers))
        self.norm = nn.LayerNorm(block.dim) if block.norm == "before" else nn.Identity()

    # A row is the token that its step reads, as in every Transformer.
    row_is_written = False

    @property
    def blocks(self) -> tuple[DecoderBlock, ...]:
        """The decoder's blocks, lowest first."""
        return tuple(cast(DecoderBlock, block) for block in self.decoder)

    @property
    def attentions(self) -> dict[Kind, tuple[nn.Module, ...]]:
        """The attention modules by kind, lowest layer first."""
        encoder = tuple(cast(EncoderBlock, block).attention for block in self.encoder.blocks)
        own, across = zip(*((block.attention, block.cross) for block in self.blocks), strict=True)
        return {"encoder": encoder, "decoder": own, "cross": across}

    def weights_by_kind(self, attentions: Attentions) -> dict[Kind, tuple[Tensor, ...]]:
        """Return the weights of one pass by kind."""
        return {"encoder": attentions.encoder, "decoder": attentions.decoder, "cross": attentions.cross}

    def embed(self, tokens: Int[Tensor, "batch query"], start: int = 0) -> Float[Tensor, "batch query dim"]:
        """√d · E[token] + position; `start` is the position of the first token."""
        return self.dropout(self.positions(self.tokens(tokens) * self.config.block.dim**0.5, start))

    def scores(self, states: Float[Tensor, "batch query dim"]) -> Float[Tensor, "batch query vocabulary"]:
        """Compute the scores of the next token after each state of the last block."""
        return F.linear(self.norm(states), self.tokens.weight)

    def _read(
        self, source: Int[Tensor, "batch key"]
    ) -> tuple[Float[Tensor, "batch key dim"], EncoderWeights, Bool[Tensor, "batch key"] | None]:
        visible = source != 0
        whole = None if bool(visible.all()) else visible
        return *self.encoder(source, visible=whole), whole

    def begin(self, source: Int[Tensor, "batch key"]) -> TranslatorDecoder:
        """Read sentences, to translate them token by token."""
        memory, _, visible = self._read(source)
        # The keys and values of the source are the same at every step: they are computed here, once.
        caches = tuple(LayerCache(None, block.cross.project(memory)) for block in self.blocks)
        return TranslatorDecoder(self, caches, visible)

    def forward(
        self,
        source: Int[Tensor, "batch key"],
        inputs: Int[Tensor, "batch query"],
        teacher_forcing: float = 1.0,
    ) -> tuple[Float[Tensor, "batch query vocabulary"], Attentions]:
        """Compute the scores of every next token, given those before it, and all weights.

        All steps are computed at once, which is what a Transformer is for: `teacher_forcing` can only be 1.

        Raises:
            ModelError: it is not.
        """
        if teacher_forcing != 1:
            raise ModelError("A Transformer reads all true tokens at once: its teacher forcing is 1.")
        memory, encoder, visible = self._read(source)
        states, decoder, cross = self.embed(inputs), [], []
        for block in self.blocks:
            states, own, across = block(states, memory, visible=visible)
            decoder.append(own)
            cross.append(across)
        return self.scores(states), Attentions(encoder, tuple(decoder), tuple(cross))

    def attended(
        self, source: Int[Tensor, "batch key"], inputs: Int[Tensor, "batch query"]
    ) -> dict[Kind, tuple[Attended, ...]]:
        """Return what the attentions of `forward` read, lowest layer first, by their names in `Attentions`; without padding."""
        memory, encoder = self.encoder.attended(source)
        states, pairs = self.embed(inputs), []
        for block in self.blocks:
            pairs.append(block.attended(states, memory))
            states, _, _ = block(states, memory)
        own, across = zip(*pairs, strict=True)
        return {"encoder": encoder, "decoder": own, "cross": across}
