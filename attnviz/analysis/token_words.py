"""Tokens of one word, put together."""

from dataclasses import replace

from attnviz.core.trace import Token


def whole_words(tokens: tuple[Token, ...]) -> list[tuple[tuple[int, ...], Token]]:
    """Merge the tokens of every word into one, and say where its parts stand among `tokens`.

    >>> cat, s = Token("cat", 0, 3, word=0), Token("s", 3, 4, word=0)
    >>> [(parts, word.text) for parts, word in whole_words((cat, s))]
    [((0, 1), 'cats')]
    """
    return [(tuple(group), joined([tokens[index] for index in group])) for group in word_groups(tokens)]


def word_groups(tokens: tuple[Token, ...]) -> list[list[int]]:
    """Group neighbouring tokens of one word; a token of no word stands alone."""
    groups: list[list[int]] = []
    for index, token in enumerate(tokens):
        previous = tokens[index - 1] if index else None
        if previous and token.word is not None and (token.word, token.segment) == (previous.word, previous.segment):
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def joined(tokens: list[Token]) -> Token:
    """Join tokens to one that stands for them; characters that several of them cover (a split emoji) are written once.

    A part that covers none, such as the mark before a word that is a piece of its own, is not written.
    """
    if len(tokens) == 1:
        return tokens[0]
    tokens = [token for token in tokens if token.end > token.start] or tokens
    first, text, end = tokens[0], "", tokens[0].start
    for token in tokens:
        text += token.text[max(end - token.start, 0) :]
        end = max(end, token.end)
    return replace(first, text=text, end=end, piece="")
