"""Two sentences in one head: the same token is chosen in both."""

import numpy as np

from attnviz.analysis.head_metrics import focus_cell
from attnviz.analysis.token_alignment import align_tokens, same_cell
from attnviz.analysis.view import head_matrix
from attnviz.core.trace import AttentionMap, DenseWeights
from tests.factories import make_map, sentence, typed

TIRED, WIDE = "the cat saw the dog since it was tired", "then the cat saw the dog since it was wide"


def test_equal_tokens_are_matched_in_their_order() -> None:
    equal = tuple((index, index + 1) for index in range(8))
    assert align_tokens(typed(TIRED), typed(WIDE), replaced=False) == equal
    assert align_tokens(typed(TIRED), typed(WIDE)) == (*equal, (8, 9))
    assert align_tokens(typed("a b a"), typed("c d")) == ()


def test_words_in_each_others_place_are_aligned_where_there_are_as_many() -> None:
    assert align_tokens(typed("too tired ."), typed("too wide .")) == ((0, 0), (1, 1), (2, 2))
    assert align_tokens(typed("a b"), typed("a c d")) == ((0, 0),)


def test_the_same_token_looks_at_its_own_strongest_word() -> None:
    first, tokens = head_matrix(make_map(typed(TIRED)), layer=0, head=0), sentence(WIDE)
    query = next(index for index, token in enumerate(tokens) if token.text == "it")
    weights = np.full((1, len(tokens), len(tokens)), 0.01, dtype=np.float32)
    dog = next(index for index, token in enumerate(tokens) if token.text == "dog")
    # More goes to itself and to the token that begins the text, which are no words that it looks at.
    weights[0, query, [0, query, dog]] = 0.4, 0.3, 0.2
    weights /= weights.sum(axis=-1, keepdims=True)
    second = head_matrix(AttentionMap("encoder", tokens, tokens, DenseWeights((weights,))), layer=0, head=0)
    assert same_cell(first, second, 6) == (query, dog)
    assert same_cell(first, second, 8) == focus_cell(second)
