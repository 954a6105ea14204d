"""Record what each attention of a pass did, from the operations themselves: weights, values, W_O, the sums around it.

No module is known by name. An attention is a softmax whose result multiplies values; the next linear layer is W_O; what
W_O gave is followed, through norms and factors, to the sum with the residual, which stood there before, and that sum to the
end of the layer. A norm is one of PyTorch's, or x times 1/√(mean of x² + ε), as the models of the hub spell it.

Three things stand between a transformer and a linear map: attention weights, the σ of LayerNorm, and the activation of its
feed-forward layers. Each is replaced by what it was in this pass: weights and σ are constants, an activation f(x) is x times
the constant f(x)/x. Outputs stay what they are; the gradient becomes an exact decomposition of them, for a linear function of x
is its gradient times x, and what biases give (Modarressi et al. 2023, arXiv:2306.02873, section 3, their bias aside).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

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
    """One attention of a pass, and the residual connection around it.

    given   the weights as the pass itself has them, for gradients
    output  W_O, a row an output dimension; None: there is none
    mixed   what W_O gave
    steps   norms and factors that it went through before it was added to the residual
    stream  what it was added to, and the `sum` of both; what a layer adds beside its attention is in `sum` alone
    before  norms since the attention before this one
    after   the norm that read the sum first
    kept    the sum itself goes on, beside what that norm gave
    state   what became of the sum until the next attention: the layer's output
    """

    weights: Float[Tensor, "batch head query key"]
    value: Float[Tensor, "batch head key dim"]
    given: Tensor
    output: Float[Tensor, "out in"] | None = None
    mixed: Float[Tensor, "batch query out"] | None = None
    steps: tuple[Norm | Tensor | float, ...] = ()
    stream: Tensor | None = None
    sum: Tensor | None = None
    before: tuple[Norm, ...] = ()
    after: Norm | None = None
    kept: bool = False
    state: Tensor | None = None

    @property
    def heads(self) -> Float[Tensor, "head query key"]:
        """The weights of a pass over one text."""
        (weights,) = self.weights
        return weights

    def residual(self) -> tuple[Residual, Tensor | None]:
        """Find where the norm stands, and what the attention's output was added to."""
        if self.stream is None or self.mixed is None:
            return "unknown", None
        stream = self.stream.reshape(self.mixed.shape)
        # A norm of its own (OLMo 2) leaves the sum as it is, as one before it does; the first layer of ModernBERT has none.
        own = any(isinstance(step, Norm) for step in self.steps)
        if own or self.kept or any(same(norm.read, self.stream) for norm in self.before):
            return "before", stream
        known = self.after is not None and self.sum is not None and same(self.after.read, self.sum)
        return ("after", stream) if known else ("unknown", None)


def same(one: Tensor, other: Tensor) -> bool:
    """Say whether two tensors have the same numbers, whatever their types."""
    return one is other or (one.shape == other.shape and torch.equal(one.float(), other.float()))


def as_array(values: Tensor) -> np.ndarray:
    """Copy a tensor into NumPy, in double precision."""
    return values.detach().double().cpu().numpy()


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
    # What is known of a tensor, by identity; each is kept alive with it, so that no identity is used twice.
    _known: dict[int, tuple[Tensor, "_Known"]] = field(default_factory=dict)
    # What was made between W_O and the sum with the residual: that is older.
    _recent: dict[int, Tensor] = field(default_factory=dict)
    _n_norms: int = 0

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
        if isinstance(made, Tensor) and args:
            self._follow(func, args, kwargs, made)
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
        before, self._n_norms = tuple(self.norms[self._n_norms :]), len(self.norms)
        self._known, self._recent = {}, {}
        heads = (each[:, None] if each.dim() == 3 else each for each in (weights, value))
        self.attentions.append(Attention(*heads, given=weights, before=before))
        self._awaits_output = True
        return context

    def _follow(self, func: Any, args: Any, kwargs: Any, made: Tensor) -> None:
        """Learn what an operation made of what is known."""
        if self._recent and not any(made is each for each in args):
            self._recent[id(made)] = made
        if func in _LINEAR or (func in _MATMUL and len(args) > 1 and args[1].dim() == 2):
            self._linear(func, args, kwargs.get("weight"), made)
        elif func in _NORM:
            self._norm(func, args, kwargs, made)
        elif func in _POWERS:
            self._power(func, args, made)
        elif func in _MEANS:
            squares = self._of(args[0])
            self._know(made, squares if isinstance(squares, _Squares) else _Mean(args[0]))
        elif func in _DIFFERENCES:
            mean = self._of(args[1])
            if isinstance(mean, _Mean) and mean.of is args[0]:
                self._know(made, _Centred(args[0]))
        elif func in _PRODUCTS:
            self._product(args, made)
        elif func in _SUMS:
            self._sum(args, made)
        elif func in _KEEPS:
            self._know(made, self._of(args[0]))

    def _of(self, value: Any) -> "_Known":
        return self._known.get(id(value), (value, None))[1]

    def _know(self, made: Tensor, known: "_Known") -> None:
        if known is not None:
            self._known[id(made)] = made, known
            if isinstance(known, _State):
                known.attention.state = made

    def _power(self, func: Any, args: Any, made: Tensor) -> None:
        known, power = self._of(args[0]), _POWERS[func] or next(iter(args[1:]), None)
        if isinstance(power, Tensor):
            return
        if power == 2:
            centred = isinstance(known, _Centred)
            self._know(made, _Squares(known.of if isinstance(known, _Centred) else args[0], centred))
        elif power == -0.5 and isinstance(known, _Squares):
            self._know(made, replace(known, inverse=True))

    def _product(self, args: Any, made: Tensor) -> None:
        for first, factor in (args[:2], args[1::-1]):
            known = self._of(first)
            if isinstance(known, _Squares) and known.inverse:
                self._normed(Norm(known.of, made, None, known.eps, known.centred))
            elif isinstance(known, _Norms) and isinstance(factor, Tensor) and factor.dim() == 1:
                self._weigh(known, factor, made)
            elif isinstance(known, _Mixed) and (not isinstance(factor, Tensor) or factor.dim() < 2):
                self._know(made, _Mixed(known.attention, (*known.steps, factor)))
            else:
                continue
            return

    def _sum(self, args: Any, made: Tensor) -> None:
        for first, other in (args[:2], args[1::-1]):
            known = self._of(first)
            known = known.beneath if isinstance(known, _Norms) else known
            if isinstance(known, _Squares) and isinstance(other, int | float):
                self._know(made, replace(known, eps=float(other)))
            elif isinstance(known, _Mixed):
                if isinstance(other, Tensor) and other.shape == made.shape and id(other) not in self._recent:
                    attention, self._recent = known.attention, {}
                    attention.steps, attention.stream, attention.sum = known.steps, other, made
                    self._know(made, _State(attention))
                else:
                    # A bias, or what the layer adds beside its attention.
                    self._know(made, known)
            else:
                continue
            return
        state = next((known for each in args[:2] if isinstance(known := self._of(each), _State | _Norms)), None)
        state = state.beneath if isinstance(state, _Norms) else state
        if isinstance(state, _State):
            state.attention.kept |= state.attention.after is not None and any(each is state.attention.sum for each in args[:2])
            self._know(made, state)

    def _linear(self, func: Any, args: Any, named: Tensor | None, output: Tensor) -> None:
        if not self._awaits_output:
            return
        self._awaits_output = False
        last = self.attentions[-1]
        weight = named if named is not None else args[1] if func is F.linear else args[2 if func is torch.addmm else 1].T
        n_heads, n_queries = last.weights.shape[1:3]
        if weight.shape[1] == n_heads * last.value.shape[3]:
            last.output, last.mixed = weight, output.reshape(-1, n_queries, output.shape[-1])
            self._know(output, _Mixed(last))
            self._recent = {id(output): output}

    def _norm(self, func: Any, args: Any, kwargs: Any, output: Tensor) -> None:
        given = {**dict(zip(("input", "shape", "weight", "bias", "eps"), args, strict=False)), **kwargs}
        # What PyTorch takes for a root mean square norm where none is given; of LayerNorm its default is given.
        eps = torch.finfo(output.dtype).eps if given["eps"] is None else given["eps"]
        self._normed(Norm(given["input"], output, given.get("weight"), eps, centred=func is F.layer_norm))

    def _normed(self, norm: Norm) -> None:
        """Record a norm; what it read goes on in what it gave where that takes its place."""
        beneath = self._of(norm.read)
        if isinstance(beneath, _Mixed):
            beneath = _Mixed(beneath.attention, (*beneath.steps, norm))
        elif isinstance(beneath, _State):
            attention = beneath.attention
            attention.after = attention.after or norm
            beneath = beneath if attention.residual()[0] == "after" else None
        else:
            beneath = None
        self.norms.append(norm)
        self._know(norm.gave, beneath)
        self._know(norm.gave, _Norms(norm, beneath))

    def _weigh(self, known: "_Norms", weight: Tensor, made: Tensor) -> None:
        """Learn the weight of a norm, which is multiplied with afterwards."""
        norm, beneath = replace(known.norm, gave=made, weight=weight), known.beneath
        self.norms[:] = [norm if each is known.norm else each for each in self.norms]
        if isinstance(beneath, _Mixed):
            beneath = _Mixed(beneath.attention, (*beneath.steps[:-1], norm))
        elif isinstance(beneath, _State) and beneath.attention.after is known.norm:
            beneath.attention.after = norm
        self._know(made, beneath)
        self._know(made, _Norms(norm, beneath))


@dataclass(frozen=True, eq=False)
class _Mean:
    """The mean of a state."""

    of: Tensor


@dataclass(frozen=True, eq=False)
class _Centred:
    """A state less its mean."""

    of: Tensor


@dataclass(frozen=True, eq=False)
class _Squares:
    """The squares of a state, or their mean, with ε; `inverse`: 1/√ of it."""

    of: Tensor
    centred: bool
    eps: float = 0.0
    inverse: bool = False


@dataclass(frozen=True, eq=False)
class _Mixed:
    """What W_O of an attention gave, behind some steps."""

    attention: Attention
    steps: tuple[Norm | Tensor | float, ...] = ()


@dataclass(frozen=True, eq=False)
class _State:
    """The sum of an attention and its residual, or what a layer makes of it."""

    attention: Attention


@dataclass(frozen=True, eq=False)
class _Norms:
    """What a norm gave; `beneath`: what it is as well."""

    norm: Norm
    beneath: _Mixed | _State | None


_Known = _Mean | _Centred | _Squares | _Mixed | _State | _Norms | None


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
# The power that an operation takes; 0: it is given.
_POWERS: dict[Any, float] = {
    Tensor.pow: 0, torch.pow: 0, Tensor.__pow__: 0, Tensor.square: 2, torch.square: 2, Tensor.rsqrt: -0.5, torch.rsqrt: -0.5,
}  # fmt: skip
_MEANS = {Tensor.mean, torch.mean}
_DIFFERENCES = {torch.sub, Tensor.sub, Tensor.__sub__}
_KEEPS = {F.dropout, Tensor.to, Tensor.type_as, Tensor.float, Tensor.view, Tensor.reshape, Tensor.contiguous, Tensor.clone}
_PRODUCTS = {torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__, torch.multiply, Tensor.multiply}
_SUMS = {torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__, Tensor.__iadd__, Tensor.add_}


Operation = Callable[..., Any]
# What is made of parameters alone, such as 1 + γ, takes fewer operations than this; what depends on the text soon takes more.
PARAMETERS_ALONE = 12


class Frozen(TorchFunctionMode):
    """Within this context, every pass of this thread has the values that it has, and the gradients of a linear map.

    >>> x = torch.tensor([1.0, 3.0], requires_grad=True)
    >>> with Frozen():
    ...     y = (F.gelu(x) * F.softmax(x, dim=-1)).sum()
    >>> bool(torch.isclose(torch.autograd.grad(y, x)[0] @ x, y))
    True
    """

    def __init__(self) -> None:
        super().__init__()
        # What came out of an activation, by identity; kept alive for the pass, so that no identity is used twice.
        self._activated: dict[int, Tensor] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _SOFTMAX:
            return func(*args, **kwargs).detach()
        if func in _GATES:
            return self._mark(func(*args, **kwargs).detach())
        if func is F.scaled_dot_product_attention:
            # The fused kernel would compute gradients of its scores too, which are not used.
            with torch.no_grad():
                weights = open_weights(*args, **kwargs)
            return weights @ args[2]
        if func in _NORMS:
            return _NORMS[func](*args, **kwargs)
        if func in _ACTIVATIONS:
            return self._mark(_ratio(func, *args, **kwargs))
        if func in _PRODUCTS and isinstance(args[1], Tensor):
            return self._product(func, *args)
        made = func(*args, **kwargs)
        # 1 + tanh(…) is part of an activation as much as tanh(…) is.
        if func in _SUMS and any(id(each) in self._activated for each in args) and not all(map(_moves, args)):
            self._mark(made)
        return made

    def _mark(self, output: Tensor) -> Tensor:
        self._activated[id(output)] = output
        return output

    def _product(self, func: Operation, first: Tensor, second: Tensor) -> Tensor:
        """Multiply; where both factors depend on the text, fix the one that gates the other, so that the product is linear."""
        if not (_moves(first) and _moves(second)):
            made = func(first, second)
            return self._mark(made) if {id(first), id(second)} & self._activated.keys() else made
        if id(first) in self._activated and id(second) not in self._activated:
            return self._mark(func(first.detach(), second))
        if id(second) in self._activated:
            return self._mark(func(first, second.detach()))
        # Neither gates the other, as in a dot product of two texts: half of it is each one's.
        return (func(first.detach(), second) + func(first, second.detach())) / 2


def curved(score: Tensor) -> str:
    """Name an operation on the way to a score that is not linear, and was not held fixed; "" where there is none.

    >>> x = torch.ones(3, requires_grad=True)
    >>> curved((x * 2).sum()), curved(x.exp().sum())
    ('', 'Exp')
    """
    waiting, seen = [score.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        name = type(node).__name__.split("Backward")[0]
        # A custom operation with a backward of its own may compute anything.
        if isinstance(node, torch.autograd.function.BackwardCFunction) or name in _CURVED:
            return name
        waiting += [each for each, _ in node.next_functions]
    return ""


def _moves(value: Any) -> bool:
    """Say whether a value depends on the text; one made of parameters alone does not, though it may have a gradient."""
    if not isinstance(value, Tensor) or not value.requires_grad:
        return False
    if value.grad_fn is None:
        return not isinstance(value, nn.Parameter)
    waiting = [value.grad_fn]
    for _ in range(PARAMETERS_ALONE):
        if not waiting:
            return False
        node = waiting.pop()
        if (leaf := getattr(node, "variable", None)) is not None and not isinstance(leaf, nn.Parameter):
            return True
        waiting += [each for each, _ in node.next_functions if each is not None]
    return bool(waiting)


def _ratio(func: Operation, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """f(x) as x · (f(x)/x), the ratio a constant; where x is 0 its share of f(x) is 0, whatever the ratio."""
    if not _moves(x):
        return func(x, *args, **kwargs)
    with torch.no_grad():
        kwargs.pop("inplace", None)
        ratio = func(x.detach(), *args, **kwargs).div_(x).masked_fill_(x.abs() < 1e-12, 0.0)
    return x * ratio


def _layer_norm(x: Tensor, shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    dims = tuple(range(-len(shape), 0))
    centred = x - x.mean(dim=dims, keepdim=True)
    # σ as a constant; the mean is linear already.
    made = centred * (centred.detach().pow(2).mean(dim=dims, keepdim=True) + eps).rsqrt()
    made = made if weight is None else made * weight
    return made if bias is None else made + bias


def _rms_norm(x: Tensor, shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    made = x * (x.detach().pow(2).mean(dim=tuple(range(-len(shape), 0)), keepdim=True) + eps).rsqrt()
    return made if weight is None else made * weight


def _rsqrt(x: Tensor) -> Tensor:
    # As the models of the hub spell their root mean square.
    return x.detach().rsqrt()


_GATES = {torch.sigmoid, Tensor.sigmoid, F.sigmoid}
_NORMS: dict[Any, Operation] = {
    F.layer_norm: _layer_norm, F.rms_norm: _rms_norm, torch.rsqrt: _rsqrt, Tensor.rsqrt: _rsqrt,
}  # fmt: skip
_ACTIVATIONS = {F.gelu, F.relu, F.silu, torch.relu, Tensor.relu, torch.tanh, Tensor.tanh, F.tanh, F.relu6, F.leaky_relu,
                Tensor.clamp, torch.clamp}  # fmt: skip
# What autograd calls its operations that are not linear.
_CURVED = frozenset({
    "Cos", "Elu", "Erf", "Exp", "FusedRmsNorm", "Gelu", "Hardswish", "LeakyRelu", "Log", "LogSoftmax", "Mish",
    "NativeGroupNorm",
    "NativeLayerNorm", "Pow", "Relu", "Rsqrt", "Sigmoid", "Silu", "Sin", "Softmax", "Softplus", "Sqrt", "Tanh",
})  # fmt: skip
