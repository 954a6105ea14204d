"""Where every head looks in a treebank: the model's own, the same model untrained, with words shuffled, and on average."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from attnviz.analysis.heads.atlas import WORDS, Strongest, WordAttention, claimed, count, examples_of, strongest, word_attention
from attnviz.analysis.heads.claim import Claim
from attnviz.analysis.heads.verdict import ClaimReport, ClaimResult, Evidence, choose, judge_claims
from attnviz.core.errors import ArgumentError, ClaimError, CorpusError, described
from attnviz.core.trace import AttentionMap
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.models.capabilities import capabilities
from attnviz.survey.self_attention import self_attention
from attnviz.text.corpora import TREEBANK, shipped
from attnviz.text.data_files import ParsedSentence

SEED = 0
# Called with the place of a sentence, the model's attention, and the same between words.
EachSentence = Callable[[int, AttentionMap, WordAttention], object]
# The untrained model and the shuffled words need no more sentences than these to be known well enough.
RIVAL_SENTENCES = 500
Rivals = frozenset[Literal["untrained", "shuffled"]]
RIVALS: Rivals = frozenset({"untrained", "shuffled"})


def untrained(model: AttentionModel) -> AttentionModel | None:
    """Build the same model with random weights; None where it cannot be had."""
    return capabilities(model).untrained(SEED)


def shuffled(sentence: ParsedSentence, seed: int) -> ParsedSentence:
    """Lay the words of a sentence out in another order, each with its head, parted by spaces."""
    order = np.random.default_rng(seed).permutation(len(sentence.words)).tolist()
    places = {old: new for new, old in enumerate(order)}
    words, position = [], 0
    for old in order:
        word = sentence.words[old]
        head = None if word.head is None else places[word.head]
        words.append(replace(word, start=position, end=position + len(word.text), head=head))
        position += len(word.text) + 1
    pronoun, antecedent = (None if place is None else places[place] for place in (sentence.pronoun, sentence.antecedent))
    text = " ".join(word.text for word in words)
    return ParsedSentence(text, tuple(words), sentence.name, pronoun, antecedent)


@dataclass(frozen=True, eq=False)
class CorpusAttention:
    """Sentences, and where each unit of them looks; of an untrained model and of shuffled words where they were computed."""

    sentences: tuple[ParsedSentence, ...]
    model: tuple[Strongest, ...]
    untrained: tuple[Strongest, ...] | None = None
    shuffled: tuple[tuple[ParsedSentence, ...], tuple[Strongest, ...]] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        stacks = [self.model, self.untrained or (), self.shuffled[1] if self.shuffled else ()]
        return sum(each.nbytes for stack in stacks for each in stack)

    def evidence(self, claim: Claim) -> Evidence:
        """Count a claim.

        Raises:
            ClaimError: the sentences lack what it is about, or a regular expression takes too long.
            ArgumentError: this is no claim.
        """
        if not isinstance(claim, Claim):
            raise ArgumentError(f"A claim is what attnviz.analysis.heads.claim.parse reads, not {described(claim)}.")
        _check_annotated(claim, self.sentences)
        # What is untrained reads the same words.
        cells, few = claimed(claim, self.sentences, self.model), len(self.untrained or ())
        return Evidence(
            count(claim, self.sentences, self.model, cells),
            None if self.untrained is None else count(claim, self.sentences[:few], self.untrained, cells[:few]),
            None if self.shuffled is None else count(claim, *self.shuffled),
        )

    def test(self, claims: Sequence[Claim]) -> list[ClaimResult]:
        """Test claims together.

        Raises:
            ClaimError: as of `evidence` and of `judge_claims`.
        """
        return judge_claims(claims, [self.evidence(claim) for claim in claims])

    def report(self, tested: ClaimResult, most: int) -> ClaimReport:
        """Add to a verdict words where the claim fails and where it holds, at most so many of each.

        Raises:
            ClaimError: a regular expression takes too long.
        """
        # The layer's mean is the last of its heads.
        head = -1 if tested.head is None else tested.head
        cases = examples_of(tested.claim, self.sentences, self.model, (tested.layer, head), most)
        kept = sorted({case.sentence for case in cases})
        numbered = tuple(replace(case, sentence=kept.index(case.sentence)) for case in cases)
        return ClaimReport(tested, numbered, tuple(self.sentences[number] for number in kept))

    def test_each(self, claims: Sequence[Claim | ClaimError]) -> list[ClaimResult | ClaimError]:
        """Test claims together; what is wrong with one stands in its place, as what was wrong with its text does already."""
        results: list[ClaimResult | ClaimError] = []
        evidence = {}
        for index, claim in enumerate(claims):
            try:
                if isinstance(claim, ClaimError):
                    raise claim
                claim_evidence = self.evidence(claim)
                choose(claim, claim_evidence.model)
                evidence[index] = claim, claim_evidence
                results.append(ClaimError(""))
            except ClaimError as error:
                results.append(error)
        for index, tested in zip(
            evidence, judge_claims(*zip(*evidence.values(), strict=True)) if evidence else (), strict=True
        ):
            results[index] = tested
        return results


def _check_annotated(claim: Claim, sentences: Sequence[ParsedSentence]) -> None:
    if claim.needs_syntax and not any(word.pos for sentence in sentences for word in sentence.words):
        raise ClaimError(
            f"“{claim.text}” needs sentences with their syntax, and these have none: claim something of words or places, or "
            "choose the treebank."
        )
    if claim.needs_antecedent and not any(sentence.pronoun is not None for sentence in sentences):
        raise ClaimError(f"“{claim.text}” needs sentences whose pronouns are resolved: choose winogender.")


def look(
    model: AttentionModel,
    sentences: Sequence[ParsedSentence],
    *,
    rivals: Rivals = RIVALS,
    progress: Progress = silent,
    each: EachSentence | None = None,
) -> CorpusAttention:
    """Run the model over all sentences; of the `rivals`, the model untrained, and the same words shuffled, over the first 500.

    `each` is called with every sentence that the model has read, for what else is computed of it.

    Raises:
        ClaimError: the model can read none of them.
        ArgumentError: this is no model, or these are no sentences.
    """
    if others := [each for each in sentences if not isinstance(each, ParsedSentence)]:
        raise ArgumentError(f"Sentences are what attnviz.text.corpora.corpus reads, not {described(others[0])}.")
    few = min(RIVAL_SENTENCES, len(sentences))
    total, name = max(1, len(sentences) + few * len(rivals)), capabilities(model).card.name

    def part(before: int, stage: str) -> Callable[[int], None]:
        return lambda done: progress(stage, (before + done) / total)

    read = _read(model, sentences, part(0, f"{name} reads {len(sentences):,} sentences"), each)
    if not read:
        raise ClaimError(f"{name} can read none of these sentences: choose others.")
    # What the model cannot read is left out everywhere.
    kept = tuple(sentences[index] for index in sorted(read))
    looks = CorpusAttention(kept, tuple(read[index] for index in sorted(read)))
    if "untrained" in rivals and (blank := untrained(model)) is not None:
        again = _read(blank, kept[:few], part(len(sentences), f"{name}, untrained, reads {few}"))
        looks = replace(looks, untrained=tuple(again[index] for index in range(len(again))))
    if "shuffled" in rivals:
        mixed = tuple(shuffled(sentence, SEED + index) for index, sentence in enumerate(kept[:few]))
        looked = _read(model, mixed, part(total - few, f"{name} reads the words of {few} shuffled"))
        looks = replace(looks, shuffled=(mixed, tuple(looked[index] for index in range(len(mixed)))))
    return looks


def _read(
    model: AttentionModel,
    sentences: Sequence[ParsedSentence],
    report: Callable[[int], None],
    each: EachSentence | None = None,
) -> dict[int, Strongest]:
    looks: dict[int, Strongest] = {}
    report(0)
    for index, attention in self_attention(model, [sentence.text for sentence in sentences]):
        looks[index] = strongest(among := word_attention(attention, sentences[index]))
        if each is not None:
            each(index, attention, among)
        if len(looks) % 16 == 0 and len(looks) < len(sentences):
            report(len(looks))
    report(len(sentences))
    return looks


# Means of eight by eight cells do not ask for more, nor for long sentences.
MOST_SENTENCES, MOST_WORDS = 400, 24


@dataclass(frozen=True, eq=False)
class FirstWords:
    """The mean attention of each head among the first words of so many sentences, of which special tokens take their part."""

    means: Float[np.ndarray, "layer head query key"]
    sentences: int


def first_words(model: AttentionModel, progress: Progress = silent) -> FirstWords:
    """Average over the treebank's sentences that are long enough, and no longer than they need be.

    Raises:
        CorpusError: the model can read none of them.
        ModelError: it has no attention of a text to itself.
    """
    fitting = [sentence for sentence in shipped(TREEBANK) if WORDS <= len(sentence.words) <= MOST_WORDS][:MOST_SENTENCES]
    total, n_read = None, 0
    for index, attention in self_attention(model, [sentence.text for sentence in fitting]):
        among = word_attention(attention, fitting[index]).weights[:, :-1, :WORDS, :WORDS]
        total = among.astype(np.float64) if total is None else total + among
        n_read += 1
        progress(f"{model.card.name} reads {len(fitting)} sentences", n_read / len(fitting))
    if total is None:
        raise CorpusError(f"{model.card.name} can read none of these sentences: choose another model.")
    return FirstWords(total / n_read, n_read)
