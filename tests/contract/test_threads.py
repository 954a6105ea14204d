"""Several people ask one model at a time: each gets exactly what each gets alone, with edits and without."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import attnviz
from attnviz import Edits, HeadSet, LinkCut, Prompt, WeightSet, WordHidden
from attnviz.core.edits import NO_EDITS
from attnviz.models.shipped_models import load_trained
from tests import tiny
from tests.answerers import tiny_answerer
from tests.summarizers import tiny_summarizer
from tests.together import wrong_together
from tests.translators import tiny_translator

ROUNDS = int(os.environ.get("ATTNVIZ_TEST_ROUNDS", "48"))
MODELS: dict[str, tuple[Callable[[Path], Any], int]] = {
    "bert": (lambda folder: attnviz.wrap(tiny.FAMILIES[0].model(), tiny.tokenizer()), ROUNDS),
    **{
        kind: (lambda folder, kind=kind: load_trained(tiny_translator(folder, kind)), 2) for kind in ("additive", "transformer")
    },
    "answerer": (lambda folder: load_trained(tiny_answerer(folder)), 2),
    "summarizer": (lambda folder: load_trained(tiny_summarizer(folder)), 2),
}


@pytest.mark.gate
@pytest.mark.usefixtures("unchecked", "brief")
@pytest.mark.parametrize("name", MODELS)
def test_each_gets_what_each_gets_alone(name: str, tmp_path: Path) -> None:
    make, rounds = MODELS[name]
    model = make(tmp_path / "model")
    asking = "What was new?" if "question" in model.card.reads else None
    one, other = (Prompt(text, question=asking) for text in ("The red car is not new.", "A dog ate. It was not red, was it?"))
    kind = model.trace(one).kinds[0]
    edits = (
        NO_EDITS, HeadSet(kind, 0, 0, "uniform"), HeadSet(kind, 0, 0), HeadSet(kind, 0, 0, "mean"), LinkCut(kind, 0, 0, 1, 0),
        WeightSet(kind, 0, 0, 1, 0, 0.5),
    )  # fmt: skip
    asked = [(one, Edits.of(each)) for each in edits] + [(other, NO_EDITS), (other, Edits((WordHidden(kind, 1),)))]
    # What writes by itself, with edits, reads all again for every step.
    assert not wrong_together(model, asked[::3] if "target" in model.card.reads else asked, rounds)
