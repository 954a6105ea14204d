"""An atlas, made: every claim of `analysis.heads.atlas` tested of every head of a model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attnviz.analysis.heads.atlas import (
    ANTECEDENT,
    CLAIMS,
    Atlas,
    AtlasExample,
    ClaimedCells,
    ClaimFacts,
    WordAttention,
    claimed,
    examples_of,
    sentences_of_head,
    strongest_links,
)
from attnviz.analysis.heads.claim import Claim, parse
from attnviz.analysis.heads.measures import Statistics, measure, merge
from attnviz.analysis.heads.verdict import SEED, Half, compare_with_rivals, supported
from attnviz.analysis.whatif_comparison import bootstrap
from attnviz.core.errors import CorpusError
from attnviz.core.trace import AttentionMap
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.survey.treebank_attention import CorpusAttention, Rivals, look
from attnviz.text.corpora import TREEBANK, WINOGENDER, shipped

# The measures of an atlas are taken of every fifth sentence: their means do not ask for more.
EVERY = 5


def make(model: AttentionModel, *, most: int | None = None, progress: Progress = silent) -> Atlas:
    """Test all claims of all heads over the shipped sentences, or the first `most` of them.

    Raises:
        ClaimError: the model can read none of them.
    """
    treebank, winogender = shipped(TREEBANK)[:most], shipped(WINOGENDER)[:most]
    rivals: Rivals = frozenset({"untrained"})
    measured: list[Statistics] = []
    links: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def measure_some(index: int, attention: AttentionMap, among: WordAttention) -> None:
        links[index] = strongest_links(among)
        if index % EVERY == 0:
            measured[:] = [merge(*measured, measure(attention))]

    looks = look(model, treebank, rivals=rivals, progress=progress, each=measure_some)
    if not measured:
        raise CorpusError(f"{model.card.name} can read none of these sentences: choose others.")
    claims = [parse(text) for text in CLAIMS]
    resolved = look(model, winogender, rivals=rivals, progress=progress)
    sources = [*[looks] * len(claims), resolved]
    claims.append(parse(ANTECEDENT))
    halves = [compare_with_rivals(claim, source.evidence(claim)) for claim, source in zip(claims, sources, strict=True)]
    marks = np.array(supported(halves))
    (statistics,) = measured
    rates, low, high = (np.array(values) for values in zip(*map(_intervals, halves), strict=True))
    name = model.card.name
    command = f"attnviz atlas {name} -o {name}.json" + (f" --first {most}" if most else "")
    atlas = Atlas(
        model.card.name, TREEBANK, len(looks.sentences), command, tuple(map(_facts, claims, halves)), rates, low, high, marks,
        statistics.means, _shares(statistics), {}, {},
    )  # fmt: skip
    numbers = sorted(links)
    read = {number: treebank[number] for number in numbers}
    atlas.examples.update(_examples(atlas, claims, looks, numbers))
    words, weights = (np.stack(each) for each in zip(*(links[number] for number in numbers), strict=True))
    for layer, head in np.ndindex(*atlas.shape):
        atlas.links[f"{layer}.{head}"] = sentences_of_head(words[:, layer, head], weights[:, layer, head], read)
    return atlas


def _facts(claim: Claim, half: Half) -> ClaimFacts:
    rates = {rival.name.split()[0]: rival.rate for rival, _ in half.rivals}
    offset = next(int(rival.name.split()[1]) for rival, _ in half.rivals if rival.name.startswith("offset"))
    queries = int(half.reported.queries.sum())
    return ClaimFacts(claim.text, queries, rates["chance"], offset, rates["offset"], claim.is_place, rates.get("untrained"))


def _intervals(half: Half) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute the rate of every head, and between which it lies in 95 of 100 samples of sentences."""
    queries, hits = half.reported.queries, half.reported.hits[:, :, :-1]
    low, high = bootstrap(hits, queries, seed=SEED)
    return hits.sum(axis=0) / max(queries.sum(), 1), low, high


def _shares(statistics: Statistics) -> np.ndarray:
    total = statistics.histogram.sum(axis=2, keepdims=True)
    return statistics.histogram / np.where(total, total, 1)


def _examples(
    atlas: Atlas, claims: Sequence[Claim], attention: CorpusAttention, numbers: Sequence[int]
) -> dict[str, tuple[AtlasExample, ...]]:
    """Find for each head the words of the treebank that its best claim is most and least right about.

    numbers  of the sentences that the model could read, in the treebank
    """
    cells: dict[int, list[ClaimedCells]] = {}
    examples, sentences, looked = {}, attention.sentences, attention.model
    for layer, head in np.ndindex(*atlas.shape):
        best = atlas.best(layer, head)
        if best is not None and not claims[best].needs_antecedent:
            if best not in cells:
                cells[best] = claimed(claims[best], sentences, looked)
            cases = examples_of(claims[best], sentences, looked, (layer, head), cells=cells[best])
            examples[f"{layer}.{head}"] = tuple(replace(case, sentence=numbers[case.sentence]) for case in cases)
    return examples
