"""What a browser draws and says of a map, made in Node, against the app's own overview, heads, sentences and table."""

import base64
import dataclasses
import io
import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from attnviz.analysis.head_ranking import WordLinks, first_cell, first_link
from attnviz.analysis.head_view import View, head_matrix
from attnviz.analysis.translation_alignment import describe_alignment
from attnviz.analysis.wording import describe_head, describe_hidden, describe_link, head_name
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt
from attnviz.export import Picture, export
from attnviz.figures.explorer.exported_file import themes
from attnviz.figures.explorer.overview import chunk_name, codes_of, decimals_of, overview, unpack_chunks
from attnviz.figures.html import sentence_parts
from attnviz.live.graphs.models import exportable
from attnviz.live.pictures import picture_pages, pictures, shown_result
from attnviz.models.base import AttentionModel
from tests.factories import HOSTILE, make_map, numbered, pair, sentence, special, typed
from tests.javascript import run

# As the script of a page has it.
THEME = json.loads(themes().partition("=")[2].rstrip("; \n"))["light"]
RUNNER = Path(__file__).with_name("picture.js")
VIEWS = (View(), View(words=True), View(hide_special=True), View(words=True, hide_special=True))
# As in picture.js: the head that was chosen, the word that looks and the one that is looked at, by positions in the map.
QUESTIONS: tuple[tuple[Any, int | None, int | None], ...] = (
    (None, None, None), ((0, 0), None, None), ((0, None), None, None), (None, 2, None), (None, 2, 1), ((0, 0), 1, 2),
)  # fmt: skip
# Rounded to three digits, a mean that another order of summing makes may be the next number.
MEASURES = {"entropy": 0.0011, "diagonal": 0.00011, "distance": 0.0011}


def made_by_the_site(cases: Sequence[tuple[AttentionMap, View]]) -> list[dict[str, Any]]:
    """Overviews, heads and sentences of maps under views, as the site makes them."""
    return run(RUNNER, [_case(attention, view) for attention, view in cases])


def _case(attention: AttentionMap, view: View) -> dict[str, Any]:
    weights = np.stack([attention.layer_weights(layer) for layer in range(attention.n_layers)])
    tokens = {name: [dataclasses.asdict(each) for each in getattr(attention, name)] for name in ("queries", "keys")}
    shape = {"layers": attention.n_layers, "heads": attention.n_heads, "kind": attention.kind, "causal": attention.causal}
    data = {"weights": base64.b64encode(weights.astype("<f4").tobytes()).decode()}
    return {"map": {**tokens, **shape, **data}, "view": {"words": view.words, "hideSpecial": view.hide_special}, "theme": THEME}


def assert_same(made: dict[str, Any], attention: AttentionMap, view: View) -> None:
    """Hold what a browser made against what the app makes."""
    try:
        wanted = overview(attention, view=view)
    except TraceError:
        assert made["overview"] is None
        return
    header, chunks = unpack_chunks(wanted.data)
    for name in ("kind", "layers", "heads", "rows", "columns", "queries", "keys", "own", "direction", "signed", "at"):
        assert made["overview"][name] == header[name]
    for note, expected in zip(made["overview"]["notes"], header["notes"], strict=True):
        _assert_same_note(note, expected)
    thumbs = np.frombuffer(zlib.decompress(chunks["thumbs"]), np.uint8)
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(made["thumbs"]), np.uint8), thumbs)
    places = [(layer, head) for layer in range(attention.n_layers) for head in (*range(attention.n_heads), None)]
    for (layer, head), told, opens in zip(places, made["told"], made["opens"], strict=True):
        matrix = head_matrix(attention, layer=layer, head=head, view=view)
        decimals = decimals_of(matrix)
        chunk = base64.b64decode(made["heads"][chunk_name(layer, head)])
        low, high = np.frombuffer(chunk[1:], np.uint8).reshape(2, -1)
        assert chunk[0] == decimals
        codes = codes_of(matrix.weights, matrix.visible, decimals)
        np.testing.assert_array_equal(low + 256 * high.astype(np.uint16), codes.ravel())
        cell = first_cell(matrix)
        # Of weights that are equal in the digits that are drawn, the explorer opens the first.
        assert codes[tuple(opens)] == codes[cell]
        link = describe_link(matrix, head_name(layer, head), cell)
        assert told["sentences"] == [sentence_parts(each) for each in (link, describe_head(matrix))]
        assert told["hidden"] == describe_hidden(matrix, renormalized=False)
        assert told["alignment"] == sentence_parts(describe_alignment(matrix))
    _assert_same_links(made, attention, view)
    trace = AttentionTrace("t", Prompt("t"), (attention,))
    shown = Picture(trace, attention.kind, 0, 0, head_matrix(attention, layer=0, head=0, view=view), view, True)
    assert made["csv"].encode() == export([shown], "csv")
    fitted = dataclasses.replace(shown, full_scale=False)
    _assert_same_drawing(made["svg"], export(fitted, "svg").decode())
    assert made["ends"] == [pytest.approx((each.end, each.highest)) for each in (shown, fitted)]


def _assert_same_drawing(made: str, wanted: str) -> None:
    """Hold a head as a drawing: the same file, but for how the pixels of a large one are packed."""
    apart = [re.split(r'(?<=href=")[^"]+', svg) for svg in (made, wanted)]
    assert apart[0] == apart[1]
    if len(apart[0]) > 1:
        packed, png = (re.findall(r'href="([^"]+)', svg)[0] for svg in (made, wanted))
        image = Image.open(io.BytesIO(base64.b64decode(png.partition(",")[2]))).convert("RGBA")
        assert base64.b64decode(packed) == image.tobytes()


def _assert_same_links(made: dict[str, Any], attention: AttentionMap, view: View) -> None:
    """Hold which link is looked at unasked, and when a word or a head was chosen, and what words give in every head."""
    links = WordLinks(attention, view)
    for actual, (place, query, key) in zip(made["links"], QUESTIONS, strict=True):
        word = links.query_at(query)
        expected = first_link(links, place, query=word, key=None if word is None else links.key_at(key))
        assert (actual["layer"], actual["head"], links.query_at(actual["query"])) == (
            expected.layer,
            expected.head,
            expected.query,
        )
        assert expected.key is None or links.key_at(actual["key"]) == expected.key
        assert (actual["isAsked"], actual["isLink"]) == (word is not None, word is not None and links.key_at(key) is not None)
    for word, row in enumerate(made["rows"]):
        table = np.frombuffer(base64.b64decode(row), "<f4")
        np.testing.assert_allclose(table, links.row(word).ravel(), atol=1e-6)


def _assert_same_note(made: dict[str, Any], expected: dict[str, Any]) -> None:
    assert (made["link"], made["highest"]) == (expected["link"], pytest.approx(expected["highest"]))
    assert made.keys() == expected.keys() == {"link", "highest", *MEASURES}
    for name, tolerance in MEASURES.items():
        if expected[name] is None:
            assert made[name] is None
        else:
            assert made[name] == pytest.approx(expected[name], abs=tolerance)


def halves() -> AttentionMap:
    """Weights in the middle between two digits, which Python writes with the even one."""
    weights = np.array([[0.125, 0.375, 0.5], [0.625, 0.25, 0.125], [0.0625, 0.3125, 0.625]])
    return AttentionMap("encoder", numbered(3), numbered(3), DenseWeights((weights[None],)))


def alike() -> AttentionMap:
    """Weights that differ in the fifth digit alone, which does not travel: the later one is the larger."""
    row = np.array([0.1, 0.15, 0.15001, 0.19998, 0.2, 0.20001])
    return AttentionMap("encoder", numbered(6), numbered(6), DenseWeights((np.tile(row, (2, 6, 1)),)))


def hostile() -> AttentionMap:
    texts = (*HOSTILE, "=1", 'a;"=1', "\n-1", "a;\t@b")
    return make_map(tuple(dataclasses.replace(token, text=text) for token, text in zip(numbered(23), texts, strict=True)))


@pytest.mark.parametrize(
    "attention",
    [
        make_map(sentence("un|believ|able cats sat .")),
        pytest.param(make_map(pair("the cat 's tail", "a dog , too"), layers=3, heads=5), marks=pytest.mark.gate),
        make_map(typed("le chat dort ."), typed("the cat sleep|s . now"), layers=1, heads=2),
        pytest.param(make_map(numbered(7), causal=True), marks=pytest.mark.gate),
        hostile(),
        make_map((special("[CLS]"), special("[SEP]"))),
        make_map(sentence("I don|'|t Maß see \u200b why")),
        halves(),
        alike(),
        make_map(typed("👩‍👩‍👧‍👦👩‍👩‍👧‍👦 a b"), typed("🇫🇷🇩🇪🇮🇹🇪🇸 a"), layers=1, heads=1),
        pytest.param(make_map((special("[CLS]"), *numbered(131))), marks=pytest.mark.gate),
    ],
    ids=["subwords", "pair", "cross", "causal", "hostile", "special", "parts", "halves", "alike", "emoji", "large"],
)
def test_a_browser_draws_and_says_what_the_app_does(attention):
    cases = [(attention, view) for view in VIEWS]
    for made, case in zip(made_by_the_site(cases), cases, strict=True):
        assert_same(made, *case)


def unloaded(name: str) -> AttentionModel:
    raise AssertionError(f"{name} was loaded")


def test_a_first_picture_is_of_the_result_that_the_app_opens_with():
    travel = tuple(name for name in exportable() if not name.endswith("-en-de"))
    pages = {page.task: page for page in picture_pages(travel) if page.task != "compute"}
    assert len(pages) == 5
    for task, page in pages.items():
        assert next(pictures(page, unloaded)).said["page"] == task


def test_an_address_that_names_half_of_a_head_means_that_of_the_example_as_in_the_app():
    (write,) = picture_pages(("smollm2",))
    said = next(pictures(write, unloaded)).said
    assert said["maps"][0]["first"] == (23, 0) != (said["link"]["layer"], said["link"]["head"])


def test_what_does_not_travel_is_computed():
    with pytest.raises(AssertionError, match="minilm was loaded"):
        shown_result(unloaded, "minilm", "encode", Prompt("a text that nobody computed beforehand"))
