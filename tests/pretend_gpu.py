"""A graphics card that is none: tensors that say they are on cuda:0, hold their numbers here, and refuse to meet others.

A build without CUDA computes with them: every operation is done on the numbers they hold. What a real card would refuse raises:
an operation on tensors of two devices, a tensor that becomes an array without `.cpu()`, the way back through an LSTM in
evaluation, what does not fit into `CARD.most_bytes`; and after an index out of range the card is lost, and refuses all.

`CARD` counts what is slow on a card: copies from it, and waits for it. What is copied asynchronously comes with a wait.
"""

import dataclasses
import threading
import weakref
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
ASSERTED = "CUDA error: device-side assert triggered"
# Where the indices stand among the arguments of what looks up rows, and the table; and the axis, where it is no argument.
LOOK_UPS = {aten.embedding.default: (1, 0), aten.index_select.default: (2, 0), aten.gather.default: (2, 0)}
WAITS = (aten._local_scalar_dense.default, aten.nonzero.default, aten.masked_select.default, aten.equal.default)


@dataclasses.dataclass
class State:
    """What happens on the card.

    copies      of each copy from it: the type, the bytes, and whether it is asynchronous
    waits       how often this machine waited for it
    most_bytes  that it has room for; None: for all
    """

    copies: list[tuple[torch.dtype, int, bool]] = dataclasses.field(default_factory=list)
    waits: int = 0
    most_bytes: int | None = None
    is_lost: bool = False
    live: "weakref.WeakSet[OnTheCard]" = dataclasses.field(default_factory=weakref.WeakSet)
    pinned: "weakref.WeakValueDictionary[int, Tensor]" = dataclasses.field(default_factory=weakref.WeakValueDictionary)
    pending: list[tuple[Tensor, Tensor]] = dataclasses.field(default_factory=list)

    def wait(self) -> None:
        """Wait until all that was begun is done."""
        self.waits += 1
        for target, numbers in self.pending:
            target.copy_(numbers)
        self.pending.clear()

    def live_bytes(self) -> int:
        return sum(each.held.nbytes for each in list(self.live))

    def synchronize(self) -> None:
        """Wait, as for a stream."""
        self.wait()


CARD = State()


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
        if CARD.most_bytes is not None and CARD.live_bytes() + held.nbytes > CARD.most_bytes:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate more than there is.")
        CARD.live.add(made)
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function whose C++ sees no device, for it would ask for a card's own guard; `.device` says where it is."""
        if func is Tensor.tolist:
            CARD.wait()
            return args[0].held.tolist()
        if getattr(func, "__self__", None) is Tensor.device:
            return DEVICE
        if func in (Tensor.__getitem__, Tensor.__setitem__):
            args = (args[0], _indices(args[1]), *args[2:])
        outer = getattr(CALL, "runs", False)
        CALL.runs = True
        try:
            with torch._C.DisableTorchFunctionSubclass():
                made = func(*args, **(kwargs or {}))
                return _without_way_back(made) if _is_evaluated_lstm(func, args) else made
        finally:
            CALL.runs = outer

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # pyrefly: ignore[bad-override]
        return compute(func, args, kwargs or {})


def _is_evaluated_lstm(func: Any, args: Any) -> bool:
    """Whether this is an LSTM whose backward pass cuDNN refuses."""
    if getattr(func, "__name__", "") != "lstm" or not torch.backends.cudnn.enabled:
        return False
    # Of a packed text the lengths stand before the states.
    return not args[7 if isinstance(args[1], Tensor) else 6] and torch.is_grad_enabled()


class _Refusing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor) -> Tensor:
        return states.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError("cudnn RNN backward can only be called in training mode")


def _without_way_back(made: Any) -> Any:
    return tuple(_Refusing.apply(each) if each.requires_grad else each for each in made)


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
    if CARD.is_lost:
        raise RuntimeError(ASSERTED)
    tensors, wanted = _tensors([*args, *kwargs.values()]), kwargs.get("device")
    here = [each for each in tensors if not isinstance(each, OnTheCard) and each.ndim]
    there = [each for each in tensors if isinstance(each, OnTheCard)]
    if there and operation in LOOK_UPS:
        _check_indices(operation, args)
    if there and operation in WAITS:
        CARD.wait()
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
    is_pinned = held_kwargs.pop("pin_memory", None)
    if is_copy and not lands and there and (later := _copied(operation, args, kwargs)) is not None:
        return later
    if operation is aten._thnn_fused_lstm_cell.default:
        made = lstm_cell(*held_args, **held_kwargs)
    elif operation is aten._thnn_fused_lstm_cell_backward_impl.default:
        made = lstm_cell_backward(*held_args, **held_kwargs)
    else:
        made = operation(*held_args, **held_kwargs)
    if operation._schema.name.endswith("_") and isinstance(args[0], Tensor):
        return args[0]
    if not lands:
        if is_pinned:
            CARD.pinned[made.data_ptr()] = made
        return made
    return _changed(made, lambda each: OnTheCard(each) if isinstance(each, Tensor) else each)


def _check_indices(operation: Any, args: Any) -> None:
    places, table = LOOK_UPS[operation]
    size = _held(args[table]).shape[0 if operation is aten.embedding.default else args[1]]
    indices = _held(args[places])
    if indices.numel() and not 0 <= int(indices.min()) <= int(indices.max()) < size:
        CARD.is_lost = True
        raise RuntimeError(ASSERTED)


def _copied(operation: Any, args: Any, kwargs: dict[str, Any]) -> Tensor | None:
    """Note a copy from the card; into pinned memory, and asynchronously, its numbers come with the next wait."""
    target, source = (args[0], args[1]) if operation is aten.copy_.default else (None, args[0])
    asked = bool(kwargs.get("non_blocking", args[2] if operation is aten.copy_.default and len(args) > 2 else False))
    later = asked and target is not None and target.untyped_storage().data_ptr() in CARD.pinned
    CARD.copies.append((source.dtype, source.held.nbytes, later))
    if not later:
        CARD.wait()
        return None
    CARD.pending.append((target, source.held.clone()))
    return target.fill_(float("nan") if target.is_floating_point() else 0)


def lstm_cell_backward(
    hidden: Tensor | None, after: Tensor | None, cell: Tensor, new_cell: Tensor, whole: Tensor, has_bias: bool
) -> Any:
    """Compute the gradients of `lstm_cell`."""
    taken, forgotten, candidate, shown = whole.chunk(4, dim=-1)
    taken, forgotten, candidate, shown = taken.sigmoid(), forgotten.sigmoid(), candidate.tanh(), shown.sigmoid()
    out = new_cell.tanh()
    by_hidden = torch.zeros_like(cell) if hidden is None else hidden
    by_cell = (0 if after is None else after) + by_hidden * shown * (1 - out**2)
    gates = torch.cat(
        [
            by_cell * candidate * taken * (1 - taken),
            by_cell * cell * forgotten * (1 - forgotten),
            by_cell * taken * (1 - candidate**2),
            by_hidden * out * shown * (1 - shown),
        ],
        dim=-1,
    )
    return gates, by_cell * forgotten, gates.sum(dim=0) if has_bias else torch.zeros(0)


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
    CARD.__init__()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(torch.cuda, "_lazy_init", lambda: None)
        patched.setattr(torch.cuda, "is_initialized", lambda: True)
        patched.setattr(torch.cuda, "empty_cache", lambda: None)
        patched.setattr(torch.cuda, "current_stream", lambda device=None: CARD)
        # Tensors made in inference have no version, and cannot be wrapped.
        patched.setattr(torch, "inference_mode", lambda mode=True: torch.no_grad())
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
