"""Which word a picture begins with where nobody asked, which other word it looks at, and in which head."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_ranking import PRONOUNS, elsewhere
from attnviz.analysis.word_links import Place, WordLinks

# A pronoun that looks less than that at another word tells nothing.
LEAST_TELLING = 0.2
# The word to look at first is one of so many at the beginning: where a long text begins is what one sees of it.
MOST_WORDS = 48
# Letters from which on a word is more likely a noun, a verb or an adjective than a small word.
LONGER = 4


@dataclass(frozen=True)
class WordLink:
    """One link between two words, and the head that is looked at.

    query, key  indices of words among `WordLinks.queries` and `WordLinks.keys`; key None: the word has no other to look at
    head        None: the mean over the layer's heads
    """

    query: int
    key: int | None
    layer: int
    head: int | None


def first_link(links: WordLinks, place: Place | None = None, *, query: int | None = None, key: int | None = None) -> WordLink:
    """Choose what nobody asked for: a word, the word that it looks at, and the head that looks hardest.

    place  the layer and the head that is looked at; None: the first of the ranking by the link
    query  the word that was asked about; None: a pronoun, else the word that looks hardest at another one
    """
    word = _first_word(links, place) if query is None else query
    weights = links.row(word) if place is None else links.of_place(place, range(word, word + 1))[None]
    columns = [key] if key is not None else _candidates(links, place, word)
    if not columns:
        return WordLink(word, None, *(place or (0, 0)))
    layer, head, at = np.unravel_index(int(weights[..., columns].argmax()), (*weights.shape[:2], len(columns)))
    return WordLink(word, columns[int(at)], *(place or (int(layer), int(head))))


def _first_word(links: WordLinks, place: Place | None) -> int:
    strongest = _strongest(links, place)
    names = [token.text.strip().casefold() for token in links.queries[: len(strongest)]]
    pronouns = [
        word
        for word, name in enumerate(names)
        if name in PRONOUNS and strongest[word] >= LEAST_TELLING and _candidates(links, None, word)[0] < word
    ]
    words = [word for word, _ in enumerate(names) if is_word(links.queries[word])]
    long_words = [word for word in words if len(names[word]) >= LONGER and strongest[word] >= LEAST_TELLING]
    return max(pronouns or long_words or words or range(len(names)), key=lambda word: float(strongest[word]))


def _candidates(links: WordLinks, place: Place | None, word: int) -> list[int]:
    """Where a word can look that tells something; in a head that somebody chose, at its neighbours as well."""
    if place is None:
        return elsewhere(word, links.lens, links.word_keys, causal=links.attention.causal)
    return [key for key in links.word_keys if key != links.lens.own[word]]


def _strongest(links: WordLinks, place: Place | None) -> Float32[np.ndarray, " query"]:
    """The weight that each of the first words gives to what it looks at hardest, in any head or in that of a place."""
    if (name := ("strongest", links.lens.view, place)) not in links.kept:
        words = range(min(len(links.queries), MOST_WORDS))
        telling = np.zeros((len(words), len(links.keys)), dtype=bool)
        for word in words:
            telling[word, _candidates(links, place, word)] = True
        # One layer after another: the rows of all heads of a long text fill a hundred megabytes.
        given = (links.rows_of(layer, words) for layer in range(links.attention.n_layers))
        if place is not None:
            given = iter([links.of_place(place, words)])
        strongest = [np.where(telling, rows, 0).max(axis=(0, 2)) for rows in given]
        links.kept[name] = np.max(strongest, axis=0).astype(np.float32)
    return links.kept[name]
