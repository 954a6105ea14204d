"""Where models compute, how large they may be there, what a graphics card would not survive; and attention computed on one.

The vectors of such a pass lie on this machine; weights of long texts are computed on the card again. What crosses is as little
as there is to read: vectors in the type that the card computed, and the weights that are asked for.
"""

import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, overload

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnviz import memory, settings
from attnviz.core.errors import ModelError, failing_as
from attnviz.core.weights import SLAB_CELLS, LayerWeights, QueryKeyLayer, QueryKeyWeights, Slab, Weights, frozen

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
def own_types() -> Iterator[None]:
    """Let models compute in the type of their weights and where these lie, also within a user's `torch.autocast` or device."""
    with ExitStack() as stack:
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        for kind in ("cpu", "cuda", "mps"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        yield


_SEEDING = threading.Lock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let chance begin with a seed, and be as it was afterwards; the process has one generator, so one thread at a time."""
    with _SEEDING, torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        yield


@contextmanager
def ordinary_tensors() -> Iterator[None]:
    """Make tensors that a gradient can follow, also within a user's `torch.inference_mode`."""
    with own_types(), torch.inference_mode(False), torch.no_grad():
        yield


@contextmanager
def computing(sentence: str) -> Iterator[None]:
    """Let a model compute: whatever it does wrong is that sentence, and a card is left as it was.

    Raises:
        ModelError: with the sentence; or the model looked for a row that its tables do not have.
        MemoryError: the text does not fit; nothing of it stays on the card.
        LostCardError: the card has stopped.
    """
    try:
        with failing_as(ModelError, sentence), checked_lookups(), own_types():
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
    pinned = math.prod(shape) * dtype.itemsize <= MOST_PINNED
    return torch.empty(shape, dtype=dtype, device="cpu", pin_memory=pinned)


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


# A head of fewer weights is computed here before a card has answered.
LEAST_CELLS = 2**18
# So many weights are computed there at a time.
MOST_CELLS = 2**27


@dataclass(frozen=True, eq=False)
class CardLayer:
    """One layer that a card computed: its vectors on this machine, in the type of the card, and what else decides its weights.

    facts  the other arguments of `QueryKeyLayer`
    """

    card: torch.device
    query: Tensor
    key: Tensor
    value: Tensor
    facts: Mapping[str, Any]

    @property
    def causal(self) -> bool:
        return self.facts["causal"]

    @property
    def visible(self) -> Bool[np.ndarray, "query key"] | None:
        return self.facts["visible"]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries, number of keys with that of a sink."""
        return self.query.shape[1], self.key.shape[1] + (self.facts["sink"] is not None)

    @cached_property
    def converted(self) -> QueryKeyLayer:
        """The layer in float32, for what reads its vectors on this machine."""
        query, key, value = (own_array(each) for each in (self.query, self.key, self.value))
        return QueryKeyLayer(query, key, value=value, **self.facts)

    @property
    def nbytes(self) -> int:
        """Bytes of its vectors, and of those in float32 where somebody read them."""
        held = [self.query, self.key, self.value]
        is_copied = "converted" in vars(self) and self.query.dtype != torch.float32
        return sum(each.nbytes + is_copied * 4 * each.numel() for each in held)

    def compute(self, heads: slice) -> tuple[LayerWeights, np.ndarray] | None:
        """Compute the weights of some heads on the card, and the entropy of each row; None where this machine is to do it."""
        n_queries, n_columns = self.shape
        if n_queries * n_columns < LEAST_CELLS or self.facts["bias"] is not None:
            return None
        try:
            with torch.inference_mode():
                return self._compute(range(*heads.indices(len(self.query))))
        except RuntimeError:
            # It has no room, or is lost: all that is needed is here, too.
            torch.cuda.empty_cache()
            return None

    def _compute(self, heads: range) -> tuple[LayerWeights, np.ndarray]:
        n_queries, n_columns = self.shape
        weights, entropies = (room_for_copy((len(heads), *rest)) for rest in ((n_queries, n_columns), (n_queries,)))
        groups, step = len(self.query) // len(self.key), max(1, MOST_CELLS // (n_queries * n_columns))
        hidden = self._hidden()
        for start in range(0, len(heads), step):
            some = heads[start : start + step]
            query = self.query[some.start : some.stop].to(self.card, non_blocking=True).float()
            first = some.start // groups
            keys = self.key[first : (some.stop - 1) // groups + 1].to(self.card, non_blocking=True).float()
            keys = keys[torch.arange(some.start, some.stop, device=self.card) // groups - first]
            shares = self._softmax(query @ keys.transpose(1, 2), some, hidden)
            weights[start : start + step].copy_(shares, non_blocking=True)
            entropies[start : start + step].copy_(torch.special.entr(shares).sum(dim=-1), non_blocking=True)
        torch.cuda.current_stream(self.card).synchronize()
        return weights.numpy(), entropies.numpy()

    def _softmax(self, scores: Tensor, heads: range, hidden: Tensor | None) -> Tensor:
        scores *= self.facts["scaling"]
        if (softcap := self.facts["softcap"]) is not None:
            scores = scores.div_(softcap).tanh_().mul_(softcap)
        if hidden is not None:
            scores.masked_fill_(hidden, -torch.inf)
        if (sink := self.facts["sink"]) is not None:
            column = torch.from_numpy(sink[heads.start : heads.stop]).to(self.card)
            scores = torch.cat([scores, column[:, None, None].expand(*scores.shape[:2], 1)], dim=2)
        # A row with nothing to see is no number.
        return scores.softmax(dim=2).nan_to_num_(0.0)

    def _hidden(self) -> Tensor | None:
        """Mark on the card what queries may not look at."""
        if self.visible is not None:
            return ~torch.from_numpy(self.visible).to(self.card)
        if not self.causal:
            return None
        n_queries, n_keys = self.query.shape[1], self.key.shape[1]
        return torch.ones(n_queries, n_keys, dtype=torch.bool, device=self.card).triu(n_keys - n_queries + 1)


class ConvertedLayers(Sequence[QueryKeyLayer]):
    """Layers in float32, each from when it is read for the first time."""

    def __init__(self, layers: Sequence[CardLayer]) -> None:
        self.layers = tuple(layers)

    def __len__(self) -> int:
        return len(self.layers)

    @overload
    def __getitem__(self, place: int) -> QueryKeyLayer: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[QueryKeyLayer, ...]: ...
    def __getitem__(self, place: int | slice) -> QueryKeyLayer | tuple[QueryKeyLayer, ...]:
        if isinstance(place, slice):
            return tuple(each.converted for each in self.layers[place])
        return self.layers[place].converted


class CardWeights(QueryKeyWeights):
    """Weights of a pass on a card, whose vectors were checked there."""

    def __init__(self, layers: Sequence[CardLayer]) -> None:
        super().__init__(ConvertedLayers(layers))

    @property
    def card_layers(self) -> tuple[CardLayer, ...]:
        return self.layers.layers  # pyrefly: ignore[missing-attribute]

    def __post_init__(self) -> None:
        layers = self.card_layers
        self.check([(len(each.query), *each.shape) for each in layers], [each.facts["bias"] for each in layers])

    def __repr__(self) -> str:
        first = self.card_layers[0]
        return f"<CardWeights: {self.n_layers} layers of queries {tuple(first.query.shape)}, keys {tuple(first.key.shape)}>"

    @property
    def n_heads(self) -> int:
        return len(self.card_layers[0].query)

    @property
    def shape(self) -> tuple[int, int]:
        return self.card_layers[0].shape

    @property
    def nbytes(self) -> int:
        arrays = [each.facts[name] for each in self.card_layers for name in ("visible", "bias", "sink")]
        shared = {id(array): array.nbytes for array in arrays if array is not None}
        return sum(each.nbytes for each in self.card_layers) + sum(shared.values())

    def head(self, layer: int, head: int) -> Weights:
        computed = self.card_layers[layer].compute(slice(head, head + 1))
        return super().head(layer, head) if computed is None else frozen(computed[0][0])

    def layer(self, layer: int) -> LayerWeights:
        computed = self.card_layers[layer].compute(slice(None))
        return super().layer(layer) if computed is None else frozen(computed[0])

    def slabs(self, layer: int, head: int) -> Iterator[Slab]:
        computed = self.card_layers[layer].compute(slice(head, head + 1))
        return super().slabs(layer, head) if computed is None else self._cut(layer, computed[0][0], computed[1][0])

    def _cut(self, layer: int, weights: Weights, entropies: np.ndarray) -> Iterator[Slab]:
        """Give a head some rows at a time, without the keys behind them."""
        n_queries, n_columns = weights.shape
        is_cut = self.card_layers[layer].causal and n_columns == self.card_layers[layer].key.shape[1]
        step = max(1, SLAB_CELLS // n_columns)
        for start in range(0, n_queries, step):
            rows = slice(start, min(start + step, n_queries))
            past = max(rows.stop + n_columns - n_queries, 1) if is_cut else n_columns
            yield Slab(rows, weights[rows, :past], entropies[rows])
