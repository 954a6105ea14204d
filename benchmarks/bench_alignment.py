"""Exact truth: on tasks whose alignment is known, does the attention of each kind of translator find it?

Copying and reversing random words have one right alignment. A small model of each kind is trained afresh on each, and then the
strongest link of every row is compared with it; of a Transformer, the best of its heads.

    python benchmarks/bench_alignment.py            a few minutes; exits 1 where a bar is missed
"""

import math
import random
import sys
import time
from dataclasses import replace

import torch

from attnviz.nn.encoder import BlockConfig
from attnviz.nn.seq2seq import RecurrentConfig, Seq2Seq
from attnviz.training.data import EncodedPair, collate
from attnviz.training.loop import Run
from attnviz.training.recipes import Attention, Recipe, Schedule, Stack

BAR = 0.95
WORDS, SENTENCES, SEED = 37, 20_000, 2014
SIZE = RecurrentConfig(dim=64, hidden=64, dropout=0.1)
KINDS = {
    "dot": Attention("dot", replace(SIZE, bidirectional=False)),
    "scaled": Attention("scaled", SIZE),
    "additive": Attention("additive", SIZE),
    "transformer": Stack(2, BlockConfig(dim=64, n_heads=4, hidden=128, norm="before", dropout=0.1)),
}
TASKS = {"copy": lambda words: words, "reverse": lambda words: words[::-1]}
SCHEDULE = Schedule(epochs=12, batch=128, learning_rate=3e-3, warmup=100, label_smoothing=0.0, precision="float32", seed=SEED)


def sentences(task: str, n: int, seed: int) -> list[EncodedPair]:
    """Random words, no word twice in a sentence: else two alignments would be right."""
    generator = random.Random(seed)
    rows = [tuple(generator.sample(range(4, 4 + WORDS), generator.randint(3, 10))) for _ in range(n)]
    return [EncodedPair(row, (TASKS[task](row),)) for row in rows]


def accuracy(model: torch.nn.Module, pairs: list[EncodedPair], task: str) -> float:
    """The share of target words whose strongest link is the right one."""
    hits: dict[str, int] = {}
    total = 0
    for pair in pairs:
        batch = collate([(pair.source, pair.targets[0])])
        weights = model(batch.source, batch.inputs)[1]
        n = len(pair.source)
        truth = torch.arange(n) if task == "copy" else torch.arange(n - 1, -1, -1)
        total += n
        if isinstance(model, Seq2Seq):
            readings = {"the one head": weights[0, :n]}
        else:
            # Row t reads token t - 1 and writes token t: the row that writes a word should look where the word stands.
            readings = {f"L{i}·H{j}": head[:n] for i, layer in enumerate(weights.cross) for j, head in enumerate(layer[0])}
        for name, rows in readings.items():
            hits[name] = hits.get(name, 0) + int((rows.argmax(-1) == truth).sum())
    return max(hits.values()) / total


def main() -> int:
    """Print the table; 1 if any model misses the bar."""
    torch.set_num_threads(2)
    print(f"{'model':12s} {'task':8s} {'accuracy':>8s} {'loss':>7s} {'seconds':>8s}   bar: {BAR}")
    worst = 1.0
    for name, model in KINDS.items():
        for task in TASKS:
            torch.manual_seed(SEED)
            began = time.perf_counter()
            recipe = Recipe(f"{name}-{task}", "learns an exact task", "", model, schedule=SCHEDULE)
            run = Run(recipe, model.build(4 + WORDS, 4 + WORDS), sentences(task, SENTENCES, SEED))
            losses = [math.nan]
            run.train(sentences(task, 500, SEED + 1), lambda report, seen=losses: seen.append(report.development or seen[-1]))
            run.model.load_state_dict(run.best)
            with torch.no_grad():
                found = accuracy(run.model.eval(), sentences(task, 500, SEED + 2), task)
            worst = min(worst, found)
            print(f"{name:12s} {task:8s} {found:8.3f} {losses[-1]:7.4f} {time.perf_counter() - began:8.1f}", flush=True)
    return int(worst < BAR)


if __name__ == "__main__":
    sys.exit(main())
