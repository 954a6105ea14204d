"""Every model computes on a graphics card what it computes here, and nothing of it meets a tensor that stayed behind.

The card is pretended (`tests.pretend_gpu`), so that the test needs none: an operation on tensors of two devices raises.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnviz
from attnviz import Edits, HeadSet, LinkCut, Prompt
from attnviz.attribution.methods import METHODS
from attnviz.core.errors import AttnvizError
from attnviz.models.capabilities import bind_target
from attnviz.models.saved_models import load_trained
from attnviz.models.translate.decode import draft
from attnviz.models.translate.draft import DecodingOptions
from attnviz.models.whatif.head_costs import head_costs
from attnviz.nn.seq2seq import Seq2Seq
from tests import tiny
from tests.answerers import tiny_answerer, tiny_hub_answerer
from tests.contract.test_every_method import whole
from tests.pretend_gpu import DEVICE, OnTheCard, move, pretend_gpu
from tests.summarizers import tiny_summarizer
from tests.translators import tiny_translator

# Short: every operation on the pretended card takes a hundred times as long.
TEXT = Prompt("the cat sat", pair="the dog ran")
ANSWER = Prompt("The cat sat in 1887.", question="When?")
SUMMARY = Prompt("The cat sat. It was tired.")
OWN: dict[str, tuple[Callable[[Path], Path], Prompt]] = {
    **{
        kind: (lambda folder, kind=kind: tiny_translator(folder, kind), Prompt("The red car."))
        for kind in ("additive", "transformer")
    },
    # Of the embedded encoder's six layers, which are alike, the first three.
    "joint": (lambda folder: tiny_answerer(folder, depth=3), ANSWER),
    "dual": (lambda folder: tiny_answerer(folder, joint=False, depth=3), ANSWER),
    "summarizer": (lambda folder: tiny_summarizer(folder), SUMMARY),
}
# Encoders, decoders and both; with biases, grouped heads, soft caps and relative positions.
CHOSEN = ("bert", "distilbert", "modernbert", "gpt2", "llama", "gemma2", "bart", "t5")
FAMILIES = [family for family in tiny.FAMILIES if family.name in CHOSEN]


pytestmark = pytest.mark.usefixtures("unchecked", "brief")


def computed(model: Any, prompt: Prompt) -> list[np.ndarray]:
    """All numbers of a model's traces, without edits and with them; of its attribution, its ablation, and of what it writes."""
    trace = model.trace(prompt)
    kind = trace.maps[-1].kind
    edits = Edits((HeadSet(kind, 0, 0, "mean"), LinkCut(kind, 0, 0, 1, 1)))
    traces = [trace, model.trace(prompt, edits=edits)]
    numbers = [each.layer_weights(layer) for one in traces for each in one.maps for layer in range(each.n_layers)]
    if not isinstance(getattr(model, "model", None), Seq2Seq) and model.card.name != "dual":
        # A recurrent network has one head, which its edits have asked; the heads of an answerer are those of "joint".
        numbers += list(head_costs(model, prompt).costs.values())
    if "cross" in trace.kinds and not prompt.question:
        written = draft(model, prompt, DecodingOptions(width=2), edits)
        numbers.append(np.array([written.log_probability]))
    bound = bind_target(model, prompt)
    for name in ("attention", "frozen-gradient", "value-norms", "leave-one-out"):
        # A way that does not apply says so here, too.
        with suppress(AttnvizError):
            numbers.append(METHODS[name].compute(bound).values)
    return numbers


def assert_the_same_on_a_card(model: Any, prompt: Prompt) -> None:
    here = computed(model, prompt)
    with pretend_gpu():
        move(model)
        there = computed(model, prompt)
    assert len(here) == len(there)
    for one, other in zip(here, there, strict=True):
        np.testing.assert_allclose(other, one, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("name", OWN)
def test_our_models_compute_the_same_there(name: str, tmp_path: Path) -> None:
    made, prompt = OWN[name]
    assert_the_same_on_a_card(load_trained(made(tmp_path / name)), prompt)


def test_answerers_of_the_hub_compute_the_same_there(tmp_path: Path) -> None:
    tiny_hub_answerer(tmp_path)
    assert_the_same_on_a_card(attnviz.load(str(tmp_path)), ANSWER)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_families_of_the_hub_compute_the_same_there(family: tiny.Family, monkeypatch: pytest.MonkeyPatch) -> None:
    # A random model that writes never comes to an end by itself.
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "4")
    prompts = {tiny.SEQ2SEQ: Prompt(TEXT.text, target="the dog ran"), tiny.DECODER: Prompt(TEXT.text)}
    model = whole(family)
    assert_the_same_on_a_card(attnviz.wrap(model, tiny.tokenizer(family.architecture)), prompts.get(family.architecture, TEXT))


def test_the_card_refuses_what_a_real_one_refuses() -> None:
    with pretend_gpu():
        there = torch.ones(3, device=DEVICE)
        assert isinstance(there, OnTheCard)
        assert there.device == DEVICE
        assert (there + 1).cpu().tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match="two devices"):
            _ = there + torch.ones(3)
        with pytest.raises((RuntimeError, TypeError)):
            there.numpy()
