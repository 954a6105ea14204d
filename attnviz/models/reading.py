"""What an encoder, or a decoder of one stack, makes of a text: its last states, and what its layers on top find likeliest."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.core.trace import Token


@dataclass(frozen=True, eq=False)
class EncoderReading:
    """What an encoder, or a decoder of one stack, makes of a text.

    states      the last state of each token
    likeliest   by the name of the place, what its own layers on top find likeliest there, with p, best first: the next token,
                what stands behind each [MASK], the text's label; empty where the model has no such layer
    similarity  of a pair: the cosine of the means of its two texts' states; None: there is one text
    """

    tokens: tuple[Token, ...]
    states: Float[np.ndarray, "token dim"]
    likeliest: tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
    similarity: float | None


NOTHING_READ = EncoderReading((), np.zeros((0, 0), np.float32), (), None)


def shifts(before: EncoderReading, after: EncoderReading) -> Float[np.ndarray, " token"]:
    """Compute how far each token's last state has turned: 1 - cosine, 0 to 2.

    It is half the squared distance of the states at length 1, which rounding does not decide where they are nearly equal. A
    state of no length is at a right angle to every other.
    """
    one, other = (each.states.astype(np.float64) for each in (before, after))
    lengths = [np.linalg.norm(states, axis=1, keepdims=True) for states in (one, other)]
    units = [states / np.where(length > 0, length, 1) for states, length in zip((one, other), lengths, strict=True)]
    halves = np.square(units[0] - units[1]).sum(axis=1) / 2
    return np.where((lengths[0] == 0)[:, 0] ^ (lengths[1] == 0)[:, 0], 1.0, halves)
