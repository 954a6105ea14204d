"""How often the heads of an untrained model are called supported: `python benchmarks/bench_heads.py`.

Usage: python benchmarks/bench_heads.py [SEEDS] [SENTENCES]
"""

import sys
import time

import attnviz
from attnviz.survey.atlas import make
from attnviz.survey.untrained import untrained


def falsely_supported(seeds: int, sentences: int | None) -> None:
    """Print of how many heads × claims of untrained models an atlas would say that they hold."""
    model = attnviz.load("minilm")
    for seed in range(1, seeds + 1):
        begun = time.perf_counter()
        atlas = make(untrained(model, 1000 + seed), most=sentences)
        share, heads = atlas.supported.mean(), atlas.supported.any(axis=0).mean()
        seconds = time.perf_counter() - begun
        print(f"seed {seed}: {share:.2%} of heads × claims supported, {heads:.0%} of heads any ({seconds:.0f} s)")


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    falsely_supported(given[0] if given else 2, given[1] if len(given) > 1 else 300)
