"""Value zeroing: how much a position's state changes in one layer when another's value is taken out (Mohebbi et al. 2023)."""

from contextlib import suppress

import numpy as np
import torch
from torch import Tensor

from attnviz.attribution.attention_methods import Mixing, check_layered, recorded, rolled_out
from attnviz.attribution.passes.tape import AttentionTape, Stop
from attnviz.attribution.token_removal import BATCH_TOKENS
from attnviz.core.cancellation import cancellation_point
from attnviz.core.errors import ModelError
from attnviz.models.batched_edits import cosine_distance
from attnviz.models.targets import BoundTarget

# A pass a token and layer: of 400 tokens they would take minutes.
MOST_TOKENS = 128


def value_zeroing(bound: BoundTarget) -> np.ndarray:
    """1 − cos(x̃_i, x̃_i without v_j) in each layer, each row summing to 1, followed down from the output (arXiv:2301.12971).

    Raises:
        ModelError: where this model's layers end is not known, or the text is too long.
    """
    if bound.n_positions > MOST_TOKENS:
        raise ModelError(
            f"Value zeroing is computed for at most {MOST_TOKENS} tokens, and this text has {bound.n_positions}: type less."
        )
    check_layered(bound)
    attentions = recorded(bound)
    steps = []
    for index, site in enumerate(bound.sites):
        if attentions[index].residual()[1] is None:
            raise ModelError("Where this model's layers end is not known here: choose another method.")
        n_queries, n_keys = attentions[index].weights.shape[2:]
        changes = np.zeros((n_queries, n_keys))
        size = max(1, BATCH_TOKENS // bound.n_positions)
        for first in range(0, n_keys, size):
            cancellation_point()
            bound.progress((index + first / n_keys) / len(bound.sites))
            keys = range(first, min(first + size, n_keys))
            whole, *others = _states(bound, index, keys).unbind(dim=0)
            for key, other in zip(keys, others, strict=True):
                changes[:, key] = cosine_distance(whole, other).cpu().numpy()
        rows = np.zeros((n_queries, bound.n_positions))
        sums = changes.sum(axis=1, keepdims=True)
        rows[:, site.keys] = np.divide(changes, sums, where=sums > 0, out=np.zeros_like(changes))
        # A position that nothing changes keeps what it is.
        idle = np.flatnonzero(sums[:, 0] <= 0)
        rows[idle, site.queries.start + idle] = 1
        steps.append(Mixing(site, rows))
    return rolled_out(bound, steps)


def _states(bound: BoundTarget, index: int, keys: range) -> Tensor:
    """The states behind a layer: of the whole text first, then of it without each key's value."""

    def change(place: int, value: Tensor) -> Tensor:
        if place == index:
            value = value.clone()
            for row, key in enumerate(keys, 1):
                value[row, ..., key, :] = 0
        elif place > index:
            raise Stop
        return value

    tape = AttentionTape(change)
    with tape, torch.no_grad(), suppress(Stop):
        bound.run(bound.ids.expand(len(keys) + 1, -1))
    attention = tape.attentions[index]
    norm = tape.norms[-1]
    # The layer ends with the sum that the next norm reads, or with what its own gives.
    state = norm.gave if attention.residual()[0] == "after" else norm.read
    if state.shape != (attention.mixed.shape if attention.mixed is not None else None):
        state = attention.after.read if attention.after is not None else state
    return state
