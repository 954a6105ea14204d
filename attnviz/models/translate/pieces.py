"""The pieces of our translators' vocabularies: their names, and where they stand in the text that they spell."""

import math
from collections.abc import Sequence

from tokenizers import Encoding, Tokenizer

from attnviz.core.trace import Token
from attnviz.models.translate.draft import Branch, SearchTree
from attnviz.nn.decoding import END, BeamSearchResult


def piece_name(vocabulary: Tokenizer, piece: int) -> str:
    """Name a piece. Every output of a model is one of its vocabulary: there is always a name."""
    return vocabulary.id_to_token(piece) or f"<{piece}>"


def encoded_tokens(encoding: Encoding, text: str) -> tuple[Token, ...]:
    """Make tokens of an encoding; a space before a piece is not part of its token."""
    tokens = []
    for piece, (start, end), word in zip(encoding.tokens, encoding.offsets, encoding.word_ids, strict=True):
        typed = text[start:end]
        start += len(typed) - len(typed.lstrip())
        label = typed.strip() or piece
        tokens.append(Token(label, start, max(start, end), word=word, piece="" if piece == label else piece))
    return tuple(tokens)


def written_tokens(vocabulary: Tokenizer, pieces: Sequence[int], text: str) -> tuple[Token, ...]:
    """Lay pieces that a model wrote over the text that they spell."""
    encoding = vocabulary.encode(text)
    words = {at: word for (start, end), word in zip(encoding.offsets, encoding.word_ids, strict=True)
             for at in range(start, end)}  # fmt: skip
    tokens, end = [], 0
    for index in pieces:
        if index == END:
            continue
        piece = piece_name(vocabulary, index)
        label = piece.replace("▁", " ").strip()
        start = text.find(label, end) if label else end
        end = start + len(label)
        tokens.append(Token(label or piece, start, end, word=words.get(start), piece="" if piece == label else piece))
    return tuple(tokens)


def search_tree(vocabulary: Tokenizer, result: BeamSearchResult) -> SearchTree:
    """Name all that a search weighed."""
    branches = (
        Branch(piece_name(vocabulary, node.token), node.parent, math.exp(node.log_probability), node.kept)
        for node in result.nodes
    )
    return SearchTree(tuple(branches), result.leaves)
