"""Edits in models that compute attention in code of their own: at the softmax of each attention, whatever stands around it.

Which module computes which attention is not looked up but measured: when a model is loaded, one pass shows what every softmax
gave. Where each layer's weights are what exactly one of them gave, these modules are edited there; where not, none is.

What an edit costs is a score of the output without edits:

models that write, and that answer   ln p of the output that they gave without edits
the summarizer that attnviz trained  minus how far the attention that its words receive has turned, 1 - cosine
all others                           minus how far their last states have turned, the mean over tokens of 1 - cosine

What stands below the first edited layer is computed once, and shared by all: a pass over many rows begins at a layer, before
which one row becomes many, and the layers below give what they gave before (`entering`). Whether a model can be entered at
every layer is measured (`can_enter`): where it cannot, all passes are whole.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnviz.core.edits import Edits, HeadPatched
from attnviz.core.errors import EditError, ModelError, cancellation_point
from attnviz.core.trace import Prompt, Unit
from attnviz.core.weights import EditedHeads, Kind, QueryKeyLayer, WeightStore, renormalize, rounding_of
from attnviz.models.base import AttentionModel
from attnviz.nn import apply_edits
from attnviz.nn.apply_edits import AttentionCall, Intervention, Patterns, intervening
from attnviz.nn.attention import Attended

_SOFTMAX = {F.softmax, torch.softmax, Tensor.softmax}
# A mask is a large negative number in most models. No score that counts is so far below the largest of its row.
MASKED_BELOW = 1e3
# A head that computes its weights twice rounds otherwise.
SOFTMAX_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Softmax:
    """What one softmax of a pass over a single text gave, the module that computed it, and how many it computed before."""

    module: nn.Module
    place: int
    weights: Float[Tensor, "one head query key"]


def trace_softmaxes(model: nn.Module, run: Callable[[], Any]) -> tuple[Softmax, ...]:
    """Run a model, and list what its softmaxes over several heads gave; none where it cannot be run."""
    within: list[tuple[nn.Module, Iterator[int]]] = []
    made: list[Softmax] = []

    def enter(module: nn.Module, _: Any) -> None:
        within.append((module, count()))

    def leave(*_: Any) -> None:
        within.pop()

    def keep(weights: Tensor, _: Tensor) -> None:
        module, places = within[-1]
        made.append(Softmax(module, next(places), _by_head(weights)))

    hooks = [each.register_forward_pre_hook(enter) for each in model.modules()]
    hooks += [each.register_forward_hook(leave, always_call=True) for each in model.modules()]
    try:
        with torch.inference_mode(), _AtSoftmax(keep):
            run()
    except Exception:  # whatever code of others raises: what it cannot do is said by its readers
        return ()
    finally:
        for hook in hooks:
            hook.remove()
    return tuple(made)


def editable_kinds(
    kinds: Mapping[int, Kind], softmaxes: Sequence[Softmax], stores: Mapping[Kind, WeightStore], dtype: torch.dtype
) -> Mapping[int, Kind] | None:
    """Let edits act at the softmaxes that gave the weights of `stores`, and return the kinds; None where some are not told.

    `dtype` is the model's: what it rounds its weights to.
    """
    rounding = rounding_of(dtype)
    chosen: list[Softmax] = []
    for kind, store in stores.items():
        own = [each for each in softmaxes if kinds.get(id(each.module), "encoder") == kind]
        own = [each for each in own if tuple(each.weights.shape[1:]) == (store.n_heads, *store.shape)]
        if len(own) != store.n_layers or not all(_gave(each, store, layer, rounding) for layer, each in enumerate(own)):
            return None
        chosen += own
    modules = {(id(each.module), each.place): each.module for each in chosen}
    if len(modules) != len({id(module) for module in modules.values()}):
        return None
    for (_, place), module in modules.items():
        module.forward = partial(_edited_forward, module, place, module.forward)
    return kinds


def _gave(softmax: Softmax, store: WeightStore, layer: int, rounding: float) -> bool:
    given = renormalize(softmax.weights[0].float().cpu().numpy(), layer, rounding)
    # A softmax in float32 is rounded behind it, and a row that sums to 1 again moves as far once more.
    return np.allclose(given, store.layer(layer), atol=SOFTMAX_ROUNDING + 2 * rounding)


def _edited_forward(module: nn.Module, place: int, forward: Callable[..., Any], *given: Any, **named: Any) -> Any:
    if (now := apply_edits.running()) is None:
        return forward(*given, **named)
    places = count()

    def edit(weights: Tensor, scores: Tensor) -> Tensor | None:
        return _edited_weights(module, now, weights, scores) if next(places) == place else None

    with _AtSoftmax(edit):
        return forward(*given, **named)


def _edited_weights(module: nn.Module, now: Intervention, weights: Tensor, scores: Tensor) -> Tensor:
    kind = now.places.get(id(module), now.stack)
    n_heads = now.sizes[kind][1]

    def scores_of(heads: Sequence[int]) -> Tensor:
        some, given = _by_head(scores, n_heads)[:, heads], _by_head(weights, n_heads)[:, heads]
        lowest = some.amax(dim=-1, keepdim=True) - MASKED_BELOW
        return some.masked_fill((given == 0) & (some < lowest), -torch.inf)

    changed, _ = now.change(kind, AttentionCall(_by_head(weights, n_heads), scores_of))
    return changed.view_as(weights)


def _by_head(weights: Tensor, n_heads: int | None = None) -> Float[Tensor, "batch head query key"]:
    """Set heads apart: some models lay them beside the texts of a batch."""
    if weights.ndim == 4:
        return weights
    return weights.view(-1, n_heads or len(weights), *weights.shape[1:])


class _AtSoftmax(TorchFunctionMode):
    """Within this context and in this thread alone, `act` may change what every softmax gives, and is given its scores."""

    def __init__(self, act: Callable[[Tensor, Tensor], Tensor | None]) -> None:
        super().__init__()
        self._act = act

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func not in _SOFTMAX or made.ndim not in (3, 4):
            return made
        changed = self._act(made, args[0] if args else (kwargs or {})["input"])
        return made if changed is None else changed


@dataclass(frozen=True)
class EditPoints:
    """Where a model's attention can be edited.

    sizes   layers and heads of each kind
    places  the kind of each attention of our own modules, by the id of the module
    stack   the kind of what calls the attention function of Hugging Face models and has no place
    writes  whether it has a decoder that writes freely
    numbers  of a kind in which not every layer attends, the numbers of those that do
    """

    sizes: Mapping[Kind, tuple[int, int]]
    places: Mapping[int, Kind] = field(default_factory=dict)
    stack: Kind = "encoder"
    writes: bool = False
    numbers: Mapping[Kind, Sequence[int]] = field(default_factory=dict)

    def layers(self, kind: Kind) -> Sequence[int]:
        """Number the layers that attend."""
        return self.numbers.get(kind) or range(self.sizes[kind][0])

    def check(self, edits: Edits, name: str) -> None:
        """Check that the model of that name has what is edited.

        Raises:
            EditError: it has not; the message says what it has.
        """
        edits.check_heads(self.sizes, name)
        for edit in edits.each:
            if edit.layer is not None and edit.layer not in (some := self.layers(edit.kind)):
                raise EditError(
                    f"Layer {edit.layer} of {name} mixes tokens without attention, so nothing is edited there: choose "
                    f"{', '.join(map(str, some[:-1]))}{' or ' * (len(some) > 1)}{some[-1]}."
                )


@runtime_checkable
class EditableModel(AttentionModel, Protocol):
    """A model that says where its attention can be edited."""

    def edit_points(self) -> EditPoints:
        """Say which attentions there are.

        Raises:
            EditError: the model computes its attention where nothing can be changed.
        """
        ...


@contextmanager
def edited(model: EditableModel, prompt: Prompt, edits: Edits, *, writes: bool = False) -> Iterator[None]:
    """Within this context, and in this thread alone, every pass of the model over the prompt has these edits; none: as before.

    `writes`: the model writes on from the prompt, so that its text may be longer than another that heads are patched from.

    Raises:
        EditError: the model does not have what is edited, or cannot be edited.
    """
    if not edits:
        yield
        return
    points = model.edit_points()
    points = replace(points, writes=points.writes or writes)
    points.check(edits, model.card.name)
    with intervening(intervention(model, points, (edits,), _patterns(model, prompt, edits))):
        yield


def intervention(
    model: EditableModel, points: EditPoints, rows: Sequence[Edits], patterns: Patterns | None = None
) -> Intervention:
    """Prepare passes with the edits of each row of a batch; of one, those of all rows."""
    for edits in rows:
        points.check(edits, model.card.name)
    return Intervention(
        tuple(rows), points.sizes, points.places, points.stack, points.writes, patterns or {}, numbers=points.numbers
    )


def _patterns(model: EditableModel, prompt: Prompt, edits: Edits) -> Patterns:
    """Read the other texts that heads are patched from; a pair, a question and a target stay as they are."""
    traces = {text: model.trace(replace(prompt, text=text)) for text in edits.texts}
    return {
        (edit.kind, edit.layer, edit.head, edit.text): traces[edit.text].map(edit.kind).weights(edit.layer, edit.head)
        for edit in edits.each
        if isinstance(edit, HeadPatched)
    }


def with_edited_heads(kind: Kind, layers: Sequence[QueryKeyLayer], first: int = 0) -> tuple[QueryKeyLayer, ...]:
    """Lay the weights that edits gave to heads in the last pass over layers of it; `first` is the number of the first one."""
    now = apply_edits.running()
    if now is None:
        return tuple(layers)
    changes = [now.changed.get((kind, first + number)) for number in range(len(layers))]
    return tuple(
        layer if changed is None else replace(layer, edited=EditedHeads(changed[0], changed[1][0].float().cpu().numpy()))
        for layer, changed in zip(layers, changes, strict=True)
    )


def own_layers(kind: Kind, attended: Sequence[Attended], first: int) -> tuple[QueryKeyLayer, ...]:
    """Compute what a trace keeps of our own modules' attention: of the first text of a batch, without a mask, with edits."""
    layers = []
    for read in attended:
        attention: Any = read.attention
        known = attention.project(read.memory)
        query, key, value = (each[0].cpu().numpy() for each in (attention.queries(read.states), known.key, known.value))
        layers.append(QueryKeyLayer(query, key, scaling=attention.scaling, value=value))
    return with_edited_heads(kind, layers, first)


def check_windows(n_windows: int) -> None:
    """Refuse edits of places in a text that is read in several windows, where a place is not one token.

    Raises:
        EditError: there are such edits.
    """
    if n_windows > 1 and apply_edits.current().by_position:
        raise EditError(
            f"This passage is read in {n_windows} windows, and links, words and weights are edited in one: paste a shorter "
            "passage, or switch whole heads off."
        )


# Tokens that are computed at once, of all rows together: more need more memory, and are no faster.
TOKENS = 2048
# How far two ways of computing the same states may differ, of the largest of them.
ROUNDING = 1e-4
Forward = Callable[[int], Float[Tensor, " row"]]
# By the number of a layer, what it gives without edits.
Outputs = dict[int, Any]
# The layer at which passes begin, how many rows they have, and what the layers below give.
_entry: ContextVar[tuple[int, int, Outputs] | None] = ContextVar("attnviz_entry", default=None)
# Whether a stack can be entered; None as long as it has not been measured.
_enterable: "WeakKeyDictionary[nn.Module, bool | None]" = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores one output under edits.

    unit      of the score: "nats" of ln p, or "cosine"
    n_pieces  of the output, over which ln p is the sum
    forward   the score of each of so many rows of one batch
    n_tokens  that one row takes
    outputs   what layers give without edits, where rows share those below the first that is edited: `forward` is called where
              one row becomes many; None: each row is computed as a whole
    """

    model: EditableModel
    unit: Unit
    n_pieces: int
    forward: Forward
    n_tokens: int
    outputs: Outputs | None = None

    def scores(self, several: Sequence[Edits], report: Callable[[float], None] = lambda _: None) -> Float[np.ndarray, " edits"]:
        """Compute the score under each of several edits, of equal ones once; a cancellation point stands between batches.

        `report` hears how much is done, 0 to 1.

        Raises:
            EditError: the model does not have what is edited, or an edit patches from another text.
        """
        if any(edits.texts for edits in several):
            raise EditError("Heads that are patched from another text are not scored together: trace them one by one.")
        distinct = list(dict.fromkeys(several))
        points, scores, done = self.model.edit_points(), np.zeros(len(distinct)), 0
        for layer, places in self._batches(distinct):
            cancellation_point()
            report(done / len(distinct))
            rows = [distinct[place] for place in places]
            edits = replace(intervention(self.model, points, rows), first=layer)
            with intervening(edits), entering(layer, len(rows), self.outputs), torch.inference_mode():
                scores[places] = self.forward(len(rows)).double().cpu().numpy()
            done += len(rows)
        known = dict(zip(distinct, scores, strict=True))
        return np.array([known[edits] for edits in several])

    def _batches(self, several: Sequence[Edits]) -> Iterator[tuple[int, list[int]]]:
        """Lay together what is computed at once, and the layer up to which it is alike."""
        groups: dict[int, list[int]] = {}
        for place, edits in enumerate(several):
            first = min((edit.layer or 0 for edit in edits.each), default=self.model.card.n_layers)
            groups.setdefault(0 if self.outputs is None else first, []).append(place)
        size = max(1, TOKENS // self.n_tokens)
        for layer, places in groups.items():
            for start in range(0, len(places), size):
                yield layer, places[start : start + size]


def log_probability(scores: Float[Tensor, "row step vocabulary"], pieces: Int[Tensor, "one step"]) -> Float[Tensor, " row"]:
    """Compute ln p of the pieces in each row, in float64: a head's cost is the difference of two nearly equal ones."""
    # Row by row, for a vocabulary may be large.
    return -torch.stack([F.cross_entropy(row.double(), pieces[0], reduction="sum") for row in scores])


def cosine_distance(one: Float[Tensor, "*#batch dim"], other: Float[Tensor, "*#batch dim"]) -> Float[Tensor, "*batch"]:
    """Compute 1 - cosine, in float64: half the squared distance of the vectors at length 1, exactly 0 where they are equal.

    A vector of no length is at a right angle to every other.
    """
    lengths = [each.double().norm(dim=-1, keepdim=True) for each in (one, other)]
    # Of float32 cosines, 1 - 0.9999998 has one digit left.
    units = [each / torch.where(length > 0, length, 1) for each, length in zip((one, other), lengths, strict=True)]
    halves = (units[0] - units[1]).square().sum(dim=-1) / 2
    return torch.where((lengths[0] == 0) ^ (lengths[1] == 0), 1.0, halves[..., None])[..., 0]


def prepare(body: nn.Module, n_layers: int) -> None:
    """Let passes begin at the layers of a stack; one whose layers are no list of their own (ALBERT) stays as it is."""
    lists = [each for each in body.modules() if isinstance(each, nn.ModuleList) and len(each) == n_layers]
    if not lists:
        return
    # Experts may be as many as layers: the layers hold them all.
    layers = max(lists, key=lambda each: sum(parameter.numel() for parameter in each.parameters()))
    for number, layer in enumerate(layers):
        layer.forward = partial(_forward, number, layer.forward)
    _enterable[body] = None


def can_enter(body: nn.Module, n_layers: int, states: Callable[[], Float[Tensor, "row token state"]]) -> bool:
    """Tell whether passes over a stack can begin at each layer: measured once, by the `states` of a few tokens.

    What a layer hands on beside its states, such as keys that layers above use again, is not there when it is not computed.
    """
    if _enterable.get(body, False) is None:
        outputs: Outputs = {}
        try:
            with torch.inference_mode():
                whole = states()
            # The first of these passes notes what every layer gives; the others compute none below the one they begin at.
            _enterable[body] = all(_gives(whole, states, layer, outputs) for layer in (n_layers, *range(n_layers)))
        except ModelError:
            _enterable[body] = False
    return bool(_enterable.get(body))


def _gives(whole: Tensor, states: Callable[[], Tensor], layer: int, outputs: Outputs) -> bool:
    with torch.inference_mode(), entering(layer, 2, outputs):
        entered = states()
    return entered.shape[1:] == whole.shape[1:] and torch.allclose(
        entered, whole, rtol=0, atol=ROUNDING * float(whole.abs().max())
    )


@contextmanager
def entering(layer: int, n_rows: int, outputs: Outputs | None) -> Iterator[None]:
    """Within this context, and in this thread alone, passes over one row begin at that layer, with so many rows.

    The layers below give what `outputs` has of them; what it has not is computed, and noted there. Without: passes are whole.
    """
    token = _entry.set(None if outputs is None else (layer, n_rows, outputs))
    try:
        yield
    finally:
        _entry.reset(token)


def _forward(number: int, forward: Callable[..., Any], *given: Any, **named: Any) -> Any:
    if (entry := _entry.get()) is None or number > entry[0]:
        return forward(*given, **named)
    first, n_rows, outputs = entry
    if number < first:
        if number not in outputs:
            outputs[number] = forward(*given, **named)
        return outputs[number]
    states = given[0] if given else named["hidden_states"]
    # Masks and positions are the same for all rows, and are stretched where they are used.
    many = states.expand(n_rows, *states.shape[1:]).contiguous()
    return forward(many, *given[1:], **named) if given else forward(**{**named, "hidden_states": many})
