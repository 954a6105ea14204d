"""How fast heads are measured: a survey against the model's bare batched forward, and claims over the treebank.

Run `python benchmarks/bench_survey.py`. Times are the processor's, so that work beside it counts less. Exits 1 if a bar is
missed.
"""

import statistics
import sys
import time
from collections.abc import Callable

import torch

import attnviz
from attnviz.analysis.heads.claim import parse
from attnviz.models.hub.encoder import TracedModel
from attnviz.survey import batches
from attnviz.survey.corpora import TREEBANK, shipped
from attnviz.survey.corpus_attention import look
from attnviz.survey.corpus_survey import PART, read_part

ROUNDS = 5
# Tokens a second against the bare forward; seconds until the first claim, and until the next.
LEAST_SHARE, FIRST_CLAIM, NEXT_CLAIM = 0.5, 25.0, 2.0
FIRST, NEXT = "obj -> head", "det -> head"


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Time one run."""
    begun = clock()
    work()
    return clock() - begun


def bare(model: TracedModel, texts: tuple[str, ...]) -> None:
    """Tokenize the texts and run them through the model in the batches of a survey, recording nothing."""
    encoded = dict(batches._encoded(model, texts))
    for batch in batches._batches(encoded, model.card.n_layers * model.card.n_heads):
        with torch.inference_mode():
            model.body(**batches._padded(model, [encoded[index] for index in batch]))


def survey_share(model: TracedModel) -> bool:
    """Print how much of the bare forward's speed a survey keeps."""
    texts = tuple(sentence.text for sentence in shipped(TREEBANK)[:PART])
    bare(model, texts)
    shares = [seconds(lambda: bare(model, texts)) / seconds(lambda: read_part(model, texts)) for _ in range(ROUNDS)]
    share = statistics.median(shares)
    print(
        f"survey: {share:.2f} of the bare forward's tokens a second (bar {LEAST_SHARE}; {min(shares):.2f} to {max(shares):.2f})"
    )
    return share >= LEAST_SHARE


def claims(model: TracedModel) -> bool:
    """Print how long a claim takes over the whole treebank, and a second one."""
    kept = []
    first = seconds(lambda: kept.append(look(model, shipped(TREEBANK))), time.perf_counter)
    first += seconds(lambda: kept[0].test([parse(FIRST)]), time.perf_counter)
    after = seconds(lambda: kept[0].test([parse(NEXT)]), time.perf_counter)
    print(f"claims over {len(kept[0].sentences):,} sentences: the first {first:.1f} s (bar {FIRST_CLAIM:.0f}), "
          f"the next {after:.2f} s (bar {NEXT_CLAIM:.0f})")  # fmt: skip
    return first <= FIRST_CLAIM and after <= NEXT_CLAIM


if __name__ == "__main__":
    minilm = attnviz.load("minilm")
    assert isinstance(minilm, TracedModel)
    sys.exit(0 if all([survey_share(minilm), claims(minilm)]) else 1)
