"""What is recorded of a pass: weights as the fused kernel has them, values, W_O and the norms on either side."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnviz.attribution.recorded_pass import Attention, AttentionTape, Norm, open_weights

torch.manual_seed(5)
QUERY, KEY, VALUE = torch.randn(1, 2, 4, 3), torch.randn(1, 2, 5, 3), torch.randn(1, 2, 5, 3)
SEEN = torch.tensor([[1, 0, 1, 1, 1], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1], [0, 1, 1, 0, 1]], dtype=torch.bool)


@pytest.mark.parametrize(
    "options",
    [{}, {"attn_mask": SEEN}, {"attn_mask": torch.randn(4, 5)}, {"is_causal": True}, {"scale": 0.25}, {"scale": 1.0}],
    ids=lambda options: ",".join(options),
)
def test_opened_weights_are_those_of_the_fused_kernel(options: dict[str, Any]) -> None:
    want = F.scaled_dot_product_attention(QUERY, KEY, VALUE, **options)
    torch.testing.assert_close(open_weights(QUERY, KEY, VALUE, **options) @ VALUE, want)
    given = (options.get("attn_mask"), 0.0, options.get("is_causal", False))
    torch.testing.assert_close(open_weights(QUERY, KEY, VALUE, *given, scale=options.get("scale")) @ VALUE, want)
    with AttentionTape() as tape:
        torch.testing.assert_close(F.scaled_dot_product_attention(QUERY, KEY, VALUE, **options), want)
    assert tape.attentions[0].value is VALUE


def test_a_query_that_sees_nothing_has_no_weights() -> None:
    seen = SEEN & torch.tensor([[1], [0], [1], [1]], dtype=torch.bool)
    weights = open_weights(QUERY, KEY, VALUE, seen[None, None])
    assert not weights[0, :, 1].any()
    assert (weights[0, :, 0, 1] == 0).all()


class Block(nn.Module):
    """Attention and its residual, with the norm before or after it, written in three ways."""

    def __init__(self, where: str, how: str) -> None:
        super().__init__()
        self.where, self.how = where, how
        self.norm, self.other, self.output = nn.LayerNorm(6), nn.LayerNorm(6), nn.Linear(6, 6)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        states = self.norm(states)
        read = self.other(states) if self.where == "before" else states
        heads = read.unflatten(-1, (2, 3)).transpose(1, 2)
        if self.how == "fused":
            context = F.scaled_dot_product_attention(heads, heads, heads)
        else:
            scores = heads @ heads.transpose(-2, -1) * 3**-0.5
            weights = F.dropout(torch.softmax(scores, dim=-1), 0.0)
            context = torch.matmul(weights, heads)
        added = states + self.output(context.transpose(1, 2).flatten(2))
        return self.norm(added)


@pytest.mark.parametrize("how", ["fused", "by hand"])
@pytest.mark.parametrize("where", ["before", "after"])
def test_an_attention_is_recorded_with_what_stands_around_it(where: str, how: str) -> None:
    block, states = Block(where, how), torch.randn(1, 5, 6)
    with torch.no_grad(), AttentionTape() as tape:
        made = block(states)
    torch.testing.assert_close(made, block(states))
    (attention,) = tape.attentions
    assert len(tape.norms) == (3 if where == "before" else 2)
    normed = block.norm(states)
    read = block.other(normed) if where == "before" else normed
    heads = read.unflatten(-1, (2, 3)).transpose(1, 2)
    torch.testing.assert_close(attention.value, heads)
    torch.testing.assert_close(attention.weights, (heads @ heads.transpose(-2, -1) * 3**-0.5).softmax(dim=-1))
    assert attention.output is block.output.weight
    mixed = block.output((attention.weights @ heads).transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention.mixed, mixed)
    place, stream = attention.residual()
    assert place == where
    torch.testing.assert_close(stream, normed)
    assert attention.after is not None
    torch.testing.assert_close(attention.after.read, normed + mixed)
    assert (attention.after.eps, attention.after.centred) == (1e-5, True)


def test_values_can_be_changed_before_they_are_mixed() -> None:
    block, states, places = Block("after", "by hand"), torch.randn(1, 5, 6), []

    def change(place: int, value: torch.Tensor) -> torch.Tensor:
        places.append(place)
        return torch.zeros_like(value)

    with torch.no_grad(), AttentionTape(change) as tape:
        block(states + block(states))
    assert places == [0, 1]
    torch.testing.assert_close(tape.attentions[0].mixed[0], block.output.bias.expand(5, 6))


@pytest.mark.parametrize("off", [0.0, 0.01])
def test_a_residual_that_no_norm_reads_is_not_known(off: float) -> None:
    mixed, stream = torch.randn(1, 4, 6), torch.randn(1, 4, 6)
    whole = stream + mixed
    norm = Norm(whole + off, whole, None, 1e-5, True)
    attention = Attention(SEEN.expand(1, 2, 4, 5).float(), VALUE, QUERY, None, mixed, (), stream, whole, after=norm)
    assert attention.residual()[0] == ("unknown" if off else "after")
    attention.before = (Norm(stream + off, whole, None, 1e-5, True),)
    assert attention.residual()[0] == ("unknown" if off else "before")
    attention.mixed = None
    assert attention.residual() == ("unknown", None)


class Spelled(nn.Module):
    """A root mean square norm as models of the hub spell it; `centred`: LayerNorm so."""

    def __init__(self, centred: bool = False) -> None:
        super().__init__()
        self.weight, self.centred = nn.Parameter(torch.randn(6)), centred

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        kind = states.dtype
        states = states.to(torch.float32)
        states = states - states.mean(-1, keepdim=True) if self.centred else states
        states = states * torch.rsqrt(states.pow(2).mean(-1, keepdim=True) + 0.25)
        return self.weight * states.to(kind)


class RootMeanSquares(nn.Module):
    """Two layers of an attention: an MLP above or beside it, a norm for what is read or added, a factor, or none."""

    def __init__(self, how: str, centred: bool) -> None:
        super().__init__()
        self.how = how
        self.norms = nn.ModuleList([Spelled(centred) for _ in range(3)])
        self.output, self.linear = nn.Linear(6, 6, bias=False), nn.Linear(6, 6)

    def forward(self, states: torch.Tensor) -> list[torch.Tensor]:
        """What enters each layer, and what comes out of the last."""
        entered = [states]
        for _ in range(2):
            states = entered[-1]
            read = states if self.how in ("sandwich", "bare") else self.norms[0](states)
            heads = read.unflatten(-1, (2, 3)).transpose(1, 2)
            mixed = self.output(F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(2))
            if self.how == "parallel":
                entered.append(F.gelu(self.linear(read)) + mixed + states)
                continue
            mixed = {"sandwich": self.norms[1], "bare": lambda mixed: mixed}.get(self.how, lambda mixed: mixed * 0.5)(mixed)
            states = states + F.dropout(mixed, 0.1, training=False)
            entered.append(states + self.linear(self.norms[2](states)))
        return entered


@pytest.mark.parametrize("centred", [False, True], ids=["root mean square", "LayerNorm"])
@pytest.mark.parametrize("how", ["factor", "parallel", "sandwich", "bare"])
def test_what_is_added_is_followed_to_the_end_of_its_layer(how: str, centred: bool) -> None:
    model = RootMeanSquares(how, centred)
    with torch.no_grad(), AttentionTape() as tape:
        entered = model(torch.randn(1, 5, 6))
    for attention, stream, end in zip(tape.attentions, entered[:-1], entered[1:], strict=True):
        assert attention.residual()[0] == "before"
        assert attention.stream is stream
        assert attention.state is end
        kinds = [type(step).__name__ for step in attention.steps]
        assert kinds == {"factor": ["float"], "sandwich": ["Norm"]}.get(how, [])
    norm, first = tape.norms[0], tape.attentions[0]
    read, place = {"sandwich": (first.mixed, 1), "bare": (first.sum, 2)}.get(how, (entered[0], 0))
    torch.testing.assert_close(norm.read, read)
    assert (norm.weight is model.norms[place].weight, norm.eps, norm.centred) == (True, 0.25, centred)


def test_a_gradient_can_be_asked_of_weights_that_look_at_no_token() -> None:
    with AttentionTape() as tape:
        F.scaled_dot_product_attention(QUERY, KEY, VALUE)
    assert tape.attentions[0].given.requires_grad
    with torch.no_grad(), AttentionTape() as tape:
        F.scaled_dot_product_attention(QUERY, KEY, VALUE)
    assert not tape.attentions[0].given.requires_grad


@pytest.mark.parametrize(
    ("run", "eps", "centred"),
    [
        (lambda x, weight: F.layer_norm(x, (6,)), 1e-5, True),
        (lambda x, weight: F.layer_norm(x, (6,), weight, weight, 0.5), 0.5, True),
        (lambda x, weight: F.layer_norm(x, (6,), weight=weight, eps=0.25), 0.25, True),
        (lambda x, weight: F.rms_norm(x, (6,), weight), torch.finfo(torch.float32).eps, False),
        (lambda x, weight: F.rms_norm(x, (6,), weight=weight, eps=0.125), 0.125, False),
    ],
)
def test_a_norm_is_recorded_as_it_was_computed(run: Any, eps: float, centred: bool) -> None:
    states, weight = torch.randn(2, 5, 6) / 100, torch.randn(6)
    with torch.no_grad(), AttentionTape() as tape:
        made = run(states, weight)
    (norm,) = tape.norms
    assert (norm.read is states, norm.gave is made, norm.eps, norm.centred) == (True, True, pytest.approx(eps), centred)
    assert norm.weight is None or norm.weight is weight
    parts = states - states.mean(dim=-1, keepdim=True) if centred else states
    scaled = parts / (parts.pow(2).mean(dim=-1, keepdim=True) + norm.eps).sqrt() * (1 if norm.weight is None else weight)
    bias = weight if norm.eps == 0.5 else 0
    torch.testing.assert_close(made, scaled + bias, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        lambda weights: F.dropout(weights, 0.5),
        lambda weights: weights.masked_fill(SEEN, 0.0),
        lambda weights: torch.masked_fill(weights, SEEN, 0.0),
        lambda weights: weights.to(torch.float64),
        lambda weights: weights.type_as(VALUE.double()),
        lambda weights: (weights / SEEN).softmax(dim=-1).nan_to_num(),
        lambda weights: weights[..., :3],
    ],
    ids=["dropout", "masked_fill", "torch.masked_fill", "to", "type_as", "nan_to_num", "cut"],
)
def test_weights_are_those_that_multiply_values(change: Any) -> None:
    value = VALUE.to(change(SEEN.expand(1, 2, 4, 5).float()).dtype)[:, :, : change(SEEN.float()).shape[-1]]
    with torch.no_grad(), AttentionTape() as tape:
        given = change((QUERY @ KEY.transpose(-2, -1)).softmax(dim=-1))
        context = torch.matmul(given, value)
        # A product of something else is no attention.
        torch.matmul(context, value.transpose(-2, -1))
    (attention,) = tape.attentions
    assert attention.given is given
    torch.testing.assert_close(attention.weights @ attention.value, context, equal_nan=True)


@pytest.mark.parametrize("product", [torch.bmm, torch.Tensor.bmm, torch.matmul])
def test_an_attention_without_heads_has_one(product: Any) -> None:
    with torch.no_grad(), AttentionTape() as tape:
        weights = torch.softmax(torch.randn(3, 4, 5), dim=-1)
        product(weights, VALUE[0].new_ones(3, 5, 2))
    (attention,) = tape.attentions
    assert (attention.weights.shape, attention.value.shape) == ((3, 1, 4, 5), (3, 1, 5, 2))
    assert attention.given is weights


def test_an_output_matrix_stands_the_other_way_round_in_addmm() -> None:
    matrix = torch.randn(6, 7)
    with torch.no_grad(), AttentionTape() as tape:
        context = F.scaled_dot_product_attention(QUERY, KEY, VALUE).transpose(1, 2).flatten(2)
        made = torch.addmm(torch.zeros(7), context[0], matrix)
    (attention,) = tape.attentions
    torch.testing.assert_close(attention.output, matrix.T)
    torch.testing.assert_close(attention.mixed, made[None])


def test_a_power_of_several_numbers_is_no_norm() -> None:
    powers = torch.arange(1, 4)
    with torch.no_grad(), AttentionTape() as tape:
        torch.testing.assert_close(torch.pow(torch.tensor(0.5), powers), 0.5**powers)
        torch.pow(powers, exponent=2)
    assert not tape.norms


def test_a_linear_layer_of_another_size_is_no_output_matrix() -> None:
    for size, known in ((6, True), (3, False)):
        with torch.no_grad(), AttentionTape() as tape:
            context = F.scaled_dot_product_attention(QUERY, KEY, VALUE)
            F.linear(context.transpose(1, 2).flatten(2)[..., :size], weight=torch.randn(7, size))
            F.linear(torch.randn(1, 4, 6), torch.randn(8, 6))
        (attention,) = tape.attentions
        assert (attention.output is not None) == known
        assert attention.mixed is None or attention.mixed.shape == (1, 4, 7)
