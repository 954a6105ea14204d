"""All that decides the training of a toy model, as a value that is checked when it comes out of a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attnviz.core.errors import ModelError
from attnviz.models.translate.toy_config import ToyConfig
from attnviz.text.toy_tasks import TOYS, Toy

# The largest number of steps, and seed, of a recipe; and of examples in a batch.
MOST, MOST_BATCH = 100_000, 1_000
MOST_STEPS = 5000


@dataclass(frozen=True)
class ToyRecipe:
    """All that decides a toy model.

    masked  False: padding is read like any token, to see what breaks
    teacher_forcing  share of the decoder's steps that read the true token, of an LSTM
    """

    model: ToyConfig
    steps: int = 300
    batch: int = 64
    learning_rate: float = 5e-3
    teacher_forcing: float = 1.0
    masked: bool = True
    seed: int = 1

    @property
    def task(self) -> Toy:
        return TOYS[self.model.task]

    @staticmethod
    def of(facts: Mapping[str, Any]) -> "ToyRecipe":
        """Rebuild the recipe that `dataclasses.asdict` made these values of.

        Raises:
            ModelError: they are not such values.
        """
        try:
            recipe = ToyRecipe(ToyConfig(**facts["model"]), **{name: value for name, value in facts.items() if name != "model"})
            return _checked(recipe)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelError("The recipe in this file is damaged: train the model again.") from error

    def rate_at(self, step: int) -> float:
        """Compute the learning rate of a step, counted from 0: a warmup, a plateau, and a fall to 0 over the second half."""
        warmup = max(1, min(50, self.steps // 4))
        return self.learning_rate * min(1.0, (step + 1) / warmup, (self.steps - step) / (0.5 * self.steps))


def _checked(recipe: ToyRecipe) -> ToyRecipe:
    whole = (recipe.steps, MOST), (recipe.batch, MOST_BATCH), (recipe.seed, MOST)
    if not all(type(number) is int and 0 < number <= most for number, most in whole) or type(recipe.masked) is not bool:
        raise ValueError("sizes of a recipe are positive whole numbers")
    if not (0 <= recipe.teacher_forcing <= 1 and 0 < recipe.learning_rate <= 1):
        raise ValueError("shares and rates are between 0 and 1")
    return recipe
