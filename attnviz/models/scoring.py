"""Score many edits of one text in one batch.

models that write, and that answer   ln p of the output that they gave without edits
the summarizer that attnviz trained  minus how far the attention that its words receive has turned, 1 - cosine
all others                           minus how far their last states have turned, the mean over tokens of 1 - cosine

What stands below the first edited layer is computed for one row, and shared by all: the layers of a model hand on what they
read as it is, unless the thread that calls them has said where one row becomes many (`widening`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakSet

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from attnviz.core.cancellation import cancellation_point
from attnviz.core.edits import Edits
from attnviz.core.errors import EditError
from attnviz.core.shares import Unit
from attnviz.models.edit.points import EditableModel, intervention
from attnviz.nn.edit.edited_pass import intervening

# Tokens that are computed at once, of all rows together: more need more memory, and are no faster.
TOKENS = 2048
Forward = Callable[[int], Float[Tensor, " row"]]
# The layer before which one row becomes many, and how many.
_wide: ContextVar[tuple[int, int] | None] = ContextVar("attnviz_widening", default=None)
_ready: "WeakSet[nn.Module]" = WeakSet()


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores one output under edits.

    unit      of the score: "nats" of ln p, or "cosine"
    n_pieces  of the output, over which ln p is the sum
    forward   the score of each of so many rows of one batch
    n_tokens  that one row takes
    shares    whether rows share the layers below the first that is edited: `forward` is called where one row becomes many
    """

    model: EditableModel
    unit: Unit
    n_pieces: int
    forward: Forward
    n_tokens: int
    shares: bool = False

    def scores(self, several: Sequence[Edits], report: Callable[[float], None] = lambda _: None) -> Float[np.ndarray, " edits"]:
        """Compute the score under each of several edits; a cancellation point stands between batches.

        `report` hears how much is done, 0 to 1.

        Raises:
            EditError: the model does not have what is edited, or an edit patches from another text.
        """
        if any(edits.texts for edits in several):
            raise EditError("Heads that are patched from another text are not scored together: trace them one by one.")
        points, scores, done = self.model.edit_points(), np.zeros(len(several)), 0
        for layer, places in self._batches(several):
            cancellation_point()
            report(done / len(several))
            rows = [several[place] for place in places]
            with intervening(intervention(self.model, points, rows)), widening(layer, len(rows)), torch.inference_mode():
                scores[places] = self.forward(len(rows)).double().cpu().numpy()
            done += len(rows)
        return scores

    def _batches(self, several: Sequence[Edits]) -> Iterator[tuple[int, list[int]]]:
        """Lay together what is computed at once, and the layer up to which it is alike."""
        groups: dict[int, list[int]] = {}
        for place, edits in enumerate(several):
            first = min((edit.layer or 0 for edit in edits.each), default=self.model.card.n_layers)
            groups.setdefault(first if self.shares else 0, []).append(place)
        size = max(1, TOKENS // self.n_tokens)
        for layer, places in groups.items():
            for start in range(0, len(places), size):
                yield layer, places[start : start + size]


def log_probability(scores: Float[Tensor, "row step vocabulary"], pieces: Int[Tensor, "one step"]) -> Float[Tensor, " row"]:
    """Compute ln p of the pieces in each row."""
    likely = F.cross_entropy(scores.float().transpose(1, 2), pieces.expand(len(scores), -1), reduction="none")
    return -likely.sum(dim=1)


def prepare(body: nn.Module, n_layers: int) -> None:
    """Let the layers of a stack widen; one whose layers are not a list of their own, such as ALBERT's, stays as it is."""
    lists = [each for each in body.modules() if isinstance(each, nn.ModuleList) and len(each) == n_layers]
    if not lists:
        return
    # Experts may be as many as layers: the layers hold them all.
    layers = max(lists, key=lambda each: sum(parameter.numel() for parameter in each.parameters()))
    for number, layer in enumerate(layers):
        layer.register_forward_pre_hook(partial(_widen, number), with_kwargs=True)
    _ready.add(body)


def is_ready(body: nn.Module) -> bool:
    """Tell whether a stack can widen."""
    return body in _ready


@contextmanager
def widening(layer: int, n_rows: int) -> Iterator[None]:
    """Within this context, and in this thread alone, one row becomes so many before that layer."""
    token = _wide.set((layer, n_rows))
    try:
        yield
    finally:
        _wide.reset(token)


def _widen(number: int, _: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if (wide := _wide.get()) is None or wide[0] != number:
        return None
    states = given[0] if given else named["hidden_states"]
    # Masks and positions are the same for all rows, and are stretched where they are used.
    many = states.expand(wide[1], *states.shape[1:]).contiguous()
    return ((many, *given[1:]), named) if given else (given, {**named, "hidden_states": many})
