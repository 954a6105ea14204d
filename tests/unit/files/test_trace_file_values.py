"""Values and a trace in one file: what is written is read, and nothing is built that is not of attnviz."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionTrace, Prompt, RemovalCurve
from attnviz.files.trace_file import from_bytes, seal, value_from_bytes, value_to_bytes
from attnviz.models.base import ModelCard
from attnviz.models.result import Result
from tests.factories import dot_product_map, sentence

TRACE = AttentionTrace("m", Prompt("a b c"), (dot_product_map(sentence("a b c")),), revision="r", versions=(("numpy", "2"),))
CARD = ModelCard("m", "encodes", "encoder", 2, 3, 5, 7, "cpu", metrics={"BLEU": 50.25}, supervised_head=(1, 2))


def test_a_result_is_the_same_to_the_last_bit_and_its_file_a_trace():
    data = value_to_bytes(Result(TRACE, CARD, 0.0, name="m", mixing={("encoder", 1): 0.375}))
    read = value_from_bytes(data)
    assert (read.card, read.name, read.mixing, read.prompt) == (CARD, "m", {("encoder", 1): 0.375}, TRACE.prompt)
    for opened in (read.trace, from_bytes(data)):
        np.testing.assert_array_equal(opened.maps[0].weights(1, 2), TRACE.maps[0].weights(1, 2))
    assert value_to_bytes(read) == data


def test_arrays_sets_and_what_holds_them_are_read_again():
    curve = RemovalCurve((0, 2, 5), np.arange(3.0), np.arange(3.0) / 7, np.ones((11, 3), np.float32))
    read, names, nothing = value_from_bytes(value_to_bytes((curve, frozenset({"le", "la"}), None)))
    np.testing.assert_array_equal(read.most, curve.most)
    assert (read.random.dtype, read.counts, names, nothing) == (np.float32, (0, 2, 5), frozenset({"le", "la"}), None)


def test_what_is_no_value_is_refused():
    for value in ((TRACE, replace(TRACE)), object(), [Prompt("a")], Prompt):
        with pytest.raises(TraceError):
            value_to_bytes(value)


def test_nothing_is_built_but_classes_of_attnviz():
    with pytest.raises(TraceError, match="os:_Environ"):
        value_from_bytes(seal({"value": {"is": "os:_Environ"}}, {}))


def test_a_named_field_that_says_nothing_leaves_no_mark():
    data = value_to_bytes(Prompt("a"))
    assert b"language" not in data
    assert value_from_bytes(value_to_bytes(Prompt("a", language="deu_Latn"))) == Prompt("a", language="deu_Latn")
    assert b"language" in value_to_bytes(Prompt("a", language="deu_Latn"))
