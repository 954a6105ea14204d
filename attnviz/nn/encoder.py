"""The Transformer's encoder (Vaswani et al. 2017), and what stands on one: a question answerer and a summarizer.

The encoder is blocks of self-attention and feed-forward, stacked on embedded tokens.

The attention-only model has no feed-forward layers and no normalization: Elhage et al. 2021, *A Mathematical Framework for
Transformer Circuits*. With one layer it cannot look for what followed a token before, for a key does not know what stood
before it; with two it can.
"""

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import torch
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
        raise ModelError(f"{name} is one of {', '.join(choices)}, not {value!r}.")


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


@dataclass(frozen=True)
class AnswererConfig:
    """How a question and a passage meet.

    joint     one pass of the encoder over the pair; else each text has a pass of its own
    n_layers  blocks of cross-attention, as wide as the encoder's states; block: their size
    mixing    after each of them the passage's tokens look at each other once more
    depth     lowest layers of the encoder that read the texts; None: all
    special   ids that never begin or end an answer, and that stand around a text: [CLS] first, [SEP] last

    >>> AnswererConfig(joint=True, n_layers=1, block=BlockConfig(dim=22, n_heads=2, hidden=13)).special
    (101, 102)
    """

    joint: bool
    n_layers: int
    block: BlockConfig
    mixing: bool = False
    depth: int | None = None
    special: tuple[int, int] = (101, 102)


class CrossBlock(nn.Module):
    """x + Attention(x, question), of a normalized x (Xiong et al. 2020, arXiv:2002.04745); then each token thinks.

    To think is a feed-forward network, or, `mixing`, a whole encoder block: there what one token has found reaches the others.

    Raises:
        ModelError: the heads do not divide the dimension.

    >>> block = CrossBlock(BlockConfig(dim=22, n_heads=2, hidden=13), mixing=True)
    >>> states, weights = block(torch.ones(3, 7, 22), torch.ones(3, 5, 22))
    >>> states.shape, weights.shape
    (torch.Size([3, 7, 22]), torch.Size([3, 2, 7, 5]))
    """

    def __init__(self, config: BlockConfig, *, mixing: bool) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.dim, config.n_heads, dropout=config.dropout)
        self.attention_norm = nn.LayerNorm(config.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.thinking = EncoderBlock(config) if mixing else FeedForward(config)

    def forward(
        self,
        states: Float[Tensor, "batch context dim"],
        question: Float[Tensor, "batch question dim"],
        *,
        question_visible: Bool[Tensor, "batch question"] | None = None,
        context_visible: Bool[Tensor, "batch context"] | None = None,
    ) -> tuple[Float[Tensor, "batch context dim"], Float[Tensor, "batch head context question"]]:
        """Let every token of the passage look at the question, then let it think."""
        attended, weights = self.attention(self.attention_norm(states), question, visible=question_visible)
        states, _ = self.thinking(states + self.dropout(attended), visible=context_visible)
        if context_visible is not None:
            # Padding is no query: its rows are empty, as its columns are.
            weights = weights.masked_fill(~context_visible[:, None, :, None], 0)
        return states, weights


class FeedForward(nn.Module):
    """x + W₂ f(W₁ x) of a normalized x: Vaswani et al. 2017, section 3.3. It is called as an encoder block is."""

    def __init__(self, config: BlockConfig) -> None:
        super().__init__()
        self.config = config
        self.norm = nn.LayerNorm(config.dim)
        self.expand, self.contract = nn.Linear(config.dim, config.hidden), nn.Linear(config.hidden, config.dim)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, states: Float[Tensor, "batch token dim"], *, visible: Bool[Tensor, "batch token"] | None = None
    ) -> tuple[Float[Tensor, "batch token dim"], None]:
        """Transform each token by itself: what is visible changes nothing, and there are no weights."""
        hidden = activated(self.expand(self.norm(states)), self.config.activation)
        return states + self.dropout(self.contract(hidden)), None


class Answerer(nn.Module):
    """Start and end of an answer, by cross-attention on the states of an encoder.

        encode     question and passage through a pretrained encoder: jointly, as one pair, or separately, each on its own
        look       blocks of cross-attention: the passage's tokens are the queries, the question's the keys
        predict    for each token of the passage a start logit and an end logit

    Start and end stand over the passage, so its tokens are the queries: those of the question would point into the question.
    Encoded jointly, both texts have met in every layer below (Devlin et al. 2019, section 4.2); encoded separately, all that
    the passage ever learns of the question comes through the cross-attention, as in Seo et al. 2017,
    arXiv:1611.01603, section 2.

    The logits are absolute: that a passage does not answer is one more choice, whose logit is 0 (Clark & Gardner 2018,
    arXiv:1710.10723, section 3.2). So they can be compared between the windows of a long passage, too.

    `encoder` is called as BERT is, with `input_ids`, `attention_mask`, `token_type_ids` and `position_ids`, and gives an object
    with a `last_hidden_state`; it keeps its lowest `depth` layers. None where the states are always at hand, for `read`.

    Raises:
        ModelError: the heads do not divide the dimension.

    >>> model = Answerer(AnswererConfig(True, 2, BlockConfig(dim=22, n_heads=2, hidden=13)))
    >>> start, end, weights = model.read(torch.ones(3, 5, 22), torch.ones(3, 7, 22))
    >>> start.shape, end.shape, len(weights), weights[0].shape
    (torch.Size([3, 7]), torch.Size([3, 7]), 2, torch.Size([3, 2, 7, 5]))
    """

    def __init__(self, config: AnswererConfig, encoder: nn.Module | None = None) -> None:
        super().__init__()
        self.config = config
        self.blocks = nn.ModuleList(CrossBlock(config.block, mixing=config.mixing) for _ in range(config.n_layers))
        self.norm = nn.LayerNorm(config.block.dim)
        self.output = nn.Linear(config.block.dim, 2)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                # As the encoder itself began: what is new must not drown what was learned (Devlin et al. 2019).
                nn.init.normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)
        if encoder is not None and config.depth is not None:
            stack = cast(Any, encoder).encoder
            stack.layer = stack.layer[: config.depth]
        self.encoder = encoder

    def forward(
        self,
        question_ids: Int[Tensor, "batch question"],
        context_ids: Int[Tensor, "batch context"],
        *,
        question_visible: Bool[Tensor, "batch question"],
        context_visible: Bool[Tensor, "batch context"],
    ) -> tuple[
        Float[Tensor, "batch context"], Float[Tensor, "batch context"], tuple[Float[Tensor, "batch head context question"], ...]
    ]:
        """Start and end logits over the passage, -inf for padding and special tokens, and the weights of every layer.

        The question is [CLS] … [SEP]; the passage is … [SEP] where both are read as one, and [CLS] … [SEP] on its own.
        Padding stands at the end of either.
        """
        question, context = self._encode(question_ids, context_ids, question_visible, context_visible)
        # A mask that hides nothing costs as much as one that does: several passes over the scores of every head.
        of_question, of_context = (None if bool(each.all()) else each for each in (question_visible, context_visible))
        start, end, weights = self.read(question, context, question_visible=of_question, context_visible=of_context)
        first, last = self.config.special
        never = ~context_visible | (context_ids == first) | (context_ids == last)
        return start.masked_fill(never, -torch.inf), end.masked_fill(never, -torch.inf), weights

    def read(
        self,
        question: Float[Tensor, "batch question dim"],
        context: Float[Tensor, "batch context dim"],
        *,
        question_visible: Bool[Tensor, "batch question"] | None = None,
        context_visible: Bool[Tensor, "batch context"] | None = None,
    ) -> tuple[
        Float[Tensor, "batch context"], Float[Tensor, "batch context"], tuple[Float[Tensor, "batch head context question"], ...]
    ]:
        """Compute logits and weights as `forward` does, from states that an encoder has made; every token has logits here."""
        weights = []
        for block in self.blocks:
            context, layer_weights = block(
                context, question, question_visible=question_visible, context_visible=context_visible
            )
            weights.append(layer_weights)
        start, end = self.output(self.norm(context)).unbind(dim=-1)
        return start, end, tuple(weights)

    def attended(
        self, question: Float[Tensor, "batch question dim"], context: Float[Tensor, "batch context dim"]
    ) -> tuple[Attended, ...]:
        """Return what each layer's attention reads, of texts without padding: a trace keeps this in place of the weights."""
        layers = []
        for block in cast("list[CrossBlock]", list(self.blocks)):
            layers.append(Attended(block.attention, block.attention_norm(context), question))
            context, _ = block(context, question)
        return tuple(layers)

    def _encode(
        self,
        question_ids: Int[Tensor, "batch question"],
        context_ids: Int[Tensor, "batch context"],
        question_visible: Bool[Tensor, "batch question"],
        context_visible: Bool[Tensor, "batch context"],
    ) -> tuple[Float[Tensor, "batch question dim"], Float[Tensor, "batch context dim"]]:
        encoder = cast(Any, self.encoder)

        def states(ids: Tensor, visible: Tensor, segments: Tensor, positions: Tensor | None = None) -> Tensor:
            read = encoder(input_ids=ids, attention_mask=visible.long(), token_type_ids=segments, position_ids=positions)
            return read.last_hidden_state

        if not self.config.joint:
            question = states(question_ids, question_visible, torch.zeros_like(question_ids))
            return question, states(context_ids, context_visible, torch.zeros_like(context_ids))
        ids, visible = torch.cat([question_ids, context_ids], dim=1), torch.cat([question_visible, context_visible], dim=1)
        # The question's padding stands between the two: counted as positions, it would tear them apart.
        positions = (visible.long().cumsum(dim=1) - 1).clamp(min=0)
        segments = torch.cat([torch.zeros_like(question_ids), torch.ones_like(context_ids)], dim=1)
        both, n_question = states(ids, visible, segments, positions), question_ids.shape[1]
        return both[:, :n_question], both[:, n_question:]


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

        embed      token + position (learned) + number of its sentence, counted from the start and from the end (learned)
        attend     blocks of multi-head self-attention with a padding mask, residuals, normalization and feed-forward
        score      attention received: the mean over heads and true queries of a key's column
        keep       the k tokens that receive most, in their original order

    Nothing but its attention chooses, so a picture of it shows all of the choice. Sentence numbers are those of Liu & Lapata
    2019, arXiv:1908.08345, section 3.1, which told odd from even; in an abstract the place itself says a lot.

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
