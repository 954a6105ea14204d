"""An atlas, made: every claim of `analysis.heads.atlas` tested of every head of a model."""

from collections.abc import Sequence

import numpy as np

from attnviz.analysis.heads.atlas import ANTECEDENT, CLAIMS, Atlas, AtlasExample, ClaimFacts, examples_of
from attnviz.analysis.heads.claim import Claim, parse
from attnviz.analysis.heads.measures import Statistics, measure, merge
from attnviz.analysis.heads.verdict import SEED, Half, compare_with_rivals, supported
from attnviz.analysis.whatif_comparison import bootstrap
from attnviz.core.errors import CorpusError
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.survey.corpora import TREEBANK, WINOGENDER, shipped
from attnviz.survey.corpus_attention import CorpusAttention, Rivals, look
from attnviz.survey.self_attention import self_attention

# The measures of an atlas are taken of every fifth sentence: their means do not ask for more.
EVERY = 5


def make(model: AttentionModel, *, most: int | None = None, progress: Progress = silent) -> Atlas:
    """Test all claims of all heads over the shipped sentences, or the first `most` of them.

    Raises:
        ClaimError: the model can read none of them.
    """
    treebank, winogender = shipped(TREEBANK)[:most], shipped(WINOGENDER)[:most]
    rivals: Rivals = frozenset({"untrained"})
    looks = look(model, treebank, rivals=rivals, progress=progress)
    claims = [parse(text) for text in CLAIMS]
    resolved = look(model, winogender, rivals=rivals, progress=progress)
    sources = [*[looks] * len(claims), resolved]
    claims.append(parse(ANTECEDENT))
    halves = [compare_with_rivals(claim, source.evidence(claim)) for claim, source in zip(claims, sources, strict=True)]
    marks = np.array(supported(halves))
    statistics = _statistics(model, treebank[::EVERY])
    rates, low, high = (np.array(values) for values in zip(*map(_intervals, halves), strict=True))
    name = model.card.name
    command = f"attnviz atlas {name} -o {name}.json" + (f" --first {most}" if most else "")
    atlas = Atlas(
        model.card.name, TREEBANK, len(looks.sentences), command, tuple(map(_facts, claims, halves)), rates, low, high, marks,
        statistics.means, _shares(statistics), {},
    )  # fmt: skip
    atlas.examples.update(_examples(atlas, claims, looks))
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


def _statistics(model: AttentionModel, sentences: Sequence) -> Statistics:
    total = None
    for _, attention in self_attention(model, [sentence.text for sentence in sentences]):
        part = measure(attention)
        total = part if total is None else merge(total, part)
    if total is None:
        raise CorpusError(f"{model.card.name} can read none of these sentences: choose others.")
    return total


def _shares(statistics: Statistics) -> np.ndarray:
    total = statistics.histogram.sum(axis=2, keepdims=True)
    return statistics.histogram / np.where(total, total, 1)


def _examples(atlas: Atlas, claims: Sequence[Claim], attention: CorpusAttention) -> dict[str, tuple[AtlasExample, ...]]:
    """Find for each head the words of the treebank that its best claim is most and least right about."""
    examples = {}
    for layer in range(atlas.shape[0]):
        for head in range(atlas.shape[1]):
            best = atlas.best(layer, head)
            if best is not None and not claims[best].needs_antecedent:
                examples[f"{layer}.{head}"] = examples_of(claims[best], attention.sentences, attention.model, (layer, head))
    return examples
