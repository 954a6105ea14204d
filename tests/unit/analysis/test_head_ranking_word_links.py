"""The weights between whole words, against those of the whole map."""

import numpy as np
import pytest

from attnviz.analysis.head_ranking import WordLinks, first_link
from attnviz.analysis.head_view import View
from attnviz.core.trace import AttentionMap, DenseWeights
from tests.factories import make_map, sentence, typed


@pytest.mark.parametrize("causal", [False, True])
def test_rows_of_words_are_those_of_the_whole_map(causal: bool) -> None:
    attention = make_map(sentence("the cat saw un|believ|able dogs near the barn"), layers=3, heads=5, causal=causal)
    for view in (View(), View(hide_special=True, renormalize=True)):
        links = WordLinks(attention, view)
        for layer, head in np.ndindex(3, 5):
            matrix = links.lens.matrix(attention.weights(layer, head), attention.visible(layer)).weights
            for word in range(len(links.queries)):
                np.testing.assert_allclose(links.row(word)[layer, head], matrix[word], atol=1e-6)


def test_the_strongest_head_gives_some_words_most_of_all_of_some_others() -> None:
    attention = make_map(sentence("the cat saw un|believ|able dogs near the barn"), layers=3, heads=5)
    links = WordLinks(attention, View())
    for queries, keys in (([2, 4], [1, 5, 6]), ([1], [3]), ([5, 6, 7], [2, 4])):
        best = (-1.0, (0, 0))
        for layer, head in np.ndindex(3, 5):
            matrix = links.lens.matrix(attention.weights(layer, head), attention.visible(layer)).weights
            best = max(best, (float(matrix[np.ix_(queries, keys)].sum()), (layer, head)))
        assert links.strongest_head(queries, keys) == best[1]


def test_of_words_that_are_alike_in_four_digits_the_first_is_chosen() -> None:
    row = np.array([0.3, 0.1, 0.19999, 0.20001, 0.2])
    words = typed("one two three four five")
    attention = AttentionMap("encoder", words, words, DenseWeights((np.tile(row, (2, 5, 1)),)))
    links = WordLinks(attention, View())
    assert first_link(links, (0, 0), query=0).key == 2
    assert (first_link(links, query=0).head, links.strongest_head([0], [2])) == (0, (0, 0))
