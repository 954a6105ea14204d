"""Each way against the same thing computed another way: by hand in NumPy, by networkx, or by running the model once more."""

import importlib
import subprocess
import sys
from functools import cache
from types import ModuleType
from typing import Any

import networkx
import numpy as np
import pytest
import torch

import attnviz
from attnviz.attribution import attention, gradients, norms, token_removal
from attnviz.attribution.attention import max_flow
from attnviz.attribution.methods import METHODS, Method, attribute, method_named, titles_of
from attnviz.attribution.token_removal import attribution_report
from attnviz.attribution.value_zeroing import value_zeroing
from attnviz.core.errors import AttnvizError, ModelError
from attnviz.core.trace import Prompt
from attnviz.export.matters.report import draw_attribution
from attnviz.export.svg import sheet_svg
from attnviz.figures.matters.methods import methods_table
from attnviz.models.capabilities import bind_target
from attnviz.models.targets import BoundTarget, Target

LIKE = Prompt("A man plays the guitar.", pair="Somebody makes music.")
LOVELACE = Prompt("Ada Lovelace wrote the first program in 1843.", question="Who wrote the first program?")
TWO = Prompt("He has been to France. It rained there all day.")
FRANCE = Prompt("He has been to France.")
loaded = cache(attnviz.load)


@cache
def read(name: str, prompt: Prompt, target: str = "") -> BoundTarget:
    return bind_target(loaded(name), prompt, Target.of(target) if target else None)


def test_attention_is_what_the_trace_shows():
    bound = read("answer-en", LOVELACE)
    trace = loaded("answer-en").trace(LOVELACE)
    rows = list(bound.readout)
    head = attention.head_weights(bound, "encoder", 2, 3)
    np.testing.assert_allclose(head, trace.encoder.weights(2, 3)[rows].mean(axis=0), atol=1e-6)
    layers = np.mean([trace.encoder.layer_weights(layer).mean(axis=0)[rows].mean(axis=0) for layer in range(6)], axis=0)
    n_asking = len(trace.cross.keys)
    cross = np.zeros_like(layers)
    cross[:n_asking] = trace.cross.layer_weights(0).mean(axis=0)[[row - n_asking for row in rows]].mean(axis=0)
    np.testing.assert_allclose(attention.mean_of_layers(bound), (6 * layers + cross) / 7, atol=1e-6)
    last = trace.encoder.layer_weights(5).mean(axis=0)[rows].mean(axis=0)
    np.testing.assert_allclose(attention.last_layer(bound), last, atol=1e-6)
    # Read apart from the question, the passage looks at itself last, behind the question's eight positions.
    apart, last = read("answer-en-dual", LOVELACE), np.zeros(20)
    rows = [row - 8 for row in apart.readout]
    last[8:] = attention.as_array(attention.recorded(apart)[-1].weights[0].mean(dim=0)[rows].mean(dim=0))
    np.testing.assert_allclose(attention.last_layer(apart), last, atol=1e-6)


def test_rollout_is_the_product_of_half_attention_and_half_identity():
    bound = read("minilm", Prompt("The cat sat.", pair="It ran."))
    trace = loaded("minilm").trace(Prompt("The cat sat.")).encoder
    n_tokens = len(trace.keys)
    product = np.eye(n_tokens)
    for layer in range(trace.n_layers):
        product = (0.5 * trace.layer_weights(layer).mean(axis=0) + 0.5 * np.eye(n_tokens)) @ product
    np.testing.assert_allclose(attention.rollout(bound)[:n_tokens], 0.5 * product.mean(axis=0), atol=1e-6)


def test_flow_is_networkxs():
    generator = np.random.default_rng(3)
    steps = [(slice(0, 5), generator.dirichlet(np.ones(7), 5)), (slice(2, 7), generator.dirichlet(np.ones(7), 5))]
    asking = np.array([0.0, 0, 0.5, 0, 0.5, 0, 0])
    graph = networkx.DiGraph()
    for level, (queries, mixed) in enumerate(steps):
        whole = np.eye(7)
        whole[queries] = mixed
        for upper, lower in np.argwhere(whole > 0):
            graph.add_edge((level + 1, upper), (level, lower), capacity=whole[upper, lower])
    for position in np.flatnonzero(asking):
        graph.add_edge("source", (2, position), capacity=asking[position])
    want = [networkx.maximum_flow_value(graph, "source", (0, position)) for position in range(7)]
    np.testing.assert_allclose(max_flow(steps, asking), want, atol=1e-6)


def test_value_norms_are_the_lengths_of_what_weights_carry():
    bound = read("answer-en", LOVELACE)
    layer = loaded("answer-en").encoder.model.encoder.layer[0]
    states = loaded("answer-en").attended(LOVELACE)["encoder"][0].memory[0]
    weights = loaded("answer-en").trace(LOVELACE).encoder.layer_weights(0)
    width = states.shape[1] // 12
    for head in (0, 7):
        own = slice(head * width, (head + 1) * width)
        value = layer.attention.self.value.weight[own] @ states.T + layer.attention.self.value.bias[own, None]
        lengths = (layer.attention.output.dense.weight[:, own] @ value).norm(dim=0).numpy()
        got = attention.recorded(bound)[0]
        np.testing.assert_allclose(norms.carried(got)[head].norm(dim=-1), lengths, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(got.weights[0, head], weights[head], atol=1e-6)


@pytest.mark.parametrize(("name", "prompt"), [("answer-en", LOVELACE), ("transformer-en-fr", FRANCE)])
def test_what_positions_are_made_of_sums_to_what_they_are(name, prompt):
    bound = read(name, prompt)
    for step, place in zip(attention.recorded(bound), bound.sites, strict=True):
        mixed = sum(parts.sum(dim=1) for _, parts in norms._parts(step))
        placed, stream = step.residual()
        assert placed == ("before" if name == "transformer-en-fr" or place.kind == "cross" else "after")
        assert stream is not None
        assert step.mixed is not None
        # W_O's bias belongs to no token.
        bias = step.mixed[0] - mixed
        torch.testing.assert_close(bias, bias[:1].expand_as(bias), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("slab", [norms.SLAB, 1], ids=["at once", "row by row"])
@pytest.mark.parametrize(("name", "prompt"), [("answer-en", LOVELACE), ("transformer-en-fr", FRANCE)])
def test_a_position_is_what_reaches_it_and_what_it_keeps_behind_its_norm(name, prompt, slab, monkeypatch):
    monkeypatch.setattr(norms, "SLAB", slab)
    bound = read(name, prompt)
    for step, place in zip(attention.recorded(bound), bound.sites, strict=True):
        parts = np.concatenate([each.double().numpy() for _, each in norms._parts(step)])
        placed, stream = step.residual()
        kept, own = stream[0].double().numpy(), np.arange(len(parts))
        if placed == "after":
            parts, kept = (_behind_norm(each, step.after) for each in (parts, kept))
        if of_itself := place.queries == place.keys:
            parts[own, own] += kept
            kept = parts[own, own].copy()
        others = parts.sum(axis=1) - (kept if of_itself else 0)
        lengths = [np.linalg.norm(each, axis=-1) for each in (parts, kept, others)]
        made = norms.composition(step, of_itself=of_itself)
        mixing = lengths[2] / (lengths[1] + lengths[2])
        for got, want in zip((made.norms, made.own, made.mixing), (*lengths[:2], mixing), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


def _behind_norm(part: np.ndarray, norm: Any) -> np.ndarray:
    """What LayerNorm makes of a part of what it reads, σ being that of the whole."""
    whole = norm.read[0].double().numpy()
    deviation = np.sqrt(whole.var(axis=-1, keepdims=True) + norm.eps)
    centred = part - part.mean(axis=-1, keepdims=True)
    return centred / (deviation[:, None] if part.ndim == 3 else deviation) * norm.weight.detach().double().numpy()


def test_a_layer_changes_a_token_less_than_its_weights_say():
    layers = attention.recorded(read("answer-en", LOVELACE))[:6]
    ratios = [norms.composition(layer, of_itself=True).mixing.mean() for layer in layers]
    assert all(0 < ratio < 1 for ratio in ratios)
    by_weights = np.mean([1 - np.diagonal(layer.weights[0].mean(dim=0)).mean() for layer in layers])
    assert np.mean(ratios) < by_weights / 1.5


@pytest.mark.parametrize("target", ["translation", "token:2"])
def test_gradients_are_those_of_small_steps(target):
    bound = read("bahdanau-en-fr", FRANCE, target)
    vectors = bound.embedded()
    got = gradients.gradient_times_input(bound)
    with torch.no_grad():
        for place in (0, 3):
            moved = vectors.repeat(2, 1, 1)
            moved[0, place] *= 1.01
            moved[1, place] *= 0.99
            scores = bound.outcome_of(moved).score
            assert got[place] == pytest.approx(float(scores[0] - scores[1]) / 0.02, rel=0.02, abs=2e-3)


def test_integrated_gradients_sum_to_the_difference():
    bound = read("answer-en", LOVELACE)
    taken = np.array([[False] * len(bound.tokens), [not token.special for token in bound.tokens]])
    scores, _ = token_removal.outcomes(bound, taken)
    got = gradients.integrated_gradients(bound, steps=60).sum()
    assert got == pytest.approx(scores[0] - scores[1], rel=0.01)


@pytest.mark.parametrize(("method", "most"), [("value-zeroing", 128), ("flow", 64)])
def test_a_way_that_would_take_minutes_says_how_much_it_reads(method: str, most: int):
    bound = read("minilm", Prompt("a " * most, pair="b"))
    with pytest.raises(ModelError, match=rf"at most {most} tokens, and this text has \d+: type less"):
        method_named(method).compute(bound)


def test_value_zeroing_is_the_model_run_without_a_value(monkeypatch):
    bound = read("minilm", Prompt("The cat sat.", pair="It ran."))
    got = value_zeroing(bound)
    assert got.sum() == pytest.approx(1)
    assert (got >= 0).all()
    # Of the first layer by hand: its output, with one key's value taken out, through the model's own modules.
    model = loaded("minilm").model
    layer = model.encoder.layer[0]
    n_tokens = 6
    with torch.no_grad():
        states = model.embeddings(bound.ids[None, :n_tokens])
        own = layer.attention.self
        value = own.value(states)
        weights = loaded("minilm").trace(Prompt("The cat sat.")).encoder.layer_weights(0)

        def output(value: torch.Tensor) -> torch.Tensor:
            heads = value[0].unflatten(-1, (12, -1)).transpose(0, 1)
            context = (torch.tensor(weights) @ heads).transpose(0, 1).flatten(1)[None]
            attended = layer.attention.output(context, states)
            return layer.output(layer.intermediate(attended), attended)[0]

        whole, without = output(value), value.clone()
        without[0, 2] = 0
        want = 1 - torch.nn.functional.cosine_similarity(whole, output(without), dim=-1)
    from attnviz.attribution import value_zeroing as module

    states = module._states(bound, 0, range(2, 3))
    got = 1 - torch.nn.functional.cosine_similarity(states[0], states[1], dim=-1)
    np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-5)
    # Where nothing changes anything every position stays what it is.
    sizes = [site.queries.stop - site.queries.start for site in bound.sites]
    monkeypatch.setattr(module, "_states", lambda _, index, keys: torch.eye(3)[0].expand(len(keys) + 1, sizes[index], 3))
    np.testing.assert_allclose(value_zeroing(bound), attention.readout_weights(bound)[: len(bound.tokens)])


def test_leaving_out_is_the_score_of_the_text_without_the_word():
    bound = read("transformer-en-fr", FRANCE)
    got = token_removal.leave_one_out(bound)
    ids = bound.ids.clone()
    ids[1] = bound.baseline_id
    scores = bound.outcome(torch.stack([bound.ids, ids])).score
    assert bound.tokens[1].word != bound.tokens[2].word
    assert got[1] == pytest.approx(float(scores[0] - scores[1]), abs=1e-4)


@pytest.mark.parametrize(
    ("name", "prompt", "target", "says"),
    [
        ("minilm", LIKE, "answer", "has no answer"),
        ("minilm", Prompt("hi"), "similarity", "second text"),
        ("minilm", LIKE, "next", "has no next token"),
        ("answer-en", LOVELACE, "label", "has no label"),
        ("transformer-en-fr", FRANCE, "token:99", "there is no token 99"),
        ("summarize-en", TWO, "sentence:9", "there is no sentence 9"),
        ("summarize-en", FRANCE, "", "one sentence"),
    ],
)
def test_a_target_that_is_not_there_gets_one_sentence(name, prompt, target, says):
    with pytest.raises(AttnvizError, match=says) as caught:
        read(name, prompt, target)
    assert str(caught.value).count(". ") == 0


def test_a_name_that_is_none_gets_the_names_there_are():
    with pytest.raises(ModelError, match="frozen-gradient"):
        method_named("lime")
    with pytest.raises(ModelError, match="translation"):
        Target.of("meaning")


def test_a_head_that_the_output_does_not_ask_is_refused():
    with pytest.raises(ModelError, match="L9·H9"):
        method_named("head:encoder:9:9").compute(read("answer-en", LOVELACE))


@pytest.mark.parametrize(
    ("name", "prompt"),
    [("answer-en", LOVELACE), ("answer-en-dual", LOVELACE), ("summarize-en", TWO), ("minilm", LIKE),
     ("transformer-en-fr", FRANCE), ("bahdanau-en-fr", FRANCE), ("dot-lstm-en-fr", FRANCE), ("bilstm-en-fr", FRANCE)],
)  # fmt: skip
def test_every_way_gives_a_share_a_token_or_says_why_not(name, prompt):
    bound, refused = read(name, prompt), list[str]()
    for method in METHODS.values():
        try:
            got = method.compute(bound)
        except ModelError as error:
            refused.append(str(error))
            continue
        assert got.tokens == bound.tokens
        assert np.isfinite(got.values).all()
        assert got.values.any(), method.name
        assert method.signed or (got.values >= -1e-9).all(), method.name
    assert all(reason.endswith(".") and ". " not in reason for reason in refused)
    assert not refused or name != "answer-en"


def test_a_new_method_is_a_line_of_the_table_and_a_file(monkeypatch):
    """The file is a module of attnviz.attribution with a function; the line makes it known to everything else."""
    file: Any = ModuleType("attnviz.attribution.length")
    file.by_length = lambda bound: np.array([len(token.text) for token in bound.tokens], dtype=float)
    monkeypatch.setitem(sys.modules, "attnviz.attribution.length", file)
    monkeypatch.setitem(METHODS, "length", Method("length", "Length of the word", "length:by_length"))
    got = attribute(loaded("minilm"), LIKE, "length")
    assert got.method == "length"
    assert got.values.tolist() == [len(token.text) for token in got.tokens]
    report = attribution_report(loaded("minilm"), LIKE, "", ["length", "random"])
    titles = titles_of(report.figures)
    assert "Length of the word" in methods_table(report, titles, chosen="length")
    assert b"Length of the word" in sheet_svg(draw_attribution(report, "length", titles))


def test_the_table_names_functions_that_there_are_and_needs_no_torch():
    for method in METHODS.values():
        module, function = method.function.split(":")
        assert callable(getattr(importlib.import_module(f"attnviz.attribution.{module}"), function))
        assert method.name == "random" or method.paper.startswith("arXiv:")
    script = "import sys, attnviz.attribution.methods; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
