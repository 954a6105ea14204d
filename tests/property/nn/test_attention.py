"""Laws of attention that hold for every size and every mask."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.nn import reference
from attnviz.nn.attention import attend, masked_softmax

laws = settings(max_examples=60, deadline=None, derandomize=True, database=None)


@st.composite
def cases(draw):
    """Query, key, value and a mask of any pattern, rows that see nothing included."""
    batch, queries, keys, dim, value_dim = (draw(st.integers(1, top)) for top in (3, 5, 7, 11, 5))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    # Scores from nearly uniform to so sharp that all but one weight underflow.
    size = draw(st.sampled_from([0.01, 1.0, 30.0]))
    query = size * torch.randn(batch, queries, dim, generator=generator, dtype=torch.float64)
    key = torch.randn(batch, keys, dim, generator=generator, dtype=torch.float64)
    value = torch.randn(batch, keys, value_dim, generator=generator, dtype=torch.float64)
    share = draw(st.sampled_from([0.0, 0.3, 0.8, 1.0]))
    return query, key, value, torch.rand(batch, queries, keys, generator=generator) < share


@laws
@given(cases())
def test_torch_equals_the_oracle(case):
    query, key, value, visible = case
    got = attend(query, key, value, visible=visible)
    want = reference.attend(query.numpy(), key.numpy(), value.numpy(), visible=visible.numpy())
    for mine, oracle in zip(got, want, strict=True):
        torch.testing.assert_close(mine, torch.from_numpy(oracle), atol=1e-10, rtol=1e-10)


@laws
@given(cases())
def test_weights_are_a_distribution_over_what_is_visible(case):
    query, key, value, visible = case
    context, weights = attend(query, key, value, visible=visible)
    assert (weights >= 0).all()
    assert (weights[~visible] == 0).all()
    torch.testing.assert_close(weights.sum(-1), visible.any(-1).double())
    # An average lies between the least and the greatest of what is averaged; a query that sees nothing gets nothing.
    for row, query_index in visible.any(-1).nonzero().tolist():
        seen = value[row, visible[row, query_index]]
        assert (context[row, query_index] >= seen.amin(0) - 1e-9).all()
        assert (context[row, query_index] <= seen.amax(0) + 1e-9).all()
    assert (context[~visible.any(-1)] == 0).all()


@laws
@given(cases(), st.randoms(use_true_random=False))
def test_keys_have_no_order(case, random):
    query, key, value, visible = case
    order = random.sample(range(key.shape[1]), key.shape[1])
    context, weights = attend(query, key, value, visible=visible)
    again, shuffled = attend(query, key[:, order], value[:, order], visible=visible[..., order])
    torch.testing.assert_close(again, context)
    torch.testing.assert_close(shuffled, weights[..., order])


@laws
@given(cases())
def test_a_hidden_key_might_as_well_not_be_there(case):
    query, key, value, visible = case
    visible = visible[:1, :1].expand_as(visible)
    kept = visible[0, 0].nonzero()[:, 0]
    context, weights = attend(query, key, value, visible=visible)
    alone, fewer = attend(query, key[:, kept], value[:, kept])
    torch.testing.assert_close(context, alone)
    torch.testing.assert_close(weights[..., kept], fewer)


@laws
@given(cases(), st.floats(-50, 50))
def test_softmax_ignores_what_all_scores_share(case, shift):
    query, key, _, visible = case
    scores = query @ key.transpose(1, 2)
    torch.testing.assert_close(masked_softmax(scores + shift, visible), masked_softmax(scores, visible))


@laws
@given(cases())
def test_gradients_are_finite_and_do_not_reach_what_is_hidden(case):
    *inputs, visible = case
    for tensor in inputs:
        tensor.requires_grad_()
    context, weights = attend(*inputs, visible=visible)
    gradients = torch.autograd.grad(context.square().sum() + weights.square().sum(), inputs)
    assert all(gradient.isfinite().all() for gradient in gradients)
    never_seen = ~visible.any(1)
    assert (gradients[1][never_seen] == 0).all()
    assert (gradients[2][never_seen] == 0).all()
