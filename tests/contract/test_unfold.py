"""Explain this cell: the last number on Compute is the heatmap's, for every kind of model."""

from pathlib import Path

import numpy as np
import pytest

import attnviz
from attnviz.analysis.few import Link
from attnviz.analysis.rounding import shown
from attnviz.analysis.view import View, head_matrix
from attnviz.ingredients import Additive, DotProduct
from attnviz.models.inside import Opened, open_trace
from attnviz.trace import Prompt
from attnviz.ui.unfolded import Unfolded, unfolded
from tests.tiny import FAMILIES
from tests.translators import tiny_translator

TEXTS = {
    "minilm": "The animal didn't cross the street because it was too tired.",
    "bahdanau-en-fr": "He has never been to France with his old friends.",
}
SHORT = "the cat sat on the mat because it was tired"


def explained(opened: Opened, kind: str, layer: int, head: int, query: int, key: int, *, words: bool = False) -> Unfolded:
    attention = opened.trace.map(kind)
    queries, keys = (tuple(token.text for token in tokens) for tokens in (attention.queries, attention.keys))
    found = unfolded(opened, kind, layer=layer, head=head, link=Link(queries, keys, query, key), words=words)
    assert found
    return found


def check_ends_at_the_heatmap(opened: Opened, kind: str, cells: int) -> None:
    attention = opened.trace.map(kind)
    generator = np.random.default_rng(17)
    for _ in range(cells):
        layer, head = int(generator.integers(attention.n_layers)), int(generator.integers(attention.n_heads))
        weights = attention.weights(layer, head)
        query, key = (int(generator.integers(size)) for size in weights.shape)
        found = explained(opened, kind, layer, head, query, key)
        step = found.steps[found.last]
        assert float(step.result.values[step.start]) == pytest.approx(float(weights[query, key]), abs=1e-6)
        assert found.difference < 1e-6
        # Read from the page: the row adds up, and the cell reads as it does in the heatmap.
        assert sum(float(text) for text in step.result.shown[0]) == pytest.approx(float(step.result.totals[0]), abs=1e-9)
        assert step.result.shown[0][step.start[1]] == shown(float(weights[query, key]))
        if attention.visible(layer)[query, key]:
            assert step.origins[step.start].text.endswith(shown(float(weights[query, key])))


@pytest.mark.parametrize("name", TEXTS)
def test_ten_cells_of_the_models_that_travel_with_attnviz(name: str) -> None:
    opened = open_trace(attnviz.load(name), Prompt(TEXTS[name]))
    check_ends_at_the_heatmap(opened, opened.trace.kinds[-1], 10)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family.seam], ids=str)
def test_every_family_that_shows_its_queries_and_keys(tmp_path: Path, family) -> None:
    family.save(tmp_path)
    opened = open_trace(attnviz.load(str(tmp_path)), Prompt(SHORT))
    for kind in opened.trace.kinds:
        check_ends_at_the_heatmap(opened, kind, 3)


def test_a_model_that_shows_its_weights_alone_has_no_steps(tmp_path: Path) -> None:
    next(family for family in FAMILIES if not family.seam).save(tmp_path)
    opened = open_trace(attnviz.load(str(tmp_path)), Prompt(SHORT))
    assert opened.head(opened.trace.kinds[-1], 0, 0) is None


def test_the_context_is_what_the_model_passes_on() -> None:
    opened = open_trace(attnviz.load("bahdanau-en-fr"), Prompt(TEXTS["bahdanau-en-fr"]))
    inside = opened.head("cross", 0, 0)
    assert isinstance(inside, Additive)
    found = explained(opened, "cross", 0, 0, 3, 2)
    whole = opened.trace.cross.weights(0, 0)[3] @ inside.memory
    context = found.steps[-1].result
    for column, dim in enumerate(context.columns[:-1]):
        assert context.values[0, column] == pytest.approx(float(whole[int(dim)]), abs=1e-5)


def test_values_are_those_the_encoder_mixes() -> None:
    opened = open_trace(attnviz.load("minilm"), Prompt(TEXTS["minilm"]))
    inside = opened.head("encoder", 3, 1)
    assert isinstance(inside, DotProduct)
    assert inside.value is not None
    assert inside.value.shape == (16, 32)
    found = explained(opened, "encoder", 3, 1, 10, 2)
    assert [step.symbol for step in found.steps] == ["q·k", "q·K", "÷√d", "softmax", "·V"]


@pytest.mark.parametrize("kind", ["additive", "dot", "scaled"])
def test_a_translation_that_a_search_has_found_is_the_one_that_is_explained(tmp_path: Path, kind: str) -> None:
    model = attnviz.load(str(tiny_translator(tmp_path, kind)))
    pieces = ("▁La", "▁voiture", "</s>") if kind == "additive" else ()
    known = [name for name in pieces if model.target.token_to_id(name) is not None]
    opened = open_trace(model, Prompt("The red car is not new."), known)
    check_ends_at_the_heatmap(opened, "cross", 5)
    assert isinstance(opened.head("cross", 0, 0), Additive if kind == "additive" else DotProduct)


def test_a_forced_target_is_explained_as_it_is_drawn(tmp_path: Path) -> None:
    model = attnviz.load(str(tiny_translator(tmp_path)))
    opened = open_trace(model, Prompt("The red car is not new.", target="La voiture rouge n'est pas neuve."))
    check_ends_at_the_heatmap(opened, "cross", 5)


def test_between_whole_words_the_last_number_is_that_of_the_merged_heatmap() -> None:
    opened = open_trace(attnviz.load("minilm"), Prompt("Unbelievably, tokenization disentangles subwords."))
    attention = opened.trace.encoder
    whole = head_matrix(attention, layer=1, head=3, view=View(words=True))
    cells = [(row, column) for row in range(len(whole.queries)) for column in range(len(whole.keys))]
    merged = 0
    for row, column in cells:
        query, key = whole.rows[row], whole.columns[column]
        found = explained(opened, "encoder", 1, 3, query, key, words=True)
        step = next((step for step in found.steps if step.symbol == "word"), None)
        if step:
            merged += 1
            assert float(step.result.values[0, 0]) == pytest.approx(float(whole.weights[row, column]), abs=1e-6)
            assert step.origins[0, 0].text.endswith(step.result.shown[0][0])
    assert merged > len(cells) / 2
