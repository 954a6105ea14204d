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
    """Compute how far each token's last state has turned: 1 - cosine, 0 to 2."""
    one, other = before.states, after.states
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.clip(1 - np.vecdot(one, other) / np.maximum(lengths, np.finfo(np.float32).tiny), 0, 2)
