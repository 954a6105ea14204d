"""How fast heads are measured, over a corpus and for claims, and how often those of an untrained model are called supported.

The survey's times are the processor's, so that work beside it counts less.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterator

import torch

import attnviz
from attnviz.analysis.heads.claim import parse
from attnviz.models.capabilities import capabilities
from attnviz.models.hub import hub_model
from attnviz.models.hub.hub_model import TracedModel
from attnviz.survey.corpus_survey import PART, read_part
from attnviz.survey.make_atlas import make
from attnviz.survey.treebank_attention import look
from attnviz.text.corpora import TREEBANK, shipped
from benchmarks.harness import Row, at_most, run

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
    encoded = dict(hub_model._encoded(model, texts))
    for batch in hub_model._batches(encoded, model.card.n_layers * model.card.n_heads):
        with torch.inference_mode():
            model.body(**hub_model._padded(model, [encoded[index] for index in batch]))


def survey_row(model: TracedModel, given: Namespace) -> Row:
    """How much of the bare forward's speed a survey keeps."""
    texts = tuple(sentence.text for sentence in shipped(TREEBANK)[: min(PART, given.sentences)])
    bare(model, texts)
    shares = [seconds(lambda: bare(model, texts)) / seconds(lambda: read_part(model, texts)) for _ in range(given.rounds)]
    share = statistics.median(shares)
    told = f"{share:.2f} ({min(shares):.2f} to {max(shares):.2f})"
    return Row("survey: of the bare forward's tokens a second", told, f"≥ {LEAST_SHARE}", share >= LEAST_SHARE)


def claim_rows(model: TracedModel, given: Namespace) -> Iterator[Row]:
    """How long a claim takes over the whole treebank, and a second one."""
    kept = []
    first = seconds(lambda: kept.append(look(model, shipped(TREEBANK)[: given.sentences])), time.perf_counter)
    first += seconds(lambda: kept[0].test([parse(FIRST)]), time.perf_counter)
    after = seconds(lambda: kept[0].test([parse(NEXT)]), time.perf_counter)
    yield at_most(f"the first claim over {len(kept[0].sentences):,} sentences", first, FIRST_CLAIM)
    yield at_most("the next", after, NEXT_CLAIM)


def untrained_row(model: TracedModel, seed: int, sentences: int) -> Row:
    """Of how many heads × claims of an untrained model an atlas would say that they hold."""
    random = capabilities(model).untrained(1000 + seed)
    assert random is not None
    atlas = make(random, most=sentences)
    share, heads = atlas.supported.mean(), atlas.supported.any(axis=0).mean()
    return Row(f"untrained, seed {seed}", f"{share:.2%} of heads × claims supported, {heads:.0%} of heads any")


def rows(given: Namespace) -> Iterator[Row]:
    """MiniLM's, then those of untrained models of its form."""
    minilm = attnviz.load("minilm")
    assert isinstance(minilm, TracedModel)
    yield survey_row(minilm, given)
    yield from claim_rows(minilm, given)
    yield from (untrained_row(minilm, 1 + seed, min(300, given.sentences)) for seed in range(given.seeds))


if __name__ == "__main__":
    run(rows, minutes=12, sizes={"sentences": (100_000, 7), "rounds": (5, 1), "seeds": (2, 1)})
