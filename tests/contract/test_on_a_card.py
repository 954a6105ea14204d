"""Every model computes on a graphics card what it computes here, and nothing of it meets a tensor that stayed behind.

The card is pretended (`tests.pretend_gpu`), so that the test needs none: an operation on tensors of two devices raises.
"""

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz import Edits, HeadSet, LinkCut, Prompt
from attnviz.attribution.methods import METHODS
from attnviz.core.errors import AttnvizError, ModelError
from attnviz.models import device
from attnviz.models.base import DecodingOptions
from attnviz.models.capabilities import bind_target
from attnviz.models.shipped_models import load_trained
from attnviz.models.tasks import draft
from attnviz.models.whatif import head_costs
from attnviz.nn.lstm_translator import Seq2Seq
from tests import tiny
from tests.answerers import tiny_answerer, tiny_hub_answerer
from tests.contract.test_every_method import whole
from tests.pretend_gpu import CARD, DEVICE, Card, OnTheCard, move, pretend_gpu
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


@pytest.mark.gate
@pytest.mark.parametrize("name", OWN)
def test_our_models_compute_the_same_there(name: str, tmp_path: Path) -> None:
    made, prompt = OWN[name]
    assert_the_same_on_a_card(load_trained(made(tmp_path / name)), prompt)


@pytest.mark.gate
def test_answerers_of_the_hub_compute_the_same_there(tmp_path: Path) -> None:
    tiny_hub_answerer(tmp_path)
    assert_the_same_on_a_card(attnviz.load(str(tmp_path)), ANSWER)


@pytest.mark.parametrize(
    "family",
    [pytest.param(each, marks=() if each.name in ("bert", "llama") else pytest.mark.gate, id=str(each)) for each in FAMILIES],
)
def test_families_of_the_hub_compute_the_same_there(family: tiny.Family, monkeypatch: pytest.MonkeyPatch) -> None:
    # A random model that writes never comes to an end by itself.
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "4")
    prompts = {tiny.SEQ2SEQ: Prompt(TEXT.text, target="the dog ran"), tiny.DECODER: Prompt(TEXT.text)}
    model = whole(family)
    assert_the_same_on_a_card(attnviz.wrap(model, tiny.tokenizer(family.architecture)), prompts.get(family.architecture, TEXT))


@pytest.mark.gate
@pytest.mark.parametrize("method", ["gradient-norm", "gradient-input", "integrated-gradients"])
def test_a_recurrent_translator_is_followed_backwards_there(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnviz.attribution.gradients.POINTS", 2)
    model, prompt = load_trained(tiny_translator(tmp_path, "additive")), Prompt("The red car.", target="Le car.")
    here = METHODS[method].compute(bind_target(model, prompt)).values
    with pretend_gpu():
        move(model)
        there = METHODS[method].compute(bind_target(model, prompt)).values
    np.testing.assert_allclose(there, here, atol=1e-5, rtol=1e-4)


def test_an_lstm_in_evaluation_has_no_way_back_there() -> None:
    lstm = torch.nn.LSTM(3, 5).eval()
    with pretend_gpu():
        states = OnTheCard(torch.ones(2, 1, 3)).requires_grad_()
        weights: list[torch.Tensor] = [OnTheCard(each.detach()) for each in lstm.parameters()]
        start = OnTheCard(torch.zeros(1, 1, 5))
        out, *_ = torch.lstm(states, (start, start), weights, True, 1, 0.0, False, False, False)
        with pytest.raises(RuntimeError, match="only be called in training mode"):
            out.sum().backward()


# As many as the tiny tokenizers have.
N_PIECES = len(tiny.tokenizer())
LOOK_UPS: dict[str, Callable[[], Any]] = {
    "a segment": lambda: hf.BertModel(hf.BertConfig(**{**tiny._BERT, "vocab_size": N_PIECES, "type_vocab_size": 1})),
    "a piece": lambda: hf.BertModel(hf.BertConfig(**{**tiny._BERT, "vocab_size": N_PIECES})),
    "I-BERT's segment": lambda: hf.IBertModel(hf.IBertConfig(**tiny._BERT | {"vocab_size": N_PIECES, "type_vocab_size": 1})),
}


@pytest.mark.parametrize("missing", LOOK_UPS)
def test_a_row_that_is_not_there_does_not_cost_the_card(missing: str) -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.add_tokens(["zx"])
    model = attnviz.wrap(LOOK_UPS[missing](), tokenizer)
    with pretend_gpu():
        move(model)
        with pytest.raises(ModelError, match=r"do not (have|belong)"):
            model.trace(Prompt("the zx sat" if missing == "a piece" else "the cat", pair="a dog"))
        with pytest.raises(ModelError, match="do not"):
            list(model.trace_all(["the zx sat", "cat"]))
        assert not CARD.is_lost
        assert model.trace(Prompt("the cat")).encoder.n_layers == 2


LONG, SHORT = Prompt("the cat sat on the mat because it was too tired to run " * 4), Prompt("the cat")


def until_full(work: Callable[[], object]) -> list[MemoryError]:
    """Do work that does not fit; the errors are kept, as a notebook keeps the last one."""
    errors: list[MemoryError] = []
    try:
        work()
    except MemoryError as error:
        errors.append(error)
    return errors


@pytest.mark.parametrize(
    ("work", "keeps_errors"),
    [
        (lambda model: model.trace(LONG), True),
        (lambda model: list(model.trace_all([LONG.text, SHORT.text])), True),
        # What was bound for them, the errors of these still know.
        (lambda model: METHODS["gradient-input"].compute(bind_target(model, LONG)), False),
        (lambda model: head_costs(model, LONG), False),
    ],
    ids=["trace", "many", "gradients", "costs"],
)
def test_a_text_that_does_not_fit_leaves_nothing(work: Callable[[Any], object], keeps_errors: bool) -> None:
    model = attnviz.wrap(whole(tiny.FAMILY["gpt2"]), tiny.tokenizer(tiny.DECODER))
    with pretend_gpu():
        move(model)
        model.trace(SHORT)
        gc.collect()
        before = CARD.live_bytes()
        CARD.most_bytes = before + 40_000
        errors = until_full(lambda: work(model))
        sentences = [str(each) for each in errors]
        if not keeps_errors:
            errors.clear()
            gc.collect()
        # Where they are kept, no garbage is looked for: what fails lets go of all by itself.
        after = CARD.live_bytes()
        assert sentences == ["This needs more memory than there is: try a shorter text or a smaller model."]
        assert after <= before
        assert model.trace(SHORT).decoder.n_layers == 2


@pytest.mark.gate
def test_eight_texts_at_once_that_do_not_fit_leave_nothing() -> None:
    model = attnviz.wrap(whole(tiny.FAMILY["gpt2"]), tiny.tokenizer(tiny.DECODER))
    with pretend_gpu():
        move(model)
        before, CARD.most_bytes = CARD.live_bytes(), CARD.live_bytes() + 40_000

        def run(number: int) -> list[MemoryError]:
            with Card():
                return until_full(lambda: model.trace(LONG))

        with ThreadPoolExecutor(8) as threads:
            errors = [error for some in threads.map(run, range(8)) for error in some]
        assert len(errors) == 8
        assert CARD.live_bytes() <= before
        assert model.trace(SHORT).decoder.n_layers == 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_trace_copies_what_was_computed_and_waits_three_times_at_most(dtype: torch.dtype) -> None:
    model = attnviz.wrap(whole(tiny.FAMILY["gpt2"]).to(dtype), tiny.tokenizer(tiny.DECODER))
    with pretend_gpu():
        move(model)
        CARD.copies.clear()
        CARD.waits = 0
        there = model.trace(SHORT)
        vectors = [nbytes for kind, nbytes, later in CARD.copies if later and kind == dtype]
        # Two layers of queries, keys and values: two tokens of fifteen numbers each.
        assert vectors[:6] == 6 * [len(there.decoder.queries) * 15 * dtype.itemsize]
        # And the largest number of each, which tells that all are numbers.
        assert vectors[6:] == ([6 * 4] if dtype == torch.float32 else [])
        assert CARD.waits <= 3
    assert np.isfinite(there.decoder.layer_weights(1)).all()


@pytest.mark.gate
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "bert", "t5"])
def test_heads_of_a_long_text_are_computed_there(name: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    family = tiny.FAMILY[name]
    model = attnviz.wrap(whole(family).to(dtype), tiny.tokenizer(family.architecture))
    prompt = Prompt(TEXT.text, target="the dog ran" if family.architecture == tiny.SEQ2SEQ else None)
    with pretend_gpu():
        move(model)
        maps = model.trace(prompt).maps
        # Below the size of a long text, what the vectors on this machine give.
        here = [[each.layer_weights(layer) for layer in range(each.n_layers)] for each in maps]
        monkeypatch.setattr(device, "LEAST_CELLS", 1)
        # A head at a time.
        monkeypatch.setattr(device, "MOST_CELLS", 1)
        for attention, layers in zip(maps, here, strict=True):
            CARD.copies.clear()
            CARD.waits = 0
            for layer, want in enumerate(layers):
                np.testing.assert_allclose(attention.layer_weights(layer), want, atol=1e-6)
                np.testing.assert_allclose(attention.weights(layer, 1), want[1], atol=1e-6)
                for slab in attention.slabs(layer, 1):
                    np.testing.assert_allclose(slab.weights, want[1][slab.rows, : slab.weights.shape[1]], atol=1e-6)
                    shares = np.where(slab.weights > 0, slab.weights, 1)
                    assert slab.entropy is not None
                    np.testing.assert_allclose(slab.entropy, -(slab.weights * np.log(shares)).sum(axis=1), atol=1e-5)
            # Weights and entropies of all heads, of one, and of one: each with a single wait. A bias stays here.
            is_there = name != "t5" or attention.kind == "cross"
            assert len(CARD.copies) == is_there * 2 * (attention.n_heads + 2) * len(layers)
            assert CARD.waits == is_there * 3 * len(layers)


def test_a_sink_and_rows_that_see_nothing_are_computed_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "LEAST_CELLS", 1)
    query, key, value = torch.randn(6, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 3)
    visible = torch.rand(5, 7).numpy() > 0.4
    visible[2] = False
    facts = {"scaling": 0.5, "causal": False, "visible": visible, "bias": None, "softcap": 3.0}
    with pretend_gpu():
        for sink in (None, torch.randn(6).numpy()):
            layer = device.CardLayer(DEVICE, query, key, value, {**facts, "sink": sink})
            computed = layer.compute(slice(1, 5))
            assert computed is not None
            np.testing.assert_allclose(computed[0], layer.converted.weights(slice(1, 5)), atol=1e-6)


def test_what_nobody_reads_stays_in_the_type_of_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    model = attnviz.wrap(whole(tiny.FAMILY["gpt2"]).to(torch.bfloat16), tiny.tokenizer(tiny.DECODER))
    with pretend_gpu():
        move(model)
        store = model.trace(SHORT).decoder.store
        held = store.nbytes
        # Two layers of queries, keys and values: two tokens of fifteen numbers of two bytes each.
        assert held == 6 * 2 * 15 * 2
        store.head(1, 0)
        assert store.nbytes == held + 3 * 2 * 15 * 4


def test_a_full_card_leaves_heads_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "LEAST_CELLS", 1)
    model = attnviz.wrap(whole(tiny.FAMILY["gpt2"]), tiny.tokenizer(tiny.DECODER))
    with pretend_gpu():
        move(model)
        trace = model.trace(SHORT)
        want = trace.decoder.layer_weights(1)
        CARD.most_bytes = CARD.live_bytes()
        np.testing.assert_allclose(trace.decoder.layer_weights(1), want, atol=1e-6)


def test_a_number_that_is_none_is_found_on_the_card() -> None:
    model = attnviz.wrap(whole(tiny.FAMILY["gpt2"]), tiny.tokenizer(tiny.DECODER))
    with pretend_gpu():
        move(model)
        with torch.no_grad():
            model.model.transformer.wte.weight.held.fill_(torch.nan)
        with pytest.raises(AttnvizError, match="not finite"):
            model.trace(SHORT)


def test_after_an_index_out_of_range_the_card_is_lost() -> None:
    with pretend_gpu():
        table = OnTheCard(torch.ones(3, 2))
        with pytest.raises(RuntimeError, match="device-side assert"):
            torch.nn.functional.embedding(OnTheCard(torch.tensor([3])), table)
        with pytest.raises(RuntimeError, match="device-side assert"):
            _ = table + 1


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
