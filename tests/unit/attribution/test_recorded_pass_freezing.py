"""The frozen gradient is an exact decomposition: held against one that is carried forward through the layers in NumPy."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import attnviz
from attnviz.attribution import recorded_pass
from attnviz.attribution.gradients import frozen_gradient
from attnviz.attribution.recorded_pass import Frozen
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models.capabilities import bind_target

LOVELACE = Prompt("Ada Lovelace wrote the first program in 1843.", question="Who wrote the first program?")
loaded = cache(attnviz.load)


class Parts:
    """A state of every position as a sum: `parts` has what each token gives it, `rest` what is there without any."""

    def __init__(self, parts: np.ndarray, rest: np.ndarray) -> None:
        self.parts, self.rest = parts, rest

    @property
    def whole(self) -> np.ndarray:
        return self.parts.sum(axis=0) + self.rest

    def __add__(self, other: "Parts") -> "Parts":
        return Parts(self.parts + other.parts, self.rest + other.rest)

    def __getitem__(self, rows: slice) -> "Parts":
        return Parts(self.parts[:, rows], self.rest[rows])

    def linear(self, layer: Any) -> "Parts":
        weight, bias = (each.detach().double().numpy() for each in (layer.weight, layer.bias))
        return Parts(self.parts @ weight.T, self.rest @ weight.T + bias)

    def normed(self, norm: Any) -> "Parts":
        weight, bias = (each.detach().double().numpy() for each in (norm.weight, norm.bias))
        deviation = np.sqrt(self.whole.var(axis=-1, keepdims=True) + norm.eps)

        def centred(states: np.ndarray) -> np.ndarray:
            return (states - states.mean(axis=-1, keepdims=True)) / deviation * weight

        return Parts(centred(self.parts), centred(self.rest) + bias)

    def activated(self, function: Any) -> "Parts":
        ratio = function(self.whole) / self.whole
        return Parts(self.parts * ratio, self.rest * ratio)


def gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))


def attended(asking: Parts, offering: Parts, layers: tuple[Any, Any, Any, Any], n_heads: int) -> Parts:
    query, key, value, output = layers
    queries, keys, values = asking.linear(query).whole, offering.linear(key).whole, offering.linear(value)
    width, contexts, rests = queries.shape[1] // n_heads, [], []
    for head in range(n_heads):
        own = slice(head * width, (head + 1) * width)
        scores = queries[:, own] @ keys[:, own].T / np.sqrt(width)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        contexts.append(weights @ values.parts[..., own])
        rests.append(weights @ values.rest[:, own])
    return Parts(np.concatenate(contexts, axis=-1), np.concatenate(rests, axis=-1)).linear(output)


def decomposed(model: Any, ids: np.ndarray, n_asking: int) -> Parts:
    """Start and end logits over the passage, as sums over tokens: BERT's layers, then the block of cross-attention."""
    bert, answerer = model.encoder.model, model.answerer
    table = {name: value.double().numpy() for name, value in bert.embeddings.state_dict().items()}
    n_tokens, dim = len(ids), table["word_embeddings.weight"].shape[1]
    parts = np.zeros((n_tokens, n_tokens, dim))
    parts[np.arange(n_tokens), np.arange(n_tokens)] = table["word_embeddings.weight"][ids]
    segments = (np.arange(n_tokens) >= n_asking).astype(int)
    rest = table["position_embeddings.weight"][:n_tokens] + table["token_type_embeddings.weight"][segments]
    states = Parts(parts, rest).normed(bert.embeddings.LayerNorm)
    for layer in bert.encoder.layer:
        own = layer.attention.self
        mixed = attended(states, states, (own.query, own.key, own.value, layer.attention.output.dense), 12)
        states = (states + mixed).normed(layer.attention.output.LayerNorm)
        hidden = states.linear(layer.intermediate.dense).activated(gelu)
        states = (states + hidden.linear(layer.output.dense)).normed(layer.output.LayerNorm)
    question, context = states[slice(n_asking)], states[slice(n_asking, None)]
    for block in answerer.blocks:
        own = block.attention
        read = context.normed(block.attention_norm)
        context = context + attended(read, question, (own.query, own.key, own.value, own.output), own.n_heads)
        hidden = context.normed(block.thinking.norm).linear(block.thinking.expand).activated(lambda x: np.maximum(x, 0))
        context = context + hidden.linear(block.thinking.contract)
    return context.normed(answerer.norm).linear(answerer.output)


@pytest.mark.gate
def test_the_frozen_gradient_is_the_decomposition_carried_forward_in_numpy():
    model = loaded("answer-en")
    bound = bind_target(model, LOVELACE)
    shares, rest = frozen_gradient(bound)
    n_asking = next(place for place, token in enumerate(bound.tokens) if token.segment == 1)
    logits = decomposed(model, bound.ids.numpy(), n_asking)
    start, *_, end = sorted(set(bound.fixed) - {at for at, token in enumerate(bound.tokens) if token.special})
    rows = (start - n_asking, 0), (end - n_asking, 1)
    want = sum(logits.parts[:, row, column] for row, column in rows)
    np.testing.assert_allclose(shares, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())
    assert rest == pytest.approx(sum(logits.rest[row, column] for row, column in rows), abs=1e-4)
    score = float(bound.outcome(bound.ids[None]).score)
    assert shares.sum() + rest == pytest.approx(score, rel=1e-5)


def test_freezing_changes_no_value():
    bound = bind_target(loaded("answer-en"), LOVELACE)
    plain = bound.outcome(bound.ids[None]).score
    with Frozen():
        frozen = bound.outcome(bound.ids[None]).score
    torch.testing.assert_close(frozen, plain, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.gelu(x).sum(),
        lambda x: F.relu(x).sum(),
        lambda x: (F.softmax(x, dim=-1) * x).sum(),
        lambda x: F.layer_norm(x, x.shape[-1:])[..., 0].sum(),
        lambda x: F.rms_norm(x, x.shape[-1:], torch.arange(1.0, 8.0), eps=0.1)[..., 2].sum(),
        lambda x: F.rms_norm(x / 1000, x.shape[-1:])[..., 2].sum(),
        lambda x: F.layer_norm(x, x.shape[-1:], torch.arange(1.0, 8.0), eps=0.1)[..., 2].sum(),
        lambda x: (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)))[..., 0].sum(),
        lambda x: (F.silu(x) * (x @ torch.ones(7, 7))).sum(),
        lambda x: (0.5 * x * (1.0 + torch.tanh(0.8 * (x + 0.04 * torch.pow(x, 3.0))))).sum(),
        lambda x: (x * torch.sigmoid(1.702 * x)).sum(),
        lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]).sum(),
    ],
    ids=[
        "gelu",
        "relu",
        "softmax",
        "layer-norm",
        "rms-norm",
        "rms-norm of little",
        "layer-norm with weights",
        "rms-norm by hand",
        "gated",
        "tanh-gelu",
        "quick-gelu",
        "attention",
    ],
)
def test_what_is_frozen_is_linear_in_what_it_reads(function):
    x = torch.randn(5, 7, requires_grad=True)
    with Frozen():
        made = function(x)
    torch.testing.assert_close(made, function(x))
    (gradient,) = torch.autograd.grad(made, x)
    assert float((gradient * x).detach().sum()) == pytest.approx(float(made.detach()), rel=1e-4, abs=1e-4)


def test_an_lstm_is_not_linear_even_so():
    with pytest.raises(ModelError, match="gates of an LSTM"):
        frozen_gradient(bind_target(loaded("bahdanau-en-fr"), Prompt("I am tired.")))


@pytest.mark.parametrize(
    ("function", "by_first", "by_second"),
    [
        (lambda a, b: F.silu(a) * b, None, F.silu),
        (lambda a, b: b * F.silu(a), None, F.silu),
        (lambda a, b: torch.sigmoid(a) * b, None, torch.sigmoid),
        (lambda a, b: a * b, "half", lambda a: a / 2),
    ],
)
def test_what_gates_a_product_is_fixed_and_what_does_not_has_half(function, by_first, by_second):
    a, b = torch.randn(5, 7, requires_grad=True), torch.randn(5, 7, requires_grad=True)
    with Frozen():
        made = function(a, b)
    first, second = torch.autograd.grad(made.sum(), (a, b), allow_unused=True)
    torch.testing.assert_close(second, by_second(a.detach()))
    assert first is None if by_first is None else torch.allclose(first, b.detach() / 2)


@pytest.mark.parametrize("count", range(1, 14))
def test_what_few_operations_make_of_parameters_does_not_depend_on_the_text(count):
    made = torch.nn.Parameter(torch.ones(3))
    for _ in range(count):
        made = made + 1
    # The parameter itself is one more thing to look at.
    assert recorded_pass._moves(made) == (count >= 12)
    assert recorded_pass._moves(made * torch.ones(3, requires_grad=True))
    assert not recorded_pass._moves(made.detach())


@pytest.mark.parametrize("function", [F.gelu, F.relu, torch.tanh])
def test_where_an_activation_reads_nothing_it_passes_nothing_on(function):
    x = torch.tensor([0.0, 2.0], requires_grad=True)
    with Frozen():
        made = function(x)
    (gradient,) = torch.autograd.grad(made.sum(), x)
    assert gradient.tolist() == pytest.approx([0.0, float(function(torch.tensor(2.0))) / 2])
