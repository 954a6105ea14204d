"""The task induction: letters in a random order, then the same again; what comes next is what came next before.

How many letters there are differs from text to text, so that no fixed distance helps: the model has to find the letter that it
has just read, and look one further. Olsson et al. 2022, *In-context Learning and Induction Heads*: the loss stays flat, then
falls as a head that looks at the token before, and in the layer above one that looks at what followed, appear together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from attnviz.analysis.heads.measures import induction
from attnviz.models import device
from attnviz.nn.encoder import AttentionOnly

SHORTEST, LONGEST = 5, 12


@dataclass(frozen=True)
class InductionRecipe:
    """How a model of attention alone learns induction; everything follows from the seed."""

    n_layers: int = 2
    n_heads: int = 2
    dim: int = 64
    n_letters: int = 26
    steps: int = 800
    batch: int = 64
    learning_rate: float = 3e-3
    seed: int = 1


@dataclass(frozen=True, eq=False)
class InductionLook:
    """How far a model is: its loss and share of right letters in second halves, and two scores of every head, 0 to 1.

    previous   mean weight on the token before
    induction  mean weight on what followed the same letter before
    """

    step: int
    loss: float
    accuracy: float
    previous: Float[np.ndarray, "layer head"]
    induction: Float[np.ndarray, "layer head"]


def repeated(generator: np.random.Generator, recipe: InductionRecipe) -> Int[Tensor, "batch token"]:
    """Draw a batch of texts of one length: letters, none of them twice, and the same once more."""
    period = int(generator.integers(SHORTEST, LONGEST + 1))
    letters = generator.random((recipe.batch, recipe.n_letters)).argsort(axis=1)[:, :period]
    return torch.from_numpy(np.concatenate([letters, letters], axis=1))


def train(recipe: InductionRecipe, *, every: int = 50) -> Iterator[InductionLook]:
    """Train, and look at the model every so many steps."""
    with device.seeded(recipe.seed):
        sizes = {"n_layers": recipe.n_layers, "n_heads": recipe.n_heads, "dim": recipe.dim}
        model = AttentionOnly(n_tokens=recipe.n_letters, **sizes)
    generator = np.random.default_rng(recipe.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.learning_rate, weight_decay=0.01)
    for step in range(recipe.steps + 1):
        if step % every == 0:
            yield look(model, recipe, step)
        loss, _ = _loss(model, repeated(generator, recipe))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def train_in_turn(recipes: Sequence[InductionRecipe]) -> Iterator[tuple[int, InductionLook]]:
    """Train models in turn, a look at each by its number, so that all are at the same step."""
    runs = zip(*(train(recipe, every=20) for recipe in recipes), strict=True)
    return chain.from_iterable(enumerate(looks) for looks in runs)


def look(model: AttentionOnly, recipe: InductionRecipe, step: int) -> InductionLook:
    """Measure a model on texts of every length that are always the same."""
    generator = np.random.default_rng(10_000)
    losses, rights, before, scores = [], [], [], []
    with torch.inference_mode():
        for _ in range(4):
            tokens = repeated(generator, recipe)
            loss, right = _loss(model, tokens)
            weights = np.stack([layer.mean(dim=0).numpy() for layer in model(tokens)[1]])
            period, rows = tokens.shape[1] // 2, np.arange(1, tokens.shape[1])
            losses.append(float(loss))
            rights.append(right)
            before.append(weights[:, :, rows, rows - 1].mean(axis=2))
            scores.append(np.stack([induction(layer, period) for layer in weights]))
    return InductionLook(step, float(np.mean(losses)), float(np.mean(rights)), np.mean(before, axis=0), np.mean(scores, axis=0))


def _loss(model: AttentionOnly, tokens: Int[Tensor, "batch token"]) -> tuple[Float[Tensor, ""], float]:
    """Compute the loss in the second half, where what comes next can be known, and the share of right letters there."""
    period = tokens.shape[1] // 2
    scores = model(tokens[:, :-1])[0][:, period:]
    wanted = tokens[:, period + 1 :]
    loss = F.cross_entropy(scores.flatten(end_dim=1), wanted.flatten())
    return loss, float((scores.argmax(dim=-1) == wanted).float().mean())
