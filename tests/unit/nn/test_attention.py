import pytest
import torch
from torch import nn

from attnviz.core.errors import ModelError
from attnviz.nn.attention import (
    AdditiveAttention,
    MultiHeadAttention,
    SingleHeadAttention,
    attend,
    masked_softmax,
    past_visible,
)
from tests import mechanisms

BATCH, HEAD, QUERY, KEY, DIM = 3, 2, 5, 7, 11
WIDE = HEAD * DIM
MASKS = {"none": (False, False), "padding": (True, False), "causal": (False, True), "both": (True, True)}
masks = pytest.mark.parametrize(("padded", "causal"), MASKS.values(), ids=MASKS)


class Mechanism:
    """One mechanism with an oracle of the same signature: `module(states, memory, **mask)`, `oracle(states, memory, …)`."""

    def __init__(self, module, oracle, query_dim, memory_dim):
        self.module, self.oracle = module, oracle
        self.states = torch.randn(BATCH, QUERY, query_dim)
        self.memory = torch.randn(BATCH, KEY, memory_dim)


def multi_head():
    oracle = lambda *given, **mask: mechanisms.multi_head_attention(*given, n_heads=HEAD, **mask)
    return Mechanism(MultiHeadAttention(WIDE, HEAD), oracle, WIDE, WIDE)


def single_head(scaled):
    oracle = lambda *given, **mask: mechanisms.single_head_attention(*given, scaled=scaled, **mask)
    return Mechanism(SingleHeadAttention(13, 17, DIM, scaled=scaled), oracle, 13, 17)


def additive():
    return Mechanism(AdditiveAttention(13, 17, DIM), mechanisms.additive_attention, 13, 17)


MECHANISMS = {
    "multi-head": multi_head,
    "scaled": lambda: single_head(True),
    "unscaled": lambda: single_head(False),
    "additive": additive,
}


# Additive attention is between two sequences, which have no common order: it has no causal mask.
CASES = [(name, *mask) for name in MECHANISMS for mask in MASKS.values() if name != "additive" or not mask[1]]
cases = pytest.mark.parametrize(("mechanism", "padded", "causal"), CASES, indirect=["mechanism"])


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    return MECHANISMS[request.param]()


@pytest.fixture
def mask(visible, padded, causal):
    return ({"visible": visible} if padded else {}) | ({"causal": True} if causal else {})


def to_numpy(mask):
    return {name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in mask.items()}


@cases
def test_forward_equals_the_oracle(mechanism, mask, same, parameters):
    got = mechanism.module(mechanism.states, mechanism.memory, **mask)
    arrays = mechanism.states.numpy(), mechanism.memory.numpy(), parameters(mechanism.module)
    for mine, oracle in zip(got, mechanism.oracle(*arrays, **to_numpy(mask)), strict=True):
        same(mine, oracle)


@pytest.mark.parametrize(("padded", "causal"), [(True, False)])
def test_a_row_that_sees_nothing_is_zero_with_finite_gradients(mechanism, mask):
    mechanism.states.requires_grad_()
    output, weights = mechanism.module(mechanism.states, mechanism.memory, **mask)
    assert (weights[2] == 0).all()
    # The heads' contexts are zero; multi-head attention then adds the bias of its output projection, and nothing else.
    bias = mechanism.module.output.bias.detach() if isinstance(mechanism.module, MultiHeadAttention) else 0
    assert (output[2] == bias).all()
    # Not even on the way: a NaN that is zeroed later would still stop whoever debugs with anomaly detection.
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        (output.square().sum() + weights.square().sum()).backward()
    assert (mechanism.states.grad[2] == 0).all()
    assert all(parameter.grad.isfinite().all() for parameter in mechanism.module.parameters())


def test_a_projected_memory_serves_every_query(mechanism, visible, same):
    whole, all_weights = mechanism.module(mechanism.states, mechanism.memory, visible=visible)
    known = mechanism.module.project(mechanism.memory)
    for step in range(QUERY):
        output, weights = mechanism.module(mechanism.states[:, step : step + 1], known, visible=visible)
        same(output[:, 0], whole[:, step])
        same(weights[..., 0, :], all_weights[..., step, :])


@pytest.fixture(params=["multi-head", "single-head"])
def module(request):
    """Attention of a sequence to itself."""
    return MultiHeadAttention(WIDE, HEAD) if request.param == "multi-head" else SingleHeadAttention(WIDE, WIDE, DIM)


def test_without_a_memory_the_states_are_the_memory(module):
    states = torch.randn(BATCH, QUERY, WIDE)
    for mine, other in zip(module(states), module(states, states), strict=True):
        assert torch.equal(mine, other)


@pytest.mark.parametrize("changed", range(1, QUERY))
def test_causal_means_that_a_later_token_changes_nothing_earlier(module, changed):
    states = torch.randn(BATCH, QUERY, WIDE)
    other = states.clone()
    other[:, changed] += 3
    before, after = module(states, causal=True)[0], module(other, causal=True)[0]
    torch.testing.assert_close(before[:, :changed], after[:, :changed], atol=0, rtol=0)
    assert (before[:, changed:] != after[:, changed:]).any(-1).all()


def test_decoding_with_a_cache_equals_one_causal_pass(module, visible, same):
    states, seen = torch.randn(BATCH, KEY, WIDE), visible.flip(1)  # padding on the left, as batched decoding has it
    whole, all_weights = module(states, visible=seen, causal=True)
    cache = module.project(states[:, :2])
    for step in range(2, KEY):
        newest = states[:, step : step + 1]
        cache = cache.append(module.project(newest))
        output, weights = module(newest, cache, visible=seen[:, : step + 1], causal=True)
        same(output[:, 0], whole[:, step])
        same(weights[..., 0, :], all_weights[..., step, : step + 1])


@masks
@pytest.mark.parametrize("crossed", [False, True], ids=["self", "cross"])
def test_multi_head_equals_torch(padded, causal, crossed, visible, same, copy_attention, same_gradients):
    module, twin = MultiHeadAttention(WIDE, HEAD), nn.MultiheadAttention(WIDE, HEAD, batch_first=True)
    pairs = copy_attention(module, twin)
    # Only the first two sentences: torch answers NaN for the one that is all padding.
    states = torch.randn(2, QUERY if crossed else KEY, WIDE, requires_grad=True)
    memory = torch.randn(2, KEY, WIDE, requires_grad=True) if crossed else states
    got = module(states, memory, visible=visible[:2] if padded else None, causal=causal)
    # torch's masks mean the contrary of ours: True hides.
    hidden = {"key_padding_mask": ~visible[:2] if padded else None}
    hidden["attn_mask"] = ~past_visible(states.shape[1], KEY) if causal else None
    want = twin(states, memory, memory, average_attn_weights=False, **hidden)
    for mine, other in zip(got, want, strict=True):
        same(mine, other)
    pulls = [torch.randn_like(part) for part in got]
    pulled = [sum((part * pull).sum() for part, pull in zip(parts, pulls, strict=True)) for parts in (got, want)]
    same_gradients(*pulled, [*pairs, ((states,), states), ((memory,), memory)])


@pytest.mark.parametrize(
    "build", [lambda: MultiHeadAttention(WIDE, HEAD, dropout=0.5), lambda: SingleHeadAttention(WIDE, WIDE, DIM, dropout=0.5)]
)
def test_dropout_falls_on_the_context_and_not_on_the_weights_returned(build):
    module, states = build(), torch.randn(BATCH, QUERY, WIDE)
    trained, evaluated = module(states), module.eval()(states)
    assert torch.equal(trained[1], evaluated[1])
    assert not torch.equal(trained[0], evaluated[0])
    assert torch.equal(evaluated[0], module(states)[0])


def test_dropout_keeps_the_expected_context():
    query, key, value = (torch.randn(1, size, DIM) for size in (QUERY, KEY, KEY))
    want, _ = attend(query, key, value)
    many = torch.stack([attend(query, key, value, dropout=0.2)[0] for _ in range(3000)]).mean(0)
    torch.testing.assert_close(many, want, atol=0.06, rtol=0)


def test_softmax_survives_scores_that_overflow_exp():
    scores = torch.tensor([[1e4, -1e4, 1e4, 3e38]], requires_grad=True)
    weights = masked_softmax(scores, torch.tensor([[True, True, True, False]]))
    assert weights.tolist() == [[0.5, 0, 0.5, 0]]
    assert torch.autograd.grad(weights[0, 0], scores)[0].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_no_visible_score_is_too_low_to_beat_a_masked_one(dtype):
    lowest = torch.tensor([[torch.finfo(dtype).min, 0]], dtype=dtype)
    assert masked_softmax(lowest, torch.tensor([[True, False]])).tolist() == [[1, 0]]


def test_what_is_masked_may_be_anything():
    scores = torch.tensor([[torch.nan, 0, torch.inf], [torch.nan, torch.inf, -torch.inf]], requires_grad=True)
    weights = masked_softmax(scores, torch.tensor([[False, True, False], [False, False, False]]))
    assert weights.tolist() == [[0, 1, 0], [0, 0, 0]]
    assert (torch.autograd.grad(weights.square().sum(), scores)[0] == 0).all()


@pytest.mark.parametrize("n_heads", [0, 3, -2])
def test_heads_must_divide_the_dimension(n_heads):
    with pytest.raises(ModelError, match=f"{n_heads} heads cannot share 22 dimensions"):
        MultiHeadAttention(22, n_heads)


def test_additive_attention_has_the_one_bias_that_matters():
    names = {name for name, _ in AdditiveAttention(13, 17, DIM).named_parameters()}
    assert names == {"query.weight", "query.bias", "key.weight", "energy.weight"}


def test_no_module_keeps_anything_from_a_call(mechanism):
    before = set(vars(mechanism.module))
    mechanism.module(mechanism.states, mechanism.memory)
    assert set(vars(mechanism.module)) == before
