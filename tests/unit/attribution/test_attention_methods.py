"""Every method on a small model whose weights are given, against its definition written out over all positions."""

from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from torch.nn import functional as F

import attnviz
from attnviz.attribution import attention_methods, gradients, token_removal
from attnviz.attribution import attention_methods as attention
from attnviz.attribution.methods import HeadMethod, attribute, method_named
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models.targets import AttentionSite, BoundTarget, Outcome
from tests.factories import special, typed
from tests.float64 import exact, in_float64

DIM, HEADS, MASK = 6, 2, 8
TOKENS = (special("[CLS]"), *typed("a b c"))
N = len(TOKENS)
TEXT, WRITTEN = slice(0, N), slice(N, N + 2)
ENCODER = [AttentionSite(TEXT, TEXT, "encoder", layer) for layer in range(2)]
# Two layers; two and attention across, to positions that write, at once or one by one; a last layer that sees less of the text.
# Of "idle" the first of two steps is not read.
SITES = {
    "encoder": ENCODER,
    "cross": [*ENCODER, AttentionSite(WRITTEN, TEXT, "cross")],
    "steps": [*ENCODER, *(AttentionSite(slice(N + at, N + at + 1), TEXT, "cross") for at in range(2))],
    "idle": [*ENCODER, *(AttentionSite(slice(N + at, N + at + 1), TEXT, "cross") for at in range(2))],
    "one": [AttentionSite(slice(N, N + 1), TEXT, "cross")],
    "part": [AttentionSite(TEXT, slice(0, 2), "encoder")],
    "narrow": [ENCODER[0], AttentionSite(TEXT, slice(0, 2), "encoder", 1)],
    "written": [*ENCODER, AttentionSite(WRITTEN, TEXT, "cross"), AttentionSite(WRITTEN, WRITTEN, "decoder")],
}


class Model:
    """Attention with given weights, heads of values, W_O and a residual; LayerNorm after each layer, before it, or nowhere."""

    def __init__(self, sites: str, norm: str = "") -> None:
        dice = torch.Generator().manual_seed(3)

        def drawn(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, generator=dice, dtype=torch.float64)

        self.sites, self.norm = SITES[sites], norm
        self.n = max(site.queries.stop for site in self.sites)
        self.readout = {N: {0: 0.25, 2: 0.75}, N + 1: {N: 1.0}, N + 2: {N: 0.25, N + 1: 0.75}}[self.n]
        self.readout = {N + 1: 1.0} if sites == "idle" else self.readout
        sizes = [(site.queries.stop - site.queries.start, site.keys.stop - site.keys.start) for site in self.sites]
        self.weights = [drawn(HEADS, *size).softmax(dim=-1) for size in sizes]
        self.values, self.outputs = ([drawn(DIM, DIM) for _ in sizes] for _ in range(2))
        # Behind a norm all is small: no length may be taken for a bound.
        self.bias, self.gain, self.asks, self.written = drawn(DIM), drawn(DIM) / 50, drawn(DIM), drawn(self.n - N, DIM)
        self.embedding, self.ids = drawn(9, DIM), torch.tensor([5, 3, 1, 3])

    def normed(self, states: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(states, (DIM,), self.gain, self.bias, 0.125)

    def run(self, vectors: torch.Tensor, weights: Any = None, change: Any = lambda _, value: value) -> list[torch.Tensor]:
        """The states behind the embedding, and behind each attention."""
        states = torch.cat([vectors, self.written.expand(len(vectors), -1, -1)], dim=1)
        after = [self.normed(states) if self.norm else states]
        for at, site in enumerate(self.sites):
            states, read = after[-1], after[-1][:, site.keys]
            if self.norm == "before":
                read = self.normed(read)
                asking = read if site.keys == site.queries else self.normed(states[:, site.queries])
                assert asking.shape[1] == self.weights[at].shape[1]
            value = change(at, (read @ self.values[at]).unflatten(-1, (HEADS, -1)).transpose(1, 2))
            given = (self.weights if weights is None else weights)[at].expand(len(value), -1, -1, -1)
            shares = torch.softmax(given.log(), dim=-1) if weights is None else given
            context = torch.matmul(shares, value).transpose(1, 2).flatten(2)
            made = states[:, site.queries] + F.linear(context, self.outputs[at], self.bias)
            made = self.normed(made) if self.norm == "after" else made
            after.append(torch.cat([states[:, : site.queries.start], made, states[:, site.queries.stop :]], dim=1))
        return after

    def score(self, vectors: torch.Tensor, weights: Any = None) -> torch.Tensor:
        states = self.run(vectors, weights)[-1]
        if self.norm == "before":
            read = self.sites[-1].queries
            states = torch.cat([states[:, : read.start], self.normed(states[:, read]), states[:, read.stop :]], dim=1)
        return torch.stack([weight * states[:, place] @ self.asks for place, weight in self.readout.items()]).sum(dim=0)

    def bound(self, **changes: Any) -> BoundTarget:
        def run(ids: torch.Tensor) -> Outcome:
            score = self.score(F.embedding(ids, self.embedding))
            return Outcome(score, F.logsigmoid(score))

        bound = BoundTarget("it", TOKENS, self.ids, self.embedding, MASK, frozenset({0}), self.readout, run, self.sites, self.n)
        return replace(bound, **changes)

    def whole(self, at: int, mixed: np.ndarray) -> np.ndarray:
        """What an attention mixes of all positions; the others are passed on."""
        whole, site = np.eye(self.n), self.sites[at]
        whole[site.queries] = 0
        whole[site.queries, site.keys] = mixed
        return whole

    @property
    def asked(self) -> np.ndarray:
        return np.array([self.readout.get(place, 0) for place in range(self.n)])

    def followed(self, steps: list[np.ndarray]) -> np.ndarray:
        for step in reversed(steps):
            assert np.allclose(step.sum(axis=1), 1)
        return np.linalg.multi_dot([self.asked, *reversed(steps)])[:N]


@pytest.mark.parametrize("sites", SITES)
def test_what_weights_say_is_what_loops_say(sites: str) -> None:
    model, bound = Model(sites), Model(sites).bound()
    means = [each.mean(dim=0).numpy() for each in model.weights]
    seen: dict[tuple[str, int], np.ndarray] = {}
    total, count = np.zeros(N), np.zeros(N)
    for site, mean in zip(model.sites, means, strict=True):
        for row, query in enumerate(range(model.n)[site.queries]):
            for column, key in enumerate(range(model.n)[site.keys]):
                if key < N:
                    seen.setdefault((site.kind, site.layer), np.zeros(N))[key] += (
                        model.readout.get(query, 0) * mean[row, column]
                    )
                    total[key], count[key] = total[key] + mean[row, column], count[key] + 1
    np.testing.assert_allclose(attention.received(bound), total / np.maximum(count, 1))
    read = [each for each in seen.values() if each.any()]
    np.testing.assert_allclose(attention.mean_of_layers(bound), np.mean(read, axis=0))
    last = {"encoder": ("encoder", 1), "narrow": ("encoder", 0), "part": ("encoder", 0)}.get(sites, ("cross", 0))
    np.testing.assert_allclose(attention.last_layer(bound), seen[last])
    if sites == "encoder":
        for head in range(HEADS):
            want = model.asked @ model.weights[1][head].numpy()
            np.testing.assert_allclose(attention.head_weights(bound, "encoder", 1, head), want)
    for kind, layer, head in (("encoder", 9, 0), ("cross", 1, 0), (*last, HEADS), (*last, HEADS + 1), ("decoder", 0, 0)):
        with pytest.raises(ModelError, match=f"not read from a head L{layer}·H{head} of the {kind}"):
            attention.head_weights(bound, kind, layer, head)


@pytest.mark.parametrize("sites", SITES)
def test_rollout_and_flow_follow_half_of_the_weights_and_half_of_the_residual(sites: str) -> None:
    model, bound = Model(sites), Model(sites).bound()
    steps = [(np.eye(model.n) + model.whole(at, each.mean(dim=0).numpy())) / 2 for at, each in enumerate(model.weights)]
    np.testing.assert_allclose(attention.rollout(bound), model.followed(steps))
    graph = networkx.DiGraph()
    for level, step in enumerate(steps):
        for upper, lower in np.argwhere(step > 0).tolist():
            graph.add_edge((level + 1, upper), (level, lower), capacity=step[upper, lower])
    for place, weight in model.readout.items():
        graph.add_edge("source", (len(steps), place), capacity=weight)
    want = [networkx.maximum_flow_value(graph, "source", (0, place)) for place in range(N)]
    np.testing.assert_allclose(attention.flow(bound), want, atol=2e-7)
    for method in (attention.rollout, attention.flow, attention_methods.norms_with_residual, token_removal.value_zeroing):
        with pytest.raises(ModelError, match="no layers to follow"):
            method(replace(bound, layered=False))


def step_in_the_way(score: Any) -> BoundTarget:
    """Bind a text whose score is a function of where it stands on the way from the masked text, 0, to itself, 1."""
    bound = Model("encoder").bound()
    vectors, mask = bound.embedded(), bound.embedding[MASK]
    way = torch.cat([torch.zeros(1, DIM, dtype=vectors.dtype), vectors[1:] - mask])

    def run(ids: torch.Tensor) -> Outcome:
        moved = F.embedding(ids, bound.embedding) - torch.cat([vectors[:1], mask.expand(N - 1, DIM)])
        made = score((moved * way).sum(dim=(1, 2)) / (way * way).sum())
        return Outcome(made, made)

    return replace(bound, run=run)


def test_integrated_gradients_sum_to_what_a_sudden_rise_gains():
    """A rise over a hundredth of the way, which points that stand still would step over or count several times."""
    for middle in (0.2, 0.37, 0.618):
        shares = gradients.integrated_gradients(step_in_the_way(lambda at, middle=middle: (400 * (at - middle)).tanh()))
        assert shares.sum() == pytest.approx(2, rel=0.05)


def test_integrated_gradients_that_miss_their_sum_are_refused():
    with pytest.raises(ModelError, match="do not add up here"):
        gradients.integrated_gradients(step_in_the_way(lambda at: at + (at > 0.37)))


@pytest.mark.parametrize("norm", ["", "after"])
@pytest.mark.parametrize("sites", ["encoder", "cross", "written", "idle"])
def test_gradients_are_those_of_the_score(sites: str, norm: str) -> None:
    model, bound = Model(sites, norm), Model(sites, norm).bound()
    vectors, weights = bound.embedded(), [each.clone().requires_grad_() for each in model.weights]
    relevance = np.eye(model.n)
    slopes = torch.autograd.grad(model.score(vectors[None], weights).sum(), weights, materialize_grads=True)
    for at, (weight, slope) in enumerate(zip(weights, slopes, strict=True)):
        mixed = (weight * slope).clamp(min=0).mean(dim=0).detach().numpy()
        step = model.whole(at, mixed)
        step[[*set(range(model.n)) - {*range(model.n)[model.sites[at].queries]}]] = 0
        relevance = relevance + step @ relevance
    np.testing.assert_allclose(attention.gradient_weighted(bound), (model.asked @ (relevance - np.eye(model.n)))[:N])

    def gradient(at: torch.Tensor) -> torch.Tensor:
        moved = at.clone().requires_grad_()
        return torch.autograd.grad(model.score(moved[None]).sum(), moved)[0]

    slope = gradient(vectors)
    np.testing.assert_allclose(gradients.gradient_norm(bound), slope.norm(dim=1))
    np.testing.assert_allclose(gradients.gradient_times_input(bound), (slope * vectors).sum(dim=1))
    # Every typed token begins at the mask's vector, and goes a straight way; special tokens stay.
    start = torch.stack([vectors[0], *[model.embedding[MASK]] * (N - 1)])
    steps = torch.tensor([(at + 0.5) / 997 for at in range(997)], dtype=vectors.dtype)[:, None, None]
    moved = (start + steps * (vectors - start)).requires_grad_()
    (slopes,) = torch.autograd.grad(model.score(moved).sum(), moved)
    want = ((vectors - start) * slopes.mean(dim=0)).sum(dim=1).numpy()
    np.testing.assert_allclose(gradients.integrated_gradients(bound), want, atol=1e-3 * np.abs(want).max())
    shares, rest = gradients.frozen_gradient(bound)
    score = float(model.score(vectors[None]))
    assert shares.sum() + rest == pytest.approx(score)
    if not norm:
        np.testing.assert_allclose(shares, (slope * vectors).sum(dim=1))
    with pytest.raises(ModelError, match="because so"):
        gradients.frozen_gradient(replace(bound, unfreezable="because so"))
    with pytest.raises(ModelError, match=r"cannot be held fixed \(Exp\)"):
        gradients.frozen_gradient(replace(bound, run=lambda ids: Outcome(bound.run(ids).score.exp(), bound.run(ids).score)))


def carried(model: Model, at: int) -> np.ndarray:
    """Σ_h α f(x_j) of each query and key, one after the other."""
    site, states = model.sites[at], model.run(model.bound().embedded()[None])[at]
    read = states[0, site.keys] if model.norm != "before" else model.normed(states[0, site.keys])
    value, parts = read @ model.values[at], np.zeros((*model.weights[at].shape[1:], DIM))
    for query, key in np.ndindex(parts.shape[:2]):
        for head in range(HEADS):
            own = slice(3 * head, 3 * head + 3)
            part = model.weights[at][head, query, key] * (value[key, own] @ model.outputs[at][:, own].T)
            parts[query, key] += part.numpy()
    return parts


@pytest.mark.parametrize("slab", [attention_methods.SLAB, 1], ids=["at once", "row by row"])
@pytest.mark.parametrize("norm", ["after", "before"])
@pytest.mark.parametrize("sites", ["encoder", "cross"])
def test_norms_are_lengths_of_what_reaches_a_position(
    sites: str, norm: str, slab: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_methods, "SLAB", slab)
    model, bound = Model(sites, norm), Model(sites, norm).bound()
    shares, steps = [], []
    for at, site in enumerate(model.sites):
        parts = carried(model, at)
        lengths = np.linalg.norm(parts, axis=2)
        rows = model.asked[site.queries] @ (lengths / lengths.sum(axis=1, keepdims=True))
        shares += [rows] * bool(model.asked[site.queries].any())
        kept = model.run(bound.embedded()[None])[at][0, site.queries].numpy()
        if norm == "after":
            whole = kept + parts.sum(axis=1) + model.bias.numpy()
            scale = model.gain.numpy() / np.sqrt(whole.var(axis=1, keepdims=True) + 0.125)
            parts = (parts - parts.mean(axis=2, keepdims=True)) * scale[:, None]
            kept = (kept - kept.mean(axis=1, keepdims=True)) * scale
        if site.kind == "encoder":
            parts[np.arange(N), np.arange(N)] += kept
        if sites == "encoder" or norm == "before":
            made = attention_methods.composition(attention.recorded(bound)[at], of_itself=site.kind == "encoder")
            own = parts[np.arange(N), np.arange(N)] if site.kind == "encoder" else kept
            others = parts.sum(axis=1) - (own if site.kind == "encoder" else 0)
            both = [np.linalg.norm(each, axis=1) for each in (own, others)]
            np.testing.assert_allclose(made.own, both[0])
            np.testing.assert_allclose(made.mixing, both[1] / (both[0] + both[1]))
        step = model.whole(at, np.linalg.norm(parts, axis=2))
        for row, query in enumerate(range(model.n)[site.queries]) if site.kind == "cross" else ():
            step[query, query] = np.linalg.norm(kept[row])
        steps.append(step / step.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(attention_methods.value_norms(bound), np.mean(shares, axis=0))
    np.testing.assert_allclose(attention_methods.norms_with_residual(bound), model.followed(steps))


def test_lengths_of_steps_count_as_the_output_is_read_from_them() -> None:
    # Two attentions, each of which half of an output is read from, are no two layers: all weights' shares sum to 1.
    model, bound = Model("steps"), Model("steps").bound()
    lengths = [np.linalg.norm(carried(model, at)[0], axis=1) for at in (2, 3)]
    want = sum(weight * each / each.sum() for weight, each in zip((0.25, 0.75), lengths, strict=True))
    np.testing.assert_allclose(attention_methods.value_norms(bound), want)


def test_shares_of_lengths_are_those_of_lengths_a_millionth_as_large() -> None:
    small = Model("one")
    small.outputs = [each / 10**6 for each in small.outputs]
    np.testing.assert_allclose(
        attention_methods.value_norms(small.bound()), attention_methods.value_norms(Model("one").bound())
    )


@pytest.mark.parametrize("batch", [1, 3 * N, 2048])
@pytest.mark.parametrize(
    ("sites", "norm"), [("encoder", "after"), *((sites, "before") for sites in ("encoder", "cross", "written"))]
)
def test_value_zeroing_is_the_model_run_without_each_value(
    sites: str, norm: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_removal, "BATCH_TOKENS", batch)
    model, progress = Model(sites, norm), list[float]()
    bound = model.bound(progress=progress.append)
    vectors, steps = bound.embedded()[None], []
    for at, site in enumerate(model.sites):
        whole = model.run(vectors)[at + 1][0, site.queries]
        changes = np.zeros(model.weights[at].shape[1:])
        for key in range(changes.shape[1]):

            def without(place: int, value: torch.Tensor, key: int = key, at: int = at) -> torch.Tensor:
                return torch.where(torch.arange(value.shape[2])[:, None] == key, 0, value) if place == at else value

            other = model.run(vectors, change=without)[at + 1][0, site.queries]
            changes[:, key] = 1 - F.cosine_similarity(whole, other, dim=-1).numpy()
        steps.append(model.whole(at, changes / changes.sum(axis=1, keepdims=True)))
    np.testing.assert_allclose(token_removal.value_zeroing(bound), model.followed(steps))
    sizes, step = [each.shape[2] for each in model.weights], max(1, batch // model.n)
    assert progress == pytest.approx(
        [(at + first / size) / len(steps) for at, size in enumerate(sizes) for first in range(0, size, step)]
    )
    with pytest.raises(ModelError, match="layers end is not known"):
        token_removal.value_zeroing(Model(sites).bound())
    # Where nothing changes anything every position stays what it is.
    monkeypatch.setattr(
        token_removal, "_states", lambda _, at, keys: torch.eye(3)[0].expand(len(keys) + 1, model.weights[at].shape[1], 3)
    )
    np.testing.assert_allclose(token_removal.value_zeroing(bound), model.asked[:N])


@pytest.mark.gate
def test_value_zeroing_of_float32_states_is_that_of_float64(unchecked: None) -> None:
    prompt = Prompt("It did not fit.", target="Es passte nicht.")
    shares = attribute(attnviz.load("transformer-en-de"), prompt, "value-zeroing").values
    model = exact("transformer-en-de")
    with in_float64():
        want = attribute(model, prompt, "value-zeroing").values
    # Some roundings of float32, 6e-8 each; of cosines near 1 so many would leave no more than their first digits.
    np.testing.assert_allclose(shares, want, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("method", "most"), [(token_removal.value_zeroing, 128), (attention.flow, 64)])
def test_a_method_that_would_take_minutes_says_how_much_it_reads(method: Any, most: int) -> None:
    bound = Model("encoder", "after").bound()
    with pytest.raises(ModelError, match=rf"at most {most} tokens, and this text has {most + 1}: type less"):
        method(replace(bound, n_positions=most + 1))
    if method is attention.flow:
        assert method(replace(bound, n_positions=most)).shape == (N,)


def test_weights_of_other_sizes_than_the_model_declares_are_refused() -> None:
    for sites in (ENCODER[:1], [*ENCODER, ENCODER[0]], [ENCODER[0], SITES["narrow"][1]]):
        with pytest.raises(ModelError, match="cannot be followed"):
            attention.recorded(replace(Model("encoder").bound(), sites=sites))
    with pytest.raises(ModelError, match="look at no token"):
        attention_methods.value_norms(Model("encoder").bound(readout={}))
    with pytest.raises(ModelError, match="look at no token"):
        attention.last_layer(Model("encoder").bound(readout={}))


def test_a_head_is_a_method_of_its_kind_layer_and_number() -> None:
    head = method_named("head:cross:2:1")
    assert isinstance(head, HeadMethod)
    assert (head.kind, head.layer, head.head) == ("cross", 2, 1)
    got = method_named("head:encoder:1:1").compute(Model("encoder").bound())
    np.testing.assert_allclose(got.values, attention.head_weights(Model("encoder").bound(), "encoder", 1, 1))
