"""LSTM encoder-decoders with attention: three generations of one idea, told apart by how a decoder state meets the source.

    dot        one-directional encoder, q·k                      Luong et al. 2015, arXiv:1508.04025, section 3.1
    scaled     bidirectional encoder, q·k / √d                   the same, scaled as in Vaswani et al. 2017
    additive   bidirectional encoder, vᵀ tanh(W s_{i-1} + U h_j)  Bahdanau, Cho & Bengio 2014, arXiv:1409.0473

One step of the decoder is the same in all three, and is Bahdanau's (section 3.1), with an LSTM in the place of his gated unit:

    e_ij = a(s_{i-1}, h_j)      α_i = softmax(e_i)      c_i = Σ_j α_ij h_j      s_i = LSTM(s_{i-1}, [E y_{i-1}; c_i])

So row i of the alignment belongs to the token that step i writes, before that token is known.
"""

import copy
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnviz.core.errors import ModelError
from attnviz.core.weights import Kind
from attnviz.nn.attention import AdditiveAttention, Attended, KeyValues, SingleHeadAttention

Alignment = Literal["dot", "scaled", "additive"]


@dataclass(frozen=True)
class RecurrentConfig:
    """Embeddings `dim` wide, states `hidden` wide in each direction, `n_layers` on both sides; `dropout` is a probability.

    >>> RecurrentConfig(dim=5, hidden=7).n_layers
    1
    """

    dim: int
    hidden: int
    n_layers: int = 1
    bidirectional: bool = True
    dropout: float = 0.2


@dataclass(frozen=True)
class Seq2SeqConfig:
    """Which attention stands between an LSTM that reads one vocabulary and one that writes another.

    Raises:
        ModelError: `attention` is none of dot, scaled, additive.

    >>> Seq2SeqConfig(11, 13, "additive", RecurrentConfig(dim=5, hidden=7)).attention
    'additive'
    """

    source_vocabulary: int
    target_vocabulary: int
    attention: Alignment
    recurrent: RecurrentConfig

    def __post_init__(self) -> None:
        if self.attention not in get_args(Alignment):
            raise ModelError(f"attention is one of {', '.join(get_args(Alignment))}, not {self.attention!r}.")


@dataclass(frozen=True, eq=False)
class RecurrentState:
    """All that a decoder carries from one step to the next: a hidden and a cell vector for each layer."""

    hidden: Float[Tensor, "layer batch dim"]
    cell: Float[Tensor, "layer batch dim"]


@dataclass(frozen=True, eq=False)
class ReadSource:
    """A sentence as its decoder sees it: annotations ready to be attended to, and where to begin.

    `visible` is None where no row is padded: a mask that hides nothing costs time at every step.
    """

    annotations: KeyValues
    state: RecurrentState
    visible: Bool[Tensor, "batch key"] | None

    def select(self, rows: Int[Tensor, " row"]) -> "ReadSource":
        """Return the same sentences in another order, or some of them more than once: the rows of a beam."""
        known = KeyValues(self.annotations.key[rows], self.annotations.value[rows])
        state = RecurrentState(self.state.hidden[:, rows], self.state.cell[:, rows])
        return ReadSource(known, state, None if self.visible is None else self.visible[rows])


class RecurrentEncoder(nn.Module):
    """h_j = [→h_j; ←h_j]: an LSTM from left to right, and where asked one from right to left (Bahdanau 2014, section 3.2).

    >>> encoder = RecurrentEncoder(11, RecurrentConfig(dim=5, hidden=7))
    >>> states, last = encoder(torch.ones(2, 3, dtype=torch.long))
    >>> states.shape, last.hidden.shape
    (torch.Size([2, 3, 14]), torch.Size([1, 2, 14]))
    """

    def __init__(self, vocabulary: int, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(vocabulary, config.dim)
        nn.init.normal_(self.tokens.weight, std=config.dim**-0.5)
        between = config.dropout if config.n_layers > 1 else 0.0
        self.lstm = nn.LSTM(
            config.dim, config.hidden, config.n_layers, batch_first=True, dropout=between, bidirectional=config.bidirectional
        )
        self.dropout = nn.Dropout(config.dropout)

    @property
    def width(self) -> int:
        """The size of one annotation h_j."""
        return self.config.hidden * (2 if self.config.bidirectional else 1)

    def forward(
        self, source: Int[Tensor, "batch key"], visible: Bool[Tensor, "batch key"] | None = None
    ) -> tuple[Float[Tensor, "batch key dim"], RecurrentState]:
        """Compute the annotations, and each layer's last states, both directions side by side."""
        embedded = self.dropout(self.tokens(source))
        if visible is None:
            states, (hidden, cell) = _differentiable(self.lstm)(embedded)
        else:
            # Packed with true lengths, the reader from the right starts at the last word and never sees the padding.
            packed = pack_padded_sequence(embedded, visible.sum(1).cpu(), batch_first=True, enforce_sorted=False)
            states, (hidden, cell) = _differentiable(self.lstm)(packed)
            states, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        return self.dropout(states), RecurrentState(self._beside(hidden), self._beside(cell))

    def _beside(self, states: Float[Tensor, "stacked batch hidden"]) -> Float[Tensor, "layer batch dim"]:
        # torch stacks layer 0 forward, layer 0 backward, layer 1 forward, …: every layer's two go side by side, not only
        # the first's.
        layers = states.unflatten(0, (self.config.n_layers, -1))
        return layers.transpose(1, 2).flatten(start_dim=2)


def _differentiable(lstm: nn.LSTM) -> nn.LSTM:
    """Let a card follow an LSTM backwards in evaluation: cuDNN keeps what it needs for that in training alone.

    Without dropout the two compute the same. The weights are those of the LSTM, whose own state other threads see.
    """
    if lstm.training or not torch.is_grad_enabled():
        return lstm
    twin = copy.copy(lstm)
    twin.training, twin.dropout = True, 0.0
    return twin


@dataclass(frozen=True, eq=False)
class Seq2SeqDecoder:
    """A sentence on its way into another language, as `attnviz.nn.decoding` wants it."""

    model: "Seq2Seq"
    source: ReadSource

    def next(self, tokens: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocabulary"], "Seq2SeqDecoder"]:
        """Return the scores of the token after these, and the decoder after this step."""
        seen, state, _ = self.model.step(self.model.tokens(tokens), self.source.state, self.source)
        return self.model.scores(seen[:, None])[:, 0], replace(self, source=replace(self.source, state=state))

    def select(self, rows: Int[Tensor, " row"]) -> "Seq2SeqDecoder":
        """Return some of the rows, in another order or more than once."""
        return replace(self, source=self.source.select(rows))


class Readout(nn.Module):
    """t_i = maxout(U s_i + V E y_{i-1} + C c_i), p(y_i) ∝ exp(E t_i): the deep output of Bahdanau 2014, appendix A.2.2.

    The output words are the input words: W_o is the target embedding E (Press & Wolf 2017, arXiv:1608.05859).
    """

    def __init__(self, inputs: int, vocabulary: int, config: RecurrentConfig) -> None:
        super().__init__()
        self.combine = nn.Linear(inputs, 2 * config.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(
        self, states: Float[Tensor, "batch query inputs"], embedding: Float[Tensor, "vocabulary dim"]
    ) -> Float[Tensor, "batch query vocabulary"]:
        """Compute the scores of all tokens at each step."""
        # Maxout (Goodfellow et al. 2013): of every pair of units, the larger.
        even, odd = self.combine(states).unflatten(-1, (-1, 2)).unbind(dim=-1)
        return F.linear(self.dropout(torch.maximum(even, odd)), embedding, self.bias)


class Seq2Seq(nn.Module):
    """Reads a sentence with one LSTM and writes its translation with another that attends to it.

    Token 0 is padding. A source has no end mark: its words are all there is to attend to.

    >>> model = Seq2Seq(Seq2SeqConfig(11, 13, "additive", RecurrentConfig(dim=5, hidden=7)))
    >>> scores, alignment = model(torch.ones(2, 3, dtype=torch.long), torch.ones(2, 17, dtype=torch.long))
    >>> scores.shape, alignment.shape
    (torch.Size([2, 17, 13]), torch.Size([2, 17, 3]))
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.config = config
        size = config.recurrent
        self.encoder = RecurrentEncoder(config.source_vocabulary, size)
        width = self.encoder.width
        if config.attention == "additive":
            self.attention = AdditiveAttention(size.hidden, width, size.hidden)
        else:
            self.attention = SingleHeadAttention(size.hidden, width, size.hidden, scaled=config.attention == "scaled")
        context = width if config.attention == "additive" else size.hidden
        self.tokens = nn.Embedding(config.target_vocabulary, size.dim)
        nn.init.normal_(self.tokens.weight, std=size.dim**-0.5)
        # Forward and backward states, of every layer, hidden and cell, compressed to the decoder's size.
        self.hidden_bridge = nn.Linear(width, size.hidden)
        self.cell_bridge = nn.Linear(width, size.hidden)
        sizes = [size.dim + context] + [size.hidden] * (size.n_layers - 1)
        self.cells = nn.ModuleList(nn.LSTMCell(inputs, size.hidden) for inputs in sizes)
        self.dropout = nn.Dropout(size.dropout)
        self.readout = Readout(size.hidden + size.dim + context, config.target_vocabulary, size)

    # A row of the alignment is the token that its step writes: attention decides before the token is known.
    row_is_written = True

    @property
    def attentions(self) -> dict[Kind, tuple[nn.Module, ...]]:
        """The attention modules by kind, lowest layer first."""
        return {"cross": (self.attention,)}

    def weights_by_kind(self, alignment: Float[Tensor, "batch query key"]) -> dict[Kind, tuple[Tensor, ...]]:
        """Return the weights of one pass, as of a model of several kinds, layers and heads."""
        return {"cross": (alignment[:, None],)}

    def attended(
        self, source: Int[Tensor, "batch key"], inputs: Int[Tensor, "batch query"]
    ) -> dict[Kind, tuple[Attended, ...]]:
        """Return what the attention of `forward` reads: the state before each step, and the annotations; without padding."""
        read, states = self.read(source), []
        state = read.state
        for embedded in self.tokens(inputs).unbind(dim=1):
            states.append(state.hidden[-1])
            _, state, _ = self.step(embedded, state, read)
        return {"cross": (Attended(self.attention, torch.stack(states, dim=1), self.encoder(source)[0]),)}

    def scores(self, seen: Float[Tensor, "batch query inputs"]) -> Float[Tensor, "batch query vocabulary"]:
        """Compute the scores of the next token, from what `step` gave the readout."""
        return self.readout(seen, self.tokens.weight)

    def read(self, source: Int[Tensor, "batch key"]) -> ReadSource:
        """Everything about a sentence that does not depend on the step: annotations, their keys, the first state."""
        visible = source != 0
        whole = None if bool(visible.all()) else visible
        states, last = self.encoder(source, whole)
        # s_0 = tanh(W ←h_1), appendix A.2.2; here from both directions, and the cell beside it.
        state = RecurrentState(self.hidden_bridge(last.hidden).tanh(), self.cell_bridge(last.cell))
        return ReadSource(self.attention.project(states), state, whole)

    def begin(self, source: Int[Tensor, "batch key"]) -> Seq2SeqDecoder:
        """Read sentences, to translate them token by token."""
        return Seq2SeqDecoder(self, self.read(source))

    def step(
        self, embedded: Float[Tensor, "batch dim"], state: RecurrentState, source: ReadSource, place: int = 0
    ) -> tuple[Float[Tensor, "batch inputs"], RecurrentState, Float[Tensor, "batch key"]]:
        """Take one step, that of the token at `place`: what the readout reads, the next state, and the alignment."""
        # The query is s_{i-1}: where to look is decided before the step, with what has been written so far.
        query = state.hidden[-1][:, None]
        context, weights = self.attention(query, source.annotations, visible=source.visible, start=place)
        inputs = torch.cat([embedded, context[:, 0]], dim=-1)
        states, below = [], inputs
        for layer, cell in enumerate(self.cells):
            states.append(cell(below, (state.hidden[layer], state.cell[layer])))
            below = states[-1][0]
        hidden, cells = zip(*states, strict=True)
        following = RecurrentState(torch.stack(hidden), torch.stack(cells))
        return torch.cat([below, inputs], dim=-1), following, weights[:, 0]

    def forward(
        self,
        source: Int[Tensor, "batch key"],
        inputs: Int[Tensor, "batch query"],
        teacher_forcing: float = 1.0,
        dice: torch.Generator | None = None,
    ) -> tuple[Float[Tensor, "batch query vocabulary"], Float[Tensor, "batch query key"]]:
        """Compute the scores of every next token, given those before it, and the alignment.

        `teacher_forcing` is the share of steps that read the true token; the others read what the model itself would have
        written (Bengio et al. 2015, arXiv:1506.03099). At 0 only the first is given. `dice` draw which; without, PyTorch's own.
        """
        read = self.read(source)
        state, seen, alignment = read.state, [], []
        # Unbound once: an index at every step would cost a tensor of zeros as large as all steps on the way back.
        for index, given in enumerate(self.dropout(self.tokens(inputs)).unbind(dim=1)):
            if index and teacher_forcing < 1 and float(torch.rand((), generator=dice)) >= teacher_forcing:
                with torch.no_grad():
                    own = self.scores(seen[-1][:, None])[:, 0].argmax(dim=-1)
                given = self.dropout(self.tokens(own))
            known, state, weights = self.step(given, state, read, index)
            seen.append(known)
            alignment.append(weights)
        # The vocabulary is not in the recurrence: one product scores all steps.
        return self.scores(torch.stack(seen, dim=1)), torch.stack(alignment, dim=1)
