"""Edits of one text that share what stands below them: exactly what each gets alone, in every family that is recorded."""

import threading

import numpy as np
import pytest

import attnviz
from attnviz.core.edits import Edits, WordHidden
from attnviz.core.trace import Prompt
from attnviz.models import scoring
from attnviz.models.ablate.head_costs import every_head, without
from attnviz.models.capabilities import capabilities
from tests import tiny

FAMILIES = [each for each in tiny.FAMILIES if each.recorded and each.architecture != tiny.SEQ2SEQ]
TEXT = "the cat sat on the mat because it was tired"


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_shared_layers_change_no_score(family, unchecked):
    model = attnviz.wrap(family.model(), tiny.tokenizer(family.architecture))
    heads = every_head(model)
    hidden = Edits((WordHidden(heads[0][0], 1),))
    rows = [Edits(), *(without([head]) for head in heads[::-1]), without(heads[1:4]), hidden, without(heads, "mean")]
    scorer = capabilities(model).scorer(Prompt(TEXT))
    assert scorer.shares == (family.name != "albert")
    fractions: list[float] = []
    together = scorer.scores(rows, fractions.append)
    alone = [capabilities(model).scorer(Prompt(TEXT)).scores([each])[0] for each in rows]
    np.testing.assert_allclose(together, alone, atol=2e-6)
    assert np.abs(together).max() > 1e-4
    assert fractions == sorted(fractions)
    assert all(0 <= share < 1 for share in fractions)


def test_the_layers_below_are_computed_for_one_row(monkeypatch, unchecked):
    model = attnviz.wrap(tiny.FAMILIES[0].model(), tiny.tokenizer())
    rows: list[int] = []
    first = model.body.encoder.layer[0]
    first.register_forward_hook(lambda _, given, output: rows.append(given[0].shape[0]))
    capabilities(model).scorer(Prompt(TEXT)).scores([Edits.parse(f"e1.{head}z") for head in range(3)])
    assert rows == [1, 1]
    monkeypatch.setattr(scoring, "_ready", set())
    capabilities(model).scorer(Prompt(TEXT)).scores([Edits.parse(f"e1.{head}z") for head in range(3)])
    assert rows == [1, 1, 1, 3]


def test_another_thread_widens_nothing(unchecked):
    model = attnviz.wrap(tiny.FAMILIES[0].model(), tiny.tokenizer())
    actual = []
    with scoring.widening(0, 7):
        thread = threading.Thread(target=lambda: actual.append(model.trace(TEXT).encoder.weights(1, 2)))
        thread.start()
        thread.join()
    np.testing.assert_array_equal(actual[0], model.trace(TEXT).encoder.weights(1, 2))
