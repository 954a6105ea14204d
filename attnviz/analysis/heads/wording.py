"""Claims about heads, and the results of their tests, in words."""

import math

from attnviz.analysis.heads.atlas import Atlas
from attnviz.analysis.heads.claim import Claim, ClaimTerm, parse
from attnviz.analysis.heads.verdict import LEAST_QUERIES, MARGIN, ClaimResult, Rival
from attnviz.analysis.wording import head_name, head_words, two_digits, whole_percent
from attnviz.text.conllu import POS_NAMES, RELATION_NAMES, ParsedSentence

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
        f"{whose} looks from {source} to {target} in {whole_percent(tested.rate)} of {tested.queries:,} cases (95 % interval "
        f"{whole_percent(tested.low)} to {whole_percent(tested.high)}; {tested.sentences:,} held-out sentences)"
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
