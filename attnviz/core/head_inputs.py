"""What attention is computed from: the small tables that a person types, and the vectors behind one head of a real model.

Everything here is plain NumPy. `Tables` go in, `Computed` comes out; `DotProduct` and `Additive` are one head of
a forward pass.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.errors import TraceError
from attnviz.core.weights import frozen

Mask = Literal["none", "causal", "padding", "own"]
# What fits on a projector with digits that can be read from the last row.
MOST_TOKENS, MOST_DIM, LARGEST = 8, 8, 99.0
PARAMETERS = ("w_q", "w_k", "w_v", "w_o")


@dataclass(frozen=True, eq=False)
class Tables:
    """A worked example of multi-head self-attention: tokens, their vectors X, and the matrices of Vaswani et al. 2017, 3.2.2.

    visible  True where the query of a row may look at the key of a column
    scaled   whether scores are divided by √d_k

    Raises:
        TraceError: the tables do not fit together, are too large to show, or hold what is no number.
    """

    tokens: tuple[str, ...]
    x: Float[np.ndarray, "token dim"]
    w_q: Float[np.ndarray, "dim dim"]
    w_k: Float[np.ndarray, "dim dim"]
    w_v: Float[np.ndarray, "dim dim"]
    w_o: Float[np.ndarray, "dim dim"]
    visible: Bool[np.ndarray, "token token"]
    n_heads: int = 1
    scaled: bool = True

    def __post_init__(self) -> None:
        n_tokens, dim = self.x.shape
        if not 1 <= n_tokens <= MOST_TOKENS or len(self.tokens) != n_tokens:
            raise TraceError(f"A worked example has 1 to {MOST_TOKENS} tokens: type fewer words, or more than none.")
        if not 1 <= dim <= MOST_DIM or self.n_heads < 1 or dim % self.n_heads:
            raise TraceError(f"{self.n_heads} heads cannot share {dim} dimensions: choose a number that divides {dim}.")
        for name in ("x", *PARAMETERS):
            values = frozen(getattr(self, name), np.float64)
            if name != "x" and values.shape != (dim, dim):
                raise TraceError(f"{name.upper()} has the shape {values.shape}, and X asks for {(dim, dim)}.")
            if not np.isfinite(values).all() or np.abs(values).max() > LARGEST:
                raise TraceError(f"{name.upper()} holds an empty cell or a number beyond ±{LARGEST:.0f}: type another one.")
            object.__setattr__(self, name, values)
        object.__setattr__(self, "visible", frozen(self.visible, bool))
        if self.visible.shape != (n_tokens, n_tokens):
            raise TraceError(f"The mask has the shape {self.visible.shape}, and X asks for {(n_tokens, n_tokens)}.")

    @property
    def head_dim(self) -> int:
        """d_k: how many dimensions a head has for itself."""
        return self.x.shape[1] // self.n_heads


@dataclass(frozen=True, eq=False)
class Computed:
    """Every matrix between X and the output, as the library's own modules computed it.

    difference  the largest distance of any of its numbers from the NumPy reference's
    """

    query: Float[np.ndarray, "token dim"]
    key: Float[np.ndarray, "token dim"]
    value: Float[np.ndarray, "token dim"]
    scores: Float[np.ndarray, "head token token"]
    scaled: Float[np.ndarray, "head token token"]
    weights: Float[np.ndarray, "head token token"]
    context: Float[np.ndarray, "head token head_dim"]
    concatenated: Float[np.ndarray, "token dim"]
    output: Float[np.ndarray, "token dim"]
    difference: float


@dataclass(frozen=True, eq=False)
class Projected:
    """Vectors that one head makes of the tokens' states: X W + b, as the paper writes it; W stands as PyTorch keeps it."""

    states: Float[np.ndarray, "token dim"]
    weight: Float[np.ndarray, "head_dim dim"]
    bias: Float[np.ndarray, " head_dim"]

    @property
    def vectors(self) -> Float[np.ndarray, "token head_dim"]:
        return self.states @ self.weight.T + self.bias


@dataclass(frozen=True, eq=False)
class Projections:
    """What Q, K and V of a head were made of."""

    query: Projected
    key: Projected
    value: Projected


@dataclass(frozen=True, eq=False)
class DotProduct:
    """One head of scaled dot-product attention: softmax(mask(softcap(scaling · Q Kᵀ) + bias)) V.

    value  None: the model keeps it to itself
    made   what query, key and value were made of, where that is known
    sink   a learned score without a key or a value, which takes its share of every row (a last column of the map)
    """

    query: Float[np.ndarray, "query dim"]
    key: Float[np.ndarray, "key dim"]
    value: Float[np.ndarray, "key value_dim"] | None
    scaling: float
    visible: Bool[np.ndarray, "query column"] | None = None
    bias: Float[np.ndarray, "query key"] | None = None
    softcap: float | None = None
    sink: float | None = None
    made: Projections | None = None


@dataclass(frozen=True, eq=False)
class Additive:
    """One head of additive attention: e_ij = vᵀ tanh(W s_{i-1} + b + U h_j), Bahdanau et al. 2014, appendix A.1.2.

    states  s_{i-1}: what the decoder knows before it writes the token of row i
    memory  h_j: the annotations, which are the values too
    """

    states: Float[np.ndarray, "query state"]
    memory: Float[np.ndarray, "key annotation"]
    w: Float[np.ndarray, "dim state"]
    b: Float[np.ndarray, " dim"]
    u: Float[np.ndarray, "dim annotation"]
    v: Float[np.ndarray, " dim"]


Ingredients = DotProduct | Additive
