"""What becomes of a model's output without each word of its text, and the sentences of the page Matters about it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.analysis.matters.faithfulness import AttributionReport, MaskedOutput, most_important_first
from attnviz.analysis.wording import Part, Sentence, cut, percent, quoted, signed
from attnviz.text.spans import DECLINED

ANSWERS, TRANSLATIONS = ("answer", "unanswered"), ("translation", "token")
# The numbers that are no probability: the cosine of two texts.
_COSINE = "similarity"
_LONGEST = 120


@dataclass(frozen=True, eq=False)
class WordRemovals:
    """A model's output without each word of a text, one word at a time.

    kind       of the target, such as "answer", "translation" or "similarity"
    before     the output of the whole text
    without    p of that output without each word; of the output's own words, which always stay, p of the whole text
    strongest  the places of the words without which p is least, the least first
    outputs    what the model says without each of those; None: its output is no text
    segments   which of two texts each word is part of
    """

    kind: str
    before: MaskedOutput
    without: Float[np.ndarray, " word"]
    strongest: tuple[int, ...]
    outputs: tuple[str | None, ...]
    segments: tuple[int, ...]

    @property
    def drops(self) -> Float[np.ndarray, " word"]:
        """How far p falls without each word; below 0 where it rises."""
        return self.before.probability - self.without

    def output(self, place: int) -> MaskedOutput | None:
        """Look up the output without one word; None where it is not known what the model says then."""
        if place not in self.strongest:
            return None
        return MaskedOutput(float(self.without[place]), self.outputs[self.strongest.index(place)])

    def amount(self, probability: float) -> str:
        """Write p of the output: in percent, or the cosine of two texts as a number."""
        return signed(probability) if self.kind == _COSINE else percent(probability)

    def change(self, probability: float) -> str:
        r"""Say how p of the output changes, after its name.

        >>> removals = WordRemovals("answer", MaskedOutput(0.93, "yes"), np.array([0.01]), (0,), (None,), (0,))
        >>> removals.change(0.01), removals.change(0.97), removals.change(0.931)
        ('falls from 93\xa0% to 1\xa0%', 'rises from 93\xa0% to 97\xa0%', 'stays at 93\xa0%')
        """
        before, after = self.amount(self.before.probability), self.amount(probability)
        if before == after:
            return f"stays at {before}"
        return f"{'falls' if probability < self.before.probability else 'rises'} from {before} to {after}"


def strongest_first(report: AttributionReport, removals: WordRemovals) -> tuple[int, ...]:
    """Rank the places of the words that can be taken away, the one without which p is least first."""
    places = [place for place in range(len(report.words)) if place not in report.own]
    return tuple(places[rank] for rank in most_important_first(removals.drops[places]).tolist())


def describe_removal(report: AttributionReport, removals: WordRemovals, places: Sequence[int], after: MaskedOutput) -> Sentence:
    """Say what becomes of the output without the words at some places.

    >>> from attnviz.analysis.wording import plain
    >>> report = AttributionReport("the answer “yes”", 0.93, ("a", "b"), frozenset(), {}, {}, {})
    >>> removals = WordRemovals("answer", MaskedOutput(0.93, "yes"), np.array([0.01, 0.5]), (), (), (0, 0))
    >>> for text in ("yes", "no", DECLINED, None):
    ...     plain(describe_removal(report, removals, (1,), MaskedOutput(0.01, text))).replace("\xa0", " ")
    'Without “b” the model still answers “yes”: 93 % falls to 1 %.'
    'Without “b” the model answers “no”: 93 % falls to 1 %.'
    'Without “b” the model no longer answers: 93 % falls to 1 %.'
    'Without “b” the answer “yes” falls from 93 % to 1 %.'
    """
    names: list[Part] = []
    for number, place in enumerate(places):
        joint = () if number == 0 else (Part(" and " if number == len(places) - 1 else ", "),)
        names += [*joint, quoted(report.words[place])]
    return Part("Without "), *names, Part(" "), *_becomes(report, removals, after)


def _becomes(report: AttributionReport, removals: WordRemovals, after: MaskedOutput) -> Sentence:
    """Say what the model says now, and what becomes of p of its output."""
    kind, before, target = removals.kind, removals.before.text, report.target
    change = removals.change(after.probability)
    if kind == _COSINE:
        return (Part(f"the likeness of the two texts {change}."),)
    if after.text is None or before is None:
        return (Part(f"{target} {change}."),)
    is_same, now = after.text == before, quoted(cut(after.text, _LONGEST))
    full, now_sure = removals.amount(removals.before.probability), removals.amount(after.probability)
    # Of the whole output: "93 % falls to 1 %".
    short = f": it {change}." if full == now_sure else f": {full} {change.split()[0]} to {now_sure}."
    if kind in ANSWERS and after.text == DECLINED:
        return (Part(f"the model {'still says that the passage does not say' if is_same else 'no longer answers'}{short}"),)
    if kind in ANSWERS:
        return Part(f"the model {'still answers' if is_same else 'answers'} "), now, Part(short)
    if kind in TRANSLATIONS:
        end = short if kind == "translation" else f": {target} {change}."
        same, other = (Part(f"the translation stays the same{end}"),), (Part("the translation becomes "), now, Part(end))
        return same if is_same else other
    if kind == "sentence":
        keeps = "still keeps the same" if is_same else "keeps another"
        return (Part(f"the model {keeps} sentence first: the share of the explained one {change}."),)
    return Part(f"the model {'still says' if is_same else 'says'} "), now, Part(f": {target} {change}.")


def describe_output(report: AttributionReport, removals: WordRemovals) -> str:
    """Say what the output of the whole text is, and what its number means."""
    amount, target = removals.amount(removals.before.probability), report.target
    if removals.kind == "answer":
        return f"The answer is {target.removeprefix('the answer ')} ({amount} sure)."
    if removals.kind == _COSINE:
        return f"With all words: {amount}. It is the cosine of the two texts' mean vectors; 1 is the same direction."
    if removals.kind == "translation":
        text = f" is “{cut(removals.before.text, _LONGEST)}”" if removals.before.text else ""
        return f"The translation{text}; the model is {amount} sure of each of its pieces, on average."
    if removals.kind == "sentence":
        return f"{target[:1].upper()}{target[1:]} gets {amount} of the attention that chooses sentences."
    return f"{target[:1].upper()}{target[1:]} ({amount} sure)."


def describe_colours(removals: WordRemovals) -> str:
    """Say what orange and blue mean."""
    if removals.kind == _COSINE:
        return "Orange: without the word the texts are less alike; blue: more."
    if removals.kind == "sentence":
        return "Orange: without the word its share falls; blue: it rises."
    return "Orange: without the word the model is less sure; blue: surer."


@dataclass(frozen=True)
class RemovalRow:
    """One bar: the words that are away, by their places and by name, p of the output then, and what the model says then."""

    places: tuple[int, ...]
    name: str
    probability: float
    says: str


def removal_rows(
    report: AttributionReport, removals: WordRemovals, removed: Sequence[int] = (), after: MaskedOutput | None = None
) -> list[RemovalRow]:
    """List the strongest words as bars; before them the words that were removed, where those are others."""
    names = removal_names(report, removals)
    rows = [
        RemovalRow((place,), names[place], float(removals.without[place]), _says(removals, output))
        for place in removals.strongest
        if (output := removals.output(place))
    ]
    if after is None or tuple(removed) in [row.places for row in rows]:
        return rows
    own = ", ".join(names[place] for place in removed)
    return [RemovalRow(tuple(removed), own, after.probability, _says(removals, after)), *rows]


def removal_names(report: AttributionReport, removals: WordRemovals) -> list[str]:
    """Name every word so that no two are named alike, and those of a question as such."""
    parts = [" (question)" if removals.kind in ANSWERS and segment == 0 else "" for segment in removals.segments]
    forms = list(zip(report.words, parts, strict=True))
    # The output's own words are never named.
    counts = Counter(form for place, form in enumerate(forms) if place not in report.own)
    seen, names = Counter[tuple[str, str]](), []
    for place, form in enumerate(forms):
        seen[form] += place not in report.own
        word, part = form
        names.append(f"{word}{f'({seen[form]})' if counts[form] > 1 else ''}{part}")
    return names


def _says(removals: WordRemovals, after: MaskedOutput) -> str:
    """What the model says then; of the same, how sure it is."""
    if after.text is None:
        return ""
    if after.text != removals.before.text:
        return after.text
    before, now = removals.amount(removals.before.probability), removals.amount(after.probability)
    less = after.probability < removals.before.probability
    said = "the same" if removals.kind in (*TRANSLATIONS, "sentence") else after.text
    return f"{said}, {'as sure' if before == now else 'less sure' if less else 'surer'}"


def describe_attention(report: AttributionReport, removals: WordRemovals, method: str) -> Sentence:
    """Say whether attention marks the word that matters most, and how well it finds what matters, against chance.

    >>> from attnviz.analysis.matters.faithfulness import Faithfulness
    >>> from attnviz.analysis.wording import plain
    >>> figures = {"attention": Faithfulness(0.32, 0.5), "random": Faithfulness(0.4, 0.7)}
    >>> shares = {"attention": np.array([0.2, 0.7]), "random": np.array([0.5, 0.1])}
    >>> report = AttributionReport("the answer “yes”", 0.93, ("a", "b"), frozenset(), shares, figures, {})
    >>> removals = WordRemovals("answer", MaskedOutput(0.93, "yes"), np.array([0.01, 0.5]), (), (), (1, 1))
    >>> for part in plain(describe_attention(report, removals, "attention")).replace("\xa0", " ").split(": "):
    ...     print(part)
    It marks “b” most, and not “a”. On this text it finds what matters worse than chance does
    without the words it marks most, the probability falls from 93 % to 61 % on average; without random words, to 53 %.
    """
    if method not in report.shares:
        return (Part(report.refused.get(method, "This was not measured.")),)
    names, top, first = removal_names(report, removals), report.ranked(method)[0], strongest_first(report, removals)[0]
    marks = (Part("It marks "), quoted(names[top]), Part(" most"))
    marks += (Part(", as it should. "),) if top == first else (Part(", and not "), quoted(names[first]), Part(". "))
    own, chance = (report.figures[name].comprehensiveness for name in (method, "random"))
    full = removals.before.probability
    is_alike = removals.amount(full - own) == removals.amount(full - chance)
    how = "as well as" if is_alike else "better than" if own > chance else "worse than"
    words = f"On this text it finds what matters {how} chance does: without the words it marks most, "
    what = {_COSINE: "the likeness", "sentence": "its share"}.get(removals.kind, "the probability")
    words += f"{what} {removals.change(full - own)} on average; without random words, to {removals.amount(full - chance)}."
    return *marks, Part(words)
