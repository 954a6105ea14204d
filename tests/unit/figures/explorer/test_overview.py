"""The overview of a map: what it says of each head, and which heads travel with it."""

import importlib
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from attnviz.analysis.head_metrics import measure, strongest_link
from attnviz.analysis.head_view import View, head_matrix
from attnviz.core.errors import CancelledError, TraceError, cancellable
from attnviz.core.trace import Token
from attnviz.figures.explorer import heads_package, overview
from attnviz.figures.explorer.overview import head_chunk, thumb_of, unpack_chunks
from tests.factories import dot_product_map, make_map, numbered, sentence, special


def thumbs_of(header: dict, chunks: dict[str, bytes]) -> np.ndarray:
    shape = [header[name] for name in ("layers", "heads", "rows", "columns")]
    return np.frombuffer(zlib.decompress(chunks["thumbs"]), np.uint8).reshape(shape)


@pytest.mark.parametrize("view", [View(), View(words=True), View(hide_special=True)], ids=str)
def test_every_head_has_its_picture_its_numbers_and_its_weights(view):
    attention = make_map(sentence("the un|do <s> the 中文 مرحبا"))
    header, chunks = unpack_chunks(overview(attention, view=view).data)
    thumbs = thumbs_of(header, chunks)
    assert list(chunks) == ["thumbs", "0:0", "0:1", "0:2", "0:mean", "1:0", "1:1", "1:2", "1:mean"]
    for layer, head in np.ndindex(2, 3):
        matrix = head_matrix(attention, layer=layer, head=head, view=view)
        thumb, highest = thumb_of(matrix)
        np.testing.assert_array_equal(thumbs[layer, head], thumb)
        assert chunks[f"{layer}:{head}"] == head_chunk(matrix)
        link, numbers, note = strongest_link(matrix), measure(matrix), header["notes"][3 * layer + head]
        assert link is not None
        assert note["link"] == [link.query, link.key, pytest.approx(link.weight, abs=6e-5)]
        measured = (note["entropy"], note["diagonal"], note["distance"], note["highest"])
        assert measured == pytest.approx((numbers.entropy, numbers.near, numbers.distance, highest), abs=6e-4)
    for layer in range(2):
        assert chunks[f"{layer}:mean"] == head_chunk(head_matrix(attention, layer=layer, head=None, view=view))


@pytest.mark.parametrize("view", [View(), View(hide_special=True)], ids=str)
@pytest.mark.parametrize("options", [{"causal": True}, {"sink": np.full(6, -2.0)}], ids=str)
def test_the_entropy_that_a_softmax_tells_is_that_of_the_weights_shown(options, view):
    attention = dot_product_map((special("[CLS]"), *numbered(6)), **options)
    header, _ = unpack_chunks(overview(attention, view=view).data)
    for layer, head in np.ndindex(2, 6):
        matrix = head_matrix(attention, layer=layer, head=head, view=view)
        assert header["notes"][6 * layer + head]["entropy"] == pytest.approx(measure(matrix).entropy, abs=6e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_heads_of_a_long_text_are_pooled_and_measured_while_they_are_computed(causal, monkeypatch):
    attention = dot_product_map((special("[CLS]"), *numbered(166)), causal=causal)
    monkeypatch.setattr("attnviz.core.weights.SLAB_CELLS", 5 * 167)
    header, chunks = unpack_chunks(overview(attention, limit=0).data)
    assert list(chunks) == ["thumbs"]
    for layer, head in np.ndindex(2, 6):
        matrix = head_matrix(attention, layer=layer, head=head)
        thumb, highest = thumb_of(matrix)
        np.testing.assert_array_equal(thumbs_of(header, chunks)[layer, head], thumb)
        numbers, note = measure(matrix), header["notes"][6 * layer + head]
        measured = (note["entropy"], note["diagonal"], note["distance"], note["highest"])
        assert measured == pytest.approx((numbers.entropy, numbers.near, numbers.distance, highest), abs=6e-4)
        assert numbers.link
        assert note["link"][:2] == [numbers.link.query, numbers.link.key]


def test_heads_wait_where_somebody_else_goes_first_and_end_where_nobody_waits(monkeypatch):
    module = importlib.import_module("attnviz.figures.explorer.overview")
    begun, held, go_on, ends = threading.Semaphore(0), threading.Event(), threading.Event(), threading.Event()
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    measured = module._measured

    def slowly(*given: object) -> object:
        begun.release()
        time.sleep(0.02)
        return measured(*given)

    def wait() -> None:
        if ends.is_set():
            raise CancelledError("Nobody waits.")
        held.set()
        go_on.wait(30)

    monkeypatch.setattr(module, "_measured", slowly)
    attention = dot_product_map(numbered(7))

    def survey() -> object:
        with cancellable(wait):
            return overview(attention)

    with ThreadPoolExecutor(1) as pool:
        actual = pool.submit(survey)
        assert held.wait(30)
        time.sleep(0.1)
        while begun.acquire(blocking=False):
            pass
        assert not begun.acquire(timeout=0.1)
        assert not actual.done()
        go_on.set()
        assert actual.result(30).data == overview(attention).data
        ends.set()
        assert isinstance(pool.submit(survey).exception(30), CancelledError)


def test_between_two_texts_there_is_no_distance():
    header, _ = unpack_chunks(overview(make_map(numbered(3), numbered(5))).data)
    assert {(note["distance"], note["diagonal"]) for note in header["notes"]} == {(None, None)}
    assert header["own"] == [None] * 3


def test_a_head_with_no_link_between_words_names_none():
    header, _ = unpack_chunks(overview(make_map((special("[CLS]"), special("[SEP]")), layers=1, heads=1)).data)
    assert header["notes"][0]["link"] is None


def test_tokens_are_told_as_they_are_shown():
    tokens = (special("[CLS]"), Token("\n", 0, 1), Token("ing", 1, 4, piece="##ing"), Token("<b>", 4, 7))
    header, _ = unpack_chunks(overview(make_map(tokens)).data)
    assert header["queries"] == header["keys"] == [["[CLS]", 1, ""], ["↵", 0, ""], ["ing", 0, "##ing"], ["<b>", 0, ""]]


def test_what_does_not_fit_one_message_comes_head_by_head():
    attention = make_map(numbered(7))
    # 2 layers of 3 heads of 49 cells of 2 bytes.
    assert overview(attention, limit=588).complete
    small = overview(attention, limit=587)
    assert not small.complete
    assert list(unpack_chunks(small.data)[1]) == ["thumbs"]
    header, chunks = unpack_chunks(
        heads_package(small, attention, {(1, 2): None, (0, None): head_matrix(attention, layer=0, head=None)}, theme="dark")
    )
    assert (header["overview"], header["theme"]) == (small.name, "dark")
    assert chunks["1:2"] == head_chunk(head_matrix(attention, layer=1, head=2))
    assert chunks["0:mean"] == head_chunk(head_matrix(attention, layer=0, head=None))
    assert unpack_chunks(heads_package(overview(attention), attention, {(1, 2): None}))[1] == {}


def test_the_same_picture_has_the_same_name_and_another_another():
    attention = make_map(sentence("a b c"))
    assert overview(attention).name == overview(attention).name
    assert overview(attention).name != overview(attention, view=View(hide_special=True)).name


def test_a_view_that_leaves_nothing_says_so():
    with pytest.raises(TraceError, match="Nothing is left"):
        overview(make_map(numbered(3)), view=View(between="second-second"))
