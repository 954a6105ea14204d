"""Where models compute, how large they may be there, and what a graphics card would not survive."""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnviz import memory, settings
from attnviz.core.errors import ModelError, failing_as

CPU_PARAMETERS = 1_500_000_000
# Of the memory that is left, the share that float32 weights may take: the rest is for what is computed with them.
SHARE = 0.7
# Devices that refuse by themselves to look for a row that a table does not have.
REFUSING = ("cpu", "meta")
# Bytes of one piece of memory that may be fixed in its place.
MOST_PINNED = 2**30
# The least and the largest number of each look-up of a pass, still on the card, and how many rows its table has.
_lookups: ContextVar[list[tuple[Tensor, int]] | None] = ContextVar("attnviz_lookups", default=None)


def choose() -> torch.device:
    """CUDA where there is one, then Apple's MPS, then the CPU; the environment variable ATTNVIZ_DEVICE overrides.

    On CUDA, LSTMs and convolutions compute in whole float32 from then on, as they do on a CPU.

    Raises:
        ModelError: ATTNVIZ_DEVICE names a device that this machine does not have.
    """
    device = _first()
    if device.type == "cuda":
        # cuDNN rounds their factors to TF32 unless it is told otherwise: an LSTM's alignments were off by 5e-4.
        torch.backends.cudnn.allow_tf32 = False
    return device


def _first() -> torch.device:
    if wanted := settings.text("ATTNVIZ_DEVICE"):
        return _checked(wanted)
    if torch.cuda.is_available():
        return torch.device("cuda:0")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def max_parameters(n_bytes: int = 4) -> int:
    """Return how many parameters of so many bytes a model may have, as its device has room for it now.

    ATTNVIZ_MAX_PARAMETERS overrides.
    """
    if limit := settings.number("ATTNVIZ_MAX_PARAMETERS"):
        return limit
    device = choose()
    if device.type == "cuda":
        # Other models, and other programs, may be there already.
        free, _ = torch.cuda.mem_get_info(device)
        return int(free * SHARE / n_bytes)
    held = memory.read()
    return min(CPU_PARAMETERS, int(held.free * SHARE / n_bytes)) if held else CPU_PARAMETERS


def choose_dtype(stored: torch.dtype | None) -> torch.dtype:
    """Choose what a model computes in: on a card the type that its weights are stored in, else float32.

    ATTNVIZ_DTYPE overrides: some processors compute sixteen bits faster, others slower.

    Raises:
        SettingError: ATTNVIZ_DTYPE names no type.
    """
    if wanted := settings.text("ATTNVIZ_DTYPE"):
        return getattr(torch, wanted)
    sixteen = stored in (torch.bfloat16, torch.float16)
    return stored if stored and sixteen and choose().type == "cuda" else torch.float32


@contextmanager
def computing(sentence: str) -> Iterator[None]:
    """Let a model compute: whatever it does wrong is that sentence, and a card is left as it was.

    Raises:
        ModelError: with the sentence; or the model looked for a row that its tables do not have.
        MemoryError: the text does not fit; nothing of it stays on the card.
        LostCardError: the card has stopped.
    """
    try:
        with failing_as(ModelError, sentence), checked_lookups():
            yield
    except MemoryError:
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        raise


def to_host(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """Copy tensors to this machine as float32: from a card in the type that was computed, with a single wait for all."""
    return [own_array(copy) for copy in copy_to_host(tensors)]


def copy_to_host(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Copy tensors to this machine as they are, with a single wait for all."""
    cards = {tensor.device for tensor in tensors if tensor.device.type == "cuda"}
    copies = [_begun_copy(tensor.detach()) for tensor in tensors]
    for card in cards:
        torch.cuda.current_stream(card).synchronize()
    return copies


def room_for_copy(shape: Sequence[int], dtype: torch.dtype = torch.float32) -> Tensor:
    """Make room for a copy from a card: memory that stays where it is, unless there is much of it."""
    return torch.empty(shape, dtype=dtype, pin_memory=math.prod(shape) * dtype.itemsize <= MOST_PINNED)


def _begun_copy(tensor: Tensor) -> Tensor:
    if tensor.device.type != "cuda":
        return tensor.cpu()
    # Only into memory that stays where it is can a card copy while this machine goes on.
    return room_for_copy(tensor.shape, tensor.dtype).copy_(tensor, non_blocking=True)


def own_array(tensor: Tensor) -> np.ndarray:
    """Return the tensor as float32 in memory that holds nothing else: a view would keep alive what it was cut from."""
    tensor = tensor.float()
    if tensor.untyped_storage().nbytes() > tensor.numel() * tensor.element_size():
        tensor = tensor.clone(memory_format=torch.contiguous_format)
    return tensor.numpy()


def guard_lookups(model: nn.Module) -> None:
    """Let the tables of a model never look for a row that they do not have: a card would never compute again."""
    for module in model.modules():
        kind = type(module)
        is_table = isinstance(module, nn.Embedding) or (
            # Such as I-BERT's, which is no `nn.Embedding`.
            "Embedding" in kind.__name__ and any(each.ndim == 2 for each in module.parameters(recurse=False))
        )
        if is_table and not isinstance(module, _Guarded):
            object.__setattr__(module, "__class__", _guarded(kind))


@contextmanager
def checked_lookups() -> Iterator[None]:
    """Check all look-ups of a pass on a card once it has ended, with a single wait; outside, each is checked at once.

    Raises:
        ModelError: the model looked for a row that its tables do not have.
    """
    if _lookups.get() is not None:
        yield
        return
    seen: list[tuple[Tensor, int]] = []
    token = _lookups.set(seen)
    try:
        yield
    finally:
        _lookups.reset(token)
    _check(seen)


class _Guarded(nn.Module):
    """A table of vectors; on a processor it refuses by itself what it does not have."""

    def forward(self, *given: Any, **named: Any) -> Any:
        tables: dict[str, Any] = self._parameters
        if next(iter(tables.values())).device.type not in REFUSING:
            with _Lookups():
                return super().forward(*given, **named)
        try:
            return super().forward(*given, **named)
        except IndexError as error:
            raise _no_such_row() from error


@cache
def _guarded(kind: type[nn.Module]) -> type[nn.Module]:
    return type(kind.__name__, (_Guarded, kind), {"__module__": kind.__module__})


class _Lookups(TorchFunctionMode):
    """Within this context, a look-up stays within its table, and is noted."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.embedding and args[0].numel():
            numbers, table, *rest = args
            lookup = torch.stack(torch.aminmax(numbers)), len(table)
            if (seen := _lookups.get()) is None:
                _check([lookup])
            else:
                seen.append(lookup)
            args = (numbers.clamp(0, len(table) - 1), table, *rest)
        return func(*args, **(kwargs or {}))


def _check(seen: list[tuple[Tensor, int]]) -> None:
    # A model may be spread over several cards.
    for device in {numbers.device for numbers, _ in seen}:
        here = [(numbers, n_rows) for numbers, n_rows in seen if numbers.device == device]
        ranges = torch.cat([numbers for numbers, _ in here]).view(-1, 2).tolist()
        if any(low < 0 or high >= n_rows for (low, high), (_, n_rows) in zip(ranges, here, strict=True)):
            raise _no_such_row()


def _no_such_row() -> ModelError:
    return ModelError(
        "The model looks for a piece or a place that its tables do not have: its tokenizer or its settings do not belong to "
        "it; choose another model, or a shorter text."
    )


def _checked(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise ModelError(
            f"ATTNVIZ_DEVICE names {name!r}, which this machine does not have; set it to cpu, or unset it."
        ) from None
    return torch.device("cuda:0") if name == "cuda" else device


def share_cores(n_workers: int) -> None:
    """Leave every one of `n_workers` threads that run models at once its share of the cores.

    Threads of one operation wait for each other: on two busy cores a trace of 16 tokens took 580 ms on two threads, 90 ms on
    one.
    """
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // n_workers))


def use_one_core() -> None:
    """Let operations of this thread run on one core: products as small as a toy's gain nothing from two."""
    torch.set_num_threads(1)
