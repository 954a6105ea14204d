"""Where the layers of a Hugging Face model keep W_Q, W_K and W_V, and what they multiply with them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

# As BERT names them, and as DistilBERT does.
_NAMES = (("query", "key", "value"), ("q_lin", "k_lin", "v_lin"))


@dataclass(frozen=True, eq=False)
class QKVLayer:
    """One layer: its three linear layers by the names `query`, `key` and `value`, and what it makes of its states first."""

    attention: nn.Module
    enter: Callable[[Tensor], Tensor]


class QKVProjection(nn.Module):
    """Three linear layers under the names that attnviz gives them."""

    def __init__(self, query: nn.Linear, key: nn.Linear, value: nn.Linear) -> None:
        super().__init__()
        self.query, self.key, self.value = query, key, value


def qkv_layers(model: nn.Module) -> tuple[QKVLayer, ...]:
    """List the layers of a model of one stack, lowest first; none of a family that is not known here."""
    return tuple(reads for module in model.modules() if (reads := _layer(module)) is not None)


def _layer(module: Any) -> QKVLayer | None:
    for names in _NAMES:
        linears = [getattr(module, name, None) for name in names]
        if all(isinstance(each, nn.Linear) for each in linears):
            return QKVLayer(QKVProjection(*linears), lambda states: states)  # pyright: ignore[reportArgumentType]
    joined = getattr(getattr(module, "attn", None), "c_attn", None)
    if isinstance(joined, Conv1D) and joined.weight.shape[1] == 3 * joined.weight.shape[0]:
        return QKVLayer(_divided(joined), module.ln_1)
    return None


def _divided(joined: Conv1D) -> QKVProjection:
    """GPT-2 has W_Q, W_K and W_V side by side in one matrix, which stands the other way round than a linear layer's."""
    pieces = zip(joined.weight.T.chunk(3), joined.bias.chunk(3), strict=True)
    return QKVProjection(*(_linear(weight, bias) for weight, bias in pieces))


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """Make a linear layer of these very numbers, without a copy."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    layer.weight, layer.bias = nn.Parameter(weight, requires_grad=False), nn.Parameter(bias, requires_grad=False)
    return layer
