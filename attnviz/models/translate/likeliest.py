"""How likely each token of a translation was, and which pieces were likeliest in its place."""

from collections.abc import Callable, Sequence

from jaxtyping import Float
from torch import Tensor

from attnviz.core.trace import Token
from attnviz.models.translate.draft import DecodingStep

# What else was likely in the place of each token: so many pieces.
ALTERNATIVES = 5


def decoding_steps(
    scores: Float[Tensor, "step vocabulary"],
    written: Sequence[tuple[Token, int]],
    names: Callable[[Sequence[int]], Sequence[str]],
) -> tuple[DecodingStep, ...]:
    """Tell how likely each token with its piece was by the scores of its step, and what else was likely there."""
    probabilities = scores.float().softmax(dim=-1).cpu()
    best = probabilities.topk(min(ALTERNATIVES, probabilities.shape[-1]))
    rows = zip(written, probabilities, best.values.tolist(), best.indices.tolist(), strict=True)
    return tuple(
        DecodingStep(token, float(own[piece]), tuple(zip(names(places), values, strict=True)))
        for (token, piece), own, values, places in rows
    )
