import contextvars
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.core.errors import UnsupportedModelError
from attnviz.models.hub import attention_readers as tape

HEADS, KEY_HEADS, QUERIES, KEYS, DIM, BATCH = 6, 2, 5, 7, 3, 2
Inputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def tensors(n_queries: int = QUERIES, n_keys: int = KEYS, key_heads: int = HEADS) -> Inputs:
    query = torch.randn(BATCH, HEADS, n_queries, DIM)
    return query, torch.randn(BATCH, key_heads, n_keys, DIM), torch.randn(BATCH, key_heads, n_keys, DIM)


def module(*, is_causal: bool = False) -> Any:
    linear = torch.nn.Linear(1, 1)
    linear.is_causal = is_causal
    return linear


def expected(
    query: Any, key: Any, value: Any, added: Any = 0.0, *, scaling: float, softcap: Any = None, sink: Any = None
) -> Any:
    """Attention in float64, written out: the output and the weights."""
    query, key, value = (tensor.double().numpy() for tensor in (query, key, value))
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat(groups, axis=1), value.repeat(groups, axis=1)
    scores = np.einsum("bhqd,bhkd->bhqk", query, key) * scaling
    scores = scores if softcap is None else softcap * np.tanh(scores / softcap)
    scores = scores + added
    if sink is not None:
        scores = np.concatenate([scores, np.broadcast_to(sink.reshape(1, -1, 1, 1), (*scores.shape[:3], 1))], axis=3)
    energy = np.exp(scores)
    weights = energy / np.maximum(energy.sum(axis=3, keepdims=True), 1e-300)
    return np.einsum("bhqk,bhkd->bqhd", weights[..., : key.shape[2]], value), weights


def check(inputs: Inputs, mask: torch.Tensor | None, added: Any, **options: Any) -> None:
    """`attend` answers with the output, and its tape with the weights, that float64 gives."""
    causal = options.pop("causal", False)
    scaling = options.get("scaling") or DIM**-0.5
    with tape.recording() as recorded:
        output, none = tape.attend(module(is_causal=causal), *inputs, mask, **options)
    sink = options.get("s_aux")
    sink = None if sink is None else sink.double().numpy()
    want, weights = expected(*inputs, added, scaling=scaling, softcap=options.get("softcap"), sink=sink)
    assert none is None
    np.testing.assert_allclose(output, want, atol=1e-5)
    for row in range(BATCH):
        [layer] = recorded.layers(recorded.calls, row=row)
        np.testing.assert_allclose(layer.weights(slice(None)), weights[row], atol=1e-6)


PAST = np.where(np.tri(KEYS, dtype=bool), 0, -np.inf)
SQUARE, GROUPED, ONE = {"n_queries": KEYS}, {"key_heads": KEY_HEADS}, {"n_queries": 1}


@pytest.mark.parametrize(
    ("shape", "added", "options"),
    [
        ({}, 0.0, {}),
        ({}, 0.0, {"scaling": 0.7}),
        # What says nothing, or changes no score.
        ({}, 0.0, {"temperature": None, "dropout": 0.0, "sliding_window": 3, "logits_to_keep": 1}),
        (GROUPED, 0.0, {}),
        (ONE, 0.0, {"causal": True}),
        (SQUARE, PAST, {"causal": True}),
        (SQUARE, PAST, {"causal": True, "softcap": 0.8}),
        (SQUARE, PAST, {"is_causal": True}),
        # The keyword outranks the module, which `causal` is of.
        (SQUARE, PAST, {"causal": False, "is_causal": True}),
        (SQUARE, 0.0, {"causal": True, "is_causal": False}),
    ],
)
def test_attention_is_that_of_float64(shape: dict[str, int], added: Any, options: dict[str, Any]) -> None:
    check(tensors(**shape), None, added, **options)


def test_a_mask_of_what_may_be_seen_holds_the_causal_one_already() -> None:
    mask = torch.rand(BATCH, 1, QUERIES, KEYS) > 0.3
    mask[..., 0] = True
    check(tensors(), mask, np.where(mask.numpy(), 0, -np.inf), causal=True)


def test_a_fully_masked_row_is_all_zeros() -> None:
    mask = torch.ones(BATCH, 1, QUERIES, KEYS, dtype=torch.bool)
    mask[1, :, 2] = False
    check(tensors(), mask, np.where(mask.numpy(), 0, -np.inf))
    check(tensors(), mask, np.where(mask.numpy(), 0, -np.inf), position_bias=torch.zeros(1, 1, 1, KEYS))
    check(tensors(), mask, np.where(mask.numpy(), 0, -np.inf), softcap=0.9)


@pytest.mark.parametrize("fill", [float("-inf"), torch.finfo(torch.float32).min])
def test_a_mask_that_is_added_may_be_a_bias_as_well(fill: float) -> None:
    seen = torch.rand(BATCH, 1, QUERIES, KEYS) > 0.3
    seen[..., 1] = True
    bias = torch.randn(BATCH, 1, QUERIES, KEYS)
    added = np.where(seen.numpy(), bias.numpy(), -np.inf)
    check(tensors(), bias.masked_fill(~seen, fill), added)
    position = torch.randn(1, HEADS, QUERIES, KEYS)
    check(tensors(), bias.masked_fill(~seen, fill), added + position.numpy(), position_bias=position)


@pytest.mark.parametrize("heads", [1, HEADS])
@pytest.mark.parametrize("causal", [False, True])
def test_a_position_bias_is_added(heads: int, causal: bool) -> None:
    bias = torch.randn(1, heads, KEYS, KEYS)
    added = bias.double().numpy() + (PAST if causal else 0)
    check(tensors(KEYS), None, added, position_bias=bias, causal=causal)


@pytest.mark.parametrize("softcap", [None, 1.1])
def test_a_sink_takes_attention(softcap: float | None) -> None:
    check(tensors(key_heads=KEY_HEADS), None, 0.0, s_aux=torch.randn(HEADS), softcap=softcap)
    mask = torch.rand(BATCH, 1, QUERIES, KEYS) > 0.5
    check(tensors(), mask, np.where(mask.numpy(), 0, -np.inf), s_aux=torch.randn(1, HEADS, 1, 1), softcap=softcap)


@pytest.mark.parametrize("name", ["temperature", "block_indices", "alibi", "dropout"])
def test_what_is_not_known_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedModelError, match=f"Linear .*{name}"):
        tape.attend(module(), *tensors(), None, **{name: 0.1})


def test_a_mask_for_every_head_is_refused() -> None:
    mask = torch.rand(BATCH, HEADS, QUERIES, KEYS) > 0.5
    with tape.recording() as recorded:
        tape.attend(module(), *tensors(), mask)
    with pytest.raises(UnsupportedModelError, match="every head differently"):
        recorded.layers(recorded.calls)


def test_layers_share_one_mask_and_one_bias() -> None:
    mask, bias = torch.ones(1, 1, QUERIES, KEYS, dtype=torch.bool), torch.randn(1, HEADS, QUERIES, KEYS)
    with tape.recording() as recorded:
        for _ in range(3):
            tape.attend(module(), *tensors(), mask, position_bias=bias)
    layers = recorded.layers(recorded.calls)
    assert len({layer.visible.ctypes.data for layer in layers if layer.visible is not None}) == 1
    assert len({layer.bias.ctypes.data for layer in layers if layer.bias is not None}) == 1


def test_a_bias_of_zeros_is_not_kept() -> None:
    with tape.recording() as recorded:
        tape.attend(module(), *tensors(), None, position_bias=torch.zeros(1, HEADS, QUERIES, KEYS))
    assert recorded.layers(recorded.calls)[0].bias is None


def test_queries_are_not_copied_unless_more_than_them_would_be_kept_alive() -> None:
    own = torch.randn(1, QUERIES, HEADS, DIM).transpose(1, 2)
    fused = torch.randn(1, QUERIES, 3 * HEADS * DIM).view(1, QUERIES, 3, HEADS, DIM).permute(2, 0, 3, 1, 4)
    with tape.recording() as recorded:
        tape.attend(module(), own, fused[1], fused[2], None)
    [layer] = recorded.layers(recorded.calls)
    assert layer.query.ctypes.data == own.data_ptr()
    assert not fused.data_ptr() <= layer.key.ctypes.data < fused.data_ptr() + fused.untyped_storage().nbytes()
    np.testing.assert_array_equal(layer.key, fused[1][0])


def test_half_precision_is_recorded_in_single() -> None:
    query, key, value = (tensor.to(torch.bfloat16) for tensor in tensors())
    with tape.recording() as recorded:
        output, _ = tape.attend(module(), query, key, value, None)
    assert output.dtype == torch.bfloat16
    assert recorded.layers(recorded.calls)[0].query.dtype == np.float32


def test_nothing_is_recorded_without_a_tape_nor_in_another_context() -> None:
    with tape.recording() as recorded:
        contextvars.Context().run(tape.attend, module(), *tensors(), None)
        assert recorded.calls == []
    tape.attend(module(), *tensors(), None)
    assert recorded.calls == []


def test_a_tape_within_a_tape_records_alone_and_ends_with_an_error() -> None:
    with tape.recording() as outer:
        with tape.recording() as inner:
            tape.attend(module(), *tensors(), None)
            with pytest.raises(UnsupportedModelError), tape.recording():
                tape.attend(module(), *tensors(), None, alibi=1)
            tape.attend(module(), *tensors(), None)
        tape.attend(module(), *tensors(), None)
    assert (len(inner.calls), len(outer.calls)) == (2, 1)


def test_a_call_remembers_its_module() -> None:
    mine = module()
    with tape.recording() as recorded:
        tape.attend(mine, *tensors(), None)
    assert recorded.calls[0].module is mine
