"""How often a claim is right, sentence by sentence: by each head, by fixed offsets, and by chance; and examples of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from attnviz.analysis.heads.atlas import AtlasExample
from attnviz.analysis.heads.claim import Claim
from attnviz.analysis.heads.claim_words import Clock, sources, targets
from attnviz.analysis.heads.word_attention import NOTHING, Strongest
from attnviz.text.conllu import ParsedSentence

# "Always the word k further on", for each of these k: the rival that needs no attention (Clark et al. 2019, section 4.2).
OFFSETS = tuple(k for k in range(-12, 13) if k)


@dataclass(frozen=True, eq=False)
class Counts:
    """What was counted for one claim; one row a sentence.

    queries    words that the claim is about, and for which it names a place to look
    hits       of these, how many look where the claim says, by layer and head; the last head is the mean of its layer
    by_offset  how many would be right if each looked a fixed offset further on
    chance     how many would be right on average if each looked anywhere
    """

    queries: Float[np.ndarray, " sentence"]
    hits: Float[np.ndarray, "sentence layer head"]
    by_offset: Float[np.ndarray, "sentence offset"]
    chance: Float[np.ndarray, " sentence"]

    def of(self, rows: "slice | np.ndarray") -> "Counts":
        """Keep some of the sentences."""
        return Counts(self.queries[rows], self.hits[rows], self.by_offset[rows], self.chance[rows])


def count(claim: Claim, sentences: Sequence[ParsedSentence], looked: Sequence[Strongest]) -> Counts:
    """Count in all sentences.

    Raises:
        ClaimError: a regular expression takes too long.
    """
    clock = Clock()
    n_layers, n_heads, _ = looked[0].top.shape if looked else (0, 0, 0)
    counts = Counts(
        np.zeros(len(looked)),
        np.zeros((len(looked), n_layers, n_heads)),
        np.zeros((len(looked), len(OFFSETS))),
        np.zeros(len(looked)),
    )
    for index, (sentence, strongest) in enumerate(zip(sentences, looked, strict=True)):
        claimed, rows = claimed_cells(claim, sentence, strongest, clock)
        if not len(rows):
            continue
        places = (strongest.top if claim.among_all else strongest.other)[:, :, rows]
        right = claimed[rows]
        counts.queries[index] = len(rows)
        counts.hits[index] = (right[np.arange(len(rows)), places] & (places != NOTHING)).sum(axis=2)
        counts.by_offset[index] = _by_offset(right, rows, strongest.n_words)
        candidates = claimed.shape[1] if claim.among_all else strongest.n_words - (rows < strongest.n_words)
        counts.chance[index] = (right.sum(axis=1) / np.maximum(candidates, 1)).sum()
    return counts


def claimed_cells(claim: Claim, sentence: ParsedSentence, strongest: Strongest, clock: Clock) -> tuple[np.ndarray, np.ndarray]:
    """Mark where the claim says that each unit looks, and list the units that it is about and that were read."""
    n_units = strongest.top.shape[2]
    about = sources(claim, sentence, n_units, clock)
    claimed = targets(claim, sentence, n_units, clock)
    if not claim.among_all:
        claimed[:, strongest.n_words :] = False
    read = (strongest.top != NOTHING).any(axis=(0, 1))
    return claimed, np.flatnonzero(about & read & claimed.any(axis=1))


def _by_offset(right: np.ndarray, rows: np.ndarray, n_words: int) -> Int[np.ndarray, " offset"]:
    places = rows[:, None] + np.array(OFFSETS)
    inside = (places >= 0) & (places < n_words) & (rows < n_words)[:, None]
    return (np.take_along_axis(right, np.where(inside, places, rows[:, None]), axis=1) & inside).sum(axis=0)


# So many words where a claim fails, and where it holds.
EXAMPLES = 4


def examples_of(
    claim: Claim,
    sentences: Sequence[ParsedSentence],
    looked: Sequence[Strongest],
    place: tuple[int, int],
    most: int = EXAMPLES,
) -> tuple[AtlasExample, ...]:
    """Find the words where a head looks most strongly and a claim fails, and those where it holds; one a sentence.

    The head after the last is the layer's mean.

    Raises:
        ClaimError: a regular expression takes too long.
    """
    clock, ranked = Clock(), []
    for index, (sentence, strongest) in enumerate(zip(sentences, looked, strict=True)):
        claimed, rows = claimed_cells(claim, sentence, strongest, clock)
        among_all = strongest.top, strongest.top_weight
        units, weights = among_all if claim.among_all else (strongest.other, strongest.other_weight)
        for row in rows.tolist():
            unit = int(units[(*place, row)])
            holds = unit >= 0 and bool(claimed[row, unit])
            ranked.append((float(weights[(*place, row)]), AtlasExample(index, row, unit, holds)))
    ranked.sort(key=lambda pair: -pair[0])
    examples: list[AtlasExample] = []
    for holds in (False, True):
        seen: set[int] = set()
        for _, example in ranked:
            if example.holds == holds and example.sentence not in seen and len(seen) < most:
                seen.add(example.sentence)
                examples.append(example)
    return tuple(examples)
