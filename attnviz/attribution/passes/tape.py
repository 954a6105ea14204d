"""Record what each attention of a pass did, from the operations themselves: weights, values, W_O, the sums around it.

No module is known by name. An attention is a softmax whose result multiplies values; the next linear layer is W_O; what
W_O gave is added to the residual and normalized, or normalized later. Which of the two is measured: the sum that the next norm
reads is compared with what the norm before the attention read, and gave.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnviz.core.row_sums import rounding_of

# Where LayerNorm stands: after the sum with the residual (Vaswani et al. 2017), before the attention (Xiong et al. 2020), or
# nowhere that is known here.
Residual = Literal["after", "before", "unknown"]


@dataclass(frozen=True, eq=False)
class Norm:
    """One LayerNorm or root mean square norm of a pass: what it read, what it gave, and the factor that it gave it with."""

    read: Tensor
    gave: Tensor
    weight: Tensor | None
    eps: float
    centred: bool


@dataclass(eq=False)
class Attention:
    """One attention of a pass. `mixed` is what it adds to the residual; `before` and `after` the norms on either side.

    given   the weights as the pass itself has them, for gradients
    output  W_O, a row an output dimension; None: there is none
    """

    weights: Float[Tensor, "batch head query key"]
    value: Float[Tensor, "batch head key dim"]
    given: Tensor
    output: Float[Tensor, "out in"] | None = None
    mixed: Float[Tensor, "batch query out"] | None = None
    before: Norm | None = None
    after: Norm | None = None

    @property
    def heads(self) -> Float[Tensor, "head query key"]:
        """The weights of a pass over one text."""
        (weights,) = self.weights
        return weights

    def residual(self) -> tuple[Residual, Tensor | None]:
        """Find where the norm stands, and what the attention's output was added to."""
        if self.after is None or self.mixed is None or self.after.read.shape != self.mixed.shape:
            return "unknown", None
        stream = self.after.read - self.mixed
        if self.before is not None and self.before.read.shape == stream.shape:
            # The sum was rounded to the type of the pass, and so was what is taken from it again.
            rounding = 4 * rounding_of(self.mixed.dtype)
            close = {"rtol": 1e-4, "atol": max(1e-4, rounding * float(self.after.read.abs().max()))}
            if torch.allclose(stream, self.before.read, **close):
                return "before", stream
            if torch.allclose(stream, self.before.gave, **close):
                return "after", stream
        return "unknown", None


class Stop(BaseException):
    """End a pass early; no Exception, which code on the way might catch and explain."""


@dataclass(eq=False)
class AttentionTape(TorchFunctionMode):
    """Within this context, every attention of this thread's pass is recorded, and computed step by step.

    change    called with the place and the values of an attention before it mixes them: it may give others
    """

    change: Callable[[int, Tensor], Tensor] | None = None
    attentions: list[Attention] = field(default_factory=list)
    norms: list[Norm] = field(default_factory=list)
    _weights: dict[int, Tensor] = field(default_factory=dict)
    _awaits_output: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            weights = self._mark(open_weights(*args, **kwargs))
            return self._attend(weights, args[2], weights @ self._changed(args[2]))
        if func in _SOFTMAX:
            return self._mark(func(*args, **kwargs))
        if func in _MATMUL and id(args[0]) in self._weights:
            return self._attend(args[0], args[1], func(args[0], self._changed(args[1])))
        made = func(*args, **kwargs)
        if func in _KEEPS_WEIGHTS and id(args[0]) in self._weights:
            self._mark(made)
        elif func in _LINEAR:
            self._linear(func, args, made)
        elif func in _NORM:
            self._norm(func, args, kwargs, made)
        return made

    def _mark(self, weights: Tensor) -> Tensor:
        if torch.is_grad_enabled() and not weights.requires_grad:
            # No token is among what these look at, and yet the output may depend on where they look.
            weights.requires_grad_()
        self._weights[id(weights)] = weights
        return weights

    def _changed(self, value: Tensor) -> Tensor:
        return value if self.change is None else self.change(len(self.attentions), value)

    def _attend(self, weights: Tensor, value: Tensor, context: Tensor) -> Tensor:
        before = self.norms[-1] if self.norms else None
        heads = (each[:, None] if each.dim() == 3 else each for each in (weights, value))
        self.attentions.append(Attention(*heads, given=weights, before=before))
        self._awaits_output = True
        return context

    def _linear(self, func: Any, args: Any, made: Tensor) -> None:
        if not self._awaits_output:
            return
        self._awaits_output = False
        last = self.attentions[-1]
        weight = args[1] if func is F.linear else args[2].T
        n_heads, n_queries = last.weights.shape[1:3]
        if weight.shape[1] == n_heads * last.value.shape[3]:
            last.output, last.mixed = weight, made.reshape(-1, n_queries, made.shape[-1])

    def _norm(self, func: Any, args: Any, kwargs: Any, made: Tensor) -> None:
        given = {**dict(zip(("input", "shape", "weight", "bias", "eps"), args, strict=False)), **kwargs}
        # What PyTorch takes for a root mean square norm where none is given; of LayerNorm its default is given.
        eps = torch.finfo(made.dtype).eps if given["eps"] is None else given["eps"]
        norm = Norm(given["input"], made, given.get("weight"), eps, centred=func is F.layer_norm)
        if self.attentions and self.attentions[-1].after is None:
            self.attentions[-1].after = norm
        self.norms.append(norm)


def open_weights(query: Tensor, key: Tensor, value: Tensor, *given: Any, **options: Any) -> Tensor:
    """softmax(scale · Q Kᵀ + mask), which the fused kernel does not return."""
    options |= dict(zip(("attn_mask", "dropout_p", "is_causal", "scale"), given, strict=False))
    attn_mask, scale = options.get("attn_mask"), options.get("scale")
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if options.get("is_causal"):
        attn_mask = torch.ones_like(scores, dtype=torch.bool).tril()
    if attn_mask is None:
        return scores.softmax(dim=-1)
    if attn_mask.dtype == torch.bool:
        # A query that sees nothing has no weights at all.
        seen = attn_mask.any(dim=-1, keepdim=True)
        return scores.masked_fill(~attn_mask, -torch.inf).masked_fill(~seen, 0).softmax(dim=-1) * seen
    return (scores + attn_mask).softmax(dim=-1)


_SOFTMAX = {F.softmax, torch.softmax, Tensor.softmax}
_MATMUL = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm}
_KEEPS_WEIGHTS = {F.dropout, Tensor.masked_fill, torch.masked_fill, Tensor.to, Tensor.type_as, Tensor.nan_to_num,
                  Tensor.__getitem__}  # fmt: skip
_LINEAR = {F.linear, torch.addmm}
_NORM = {F.layer_norm, F.rms_norm}
