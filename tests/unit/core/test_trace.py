from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attnviz.core.errors import PromptError, TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt, QueryKeyWeights, Token
from attnviz.core.weights import QueryKeyLayer

QUERIES, KEYS, HEADS, LAYERS, DIM = 5, 7, 3, 2, 11


def tokens(count: int) -> tuple[Token, ...]:
    return tuple(Token(f"t{index}", 2 * index, 2 * index + 2) for index in range(count))


def dense(queries: int = QUERIES, keys: int = KEYS) -> DenseWeights:
    raw = np.random.default_rng(5).random((LAYERS, HEADS, queries, keys)).astype(np.float32)
    return DenseWeights(tuple(raw / raw.sum(axis=-1, keepdims=True)))


def attention(kind: Any = "cross", **changes: Any) -> AttentionMap:
    return AttentionMap(**{"kind": kind, "queries": tokens(QUERIES), "keys": tokens(KEYS), "store": dense(), **changes})


def causal_store(size: int) -> QueryKeyWeights:
    normal = np.random.default_rng(3).normal(size=(2, HEADS, size, DIM)).astype(np.float32)
    return QueryKeyWeights((QueryKeyLayer(normal[0], normal[1], 0.5, causal=True),))


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u3000"])
def test_a_blank_text_is_no_prompt(text: str) -> None:
    with pytest.raises(PromptError, match="type a sentence"):
        Prompt(text)


@pytest.mark.parametrize("name", ["text", "pair", "question", "target"])
def test_what_is_not_text_is_refused_by_name(name: str) -> None:
    for bad, message in (("a\x00b", "NUL"), ("a\ud83d", "half of a character")):
        with pytest.raises(PromptError, match=f"The {name} holds .*{message}"):
            Prompt(**{"text": "fine", name: bad})


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("given", [None, b"a", ["a"], 1.5, 7], ids=repr)
def test_only_text_is_a_prompt(given: Any) -> None:
    """Every model reads what it is given by `Prompt.of`."""
    with pytest.raises(PromptError, match="is a str, not"):
        Prompt(given)
    with pytest.raises(PromptError, match="a str or a Prompt, not"):
        Prompt.of(given)
    if given is not None:
        with pytest.raises(PromptError, match="The pair of a Prompt"):
            Prompt("a", pair=given)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("given", [None, 0.0, "0", [0]], ids=repr)
def test_layers_and_heads_are_whole_numbers(given: Any) -> None:
    for place, name, last in (((given, 0), "layer", LAYERS - 1), ((0, given), "head", HEADS - 1)):
        with pytest.raises(TraceError, match=f"A {name} is a whole number, 0 to {last}, not"):
            attention().weights(*place)
    assert attention().weights(np.int64(1), np.int64(2)).shape == (QUERIES, KEYS)


def test_half_a_character_stands_nowhere_in_a_trace() -> None:
    half = chr(0xDC41)
    for changes in ({"text": half}, {"piece": half}):
        with pytest.raises(TraceError, match="whole characters"):
            Token(**{"text": "a", "start": 0, "end": 1, **changes})
    for changes in ({"model": half}, {"output": half}, {"revision": half}, {"versions": (("torch", half),)}):
        with pytest.raises(TraceError, match="whole characters"):
            AttentionTrace(**{"model": "m", "prompt": Prompt("a"), "maps": (attention(),), **changes})


def test_a_value_says_what_it_is_in_one_line() -> None:
    trace = AttentionTrace(
        "m", Prompt("word " * 999), (attention(), attention("decoder", store=causal_store(5), keys=tokens(5)))
    )
    values = (trace, *trace.maps, *(each.store for each in trace.maps), causal_store(5).layers[0])
    for value in values:
        assert len(repr(value)) < 300
        assert "\n" not in repr(value)
    assert "1 × (2, 3, 3)" in repr(DenseWeights((np.full((2, 3, 3), 1 / 3),)))
    assert "2 layers of 3 heads, 5 queries, 7 keys" in repr(trace)
    single = attention("encoder", store=DenseWeights((np.ones((1, 1, 1)),)), queries=tokens(1), keys=tokens(1))
    one = AttentionTrace("m", Prompt("a"), (single,))
    assert "1 layer of 1 head, 1 query, 1 key" in repr(one)
    assert "'m'" in repr(trace)
    assert "cut" not in repr(trace)
    assert ", cut;" in repr(replace(trace, cut=7))


def test_a_blank_field_is_an_absent_one() -> None:
    prompt = Prompt("a", pair=" ", question="", target="\n")
    assert (prompt.pair, prompt.question, prompt.target) == (None, None, None)
    assert prompt == Prompt("a")
    assert hash(prompt) == hash(Prompt("a"))
    assert Prompt("a", pair=" b ").pair == " b "


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2)])
def test_a_token_ends_after_it_starts(start: int, end: int) -> None:
    with pytest.raises(TraceError, match=f"'x' has the offsets {start}:{end}"):
        Token("x", start, end)


@pytest.mark.parametrize(("axis", "changes"), [("query", {"queries": tokens(4)}), ("key", {"keys": tokens(8)})])
def test_lengths_must_equal_the_axes(axis: str, changes: dict[str, Any]) -> None:
    with pytest.raises(TraceError, match=f"{axis} positions but . {axis} tokens; keep special tokens"):
        attention(**changes)


@pytest.mark.usefixtures("unchecked")
def test_a_kind_must_be_known() -> None:
    with pytest.raises(TraceError, match="encoder, decoder, cross, not 'self'"):
        attention("self")


def test_given_causal_weights_must_not_look_ahead() -> None:
    square = {"queries": tokens(KEYS), "keys": tokens(KEYS)}
    with pytest.raises(TraceError, match="weight on a later token"):
        attention("decoder", **square, store=dense(KEYS, KEYS), causal=True)
    lower = np.tril(np.ones((HEADS, KEYS, KEYS), dtype=np.float32))
    store = DenseWeights((lower / lower.sum(axis=-1, keepdims=True),))
    assert attention("decoder", **square, store=store, causal=True).causal


def test_a_map_gives_layers_and_heads_by_number() -> None:
    one = attention()
    assert (one.n_layers, one.n_heads, one.nbytes) == (LAYERS, HEADS, LAYERS * HEADS * QUERIES * KEYS * 4)
    for layer in range(LAYERS):
        np.testing.assert_array_equal(one.layer_weights(layer), dense().layers[layer])
        for head in range(HEADS):
            np.testing.assert_array_equal(one.weights(layer, head), dense().layers[layer][head])


@pytest.mark.parametrize(("layer", "head", "message"), [
    (LAYERS, 0, "2 layers, 0 to 1; there is no layer 2"), (-1, 0, "no layer -1"),
    (0, HEADS, "3 heads, 0 to 2; there is no head 3"), (0, -1, "no head -1"),
])  # fmt: skip
def test_a_layer_or_head_that_is_not_there_is_an_error(layer: int, head: int, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        attention().weights(layer, head)


def test_layers_are_checked_wherever_they_are_asked_for() -> None:
    for ask in (attention().layer_weights, attention().visible):
        with pytest.raises(TraceError, match="no layer 2"):
            ask(LAYERS)


def test_what_a_query_may_look_at() -> None:
    assert attention().visible(0).all()
    assert attention().visible(0).shape == (QUERIES, KEYS)
    square = {"queries": tokens(KEYS), "keys": tokens(KEYS)}
    masked = attention("decoder", **square, store=causal_store(KEYS), causal=True)
    np.testing.assert_array_equal(masked.visible(0), np.tri(KEYS, dtype=bool))
    lower = np.tril(np.ones((HEADS, KEYS, KEYS), dtype=np.float32))
    given = DenseWeights((lower / lower.sum(axis=-1, keepdims=True),))
    np.testing.assert_array_equal(attention("decoder", **square, store=given, causal=True).visible(0), np.tri(KEYS, dtype=bool))


def trace(*kinds: Any) -> AttentionTrace:
    return AttentionTrace("tiny", Prompt("a b"), tuple(attention(kind) for kind in kinds))


def test_a_trace_gives_its_maps_by_kind() -> None:
    one = trace("encoder", "decoder", "cross")
    assert [one.encoder.kind, one.decoder.kind, one.cross.kind] == list(one.kinds) == ["encoder", "decoder", "cross"]
    assert one.nbytes == 3 * one.encoder.nbytes
    assert (one.output, one.cut) == ("", None)


def test_an_absent_map_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(TraceError, match="tiny has no cross attention; it has encoder, decoder"):
        trace("encoder", "decoder").cross  # noqa: B018


@pytest.mark.parametrize("kinds", [(), ("encoder", "encoder")])
def test_a_trace_has_one_map_a_kind(kinds: tuple[str, ...]) -> None:
    with pytest.raises(TraceError, match="one map a kind"):
        trace(*kinds)


def test_values_cannot_be_changed() -> None:
    one = trace("encoder")
    for value, name in ((one, "model"), (one.encoder, "causal"), (one.prompt, "text"), (one.encoder.queries[0], "text")):
        with pytest.raises(AttributeError):
            setattr(value, name, None)


def test_layers_in_which_nothing_is_visible_mix_tokens_in_another_way() -> None:
    normal = np.random.default_rng(3).normal(size=(2, HEADS, 4, DIM)).astype(np.float32)
    masks = [np.ones((4, 4), bool), np.zeros((4, 4), bool), np.eye(4, dtype=bool), None, np.zeros((4, 4), bool)]
    store = QueryKeyWeights(tuple(QueryKeyLayer(normal[0], normal[1], 0.5, visible=mask) for mask in masks))
    assert attention("encoder", queries=tokens(4), keys=tokens(4), store=store).without_attention == (1, 4)
    assert attention().without_attention == ()
