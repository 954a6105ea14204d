"""A summary that a model has written: where each of its words came from, and which of them the text already had."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_view import head_weights
from attnviz.analysis.summarize.selection import Passage, Selection
from attnviz.analysis.token_words import whole_words
from attnviz.analysis.wording import Part, Sentence, percent, quoted, whole_percent
from attnviz.core.trace import AttentionMap, Token

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
    words = f"{marked} of {total} word{'s' if total > 1 else ''}"
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


def describe_sentences(passage: Passage, selection: Selection, shares: Float[np.ndarray, " sentence"]) -> Sentence:
    """Say which sentences are kept, and how far the first that is not stays behind the last that is."""
    numbers = [int(number) + 1 for number in np.flatnonzero(selection.sentences)]
    named = "Sentence " + str(numbers[0]) if len(numbers) == 1 else "Sentences " + " and ".join(map(str, numbers))
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
