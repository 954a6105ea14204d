"""The word, the link and the head that are shown first, against plain loops over the eager attention of transformers."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from jaxtyping import Float

import attnviz
from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_ranking import WordLinks, first_link
from attnviz.analysis.head_view import View
from attnviz.models.hub.minilm import packaged
from tests.factories import given_map, make_map, sentence, typed

# Each with the pronoun that is asked about, and words before it that it may stand for.
PRONOUNS = {
    "The trophy did not fit in the suitcase because it was too big.": ("it", "trophy"),
    "The cup fell off the table and it broke.": ("it", ""),
    "Maria lost the key, so she could not open the door.": ("she", "Maria"),
    "The children were loud, and they woke the neighbours.": ("they", "children"),
    "Paris is the capital of France and the seat of its government.": ("its", "Paris"),
    "Anna told her mother about the letter yesterday.": ("her", "Anna"),
    "The king was old, but he ruled the country well.": ("he", "king"),
}


@cache
def eager_model() -> tuple[transformers.PreTrainedModel, transformers.PreTrainedTokenizerBase]:
    """The embedded encoder as transformers itself loads and runs it."""
    folder = packaged()
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
    return model, tokenizer


def eager(text: str) -> Float[np.ndarray, "layer head query key"]:
    """The attention that transformers itself reports of a text."""
    model, tokenizer = eager_model()
    with torch.no_grad():
        attentions = model(**tokenizer(text, return_tensors="pt"), output_attentions=True).attentions
    return torch.cat(attentions).double().numpy()


def strongest(weights: np.ndarray, rows: tuple[int, ...], columns: tuple[int, ...]) -> tuple[float, tuple[int, int]]:
    """The largest weight of a link, and its head: the mean over the pieces of who looks, the sum over those of the other."""
    largest, place = -1.0, (-1, -1)
    for layer, head in np.ndindex(weights.shape[:2]):
        total = sum(weights[layer, head, row, column] for row in rows for column in columns) / len(rows)
        if total > largest:
            largest, place = float(total), (layer, head)
    return largest, place


@pytest.mark.parametrize("text", PRONOUNS)
def test_the_head_named_first_gives_the_link_the_largest_weight(text: str) -> None:
    links, weights = WordLinks(attnviz.load("minilm").trace(text).encoder, View()), eager(text)
    pronoun, stands_for = PRONOUNS[text]
    first = first_link(links)
    assert links.queries[first.query].text == pronoun
    assert first.key is not None
    assert stands_for in ("", links.keys[first.key].text)
    # Unasked, and after a click on the pronoun and one on each other word that it may stand for.
    others = [key for key in range(first.query) if is_word(links.keys[key])]
    for link in (first, *(first_link(links, query=first.query, key=key) for key in others)):
        rows, columns = links.lens.row_parts[link.query], links.lens.column_parts[link.key or 0]
        largest, place = strongest(weights, rows, columns)
        assert (link.layer, link.head) == place
        assert links.row(link.query)[link.layer, link.head, link.key] == pytest.approx(largest, abs=1e-5)


def test_a_text_without_two_words_has_no_link() -> None:
    attention = make_map(sentence("no"), layers=3, heads=5)
    assert first_link(WordLinks(attention, View())).key is None


def test_a_word_and_a_head_that_were_chosen_stay() -> None:
    attention = make_map(sentence("the cat saw un|believ|able dogs near the barn"), layers=3, heads=5)
    links = WordLinks(attention, View())
    chosen = first_link(links, (2, 4), query=3)
    assert (chosen.query, chosen.layer, chosen.head) == (3, 2, 4)
    matrix = links.lens.matrix(attention.weights(2, 4), attention.visible(2)).weights[3]
    others = [key for key in range(len(links.keys)) if key != 3 and not links.keys[key].special]
    assert chosen.key == max(others, key=lambda key: matrix[key])


@pytest.mark.parametrize(
    ("text", "links", "first"),
    [
        # Who looks hardest, of words of four letters or more; short ones where none of these looks hard enough.
        ("a cat sees dogs", {2: (0, 0.5), 3: (1, 0.25), 1: (3, 0.75)}, "sees"),
        ("a cat sees dogs", {2: (0, 0.125), 3: (1, 0.0625), 1: (3, 0.75)}, "cat"),
        ("a cat sees dogs", {3: (0, 0.25)}, "dogs"),
        # A pronoun comes first, if it looks back, and hard enough.
        ("the cat said it sleeps", {3: (1, 0.25), 4: (1, 0.75)}, "it"),
        ("the cat said it sleeps", {3: (1, 0.125), 4: (1, 0.75)}, "sleeps"),
        ("it sleeps there today", {0: (2, 0.75), 2: (0, 0.5)}, "there"),
    ],
)
def test_the_word_to_look_at_first(text: str, links: dict[int, tuple[int, float]], first: str) -> None:
    n = len(text.split())
    weights = np.zeros((n + 2, n + 2))
    weights[:, 0] = 1
    for query, (key, weight) in links.items():
        weights[query + 1, [0, key + 1]] = 1 - weight, weight
    attention = given_map(weights, sentence(text))
    shown = WordLinks(attention, View())
    link = first_link(shown)
    assert shown.queries[link.query].text == first
    assert (shown.query_at(link.query), shown.key_at(link.key), shown.query_at(None), shown.key_at(99)) == (
        link.query, link.key, None, None,
    )  # fmt: skip


def test_the_word_to_look_at_first_is_one_of_the_first_forty_eight() -> None:
    weights = np.eye(52)
    for query, weight in ((47, 0.5), (48, 0.75), (30, 0.25)):
        weights[query, [0, query]] = weight, 1 - weight
    attention = given_map(weights, typed(" ".join(f"word{at}" for at in range(52))))
    links = WordLinks(attention, View())
    assert (first_link(links).query, first_link(links, (0, 0)).query, first_link(links, (0, None)).query) == (47, 47, 47)
    assert (first_link(links, query=48).key, first_link(links, (0, 0), query=48, key=5).key) == (0, 5)


def test_a_pronoun_beside_one_word_is_looked_at_in_a_chosen_head():
    links = WordLinks(given_map([[0.2, 0.8], [0.5, 0.5]], typed("It rains")), View())
    link = first_link(links, (0, 0))
    assert (link.query, link.key) == (1, 0)
