"""What each token was worth to a model's output, whatever the way of asking."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.core.errors import TraceError
from attnviz.core.trace import Token
from attnviz.core.weights import frozen


@dataclass(frozen=True, eq=False)
class Shares:
    """One share a token, by one way of asking: positive where the token speaks for the output, negative where against it.

    way     the name of the way, such as "frozen-gradient"
    target  what was asked about, in words
    signed  False: this way cannot say against, and no share is negative
    rest    what the model adds whatever was typed (its biases), where shares and rest sum to the score; None: they do not sum

    Raises:
        TraceError: there is not one finite share a token.

    >>> Shares("random", "the answer", (Token("hi", 0, 2),), np.array([0.5])).values
    array([0.5])
    """

    way: str
    target: str
    tokens: tuple[Token, ...]
    values: Float[np.ndarray, " token"]
    signed: bool = True
    rest: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.values, np.float64))
        if self.values.shape != (len(self.tokens),):
            raise TraceError(f"{self.way} has shares of shape {self.values.shape} for {len(self.tokens)} tokens")
        if not np.isfinite(self.values).all():
            raise TraceError(f"{self.way} has shares that are not finite")
