"""Two texts: which token of one is which of the other."""

from attnviz.analysis.whatif_comparison import align_tokens
from tests.factories import typed

TIRED, WIDE = "the cat saw the dog since it was tired", "then the cat saw the dog since it was wide"


def test_equal_tokens_are_matched_in_their_order() -> None:
    equal = tuple((index, index + 1) for index in range(8))
    assert align_tokens(typed(TIRED), typed(WIDE)) == (*equal, (8, 9))
    assert align_tokens(typed("a b a"), typed("c d")) == ()


def test_words_in_each_others_place_are_aligned_where_there_are_as_many() -> None:
    assert align_tokens(typed("too tired ."), typed("too wide .")) == ((0, 0), (1, 1), (2, 2))
    assert align_tokens(typed("a b"), typed("a c d")) == ((0, 0),)
