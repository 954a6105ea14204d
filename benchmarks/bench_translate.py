"""How long each translator of the catalog takes for one sentence of ten words: greedily, and with a beam of five.

python benchmarks/bench_translate.py            seconds; exits 1 where a bar is missed
"""

import statistics
import sys
import time
from collections.abc import Callable

from attnviz.models import catalog
from attnviz.models.translate.own import TranslationModel
from attnviz.nn.decoding import Beam

SENTENCE = "I saw the two old dogs near the house today."
RUNS, WARM_UP = 20, 3
# Milliseconds for a greedy translation, and how many of them a beam of five may take.
LSTM, TRANSFORMER, BEAM = 60, 120, 4


def milliseconds(work: Callable[[], object]) -> float:
    """The median of some runs, after some that nobody counts."""
    actual = []
    for _ in range(WARM_UP + RUNS):
        start = time.perf_counter()
        work()
        actual.append((time.perf_counter() - start) * 1000)
    return statistics.median(actual[WARM_UP:])


def main() -> int:
    """Print the table; 1 if any model misses a bar."""
    missed = False
    print(f"{'model':22}{'greedy':>10}{'limit':>8}{'beam 5':>10}{'× greedy':>10}{'limit':>8}")
    for name in catalog.available_for("translate"):
        model = catalog.load(name)
        assert isinstance(model, TranslationModel)
        limit = LSTM if model.card.n_heads == 1 else TRANSFORMER
        greedy = milliseconds(lambda model=model: model.translate(SENTENCE))
        beam = milliseconds(lambda model=model: model.translate(SENTENCE, Beam(width=5)))
        missed |= greedy > limit or beam > BEAM * greedy
        print(f"{name:22}{greedy:>7.1f} ms{limit:>8}{beam:>7.1f} ms{beam / greedy:>10.1f}{BEAM:>8}", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
