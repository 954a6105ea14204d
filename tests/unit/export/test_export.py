"""Exports, read back: what a picture shows is what its file holds."""

import base64
import csv
import html
import io
import itertools
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from PIL import Image
from pypdf import PdfReader

from attnviz.analysis.head_view import View
from attnviz.core.errors import AttnvizError, TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt
from attnviz.export import FORMATS, Picture, export, picture, pictures, svg_png_pdf
from attnviz.export import grids_and_matrices as on_paper
from attnviz.export.paper import COLUMN, FONT, PADDING, PAGE, Label, Rectangle, Sheet, printed_text, titled, width_of
from attnviz.export.picture import is_whole, other_head, part_of, parts
from attnviz.figures.theme import LIGHT
from tests.factories import make_map, numbered, sentence, typed

HOSTILE = '<script>alert(1)</script> ]]> a&b "q" مرحبا 😀 中文 $x$ \x01'
SVG = "{http://www.w3.org/2000/svg}"


def traced(*maps: AttentionMap) -> AttentionTrace:
    return AttentionTrace("tiny", Prompt("a text"), maps, "un texte", revision="r1")


def test_what_no_printer_knows_spoils_no_title_and_no_label() -> None:
    sheet = titled(Sheet(f"What {HOSTILE} depends on", 90.0, 20.0, (Label(0.0, 9.0, HOSTILE),)), f"Why {HOSTILE}")
    texts = [
        each.text for each in ElementTree.fromstring(svg_png_pdf.sheet_svg(sheet)).iter() if each.text and each.text.strip()
    ]
    assert texts == [text.replace("\x01", "\ufffd") for text in (f"What {HOSTILE} depends on", f"Why {HOSTILE}", HOSTILE)]
    assert svg_png_pdf.sheet_pdf(Sheet("Half a letter: \ud800", 90.0, 20.0, ())).startswith(b"%PDF")


@pytest.fixture
def across() -> Picture:
    return picture(traced(make_map(sentence(HOSTILE), typed("the cat the cat"), layers=2, heads=3)), layer=1, head=2)


def svg_of(shown: Picture) -> ElementTree.Element:
    return ElementTree.fromstring(export(shown, "svg"))


def cells_of(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [rect for rect in root.iter(f"{SVG}rect") if "data-query" in rect.attrib]


def test_the_svg_has_every_weight_and_every_token(across: Picture) -> None:
    root, matrix = svg_of(across), across.matrix
    cells = cells_of(root)
    assert len(cells) == matrix.weights.size
    for cell in cells:
        query, key = int(cell.attrib["data-query"]), int(cell.attrib["data-key"])
        assert float(cell.attrib["data-weight"]) == pytest.approx(float(matrix.weights[query, key]), rel=1e-5)
        assert cell.attrib["fill"] == LIGHT.colour(float(matrix.weights[query, key]))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    for token in (*matrix.queries, *matrix.keys):
        assert printed_text(token) in texts
    assert texts.count("the") == texts.count("cat") == 2
    assert "<script>alert(1)</s…" in texts
    assert root.find(f"{SVG}title").text == "L1·H2 of tiny, cross attention: queries down, keys across"


def test_cells_stand_in_their_row_and_column_beside_their_labels(across: Picture) -> None:
    root = svg_of(across)
    labels = {}
    for text in root.iter(f"{SVG}text"):
        labels.setdefault(text.text, []).append(text)
    for cell in cells_of(root):
        middle = [float(cell.attrib[place]) + float(cell.attrib["width"]) / 2 for place in ("x", "y")]
        key = printed_text(across.matrix.keys[int(cell.attrib["data-key"])])
        query = printed_text(across.matrix.queries[int(cell.attrib["data-query"])])
        assert any(float(text.attrib["x"]) == pytest.approx(middle[0], abs=0.3) for text in labels[key])
        assert any(float(text.attrib["y"]) == pytest.approx(middle[1], abs=0.3) for text in labels[query])


@pytest.mark.parametrize("count", [1, 3, 11, 29, 67, 150])
def test_it_fits_the_column_of_a_paper_or_its_page_and_labels_do_not_touch(count: int) -> None:
    shown = picture(traced(make_map(numbered(count), layers=1, heads=1)))
    sheet, root = on_paper.draw_matrix(shown), svg_of(shown)
    assert sheet.width <= (COLUMN if count <= 11 else PAGE) + 0.01
    assert float(root.attrib["width"].removesuffix("pt")) == pytest.approx(sheet.width, abs=0.01)
    rows = sorted(label.y for label in sheet.labels if label.anchor == "end" and label.text.startswith("t"))
    assert all(
        below - above >= label.size for (above, below), label in zip(itertools.pairwise(rows), sheet.labels, strict=False)
    )
    assert {label.size for label in sheet.labels} == {FONT}


def test_a_long_text_is_cut_to_a_part_and_its_numbers_stay(across: Picture) -> None:
    shown = picture(traced(make_map(numbered(131), layers=1, heads=2)), layer=0, head=1)
    assert parts(shown) == [range(60), range(60, 120), range(120, 131)]
    cut = part_of(shown, range(60, 120)).matrix
    np.testing.assert_array_equal(cut.weights, shown.matrix.weights[60:120, 60:120])
    assert [token.text for token in cut.keys] == [f"t{index}" for index in range(60, 120)]
    assert cut.own[:2] == (0, 1)
    assert cut.rows == shown.matrix.rows[60:120]
    # Of two texts the shorter one stays as it is beside every part of the longer.
    np.testing.assert_array_equal(part_of(across, range(60, 120)).matrix.weights, across.matrix.weights)


def test_another_head_is_seen_in_the_same_way_and_what_was_changed_is_not_whole() -> None:
    shown = picture(traced(make_map(sentence("un|believ|able cat"), layers=2, heads=3)), layer=0, head=1, view=View(words=True))
    other = other_head(replace(shown, full_scale=False), 1, 2)
    np.testing.assert_array_equal(
        other.matrix.weights, picture(shown.trace, layer=1, head=2, view=View(words=True)).matrix.weights
    )
    assert (other.name, other.full_scale) == ("L1·H2", False)
    assert is_whole(shown)
    assert not is_whole(replace(shown, matrix=replace(shown.matrix, weights=shown.matrix.weights * 0)))


def test_masked_cells_look_like_nothing_else() -> None:
    shown = picture(traced(make_map(numbered(5), causal=True)), layer=0, head=0)
    for cell in cells_of(svg_of(shown)):
        ahead = int(cell.attrib["data-key"]) > int(cell.attrib["data-query"])
        assert ("data-weight" not in cell.attrib) == ahead
        assert (cell.attrib["fill"] == LIGHT.masked) == ahead
    assert "masked" in [label.text for label in on_paper.draw_matrix(shown).labels]


def test_very_many_cells_become_one_image_and_labels_stay_text() -> None:
    shown = picture(traced(make_map(numbered(151), layers=1, heads=1)))
    root = svg_of(shown)
    assert not cells_of(root)
    (image,) = root.iter(f"{SVG}image")
    with Image.open(io.BytesIO(base64.b64decode(image.attrib["href"].split(",")[1]))) as pixels:
        np.testing.assert_array_equal(np.asarray(pixels), on_paper.colours(shown, shown.end))
    assert "t0" in [text.text for text in root.iter(f"{SVG}text")]


def test_the_png_has_the_colours_of_the_cells_and_its_labels(across: Picture) -> None:
    sheet = on_paper.draw_matrix(across)
    with Image.open(io.BytesIO(export(across, "png"))) as image:
        whole = np.asarray(image.convert("RGB"))
    scale = 600 / 72
    # The sheet grows by what a label needs in the fonts that are there, so the cells are found by their own colours.
    assert whole.shape[0] >= int(sheet.height * scale)
    assert whole.shape[1] >= int(sheet.width * scale)
    cells = [item for item in sheet.items if isinstance(item, Rectangle) and item.data]
    assert len(cells) == across.matrix.weights.size
    colours = on_paper.colours(across, across.end).reshape(-1, 3).astype(int)
    corners = [
        (int((cell.x + share * cell.width) * scale), int((cell.y + share * cell.height) * scale))
        for share in (0.05, 0.95) for cell in cells
    ]  # fmt: skip
    columns, rows = np.array(corners).T
    grown = whole.shape[0] - int(sheet.height * scale), whole.shape[1] - int(sheet.width * scale)
    fits = [
        (below, beside) for below, beside in np.ndindex(grown[0] + 1, grown[1] + 1)
        if np.abs(whole[rows + below, columns + beside].astype(int) - np.tile(colours, (2, 1))).max() <= 1
    ]  # fmt: skip
    assert fits, "no place has every cell in its colour"
    below, beside = np.median(fits, axis=0).astype(int)
    pixels = whole[below:, beside:]
    # Ink stands where the labels are: none of them is lost.
    for label in (each for each in sheet.labels if each.anchor == "end" and each.text.isascii() and each.text[-1].isalnum()):
        y, right, left = int(label.y * scale), int(label.x * scale), int((label.x - 6) * scale)
        assert (pixels[y - 14 : y + 14, left:right] < 128).any(), label


def test_nothing_is_no_picture() -> None:
    for to in ("svg", "csv"):
        with pytest.raises(AttnvizError, match="There is no picture to write"):
            export([], to)


def test_a_pdf_has_its_text_in_fonts_that_it_embeds() -> None:
    shown = picture(traced(make_map(sentence("the c\u00e9t sl|eeps"))))
    data = export(shown, "pdf")
    assert export(shown, "pdf") == data
    (page,) = PdfReader(io.BytesIO(data)).pages
    assert {"the", "c\u00e9t", "sl", "eeps", "weight"} <= set(page.extract_text().split())
    fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
    assert {font["/Subtype"] for font in fonts} == {"/Type0"}
    descriptors = [font["/DescendantFonts"][0].get_object()["/FontDescriptor"] for font in fonts]
    assert all("/FontFile2" in each for each in descriptors)
    sheet = on_paper.draw_matrix(shown)
    assert float(page.mediabox.width) == pytest.approx(sheet.width, abs=0.5)


def test_any_installed_font_that_has_a_character_draws_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if none of those that are named were installed, and no font had a snowman."""
    monkeypatch.setattr(svg_png_pdf, "_named_fonts", lambda: ([], frozenset()))
    letters = svg_png_pdf._letters
    monkeypatch.setattr(
        svg_png_pdf, "_letters", lambda path: letters(path) - {"\u2603"} if "DejaVuSans.ttf" in path else frozenset()
    )
    assert svg_png_pdf._fonts(frozenset("ab")) == (["DejaVu Sans"], frozenset())
    shown = picture(traced(make_map(sentence("a \u2603 b\u200d"))))
    drawn = [text.get_text() for text in svg_png_pdf._figure(on_paper.draw_matrix(shown), 72.0).axes[0].texts]
    assert drawn[-1] == "No installed font has U+2603: install one, or take SVG."
    assert drawn.count("b") == 2


def test_a_wide_label_is_not_cut_off_at_the_edge() -> None:
    shown = picture(traced(make_map(sentence("\u2014\u2014\u2014\u2014\u2014\u2014\u2014\u2014\u2014\u2014\u2014\u2014 b"))))
    with Image.open(io.BytesIO(export(shown, "png"))) as image:
        pixels = np.asarray(image.convert("L"))
    background = pixels[-1, -1]
    assert all((edge == background).all() for edge in (pixels[:, 0], pixels[:, -1], pixels[0], pixels[-1]))


def test_a_cut_label_has_room_for_its_mark_in_the_widest_font() -> None:
    text = printed_text(replace(numbered(1)[0], text="a" * 30))
    extent = TextPath((0, 0), text, size=FONT, prop=FontProperties("DejaVu Sans")).get_extents()
    assert text.endswith("…")
    assert extent.width <= width_of(text) * FONT + PADDING


@pytest.mark.parametrize("most", [1.0, 0.004], ids=["plain", "nearly nothing is left for words"])
def test_colours_follow_the_scale_that_is_shown(most: float, across: Picture) -> None:
    own = replace(across, full_scale=False, matrix=replace(across.matrix, weights=across.matrix.weights * np.float32(most)))
    highest = own.matrix.weights.max()
    shades = [cell.attrib["fill"] for cell in cells_of(svg_of(own))]
    assert LIGHT.colour(1.0) in shades
    assert f"{highest:.2g}" in [label.text for label in on_paper.draw_matrix(own).labels]


@pytest.mark.parametrize("causal", [False, True])
def test_one_large_weight_does_not_leave_a_long_text_white(causal: bool) -> None:
    attention = make_map(numbered(151), layers=1, heads=1, causal=causal)
    weights = attention.weights(0, 0) * 0.2
    weights[:, 0] += 0.8
    attention = replace(attention, store=DenseWeights((weights[None].astype(np.float32),)))
    shown = picture(traced(attention), layer=0, head=0)
    seen = np.sort(weights[attention.visible(0)])
    limit = max(seen[np.ceil(0.99 * len(seen)).astype(int) - 1], 5 / 151)
    for full_scale in (True, False):
        scaled = replace(shown, full_scale=full_scale)
        assert scaled.end == pytest.approx(min(limit, scaled.highest), abs=1e-6)
    part = part_of(shown, parts(shown)[1])
    assert part.end == shown.end
    labels = [label.text for label in on_paper.draw_matrix(part).labels]
    assert (f"{shown.end:.2g} or more: at most 1 % of the weights" in labels) == (shown.end < 1)
    # The exact number stays with each cell.
    cell = next(each for each in cells_of(svg_of(part)) if "data-weight" in each.attrib)
    row, column = int(cell.attrib["data-query"]), int(cell.attrib["data-key"])
    assert float(cell.attrib["data-weight"]) == pytest.approx(float(part.matrix.weights[row, column]), rel=1e-5)
    assert picture(traced(make_map(numbered(127), layers=1, heads=1))).end == 1


def test_the_csv_has_a_row_for_every_cell() -> None:
    attention = make_map(typed('a,b "c" =1+1'), typed("the\tthe"), layers=2, heads=3)
    rows = list(csv.DictReader(io.StringIO(export(list(pictures(traced(attention))), "csv").decode("utf-8-sig"))))
    assert len(rows) == 2 * 3 * 3 * 2
    for row in rows:
        layer, head, query, key = (int(row[name]) for name in ("layer", "head", "query", "key"))
        assert np.float32(row["weight"]) == attention.weights(layer, head)[query, key]
        # A spreadsheet would run a token that begins like a formula: an apostrophe makes it a text.
        asked = {"=1+1": "'=1+1"}.get(text := attention.queries[query].text, text)
        assert (row["query_token"], row["key_token"]) == (asked, attention.keys[key].text)
        assert row["masked"] == "0"
    mean = list(csv.DictReader(io.StringIO(export(picture(traced(attention)), "csv").decode("utf-8-sig"))))
    assert {row["head"] for row in mean} == {""}


def test_the_npz_and_the_json_have_the_very_numbers() -> None:
    attention = make_map(numbered(7), causal=True, layers=2, heads=3)
    shown = list(pictures(traced(attention), layer=1))
    with np.load(io.BytesIO(export(shown, "npz"))) as arrays:
        np.testing.assert_array_equal(arrays["weights"], attention.layer_weights(1))
        np.testing.assert_array_equal(arrays["visible"][2], attention.visible(1))
        assert arrays["layers"].tolist() == [1, 1, 1]
        assert arrays["heads"].tolist() == [0, 1, 2]
        assert arrays["keys"].tolist() == [token.text for token in attention.keys]
    facts = json.loads(export(shown, "json"))
    assert (facts["model"], facts["revision"], facts["output"], facts["kind"]) == ("tiny", "r1", "un texte", "decoder")
    assert facts["queries"][3] == {
        "text": "t3",
        "start": 9,
        "end": 11,
        "special": False,
        "segment": 0,
        "word": 3,
        "piece": "",
    }
    for head, each in enumerate(facts["heads"]):
        got = np.array(each["weights"], dtype=np.float32)
        np.testing.assert_array_equal(np.isnan(got), ~attention.visible(1))
        np.testing.assert_array_equal(np.nan_to_num(got), attention.weights(1, head))


def test_what_is_exported_is_what_is_shown() -> None:
    attention = make_map(sentence("un|believ|able cat"))
    shown = picture(traced(attention), layer=0, head=1, view=View(words=True, hide_special=True))
    rows = list(csv.DictReader(io.StringIO(export(shown, "csv").decode("utf-8-sig"))))
    assert [row["key_token"] for row in rows[:2]] == ["unbelievable", "cat"]


def test_the_page_has_the_whole_trace_and_opens_at_the_head_that_is_shown(across: Picture) -> None:
    document = export(across, "html").decode()
    (place,) = re.findall(r'data-opens="([^"]+)"', document)
    assert json.loads(html.unescape(place)) == [across.kind, across.layer, across.head]
    assert document.count("data-package>") == len(across.trace.maps)


def test_a_wrong_wish_is_told(across: Picture) -> None:
    with pytest.raises(AttnvizError, match="does not write 'tex': choose one of svg, png, pdf"):
        export(across, "tex")
    with pytest.raises(AttnvizError, match="shows one head"):
        export([across, across], "svg")
    with pytest.raises(TraceError, match="no head 9"):
        picture(across.trace, head=9)
    assert all(entry.media_type for entry in FORMATS.values())


def test_no_token_is_a_formula_in_a_spreadsheet() -> None:
    """`=HYPERLINK(…)` in a cell would be run by whoever opens the table."""
    tokens = typed("=1+1 +1 - @a a=b 'x ordinary")
    shown = list(pictures(traced(make_map(tokens, layers=1, heads=1))))
    rows = list(csv.DictReader(io.StringIO(export(shown, "csv").decode("utf-8-sig"))))
    assert [row["key_token"] for row in rows[: len(tokens)]] == ["'=1+1", "'+1", "'-", "'@a", "a=b", "'x", "ordinary"]
    assert {row["query_token"] for row in rows} == {row["key_token"] for row in rows}
    assert [key["text"] for key in json.loads(export(shown, "json"))["keys"]] == [token.text for token in tokens]
