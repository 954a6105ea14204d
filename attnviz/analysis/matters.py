"""What makes shares of words believable: how the output falls as words go, how faithful each method is, and a known truth.

An `AttributionReport` has all that the page Matters shows of one text.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.wording import Part, Sentence, percent, quoted, signed, written
from attnviz.text.spans import DECLINED


def distance(shares: Float[np.ndarray, " token"], links: Collection[int]) -> float:
    """Measure how much of the positive shares falls outside the places that an output token comes from, 0 to 1.

    Negative shares count as 0; where no share is positive, it is 1.

    >>> distance(np.array([0.5, 0.25, -3.0, 0.25]), {0, 1}), distance(np.array([-1.0, 0.0]), {0})
    (0.25, 1.0)
    """
    positive = np.maximum(shares, 0)
    total = float(positive.sum())
    return 1 - float(positive[list(links)].sum()) / total if total > 0 else 1.0


# The texts of a first visit, for a model that says how similar two are.
FIRST_PAIR = ("A man is playing a guitar on the stage.", "Somebody plays music in front of people.")
# What removing a word is.
BLANKS = (
    "A removed word is replaced by a blank token: the model's mask, or its token for unknown words. The output's own words, "
    "underlined, always stay."
)


@dataclass(frozen=True)
class PlantedScores:
    """Each method's distance from the truth after so many steps of training; `refused` says why one does not apply.

    distances  the mean of `distance` over output tokens that come from somewhere
    accuracy   share of the sequences whose every token the model writes right
    """

    step: int
    distances: Mapping[str, float]
    accuracy: float
    refused: Mapping[str, str]


def ranking(scores: Sequence[PlantedScores]) -> dict[str, float]:
    """Average each method's distance over checkpoints, the nearest method first; one that a checkpoint refuses has no mean."""
    names = [name for name in scores[-1].distances if all(name in each.distances for each in scores)]
    means = {name: float(np.mean([each.distances[name] for each in scores])) for name in names}
    return dict(sorted(means.items(), key=lambda item: item[1]))


def describe_ranking(scores: Sequence[PlantedScores], titles: Mapping[str, str]) -> Sentence:
    """Say which method is nearest to the truth over all checkpoints, and how far attention and chance are from it.

    >>> from attnviz.analysis.wording import plain
    >>> scores, titles = {"rollout": 0.25, "random": 0.75}, {"rollout": "Attention rollout", "random": "Chance"}
    >>> plain(describe_ranking([PlantedScores(9, scores, 1.0, {})], titles))
    'Attention rollout is nearest to the truth: 0.25 of its shares fall outside the right places; of chance, 0.75.'
    """
    means = ranking(scores)
    best = next(name for name in means if name != "random")
    others = [name for name in ("attention", "random") if name in means and name != best]
    beside = "".join(f"; of {in_sentence(titles[name])}, {means[name]:.2f}" for name in others)
    lies = Part(f" of its shares fall outside the right places{beside}.")
    return (Part(titles[best], True), Part(" is nearest to the truth: "), Part(f"{means[best]:.2f}", True), lies)


def in_sentence(title: str) -> str:
    """Write the title of a method as it stands within a sentence; "L2·H1" is a name."""
    return title if title[:1] == "L" and title[1:2].isdigit() else title[:1].lower() + title[1:]


# The parts of a text that are masked, or alone kept; the figures are means over them.
PARTS = (0.01, 0.05, 0.10, 0.20, 0.50)
# The measures of a method over a data set, as they are stored and written.
MEASURES = ("comprehensiveness", "sufficiency", "more than chance")


@dataclass(frozen=True)
class Faithfulness:
    """How faithful one method is on one text.

    comprehensiveness  by how much p(output) falls when the most important words go: the more, the better
    sufficiency        by how much it falls when only they stay: the less, the better
    tau                rank correlation (Kendall's τ-b) with leaving out one word at a time; None: not measured
    milliseconds       what it took to compute the shares
    """

    comprehensiveness: float
    sufficiency: float
    tau: float | None = None
    milliseconds: float = 0.0


@dataclass(frozen=True)
class Removals:
    """p(output) as words are masked: `gone` of them at each point, the most important first, and the least important first."""

    gone: tuple[int, ...]
    most_first: tuple[float, ...]
    least_first: tuple[float, ...]


def by_word(values: Float[np.ndarray, " token"], groups: Sequence[tuple[int, ...]]) -> Float[np.ndarray, " word"]:
    """Sum the shares of each word's tokens.

    >>> by_word(np.array([1.0, 2.0, 4.0]), [(0, 1), (2,)])
    array([3., 4.])
    """
    return np.array([values[list(group)].sum() for group in groups])


def most_important_first(shares: Float[np.ndarray, " word"]) -> np.ndarray:
    """Rank words by their shares, the largest first; of equal ones, the first.

    >>> most_important_first(np.array([0.1, 0.7, -0.2])).tolist()
    [1, 0, 2]
    """
    return np.argsort(-shares, kind="stable")


def counts_of(n_words: int) -> list[int]:
    """Count the words of each of the `PARTS` of a text, at least one.

    >>> counts_of(20)
    [1, 1, 2, 4, 10]
    """
    return [min(max(1, round(part * n_words)), n_words) for part in PARTS]


def curve_points(n_words: int) -> list[int]:
    """List how many words are gone at each point of a curve, from none to all.

    >>> curve_points(4)
    [0, 1, 2, 3, 4]
    """
    return sorted({round(step * n_words / 10) for step in range(11)})


def removed_tokens(
    ranked: np.ndarray, groups: Sequence[tuple[int, ...]], n_tokens: int, counts: Sequence[int]
) -> tuple[Bool[np.ndarray, "text token"], Bool[np.ndarray, "text token"]]:
    """Mark the tokens to mask for each count: those of the first words; and all but them.

    >>> first, rest = removed_tokens(np.array([1, 0]), [(0, 1), (2,)], 4, [1])
    >>> first.astype(int).tolist(), rest.astype(int).tolist()
    ([[0, 0, 1, 0]], [[1, 1, 0, 0]])
    """
    first = np.zeros((len(counts), n_tokens), dtype=bool)
    rest = np.zeros_like(first)
    for row, number in enumerate(counts):
        for place, word in enumerate(ranked):
            (first if place < number else rest)[row, list(groups[word])] = True
    return first, rest


def kendall_tau(first: Float[np.ndarray, " word"], second: Float[np.ndarray, " word"]) -> float:
    """Compute Kendall's τ-b, the rank correlation of two orders of the same words; 0 where one ranks none.

    >>> round(kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 9)
    0.333333333
    """
    # Of each word with all others: in how many pairs the orders agree less differ, and how many are not tied in each.
    pairs = ((np.sign(first - one), np.sign(second - other)) for one, other in zip(first, second, strict=True))
    sums = np.sum([(one @ other, one @ one, other @ other) for one, other in pairs], axis=0)
    return float(sums[0] / np.sqrt(sums[1] * sums[2])) if sums[1] and sums[2] else 0.0


def verdict(figures: Mapping[str, Faithfulness], chosen: str, best: str | None, chance: Faithfulness) -> str:
    """Compare in one sentence the chosen method with chance, and with the best fast one, if that is known.

    >>> figures = {"attention": Faithfulness(0.54, 0.4), "gradient": Faithfulness(0.59, 0.3)}
    >>> said = verdict(figures, "attention", "gradient", Faithfulness(0.32, 0.6))
    >>> for part in said.replace(": without", ". without").split(". "):
    ...     print(part)
    attention is better than chance here
    without the words it ranks first the probability drops by 0.54, without random words by 0.32
    The best method, gradient: 0.59.
    >>> verdict(figures, "gradient", "gradient", Faithfulness(-0.06, 0.6)).split("drops by ")[1]
    '0.59, without random words by −0.06. No other method tested does better.'
    """
    own = figures[chosen].comprehensiveness
    said = f"{chosen} is {_compared(own, chance.comprehensiveness)} chance here: without the words it ranks first "
    said += f"the probability drops by {signed(own)}, without random words by {signed(chance.comprehensiveness)}."
    if best is None:
        return said
    if chosen == best:
        return f"{said} No other method tested does better."
    return f"{said} The best method, {best}: {signed(figures[best].comprehensiveness)}."


def _compared(one: float, other: float) -> str:
    # Figures that print alike are alike.
    if round(one, 2) == round(other, 2):
        return "as good as"
    return "better than" if one > other else "worse than"


@dataclass(frozen=True, eq=False)
class AttributionReport:
    """The shares of one text by several methods, and how faithful each is.

    own      the places of the output's own words, which are never masked
    targets  the parts of the output that can be explained, and what each is called
    part     sentences on what was read: which part of a long text, words that the model does not know; empty: all of it
    """

    target: str
    probability: float
    words: tuple[str, ...]
    own: frozenset[int]
    shares: Mapping[str, np.ndarray]
    figures: Mapping[str, Faithfulness]
    refused: Mapping[str, str]
    targets: Mapping[str, str] = field(default_factory=dict)
    part: str = ""

    def joined(self, other: "AttributionReport") -> "AttributionReport":
        """Add the figures of other methods on the same text."""
        parts = {name: {**getattr(self, name), **getattr(other, name)} for name in ("shares", "figures", "refused")}
        return replace(self, **parts)

    def agreement(self, name: str) -> float | None:
        """Kendall's τ of a method with leaving one word out, over the words that can be masked; None: not computed."""
        if (left_out := self.shares.get("leave-one-out")) is None or name not in self.shares:
            return None
        return kendall_tau(self.shares[name][self._removable], left_out[self._removable])

    def ranked(self, name: str) -> tuple[int, ...]:
        """Rank the places of the words that can be masked, the largest share first."""
        places = self._removable
        return tuple(places[rank] for rank in most_important_first(self.shares[name][places]).tolist())

    def without_durations(self) -> "AttributionReport":
        """Return it without how long each method took, which means nothing on another machine."""
        return replace(self, figures={name: replace(each, milliseconds=0.0) for name, each in self.figures.items()})

    @property
    def _removable(self) -> list[int]:
        return [place for place in range(len(self.words)) if place not in self.own]


@dataclass(frozen=True)
class MaskedOutput:
    """A model's output with some words masked: p of its former output, and its new output, if that is text."""

    probability: float
    text: str | None


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
    is_same, now = after.text == before, quoted(after.text, _LONGEST)
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
        text = f" is {written(quoted(removals.before.text, _LONGEST))}" if removals.before.text else ""
        return f"The translation{text}; the model is {amount} sure of each of its pieces, on average."
    if removals.kind == "sentence":
        return f"{target[:1].upper()}{target[1:]} gets {amount} of the attention that chooses sentences."
    if removals.kind == "rather":
        return f"{target[:1].upper()}{target[1:]}: the first has {amount} of what the model gives the two."
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
    """Tell what the model says with the words masked; where it is the same, how sure it is."""
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

    >>> from attnviz.analysis.matters import Faithfulness
    >>> from attnviz.analysis.wording import plain
    >>> figures = {"attention": Faithfulness(0.32, 0.5), "random": Faithfulness(0.4, 0.7)}
    >>> shares = {"attention": np.array([0.2, 0.7]), "random": np.array([0.5, 0.1])}
    >>> report = AttributionReport("the answer “yes”", 0.93, ("a", "b"), frozenset(), shares, figures, {})
    >>> removals = WordRemovals("answer", MaskedOutput(0.93, "yes"), np.array([0.01, 0.5]), (), (), (1, 1))
    >>> for part in plain(describe_attention(report, removals, "attention")).replace("\xa0", " ").split(": "):
    ...     print(part)
    It marks “b” most, and not “a”. On this text it finds what matters worse than chance does
    without the words it marks most, the probability falls from 93 % to 61 % on average; without random words it is 53 %.
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
    words += f"{what} {removals.change(full - own)} on average; without random words it is {removals.amount(full - chance)}."
    return *marks, Part(words)
