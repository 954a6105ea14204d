"""A forward pass in which all that is not linear is held fixed at its value, so that the model is linear in its embeddings.

Three things stand between a transformer and a linear map: attention weights, the σ of LayerNorm, and the activation of its
feed-forward layers. Each is replaced by what it was in this pass: weights and σ are constants, an activation f(x) is x times
the constant f(x)/x. Outputs stay what they are; the gradient becomes an exact decomposition of them, for a linear function of x
is its gradient times x, and what biases give (Modarressi et al. 2023, arXiv:2306.02873, section 3, their bias aside).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnviz.attribution.passes.tape import open_weights

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

    def _mark(self, made: Tensor) -> Tensor:
        self._activated[id(made)] = made
        return made

    def _product(self, func: Operation, first: Tensor, second: Tensor) -> Tensor:
        """A product of two things that both depend on the text is not linear in it: what gates the other is fixed."""
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
    """Whether a value depends on the text; one that is made of parameters alone does not, though it may have a gradient."""
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


_SOFTMAX = {F.softmax, torch.softmax, Tensor.softmax}
_GATES = {torch.sigmoid, Tensor.sigmoid, F.sigmoid}
_NORMS: dict[Any, Operation] = {
    F.layer_norm: _layer_norm, F.rms_norm: _rms_norm, torch.rsqrt: _rsqrt, Tensor.rsqrt: _rsqrt,
}  # fmt: skip
_ACTIVATIONS = {F.gelu, F.relu, F.silu, torch.relu, Tensor.relu, torch.tanh, Tensor.tanh, F.tanh, F.relu6, F.leaky_relu,
                Tensor.clamp, torch.clamp}  # fmt: skip
_PRODUCTS = {torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__, torch.multiply, Tensor.multiply}
_SUMS = {torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__}
# What autograd calls its operations that are not linear.
_CURVED = frozenset({
    "Cos", "Elu", "Erf", "Exp", "FusedRmsNorm", "Gelu", "Hardswish", "LeakyRelu", "Log", "LogSoftmax", "Mish",
    "NativeGroupNorm",
    "NativeLayerNorm", "Pow", "Relu", "Rsqrt", "Sigmoid", "Silu", "Sin", "Softmax", "Softplus", "Sqrt", "Tanh",
})  # fmt: skip
