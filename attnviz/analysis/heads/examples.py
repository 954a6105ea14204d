"""Words of a treebank that a claim is most and least right about."""

from collections.abc import Sequence

from attnviz.analysis.heads.atlas import AtlasExample
from attnviz.analysis.heads.claim import Claim
from attnviz.analysis.heads.counts import cases
from attnviz.analysis.heads.word_attention import Strongest
from attnviz.text.conllu import ParsedSentence

# So many words where a claim fails, and where it holds.
EXAMPLES = 4


def examples_of(
    claim: Claim,
    sentences: Sequence[ParsedSentence],
    looked: Sequence[Strongest],
    place: tuple[int, int],
    most: int = EXAMPLES,
) -> tuple[AtlasExample, ...]:
    """Find the words where a head looks most strongly and a claim fails, and those where it holds; one a sentence."""
    layer, head = place
    listed = sorted(
        cases(claim, sentences, looked, layer, head),
        key=lambda case: -_weight(claim, looked[case.sentence], layer, head, case.word),
    )
    examples = []
    for holds in (False, True):
        seen: set[int] = set()
        for case in listed:
            if case.holds == holds and case.sentence not in seen and len(seen) < most:
                seen.add(case.sentence)
                examples.append(AtlasExample(case.sentence, case.word, case.looks, case.holds))
    return tuple(examples)


def _weight(claim: Claim, strongest: Strongest, layer: int, head: int, word: int) -> float:
    return float((strongest.top_weight if claim.among_all else strongest.other_weight)[layer, head, word])
