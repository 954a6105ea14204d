"""A question answerer: what in a passage answers a question, found by attention between the two.

    encode     question and passage through a pretrained encoder: jointly, as one pair, or separately, each on its own
    look       blocks of cross-attention: the passage's tokens are the queries, the question's the keys
    predict    for each token of the passage a start logit and an end logit

Start and end stand over the passage, so its tokens are the queries: those of the question would point into the question.
Encoded jointly, both texts have met in every layer below (Devlin et al. 2019, section 4.2); encoded separately, all that the
passage ever learns of the question comes through the cross-attention, as in Seo et al. 2017, arXiv:1611.01603, section 2.

The logits are absolute: that a passage does not answer is one more choice, whose logit is 0 (Clark & Gardner 2018,
arXiv:1710.10723, section 3.2). So they can be compared between the windows of a long passage, too.
"""

from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnviz.nn.attention import Attended, MultiHeadAttention
from attnviz.nn.encoder import BlockConfig, EncoderBlock, activated


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
