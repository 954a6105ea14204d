"""Explain this cell: the last number on Compute is the heatmap's, for every kind of model."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import attnviz
from attnviz.analysis.compute import LinkSteps, QueryKey, link_steps
from attnviz.analysis.head_view import View, head_matrix
from attnviz.core.head_inputs import Additive, DotProduct
from attnviz.core.trace import Prompt
from attnviz.models.head_inputs import InspectedTrace, inspect_result, run_inspectable
from attnviz.models.hub.single_stack import StackModel
from tests.tiny import FAMILIES, FAMILY, first_now, some_now, tokenizer
from tests.translators import tiny_translator
from tests.worded import MINUS, all_worded, worded

ANIMAL = Prompt("The animal didn't cross the street because it was too tired.")
FRANCE = Prompt("He has never been to France with his old friends.")
LOVELACE = Prompt("Ada Lovelace wrote the first program in 1843.", question="Who wrote the first program?")
PROMPTS = {
    "minilm": ANIMAL,
    "summarize-en": ANIMAL,
    "bahdanau-en-fr": FRANCE,
    "bilstm-en-fr": FRANCE,
    "dot-lstm-en-fr": FRANCE,
    "transformer-en-fr": FRANCE,
    "answer-en": LOVELACE,
    "answer-en-dual": LOVELACE,
}
SHORT = "the cat sat on the mat because it was tired"


def inspect_trace(model, prompt: Prompt, begins: tuple[str, ...] = ()) -> InspectedTrace:
    return inspect_result(model, run_inspectable(model, prompt, begins))


@cache
def inspected(name: str) -> InspectedTrace:
    return inspect_trace(attnviz.load(name), PROMPTS[name])


def explained(
    opened: InspectedTrace, kind: str, layer: int, head: int, query: int, key: int, *, words: bool = False
) -> LinkSteps:
    attention = opened.trace.map(kind)
    queries, keys = (tuple(token.text for token in tokens) for tokens in (attention.queries, attention.keys))
    inputs = opened.head(kind, layer, head)
    assert inputs
    return link_steps(inputs, attention, (layer, head), QueryKey(queries, keys, query, key), words=words)


def number_text(value: float) -> str:
    """A number of a weight or a vector as it stands on the page; never minus zero."""
    return f"{round(value, 2) + 0:.2f}".replace("-", MINUS)


def check_ends_at_the_heatmap(opened: InspectedTrace, kind: str, cells: int) -> None:
    attention = opened.trace.map(kind)
    generator = np.random.default_rng(17)
    looked_at, links = [], []
    for _ in range(cells):
        layer, head = int(generator.integers(attention.n_layers)), int(generator.integers(attention.n_heads))
        weights = attention.weights(layer, head)
        query, key = (int(generator.integers(size)) for size in weights.shape)
        looked_at.append((float(weights[query, key]), bool(attention.visible(layer)[query, key])))
        links.append(explained(opened, kind, layer, head, query, key))
    made = all_worded([link.steps for link in links])
    for (weight, is_seen), link, steps in zip(looked_at, links, made, strict=True):
        step = steps[link.steps.weights_step]
        assert float(step.result.values[step.start]) == pytest.approx(weight, abs=1e-6)
        assert link.difference < 1e-6
        # Read from the page: the row adds up, and the cell reads as it does in the heatmap.
        assert sum(float(text) for text in step.result.shown[0]) == pytest.approx(float(step.result.totals[0]), abs=1e-9)
        assert step.result.shown[0][step.start[1]] == number_text(weight)
        if is_seen:
            assert step.origins[step.start].text.endswith(number_text(weight))


@pytest.mark.parametrize("name", first_now(PROMPTS, 3))
def test_cells_of_every_map_of_the_models_that_travel_with_attnviz(name: str) -> None:
    opened = inspected(name)
    for kind in opened.trace.kinds:
        check_ends_at_the_heatmap(opened, kind, 4)


@pytest.mark.parametrize("family", some_now(family for family in FAMILIES if family.recorded), ids=str)
def test_every_family_that_shows_its_queries_and_keys(tmp_path: Path, family, monkeypatch: pytest.MonkeyPatch) -> None:
    # A random model that writes never comes to an end by itself.
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "17")
    family.save(tmp_path)
    opened = inspect_trace(attnviz.load(str(tmp_path)), Prompt(SHORT))
    for kind in opened.trace.kinds:
        check_ends_at_the_heatmap(opened, kind, 2)


def test_a_model_that_shows_its_weights_alone_has_no_steps(tmp_path: Path) -> None:
    next(family for family in FAMILIES if not family.recorded).save(tmp_path)
    opened = inspect_trace(attnviz.load(str(tmp_path)), Prompt(SHORT))
    assert opened.head(opened.trace.kinds[-1], 0, 0) is None


def test_the_context_is_what_the_model_passes_on() -> None:
    opened = inspected("bahdanau-en-fr")
    inside = opened.head("cross", 0, 0)
    assert isinstance(inside, Additive)
    whole = opened.trace.cross.weights(0, 0)[3] @ inside.memory
    context = worded(explained(opened, "cross", 0, 0, 3, 2).steps)[-1].result
    for column, dim in enumerate(context.columns[:-1]):
        assert context.values[0, column] == pytest.approx(float(whole[int(dim)]), abs=1e-5)


def test_values_are_those_the_encoder_mixes() -> None:
    opened = inspected("minilm")
    inside = opened.head("encoder", 3, 1)
    assert isinstance(inside, DotProduct)
    assert inside.value is not None
    assert inside.value.shape == (16, 32)
    actual = explained(opened, "encoder", 3, 1, 10, 2)
    assert [place.symbol for place in actual.steps.places] == ["q", "k", "q·k", "q·K", "÷√d", "softmax", "v", "·V"]


def check_made(opened: InspectedTrace, kind: str) -> None:
    """X W + b, by NumPy and over all dimensions, is what the head compares and mixes; the steps show the same numbers."""
    attention = opened.trace.map(kind)
    inside = opened.head(kind, attention.n_layers - 1, attention.n_heads - 1)
    assert isinstance(inside, DotProduct)
    assert inside.made
    for made, vectors in ((inside.made.query, inside.query), (inside.made.key, inside.key), (inside.made.value, inside.value)):
        assert vectors is not None
        np.testing.assert_allclose(np.einsum("ti,oi->to", made.states, made.weight) + made.bias, vectors, atol=1e-4)
    steps = worded(explained(opened, kind, attention.n_layers - 1, attention.n_heads - 1, 4, 2).steps)
    for symbol, vectors, at in (("q", inside.query, 4), ("k", inside.key, 2), ("v", inside.value, 2)):
        assert vectors is not None
        step = next(step for step in steps if step.symbol == symbol)
        for column, dim in enumerate(step.result.columns[:-1]):
            assert step.result.values[0, column] == pytest.approx(float(vectors[at, int(dim)]), abs=1e-5)
            assert step.origins[0, column].text.endswith(f" = {number_text(float(vectors[at, int(dim)]))}")


@pytest.mark.parametrize(("name", "kind"), first_now([
    ("transformer-en-fr", "cross"), ("minilm", "encoder"), ("summarize-en", "encoder"), ("answer-en", "encoder"),
    ("answer-en", "cross"), ("answer-en-dual", "encoder"), ("answer-en-dual", "cross"), ("dot-lstm-en-fr", "cross"),
    ("bilstm-en-fr", "cross"), ("transformer-en-fr", "encoder"), ("transformer-en-fr", "decoder"),
], 4))  # fmt: skip
def test_the_path_begins_at_what_the_head_reads(name: str, kind: str) -> None:
    check_made(inspected(name), kind)


@pytest.mark.parametrize("name", ["bert", "distilbert", "gpt2"])
def test_the_path_begins_at_what_the_head_reads_in_models_of_the_hub(tmp_path: Path, name: str) -> None:
    FAMILY[name].save(tmp_path)
    opened = inspect_trace(attnviz.load(str(tmp_path)), Prompt(SHORT))
    check_made(opened, opened.trace.kinds[0])


def test_a_decoders_one_matrix_is_read_as_it_stands_in_its_file(tmp_path: Path) -> None:
    FAMILY["gpt2"].save(tmp_path)
    opened = inspect_trace(attnviz.load(str(tmp_path)), Prompt(SHORT))
    inside = opened.head("decoder", 0, 1)
    assert isinstance(inside, DotProduct)
    assert inside.made
    kept = {name.removeprefix("transformer."): values for name, values in load_file(tmp_path / "model.safetensors").items()}
    vocabulary = tokenizer("decoder").get_vocab()
    ids = [vocabulary[token.text] for token in opened.trace.decoder.keys]
    read = kept["wte.weight"][ids] + kept["wpe.weight"][: len(ids)]
    mean, variance = read.mean(axis=1, keepdims=True), read.var(axis=1, keepdims=True)
    read = (read - mean) / np.sqrt(variance + 1e-5) * kept["h.0.ln_1.weight"] + kept["h.0.ln_1.bias"]
    joined = read @ kept["h.0.attn.c_attn.weight"] + kept["h.0.attn.c_attn.bias"]
    # The second of three heads of five numbers: 15 columns of queries, then of keys, then of values.
    for made, first in ((inside.made.query, 5), (inside.made.key, 20), (inside.made.value, 35)):
        np.testing.assert_allclose(made.states, read, atol=1e-5)
        np.testing.assert_allclose(made.vectors, joined[:, first : first + 5], atol=1e-5)


def test_a_path_that_begins_later_says_so(tmp_path: Path) -> None:
    FAMILY["llama"].save(tmp_path)
    opened = inspect_trace(attnviz.load(str(tmp_path)), Prompt(SHORT))
    first = worded(explained(opened, "decoder", 1, 1, 4, 2).steps)[0]
    assert first.symbol == "q·k"
    assert "The path begins here" in first.sentence
    met = next(step for step in worded(explained(inspected("minilm"), "encoder", 0, 0, 1, 2).steps) if step.symbol == "q·k")
    assert "The path begins here" not in met.sentence


def test_a_path_that_does_not_lead_to_what_was_compared_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FAMILY["bert"].save(tmp_path)
    opened = inspect_trace(attnviz.load(str(tmp_path)), Prompt(SHORT))
    check_made(opened, "encoder")
    read = opened.model.attended(opened.trace.prompt)["encoder"]
    turned = tuple(replace(layer, states=layer.states.flip(1)) for layer in read)
    monkeypatch.setattr(StackModel, "attended", lambda *_: {"encoder": turned})
    inside = InspectedTrace(opened.trace, opened.model).head("encoder", 0, 0)
    assert isinstance(inside, DotProduct)
    assert inside.made is None


def test_a_written_token_explains_nothing_with_those_after_it() -> None:
    opened = inspected("transformer-en-fr")
    inside = opened.head("decoder", 0, 0)
    assert isinstance(inside, DotProduct)
    assert inside.visible is not None
    np.testing.assert_array_equal(inside.visible, np.tri(len(inside.query), dtype=bool))
    actual = explained(opened, "decoder", 0, 0, 1, 4)
    assert actual.weight == 0
    step = worded(actual.steps)[actual.steps.weights_step]
    assert step.origins[step.start].text == "e^{−∞} = 0.00"


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("kind", ["additive", "dot", "scaled", "transformer"])
def test_a_translation_that_a_search_has_found_is_the_one_that_is_explained(tmp_path: Path, kind: str) -> None:
    model = attnviz.load(str(tiny_translator(tmp_path, kind)))
    pieces = ("▁La", "▁voiture", "</s>") if kind == "additive" else ()
    known = [name for name in pieces if model.target.token_to_id(name) is not None]
    opened = inspect_trace(model, Prompt("The red car is not new."), known)
    check_ends_at_the_heatmap(opened, "cross", 5)
    assert isinstance(opened.head("cross", 0, 0), Additive if kind == "additive" else DotProduct)


def test_a_forced_target_is_explained_as_it_is_drawn(tmp_path: Path) -> None:
    model = attnviz.load(str(tiny_translator(tmp_path)))
    opened = inspect_trace(model, Prompt("The red car is not new.", target="La voiture rouge n'est pas neuve."))
    check_ends_at_the_heatmap(opened, "cross", 5)


def test_between_whole_words_the_last_number_is_that_of_the_merged_heatmap() -> None:
    opened = inspect_trace(attnviz.load("minilm"), Prompt("Unbelievably, tokenization disentangles subwords."))
    attention = opened.trace.encoder
    whole = head_matrix(attention, layer=1, head=3, view=View(words=True))
    cells = np.random.default_rng(17).integers((len(whole.queries), len(whole.keys)), size=(20, 2)).tolist()
    merged = 0
    links = [explained(opened, "encoder", 1, 3, whole.rows[row], whole.columns[column], words=True) for row, column in cells]
    for (row, column), steps in zip(cells, all_worded([link.steps for link in links]), strict=True):
        step = next((step for step in steps if step.symbol == "word"), None)
        if step:
            merged += 1
            assert float(step.result.values[0, 0]) == pytest.approx(float(whole.weights[row, column]), abs=1e-6)
            assert step.origins[0, 0].text.endswith(step.result.shown[0][0])
    assert merged > len(cells) / 2
