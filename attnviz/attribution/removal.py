"""Taking words away, and asking the model again."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float

from attnviz.core.cancellation import cancellation_point
from attnviz.core.trace import Token
from attnviz.models.bound_target import BoundTarget

# Tokens that go through a model at once: more are no faster on a processor, and need more memory.
BATCH_TOKENS = 2048


def words(tokens: Sequence[Token], fixed: frozenset[int] = frozenset()) -> tuple[tuple[int, ...], ...]:
    """Group the positions that may be taken into words; a word of which one piece is fixed is not taken at all.

    >>> words((Token("un", 0, 2, word=0), Token("do", 2, 4, word=0), Token("it", 5, 7, word=1)))
    ((0, 1), (2,))
    """
    groups: dict[tuple[int, int], list[int]] = {}
    for position, token in enumerate(tokens):
        # A token without a word is one of its own.
        name = (token.segment, token.word) if token.word is not None else (-1, position)
        groups.setdefault(name, []).append(position)
    return tuple(tuple(group) for group in groups.values() if fixed.isdisjoint(group))


def outcomes(bound: BoundTarget, taken: Bool[np.ndarray, "text token"]) -> tuple[Float[np.ndarray, " text"], ...]:
    """Score, and ln p of the target, of texts in which tokens have been taken: the stand-in is in their place."""
    ids = torch.where(torch.tensor(taken, device=bound.ids.device), bound.baseline_id, bound.ids)
    step = max(1, BATCH_TOKENS // bound.n_positions)
    made = []
    for first in range(0, len(ids), step):
        cancellation_point()
        bound.progress(first / len(ids))
        made.append(bound.outcome(ids[first : first + step]))
    scores, logs = (torch.cat([getattr(each, name) for each in made]) for name in ("score", "log_probability"))
    return scores.double().cpu().numpy(), logs.double().cpu().numpy()


def leave_one_out(bound: BoundTarget) -> np.ndarray:
    """The score less that of the text without the word, its pieces having equal parts (Li et al. 2016, arXiv:1612.08220)."""
    groups = words(bound.tokens, bound.fixed)
    taken = np.zeros((len(groups) + 1, len(bound.tokens)), dtype=bool)
    for row, group in enumerate(groups, 1):
        taken[row, list(group)] = True
    scores, _ = outcomes(bound, taken)
    shares = np.zeros(len(bound.tokens))
    for group, score in zip(groups, scores[1:], strict=True):
        shares[list(group)] = (scores[0] - score) / len(group)
    return shares


def random_shares(bound: BoundTarget) -> np.ndarray:
    """Numbers drawn at random, always the same for the same tokens: what every way has to beat."""
    return np.random.default_rng(bound.ids.cpu().numpy()).random(len(bound.tokens))
