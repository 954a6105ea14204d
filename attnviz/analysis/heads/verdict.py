"""Whether a claim stands: its rate on sentences that had no part in choosing the head, beside what needs no such head.

Even sentences choose the head and the best fixed offset, odd ones are reported. A claim holds where it beats chance, the best
offset and the best head of an untrained model, each by a margin and by a test corrected for all heads × claims (Holm).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.heads.atlas import OFFSETS, Atlas, AtlasExample, Counts
from attnviz.analysis.heads.claim import Claim, ClaimTerm, parse
from attnviz.analysis.whatif_comparison import bootstrap
from attnviz.analysis.wording import counted, head_name, head_words, two_digits, whole_percent
from attnviz.core.errors import ClaimError
from attnviz.text.data_files import POS_NAMES, RELATION_NAMES, ParsedSentence

# Of fewer words nothing can be said.
LEAST_QUERIES = 30
# A head that beats its rivals by less is not worth a name, however sure it is.
MARGIN = 0.05


@dataclass(frozen=True)
class Rival:
    """What needs no such head: its name, how often it is right, and whether it is one that the claim has to beat."""

    name: str
    rate: float
    counts: bool = True


@dataclass(frozen=True)
class ClaimResult:
    """A claim, tested.

    layer, head  the head that was named or chosen; head None: the mean of the layer's heads
    rate         on the reported sentences; low, high: between which it lies in 95 of 100 samples of sentences
    overall      the rate on all sentences, those that chose the head among them
    queries      words that were reported on, in `sentences` sentences
    rivals       chance, the best fixed offset, the untrained model, shuffled words, as far as they are known
    p            how likely it is to be no better than its strongest rival, before Holm
    """

    claim: Claim
    layer: int
    head: int | None
    rate: float
    low: float
    high: float
    overall: float
    queries: int
    sentences: int
    rivals: tuple[Rival, ...]
    p: float
    holds: bool

    @property
    def strongest_rival(self) -> Rival:
        return max((rival for rival in self.rivals if rival.counts), key=lambda rival: rival.rate)

    @property
    def is_small(self) -> bool:
        """Whether there are too few words to say anything."""
        return self.queries < LEAST_QUERIES

    def rival(self, name: str) -> float | None:
        """Look up the rate of a rival."""
        return next((rival.rate for rival in self.rivals if rival.name == name), None)


@dataclass(frozen=True)
class ClaimReport:
    """A claim, tested, with words where it fails and where it holds; `sentences` are those words', which number them."""

    result: ClaimResult
    cases: tuple[AtlasExample, ...]
    sentences: tuple[ParsedSentence, ...]


@dataclass(frozen=True, eq=False)
class Half:
    """What is known of all heads on the reported half: hits of each, of the rivals, and p against the strongest of them."""

    reported: Counts
    rivals: tuple[tuple[Rival, Float[np.ndarray, " sentence"]], ...]
    p: Float[np.ndarray, "layer head"]
    ahead: Float[np.ndarray, "layer head"]

    @property
    def enough(self) -> Bool[np.ndarray, "layer head"]:
        """Mark which heads are ahead of every rival by the margin, on enough words."""
        return (self.ahead >= MARGIN) & (self.reported.queries.sum() >= LEAST_QUERIES)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The counts of a claim: of the model, and where they are known of the same model untrained, and with words shuffled."""

    model: Counts
    untrained: Counts | None = None
    shuffled: Counts | None = None


def compare_with_rivals(claim: Claim, evidence: Evidence) -> Half:
    """Compare every head with the rivals, on the sentences that did not choose them."""
    choosing, reported = evidence.model.of(slice(0, None, 2)), evidence.model.of(slice(1, None, 2))
    total = max(reported.queries.sum(), 1)
    rivals = [(Rival("chance", float(reported.chance.sum() / total)), reported.chance)]
    best = int(choosing.by_offset.sum(axis=0).argmax())
    # A claim about a place is itself a fixed offset: there the offset is told, and is no rival.
    offsets = reported.by_offset[:, best]
    rivals.append((Rival(f"offset {OFFSETS[best]:+d}", float(offsets.sum() / total), counts=not claim.is_place), offsets))
    if evidence.untrained is not None:
        layer, head = _best(evidence.untrained.of(slice(0, None, 2)), claim)
        blank = evidence.untrained.of(slice(1, None, 2))
        rate = float(blank.hits[:, layer, head].sum() / max(blank.queries.sum(), 1))
        # It may have read fewer sentences: its rate stands for the others.
        rivals.append((Rival("untrained", rate), rate * reported.queries))
    p, ahead = np.zeros(reported.hits.shape[1:]), np.full(reported.hits.shape[1:], np.inf)
    for rival, hits in rivals:
        if rival.counts:
            differences = reported.hits - hits[:, None, None]
            p = np.maximum(p, one_sided_p(differences, reported.queries))
            ahead = np.minimum(ahead, differences.sum(axis=0) / total)
    return Half(reported, tuple(rivals), p, ahead)


def supported(halves: Sequence[Half]) -> list[Bool[np.ndarray, "layer head"]]:
    """Mark which heads hold which claims, where all heads × claims were tested; a layer's mean is no head here."""
    p_values = np.array([half.p[:, :-1] for half in halves])
    stands = holm(p_values.ravel()).reshape(p_values.shape)
    return [mark & half.enough[:, :-1] for mark, half in zip(stands, halves, strict=True)]


def judge_claims(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> list[ClaimResult]:
    """Test claims together. Each is one test, of a head that was named or that other sentences chose: Holm bears with all.

    Raises:
        ClaimError: a claim names a head that the model does not have, or is about no word of these sentences.
    """
    chosen = [choose(claim, each.model) for claim, each in zip(claims, evidence, strict=True)]
    halves = [compare_with_rivals(claim, each) for claim, each in zip(claims, evidence, strict=True)]
    stands = holm(np.array([half.p[place] for half, place in zip(halves, chosen, strict=True)]))
    return [
        sum_up(claim, each, half, place, holds=bool(stand))
        for claim, each, half, place, stand in zip(claims, evidence, halves, chosen, stands, strict=True)
    ]


def choose(claim: Claim, counts: Counts) -> tuple[int, int]:
    """Find the head that a claim means: the one it names, or the best on the even sentences.

    Raises:
        ClaimError: there is no such head, or the claim is about no word of these sentences.
    """
    n_layers, n_heads = counts.hits.shape[1], counts.hits.shape[2] - 1
    if counts.queries.sum() == 0:
        raise ClaimError(f"No word of these sentences is what “{claim.text}” is about: choose other terms, or other sentences.")
    check_head(claim, n_layers, n_heads)
    layer, head = claim.where.layer, claim.where.head
    if layer is None:
        return _best(counts.of(slice(0, None, 2)), claim)
    return layer, n_heads if head is None else head


def check_head(claim: Claim, n_layers: int, n_heads: int) -> None:
    """Check that a model has the head that a claim names, before it reads a corpus for it.

    Raises:
        ClaimError: there is no such head.
    """
    where = claim.where
    for axis, index, size in (("layer", where.layer or 0, n_layers), ("head", where.head or 0, n_heads)):
        if index >= size:
            raise ClaimError(f"This model has {size} {axis}s, 0 to {size - 1}, and no {axis} {index}: name another.")


def _best(counts: Counts, claim: Claim) -> tuple[int, int]:
    """Find the head that is right most often; a layer's mean is none."""
    layer, head = np.unravel_index(counts.hits[:, :, :-1].sum(axis=0).argmax(), counts.hits[0, :, :-1].shape)
    return int(layer), int(head)


def sum_up(claim: Claim, evidence: Evidence, half: Half, place: tuple[int, int], *, holds: bool) -> ClaimResult:
    """Sum up what is known of one head; `holds`: its test stands, whatever others were made."""
    layer, head = place
    hits, queries = half.reported.hits[:, layer, head], half.reported.queries
    # Sentences are drawn, not words: words of one sentence go together (Berg-Kirkpatrick et al. 2012, section 2).
    low, high = bootstrap(hits, queries, seed=SEED)
    rivals = tuple(rival for rival, _ in half.rivals)
    if evidence.shuffled is not None:
        mixed = evidence.shuffled.of(slice(1, None, 2))
        rate = float(mixed.hits[:, layer, head].sum() / max(mixed.queries.sum(), 1))
        rivals = (*rivals, Rival("shuffled", rate, counts=False))
    total = evidence.model.queries.sum()
    return ClaimResult(
        claim=claim,
        layer=layer,
        head=None if head == half.p.shape[1] - 1 else head,
        rate=float(hits.sum() / max(queries.sum(), 1)),
        low=float(low),
        high=float(high),
        overall=float(evidence.model.hits[:, layer, head].sum() / total),
        queries=int(queries.sum()),
        sentences=int(np.count_nonzero(queries)),
        rivals=rivals,
        p=float(half.p[layer, head]),
        holds=holds and bool(half.enough[place]),
    )


# The share of samples that an interval holds, and what draws them.
CONFIDENCE, SEED = 0.95, 0


def one_sided_p(
    differences: Float[np.ndarray, "sentence *heads"], queries: Float[np.ndarray, " sentence"]
) -> Float[np.ndarray, "*heads"]:
    """Compute how likely Σ differences / Σ queries is as large as it is though it were 0.

    The error of the ratio R is that of its linearization, √(Σ (d - R n)² S / (S - 1)) / Σ n over S sentences (Cochran 1977,
    chapter 6), to which the bootstrap over sentences comes with many samples; the distribution is the normal one. Of sentences
    that are all alike, or few, the error tells little: p is never below that of a sign test, 2^-S.

    >>> one_sided_p(np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4)).round(3).item()
    0.5
    """
    total, n = queries.sum(), np.count_nonzero(queries)
    if n < 2:
        return np.ones(differences.shape[1:])
    spread = queries.reshape(-1, *[1] * (differences.ndim - 1))
    ratio = differences.sum(axis=0) / total
    error = np.sqrt((np.square(differences - ratio * spread)).sum(axis=0) * n / (n - 1)) / total
    z = np.divide(ratio, error, out=np.where(ratio > 0, np.inf, -np.inf), where=error > 0)
    return np.vectorize(lambda value: max(0.5 * math.erfc(value / math.sqrt(2)), 0.5**n), otypes=[float])(z)


def holm(p_values: Float[np.ndarray, " test"]) -> Bool[np.ndarray, " test"]:
    """Mark which tests stand though so many were made: at most 5 % is the chance that any of them is false (Holm 1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [True, False, False]
    """
    order = np.argsort(p_values)
    allowed = (1 - CONFIDENCE) / np.arange(len(p_values), 0, -1)
    failed = np.flatnonzero(p_values[order] > allowed)
    stands = np.zeros(len(p_values), dtype=bool)
    stands[order[: failed[0] if len(failed) else len(order)]] = True
    return stands


_NAMED = {
    "any": "a word", "special": "a special token", "first": "the first word", "last": "the last word", "pronoun": "a pronoun",
    "head": "the word it belongs to", "self": "itself",
    "same": "the same word earlier", "after same": "what followed it earlier",
    "antecedent": "what it stands for",
}  # fmt: skip


def describe_term(term: ClaimTerm) -> str:
    """Say what a term means.

    >>> [describe_term(ClaimTerm(*term)) for term in (("relation", "obj"), ("offset", "-1"), ("dependent", "obj"))]
    ['an object', 'the word before it', 'its object']
    """
    if term.kind == "offset":
        near = {-1: "the word before it", 1: "the word after it"}
        return near.get(term.offset) or f"the word {abs(term.offset)} {'after' if term.offset > 0 else 'before'} it"
    if term.kind == "pos":
        return POS_NAMES[term.value]
    if term.kind in ("relation", "dependent"):
        name = RELATION_NAMES.get(term.value, f"a word that is {term.value}")
        return name if term.kind == "relation" else f"its {name.removeprefix('an ').removeprefix('a ').removeprefix('the ')}"
    if term.kind == "word":
        return f"“{term.value}”"
    return f"a word like /{term.value}/" if term.kind == "regex" else _NAMED[term.kind]


def describe_claim(claim: Claim) -> str:
    """Say a claim in words, without its head.

    >>> from attnviz.analysis.heads.claim import parse
    >>> describe_claim(parse("obj -> head"))
    'an object → its verb'
    """
    return " → ".join(claim_sides(claim))


def claim_sides(claim: Claim) -> tuple[str, str]:
    """Say the two sides of a claim in words.

    >>> from attnviz.analysis.heads.claim import parse
    >>> claim_sides(parse("det -> head")), claim_sides(parse("conj -> head"))[1]
    (('a determiner', 'its noun'), 'the word it belongs to')
    """
    source, target = (" or ".join(map(describe_term, terms)) for terms in (claim.source, claim.target))
    return source, _HEADS.get(claim.source[0].value, target) if _is_to_head(claim) else target


def _is_to_head(claim: Claim) -> bool:
    return [term.kind for term in claim.target] == ["head"] and len(claim.source) == 1


def describe_question(tested: ClaimResult) -> str:
    """Ask what a claim claims."""
    source, target = claim_sides(tested.claim)
    return f"Does {head_words(tested.layer, tested.head)} look from {source} to {target}?"


# What a word of these relations belongs to.
_HEADS = {
    "obj": "its verb",
    "iobj": "its verb",
    "aux": "its verb",
    "det": "its noun",
    "amod": "its noun",
    "compound": "its noun",
}
_SHORT = {
    "head": "word it belongs to", "special": "special tokens", "first": "first word", "last": "last word", "self": "itself",
    "same": "same word earlier", "after same": "what followed it before", "antecedent": "what it stands for",
}  # fmt: skip


def short_claim(text: str) -> str:
    """Say a claim in few words, for a cell of a table.

    >>> short_claim("obj -> head"), short_claim("any -> previous"), short_claim("any -> its det")
    ('object → its verb', '→ previous word', '→ its determiner')
    """
    claim = parse(text)
    source = " or ".join(_short(term) for term in claim.source if term.kind != "any")
    target = " or ".join(map(_short, claim.target))
    return f"{source} → {_HEADS.get(claim.source[0].value, target) if _is_to_head(claim) else target}".strip()


def _short(term: ClaimTerm) -> str:
    if term.kind == "offset":
        near = {-1: "previous word", 1: "next word"}
        return near.get(term.offset) or f"{abs(term.offset)} words {'on' if term.offset > 0 else 'back'}"
    words = _SHORT.get(term.kind) or describe_term(term)
    return words.removeprefix("an ").removeprefix("a ").removeprefix("the ")


def describe_label(atlas: Atlas, layer: int, head: int) -> str:
    """Say in one line what a head does, by the atlas."""
    whose, best = head_name(layer, head), atlas.best(layer, head)
    if best is None:
        return f"None of the {len(atlas.claims)} claims tested on {atlas.sentences:,} sentences holds for {whose}."
    facts, rate = atlas.claims[best], atlas.rates[best, layer, head]
    source, target = claim_sides(parse(facts.text))
    return (
        f"Over {atlas.sentences:,} sentences {whose} looks from {source} to {target} in {whole_percent(rate)} of cases. "
        f"The best simple rule, such as “always the word before”, does so in {whole_percent(facts.strongest_rival)}."
    )


def unit_name(sentence: ParsedSentence, unit: int) -> str:
    """Name a unit of a sentence: a word, a special token, or nothing where a word looks at none."""
    if unit < 0:
        return "nothing"
    return sentence.words[unit].text if unit < len(sentence.words) else "a special token"


def describe_rival(rival: Rival) -> str:
    """Say what a rival does."""
    if rival.name.startswith("offset"):
        return f"the rule “always {describe_distance(int(rival.name.split()[1]))}”"
    return {
        "chance": "chance", "untrained": "the best head of an untrained model", "shuffled": "this head with the words shuffled",
    }[rival.name]  # fmt: skip


def describe_distance(steps: int) -> str:
    """Say where the word at that distance stands.

    >>> describe_distance(-1), describe_distance(2)
    ('the word before', '2 words after')
    """
    where = "after" if steps > 0 else "before"
    return f"the word {where}" if abs(steps) == 1 else f"{abs(steps)} words {where}"


def describe_verdict(tested: ClaimResult) -> str:
    """Say whether a claim holds, and by what numbers, in sentences."""
    source, target = claim_sides(tested.claim)
    whose = head_name(tested.layer, tested.head)
    if tested.is_small:
        return (
            f"Too few words to tell: in the held-out sentences only {tested.queries} words are {source} with {target} to look "
            f"at, and {LEAST_QUERIES} are needed."
        )
    rate = (
        f"{whose} looks from {source} to {target} in {whole_percent(tested.rate)} of {tested.queries:,} cases "
        f"(95\xa0% interval {whole_percent(tested.low)} to {whole_percent(tested.high)}; "
        f"{counted(tested.sentences, 'held-out sentence')})"
    )
    strongest = tested.strongest_rival
    best = describe_rival(strongest)
    # Of a claim about a place, the fixed offset is the claim itself.
    others = (rival for rival in tested.rivals if rival.counts or not rival.name.startswith("offset"))
    rivals = "; ".join(f"{describe_rival(rival)} {whole_percent(rival.rate)}" for rival in others)
    if tested.holds:
        why = f"That is {100 * (tested.rate - strongest.rate):.0f} points above {best}"
    elif tested.rate - strongest.rate < MARGIN:
        why = f"It would have to be {100 * MARGIN:.0f} points above {best}, and {_ahead(tested, strongest)}"
    else:
        luck = f"may be luck (p = {two_digits(tested.p)} before correction)"
        why = f"With so few cases, being above {best} {luck}"
    return f"{'It holds' if tested.holds else 'It does not hold'}: {rate}. {why}. For comparison: {rivals}."


def _ahead(tested: ClaimResult, strongest: Rival) -> str:
    """Say how far a claim's rate is from that of a rival, never more than it is."""
    points = math.floor(round(1000 * (tested.rate - strongest.rate), 6)) / 10
    return f"is {abs(points):.1f} points {'above' if points > 0 else 'below'} it" if points else "is level with it"


MEASURE_LABELS = {
    "self": "Weight to itself", "previous": "Weight to the token before", "next": "Weight to the token after",
    "first": "Weight to the first token", "last": "Weight to the last token", "special": "Weight to special tokens",
    "punctuation": "Weight to punctuation", "same": "Weight to earlier same tokens",
    "after same": "Weight to what followed the same token", "entropy": "Entropy", "confidence": "Largest weight",
    "distance": "Distance", "block": "Weight to the other text",
}  # fmt: skip
_UNITS = {"entropy": "bits", "distance": "tokens"}


def measure_text(measure: str, value: float) -> str:
    r"""Write the mean of a measure with its unit; a dash where nothing was measured.

    >>> measure_text("self", 0.0721), measure_text("entropy", 2.345), measure_text("block", float("nan"))
    ('7.2\xa0%', '2.35 bits', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:.2f} {_UNITS[measure]}" if measure in _UNITS else f"{100 * value:.1f}\xa0%"
