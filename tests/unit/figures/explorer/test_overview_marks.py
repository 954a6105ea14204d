"""What a click in a picture edits, and where edits are marked in it, also where words are merged and tokens hidden."""

import pytest

from attnviz.analysis.head_view import Lens, View
from attnviz.core.edits import Edits, HeadSet, LinkCut, WordHidden
from attnviz.core.errors import EditError
from attnviz.figures.explorer import PicturePlaces
from tests.factories import make_map, sentence

# [CLS] the un|do cat [SEP]: without special tokens and with words merged the columns are the, undo, cat.
ATTENTION = make_map(sentence("the un|do cat"))
MERGED = PicturePlaces.of(ATTENTION, Lens(ATTENTION, View(words=True, hide_special=True)))
PLAIN = PicturePlaces.of(ATTENTION, Lens(ATTENTION, View()))


def test_a_click_on_a_merged_word_edits_all_of_its_tokens():
    assert MERGED.edits_of({"layer": 1, "head": 2, "query": 2, "key": 1}) == (
        LinkCut("encoder", 1, 2, 4, 2),
        LinkCut("encoder", 1, 2, 4, 3),
    )
    assert MERGED.edits_of({"key": 1}) == (WordHidden("encoder", 2), WordHidden("encoder", 3))


def test_a_layer_and_a_mean_are_all_of_its_heads():
    assert PLAIN.edits_of({"layer": 1, "head": None}) == tuple(HeadSet("encoder", 1, head) for head in range(3))
    cut = PLAIN.edits_of({"layer": 0, "head": None, "query": 5, "key": 1})
    assert cut == tuple(LinkCut("encoder", 0, head, 5, 1) for head in range(3))


@pytest.mark.parametrize(
    "click",
    [{"key": 99}, {"layer": 0, "head": 0, "query": 7, "key": 99}, {"layer": 0, "head": "x"}, {"layer": [0]}, {"key": -1}],
)
def test_what_is_no_place_of_the_picture_is_refused(click):
    with pytest.raises(EditError, match="no such place"):
        MERGED.edits_of(click)


def test_edits_are_marked_where_the_picture_shows_them():
    edits = Edits.parse("e0.1z,e1.2c4.3,e1.2w2.4-0.5,ek3,e1k0,d0.0z")
    assert MERGED.marks(edits) == {
        "heads": [[0, 1]],
        "cells": [[1, 2, 2, 1, "cut"], [1, 2, 1, 2, "set"]],
        "columns": [[None, 1]],
    }


def test_a_token_of_the_map_is_found_in_the_picture():
    assert (MERGED.row_of(3), MERGED.column_of(2), PLAIN.column_of(3)) == (1, 1, 3)
