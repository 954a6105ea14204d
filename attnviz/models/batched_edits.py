"""Score many edits of one text in one batch.

models that write, and that answer   ln p of the output that they gave without edits
the summarizer that attnviz trained  minus how far the attention that its words receive has turned, 1 - cosine
all others                           minus how far their last states have turned, the mean over tokens of 1 - cosine

What stands below the first edited layer is computed once, and shared by all: a pass over many rows begins at a layer, before
which one row becomes many, and the layers below give what they gave before (`entering`). Whether a model can be entered at
every layer is measured (`can_enter`): where it cannot, all passes are whole.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from attnviz.core.cancellation import cancellation_point
from attnviz.core.edits import Edits
from attnviz.core.errors import EditError, ModelError
from attnviz.core.shares import Unit
from attnviz.models.edit.edit_points import EditableModel, intervention
from attnviz.nn.edit.edited_pass import intervening

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
