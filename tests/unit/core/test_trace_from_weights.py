"""Weights of a model of one's own: every array there is, every shape that is meant, and a clear no to all others."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqModelOutput

import attnviz
from attnviz.core.errors import TraceError
from attnviz.core.trace import Token

LAYERS, HEADS, QUERIES, KEYS = 2, 3, 5, 7
ROWS, COLUMNS = [f"q{index}" for index in range(QUERIES)], [f"k{index}" for index in range(KEYS)]


def random(*shape: int) -> np.ndarray:
    weights = np.random.default_rng(5).random(shape).astype(np.float32)
    return weights / weights.sum(axis=-1, keepdims=True)


class Jax:
    """An array as JAX's: it is no NumPy array, and becomes one when asked."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._values.astype(dtype or self._values.dtype)


FULL = random(LAYERS, HEADS, QUERIES, KEYS)


@pytest.mark.parametrize(("given", "want"), [
    (FULL, FULL), (FULL[1], FULL[1:]), (FULL[1, 2], FULL[1:, 2:]), (list(FULL), FULL), (FULL[:, None], FULL),
    (FULL.tolist(), FULL), (FULL[1, 2].tolist(), FULL[1:, 2:]), (Jax(FULL), FULL), ([Jax(layer) for layer in FULL], FULL),
    (torch.tensor(FULL, requires_grad=True), FULL), (tuple(torch.tensor(FULL)[:, None].unbind(0)), FULL),
], ids=["full", "layer", "head", "layers", "batch", "lists", "rows", "jax", "jaxes", "torch", "torches"])  # fmt: skip
def test_arrays_of_every_kind_and_shape(given: object, want: np.ndarray) -> None:
    attention = attnviz.from_weights(given, queries=ROWS, keys=COLUMNS).cross
    np.testing.assert_array_equal([attention.layer_weights(layer) for layer in range(attention.n_layers)], want)
    assert [token.text for token in attention.queries] == ROWS
    assert [token.text for token in attention.keys] == COLUMNS


def test_half_precision_is_read() -> None:
    weights = torch.tensor([[0.25, 0.75], [0.5, 0.5]], dtype=torch.bfloat16)
    assert attnviz.from_weights(weights, queries=["a", "b"]).encoder.weights(0, 0).tolist() == weights.float().tolist()


def test_the_kind_is_told_by_the_weights_unless_it_is_given() -> None:
    square = random(HEADS, QUERIES, QUERIES)
    lower = np.tril(square)
    lower /= lower.sum(axis=-1, keepdims=True)
    assert attnviz.from_weights(square, ROWS).kinds == ("encoder",)
    decoder = attnviz.from_weights(lower, ROWS).decoder
    assert not decoder.visible(0)[0, 1]
    assert attnviz.from_weights(lower, ROWS, kind="encoder").encoder.visible(0).all()
    assert not attnviz.from_weights(square, ROWS, kind="decoder").decoder.causal
    # The last two of three tokens are written: the first of them sees the token before it, too.
    for first, causal in (([0.5, 0.5, 0], True), ([0.25, 0.25, 0.5], False)):
        written = attnviz.from_weights([first, [0.5, 0.25, 0.25]], ["b", "c"], ["a", "b", "c"], kind="decoder")
        assert written.decoder.causal is causal


def test_words_have_their_places_in_the_text_and_tokens_stay_as_they_are() -> None:
    given = (Token("[CLS]", 0, 0, special=True), Token("hi", 3, 5, word=2))
    trace = attnviz.from_weights(random(2, 2), queries=given)
    assert trace.encoder.queries == given
    trace = attnviz.from_weights(FULL, queries=ROWS, keys=COLUMNS, model="mine")
    assert (trace.model, trace.prompt.text, trace.output) == ("mine", " ".join(COLUMNS), " ".join(ROWS))
    assert all(trace.prompt.text[token.start : token.end] == token.text for token in trace.cross.keys)
    assert all(trace.output[token.start : token.end] == token.text for token in trace.cross.queries)


SHAPES = r"\(query, key\), \(head, query, key\), \(layer, head, query, key\), \(layer, batch, head, query, key\)"


@pytest.mark.parametrize(("weights", "message"), [
    (FULL.swapaxes(2, 3), "7 queries and 5 keys .* 5 query tokens and 7 key tokens"),
    (FULL[None, :, None].repeat(2, axis=2), r"shape \(1, 2, 2, 3, 5, 7\)"), (FULL[:, None].repeat(2, axis=1), "of 2 texts"),
    (FULL[None, None], r"shape \(1, 1, 2, 3, 5, 7\)"), (FULL[0, 0, 0], SHAPES),
    (np.zeros((0, QUERIES, KEYS)), r"\(0, 5, 7\)"),
    ([FULL[0], FULL[1, :2]], "same shape"), (FULL * 2, "sums to 2.0000 instead of 1"), (FULL - 1, "negative"),
    ([["a"]], "array of numbers"), (None, "lists of them, not None"), (b"ab", "not bytes"), ("12", "not str"),
    (FULL * 1j, "complex"), (torch.tensor(FULL) * 1j, "complex"), (torch.empty(5, 7, device="meta"), "array of numbers"),
], ids=["swapped", "six", "batch", "six of one", "row", "empty", "ragged", "scores", "negative", "text", "none", "bytes", "str",
        "complex", "complex tensor", "meta"])  # fmt: skip
def test_a_wrong_shape_is_told(weights: object, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        attnviz.from_weights(weights, queries=ROWS, keys=COLUMNS)


def test_outputs_of_a_model_are_not_its_weights() -> None:
    with pytest.raises(TraceError, match=r"give its weights alone, outputs\.attentions\.$"):
        attnviz.from_weights(BaseModelOutput(attentions=(torch.tensor(FULL),)), ROWS, COLUMNS)
    with pytest.raises(TraceError, match=r"outputs\.encoder_attentions or outputs\.decoder_attentions or outputs\.cross_att"):
        attnviz.from_weights(Seq2SeqModelOutput(), ROWS, COLUMNS)


def test_a_text_is_no_list_of_tokens() -> None:
    with pytest.raises(TraceError, match="lists of tokens, not the text"):
        attnviz.from_weights(random(3, 3), queries="abc")


def test_a_sparse_tensor_is_read_as_what_it_holds() -> None:
    weights = torch.eye(QUERIES)[:, [*range(QUERIES), 0, 0]]
    weights[:, QUERIES:] = 0
    assert attnviz.from_weights(weights.to_sparse(), ROWS, COLUMNS).cross.weights(0, 0).tolist() == weights.tolist()


@pytest.mark.usefixtures("unchecked")
def test_ids_are_named_by_the_tokenizer() -> None:
    given: Any = [101, 102]
    with pytest.raises(TraceError, match=r"not int 101; tokenizer\.convert_ids_to_tokens\(ids\) names"):
        attnviz.from_weights(random(2, 2), queries=given)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("given", [None, 7, b"abc", [1, 2, 3], ["a", None, "c"]], ids=repr)
def test_what_is_no_list_of_tokens_is_told(given: Any) -> None:
    with pytest.raises(TraceError, match=r"lists of tokens, not|A token is a str or a Token, not"):
        attnviz.from_weights(random(3, 3), queries=given)


@pytest.mark.usefixtures("unchecked")
def test_a_kind_that_there_is_not_is_told() -> None:
    with pytest.raises(TraceError, match="kind is one of encoder, decoder, cross"):
        attnviz.from_weights(random(5, 5), ROWS, kind="self")


@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 2**-8), (torch.float16, 2**-11)])
def test_weights_of_sixteen_bits_are_shown_with_rows_that_sum_to_one(dtype: torch.dtype, most: float) -> None:
    exact = torch.tensor(random(LAYERS, HEADS, QUERIES, 61))
    exact[:, :, 2] = torch.tensor([1 / 3] * 3 + [0] * 58)
    rounded = exact.to(dtype)
    sums = rounded.float().sum(-1)
    assert 1e-4 < float((sums - 1).abs().max()) <= most
    keys = [f"k{index}" for index in range(61)]
    for given in (rounded, list(rounded), tuple(rounded[:, None])):
        attention = attnviz.from_weights(given, ROWS, keys).cross
        for layer in range(LAYERS):
            shown = attention.layer_weights(layer)
            np.testing.assert_allclose(shown.sum(axis=-1), 1, atol=1e-6)
            np.testing.assert_allclose(shown, (rounded.double() / rounded.double().sum(-1, keepdim=True))[layer], atol=1e-7)
    with pytest.raises(TraceError, match="instead of 1"):
        attnviz.from_weights(rounded.float(), ROWS, keys)
    with pytest.raises(TraceError, match="instead of 1"):
        attnviz.from_weights(rounded * (1 + 4 * most), ROWS, keys)


@pytest.mark.parametrize("decimals", [2, 3, 4])
def test_weights_that_were_printed_are_read_as_far_as_rounding_explains(decimals: int) -> None:
    printed = FULL.astype(np.float64).round(decimals)
    assert np.abs(printed.sum(axis=-1) - 1).max() > 0.9 * 10**-decimals
    for given in (printed, printed.tolist(), printed.astype(np.float32)):
        attention = attnviz.from_weights(given, ROWS, COLUMNS).cross
        for layer in range(LAYERS):
            np.testing.assert_allclose(attention.layer_weights(layer).sum(axis=-1), 1, atol=1e-6)
            # Half of the last digit, and what the row is off by.
            most = 0.5 * 10**-decimals + KEYS * 0.5 * 10**-decimals * FULL.max()
            np.testing.assert_allclose(attention.layer_weights(layer), FULL[layer], atol=most)
    with pytest.raises(TraceError, match="instead of 1"):
        attnviz.from_weights((printed * (1 - KEYS * 10.0**-decimals)).round(decimals), ROWS, COLUMNS)


def test_too_few_decimals_for_many_keys_are_refused() -> None:
    flat = np.full((QUERIES, 150), 1 / 150).round(2)
    with pytest.raises(TraceError, match=r"have 2 decimals.* 0.50 away from a sum of 1.*give more decimals"):
        attnviz.from_weights(flat, ROWS, [str(index) for index in range(150)])


SQUARE = random(LAYERS, HEADS, KEYS, KEYS)


def trained() -> torch.Tensor:
    torch.manual_seed(3)
    return torch.nn.functional.dropout(torch.tensor(SQUARE), 0.1)


@pytest.mark.parametrize(("weights", "message"), [
    ([(torch.tensor(SQUARE[:1]), torch.tensor(SQUARE[1:])), (torch.tensor(SQUARE[:1, :, :1]),) * 2], "2 steps of generate"),
    (None, 'attn_implementation="eager", and call it with output_attentions=True'), ((None, None), "which a model gives"),
    (trained(), "dropout leaves them in training: call model.eval"), (SQUARE * 100, "percent: divide them by 100"),
    (SQUARE.swapaxes(2, 3), "each column does.*swap the last two axes"), (np.log(SQUARE), "logarithms"),
    (SQUARE[..., :-1], "columns are missing, such as that of the end mark"),
], ids=["generate", "sdpa", "sdpas", "training", "percent", "transposed", "logarithms", "end"])  # fmt: skip
def test_why_rows_do_not_sum_to_one_is_said(weights: Any, message: str) -> None:
    queries = COLUMNS
    keys = COLUMNS[: weights.shape[-1]] if hasattr(weights, "shape") else COLUMNS
    with pytest.raises(TraceError, match=message):
        attnviz.from_weights(weights, queries=queries, keys=keys)
