"""One score decomposed over pairs of tokens: one that contributed to the query, and one to the key."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnviz.analysis.compute.score_pairs import PairShares
from attnviz.attribution.passes.freezing import Frozen, curved
from attnviz.core.cancellation import cancellation_point
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import capabilities
from attnviz.models.targets import BoundTarget
from attnviz.nn.attention import Attended

MOST_TOKENS = 128


@dataclass(frozen=True)
class Cell:
    """One cell of one head: its row and column among the head's own queries and keys."""

    kind: str
    layer: int
    head: int
    query: int
    key: int


def why(model: AttentionModel, prompt: Prompt, cell: Cell) -> PairShares:
    """Decompose the score of one cell over the tokens that were typed, everything below it held fixed (`Frozen`).

    Raises:
        ModelError: the text is too long, or the queries and keys of this head are not known.
        PromptError: the model cannot read the prompt.
    """
    bound = capabilities(model).bind_trace(prompt)
    if len(bound.tokens) > MOST_TOKENS:
        raise ModelError(
            f"A score is decomposed for at most {MOST_TOKENS} tokens, and this text has {len(bound.tokens)}: type less."
        )
    attention: Any = _attended(model, prompt, bound, cell).attention
    width = attention.query.out_features // model.card.n_heads
    own = slice(cell.head * width, (cell.head + 1) * width)
    vectors = bound.embedded()[None].requires_grad_()
    with torch.enable_grad(), Frozen(), _Inputs((attention.query.weight, attention.key.weight)) as inputs:
        bound.outcome_of(vectors)
    sides = []
    for layer, place, read in zip((attention.query, attention.key), (cell.query, cell.key), inputs.read, strict=True):
        if [place < states.shape[1] for states in read] != [True]:
            raise ModelError("This head reads each text on its own, and its scores cannot be decomposed: choose another head.")
        (states,) = read
        with torch.enable_grad():
            (made,) = F.linear(states[:, place], layer.weight[own], layer.bias[own])
        sides.append(_parts(made, vectors))
    values = (attention.scaling or width**-0.5) * sides[0] @ sides[1].T
    return PairShares(bound.tokens, values, float(values.sum()))


def _parts(made: Float[Tensor, " dim"], vectors: Float[Tensor, "one token dim2"]) -> Float[np.ndarray, "giver dim"]:
    """Decompose a vector into what each token contributes, and in the last row the rest."""
    whole = made.detach().double()
    if not made.requires_grad:
        return np.concatenate([np.zeros((vectors.shape[1], len(whole))), whole[None].cpu().numpy()])
    if name := curved(made.sum()):
        raise ModelError(f"This model computes with an operation that cannot be held fixed ({name}): choose another model.")
    columns = []
    for number in made:
        cancellation_point()
        (gradient,) = torch.autograd.grad(number, vectors, retain_graph=True, allow_unused=True)
        # Of a model that can still learn, what a decoder has written itself depends on no token, and yet has a gradient.
        (shares,) = (torch.zeros_like(vectors) if gradient is None else gradient * vectors).sum(dim=-1)
        columns.append(shares)
    given = torch.stack(columns, dim=1).detach().double()
    return torch.cat([given, (whole - given.sum(dim=0))[None]]).cpu().numpy()


@dataclass(eq=False)
class _Inputs(TorchFunctionMode):
    """Record the inputs of some linear layers; GPT-2 multiplies by the matrices of several at once."""

    weights: tuple[Tensor, ...]
    read: tuple[list[Tensor], ...] = field(init=False)

    def __post_init__(self) -> None:
        super().__init__()
        self.read = tuple([] for _ in self.weights)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (F.linear, torch.addmm):
            states, matrix = args[:2] if func is F.linear else args[1:3]
            for weight, read in zip(self.weights, self.read, strict=True):
                if matrix.data_ptr() <= weight.data_ptr() < matrix.data_ptr() + matrix.nbytes:
                    read.append(states if states.dim() == 3 else states[None])
        return func(*args, **(kwargs or {}))


def _attended(model: AttentionModel, prompt: Prompt, bound: BoundTarget, cell: Cell) -> Attended:
    """Find the module of a head: its W_Q and W_K."""
    kinds = capabilities(model).attended(prompt) if bound.layered else {}
    layers = next((layers for kind, layers in kinds.items() if kind == cell.kind), ())
    if not 0 <= cell.layer < len(layers) or not 0 <= cell.head < model.card.n_heads:
        raise ModelError(
            f"The queries and keys of L{cell.layer}·H{cell.head} of {model.card.name} are not known: choose another head."
        )
    return layers[cell.layer]
