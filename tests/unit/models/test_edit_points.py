"""Where models are edited: layers that attend, windows, patterns of other texts, and softmaxes in code of their own."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from attnviz.core.edits import Edits, HeadPatched
from attnviz.core.errors import EditError
from attnviz.core.trace import AttentionTrace, DenseWeights, Prompt
from attnviz.core.weights import QueryKeyLayer
from attnviz.models.edit import EditPoints, check_windows, editable_kinds, edited, trace_softmaxes, with_edited_heads
from attnviz.nn.apply_edits import Intervention, intervening, running
from tests.factories import make_map, numbered

HEADS, N = 3, 4
SIZES: Any = {"encoder": (2, HEADS)}


@pytest.mark.parametrize(("attending", "named"), [((1, 3), "1 or 3"), ((0, 1, 3), "0, 1 or 3"), ((3,), "3")])
def test_a_layer_without_attention_is_refused_with_those_that_have_it(attending: tuple[int, ...], named: str) -> None:
    points = EditPoints({"encoder": (4, 2), "cross": (4, 2)}, numbers={"encoder": attending})
    with pytest.raises(EditError, match=rf"Layer 2 of tiny mixes .* choose {named}\."):
        points.check(Edits.parse("e2.0z"), "tiny")
    points.check(Edits.parse(f"e{attending[0]}.0z,ek1,c2.0z"), "tiny")
    assert (list(points.layers("encoder")), list(points.layers("cross"))) == ([*attending], [0, 1, 2, 3])
    with pytest.raises(EditError, match="tiny has 4 layers"):
        points.check(Edits.parse("c4.0z"), "tiny")


def test_places_are_edited_in_one_window_alone() -> None:
    for text, n_windows, refused in (("e0.0c1.2", 2, True), ("e0.0c1.2", 1, False), ("e0.0z", 2, False)):
        with intervening(Intervention((Edits.parse(text),), SIZES, {})):
            if refused:
                with pytest.raises(EditError, match="read in 2 windows"):
                    check_windows(n_windows)
            else:
                check_windows(n_windows)
    check_windows(2)


def test_weights_that_edits_gave_are_laid_over_the_layers_of_their_number() -> None:
    layers = [QueryKeyLayer(*np.random.default_rng(at).normal(size=(2, HEADS, N, 2)), scaling=1.0) for at in range(3)]
    weights = torch.tensor(np.random.default_rng(7).dirichlet(np.ones(N), (2, 1, N)))
    assert with_edited_heads("encoder", layers) == tuple(layers)
    now = Intervention((Edits.parse("e2.1u"),), {"encoder": (4, HEADS)}, {})
    now.changed = {("encoder", 2): ((1,), weights)}
    with intervening(now):
        made = with_edited_heads("encoder", layers, first=1)
        assert with_edited_heads("decoder", layers, first=1) == tuple(layers)
    assert (made[0], made[2]) == (layers[0], layers[2])
    np.testing.assert_allclose(made[1].weights(slice(1, 2))[0], weights[0, 0], atol=1e-6)
    np.testing.assert_array_equal(made[1].weights(slice(2, 3)), layers[1].weights(slice(2, 3)))


def test_heads_are_patched_with_their_weights_over_the_other_text() -> None:
    prompts, traces = [], {size: make_map(numbered(size)) for size in (3, 5)}

    def trace(prompt: Prompt) -> AttentionTrace:
        prompts.append(prompt)
        return AttentionTrace("mine", prompt, (traces[len(prompt.text)],))

    points = EditPoints({"encoder": (2, 3)}, writes=True, places={7: "encoder"})
    model: Any = SimpleNamespace(card=SimpleNamespace(name="mine"), trace=trace, edit_points=lambda: points)
    edits = Edits(
        (HeadPatched("encoder", 1, 2, "abc"), HeadPatched("encoder", 0, 1, "abcde"), HeadPatched("encoder", 0, 2, "abc"))
    )
    with edited(model, Prompt("what", pair="else"), edits):
        now = running()
        assert now is not None
        assert (now.rows, now.sizes, now.places, now.writes) == ((edits,), points.sizes, points.places, True)
        want = {("encoder", 1, 2, "abc"): (3, 1, 2), ("encoder", 0, 1, "abcde"): (5, 0, 1), ("encoder", 0, 2, "abc"): (3, 0, 2)}
        assert now.patterns.keys() == want.keys()
        for name, (size, layer, head) in want.items():
            np.testing.assert_array_equal(now.patterns[name], traces[size].weights(layer, head))
    assert [(prompt.text, prompt.pair) for prompt in prompts] == [("abcde", "else"), ("abc", "else")]
    with edited(model, Prompt("what"), Edits()):
        assert running() is None
    with pytest.raises(EditError, match="mine has no cross"), edited(model, Prompt("what"), Edits.parse("c0.0z")):
        pass


class Own(nn.Module):
    """Attention in code of its own: heads beside the texts of a batch or apart, after another softmax or alone."""

    def __init__(self, seed: int, *, apart: bool = True, twice: bool = False) -> None:
        super().__init__()
        dice = torch.Generator().manual_seed(seed)
        self.scores = torch.randn(1, HEADS, N, N, generator=dice)
        self.scores[0, :, 0, 3] = -1e9
        # Far below all others, so that its weight is rounded to 0, but not masked.
        self.scores[0, :, 2, 1] = -200
        self.apart, self.twice = apart, twice

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        scores = self.scores if self.apart else self.scores[0]
        if self.twice:
            value = value + torch.zeros(1, 2, N, 3).softmax(dim=-1).mean()
        weights = scores.softmax(dim=-1)
        # What has no heads is no attention.
        value = value * torch.ones(N, 2).softmax(dim=-1).sum()
        return value + (weights if self.apart else weights[None]).mean(dim=1) @ value


@pytest.mark.parametrize("options", [{}, {"apart": False}, {"twice": True}], ids=["apart", "beside", "after another"])
def test_a_softmax_that_gave_a_layers_weights_is_edited(options: dict[str, bool]) -> None:
    model, value = nn.Sequential(Own(1, **options), Own(2, **options)), torch.randn(1, N, 2)
    kinds: Any = {id(layer): "encoder" for layer in model}
    weights = [layer.scores[0].softmax(dim=-1) for layer in model]
    found = trace_softmaxes(model, lambda: model(value))
    assert [(each.module, each.place) for each in found if each.weights.shape[1] == HEADS] == [
        (layer, int("twice" in options)) for layer in model
    ]
    assert not any(layer._forward_hooks or layer._forward_pre_hooks for layer in model.modules())
    stores: Any = {"encoder": DenseWeights(tuple(each.numpy() for each in weights))}
    plain = model(value)
    moved = DenseWeights(tuple(each.roll(1, dims=2).numpy() for each in weights))
    assert editable_kinds(kinds, found, {"encoder": moved}, torch.float32) is None
    assert editable_kinds(kinds, found[:-1], stores, torch.float32) is None
    assert editable_kinds({}, found, {"cross": stores["encoder"]}, torch.float32) is None
    assert editable_kinds(kinds, found, stores, torch.float32) is kinds
    torch.testing.assert_close(model(value), plain, rtol=0, atol=0)
    now = Intervention((Edits.parse("e0.1u,e1.2c1.2"),), SIZES, kinds)
    for _ in range(2):
        want = [each.clone() for each in weights]
        # What is masked is left out of an even spread.
        want[0][1] = torch.tensor([[1 / 3, 1 / 3, 1 / 3, 0], *[[0.25] * 4] * 3])
        want[1][2, 1, 2] = 0
        want[1][2, 1] /= want[1][2, 1].sum()
        with intervening(now):
            got = model(value)
        expected = value
        for each in want:
            added = expected + (1 / 3 if options.get("twice") else 0)
            expected = added * N + each.mean(dim=0) @ (added * N)
        torch.testing.assert_close(got, expected)
        heads, new = now.changed["encoder", 1]
        assert heads == (2,)
        torch.testing.assert_close(new[0, 0], want[1][2])
    torch.testing.assert_close(model(value), plain, rtol=0, atol=0)


def test_two_softmaxes_of_one_module_cannot_be_edited_and_a_pass_that_fails_has_none() -> None:
    layer = Own(1)
    both = nn.Sequential(layer, layer)
    found = trace_softmaxes(both, lambda: both(torch.randn(1, N, 2)))
    assert [each.place for each in found] == [0, 0]
    model = nn.Sequential(Own(1))
    (once,) = trace_softmaxes(model, lambda: model(torch.randn(1, N, 2)))
    weights = layer.scores[0].softmax(dim=-1).numpy()
    twice = [once, type(once)(once.module, 1, once.weights)]
    assert editable_kinds({}, twice, {"encoder": DenseWeights((weights, weights))}, torch.float32) is None

    def fails() -> None:
        raise RuntimeError

    assert trace_softmaxes(model, fails) == ()
    assert not any(each._forward_hooks for each in model.modules())
