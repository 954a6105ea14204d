"""A graphics card that is none: tensors that say they are on cuda:0, hold their numbers here, and refuse to meet others.

A build without CUDA computes with them: every operation is done on the numbers they hold. What a real card would refuse raises:
an operation on tensors of two devices, and a tensor that becomes an array without `.cpu()`.
"""

import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

DEVICE = torch.device("cuda", 0)
CALL = threading.local()
aten = torch.ops.aten


class OnTheCard(Tensor):
    """A tensor of the pretended device; `held` are its numbers, on the CPU."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> "OnTheCard":
        made = Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype,
            device="meta", dispatch_device=True, requires_grad=held.requires_grad,
        )  # fmt: skip
        made.held = held
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function whose C++ sees no device, for it would ask for a card's own guard; `.device` says where it is."""
        if func is Tensor.tolist:
            return args[0].held.tolist()
        if getattr(func, "__self__", None) is Tensor.device:
            return DEVICE
        if func in (Tensor.__getitem__, Tensor.__setitem__):
            args = (args[0], _indices(args[1]), *args[2:])
        outer = getattr(CALL, "runs", False)
        CALL.runs = True
        try:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        finally:
            CALL.runs = outer

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # pyrefly: ignore[bad-override]
        return compute(func, args, kwargs or {})


def _indices(index: Any) -> Any:
    """Replace lists of places by tensors on the card, as indexing there does."""
    if isinstance(index, tuple):
        return tuple(map(_indices, index))
    return OnTheCard(torch.as_tensor(index)) if isinstance(index, list) else index


def _tensors(value: Any) -> list[Tensor]:
    """All tensors among arguments, also in lists."""
    if isinstance(value, list | tuple):
        return [tensor for each in value for tensor in _tensors(each)]
    return [value] if isinstance(value, Tensor) else []


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change every argument or result, also those in lists: PyTorch's own `tree_map` took most of the time of these tests."""
    return type(value)([_changed(each, change) for each in value]) if isinstance(value, list | tuple) else change(value)


def _held(value: Any) -> Any:
    return value.held if isinstance(value, OnTheCard) else value


def compute(operation: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Do an operation where its tensors, or its `device`, say that it is done."""
    if operation is torch.ops.prim.device.default:
        return torch.device("meta") if getattr(CALL, "runs", False) else DEVICE
    tensors, wanted = _tensors([*args, *kwargs.values()]), kwargs.get("device")
    here = [each for each in tensors if not isinstance(each, OnTheCard) and each.ndim]
    there = [each for each in tensors if isinstance(each, OnTheCard)]
    is_copy = operation in (aten._to_copy.default, aten.copy_.default)
    # An index may lie on the CPU, whatever it picks from.
    picks = operation in (aten.index.Tensor, aten.index_put_.default, aten.index_put.default, aten._index_put_impl_.default)
    if here and there and not is_copy and not picks:
        raise RuntimeError(f"{operation} on tensors of two devices, cpu and {DEVICE}")
    if operation is aten._pack_padded_sequence.default and isinstance(args[1], OnTheCard):
        raise RuntimeError("lengths of padded sequences belong on the CPU, whatever they are lengths of")
    # Where C++ asks a tensor for its device, it is told "meta".
    lands = torch.device(wanted).type in ("cuda", "meta") if wanted is not None else bool(there)
    if operation is aten.copy_.default:
        lands = isinstance(args[0], OnTheCard)
    held_args, held_kwargs = _changed(args, _held), {name: _changed(value, _held) for name, value in kwargs.items()}
    if wanted is not None:
        held_kwargs["device"] = torch.device("cpu")
    held_kwargs.pop("pin_memory", None)
    if operation is aten._thnn_fused_lstm_cell.default:
        made = lstm_cell(*held_args, **held_kwargs)
    else:
        made = operation(*held_args, **held_kwargs)
    if operation._schema.name.endswith("_") and isinstance(args[0], Tensor):
        return args[0]
    if not lands:
        return made
    return _changed(made, lambda each: OnTheCard(each) if isinstance(each, Tensor) else each)


def lstm_cell(gates: Tensor, hidden_gates: Tensor, cell: Tensor, bias: Tensor | None, hidden_bias: Tensor | None) -> Any:
    """Compute what the card's own kernel computes: Hochreiter & Schmidhuber 1997, with a forget gate."""
    whole = gates + hidden_gates + (0 if bias is None else bias) + (0 if hidden_bias is None else hidden_bias)
    taken, forgotten, candidate, shown = whole.chunk(4, dim=-1)
    after = forgotten.sigmoid() * cell + taken.sigmoid() * candidate.tanh()
    return shown.sigmoid() * after.tanh(), after, whole


class Card(TorchDispatchMode):
    """While it is entered, what is made on cuda:0 is on the card."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(func, args, kwargs or {})


@contextmanager
def pretend_gpu() -> Iterator[None]:
    """Let this machine seem to have one graphics card."""
    tensor = torch.tensor
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(torch.cuda, "_lazy_init", lambda: None)
        # Tensors made in inference have no version, and cannot be wrapped.
        patched.setattr(torch, "inference_mode", torch.no_grad)
        # What `torch.tensor` does on a device no mode sees.
        patched.setattr(torch, "tensor", lambda data, *, device=None, **options: tensor(data, **options).to(device or "cpu"))
        with Card():
            yield


def move(model: Any) -> None:
    """Move every module that a model holds to the card; weights that several modules share stay shared."""
    for value in vars(model).values():
        if isinstance(value, torch.nn.Module):
            moved: dict[int, Tensor] = {}
            for module in value.modules():
                _move(module._parameters, moved)
                _move(module._buffers, moved)
        elif dataclasses.is_dataclass(value):
            move(value)


def _move(tensors: dict[str, Any], moved: dict[int, Tensor]) -> None:
    for name, tensor in tensors.items():
        if tensor is None or isinstance(tensor, OnTheCard):
            continue
        if id(tensor) not in moved:
            there = OnTheCard(tensor.detach())
            parameter = isinstance(tensor, torch.nn.Parameter)
            moved[id(tensor)] = torch.nn.Parameter(there, tensor.requires_grad) if parameter else there
        tensors[name] = moved[id(tensor)]
