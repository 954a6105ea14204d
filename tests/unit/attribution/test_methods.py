"""Each way against the same thing computed another way: by hand in NumPy, by networkx, or by running the model once more."""

import importlib
import subprocess
import sys
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import attnviz
from attnviz.attribution import attention_methods, gradients, token_removal
from attnviz.attribution import attention_methods as attention
from attnviz.attribution.methods import METHODS, Method, attribute, method_named, titles_of
from attnviz.attribution.token_removal import attribution_report
from attnviz.core.errors import AttnvizError, ModelError, PromptError
from attnviz.core.trace import Prompt
from attnviz.export.matters_report import draw_attribution
from attnviz.export.svg_png_pdf import sheet_svg
from attnviz.figures.matters_text import methods_table
from attnviz.models.base import DecodingOptions
from attnviz.models.capabilities import bind_target
from attnviz.models.targets import BoundTarget, Target
from attnviz.models.tasks import draft
from tests.tiny import first_now

LIKE = Prompt("A man plays the guitar.", pair="Somebody makes music.")
LOVELACE = Prompt("Ada Lovelace wrote the first program in 1843.", question="Who wrote the first program?")
# Some methods take a pass for every token.
WROTE = Prompt("Ada wrote it.", question="Who wrote it?")
TWO = Prompt("He has been to France. It rained there all day.")
FRANCE = Prompt("He has been to France.")
# Those that can say against an output.
SIGNED = ("frozen-gradient", "gradient-input", "integrated-gradients", "leave-one-out")
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
    # Each of two texts is looked at from its own states, however long it is.
    sides = [loaded("minilm").trace(text).encoder.layer_weights(5).mean(axis=(0, 1)) / 2 for text in (LIKE.text, LIKE.pair)]
    np.testing.assert_allclose(attention.last_layer(read("minilm", LIKE)), np.concatenate(sides), atol=1e-6)


@pytest.mark.parametrize(("name", "prompt"), [("answer-en", LOVELACE), ("transformer-en-fr", FRANCE)])
def test_what_positions_are_made_of_sums_to_what_they_are(name, prompt):
    bound = read(name, prompt)
    for step, place in zip(attention.recorded(bound), bound.sites, strict=True):
        mixed = sum(parts.sum(dim=1) for _, parts in attention_methods._parts(step))
        placed, stream = step.residual()
        assert placed == ("before" if name == "transformer-en-fr" or place.kind == "cross" else "after")
        assert stream is not None
        assert step.mixed is not None
        # W_O's bias belongs to no token.
        bias = step.mixed[0] - mixed
        torch.testing.assert_close(bias, bias[:1].expand_as(bias), atol=1e-4, rtol=1e-4)


def test_a_layer_changes_a_token_less_than_its_weights_say():
    layers = attention.recorded(read("answer-en", LOVELACE))[:6]
    ratios = [attention_methods.composition(layer, of_itself=True).mixing.mean() for layer in layers]
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


def test_a_text_is_a_prompt(unchecked):
    model = loaded("transformer-en-fr")
    text, prompt = attribute(model, FRANCE.text, "gradient-norm"), attribute(model, Prompt(FRANCE.text), "gradient-norm")
    assert text.values.tolist() == prompt.values.tolist()
    assert draft(model, FRANCE.text, DecodingOptions()).trace.output == draft(model, FRANCE, DecodingOptions()).trace.output
    with pytest.raises(PromptError, match="a str or a Prompt, not int 5"):
        attribute(model, 5)


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
    first_now(
        [("bahdanau-en-fr", Prompt("It ran.")), ("answer-en", WROTE), ("answer-en-dual", WROTE),
         ("summarize-en", Prompt("He ran. It rained.")), ("minilm", Prompt("He ran.", pair="It ran.")),
         ("transformer-en-fr", Prompt("It ran."))]),
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
        assert method.name in SIGNED or (got.values >= -1e-9).all(), method.name
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
