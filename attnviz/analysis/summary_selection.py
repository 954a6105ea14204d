"""Which words and sentences a summary keeps: by attention received or by a selector, in words, and scored by ROUGE (Lin 2004).

Special tokens do not count as queries: attention received is the mean over the queries that were typed.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_view import head_weights, whole_words
from attnviz.analysis.wording import Part, Sentence, counted, head_name, join_names, percent, quoted, whole_percent
from attnviz.core.errors import TraceError
from attnviz.core.sampling import chance
from attnviz.core.trace import AttentionMap, AttentionTrace, Token
from attnviz.text.sentences import Sentences


@dataclass(frozen=True)
class Rouge:
    """F1 of words, of word pairs, and of the longest common subsequence, 0 to 1."""

    one: float
    two: float
    longest: float

    @property
    def mean(self) -> float:
        return (self.one + self.two + self.longest) / 3


def rouge(summary: str, references: Sequence[str]) -> Rouge:
    """Score a summary against the reference that suits it best; words are stemmed (Porter), and cut at all but a–z and 0–9.

    >>> scores = rouge("The cats sat.", ["A dog ran.", "The cat sat down."])
    >>> round(scores.one, 3), round(scores.two, 3), round(scores.longest, 3)
    (0.857, 0.8, 0.857)
    """
    mine = stems(summary)
    scores = [_scores(mine, stems(reference)) for reference in references]
    return Rouge(*(max(kind) for kind in zip(*scores, strict=True)))


@lru_cache(maxsize=32)  # One reference is compared with many summaries.
def stems(text: str) -> tuple[str, ...]:
    """Split a text into words as ROUGE compares them.

    >>> stems("Learning rates, learned!")
    ('learn', 'rate', 'learn')
    """
    return tuple(_tokenizer().tokenize(text))


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Compute the length of the longest common subsequence, with a bit for each word of `one` (Hyyrö 2004).

    A table of all pairs of words takes minutes for two pages.

    >>> longest_common("a b c d".split(), "x a c y d".split())
    3
    """
    places: dict[str, int] = defaultdict(int)
    for place, word in enumerate(one):
        places[word] |= 1 << place
    full = (1 << len(one)) - 1
    # A zero for each step of the subsequence so far.
    row = full
    for word in other:
        matches = row & places.get(word, 0)
        row = ((row + matches) | (row - matches)) & full
    return len(one) - row.bit_count()


def _scores(mine: Sequence[str], theirs: Sequence[str]) -> tuple[float, float, float]:
    overlap = longest_common(mine, theirs)
    return _by_grams(mine, theirs, 1), _by_grams(mine, theirs, 2), _f1(overlap, len(mine), len(theirs))


def _by_grams(mine: Sequence[str], theirs: Sequence[str], n: int) -> float:
    ours, given = (Counter(zip(*(words[at:] for at in range(n)), strict=False)) for words in (mine, theirs))
    return _f1((ours & given).total(), ours.total(), given.total())


def _f1(overlap: int, mine: int, theirs: int) -> float:
    if not overlap:
        return 0.0
    precision, recall = overlap / mine, overlap / theirs
    return 2 * precision * recall / (precision + recall)


@cache
def _tokenizer() -> Any:
    # Imported when first needed: it brings NLTK along.
    from rouge_score.tokenizers import DefaultTokenizer

    return DefaultTokenizer(use_stemmer=True)


Units = Bool[np.ndarray, " unit"]


@dataclass(frozen=True, eq=False)
class Passage:
    """A text as a model has read it.

    units      whole words, or the model's tokens, in the order of the text; special tokens are none of them
    parts      for each unit the positions of its tokens
    candidate  True for units that may be kept
    sentences  where each sentence starts and ends; `sentence` has for each unit the number of its own
    """

    text: str
    units: tuple[Token, ...]
    parts: tuple[tuple[int, ...], ...]
    candidate: Units
    sentences: tuple[tuple[int, int], ...]
    sentence: tuple[int, ...]

    @property
    def read(self) -> Bool[np.ndarray, " sentence"]:
        """True for sentences with a unit that may be kept: not where the model has stopped reading, nor for a lone "…"."""
        read = np.zeros(len(self.sentences), dtype=bool)
        read[[number for number, can in zip(self.sentence, self.candidate, strict=True) if can]] = True
        return read

    def by_unit(self, tokens: Float[np.ndarray, " key"]) -> Float[np.ndarray, " unit"]:
        """Sum over the tokens of each unit what they receive."""
        places, units, _ = self._places
        return np.bincount(units, weights=tokens[places], minlength=len(self.units))

    def by_sentence(self, tokens: Float[np.ndarray, " key"], *, mean: bool = False) -> Float[np.ndarray, " sentence"]:
        """Compute each sentence's share of what all of them receive, 0 to 1; or the mean over its tokens."""
        places, _, numbers = self._places
        total = np.bincount(numbers, weights=tokens[places], minlength=len(self.sentences))
        if mean:
            return total / np.maximum(np.bincount(numbers, minlength=len(self.sentences)), 1)
        return total / max(total.sum(), np.finfo(float).tiny)

    @cached_property
    def _places(self) -> tuple[Int[np.ndarray, " token"], Int[np.ndarray, " token"], Int[np.ndarray, " token"]]:
        """Every token that is part of a unit: where it stands in the map, its unit, and its sentence."""
        rows = [(place, unit, self.sentence[unit]) for unit, parts in enumerate(self.parts) for place in parts]
        places, units, numbers = np.array(rows).T
        return places, units, numbers

    def words(self, selection: Units) -> str:
        """Write the kept units as running text, those that touch in the text unparted."""
        text, end = "", 0
        for unit, on in zip(self.units, selection, strict=True):
            if on:
                text += ("" if unit.start == end else " ") + self.text[unit.start : unit.end]
                end = unit.end
        return text.strip()

    def extract(self, selection: Bool[np.ndarray, " sentence"]) -> str:
        """Join the kept sentences, as they were typed."""
        return " ".join(self.text[start:end] for (start, end), on in zip(self.sentences, selection, strict=True) if on)


def read_passage(
    text: str, tokens: tuple[Token, ...], *, words: bool = True, punctuation: bool = False, sentences: Sentences | None = None
) -> Passage:
    """Split a text that a model reads as `tokens` into units; without `punctuation` only words may be kept.

    Raises:
        TraceError: there is nothing in it that may be kept.

    >>> passage = read_passage("Hi there!", (Token("Hi", 0, 2), Token("there", 3, 8), Token("!", 8, 9)))
    >>> [unit.text for unit in passage.units], passage.candidate.tolist()
    (['Hi', 'there', '!'], [True, True, False])
    """
    sentences = sentences or Sentences.of(text)
    groups = whole_words(tokens) if words else [((index,), token) for index, token in enumerate(tokens)]
    units = [(parts, token) for parts, token in groups if not token.special and token.end > token.start]
    candidate = np.array([punctuation or is_word(token) for _, token in units], dtype=bool)
    if not candidate.any():
        raise TraceError("There is no word in this text that could be kept: type a sentence.")
    return Passage(
        text,
        tuple(token for _, token in units),
        tuple(parts for parts, _ in units),
        candidate,
        sentences.spans,
        tuple(sentences.at(token.start) for _, token in units),
    )


def top(scores: Float[np.ndarray, " unit"], k: int, candidate: Units) -> Units:
    """Mark true for the k candidates of the highest scores, of equal ones the first; for all of them where there are fewer.

    >>> top(np.array([0.9, 0.1, 0.3, 0.3]), 1, np.array([False, True, True, True])).tolist()
    [False, False, True, False]
    """
    ranked = np.argsort(-np.where(candidate, scores, -np.inf), kind="stable")
    kept = np.zeros(len(scores), dtype=bool)
    kept[ranked[: max(k, 0)]] = True
    return kept & candidate


@dataclass(frozen=True)
class Amount:
    """How much to keep: `words` of them, or with `share` True that many percent of those there are; and `sentences`."""

    words: int
    sentences: int = 1
    share: bool = False

    def count(self, passage: Passage) -> int:
        """Count the units to keep: at least one, at most all that may be kept.

        >>> passage = read_passage("one two three", (Token("one", 0, 3), Token("two", 4, 7), Token("three", 8, 13)))
        >>> Amount(50, share=True).count(passage), Amount(99).count(passage)
        (2, 3)
        """
        n_candidates = int(passage.candidate.sum())
        return min(max(round(self.words / 100 * n_candidates) if self.share else self.words, 1), n_candidates)


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen of a passage: its units, and its sentences."""

    units: Units
    sentences: Bool[np.ndarray, " sentence"]


def choose(
    passage: Passage, unit_scores: Float[np.ndarray, " unit"], sentence_scores: Float[np.ndarray, " sentence"], amount: Amount
) -> Selection:
    """Select the units and the sentences of the highest scores."""
    return Selection(
        top(unit_scores, amount.count(passage), passage.candidate), top(sentence_scores, max(amount.sentences, 1), passage.read)
    )


Received = Float[np.ndarray, " key"]
# The layers whose received attention was trained to choose words, and sentences (attnviz.models.base.ModelCard.selects).
SelectorLayers = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Selector:
    """A rule that chooses what to keep: a score for every unit and every sentence of a passage.

    tokens  what each token of the model receives; None for a baseline without attention
    """

    name: str
    units: Float[np.ndarray, " unit"]
    sentences: Float[np.ndarray, " sentence"]
    tokens: Received | None = None


def attention_received_by_head(attention: AttentionMap) -> Float[np.ndarray, "layer head key"]:
    """Compute the attention that each key receives from every head: the mean over the queries that were typed."""
    return _received_and_means(attention)[0]


@lru_cache(maxsize=2)  # All selectors read the same few maps, and every head has to be computed for each.
def _received_and_means(
    attention: AttentionMap,
) -> tuple[Float[np.ndarray, "layer head key"], Float[np.ndarray, "layer query key"]]:
    """Compute what every head gives to each key, and the mean of each layer's heads."""
    typed, by_head, means = _typed_queries(attention), [], []
    for layer in range(attention.n_layers):
        weights = attention.layer_weights(layer)
        by_head.append(weights[:, typed].mean(axis=1))
        means.append(weights.mean(axis=0))
    return np.stack(by_head), np.stack(means)


def shares_of_heads(attention: AttentionMap, passage: Passage, selection: Units) -> Float[np.ndarray, "layer head"]:
    """Compute the share of each head's attention to words that lands on kept words, 0 to 1."""
    by_head = attention_received_by_head(attention)
    units = np.array([[passage.by_unit(head) for head in layer] for layer in by_head])
    return units[..., selection].sum(axis=-1) / np.maximum(units[..., passage.candidate].sum(axis=-1), np.finfo(float).tiny)


def rollout(attention: AttentionMap, layers: Sequence[int]) -> Received:
    """Compute attention rollout from the typed queries: Abnar & Zuidema 2020, arXiv:2005.00928, section 3.

    What reaches layer n is Ã_n … Ã_1 Ã_0 with Ã = (A + I) / 2, A the mean of a layer's heads.

    Raises:
        TraceError: queries and keys are not the same tokens, so that no residual leads from one to the other.
    """
    if attention.queries != attention.keys:
        raise TraceError(
            "Rollout follows one text through its layers, and this attention is between two texts: choose encoder attention."
        )
    means = _received_and_means(attention)[1]
    identity = np.eye(len(attention.keys), dtype=np.float32)
    flow = identity
    for layer in layers:
        flow = (means[layer] + identity) / 2 @ flow
    return flow[_typed_queries(attention)].mean(axis=0)


def plain_layers(attention: AttentionMap, selects: SelectorLayers | None) -> range:
    """List the layers that were not trained to select: those before the first that was."""
    return range(min(selects) if selects else attention.n_layers)


def selectors(
    passage: Passage, trace: AttentionTrace, *, selects: SelectorLayers | None, layer: int, head: int | None
) -> tuple[Selector, ...]:
    """Apply every selector to a text, the trained one first where there is one; `layer` and `head` are those chosen.

    Of a model that writes, attention received is what its summary gives to the text; rollout follows its encoder.
    """
    attention = trace.cross if "cross" in trace.kinds else trace.maps[0]
    by_head = attention_received_by_head(attention)
    plain = plain_layers(attention, selects)
    chosen = by_head[layer].mean(axis=0) if head is None else by_head[layer, head]
    what = "layer" if head is None else "head"
    place = head_name(layer, head) + (", trained" if selects and layer in selects else "")
    by_attention = [
        (f"Attention, last layer (L{plain[-1]})", by_head[plain[-1]].mean(axis=0)),
        ("Attention, mean of all layers", by_head[plain.start : plain.stop].mean(axis=(0, 1))),
        (f"Attention, chosen {what} ({place})", chosen),
        ("Attention rollout", rollout(trace.maps[0], plain_layers(trace.maps[0], selects))),
    ]
    rows = [Selector(name, passage.by_unit(tokens), passage.by_sentence(tokens), tokens) for name, tokens in by_attention]
    if selects:
        words, sentences = (by_head[each].mean(axis=0) for each in selects)
        rows.insert(0, Selector("Trained selector", passage.by_unit(words), passage.by_sentence(sentences), words))
    return (*rows, *_without_attention(passage))


def _without_attention(passage: Passage) -> tuple[Selector, Selector]:
    sizes = len(passage.units), len(passage.sentences)
    # The text itself decides what chance chooses: the same text is always treated alike.
    seed = sum(map(ord, passage.text))
    dice = np.array([chance(seed, step) for step in range(sum(sizes))])
    units, sentences = (-np.arange(size, dtype=float) for size in sizes)
    return Selector("First", units, sentences), Selector("Random", dice[: sizes[0]], dice[sizes[0] :])


def _typed_queries(attention: AttentionMap) -> list[int]:
    """Find the queries that are not special tokens; all of them where there is no other."""
    return [index for index, token in enumerate(attention.queries) if not token.special] or list(range(len(attention.queries)))


# What stands below the text, and above the heads.
ABOUT_BARS = "Marked words and sentences are kept. A bar is the attention that a word receives."
ABOUT_SHARES = (
    "Share of each head's attention to words that lands on kept words, in percent. Click a head to choose by it alone."
)
NO_LOOK: Sentence = (Part("This selector looks at no attention: it is there to compare with, and bars show only its order."),)


@dataclass(frozen=True, eq=False)
class SummaryWord:
    """A word of a summary; `row` is what each token of the text gave to the steps that wrote it.

    copied  whether the text has the word, whatever its case; None for what is no word
    """

    token: Token
    copied: bool | None
    row: Float[np.ndarray, " key"]


def summary_words(attention: AttentionMap, passage: Passage, *, layer: int, head: int | None) -> tuple[SummaryWord, ...]:
    """Read the words of a summary, by one head across, or by the mean of a layer's.

    A row of the map belongs to the token that the decoder reads, so a word comes from the rows before those of its tokens.
    """
    weights = head_weights(attention, layer, head)
    known = {unit.text.casefold() for unit in passage.units}
    words = []
    for parts, token in whole_words(attention.queries):
        rows = [part - 1 for part in parts if part > 0]
        if rows and not token.special:
            copied = token.text.casefold() in known if is_word(token) else None
            words.append(SummaryWord(token, copied, weights[rows].mean(axis=0)))
    return tuple(words)


def describe_choice(passage: Passage, selection: Selection, scores: Float[np.ndarray, " unit"]) -> Sentence:
    """Say which share of the words is kept, and which share of the attention they receive."""
    candidates = passage.candidate
    share = whole_percent(float(scores[selection.units].sum() / max(scores[candidates].sum(), np.finfo(float).tiny)))
    best = passage.units[int(np.where(selection.units, scores, -np.inf).argmax())]
    marked, total = int(selection.units.sum()), int(candidates.sum())
    words = f"{marked} of {counted(total, 'word')}"
    if marked == 1:
        return (Part(f"{words} is marked: "), quoted(best.text), Part(f". It gets {share} of the attention."))
    return (Part(f"{words} are marked. They get {share} of the attention, "), quoted(best.text), Part(" most."))


def describe_rouge(abstracts: int) -> str:
    """Say what the ROUGE-1 of a selector is that was measured on so many abstracts.

    >>> describe_rouge(619).endswith(", over 619 other abstracts.")
    True
    """
    return (
        "ROUGE-1: how many words the kept sentence shares with a summary that a person wrote (100: all), over "
        f"{abstracts} other abstracts."
    )


# How much to trust what is shown, in Markdown.
TRUST_SUMMARIES = """
- The numbers are the model's own, from one forward pass over this very text.
- Attention that was **not** trained to select mostly falls on punctuation, special tokens and words that help to read the
  others. What receives much is not what matters: see the measured line under the picture.
- The trained selector has read two thousand abstracts of machine-learning papers, and nothing else: on other texts it
  guesses.
- Kept words do not make a sentence, and a kept sentence may need the one before it.
- ROUGE counts words in common with a reference. It does not know whether a summary is true.
- Of a model that writes, a bar is where its decoder **looked** while it wrote, not proof that the word came from there.
"""
# How it comes about: a title, and Markdown.
HOW_CHOSEN = (
    "How this choice comes about · attention received",
    """
Every token gives out attention that sums to 1. What a word **receives** is the mean over all tokens that were typed
(special tokens are left out), summed over its subwords. The words that receive most are kept, in the order of the text; a
sentence's score is the sum over its words.

- **Trained selector**: two layers on top of a frozen encoder, trained so that the first one's attention falls on the words,
  and the second one's on the sentence, that a person's summary of an abstract keeps.
- **Rollout** follows attention through all layers, residuals counted as half: Abnar & Zuidema 2020, *Quantifying Attention
  Flow in Transformers*, section 3.
- **First** and **Random** look at no attention: a selector that does no better has found nothing.
""",
)
# Rows of what was measured (recipes.summarize.evaluate).
_MEASURED = ("Attention alone, the best of all ways", "First", "Random", "Trained selector", "Best sentence there is")


def describe_measured(figures: Mapping[str, Any]) -> str:
    """Say how good attention alone is at choosing a sentence, as it was measured; empty where it was not."""
    values = [figures.get(f"{row}: ROUGE-1") for row in _MEASURED]
    if None in values:
        return ""
    alone, first, chance, trained, best = (f"{value:.1f}" for value in values if value is not None)
    return (
        f"How good attention alone is at this: on {figures['abstracts']} held-out abstracts, the sentence that the best head "
        f"and selector finds has ROUGE-1 {alone}; the first sentence has {first}, a random one {chance}, the trained "
        f"selector's {trained}, and the best there is {best}."
    )


def describe_sentences(passage: Passage, selection: Selection, shares: Float[np.ndarray, " sentence"]) -> Sentence:
    """Say which sentences are kept, and how far the first that is not stays behind the last that is."""
    numbers = [int(number) + 1 for number in np.flatnonzero(selection.sentences)]
    named = f"Sentence{'s' if len(numbers) > 1 else ''} {join_names([*map(str, numbers)])}"
    least = float(shares[selection.sentences].min())
    others = shares[passage.read & ~selection.sentences]
    gets = "is kept. It gets" if len(numbers) == 1 else "are kept. Each gets at least"
    kept_sentences = f"{named} of {int(passage.read.sum())} {gets} {whole_percent(least)} of the attention"
    rest = f"; the next best gets {whole_percent(float(others.max()))}" if others.size else ""
    return (Part(f"{kept_sentences}{rest}."),)


def describe_copies(words: tuple[SummaryWord, ...]) -> Sentence:
    """Say how many words of a summary stand in the text, and which do not."""
    known = [word for word in words if word.copied is not None]
    new = [word for word in known if not word.copied]
    if not known:
        return (Part("The summary has no words."),)
    if len(known) == 1:
        return (
            Part("The one word of the summary is new: " if new else "The one word of the summary stands in the text: "),
            *_named(known),
            Part("."),
        )
    stand = "stands" if len(known) - len(new) == 1 else "stand"
    lead = (Part(f"{len(known) - len(new)} of the {len(known)} words of the summary {stand} in the text"),)
    if not new:
        return (*lead, Part(": it is put together from them alone."))
    return (*lead, Part("; new is "), *_named(new[:3]), Part(" and more." if len(new) > 3 else "."))


def describe_word_origin(word: SummaryWord, passage: Passage) -> Sentence:
    """Name the word of the text that a word of the summary looked at most while it was written."""
    scores = passage.by_unit(word.row)
    best = int(scores.argmax())
    return (
        quoted(word.token.text),
        Part(" was written looking most at "),
        quoted(passage.units[best].text),
        Part(f" ({percent(float(scores[best]))})."),
    )


def _named(words: list[SummaryWord]) -> Sentence:
    parts: list[Part] = []
    for word in words:
        parts += [Part(", ")] if parts else []
        parts.append(quoted(word.token.text))
    return tuple(parts)
