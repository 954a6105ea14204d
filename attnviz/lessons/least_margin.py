"""The largest weight of some words, which has to stand clear of the next: what is too near to another cannot be taught."""

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from attnviz.analysis.wording import whole_percent
from attnviz.core.errors import LessonError
from attnviz.core.trace import Token

# Two weights nearer than this look alike on the screen: which is larger cannot be taught.
LEAST_MARGIN = 0.03


def clear_first(weights: Sequence[float] | Float[np.ndarray, " _"], names: Sequence[str]) -> int:
    """Find the largest weight, which has to stand clear of the next."""
    first, *others = (int(at) for at in np.argsort(weights)[::-1])
    if others and weights[first] - weights[others[0]] < LEAST_MARGIN:
        one, other = (f"“{names[at]}” ({whole_percent(float(weights[at]))})" for at in (first, others[0]))
        raise LessonError(f"{one} and {other} are too near to each other to be taught: ask about another word or head.")
    return first


def words_only(weights: np.ndarray, tokens: Sequence[Token], axis: int) -> np.ndarray:
    """Leave out special tokens, unless there is nothing else: a question asks about words."""
    special = np.array([token.special for token in tokens])
    if special.all():
        return weights
    return np.where(special if axis else special[:, None], -np.inf, weights)


def words_with_percents(names: Iterable[str], weights: Iterable[float]) -> str:
    return ", ".join(f"“{name}” {whole_percent(weight)}" for name, weight in zip(names, weights, strict=True))
