"""Toy tasks, learned in seconds: a small translator, and how far it has come, measured on sources it never sees.

One loop serves the live page and `attnviz train toy-reverse`. Everything follows from the seed.
"""

import dataclasses
import itertools
import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnviz.models.translate import toy_model as toys
from attnviz.models.translate.toy_model import untrained_toy
from attnviz.training.held_out import HeldOut, batch_of, examples
from attnviz.training.loss import cross_entropy
from attnviz.training.milestones import Milestones
from attnviz.training.toy_recipe import ToyRecipe

# So many of the held-out sources are drawn.
DRAWN = 1
_SEEDING = threading.Lock()


@dataclass(frozen=True, eq=False)
class Frame:
    """How far a model is after `step` steps: everything that a picture of it shows, and its weights.

    loss        mean training loss a token since the frame before, in nats; before the first step that of the held-out sources
    accuracy    share of held-out sources whose whole target is right, 0 to 1
    errors      alignment error rate of each head on them, 0 to 1: the strongest link of every row against the true ones
    alignments  cross-attention of the drawn sources, given their true targets: layer, head, query, key
    written     what stands at each step of their targets by the model: token numbers
    """

    step: int
    loss: float
    accuracy: float
    errors: Float[np.ndarray, "layer head"]
    alignments: tuple[Float[np.ndarray, "layer head _ _"], ...]
    written: tuple[tuple[int, ...], ...]
    weights: dict[str, Tensor]

    def __str__(self) -> str:
        return f"step {self.step}  loss {self.loss:.4f}  accuracy {self.accuracy:.3f}  alignment error rate {self.error:.3f}"

    @property
    def best(self) -> tuple[int, int]:
        """The layer and head that align best."""
        layer, head = np.unravel_index(int(self.errors.argmin()), self.errors.shape)
        return int(layer), int(head)

    @property
    def error(self) -> float:
        """The alignment error rate of the best head."""
        return float(self.errors.min())


class Training:
    """A toy model on its way: one optimizer step at a time, and a look at it whenever somebody asks.

    `weights` are those of a model that has taken so many steps already; its milestones are not known.
    """

    def __init__(self, recipe: ToyRecipe, weights: Mapping[str, Tensor] | None = None, taken: int = 0) -> None:
        self.recipe, self.taken = recipe, taken
        # The first weights come out of a generator that the whole process shares: one at a time, and then as it was before.
        with _SEEDING, torch.random.fork_rng(devices=()):
            torch.manual_seed(recipe.seed)
            self.model = untrained_toy(recipe.model)
        if weights is not None:
            self.model.load_state_dict(dict(weights))
        self.optimizer = torch.optim.Adam(self.model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
        self.held_out = HeldOut.of(recipe)
        self._examples = examples(recipe.task, random.Random(-recipe.seed - 1), back=False)
        self._losses: list[float] = []
        self.milestones = Milestones()
        self._watched_from_the_first = taken == 0

    @property
    def ended(self) -> bool:
        return self.taken >= self.recipe.steps

    def step(self) -> float:
        """Train on one batch of new examples, and return the loss on it, in nats a token."""
        recipe = self.recipe
        for group in self.optimizer.param_groups:
            group["lr"] = recipe.rate_at(self.taken)
        batch = batch_of(recipe, list(itertools.islice(self._examples, recipe.batch)))
        self.model.train()
        scores, _ = self.model(batch.source, batch.inputs, recipe.teacher_forcing)
        loss = cross_entropy(scores, batch.labels)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.taken += 1
        self._losses.append(loss.item())
        if self._watched_from_the_first and self.milestones.asks(self.taken):
            _, right, heads, _ = self._read_held_out()
            self.milestones.note(self.taken, error=float(self._errors(heads).min()), accuracy=float(right.mean()))
        return self._losses[-1]

    def _read_held_out(
        self,
    ) -> tuple[
        Float[Tensor, "batch query piece"], Bool[np.ndarray, " batch"], Float[np.ndarray, "batch layer head query key"], Any
    ]:
        """Compute the scores, whether each target is right, the cross-attention, and the pieces after the true ones."""
        batch = self.held_out.batch
        self.model.eval()
        with torch.inference_mode():
            scores, attention = self.model(batch.source, batch.inputs)
        # Where every token of a target is right after the true ones before it, the model writes that target by itself.
        written = scores.argmax(dim=-1)
        right = ((written == batch.labels) | (batch.labels == 0)).all(dim=1)
        return scores, right.numpy(), _heads(attention), written

    def _errors(self, heads: Float[np.ndarray, "batch layer head query key"]) -> Float[np.ndarray, "layer head"]:
        n_layers, n_heads = heads.shape[1:3]
        return np.array(
            [[self.held_out.error_rate(heads[:, layer, head]) for head in range(n_heads)] for layer in range(n_layers)]
        )

    def look(self) -> Frame:
        """Measure how far the model is. A look changes nothing of what it learns."""
        losses, self._losses = self._losses, []
        scores, right, heads, written = self._read_held_out()
        loss = float(np.mean(losses)) if losses else float(cross_entropy(scores, self.held_out.batch.labels))
        drawn = self.held_out.solved[:DRAWN]
        # A row of the picture is the token that its step writes, the end mark last.
        sizes = [(len(each.target) + 1, len(each.source) if self.recipe.masked else heads.shape[4]) for each in drawn]
        return Frame(
            self.taken, loss, float(right.mean()), self._errors(heads),
            tuple(heads[index, :, :, :rows, :columns].copy() for index, (rows, columns) in enumerate(sizes)),
            tuple(tuple(written[index, :rows].tolist()) for index, (rows, _) in enumerate(sizes)),
            {name: value.detach().clone() for name, value in self.model.state_dict().items()},
        )  # fmt: skip


def _heads(attention: Any) -> Float[np.ndarray, "batch layer head query key"]:
    """Return the cross-attention of either kind of model, LSTM or Transformer."""
    if isinstance(attention, Tensor):
        return attention.numpy()[:, None, None]
    return torch.stack(attention.cross, dim=1).numpy()


def to_file(recipe: ToyRecipe, frame: Frame) -> bytes:
    """Write a model as it is at a frame, as a safetensors file that knows its recipe."""
    return toys.to_bytes(recipe.model, frame.weights, {"recipe": dataclasses.asdict(recipe), "step": frame.step})


def from_file(data: bytes, name: str = "this file") -> Training:
    """Read a model from a file that `to_file` made, ready to be looked at.

    Raises:
        ModelError: it is no such file, or is damaged.
    """
    config, weights, facts = toys.from_bytes(data, name)
    toys.toy_model(config, weights)
    recipe = facts.get("recipe", {})
    settings = recipe if isinstance(recipe, dict) else {"damaged": recipe}
    recipe = ToyRecipe.of({**settings, "model": dataclasses.asdict(config)})
    step = facts.get("step")
    return Training(recipe, weights, min(step, recipe.steps) if type(step) is int and step > 0 else recipe.steps)
