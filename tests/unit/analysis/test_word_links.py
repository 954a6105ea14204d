"""The word, the link and the head that are shown first, against plain loops over the model's own eager attention."""

from functools import cache

import numpy as np
import pytest

import attnviz
from attnviz.analysis.view import View
from attnviz.analysis.word_links import WordLinks
from attnviz.core.trace import AttentionMap
from tests.factories import make_map, sentence

# Each with the pronoun that is asked about, and words before it that it may stand for.
PRONOUNS = {
    "The trophy did not fit in the suitcase because it was too big.": ("it", "trophy"),
    "The animal didn't cross the street because it was too tired.": ("it", "animal"),
    "The cup fell off the table and it broke.": ("it", ""),
    "Maria lost the key, so she could not open the door.": ("she", "Maria"),
    "The teacher praised the boy because he had worked hard.": ("he", ""),
    "The children were loud, and they woke the neighbours.": ("they", "children"),
    "The dog chased the ball until it rolled under the car.": ("it", ""),
    "My brother bought a car and sold it a year later.": ("it", ""),
    "The city council refused the permit because they feared violence.": ("they", ""),
    "Paris is the capital of France and the seat of its government.": ("its", "Paris"),
    "The river rose so high that it flooded the village.": ("it", "river"),
    "Anna told her mother about the letter yesterday.": ("her", "Anna"),
    "The tree lost all of its leaves in the storm.": ("its", "tree"),
    "The soldiers were tired because they had marched all night.": ("they", "soldiers"),
    "The phone stopped working after it fell into the water.": ("it", "phone"),
    "The king was old, but he ruled the country well.": ("he", "king"),
    "The birds left the garden when they saw the cat.": ("they", ""),
    "The machine makes a noise whenever it is switched on.": ("it", ""),
    "Peter washed the car before he drove to the station.": ("he", "Peter"),
    "The bread was hard because it had been baked too long.": ("it", "bread"),
}


@cache
def eager(text: str) -> tuple[AttentionMap, np.ndarray]:
    """The trace of a text, and the attention that transformers itself reports of it: layer, head, query, key."""
    model = attnviz.load("minilm")
    attention = model.trace(text).encoder
    layers = [attention.layer_weights(layer).astype(np.float64) for layer in range(attention.n_layers)]
    return attention, np.stack(layers)


@pytest.mark.parametrize("text", PRONOUNS)
def test_the_head_named_first_gives_the_link_the_largest_weight(text: str) -> None:
    attention, weights = eager(text)
    links = WordLinks(attention, View())
    pronoun, stands_for = PRONOUNS[text]
    first = links.first()
    assert links.queries[first.query].text == pronoun
    assert first.key is not None
    assert stands_for in ("", links.keys[first.key].text)
    rows, columns = links.lens.row_parts[first.query], links.lens.column_parts[first.key]
    largest, place = -1.0, None
    for layer in range(weights.shape[0]):
        for head in range(weights.shape[1]):
            total = 0.0
            for row in rows:
                for column in columns:
                    total += weights[layer, head, row, column] / len(rows)
            if total > largest:
                largest, place = total, (layer, head)
    assert (first.layer, first.head) == place
    assert links.row(first.query)[first.layer, first.head, first.key] == pytest.approx(largest, abs=1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_rows_of_words_are_those_of_the_whole_map(causal: bool) -> None:
    attention = make_map(sentence("the cat saw un|believ|able dogs near the barn"), layers=3, heads=5, causal=causal)
    for view in (View(), View(hide_special=True, renormalize=True)):
        links = WordLinks(attention, view)
        for layer, head in np.ndindex(3, 5):
            matrix = links.lens.matrix(attention.weights(layer, head), attention.visible(layer)).weights
            for word in range(len(links.queries)):
                np.testing.assert_allclose(links.row(word)[layer, head], matrix[word], atol=1e-6)


def test_a_text_without_two_words_has_no_link() -> None:
    attention = make_map(sentence("no"), layers=3, heads=5)
    assert WordLinks(attention, View()).first().key is None


def test_a_word_and_a_head_that_were_chosen_stay() -> None:
    attention = make_map(sentence("the cat saw un|believ|able dogs near the barn"), layers=3, heads=5)
    links = WordLinks(attention, View())
    chosen = links.first((2, 4), query=3)
    assert (chosen.query, chosen.layer, chosen.head) == (3, 2, 4)
    matrix = links.lens.matrix(attention.weights(2, 4), attention.visible(2)).weights[3]
    others = [key for key in range(len(links.keys)) if key != 3 and not links.keys[key].special]
    assert chosen.key == max(others, key=lambda key: matrix[key])
