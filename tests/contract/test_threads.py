"""Several people ask one model at a time: each gets exactly what each gets alone, with edits and without."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnviz
from attnviz import Edits, HeadSet, Prompt, WordHidden
from attnviz.models.shipped import load_trained
from tests import tiny
from tests.answerers import tiny_answerer
from tests.summarizers import tiny_summarizer
from tests.translators import KINDS, tiny_translator

ROUNDS = int(os.environ.get("ATTNVIZ_TEST_ROUNDS", "300"))
MODELS: dict[str, tuple[Callable[[Path], Any], int]] = {
    "bert": (lambda folder: attnviz.wrap(tiny.FAMILIES[0].model(), tiny.tokenizer()), ROUNDS),
    **{kind: (lambda folder, kind=kind: load_trained(tiny_translator(folder, kind)), 2) for kind in KINDS},
    "answerer": (lambda folder: load_trained(tiny_answerer(folder)), 5),
    "summarizer": (lambda folder: load_trained(tiny_summarizer(folder)), 5),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", MODELS)
def test_each_gets_what_each_gets_alone(name: str, tmp_path: Path) -> None:
    make, rounds = MODELS[name]
    model = make(tmp_path / "model")
    asking = "What was new?" if "question" in model.card.reads else None
    one, other = (Prompt(text, question=asking) for text in ("The red car is not new.", "A dog ate. It was not red, was it?"))
    kind = model.trace(one).kinds[0]
    asked = [(one, Edits()), (one, Edits((HeadSet(kind, 0, 0, "uniform"),))), (other, Edits((WordHidden(kind, 1),)))]

    def weights(prompt: Prompt, edits: Edits) -> list[np.ndarray]:
        return [each.layer_weights(layer) for each in model.trace(prompt, edits).maps for layer in range(each.n_layers)]

    alone = [weights(*each) for each in asked]
    wrong: list[int] = []

    def ask_often(mine: int) -> None:
        torch.set_num_threads(1)
        for _ in range(rounds):
            if not all(map(np.array_equal, weights(*asked[mine]), alone[mine])):
                wrong.append(mine)

    threads = [threading.Thread(target=ask_often, args=(mine,)) for mine in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert all(map(np.array_equal, weights(*asked[0]), alone[0]))
