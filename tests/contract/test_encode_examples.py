"""Every claim of assets/examples.toml, measured on the embedded model."""

import re

import numpy as np
import pytest

import attnviz
from attnviz import AttentionMap, Prompt
from attnviz.analysis.head_metrics import is_word
from attnviz.models.base import AttentionModel
from attnviz.ui.prompt_box import Example, examples

EXAMPLES = examples("encode")
by_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.label)
# The words at the query and the key, and what else the notice names.
LINKS = {
    "What is “it”?": ("it", "animal", {"tired"}),
    "Bank and bank": ("bank", "deposit", {"river"}),
    "A long way to the verb": ("are", "keys", {"cabinet", "hall"}),
    "Two sentences": ("couch", "sofa", set()),
    "Garden path": ("fell", "horse", {"barn"}),
    "The word before": ("sleep", "ideas", set()),
}


@pytest.fixture(scope="module")
def minilm() -> AttentionModel:
    return attnviz.load("minilm")


def attention_of(model: AttentionModel, example: Example) -> AttentionMap:
    return model.trace(Prompt(example.text, pair=example.pair or None)).encoder


def positions(attention: AttentionMap, word: str) -> list[int]:
    return [index for index, token in enumerate(attention.keys) if token.text == word]


def strongest_word(attention: AttentionMap, example: Example, query: int) -> str:
    """The word that a query of the example's head looks at most, itself aside."""
    row = attention.weights(example.layer, example.head)[query].copy()
    for key, token in enumerate(attention.keys):
        if key == query or not is_word(token):
            row[key] = 0
    return attention.keys[int(row.argmax())].text


def test_every_example_has_its_words_here():
    assert [example.label for example in EXAMPLES] == list(LINKS)


@by_example
def test_the_link_is_between_the_words_of_the_notice(minilm, example):
    attention = attention_of(minilm, example)
    query, key, others = LINKS[example.label]
    assert (attention.queries[example.query].text, attention.keys[example.key].text) == (query, key)
    assert others <= {token.text for token in attention.keys}
    named = set(re.findall(r"“(\w+)”", example.notice))
    typed = {query, key} | others
    # "wide" is what the notice asks to type; the last notice names no word at all.
    assert named - {"wide"} == (typed if named else set())
    heads = set(re.findall(r"L(\d+)·H(\d+)", example.notice))
    assert heads <= {(str(example.layer), str(example.head))}


@by_example
def test_the_link_has_the_weight_it_is_said_to_have(minilm, example):
    attention = attention_of(minilm, example)
    weight = float(attention.weights(example.layer, example.head)[example.query, example.key])
    assert round(weight, 2) == example.weight


@by_example
def test_the_link_is_the_strongest_of_its_word(minilm, example):
    attention = attention_of(minilm, example)
    row = attention.weights(example.layer, example.head)[example.query]
    assert strongest_word(attention, example, example.query) == attention.keys[example.key].text
    assert int(row.argmax()) == example.key, "a special token, or the word itself, has more"


@by_example
def test_layer_0_head_2_looks_at_the_token_before(minilm, example):
    attention = attention_of(minilm, example)
    weights = attention.weights(0, 2)
    tokens = attention.queries
    # The first word of a second sentence is torn between the border before it and its own sentence.
    rows = [row for row in range(1, len(tokens)) if tokens[row].segment == tokens[row - 1].segment]
    assert min(weights[row, row - 1] for row in rows) >= 0.9
    np.testing.assert_array_equal(weights[1:].argmax(axis=1), range(len(tokens) - 1))


def by_label(label: str) -> Example:
    return next(example for example in EXAMPLES if example.label == label)


def test_the_two_banks_differ(minilm):
    example = by_label("Bank and bank")
    attention = attention_of(minilm, example)
    first, second = positions(attention, "bank")
    assert second == example.query
    assert int(attention.weights(0, 4)[first].argmax()) == positions(attention, "river")[0]
    assert int(attention.weights(0, 4)[second].argmax()) == positions(attention, "deposit")[0]


def test_it_stands_six_words_after_animal(minilm):
    example = by_label("What is “it”?")
    words = re.findall(r"[\w']+", example.text)
    assert words.index("it") - words.index("animal") == 6


def test_another_adjective_moves_it(minilm):
    example = by_label("What is “it”?")
    text = example.text.replace("tired", "wide")
    attention = minilm.trace(Prompt(text)).encoder
    weights = attention.weights(3, 1)
    (it,), (animal,), (street,) = (positions(attention, word) for word in ("it", "animal", "street"))
    before = attention_of(minilm, example).weights(3, 1)
    assert weights[it, animal] < before[it, animal] / 2
    assert weights[it, street] > before[it, street] * 2


def test_the_verb_looks_past_nearer_nouns(minilm):
    example = by_label("A long way to the verb")
    attention = attention_of(minilm, example)
    row = attention.weights(example.layer, example.head)[example.query]
    for nearer in ("cabinet", "hall"):
        (position,) = positions(attention, nearer)
        assert example.key < position < example.query
        assert row[position] < row[example.key] / 10


def test_the_pairs_link_crosses_the_border(minilm):
    example = by_label("Two sentences")
    attention = attention_of(minilm, example)
    assert (attention.queries[example.query].segment, attention.keys[example.key].segment) == (1, 0)


def test_the_garden_path_is_not_taken(minilm):
    example = by_label("Garden path")
    attention = attention_of(minilm, example)
    row = attention.weights(example.layer, example.head)[example.query]
    assert row[positions(attention, "barn")[0]] < row[example.key] / 10
