"""Words that a vocabulary does not have, which a model reads in pieces of a letter or two."""

from collections.abc import Sequence

from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.token_words import word_groups
from attnviz.core.trace import Token

# "un·believ·ably" is three pieces that mean something; "Z·b·ign·iew" is spelled.
PIECES = 3
LETTERS = 3.0


def spelled_out(tokens: Sequence[Token]) -> tuple[tuple[str, ...], ...]:
    """List the words of three pieces or more with fewer than three letters each, on average: each as its pieces, once.

    >>> pieces = [Token("Z", 0, 1, word=0), Token("b", 1, 2, word=0), Token("ig", 2, 4, word=0), Token("sat", 5, 8, word=1)]
    >>> spelled_out(pieces)
    (('Z', 'b', 'ig'),)
    """
    tokens = tuple(tokens)
    spellings: dict[tuple[str, ...], None] = {}
    for group in word_groups(tokens):
        # The mark before a word may be a piece of its own, and covers nothing.
        pieces = tuple(tokens[index].text for index in group if tokens[index].end > tokens[index].start)
        letters = sum(map(len, pieces))
        if len(pieces) >= PIECES and letters < LETTERS * len(pieces) and any(is_word(tokens[index]) for index in group):
            spellings[pieces] = None
    return tuple(spellings)
