"""What the picture of several alignments is told: the exact weights, the words, and what could have been written."""

import numpy as np

from attnviz.analysis.head_metrics import Link
from attnviz.analysis.head_view import head_matrix
from attnviz.figures.explorer.overview import unpack_chunks
from attnviz.figures.translate.alignments import Aligned, WrittenToken, alignments, script
from tests.factories import make_map, numbered, special

MATRIX = head_matrix(make_map((*numbered(5), special("</s>")), numbered(7)), layer=1, head=2)
CHOICE = WrittenToken(0, MATRIX.queries[0], 0.25, (("▁chat", 0.5), ("<unk>", 0.125)), (True, False), fixed=True)


def aligned(slot: int = 2, cell: tuple[int, int] = (3, 1), **changed: object) -> Aligned:
    given: dict[str, object] = {"choices": ((CHOICE,), *((),) * 5), "links": (Link(0, 6, 0.5),)} | changed
    return Aligned(slot, "a<b", "w0 w1", matrix=MATRIX, cell=cell, place=(1, 2), shape=(3, 5), **given)


def test_the_weights_are_the_matrixs_to_the_last_bit():
    _, data = alignments([aligned()], hero=2)
    header, chunks = unpack_chunks(data)
    weights = np.frombuffer(chunks["2"], "<f4").reshape(6, 7)
    np.testing.assert_array_equal(np.isnan(weights), ~MATRIX.visible)
    np.testing.assert_array_equal(np.nan_to_num(weights), np.where(MATRIX.visible, MATRIX.weights, 0))
    assert header["hero"] == 2
    assert header["cells"] == {"2": [3, 1]}


def test_a_model_is_told_as_it_is():
    _, data = alignments([aligned()])
    (model,) = unpack_chunks(data)[0]["models"]
    assert (model["name"], model["place"], model["links"]) == ("a<b", [1, 2], [[0, 6]])
    assert [text for text, *_ in model["queries"]] == [token.text for token in MATRIX.queries]
    assert (model["rows"], model["columns"]) == (list(MATRIX.rows), list(MATRIX.columns))
    assert model["choices"][0][0]["alternatives"] == [["chat", 0.5, True], ["<unk>", 0.125, False]]
    assert model["choices"][0][0]["fixed"] is True


def test_its_name_is_that_of_its_content_and_not_of_what_is_looked_at():
    name, _ = alignments([aligned()], hero=2, open=False)
    assert alignments([aligned(cell=(0, 0))], hero=2, open=True)[0] == name
    assert alignments([aligned(slot=1)])[0] != name
    assert alignments([aligned(links=None)])[0] != name


def test_the_script_is_one_module():
    text = script()
    assert "import " not in text.replace("important ", "")
    assert text.count("export default") == 1
