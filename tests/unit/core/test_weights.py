"""The stores of a map, against the same computation written out in float64."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attnviz.core import weights
from attnviz.core.errors import TraceError
from attnviz.core.weights import DenseWeights, EditedHeads, QueryKeyLayer, QueryKeyWeights, WeightStore, frozen, masked_softmax

HEADS, KEY_HEADS, QUERIES, KEYS, DIM, LAYERS = 6, 3, 5, 11, 7, 2
RANDOM = np.random.default_rng(13)


def layer(**changes: Any) -> QueryKeyLayer:
    parts = {"query": normal(HEADS, QUERIES, DIM), "key": normal(KEY_HEADS, KEYS, DIM), "scaling": 0.3}
    return QueryKeyLayer(**{**parts, **changes})


def normal(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def softmax64(scores: np.ndarray) -> np.ndarray:
    """Row by row, in float64; a row of -inf alone is a row of zeros."""
    out = np.zeros_like(scores, dtype=np.float64)
    for index in np.ndindex(scores.shape[:-1]):
        energy = np.array([0.0 if score == -np.inf else np.exp(np.float64(score)) for score in scores[index]])
        out[index] = energy / energy.sum() if energy.sum() else 0
    return out


def weights64(one: QueryKeyLayer) -> np.ndarray:
    """The definition, head by head and cell by cell."""
    n_queries, n_keys = one.query.shape[1], one.key.shape[1]
    rows = []
    for head in range(HEADS):
        key = one.key[head * one.key.shape[0] // HEADS].astype(np.float64)
        scores = one.query[head].astype(np.float64) @ key.T * one.scaling
        if one.softcap is not None:
            scores = one.softcap * np.tanh(scores / one.softcap)
        if one.bias is not None:
            scores = scores + one.bias[head % one.bias.shape[0]]
        for query in range(n_queries):
            for key_index in range(n_keys):
                future = one.causal and key_index > query + n_keys - n_queries
                if future or (one.visible is not None and not one.visible[query, key_index]):
                    scores[query, key_index] = -np.inf
        if one.sink is not None:
            scores = np.concatenate([scores, np.full((n_queries, 1), one.sink[head])], axis=1)
        rows.append(softmax64(scores))
    return np.stack(rows)


SPOTTED = RANDOM.random((QUERIES, KEYS)) > 0.5
SPOTTED[:, 0] = True
BLIND = SPOTTED.copy()
BLIND[2] = False


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"key": normal(HEADS, KEYS, DIM)},
        {"key": normal(1, KEYS, DIM)},
        {"scaling": 2.5},
        {"causal": True},
        {"visible": SPOTTED},
        {"visible": BLIND},
        {"visible": SPOTTED, "causal": True},
        {"bias": normal(HEADS, QUERIES, KEYS)},
        {"bias": normal(1, QUERIES, KEYS)},
        {"softcap": 0.7},
        {"softcap": 0.7, "bias": normal(HEADS, QUERIES, KEYS)},
        {"sink": normal(HEADS)},
        {"sink": normal(HEADS), "visible": BLIND, "causal": True},
    ],
    ids=lambda changes: "+".join(changes) or "plain",
)
def test_weights_are_the_softmax_of_the_scores(changes: dict[str, Any]) -> None:
    one = layer(**changes)
    want = weights64(one)
    np.testing.assert_allclose(one.weights(slice(None)), want, atol=1e-6)
    store = QueryKeyWeights((layer(**changes), one))
    assert store.shape == want.shape[1:]
    np.testing.assert_array_equal(store.layer(1), one.weights(slice(None)))
    for head in range(HEADS):
        ((rows, weights, entropy),) = store.slabs(1, head)
        assert rows == slice(0, QUERIES)
        np.testing.assert_allclose(store.head(1, head), want[head], atol=1e-6)
        np.testing.assert_array_equal(weights, store.head(1, head))
        nats = [-sum(p * np.log(p) for p in row if p > 0) for row in want[head]]
        assert entropy == pytest.approx(nats, abs=2e-6)
    visible = store.visible(1)
    assert not store.layer(1)[:, ~visible].any() if visible is not None else (store.layer(1) > 0).all()


def test_queries_before_the_first_key_see_nothing_in_a_slab_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "SLAB_CELLS", 1)
    one = layer(key=normal(KEY_HEADS, 2, DIM), causal=True)
    want = weights64(one)[4]
    # Each slab is written over the one before.
    for query, slab in enumerate(QueryKeyWeights((one,)).slabs(0, 4)):
        assert slab.rows == slice(query, query + 1)
        seen = slab.weights.shape[1]
        np.testing.assert_allclose(slab.weights, want[slab.rows, :seen], atol=1e-6)
        assert not want[slab.rows, seen:].any()
    assert query == QUERIES - 1


def test_large_scores_do_not_overflow() -> None:
    one = layer(scaling=1e3)
    weights = one.weights(slice(None))
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-6)
    entropy = next(QueryKeyWeights((layer(scaling=1e3, causal=True),)).slabs(0, 0)).entropy
    assert entropy is not None
    assert np.isfinite(entropy).all()
    assert (entropy >= 0).all()


def test_masked_softmax_takes_any_batch() -> None:
    scores = normal(3, 2, 5, 7)
    np.testing.assert_allclose(masked_softmax(scores, None), softmax64(scores), atol=1e-6)
    visible = RANDOM.random((5, 7)) > 0.9
    np.testing.assert_allclose(masked_softmax(scores, visible), softmax64(np.where(visible, scores, -np.inf)), atol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_a_head_of_many_slabs_is_that_of_its_parts(monkeypatch: pytest.MonkeyPatch, causal: bool) -> None:
    one = layer(causal=causal, visible=SPOTTED)
    store = QueryKeyWeights((one,))
    whole = store.layer(0)
    monkeypatch.setattr("attnviz.core.weights.SLAB_CELLS", 2 * KEYS)
    for head in range(HEADS):
        seen = 0
        for rows, part, entropy in store.slabs(0, head):
            assert rows.start == seen
            seen, past = rows.stop, part.shape[1]
            assert not whole[head, rows, past:].any()
            np.testing.assert_allclose(part, whole[head, rows, :past], atol=1e-6)
            shares = np.where(part > 0, part, 1)
            assert entropy == pytest.approx(-(shares * np.log(shares)).sum(axis=-1), abs=2e-6)
        assert seen == QUERIES


@pytest.mark.parametrize("name", ["query", "key", "bias", "sink"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused_by_name(name: str, value: float) -> None:
    shapes = {"query": (HEADS, QUERIES, DIM), "key": (KEY_HEADS, KEYS, DIM), "bias": (1, QUERIES, KEYS), "sink": (HEADS,)}
    array = normal(*shapes[name])
    array.flat[-1] = value
    with pytest.raises(TraceError, match=f"The {name} of a layer holds values that are not finite"):
        QueryKeyWeights((layer(**{name: array}),))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("key", [(4, KEYS, DIM), (KEY_HEADS, KEYS, DIM + 1)])
def test_queries_and_keys_that_do_not_fit_are_refused(key: tuple[int, ...]) -> None:
    with pytest.raises(TraceError, match="do not fit together"):
        layer(key=normal(*key))


def test_layers_must_agree() -> None:
    with pytest.raises(TraceError, match="Every layer must have the same heads"):
        QueryKeyWeights((layer(), layer(sink=normal(HEADS))))
    with pytest.raises(TraceError, match="Every layer must have the same heads"):
        QueryKeyWeights((layer(), layer(key=normal(KEY_HEADS, KEYS + 1, DIM))))
    with pytest.raises(TraceError, match="Every layer must have the same heads"):
        QueryKeyWeights((layer(), layer(query=normal(KEY_HEADS, QUERIES, DIM))))
    with pytest.raises(TraceError, match="got \\[\\]"):
        QueryKeyWeights(())
    with pytest.raises(TraceError, match="Every layer must have the same shape"):
        DenseWeights((uniform(), uniform(keys=KEYS + 1)))
    with pytest.raises(TraceError, match="Every layer must have the same shape"):
        DenseWeights(())


def test_what_layers_share_is_counted_once() -> None:
    bias = normal(1, QUERIES, KEYS)
    store = QueryKeyWeights((layer(bias=bias, visible=SPOTTED), layer(bias=bias, visible=SPOTTED)))
    own = 2 * 4 * (HEADS * QUERIES * DIM + KEY_HEADS * KEYS * DIM)
    assert store.nbytes == own + bias.nbytes + SPOTTED.nbytes
    assert (store.n_layers, store.n_heads) == (2, HEADS)


def test_stores_are_read_only() -> None:
    query_key, dense = QueryKeyWeights((layer(visible=SPOTTED),)), DenseWeights((uniform(),))
    arrays = [query_key.layers[0].query, query_key.layers[0].key, query_key.layers[0].visible]
    for array in [*arrays, query_key.head(0, 0), query_key.layer(0), dense.head(0, 0), dense.layer(0)]:
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_an_array_that_fits_is_not_copied_and_stays_writable_for_its_owner() -> None:
    array = normal(3)
    assert frozen(array).base is array
    assert array.flags.writeable
    assert frozen(array.astype(np.float64)).dtype == np.float32


def uniform(heads: int = 3, queries: int = QUERIES, keys: int = KEYS) -> np.ndarray:
    return np.full((heads, queries, keys), 1 / keys, dtype=np.float32)


def test_dense_weights_are_kept_as_they_are() -> None:
    first, second = uniform(), masked_softmax(normal(3, QUERIES, KEYS), None)
    store = DenseWeights((first, second))
    assert (store.n_layers, store.n_heads, store.shape, store.nbytes) == (2, 3, (QUERIES, KEYS), first.nbytes + second.nbytes)
    np.testing.assert_array_equal(store.layer(1), second)
    np.testing.assert_array_equal(store.head(1, 2), second[2])
    assert store.visible(0) is None
    assert isinstance(store, WeightStore)
    assert isinstance(QueryKeyWeights((layer(),)), WeightStore)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "not finite"),
        (np.inf, "not finite"),
        (-0.2, "negative"),
        (0.4, "row of query 3 in layer 1 head 2 sums to 1.3091"),
    ],
)
def test_a_value_that_is_no_weight_is_refused(value: float, message: str) -> None:
    weights = uniform()
    weights[2, 3, 4] = value
    with pytest.raises(TraceError, match=message):
        DenseWeights((uniform(), weights))


def test_a_row_may_be_all_zeros() -> None:
    weights = uniform()
    weights[1, 2] = 0
    assert DenseWeights((weights,)).head(0, 1)[2].sum() == 0


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "changes",
    [{"visible": SPOTTED[:-1]}, {"bias": normal(2, QUERIES, KEYS)}, {"sink": normal(HEADS - 1)}],
    ids=lambda c: next(iter(c)),
)
def test_parts_of_another_shape_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(TraceError, match="does not fit"):
        layer(**changes)


def test_an_edited_head_has_its_own_rows_and_nothing_told_of_them() -> None:
    rows, one = np.random.default_rng(1).dirichlet(np.ones(KEYS), QUERIES).astype(np.float32), layer()
    store, plain = (QueryKeyWeights((each,)) for each in (replace(one, edited=EditedHeads((2,), rows[None])), one))
    for head in range(HEADS):
        (slab,), (own,) = store.slabs(0, head), plain.slabs(0, head)
        np.testing.assert_array_equal(slab.weights, rows if head == 2 else own.weights)
        assert (slab.entropy is None) == (head == 2)
    for some in (slice(1, 3), slice(2, 5), slice(3, 6)):
        whole = store.layer(0)[some]
        np.testing.assert_array_equal(store.layers[0].weights(some), whole)


@pytest.mark.parametrize(("heads", "n_weights"), [((), 0), ((1, 1), 2), ((1, 2), 1), ((1,), 2)])
def test_edited_heads_have_each_its_own_weights(heads: tuple[int, ...], n_weights: int) -> None:
    with pytest.raises(TraceError, match=f"{n_weights} edited heads have the numbers"):
        EditedHeads(heads, uniform(n_weights))


@pytest.mark.parametrize(("more", "is_row"), [(9e-5, True), (2e-4, False), (-9e-5, True), (-2e-4, False), (-1.0, True)])
def test_a_row_sums_to_one_but_for_its_rounding(more: float, is_row: bool) -> None:
    weights = uniform()
    weights[0, 1] *= 1 + more
    if is_row:
        assert DenseWeights((weights,)).head(0, 0)[1].sum() == pytest.approx(1 + more, abs=1e-6)
    else:
        with pytest.raises(TraceError, match="row of query 1 in layer 0 head 0"):
            DenseWeights((weights,))
