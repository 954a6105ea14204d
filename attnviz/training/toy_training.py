"""Toy tasks, learned in seconds: a small translator, and how far it has come, measured on sources it never sees.

One loop serves the live page and `attnviz train toy-reverse`. Everything follows from the seed.
"""

import dataclasses
import itertools
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from attnviz.models import device
from attnviz.models import toy_model as toys
from attnviz.models.toy_config import FILLED, ToyRecipe
from attnviz.models.toy_model import untrained_toy
from attnviz.text.toy_tasks import MARKS, Solved, Toy

START, END = 1, 2


@dataclass(frozen=True, eq=False)
class TranslationBatch:
    """Rows of one source length; targets padded with 0. The decoder reads `inputs` and should write `labels`."""

    source: Int[Tensor, "batch key"]
    inputs: Int[Tensor, "batch query"]
    labels: Int[Tensor, "batch query"]


def collate(rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> TranslationBatch:
    """Pad pairs of ids into a batch, with start and end marks.

    >>> collate([((7,), (5, 6)), ((8,), (5,))]).labels
    tensor([[5, 6, 2],
            [5, 2, 0]])
    """
    sources, targets = zip(*rows, strict=True)
    return TranslationBatch(
        _padded(sources), _padded([(START, *target) for target in targets]), _padded([(*target, END) for target in targets])
    )


def _padded(rows: Sequence[Sequence[int]]) -> Int[Tensor, "batch token"]:
    width = max(len(row) for row in rows)
    return torch.tensor([(*row, *([0] * (width - len(row)))) for row in rows], dtype=torch.long)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The gradient of a softmax under cross-entropy is p - t: both passes need p once, and nothing else of that size.

    PyTorch's own smoothing builds log p, a gradient for the true token, one for all tokens, and their sum.
    """

    @staticmethod
    def forward(
        ctx: Any, scores: Float[Tensor, "token vocabulary"], labels: Int[Tensor, " token"], smoothing: float
    ) -> Float[Tensor, ""]:
        share = (labels != 0) / (labels != 0).sum()
        true = scores.gather(1, labels[:, None])[:, 0]
        gradient = scores.softmax(dim=1)
        # log Σ exp(z) from the largest probability, which never underflows: no other pass over the vocabulary is needed.
        top, where = scores.max(dim=1)
        normalizer = top - gradient.gather(1, where[:, None])[:, 0].log()
        losses = normalizer - (1 - smoothing) * true - smoothing * scores.mean(dim=1)
        gradient.sub_(smoothing / scores.shape[1])
        gradient.scatter_add_(1, labels[:, None], scores.new_full((len(labels), 1), smoothing - 1))
        ctx.save_for_backward(gradient, share)
        return (losses * share).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Float[Tensor, ""]) -> tuple[Float[Tensor, "token vocabulary"], None, None]:  # pyrefly: ignore[bad-override]
        gradient, share = ctx.saved_tensors
        return gradient * (share * upstream)[:, None], None, None


def cross_entropy(
    scores: Float[Tensor, "*batch vocabulary"], labels: Int[Tensor, "*batch"], smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Average the cross-entropy over tokens, in nats; label 0 is padding; `smoothing` is the probability given to all tokens.

    Szegedy et al. 2016, arXiv:1512.00567, section 7.

    >>> round(float(cross_entropy(torch.zeros(2, 5), torch.tensor([3, 0]))), 4) == round(torch.tensor(5.).log().item(), 4)
    True
    """
    return _SmoothedCrossEntropy.apply(scores.flatten(0, -2).float(), labels.flatten(), smoothing)


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
    """Say whether a source text is never trained on."""
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


# From here on a model is told to know where to look (alignment error rate), and what to write (share of sources).
HALF_ALIGNED, HALF_RIGHT = 0.25, 0.5
# Steps between two measurements: steps decide what is measured, not who looks, nor how fast the model trains.
EVERY = 5


@dataclass
class Milestones:
    """The first of the measured steps at which a model aligned, and at which it answered; None: not yet, or nobody knows."""

    aligned: int | None = None
    answered: int | None = None

    def asks(self, step: int) -> bool:
        """Check whether a measurement at that step could tell something new."""
        return step % EVERY == 0 and None in (self.aligned, self.answered)

    def note(self, step: int, *, error: float, accuracy: float) -> None:
        """Take in what was measured: the alignment error rate of the best head, and the share of right answers, 0 to 1."""
        if self.aligned is None and error <= HALF_ALIGNED:
            self.aligned = step
        if self.answered is None and accuracy >= HALF_RIGHT:
            self.answered = step

    @property
    def sentence(self) -> str:
        """Say the order in one sentence; empty while one of the two has not come.

        Both are known to within `EVERY` steps, and measured on a sample: what lies no further apart than twice that is too
        close to tell.

        >>> Milestones(40, 65).sentence
        'First it learned where to look: three links in four were right by step 40, every second answer by step 65.'
        >>> Milestones(65, 55).sentence
        'Which came first is too close to tell: three links in four were right by step 65, every second answer by step 55.'
        """
        if self.aligned is None or self.answered is None:
            return ""
        links = f"three links in four were right by step {self.aligned:,}"
        answers = f"every second answer by step {self.answered:,}"
        if abs(self.aligned - self.answered) <= 2 * EVERY:
            return f"Which came first is too close to tell: {links}, {answers}."
        learned_first = self.aligned < self.answered
        return (
            f"{'First it learned where to look' if learned_first else 'Where to look did not come first'}: {links}, {answers}."
        )


# So many of the held-out sources are drawn.
DRAWN = 1


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


def learning_rate_at(recipe: ToyRecipe, step: int) -> float:
    """Compute the learning rate of a step, counted from 0: a warmup, a plateau, and a fall to 0 over the second half."""
    warmup = max(1, min(50, recipe.steps // 4))
    return recipe.learning_rate * min(1.0, (step + 1) / warmup, (recipe.steps - step) / (0.5 * recipe.steps))


class Training:
    """A toy model on its way: one optimizer step at a time, and a look at it whenever somebody asks.

    `weights` are those of a model that has taken so many steps already; its milestones are not known.
    """

    def __init__(self, recipe: ToyRecipe, weights: Mapping[str, Tensor] | None = None, taken: int = 0) -> None:
        self.recipe, self.taken = recipe, taken
        with device.seeded(recipe.seed):
            self.model = untrained_toy(recipe.model)
        if weights is not None:
            self.model.load_state_dict(dict(weights))
        self.optimizer = torch.optim.Adam(self.model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
        self.held_out = HeldOut.of(recipe)
        self._examples = examples(recipe.task, random.Random(-recipe.seed - 1), back=False)
        # Which steps of an LSTM read what it would have written.
        self._dice = torch.Generator().manual_seed(recipe.seed)
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
            group["lr"] = learning_rate_at(recipe, self.taken)
        batch = batch_of(recipe, list(itertools.islice(self._examples, recipe.batch)))
        self.model.train()
        forcing = (recipe.teacher_forcing, self._dice) if recipe.teacher_forcing < 1 else ()
        scores, _ = self.model(batch.source, batch.inputs, *forcing)
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
