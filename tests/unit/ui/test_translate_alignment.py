"""The download of an alignment: Python that makes this very trace again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import attnviz as av
from attnviz.analysis.head_view import View
from attnviz.models.tasks import run_task
from attnviz.ui.translate import AlignmentView, alignment_download
from tests.tiny import FAMILY

TEXT, FRENCH = "the cat sat on the mat .", "the mat: "


@pytest.mark.parametrize(("target", "prefix"), [("", FRENCH), ("the cat", ""), ("the cat", FRENCH)])
def test_the_python_of_a_translation_makes_its_trace_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, target: str
) -> None:
    # A model that learned nothing writes until it may not.
    monkeypatch.setattr("attnviz.models.hub.seq2seq.MAX_WRITTEN", 7)
    model = FAMILY["t5"].save(tmp_path)
    model.config.task_specific_params = {"translation_en_to_fr": {"prefix": prefix}}
    model.config.save_pretrained(tmp_path)
    loaded = av.load(str(tmp_path))
    actual = replace(run_task(loaded, "translate", av.Prompt(TEXT, target=target or None)), name=str(tmp_path))
    source = alignment_download(actual, AlignmentView(0, 0, View(), True, "shifted", "Off", 0.0)).source
    names: dict[str, object] = {"av": av}
    exec("\n".join(source.imports), names)
    again = eval(source.made, names)
    np.testing.assert_array_equal(again.cross.layer_weights(0), actual.trace.cross.layer_weights(0))
