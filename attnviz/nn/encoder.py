"""The Transformer's encoder: blocks of self-attention and feed-forward, stacked on embedded tokens. Vaswani et al. 2017.

The attention-only model has no feed-forward layers and no normalization: Elhage et al. 2021, *A Mathematical Framework for
Transformer Circuits*. With one layer it cannot look for what followed a token before, for a key does not know what stood
before it; with two it can.
"""

from dataclasses import dataclass
from typing import Literal, cast, get_args

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from attnviz.core.errors import ModelError
from attnviz.nn.attention import Attended, LearnedPositions, MultiHeadAttention, SinusoidalPositions

# before: Xiong et al. 2020, arXiv:2002.04745; after: Vaswani et al. 2017, section 3.1; off: residuals alone.
Norm = Literal["off", "before", "after"]
Positions = Literal["sinusoidal", "learned"]
# gelu: Hendrycks & Gimpel 2016, arXiv:1606.08415, as BERT has it; relu: Vaswani et al. 2017, section 3.3.
Activation = Literal["relu", "gelu"]


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ModelError(f"{name} is one of {', '.join(choices)}, not {value!r}")


@dataclass(frozen=True)
class BlockConfig:
    """The size of a block: `dim` wide outside, `hidden` wide inside its feed-forward network; `dropout` is a probability.

    scaled  scores are divided by √d, d the dimensions of a head

    Raises:
        ModelError: `norm` is none of off, before, after, or `activation` neither relu nor gelu.

    >>> BlockConfig(dim=22, n_heads=2, hidden=13).norm
    'after'
    """

    dim: int
    n_heads: int
    hidden: int
    norm: Norm = "after"
    dropout: float = 0.1
    activation: Activation = "relu"
    scaled: bool = True

    def __post_init__(self) -> None:
        _check_choice("norm", self.norm, get_args(Norm))
        _check_choice("activation", self.activation, get_args(Activation))


@dataclass(frozen=True)
class EncoderConfig:
    """An encoder of `n_layers` blocks over a vocabulary, for texts of at most `max_tokens`.

    Raises:
        ModelError: `positions` is neither sinusoidal nor learned.

    >>> EncoderConfig(vocabulary=17, n_layers=3, block=BlockConfig(dim=22, n_heads=2, hidden=13)).positions
    'sinusoidal'
    """

    vocabulary: int
    n_layers: int
    block: BlockConfig
    max_tokens: int = 512
    positions: Positions = "sinusoidal"

    def __post_init__(self) -> None:
        _check_choice("positions", self.positions, get_args(Positions))


def activated(states: Float[Tensor, "*batch dim"], activation: Activation) -> Float[Tensor, "*batch dim"]:
    """Apply the activation between the two layers of a feed-forward network.

    >>> import torch
    >>> activated(torch.tensor([-1.0, 2.0]), "relu")
    tensor([0., 2.])
    """
    return F.gelu(states) if activation == "gelu" else states.relu()


class ResidualBlock(nn.Module):
    """What the blocks of encoder and decoder share: each sublayer in a residual, normalized before it or after it."""

    config: BlockConfig
    dropout: nn.Dropout
    expand: nn.Linear
    contract: nn.Linear
    feed_forward_norm: nn.Module

    def _enter(self, norm: nn.Module, states: Float[Tensor, "batch token dim"]) -> Float[Tensor, "batch token dim"]:
        # Norm before: the sublayer reads normalized states, the residual path stays untouched from bottom to top.
        return norm(states) if self.config.norm == "before" else states

    def _leave(
        self, norm: nn.Module, states: Float[Tensor, "batch token dim"], change: Float[Tensor, "batch token dim"]
    ) -> Float[Tensor, "batch token dim"]:
        # Dropout falls on what a sublayer adds, never on what it was given: the residual always gets through (section 5.4).
        states = states + self.dropout(change)
        return norm(states) if self.config.norm == "after" else states

    def _feed_forward(self, states: Float[Tensor, "batch token dim"]) -> Float[Tensor, "batch token dim"]:
        hidden = activated(self.expand(self._enter(self.feed_forward_norm, states)), self.config.activation)
        return self._leave(self.feed_forward_norm, states, self.contract(hidden))


class EncoderBlock(ResidualBlock):
    """x + Attention(x), then x + W₂ f(W₁ x), f mostly ReLU: Vaswani et al. 2017, sections 3.1, 3.3, normalized where asked.

    Raises:
        ModelError: the heads do not divide the dimension.

    >>> import torch
    >>> output, weights = EncoderBlock(BlockConfig(dim=22, n_heads=2, hidden=13))(torch.ones(3, 5, 22))
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 22]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(self, config: BlockConfig) -> None:
        super().__init__()
        self.config = config
        self.attention = MultiHeadAttention(config.dim, config.n_heads, scaled=config.scaled, dropout=config.dropout)
        self.expand = nn.Linear(config.dim, config.hidden)
        self.contract = nn.Linear(config.hidden, config.dim)
        self.dropout = nn.Dropout(config.dropout)
        # A norm that is off has no parameters: nothing of it is saved, nothing of it is trained.
        self.attention_norm = nn.Identity() if config.norm == "off" else nn.LayerNorm(config.dim)
        self.feed_forward_norm = nn.Identity() if config.norm == "off" else nn.LayerNorm(config.dim)

    def attended(self, states: Float[Tensor, "batch token dim"]) -> Attended:
        """Return what the attention of `forward` reads: all that decides its weights, and far smaller than they are."""
        entered = self._enter(self.attention_norm, states)
        return Attended(self.attention, entered, entered)

    def forward(
        self, states: Float[Tensor, "batch token dim"], *, visible: Bool[Tensor, "batch token"] | None = None
    ) -> tuple[Float[Tensor, "batch token dim"], Float[Tensor, "batch head token token"]]:
        """Let tokens look at each other, then let each think for itself. There is no causal mask: an encoder reads all."""
        attended, weights = self.attention(self._enter(self.attention_norm, states), visible=visible)
        states = self._leave(self.attention_norm, states, attended)
        return self._feed_forward(states), weights


class Encoder(nn.Module):
    """√d · E[token] + position, then n blocks: Vaswani et al. 2017, sections 3.1, 3.4 and 3.5.

    Raises:
        ModelError: the heads do not divide the dimension, or a text has more tokens than there are positions.

    >>> import torch
    >>> encoder = Encoder(EncoderConfig(vocabulary=17, n_layers=3, block=BlockConfig(dim=22, n_heads=2, hidden=13)))
    >>> output, weights = encoder(torch.tensor([[2, 3, 5, 7, 11]]))
    >>> output.shape, len(weights), weights[0].shape
    (torch.Size([1, 5, 22]), 3, torch.Size([1, 2, 5, 5]))
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        block = config.block
        self.tokens = nn.Embedding(config.vocabulary, block.dim)
        # √d · N(0, 1/d) has variance 1: tokens start as large as sinusoids, and neither hides the other.
        nn.init.normal_(self.tokens.weight, std=block.dim**-0.5)
        positions = SinusoidalPositions if config.positions == "sinusoidal" else LearnedPositions
        self.positions = positions(config.max_tokens, block.dim)
        self.dropout = nn.Dropout(block.dropout)
        self.blocks = nn.ModuleList(EncoderBlock(block) for _ in range(config.n_layers))
        # With the norm before each sublayer nothing has normalized the last sum: one more norm does (Xiong et al. 2020).
        self.norm = nn.LayerNorm(block.dim) if block.norm == "before" else nn.Identity()

    def forward(
        self, tokens: Int[Tensor, "batch token"], *, visible: Bool[Tensor, "batch token"] | None = None
    ) -> tuple[Float[Tensor, "batch token dim"], tuple[Float[Tensor, "batch head token token"], ...]]:
        """Compute the states of the last layer, and the weights of every layer, lowest first."""
        states, weights = self.embed(tokens), []
        for block in self.blocks:
            states, layer_weights = block(states, visible=visible)
            weights.append(layer_weights)
        return self.norm(states), tuple(weights)

    def embed(self, tokens: Int[Tensor, "batch token"]) -> Float[Tensor, "batch token dim"]:
        """Compute what the first block reads: √d · E[token] + position."""
        return self.dropout(self.positions(self.tokens(tokens) * self.config.block.dim**0.5))

    def attended(self, tokens: Int[Tensor, "batch token"]) -> tuple[Float[Tensor, "batch token dim"], tuple[Attended, ...]]:
        """Compute the states of the last layer, and what the attention of every layer reads, of texts without padding."""
        states, layers = self.embed(tokens), []
        for block in cast("list[EncoderBlock]", list(self.blocks)):
            layers.append(block.attended(states))
            states, _ = block(states)
        return self.norm(states), tuple(layers)


class AttentionOnly(nn.Module):
    """x_0 = E t + P; x_l = x_{l-1} + Attention_l(x_{l-1}); scores = U x_L.

    >>> import torch
    >>> scores, weights = AttentionOnly(n_tokens=11, n_layers=2, n_heads=3, dim=12)(torch.ones(5, 7, dtype=torch.long))
    >>> scores.shape, len(weights), weights[0].shape
    (torch.Size([5, 7, 11]), 2, torch.Size([5, 3, 7, 7]))
    """

    def __init__(self, *, n_tokens: int, n_layers: int, n_heads: int, dim: int, longest: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, dim)
        self.positions = SinusoidalPositions(longest, dim)
        self.layers = nn.ModuleList(MultiHeadAttention(dim, n_heads) for _ in range(n_layers))
        self.output = nn.Linear(dim, n_tokens, bias=False)

    def forward(
        self, tokens: Int[Tensor, "batch token"]
    ) -> tuple[Float[Tensor, "batch token piece"], tuple[Float[Tensor, "batch head token key"], ...]]:
        """Score every next token, and return the attention of each layer."""
        states, weights = self.positions(self.embedding(tokens)), []
        for layer in self.layers:
            change, attention = layer(states, causal=True)
            states = states + change
            weights.append(attention)
        return self.output(states), tuple(weights)
