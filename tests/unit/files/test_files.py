"""A trace as a file: what comes out is what went in, and what was changed on the way is refused."""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as serialized

import attnviz
from attnviz.core.errors import ArgumentError, TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, QueryKeyWeights, Token
from attnviz.core.weights import QueryKeyLayer
from attnviz.files import trace_file
from attnviz.files.trace_file import describe, from_bytes, to_bytes
from tests.factories import assert_same, dot_product_map, make_map, pair, special, typed

SOURCE = (*typed("un|believ|able مرحبا 😀 a&b"), special("</s>"))
TARGET = typed("c'est incroyable <script>")
CORRUPTIONS = 1000


def full_trace() -> AttentionTrace:
    """One map of each kind: of queries and keys with all that may stand in a layer, of given weights, and across two texts."""
    size, generator = len(TARGET), np.random.default_rng(3)
    bias = generator.normal(size=(1, size, size)).astype(np.float32)
    visible = np.tri(size, k=1, dtype=bool)
    options = {"causal": True, "bias": bias, "visible": visible, "softcap": 1.5, "sink": generator.normal(size=6)}
    maps = (make_map(SOURCE), dot_product_map(TARGET, **options), make_map(TARGET, SOURCE, layers=3, heads=5))
    prompt = Prompt("unbelievable مرحبا 😀 a&b", pair='a "second"\nline', target="c'est incroyable <script>")
    return AttentionTrace("tiny/é", prompt, maps, "c'est incroyable <script>", 7, None, "abc123", (("torch", "2.10"),))


def plain_trace(tokens: int = 67, *, heads: int = 6, dim: int = 32, layers: int = 2, scale: float = 1.0) -> AttentionTrace:
    generator = np.random.default_rng(13)
    words = typed(" ".join(f"t{index}" for index in range(tokens)))
    stack = []
    for _ in range(layers):
        query, key = generator.normal(scale=scale, size=(2, heads, tokens, dim)).astype(np.float32)
        stack.append(QueryKeyLayer(query, key, dim**-0.5))
    return AttentionTrace("plain", Prompt("t0"), (AttentionMap("encoder", words, words, QueryKeyWeights(tuple(stack))),))


def test_an_exact_file_gives_the_very_same_bits(tmp_path: Path) -> None:
    trace = full_trace()
    path = attnviz.save(trace, tmp_path / "x.attn", exact=True)
    opened = attnviz.open(path)
    assert_same(opened, trace)
    assert opened.versions == (("torch", "2.10"),)


def test_a_file_stays_within_a_thousandth_and_opened_and_saved_again_the_same(tmp_path: Path) -> None:
    for trace in (full_trace(), plain_trace()):
        opened = attnviz.open(attnviz.save(trace, tmp_path / "x.attn"))
        assert_same(opened, trace, tolerance=1e-3)
        again = attnviz.open(attnviz.save(opened, tmp_path / "again.attn"))
        assert_same(again, opened)
        assert (tmp_path / "again.attn").read_bytes() == (tmp_path / "x.attn").read_bytes()


def test_a_file_opens_from_a_stream_and_is_the_same_each_time() -> None:
    trace = full_trace()
    assert to_bytes(trace) == to_bytes(full_trace())
    assert_same(attnviz.open(io.BytesIO(to_bytes(trace, exact=True))), trace)


def test_queries_and_keys_take_half_their_size_unless_a_weight_would_suffer(tmp_path: Path) -> None:
    def size(trace: AttentionTrace, **options: Any) -> float:
        vectors = sum(layer.query.nbytes + layer.key.nbytes for layer in trace.encoder.store.layers)
        return attnviz.save(trace, tmp_path / "x.attn", **options).stat().st_size / vectors

    usual, torn = plain_trace(), plain_trace(scale=20)
    assert size(usual) <= 0.6
    assert size(usual, exact=True) > 1
    # Scores in the hundreds: rounding a query decides which key wins.
    assert size(torn) > 1
    assert_same(attnviz.open(tmp_path / "x.attn"), torn)


def test_a_mask_that_layers_share_is_written_once() -> None:
    size = 211
    visible = np.tri(size, dtype=bool)
    attention = dot_product_map(typed(" ".join("w" * size)), layers=5, visible=visible)
    trace = AttentionTrace("m", Prompt("w"), (attention,))
    header, tensors = describe(trace, exact=True)
    assert [name for name in tensors if name.endswith("visible")] == ["decoder.0.visible"]
    assert {layer["visible"] for layer in header["maps"][0]["layers"]} == {"decoder.0.visible"}
    opened = from_bytes(to_bytes(trace, exact=True))
    assert_same(opened, trace)


def corrupted(data: bytes, generator: np.random.Generator) -> bytes:
    """The file with one thing wrong: a bit, a run of bytes, its end, or a piece of its header."""
    size = 8 + int.from_bytes(data[:8], "little")
    place, other = (int(place) for place in generator.integers(0, len(data), 2))
    changed = bytearray(data)
    match generator.integers(0, 6):
        case 0:
            changed[place] ^= 1 << int(generator.integers(0, 8))
        case 1:
            changed[place % size] ^= 1 << int(generator.integers(0, 8))
        case 2:
            del changed[place:]
        case 3:
            changed[place : place + 5] = generator.bytes(5)
        case 4:
            changed[place % size], changed[other % size] = changed[other % size], changed[place % size]
        case _:
            del changed[place % size]
    return bytes(changed)


def test_a_thousand_corruptions_are_refused() -> None:
    trace, generator = full_trace(), np.random.default_rng(2017)
    data, other = to_bytes(trace), to_bytes(plain_trace(11, heads=1, dim=5))
    size, other_size = (8 + int.from_bytes(each[:8], "little") for each in (data, other))
    swapped = [other[:other_size] + data[size:], data[:size] + other[other_size:], b"", data + b"\0", data[:8], data[8:]]
    wrong = [*swapped, *(corrupted(data, generator) for _ in range(CORRUPTIONS))]
    refused = 0
    for changed in wrong:
        if changed == data:
            continue  # two equal bytes were swapped
        with pytest.raises(TraceError):
            from_bytes(changed, name="x.attn")
        refused += 1
    assert refused > 0.97 * CORRUPTIONS


def edited(change: dict[str, Any], tensors: dict[str, np.ndarray] | None = None, trace: AttentionTrace | None = None) -> bytes:
    """A file that somebody else wrote: its checksum is right, what it says is not. Keys are paths such as "maps.0.kind"."""
    header, kept = describe(trace or full_trace(), exact=True)
    header = json.loads(json.dumps(header))
    for path, value in change.items():
        *above, last = path.split(".")
        place: Any = header
        for step in above:
            place = place[int(step) if step.isdecimal() else step]
        place[int(last) if last.isdecimal() else last] = value
    return trace_file.seal(header, {**kept, **(tensors or {})})


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("change", "message"), [
    ({"model": 7}, "not written as"), ({"prompt": None}, "not written as"), ({"prompt.text": " "}, "not written as"),
    ({"output": ["a"]}, "not written as"), ({"cut": "7"}, "not written as"), ({"versions": []}, "not written as"),
    ({"prompt": {}}, "'text' is missing"),
    ({"tokens.0.0.text": 1}, "not written as"), ({"tokens.0.0.start": True}, "not written as"),
    ({"tokens.0.0.start": -1}, "offsets"), ({"tokens.0.0.colour": "red"}, "not written as"), ({"tokens.0": []}, "no token"),
    ({"maps": []}, "at least one"), ({"maps.0.kind": "self"}, "not 'self'"), ({"maps.1.kind": "cross"}, "one map a kind"),
    ({"maps.0.queries": 1}, "query positions"), ({"maps.0.keys": 9}, "not written as"), ({"maps.0.layers": []}, "not written"),
    ({"maps.0.causal": True}, "later token"), ({"maps.0.layers.0.weights": "none"}, "not written as"),
    ({"maps.1.layers.0.scaling": "1"}, "not written as"), ({"maps.1.layers.0.scaling": 1e300}, "not finite"),
    ({"prompt.text": None}, "not written as"), ({"cut": 10**12}, "beyond"), ({"tokens.0.0.end": 10**400}, "beyond"),
    ({"maps.0.layers.1.weights": "encoder.0.weights"}, "Two layers name one tensor"),
    ({"maps.1.layers.1.key": "decoder.0.key"}, "Two layers name one tensor"),
    ({"maps.0.layers": [{"weights": "encoder.0.weights"}] * 4096}, "Two layers name one tensor"),
    ({"maps.1.layers.0.softcap": 0.0}, "soft cap"), ({"maps.1.layers.0.softcap": 1e308}, "soft cap"),
    ({"maps.1.layers.0.query": "decoder.0.sink"}, "dimensions"),
])  # fmt: skip
def test_what_cannot_be_is_refused_though_its_checksum_is_right(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        from_bytes(edited(change), name="x.attn")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("name", "array", "message"), [
    ("encoder.0.weights", np.full((3, 7, 7), 0.5, np.float32), "instead of 1"),
    ("encoder.0.weights", np.full((3, 7, 7), np.nan, np.float32), "not finite"),
    ("encoder.0.weights", np.full((3, 7, 7), 0.125, np.float16), "float16"),
    ("decoder.0.query", np.zeros((6, 3, 7), np.float32), "do not fit"),
    ("decoder.0.query", np.full((6, 3, 5), np.inf, np.float32), "not finite"),
    ("decoder.0.query", np.zeros((0, 3, 5), np.float32), "dimensions"),
    ("decoder.0.query_exponent", np.zeros((6, 1, 5), np.int8), "float32"),
    ("decoder.0.visible", np.ones((2, 2), bool), "mask"),
    ("decoder.0.bias", np.full((1, 3, 3), np.inf, np.float32), "not finite"),
])  # fmt: skip
def test_tensors_that_cannot_be_are_refused(name: str, array: np.ndarray, message: str) -> None:
    assert len(SOURCE) == 7
    with pytest.raises(TraceError, match=message):
        from_bytes(edited({}, {name: array}), name="x.attn")


def test_a_whole_number_is_a_number_where_the_format_says_so() -> None:
    """JavaScript writes a scaling of 1.0 as 1."""
    (layer, *_) = from_bytes(edited({"maps.1.layers.0.scaling": 1, "maps.1.layers.0.softcap": 50})).decoder.store.layers
    assert (repr(layer.scaling), repr(layer.softcap)) == ("1.0", "50.0")


def test_half_a_character_in_a_file_is_refused_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing could show it, print it or save it again. A file can only have it escaped."""
    monkeypatch.setattr(trace_file.json, "dumps", lambda value, **_: plainly(value))
    plainly = json.JSONEncoder().encode
    for place in ("model", "output", "revision", "prompt.text", "tokens.0.0.text", "versions.torch"):
        with pytest.raises(TraceError, match=r"half of a character|whole characters"):
            from_bytes(edited({place: chr(0xD83D)}))


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3"])
def test_numbers_of_a_type_that_no_trace_has_are_refused(dtype: str) -> None:
    data = to_bytes(full_trace(), exact=True)
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + size])
    width = {"BF16": 2, "F8_E4M3": 1}[dtype]
    end = max(each["data_offsets"][1] for name, each in head.items() if name != "__metadata__")
    head["extra"] = {"dtype": dtype, "shape": [1], "data_offsets": [end, end + width]}
    text = json.dumps(head, ensure_ascii=False).replace(
        digits := json.loads(head["__metadata__"]["attnviz"])["sha256"], "0" * 64
    )
    assert digits not in text
    changed = len(text.encode()).to_bytes(8, "little") + text.encode() + data[8 + size :] + bytes(width)
    sealed = changed.replace(b"0" * 64, hashlib.sha256(changed).hexdigest().encode(), 1)
    with pytest.raises(TraceError, match=r"of a type that no trace has|not written as|no trace that could be true"):
        from_bytes(sealed)


def test_a_bias_that_layers_share_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[tuple[int, ...]] = []
    finite = np.isfinite
    monkeypatch.setattr("attnviz.core.weights.np.isfinite", lambda array: (checked.append(array.shape), finite(array))[1])
    dot_product_map(typed("a b c"), layers=13, bias=np.zeros((1, 3, 3), np.float32))
    assert checked.count((1, 3, 3)) == 1


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("given", [None, b"x.attn", ["x.attn"], 1.5, 3, io.StringIO("x")], ids=lambda it: type(it).__name__)
def test_what_is_neither_a_path_nor_a_file_is_told(given: Any) -> None:
    with pytest.raises(ArgumentError, match="open takes the path of a trace file"):
        attnviz.open(given)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("given", [None, 3])
def test_a_trace_is_saved_under_a_path_alone(given: Any) -> None:
    with pytest.raises(ArgumentError, match="save takes the path of the file to write, not"):
        attnviz.save(full_trace(), given)


@pytest.mark.parametrize("path", ["a\0b", chr(0xD83D)], ids=["NUL", "surrogate"])
def test_what_can_be_no_path_is_told(path: str) -> None:
    with pytest.raises(TraceError, match="cannot be the path of a file"):
        attnviz.open(path)
    with pytest.raises(TraceError, match="cannot be the path of a file"):
        attnviz.save(full_trace(), path)


def test_each_way_of_being_no_trace_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = to_bytes(full_trace())
    picture, other, cut, newer = (tmp_path / name for name in ("x.png", "other.safetensors", "cut.attn", "newer.attn"))
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    other.write_bytes(serialized({"a": np.zeros(3)}))
    cut.write_bytes(data[: len(data) // 40])
    monkeypatch.setattr(trace_file, "PLAIN", 3)
    newer.write_bytes(to_bytes(full_trace()))
    monkeypatch.undo()
    for path, message in (
        (picture, r"x\.png is no trace file"), (other, "no header that attnviz wrote"), (cut, r"cut\.attn is cut short"),
        (newer, r"saved by a newer attnviz \(format 3"), (tmp_path / "none.attn", "There is no file"),
        (tmp_path, "cannot be read"),
    ):  # fmt: skip
        with pytest.raises(TraceError, match=message):
            attnviz.open(path)
    with pytest.raises(TraceError, match="cannot be written"):
        attnviz.save(full_trace(), tmp_path / "no" / "folder.attn")


def test_a_deeply_nested_header_is_refused() -> None:
    nested = serialized({"a": np.zeros(1, np.float32)}, {trace_file.KEY: "[" * 100_000})
    with pytest.raises(TraceError, match="no header"):
        from_bytes(nested)


def test_the_versions_written_are_those_installed() -> None:
    header, _ = describe(AttentionTrace("m", Prompt("a"), (make_map(typed("a b")),)), exact=False)
    assert header["versions"]["attnviz"] == attnviz.__version__
    assert set(header["versions"]) == {"attnviz", "torch", "transformers"}


def test_the_header_is_what_the_documentation_says() -> None:
    """The example of docs/file-format.md, read by nothing but the standard library."""
    data = to_bytes(AttentionTrace("m", Prompt("a b"), (make_map(pair("a", "b"), layers=1, heads=1),)))
    size = int.from_bytes(data[:8], "little")
    outer = json.loads(data[8 : 8 + size])
    header = json.loads(outer["__metadata__"]["attnviz"])
    assert header["format"] == 1
    assert header["tokens"][0][1] == {"text": "a", "start": 0, "end": 1, "word": 0}
    assert header["maps"] == [
        {"kind": "encoder", "causal": False, "queries": 0, "keys": 0, "layers": [{"weights": "encoder.0.weights"}]}
    ]
    assert outer["encoder.0.weights"] == {"dtype": "F32", "shape": [1, 5, 5], "data_offsets": [0, 100]}
    documented = (Path(__file__).parents[3] / "docs" / "file-format.md").read_text(encoding="utf-8")
    for name in (*header, *header["maps"][0], *Token.__dataclass_fields__, "scaling", "softcap", "visible", "bias", "sink"):
        assert f"`{name}`" in documented, name
    assert os.path.basename(documented.split("\n")[0]) == "# The trace file"


def test_a_device_without_an_end_is_not_read_to_it():
    with pytest.raises(TraceError, match="zero is no trace file"):
        attnviz.open("/dev/zero")
