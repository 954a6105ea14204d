"""Who gets the drink, with names and sentences that nobody has looked at: the heads that carry it, by ablation too; and speed.

In each text the name that stands once is the right one (Wang et al. 2023). Which three heads add most to it is counted; each of
those that were found before is switched off, and so is a head that is drawn by chance.
"""

import random
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import attnviz
from attnviz.analysis.whatif_comparison import bootstrap
from attnviz.analysis.wording import head_name
from attnviz.attribution.parts_and_lens import without_head
from attnviz.core.why import Parts
from benchmarks.harness import Row, at_most, none, run
from tests import tiny
from tests.contract.test_write import writer

SIZES = {"model": ("smollm2", ""), "texts": (50, 2), "repeats": (7, 1)}
NAMES = (
    "Oliver", "Grace", "Samuel", "Ruth", "Victor", "Clara", "Simon", "Helen", "Martin", "Julia", "Daniel",
    "Rachel", "Andrew", "Nancy", "Stephen", "Maria", "Patrick", "Diana", "Philip", "Rose", "Eric", "Kevin",
    "Amy", "Brian", "Linda", "Edward", "Claire", "Frank", "Ellen", "Adam", "Rebecca", "Charles", "Martha",
    "Walter", "Irene", "Jack", "Lucy", "Oscar",
)  # fmt: skip
SENTENCES = (
    "When {io} and {s} came home from the market, {s} gave a basket to",
    "After {s} and {io} had talked for an hour, {s} sent a letter to",
    "While {io} and {s} were waiting for the train, {s} offered a seat to",
    "Then {s} and {io} went to the kitchen, and {s} passed a plate to",
    "Because {io} and {s} were old friends, {s} lent a book to",
)
# The heads that were found in other texts.
CARRIERS = ((23, 3), (29, 1), (23, 0))
STRONGEST = 3
SMALL_NAMES = ("cat", "dog", "mat")


def texts(count: int, names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Sentences, each with the name that is asked for and the other one."""
    dice = random.Random(58)
    for number in range(count):
        io, s = dice.sample(names, 2)
        yield SENTENCES[number % len(SENTENCES)].format(io=io, s=s), io, s


def strongest(parts: Parts) -> list[tuple[int, ...]]:
    """The heads that add most to the right name."""
    order = np.argsort(-parts.heads, axis=None)[:STRONGEST]
    return [tuple(map(int, np.unravel_index(place, parts.heads.shape))) for place in order]


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The median of some runs, the first aside."""
    work()
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        spent.append(time.perf_counter() - began)
    return float(np.median(spent))


def rows(given: Namespace) -> Iterator[Row]:
    """Every table of this benchmark."""
    model: Any = attnviz.load(given.model) if given.model else writer(tiny.FAMILY["llama"])[1]
    own, dice = model.writer(), random.Random(7)
    carriers = CARRIERS if given.model else ((0, 1), (1, 2))
    names = [name for name in NAMES if len(own.read(f" {name}")) == 1] if given.model else SMALL_NAMES
    counts, right, lost = Counter(), 0, []
    for text, *words in texts(given.texts, names):
        result = attnviz.run(model, "write", text, tokens=0)
        parts = attnviz.parts(result, *words)
        counts.update(strongest(parts))
        right += parts.logit > 0
        chance = dice.randrange(model.card.n_layers), dice.randrange(model.card.n_heads)
        off = [without_head(result, *words, layer=layer, head=head) for layer, head in (*carriers, chance)]
        lost.append(parts.logit - np.array(off))
    yield Row("texts in which the right name is the likelier of the two", f"{right} of {given.texts}")
    found = ", ".join(f"{head_name(*head)} {count}" for head, count in counts.most_common(6))
    (_, most), *_ = counts.most_common(1)
    least = 0.8 * given.texts
    yield Row(f"texts in which a head is among the {STRONGEST} that add most", found, f"≥ {least:.0f}", most >= least)
    ranges = bootstrap(np.array(lost), np.ones(given.texts)).T
    heads = [*(head_name(*head) for head in carriers), "a head drawn by chance"]
    for name, mean, (low, high) in zip(heads, np.mean(lost, axis=0), ranges, strict=True):
        yield Row(f"difference of the two logits lost with {name} off", f"{mean:+.2f} (95 %: {low:+.2f} to {high:+.2f})")
    words = names[0], names[1]
    one, other = (SENTENCES[0].format(io=io, s=s) for io, s in (words, words[::-1]))
    result = attnviz.run(model, "write", one, tokens=0)
    yield at_most("all parts", seconds(lambda: attnviz.parts(result, *words), given.repeats), 0.3)
    yield at_most("the lens at one position", seconds(lambda: attnviz.lens(result, position=8), given.repeats), 0.3)
    yield at_most("the lens at all positions", seconds(lambda: attnviz.lens(result), given.repeats), 0.3)
    yield at_most("the quick estimate of all heads", seconds(
        lambda: attnviz.estimate_patches(model, one, other, *words), given.repeats), 1)  # fmt: skip
    began = time.perf_counter()
    attnviz.patch(model, one, other, *words)
    yield at_most("every head patched", time.perf_counter() - began, 20)
    same = attnviz.patch(model, one, one, *words)
    yield none("heads that change something where they are set to what they are", [
        head_name(*map(int, head)) for head in np.argwhere(same.change)])  # fmt: skip


if __name__ == "__main__":
    run(rows, minutes=60, sizes=SIZES)
