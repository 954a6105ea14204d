"""Tokens of one word, put together: the words of a map's axes, their names, and the weights of a row."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from attnviz.core.errors import TraceError
from attnviz.core.query_key import QueryKeyWeights
from attnviz.core.trace import AttentionMap, Token
from attnviz.core.weights import LayerWeights
from attnviz.text.words import visible, visible_text


def row_weights(attention: AttentionMap, layer: int, rows: slice) -> LayerWeights:
    """Read the weights of the queries from `rows.start` to `rows.stop`.

    Raises:
        TraceError: there is no such layer.
    """
    if not isinstance(attention.store, QueryKeyWeights):
        return attention.layer_weights(layer)[:, rows]
    whole = attention.store.layers[layer]
    # A sink has a column of its own, and edits are laid over whole heads.
    if whole.sink is not None or whole.edited is not None:
        return attention.layer_weights(layer)[:, rows]
    visible = whole.visible_keys()
    part = replace(
        whole,
        query=whole.query[:, rows],
        bias=None if whole.bias is None else whole.bias[:, rows],
        visible=None if visible is None else visible[rows],
        causal=False,
    )
    return part.weights(slice(None))


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


# So many names stand in a message.
MOST_NAMES = 12


def word_names(tokens: Sequence[Token]) -> list[str]:
    """Name every token so that each name stands once: its text, and of several alike but for capitals their number.

    >>> word_names((Token("The", 0, 3), Token("cat", 4, 7), Token("the", 8, 11)))
    ['The(1)', 'cat', 'the(2)']
    """
    texts = [token.text.strip() or (visible_text(token.text) if token.text else token.piece) for token in tokens]
    forms = [text.casefold() for text in texts]
    counts, seen = Counter(forms), Counter[str]()
    names = []
    for text, form in zip(texts, forms, strict=True):
        seen[form] += 1
        names.append(f"{text}({seen[form]})" if counts[form] > 1 else text)
    return names


def word_at(word: str, tokens: Sequence[Token]) -> int:
    """Find a word among tokens by its name of `word_names`; capitals and invisible characters do not matter.

    Raises:
        TraceError: there is none, or there are several; the message names them.
    """
    names, wanted = word_names(tokens), visible(word).strip().casefold()
    forms = [visible(name).casefold() for name in names]
    if len(places := [at for at, form in enumerate(forms) if form == wanted]) == 1:
        return places[0]
    if alike := [name for name, form in zip(names, forms, strict=True) if re.sub(r"\(\d+\)$", "", form) == wanted]:
        raise TraceError(f"“{word}” stands {len(alike)} times in the text: write {_listed(alike, ' or ')}.")
    raise TraceError(f"There is no word “{word[:40]}”: there are {_listed(names, ', ')}.")


def words_at(word: str, tokens: Sequence[Token]) -> list[int]:
    """Find a word among tokens, or neighbours that are it together: Chinese, Japanese, Thai and Khmer have a token a character.

    What stands there several times has a number, as in `word_names`.

    Raises:
        TraceError: there is none, or there are several; the message says what to write.

    >>> words_at("東京", (Token("私", 0, 1), Token("東", 1, 2), Token("京", 2, 3)))
    [1, 2]
    """
    try:
        return [word_at(word, tokens)]
    except TraceError:
        name = visible(word).strip().casefold()
        if number := re.search(r"\((\d+)\)$", name):
            name = name[: number.start()]
        runs = [run for begin in range(len(tokens)) if len(run := _joined(name, tokens, begin)) > 1]
        if number is None and len(runs) > 1:
            names = [f"{word}({place})" for place in range(1, len(runs) + 1)]
            raise TraceError(f"“{word}” stands {len(runs)} times in the text: write {_listed(names, ' or ')}.") from None
        if not 0 <= (place := int(number[1] if number else 1) - 1) < len(runs):
            raise
        return runs[place]


def _joined(name: str, tokens: Sequence[Token], begin: int) -> list[int]:
    """List the tokens from `begin` on that touch and together are the name; none where they are not."""
    run, rest = [], name
    for place in range(begin, len(tokens)):
        text = visible(tokens[place].text).casefold()
        if not text or not rest.startswith(text) or (run and tokens[place].start != tokens[place - 1].end):
            return []
        run, rest = [*run, place], rest[len(text) :]
        if not rest:
            return run
    return []


def _listed(names: Sequence[str], between: str) -> str:
    return between.join(names[:MOST_NAMES]) + " …" * (len(names) > MOST_NAMES)
