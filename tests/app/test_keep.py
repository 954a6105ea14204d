"""Download, without a browser: nothing is computed before it is asked for, files are what is shown, opened files are shown."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import plotly.graph_objects as go
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis.head_view import View, head_matrix
from attnviz.analysis.translation_alignment import Reading, read_as
from attnviz.attribution.quantity_maps import in_quantity, run
from attnviz.cli import main
from attnviz.core.trace import Prompt
from attnviz.core.weights import Quantity
from attnviz.export import FORMATS, Format, Picture
from attnviz.export.picture import lines
from attnviz.figures.html import label
from attnviz.files.trace_file import to_bytes
from attnviz.models.base import GREEDY, DecodingOptions
from attnviz.models.tasks import run_task
from attnviz.ui import download as opened
from attnviz.ui import download as taking
from attnviz.ui.address.address_sync import Going
from attnviz.ui.translate import AlignmentView, alignment_download
from tests.factories import make_map, numbered
from tests.tiny import first_now
from tests.translators import tiny_translator

PAGE = "encode"
PATIENCE = 60


class Upload(io.BytesIO):
    """A file as the browser sends it."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name, self.size = name, len(data)


class Session(dict):
    """What a visit holds, by item and by attribute."""

    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


def given(monkeypatch: pytest.MonkeyPatch, data: bytes, name: str = "x.attn") -> dict[str, object]:
    """What the session holds after a person has chosen that file."""
    held = Session(trace_file=Upload(data, name), address={})
    monkeypatch.setattr(st, "session_state", held)
    monkeypatch.setattr(st, "file_uploader", lambda _, *, on_change, **more: on_change())
    opened.file_box()
    return held


def test_a_closed_box_computes_nothing(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(taking, "_downloads", asked.append)
    app.run()
    assert not app.exception
    assert asked == []


def test_a_file_is_shown_until_another_text_is_asked_for(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = attnviz.from_weights(make_map(numbered(5)).layer_weights(0), [f"w{index}" for index in range(5)], model="mine/own")
    with monkeypatch.context() as patched:
        held = given(patched, to_bytes(trace), "<b>x.attn")
    app.session_state["opened"] = held["opened"]
    going = held["going"]
    assert isinstance(going, Going)
    app.query_params.update({name: values[0] for name, values in parse_qs(going.query, strict_parsing=True).items()})
    app.run()
    assert not app.exception
    message = " ".join(each.proto.body for each in app.get("html"))
    assert "Opened from &lt;b&gt;x.attn" in message
    assert "attnviz 0." in message
    assert app.text_area(key="typed").value == "w0 w1 w2 w3 w4"
    assert app.selectbox(key="model").value == "mine/own"
    assert not app.error
    app.selectbox(key="model").set_value("minilm").run()
    assert "opened" not in app.session_state
    assert not app.exception


@pytest.mark.parametrize(
    "data", [b"", b"nonsense", to_bytes(attnviz.from_weights([[1.0]], ["a"]))[:-1]], ids=["empty", "other", "cut"]
)
def test_a_file_that_is_no_trace_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    held = given(monkeypatch, data)
    assert str(held["trace_file_refused"]).startswith("x.attn is")
    assert "opened" not in held


def test_a_file_that_is_too_large_to_look_at_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "MOST_TOKENS", 4)
    held = given(monkeypatch, to_bytes(attnviz.from_weights(np.eye(5), ["a"] * 5)))
    assert "5 tokens" in str(held["trace_file_refused"])
    assert "opened" not in held


def test_a_new_format_is_one_line_and_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, app: AppTest) -> None:
    (tmp_path / "counted.py").write_text("def write(pictures):\n    return f'{len(pictures)} heads'.encode()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(FORMATS, "txt", Format("counted:write", "text/plain", "numbers"))
    file = attnviz.save(attnviz.from_weights([[[1.0]], [[1.0]]], ["a"]), tmp_path / "x.attn")
    assert main(["show", str(file), "-o", str(tmp_path / "x.txt")]) == 0
    assert (tmp_path / "x.txt").read_bytes() == b"2 heads"
    app.session_state["keep"] = True
    app.run()
    assert [each.label for each in app.get("download_button") if each.label == "TXT"] == ["TXT"]


def test_the_python_of_a_translation_asks_for_what_was_wished(tmp_path: Path) -> None:
    model = attnviz.load(str(tiny_translator(tmp_path / "tiny", "transformer")))
    plain = run_task(model, "translate", Prompt("It's.", target="C'est."))
    made = """av.load('m').trace(av.Prompt("It's.", target="C'est."))"""
    assert taking.source_of(replace(plain, name="m")).made == made
    wished = run_task(model, "translate", Prompt("a"), options=DecodingOptions(2, 0.5, candidate=1))
    assert taking.source_of(replace(wished, name="m")).made.startswith(
        "draft(av.load('m'), av.Prompt('a'), DecodingOptions(width=2, length_penalty=0.5, begins=(), candidate=1))"
    )


@pytest.mark.parametrize("options", first_now([DecodingOptions(2, candidate=1), GREEDY]), ids=["beam", "greedy"])
def test_the_python_of_a_naive_reading_names_rows_as_the_page_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: DecodingOptions
) -> None:
    folder = str(tiny_translator(tmp_path / "tiny", "transformer"))
    actual = replace(run_task(attnviz.load(folder), "translate", Prompt("The red car."), options=options), name=folder)
    attention = read_as(actual.trace.cross, actual.draft.written, "naive")
    matrix = head_matrix(attention, layer=1, head=None, view=View(words=True))
    shown = Picture(actual.trace, "cross", 1, None, matrix, View(words=True))
    figures: list[go.Figure] = []
    monkeypatch.setattr(go.Figure, "show", lambda figure: figures.append(figure))
    exec(lines(shown, taking.source_of(actual, naive=True)), {})
    drawn = figures[0]
    np.testing.assert_array_equal(np.array(drawn.data[0].z), matrix.weights)
    assert list(drawn.layout.yaxis.tickvals) == list(range(len(matrix.queries)))
    assert list(drawn.layout.yaxis.ticktext) == [label(token) for token in matrix.queries]


@pytest.mark.gate
@pytest.mark.parametrize("quantity", ["norms", "mixing"])
@pytest.mark.parametrize("reading", ["shifted", "naive"])
def test_the_python_of_a_translation_in_another_quantity_draws_the_numbers_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quantity: Quantity, reading: Reading
) -> None:
    folder, options = str(tiny_translator(tmp_path / "tiny", "transformer")), DecodingOptions(2, candidate=1)
    plain = run(attnviz.load(folder), "translate", Prompt("The red car."), options=options)
    shown = replace(in_quantity(attnviz.load(folder), plain, quantity), name=folder)
    view = AlignmentView(1, 1, View(words=True), True, reading, "Off", 0.0)
    download = alignment_download(shown, view)
    figures: list[Any] = []
    monkeypatch.setattr(go.Figure, "show", lambda figure: figures.append(figure))
    exec(lines(download.picture(), download.source), {})
    numbers = view.alignment(shown).weights
    np.testing.assert_array_equal(np.array(figures[0].data[0].z), numbers)
    assert not np.array_equal(numbers, view.alignment(plain).weights)
