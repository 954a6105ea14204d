"""What a run trains on: the part of a training that differs from model to model."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from recipes.schedule import Schedule


@dataclass
class RunProgress:
    """How far a run has come: all of it goes into a checkpoint, beside weights and optimizer."""

    epoch: int = 0
    step_in_epoch: int = 0
    step: int = 0
    seconds: float = 0.0
    best: float = math.inf
    best_epoch: int = 0


@runtime_checkable
class Task(Protocol):
    """Batches and the loss of each; all of it follows from the epoch and the schedule's seed, so that a run can be resumed."""

    @property
    def n_examples(self) -> int:
        """Count the examples there are to learn from."""
        ...

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """Make a new optimizer; a parameter group may have a `scale`, its share of the schedule's learning rate."""
        ...

    def batches(self, epoch: int) -> Sequence[Any]:
        """Deal out one pass, in order."""
        ...

    def loss(self, model: nn.Module, batch: Any, place: RunProgress) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Compute what is minimized, and what of it is reported."""
        ...

    def development(self, model: nn.Module) -> float:
        """Compute the loss on data that is not trained on: it decides which epoch is best."""
        ...


@runtime_checkable
class TaskRecipe(Protocol):
    """What a run asks of a recipe."""

    @property
    def schedule(self) -> Schedule:
        """How the weights are found."""
        ...

    def as_json(self) -> str:
        """Write the whole of it, as it is saved."""
        ...
