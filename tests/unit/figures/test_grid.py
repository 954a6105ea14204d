"""The grid's bytes, read back as grid.js reads them."""

import json
import re

import numpy as np
import pytest

from attnviz.analysis.heads import mean_entropy, strongest_link
from attnviz.analysis.view import View, head_matrix
from attnviz.errors import TraceError
from attnviz.figures.grid import CELL_PIXELS, MASKED, SCRIPT, STYLE, grid_bytes, paint, pixels
from attnviz.figures.theme import DARK, LIGHT, rgb
from tests.factories import dot_product_map, given_map, make_map, numbered, sentence, special


def read(data: bytes) -> tuple[dict, np.ndarray]:
    """Header and pixels by layer, head, row, column."""
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length].decode())
    shape = (header["layers"], header["heads"], header["rows"], header["columns"])
    return header, np.frombuffer(data[4 + length :], dtype=np.uint8).reshape(shape)


@pytest.mark.parametrize(("n_queries", "n_keys"), [(7, 7), (5, 11), (13, 3)])
def test_every_pixel_is_a_weight(n_queries, n_keys):
    attention = make_map(numbered(n_queries), numbered(n_keys), layers=2, heads=3)
    _, painted = read(grid_bytes(paint(attention)))
    assert painted.shape == (2, 3, n_queries, n_keys)
    for layer in range(2):
        for head in range(3):
            weights = attention.weights(layer, head)
            for query in range(n_queries):
                for key in range(n_keys):
                    assert painted[layer, head, query, key] == round(float(weights[query, key]) * 254)


@pytest.mark.parametrize("view", [View(words=True), View(hide_special=True), View(True, True, True)], ids=str)
def test_the_grid_shows_the_view(view):
    attention = make_map(sentence("un|do it"))
    _, painted = read(grid_bytes(paint(attention, view=view)))
    for layer in range(2):
        for head in range(3):
            weights = head_matrix(attention, layer=layer, head=head, view=view).weights
            np.testing.assert_array_equal(painted[layer, head], np.rint(weights * 254))


def test_masked_pixels_have_a_value_of_their_own():
    _, painted = read(grid_bytes(paint(make_map(numbered(5), causal=True))))
    np.testing.assert_array_equal(painted == MASKED, np.broadcast_to(~np.tri(5, dtype=bool), painted.shape))
    _, clear = read(grid_bytes(paint(given_map(np.eye(3), numbered(3)))))
    np.testing.assert_array_equal(clear[0, 0], 254 * np.eye(3))


def test_layers_with_masks_of_their_own_keep_them():
    attention = dot_product_map(numbered(5))
    windowed = dot_product_map(numbered(5), visible=np.eye(5, dtype=bool))
    mixed = type(attention.store)((attention.store.layers[0], windowed.store.layers[1]))
    _, painted = read(grid_bytes(paint(type(attention)("decoder", attention.queries, attention.keys, mixed))))
    assert not (painted[0] == MASKED).any()
    np.testing.assert_array_equal(painted[1] == MASKED, np.broadcast_to(~np.eye(5, dtype=bool), (6, 5, 5)))


@pytest.mark.parametrize("count", [65, 300, 1000])
@pytest.mark.parametrize("where", [0.0, 0.31, 0.64, 1.0])
def test_one_bright_cell_survives_any_length(count, where):
    cell = round(where * (count - 1))
    weights = np.zeros((count, count))
    weights[cell, count - 1 - cell] = 1
    (picture,) = read(grid_bytes(paint(given_map(weights, numbered(count)))))[1][0]
    assert picture.shape == (CELL_PIXELS, CELL_PIXELS)
    assert (picture == 254).sum() == 1
    row, column = np.argwhere(picture == 254)[0]
    assert abs(row - cell * CELL_PIXELS / count) <= 1
    assert abs(column - (count - 1 - cell) * CELL_PIXELS / count) <= 1
    assert (picture == 0).sum() == picture.size - 1


def test_a_pixel_is_masked_only_where_all_its_cells_are():
    count = 300
    _, painted = read(grid_bytes(paint(make_map(numbered(count), layers=1, heads=1, causal=True))))
    starts = [int(index * count / CELL_PIXELS) for index in range(CELL_PIXELS)]
    ends = [*starts[1:], count]
    for row in range(CELL_PIXELS):
        for column in range(CELL_PIXELS):
            assert (painted[0, 0, row, column] == MASKED) == (starts[column] > ends[row] - 1)


def test_every_pooled_pixel_is_the_largest_of_its_cells():
    attention = make_map(numbered(67), numbered(131), layers=1, heads=1)
    weights, (picture,) = attention.weights(0, 0), read(grid_bytes(paint(attention)))[1][0]
    rows = [int(index * 67 / 64) for index in range(64)] + [67]
    columns = [int(index * 131 / 64) for index in range(64)] + [131]
    for row in range(64):
        for column in range(64):
            largest = weights[rows[row] : rows[row + 1], columns[column] : columns[column + 1]].max()
            assert picture[row, column] == round(float(largest) * 254)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_header_has_the_colours(theme):
    header, _ = read(grid_bytes(paint(make_map(numbered(3))), theme=theme))
    colours = np.array(header["colours"]).reshape(256, 3)
    assert colours[MASKED].tolist() == list(rgb(theme.masked))
    for index in range(MASKED):
        # 255 levels of weight in a table of 256 colours.
        assert colours[index].tolist() == list(rgb(theme.colour(index / 254)))
    assert (header["accent"], header["text"], header["faint"]) == (theme.accent, theme.text, theme.faint)


def test_every_head_has_its_scale_where_the_picture_sets_it():
    attention = make_map(numbered(11))
    full, own = (read(grid_bytes(paint(attention, full_scale=full)))[1] for full in (True, False))
    assert full.max() < 254
    assert own.max(axis=(2, 3)).tolist() == [[254] * 3] * 2
    weights = attention.weights(1, 2)
    np.testing.assert_array_equal(own[1, 2], np.rint(weights / weights.max() * 254))


def test_an_empty_picture_is_no_division_by_zero():
    matrix = head_matrix(given_map(np.eye(3)[[0] * 3], sentence("a")), layer=0, head=0, view=View(hide_special=True))
    assert pixels(matrix, 1e-9).tolist() == [[0]]
    _, painted = read(
        grid_bytes(paint(given_map(np.eye(3)[[0] * 3], sentence("a")), view=View(hide_special=True), full_scale=False))
    )
    assert not painted.any()


def test_the_notes_are_the_heads_numbers():
    attention = make_map(sentence("the <s> the 中文 مرحبا"))
    header, _ = read(grid_bytes(paint(attention)))
    assert len(header["notes"]) == 6
    for layer in range(2):
        for head in range(3):
            matrix, note = head_matrix(attention, layer=layer, head=head), header["notes"][layer * 3 + head]
            link = strongest_link(matrix)
            assert link is not None
            assert note == {
                "entropy": round(mean_entropy(matrix), 2),
                "query": attention.queries[link.query].text,
                "key": attention.keys[link.key].text,
                "weight": round(link.weight, 3),
            }
    assert len({note["weight"] for note in header["notes"]}) == 6


def test_a_head_with_no_link_between_words_names_none():
    header, _ = read(grid_bytes(paint(make_map((special("[CLS]"), special("[SEP]")), layers=1, heads=1))))
    assert (header["notes"][0]["query"], header["notes"][0]["key"], header["notes"][0]["weight"]) == ("", "", 0)


@pytest.mark.parametrize("selected", [(1, 2), (0, None)])
def test_the_selected_head_is_told(selected):
    assert read(grid_bytes(paint(make_map(numbered(3))), selected=selected))[0]["selected"] == list(selected)


def test_a_view_that_leaves_nothing_says_so():
    with pytest.raises(TraceError, match="Nothing is left"):
        grid_bytes(paint(make_map(numbered(3)), view=View(between="second-second")))


def test_the_script_reads_what_the_header_has():
    header, _ = read(grid_bytes(paint(make_map(numbered(3)))))
    read_by_script = set(re.findall(r"\bgrid\.(\w+)", re.sub(r"//.*", "", SCRIPT))) - {"pixels"}
    assert read_by_script == set(header)
    assert set(re.search(r"const \{ ([\w, ]+) \} = grid\.notes", SCRIPT)[1].split(", ")) == set(header["notes"][0])


@pytest.mark.parametrize("source", [SCRIPT, STYLE])
def test_nothing_is_fetched(source):
    assert not re.search(r"https?:|import\s|fetch\(|url\(|innerHTML", source)
