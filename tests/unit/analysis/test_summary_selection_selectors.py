"""Ways to choose, each against an independent computation on a random map."""

import numpy as np
import pytest

from attnviz.analysis.summary_selection import (
    attention_received_by_head,
    plain_layers,
    read_passage,
    rollout,
    selectors,
    shares_of_heads,
    top,
)
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt
from tests.factories import make_map, numbered, sentence, typed

TEXT = "Cats sleep here . Dogs bark"
LAYERS, HEADS = 3, 5


@pytest.fixture
def attention() -> AttentionMap:
    return make_map(sentence(TEXT), layers=LAYERS, heads=HEADS)


@pytest.fixture
def trace(attention) -> AttentionTrace:
    return AttentionTrace("m", Prompt(TEXT), (attention,))


def by_hand(attention: AttentionMap, layers: list[int], heads: list[int]) -> list[float]:
    asking = [index for index, token in enumerate(attention.queries) if not token.special]
    actual = []
    for key in range(len(attention.keys)):
        cells = [attention.weights(layer, head)[query, key] for layer in layers for head in heads for query in asking]
        actual.append(float(np.mean(cells)))
    return actual


def test_attention_received_is_the_mean_over_true_queries(attention):
    by_head = attention_received_by_head(attention)
    np.testing.assert_allclose(by_head[1, 4], by_hand(attention, [1], [4]), atol=1e-6)
    np.testing.assert_allclose(by_head[2].mean(axis=0), by_hand(attention, [2], list(range(HEADS))), atol=1e-6)
    np.testing.assert_allclose(by_head[0, 3], by_hand(attention, [0], [3]), atol=1e-6)


def test_attention_received_is_the_mean_over_all_queries_where_none_is_special():
    attention = make_map(numbered(5), numbered(7))
    weights = attention.weights(0, 0)
    means = [sum(float(weights[query, key]) for query in range(5)) / 5 for key in range(7)]
    np.testing.assert_allclose(attention_received_by_head(attention)[0, 0], means, atol=1e-6)


def test_rollout_is_the_product_of_what_every_layer_mixes(attention):
    """Abnar & Zuidema 2020, equation 1, in double precision and the other order of products."""
    n = len(attention.keys)
    mixed = [attention.layer_weights(layer).astype(float).mean(axis=0) / 2 + np.eye(n) / 2 for layer in range(LAYERS)]
    product = np.linalg.multi_dot(mixed[::-1])
    np.testing.assert_allclose(product.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(rollout(attention, range(LAYERS)), product[1:-1].mean(axis=0), atol=1e-6)


def test_rollout_is_within_one_text():
    with pytest.raises(TraceError, match="between two"):
        rollout(make_map(typed("a b"), typed("c d e")), range(2))


def test_every_way_is_there_and_is_what_it_says(trace, attention):
    actual = read_passage(TEXT, attention.keys)
    rows = {way.name: way for way in selectors(actual, trace, selects=(1, 2), layer=0, head=3)}
    assert list(rows) == [
        "Trained selector", "Attention, last layer (L0)", "Attention, mean of all layers", "Attention, chosen head (L0·H3)",
        "Attention rollout", "First", "Random",
    ]  # fmt: skip
    everyone = list(range(HEADS))
    wanted = {
        "Trained selector": by_hand(attention, [1], everyone),
        "Attention, last layer (L0)": by_hand(attention, [0], everyone),
        "Attention, chosen head (L0·H3)": by_hand(attention, [0], [3]),
    }
    for name, tokens in wanted.items():
        np.testing.assert_allclose(rows[name].units, actual.by_unit(np.array(tokens)), atol=1e-6)
    sentences = actual.by_sentence(np.array(by_hand(attention, [2], everyone)))
    np.testing.assert_allclose(rows["Trained selector"].sentences, sentences, atol=1e-6)
    assert sentences.sum() == pytest.approx(1)


def test_without_a_trained_layer_all_layers_are_plain(trace, attention):
    actual = read_passage(TEXT, attention.keys)
    names = [way.name for way in selectors(actual, trace, selects=None, layer=0, head=None)]
    assert names[0] == f"Attention, last layer (L{LAYERS - 1})"
    assert "Attention, chosen layer (L0)" in names
    assert plain_layers(attention, None) == range(LAYERS)


def test_first_and_random(trace, attention):
    actual = read_passage(TEXT, attention.keys)
    *_, first, random = selectors(actual, trace, selects=None, layer=0, head=None)
    assert actual.words(top(first.units, 2, actual.candidate)) == "Cats sleep"
    assert actual.extract(top(first.sentences, 1, actual.read)) == "Cats sleep here ."
    again = selectors(actual, trace, selects=None, layer=1, head=1)[-1]
    np.testing.assert_array_equal(random.units, again.units)
    assert len(set(random.units.tolist())) == len(actual.units)


def test_of_a_model_that_writes_the_summary_is_what_asks():
    source, target = sentence(TEXT), typed("Cats bark")
    cross, encoder = make_map(target, source, layers=2), make_map(source, layers=4)
    trace = AttentionTrace("m", Prompt(TEXT), (encoder, cross), "Cats bark")
    actual = read_passage(TEXT, source)
    rows = {way.name: way for way in selectors(actual, trace, selects=None, layer=1, head=2)}
    chosen = cross.weights(1, 2).mean(axis=0)
    np.testing.assert_allclose(rows["Attention, chosen head (L1·H2)"].units, actual.by_unit(chosen), atol=1e-6)
    np.testing.assert_allclose(rows["Attention rollout"].units, actual.by_unit(rollout(encoder, range(4))), atol=1e-6)


def test_the_share_of_a_head_that_goes_to_what_is_kept(attention):
    actual = read_passage(TEXT, attention.keys)
    kept = np.array([unit.text in ("Cats", "bark") for unit in actual.units])
    shares = shares_of_heads(attention, actual, kept)
    assert shares.shape == (LAYERS, HEADS)
    tokens = by_hand(attention, [1], [2])
    # [CLS] Cats sleep here . Dogs bark [SEP]: the full stop may not be kept.
    assert shares[1, 2] == pytest.approx((tokens[1] + tokens[6]) / (sum(tokens[1:4]) + sum(tokens[5:7])), abs=1e-5)
