"""Each task is run as it is, and its maps in the quantity that was asked for; what a model reads is added to encode alone."""

from typing import Any

import pytest

import attnviz
from attnviz.attribution import quantity_maps as module
from attnviz.core.edits import Edits
from attnviz.core.errors import ModelError
from attnviz.models.base import DecodingOptions
from attnviz.models.catalog import Task


@pytest.mark.parametrize("task", ["encode", "translate", "answer", "summarize"])
def test_readings_are_added_to_encode_alone(task: Task, monkeypatch: pytest.MonkeyPatch, unchecked: None) -> None:
    def replaced(name: str, made: Any) -> None:
        monkeypatch.setattr(module, name, made)

    replaced("run_task", lambda *given, edits, options: [("run", *given, edits, options)])
    replaced("with_readings", lambda model, result: [*result, ("read", model)])
    replaced("in_quantity", lambda model, result, quantity: [*result, ("in", model, quantity)])
    replaced("replace", lambda result, model: [*result, ("of", model)])
    model: Any = object()
    edits, options = Edits.of("e0.1z"), DecodingOptions(3)
    got: Any = module.run(model, task, "a text", edits=edits, options=options, quantity="norms")
    read = [("read", model)] if task == "encode" else []
    assert got == [("run", model, task, "a text", edits, options), *read, ("in", model, "norms"), ("of", model)]


@pytest.mark.parametrize("quantity", ["norm", None, 5])
def test_a_quantity_that_is_none_gets_those_that_there_are(quantity: Any, unchecked: None) -> None:
    with pytest.raises(ModelError, match="one of weights, norms, mixing, not"):
        module.run(attnviz.load("minilm"), "encode", "The cat sat.", quantity=quantity)
