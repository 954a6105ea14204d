"""Hostile cases out of a seed: addresses with texts in them, trace files whose checksums are right, toy models, folders.

Case `number` of `seed` is always the same, so a failure is told by two numbers. Every case must end in a page, or in one
sentence: `run_address`, `run_trace`, `run_toy` and `run_folder` say what else became of it.
"""

import base64
import copy
import json
import logging
import math
import random
import shutil
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from safetensors.numpy import load, save
from streamlit.testing.v1 import AppTest

from attnviz.analysis.head_view import head_matrix
from attnviz.analysis.wording import describe_head
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.files.trace_file import digest, from_bytes, to_bytes
from attnviz.models import catalog
from attnviz.models.toy_config import PRESETS
from attnviz.pages_and_addresses import PARAMETERS, pack
from attnviz.training import toy_training as toy
from attnviz.ui.address import address_sync
from attnviz.ui.background.jobs import Job
from tests import tiny
from tests.factories import dot_product_map, make_map, sentence, typed

FAMILIES = ("bert", "gpt2", "marian", "t5", "distilbert", "llama")
FILES = ("config.json", "config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
PAGES = Path(__file__).parents[1] / "pages"
ADDRESSED = sorted(PARAMETERS.keys() - {"home"})
KINDS = ("address", "trace", "toy", "folder")
# Wall clock that no case may take, where nothing else runs on the machine.
PATIENCE_SECONDS = 5.0
NAMES = sorted({name for names in PARAMETERS.values() for name in names} | {"", "embed", "kept"})
_TEXTS = ("text", "pair", "question", "passage", "target", "reference", "tokens")
_ODD = (
    "", " ", "0", "-1", "1", "7", "99999", "9" * 4301, "1e400", "inf", "nan", "-0.0", "1.5", "0x10", "²", "١", "true",
    "false", "on", "None", "null", "\x00", "\ufffe", "\u202eabc", "\ud800", "~x", "~z~", "~z~AAAA",
    "~z~c1RITixReLugQaE4sUQPAA", "a" * 256, "😀" * 99, "e\u0301" * 300, "../../etc/passwd", "/", ".", "minilm",
    "answer-en", "answer-en-dual", "transformer-en-fr", "bahdanau-en-fr", "summarize-en", "encoder", "decoder", "cross",
    "head", "grid", "matrix", "BertViz", "open", "model", "worked", "1,1,1", "0:1", "![x](http://evil.example/p.png)",
    "<script>", "$x$", ":red[x]", "%s%n", "{0.__class__}", "1;2|3", "L0·H0",
    "L0·H0: any -> previous", "any: /(a+)+$/ -> head", "0.1.2", "e3.1z", "e0.2z,e3.1c2.1,ek1", "e99.0w0.0=7",
    "▁le ▁chat", "The cat sat. " * 40,
    "hi" + "s" * 60, "a b " * 300, "\u200b\u200d\ufeff", "\r\n\t", "'\"`\\", "中文测试", "مرحبا بالعالم",
)  # fmt: skip
_WEIRD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 1e308, float("nan"), float("inf"), "", "x", "\ud800", "\x00",
    "F8_E4M3", [], {}, [[]], [None], {"x": {}}, ["a"] * 99, "9" * 99,
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One thing that a hostile visitor might bring."""

    seed: int
    number: int
    kind: str

    @property
    def draw(self) -> random.Random:
        return random.Random(f"{self.seed}/{self.number}/{self.kind}")

    def __str__(self) -> str:
        return f"{self.kind} {self.seed}/{self.number}"


def text(draw: random.Random) -> str:
    """A text that nobody would type: odd pieces in a row, or characters from anywhere in Unicode."""
    if draw.random() < 0.6:
        return draw.choice((" ", "", ". ")).join(draw.choices(_ODD, k=draw.randint(1, 6)))
    return "".join(
        chr(draw.choice((draw.randrange(0x80), draw.randrange(0x3000), draw.randrange(0x110000)))) for _ in range(60)
    )


def value(draw: random.Random) -> str:
    """What may stand in a query parameter; at times packed, or packed by somebody who does not know how."""
    given = draw.choice(_ODD) if draw.random() < 0.7 else text(draw)
    match draw.randrange(12):
        case 0:
            return pack(given.encode("utf-8", "replace").decode() * 9)
        case 1:
            data = zlib.compress(given.encode("utf-8", "surrogatepass"), wbits=-15)[: draw.randint(1, 99)]
            return "~z~" + base64.urlsafe_b64encode(data).decode()
    return given


def address(case: Case) -> tuple[str, dict[str, str | list[str]]]:
    """A page and its query parameters."""
    draw = case.draw
    page = draw.choice(ADDRESSED)
    # Some are parameters of the page itself, others of any page.
    known = draw.choice((NAMES, sorted(PARAMETERS[page])))
    names = draw.sample(known, min(draw.randint(1, 9), len(known))) + draw.sample(_TEXTS, 1)
    given: dict[str, str | list[str]] = {name: value(draw) for name in names}
    if "models" in given and draw.random() < 0.5:
        given["models"] = [value(draw) for _ in range(draw.randint(1, 6))]
    if page == "compute":
        given.setdefault("source", "model")
    if page == "heads" and not str(given.get("sentences", "")).strip():
        # A claim over the treebank takes longer than anybody's patience, and says so.
        given["sentences"] = "The cat sat on the mat.\nIt ran."
    return page, given


def run_address(case: Case, *, patience: float = PATIENCE_SECONDS) -> str:
    """What went wrong on the page of an address; empty where nothing did."""
    page, query = address(case)
    query = sendable(query)
    app = AppTest.from_file(str(PAGES / f"{page}.py"), default_timeout=max(120.0, 4 * patience))
    app.query_params = query
    with logged() as records, _signs_of_life() as moments:
        problem = _timed(app.run, math.inf)
        if not problem and (seconds := max(np.diff(moments), default=0.0)) > patience:
            problem = f"it was silent for {seconds:.1f} s"
    if app.exception:
        problem = f"an exception on the page: {app.exception[0].message} {app.exception[0].stack_trace[-3:]}"
    return f"{problem}{''.join(records)} at {page} {str(query)[:1500]}" if problem or records else ""


@contextmanager
def _signs_of_life() -> Iterator[list[float]]:
    """When the page began, each time its progress moved, and when it had all its controls and its address.

    What a page asks after that, such as the slow ways of Matters, comes while everything can be used.
    """
    moments = [time.monotonic()]
    is_whole = False
    finish, reported = address_sync.finish, Job._report

    def finished() -> None:
        nonlocal is_whole
        noted()
        is_whole = True
        finish()

    def moved(job: Job[Any], stage: str, fraction: float | None) -> None:
        if (stage, fraction) != (job._stage, job._fraction):
            noted()
        reported(job, stage, fraction)

    def noted() -> None:
        if not is_whole:
            moments.append(time.monotonic())

    with mock.patch.object(address_sync, "finish", finished), mock.patch.object(Job, "_report", moved):
        yield moments
        noted()


def sendable(query: dict[str, str | list[str]]) -> dict[str, str | list[str]]:
    """The query parameters as a browser can send them: no lone surrogate, but within a packed text."""

    def text(given: str) -> str:
        return given.encode("utf-8", "replace").decode()

    return {name: text(given) if isinstance(given, str) else [text(each) for each in given] for name, given in query.items()}


@contextmanager
def logged() -> Iterator[list[str]]:
    """What is logged as an error meanwhile, with its traceback."""
    records: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            wording = "".join(traceback.format_exception(*record.exc_info)[-3:]) if record.exc_info else ""
            records.append(f" logged: {record.getMessage()[-300:]} {wording}")

    handler = Keep(logging.ERROR)
    loggers = [logging.getLogger(), logging.getLogger("streamlit")]
    for each in loggers:
        each.addHandler(handler)
    try:
        yield records
    finally:
        for each in loggers:
            each.removeHandler(handler)


def _timed(run: Callable[[], Any], patience: float) -> str:
    """What went wrong: another error than ours, or that it took too long."""
    started = time.monotonic()
    try:
        run()
    except AttnvizError as error:
        if not str(error) or len(str(error)) > 2_000 or "Traceback" in str(error):
            return f"its error is no sentence: {str(error)[:300]}"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:200]} in {where.filename}:{where.lineno}"
    seconds = time.monotonic() - started
    return f"it took {seconds:.1f} s" if seconds > patience else ""


@cache
def _traces() -> tuple[bytes, ...]:
    tokens = sentence("un|believ|able cat 😀")
    maps = (
        make_map(tokens),
        dot_product_map(typed("a b c d"), causal=True, visible=np.tri(4, dtype=bool), softcap=1.5, sink=np.zeros(6)),
        make_map(typed("le chat"), tokens, layers=3, heads=5),
    )
    whole = AttentionTrace(
        "m", Prompt("unbelievable cat 😀", pair="b", target="le chat"), maps, "le chat", 7, None, "r", (("t", "1"),)
    )
    return to_bytes(whole), to_bytes(AttentionTrace("m", Prompt("a"), maps[:1]), exact=True)


def trace_file(case: Case) -> bytes:
    """A trace file with one or a few things changed, and a checksum that fits what is in it now."""
    draw = case.draw
    data = draw.choice(_traces())
    size = 8 + int.from_bytes(data[:8], "little")
    outside = json.loads(data[8:size])
    header, body = json.loads(outside["__metadata__"]["attnviz"]), bytearray(data[size:])
    for _ in range(draw.randint(1, 3)):
        match draw.randrange(4):
            case 0 | 1:
                change(header, draw)
            case 2:
                body = _overwritten(body, draw)
            case _:
                change(outside, draw)
    return _sealed(outside, header, bytes(body), draw)


def _overwritten(body: bytearray, draw: random.Random) -> bytearray:
    """Other numbers in the tensors: not finite, denormal, huge, or fewer."""
    at = draw.randrange(len(body) + 1)
    run = draw.choice((b"\xff" * 8, b"\x00" * 64, b"\x00\x00\xc0\x7f", b"\x00\x7c", b"\x01\x00\x00\x00", draw.randbytes(16)))
    return body[:at] if draw.random() < 0.1 else body[:at] + run + body[at + len(run) :]


def _sealed(outside: Any, header: Any, body: bytes, draw: random.Random) -> bytes:
    zeros = "0" * 64
    if isinstance(header, dict) and "sha256" in header:
        header["sha256"] = zeros
    if isinstance(outside, dict) and isinstance(outside.get("__metadata__"), dict):
        outside["__metadata__"]["attnviz"] = json.dumps(header, ensure_ascii=draw.random() < 0.5)
    top = json.dumps(outside).encode("utf-8", "surrogatepass")
    data = len(top).to_bytes(8, "little") + top + body
    return data.replace(zeros.encode(), digest(data, 8 + len(top), zeros).encode() or zeros.encode(), 1)


def change(given: Any, draw: random.Random) -> None:
    """Changes one thing somewhere in what JSON can hold: another value, another name, gone, or there twice."""
    while isinstance(given, dict | list) and given:
        keys = list(given) if isinstance(given, dict) else list(range(len(given)))
        key = draw.choice(keys)
        if isinstance(given[key], dict | list) and given[key] and draw.random() < 0.85:
            given = given[key]
            continue
        match draw.randrange(6):
            case 0:
                del given[key]
            case 1 if isinstance(given, dict):
                given[draw.choice(("x", "shape", "data_offsets", "dtype", "kind"))] = given.pop(key)
            case 1 | 2 if isinstance(given, list):
                given.append(copy.deepcopy(given[key]))
            case _:
                given[key] = copy.deepcopy(draw.choice(_WEIRD))
        return


def run_trace(case: Case, *, patience: float = PATIENCE_SECONDS) -> str:
    """What went wrong with a trace file that is opened, looked at and saved again; empty where nothing did."""
    data = trace_file(case)

    def look() -> None:
        trace = from_bytes(data, name="x.attn")
        for attention in trace.maps:
            describe_head(head_matrix(attention, layer=attention.n_layers - 1, head=0))
        to_bytes(trace)

    problem = _timed(look, patience)
    return f"{problem} at {case}" if problem else ""


@cache
def _toys() -> tuple[bytes, ...]:
    shortest = [preset.recipe for preset in PRESETS[:2]]
    trainings = [toy.Training(recipe) for recipe in shortest]
    return tuple(toy.to_file(each.recipe, each.look()) for each in trainings)


def toy_file(case: Case) -> bytes:
    """A file of a toy model with its facts or its weights changed."""
    draw = case.draw
    data = draw.choice(_toys())
    size = 8 + int.from_bytes(data[:8], "little")
    tensors, facts = load(data), json.loads(data[8:size])["__metadata__"]
    for _ in range(draw.randint(1, 3)):
        name = draw.choice(list(tensors))
        match draw.randrange(6):
            case 0:
                tensors[name] = tensors[name] * np.float32(draw.choice((np.nan, np.inf, 1e30, 0)))
            case 1:
                tensors[name] = tensors[name].astype(draw.choice((np.float16, np.float64, np.int8, np.bool_)))
            case 2:
                tensors[name] = tensors[name][:-1]
            case 3:
                key = draw.choice(list(facts))
                inside = _parsed(facts[key])
                change(inside, draw)
                facts[key] = json.dumps(inside)
            case 4:
                facts[draw.choice(list(facts))] = draw.choice(("", "null", "[]", "{}", "[" * 5000, "nan", "\x00"))
            case _:
                tensors[draw.choice(("x", "output.weight"))] = tensors.pop(name)
    return save(tensors, facts)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}


def run_toy(case: Case, *, patience: float = PATIENCE_SECONDS) -> str:
    """What went wrong with a file of a toy model that is opened and looked at; empty where nothing did."""
    data = toy_file(case)
    problem = _timed(lambda: toy.from_file(data, "x.safetensors").look(), patience)
    return f"{problem} at {case}" if problem else ""


def save_folder(case: Case, folder: Path, made: Path) -> None:
    """A model's folder with its configuration, its tokenizer or its weights changed; `made` keeps what it is changed from."""
    draw = case.draw
    family = tiny.FAMILY[draw.choice(FAMILIES)]
    if not (made / family.name).is_dir():
        family.save(made / family.name)
    shutil.copytree(made / family.name, folder)
    for _ in range(draw.randint(1, 2)):
        path = folder / draw.choice(FILES)
        if not path.is_file():
            continue
        if path.suffix == ".json":
            facts = _parsed(path.read_text(encoding="utf-8"))
            change(facts, draw)
            path.write_text(json.dumps(facts), encoding="utf-8")
        else:
            data = path.read_bytes()
            at = draw.randrange(len(data))
            path.write_bytes(data[:at] + draw.randbytes(9) + data[at + 9 :])


def run_folder(case: Case, folder: Path, made: Path, *, patience: float = PATIENCE_SECONDS) -> str:
    """What went wrong with a model's folder that is loaded and traced; empty where nothing did."""
    save_folder(case, folder, made)
    problem = _timed(lambda: catalog.load(str(folder)).trace(Prompt("The cat sat on the mat.")), patience)
    shutil.rmtree(folder)
    return f"{problem} at {case}" if problem else ""
