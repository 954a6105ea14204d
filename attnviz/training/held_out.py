"""Sources of a toy task that are never trained on, how far an alignment of them is from the true one; batches of sources."""

import itertools
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from attnviz.models.translate.toy_config import FILLED
from attnviz.text.toy_tasks import MARKS, Solved, Toy
from attnviz.training.batches import TranslationBatch, collate
from attnviz.training.toy_recipe import ToyRecipe

# Held-out sources that are measured at every look; the longest of the first few come first.
HELD_OUT, _FEW = 128, 3
# One source in eight is held out: its text decides, so that no run ever learns from it.
_SHARE = 8


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Sources that are never learned from, and where each of their target tokens comes from."""

    solved: tuple[Solved, ...]
    batch: TranslationBatch
    sure: Bool[np.ndarray, "batch query key"]
    possible: Bool[np.ndarray, "batch query key"]

    @staticmethod
    def of(recipe: ToyRecipe) -> "HeldOut":
        """Draw the held-out sources of a recipe's task and seed; what is drawn comes first."""
        generator = random.Random(recipe.seed)
        rows = list(itertools.islice(examples(recipe.task, generator, back=True), HELD_OUT))
        rows[:_FEW] = sorted(rows[:_FEW], key=lambda solved: -len(solved.source))
        batch = batch_of(recipe, rows)
        shape = (len(rows), batch.inputs.shape[1], batch.source.shape[1])
        sure, possible = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        for index, solved in enumerate(rows):
            for links, into in ((solved.sure, sure), (solved.possible, possible)):
                for row, keys in enumerate(links):
                    into[index, row, list(keys)] = True
        return HeldOut(tuple(rows), batch, sure, possible)

    def error_rate(self, weights: Float[np.ndarray, "batch query key"]) -> float:
        """AER of every row's strongest link, over the rows that have a true one: Och & Ney 2003, section 4.2."""
        linked = self.possible.any(axis=2)
        best = weights.argmax(axis=2)[..., None]
        hits = [np.take_along_axis(links, best, axis=2)[..., 0][linked].sum() for links in (self.sure, self.possible)]
        sure = self.sure.any(axis=2).sum()
        return 1 - float(sum(hits)) / float(linked.sum() + sure)


def kept_back(text: str) -> bool:
    """Whether a source text is never trained on."""
    return zlib.crc32(text.encode()) % _SHARE == 0


def examples(task: Toy, generator: random.Random, *, back: bool) -> Iterator[Solved]:
    while True:
        text = task.draw(generator)
        if kept_back(text) == back:
            yield task.solve(text)


def batch_of(recipe: ToyRecipe, rows: Sequence[Solved]) -> TranslationBatch:
    """Pad rows into a batch, sources to the longest; without a mask, padded with a token that can be seen."""
    task = recipe.task
    names = [({name: index for index, name in enumerate((*MARKS, *side))}) for side in (task.inputs, task.outputs)]
    longest = max(len(row.source) for row in rows)
    padding = 0 if recipe.masked else FILLED
    sources = [[*(names[0][token] for token in row.source), *[padding] * (longest - len(row.source))] for row in rows]
    return collate([(source, [names[1][token] for token in row.target]) for source, row in zip(sources, rows, strict=True)])
