"""Exact truth: on tasks whose alignment is known, does the attention of each kind of translator find it?

Copying and reversing random words have one right alignment. A small model of each kind is trained afresh on each, and then the
strongest link of every word is compared with it; of a Transformer, the best of its heads, read naively and shifted.
"""

import random
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace

import torch

from attnviz.nn.encoder import BlockConfig
from attnviz.nn.lstm_translator import RecurrentConfig, Seq2Seq
from attnviz.training.toy_training import collate
from benchmarks.harness import Row, run
from recipes.loop import Run
from recipes.schedule import Schedule
from recipes.translate.recipe import LSTMSpec, Recipe, TransformerSpec
from recipes.translate.sentence_pairs import EncodedPair
from recipes.translate.task import Translating, development_loss

BAR = 0.95
WORDS, SEED = 37, 2014
SIZE = RecurrentConfig(dim=64, hidden=64, dropout=0.1)
KINDS = {
    "dot": LSTMSpec("dot", replace(SIZE, bidirectional=False)),
    "scaled": LSTMSpec("scaled", SIZE),
    "additive": LSTMSpec("additive", SIZE),
    "transformer": TransformerSpec(2, BlockConfig(dim=64, n_heads=4, hidden=128, norm="before", dropout=0.1)),
}
TASKS = {"copy": lambda words: words, "reverse": lambda words: words[::-1]}
SCHEDULE = Schedule(batch=128, learning_rate=3e-3, warmup=100, label_smoothing=0.0, precision="float32", seed=SEED)


def sentences(task: str, n: int, seed: int) -> list[EncodedPair]:
    """Random words, no word twice in a sentence: else two alignments would be right."""
    generator = random.Random(seed)
    rows = [tuple(generator.sample(range(4, 4 + WORDS), generator.randint(3, 10))) for _ in range(n)]
    return [EncodedPair(row, (TASKS[task](row),)) for row in rows]


def accuracy(model: torch.nn.Module, pairs: list[EncodedPair], task: str) -> tuple[float, str]:
    """The share of target words whose strongest link is the right one, and the head and reading that has the largest share."""
    hits: dict[str, int] = {}
    for pair in pairs:
        batch = collate([(pair.source, pair.targets[0])])
        weights = model(batch.source, batch.inputs)[1]
        n = len(pair.source)
        truth = torch.arange(n) if task == "copy" else torch.arange(n - 1, -1, -1)
        if isinstance(model, Seq2Seq):
            readings = {"": weights[0, :n]}
        else:
            heads = {f"L{i}·H{j}": head for i, layer in enumerate(weights.cross) for j, head in enumerate(layer[0])}
            # Row t reads word t - 1 and writes word t.
            readings = {f"{name} naive": head[:n] for name, head in heads.items()}
            readings |= {f"{name} shifted": head[1 : n + 1] for name, head in heads.items()}
        for name, rows in readings.items():
            hits[name] = hits.get(name, 0) + int((rows.argmax(-1) == truth).sum())
    best = max(hits, key=lambda name: hits[name])
    return hits[best] / sum(len(pair.source) for pair in pairs), best


def measured(kind: str, task: str, given: Namespace) -> Row:
    """Train one model afresh, and read its alignments of sentences that it has not seen."""
    torch.manual_seed(SEED)
    began = time.perf_counter()
    schedule = replace(SCHEDULE, epochs=given.epochs)
    recipe = Recipe(f"{kind}-{task}", "learns an exact task", "", KINDS[kind], schedule=schedule)
    learnt, chosen, unseen = (
        sentences(task, count, SEED + seed) for seed, count in enumerate((given.sentences, given.unseen, given.unseen))
    )
    training = Run(recipe, KINDS[kind].untrained_model(4 + WORDS, 4 + WORDS), Translating(recipe, learnt, chosen))
    training.train(lambda report: None)
    training.model.load_state_dict(training.best)
    with torch.no_grad():
        actual, reading = accuracy(training.model.eval(), unseen, task)
        loss = development_loss(training.model, unseen)
    told = f"{actual:.3f} of words, loss {loss:.4f}, {time.perf_counter() - began:.0f} s"
    return Row(f"{kind}, {task}", f"{told}, {reading}" if reading else told, f"≥ {BAR}", actual >= BAR)


def rows(given: Namespace) -> Iterator[Row]:
    """Each kind of model on each task."""
    return (measured(kind, task, given) for kind in given.kinds for task in TASKS)


if __name__ == "__main__":
    sizes = {"kinds": ([*KINDS], ["additive"]), "sentences": (20_000, 128), "unseen": (500, 5), "epochs": (12, 1)}
    run(rows, minutes=25, sizes=sizes)
