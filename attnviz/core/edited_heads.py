"""What a trace keeps of heads that were edited: their weights, which queries and keys no longer tell."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from attnviz.core.arrays import LayerWeights, check_rows, frozen
from attnviz.core.errors import TraceError


@dataclass(frozen=True, eq=False)
class EditedHeads:
    """Heads of a layer whose weights were changed while the model read: these are the weights that it used.

    Raises:
        TraceError: there are not as many weights as heads, or a row sums neither to 1 nor to 0.
    """

    heads: tuple[int, ...]
    weights: LayerWeights

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", frozen(self.weights))
        if len(self.heads) != len(self.weights) or len(set(self.heads)) != len(self.heads) or not self.heads:
            raise TraceError(f"{len(self.weights)} edited heads have the numbers {self.heads}")
        check_rows(self.weights, 0)

    def lay_over(
        self, weights: LayerWeights, heads: Int[np.ndarray, " head"], entropy: Float[np.ndarray, "head query"] | None
    ) -> None:
        """Write these weights over those of the heads of these numbers, and their rows' entropy, in nats."""
        for place, head in enumerate(heads.tolist()):
            if head in self.heads:
                rows = weights[place] = self.weights[self.heads.index(head)]
                if entropy is not None:
                    entropy[place] = -(rows * np.log(np.where(rows > 0, rows, 1))).sum(axis=-1)
