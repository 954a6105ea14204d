"""How long each translator of the catalog takes for one sentence of ten words: greedily, and with a beam of five."""

import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterator

from attnviz.models import catalog
from attnviz.models.shipped_translators import TranslationModel
from attnviz.nn.decoding import Beam
from benchmarks.harness import Row, at_most, run

SENTENCE = "I saw the two old dogs near the house today."
WARM_UP = 3
# Milliseconds for a greedy translation, and how many of them a beam of five may take.
LSTM, TRANSFORMER, BEAM = 60, 120, 4


def milliseconds(work: Callable[[], object], runs: int) -> float:
    """The median of some runs, after some that nobody counts."""
    actual = []
    for _ in range(WARM_UP + runs):
        start = time.perf_counter()
        work()
        actual.append((time.perf_counter() - start) * 1000)
    return statistics.median(actual[WARM_UP:])


def rows(given: Namespace) -> Iterator[Row]:
    """Each translator."""
    for name in given.models:
        model = catalog.load(name)
        assert isinstance(model, TranslationModel)
        limit = LSTM if model.card.n_heads == 1 else TRANSFORMER
        greedy = milliseconds(lambda model=model: model.translate(SENTENCE), given.runs)
        beam = milliseconds(lambda model=model: model.translate(SENTENCE, Beam(width=5)), given.runs)
        yield at_most(f"{name}: greedy", greedy, limit, "ms")
        yield at_most(f"{name}: a beam of five, against greedy", beam / greedy, BEAM, "×", f", {beam:.1f} ms")


if __name__ == "__main__":
    names = catalog.available_for("translate")
    run(rows, minutes=5, sizes={"models": ([*names], [*names[:1]]), "runs": (20, 1)})
