"""Every model computes on a real graphics card what it computes on the processor, within `BOUND`.

`make test DEVICE=cuda` runs this; without make, `DEVICE=cuda python -m pytest tests/contract/test_real_card.py`. The pretended
card of `test_on_a_card.py` has the same contract on every machine, of tiny models.
"""

import gc
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz import Edits, HeadSet, LinkCut, Prompt
from attnviz.analysis.heads.atlas import word_attention
from attnviz.attribution.methods import METHODS
from attnviz.core.edits import NO_EDITS
from attnviz.core.errors import AttnvizError, ModelError
from attnviz.models import device
from attnviz.models.base import DecodingOptions
from attnviz.models.capabilities import bind_target
from attnviz.models.tasks import draft
from attnviz.models.whatif import head_costs
from attnviz.survey.corpus_survey import read_part
from attnviz.survey.self_attention import self_attention
from attnviz.text.corpora import TREEBANK, shipped
from tests import tiny
from tests.contract import test_every_model
from tests.contract.test_on_a_card import LOOK_UPS, until_full

# Of the largest number, where that is above 1.
BOUND = 1e-4
# Which device is held against the processor: a name of PyTorch's.
DEVICE = os.environ.get("DEVICE", "")
TEXT = "The trophy did not fit in the suitcase because it was too big."
ADA = Prompt("Ada Lovelace wrote the first program in 1843 for a machine that was never built.", question="Who wrote it?")
PROMPTS = {
    "minilm": Prompt(TEXT, pair="What was too big?"),
    "answer-en": ADA,
    "answer-en-dual": ADA,
    "summarize-en": Prompt("The mayor opened the bridge on Monday. It had taken nine years to build. Crowds came early."),
}
RECURRENT = ("bahdanau", "bilstm", "dot-lstm")

pytestmark = [
    pytest.mark.skipif(not DEVICE, reason="tests compute on the processor; on a machine with a card: make test DEVICE=cuda"),
    pytest.mark.usefixtures("unchecked"),
]
each_model = pytest.mark.parametrize("name", attnviz.available())
on_cuda = pytest.mark.skipif(not DEVICE.startswith("cuda"), reason="only memory of CUDA can be bounded")


@pytest.fixture(scope="module", autouse=True)
def _there() -> None:
    """End the run in one sentence where the device is not there."""
    try:
        torch.empty(1, device=DEVICE)
    except (RuntimeError, AssertionError):
        pytest.exit(f"DEVICE={DEVICE}: this machine has no such device; leave DEVICE out, or name one that it has.", 1)


@pytest.fixture
def _on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_DEVICE", DEVICE)


@cache
def loaded(name: str, where: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNVIZ_DEVICE", where)
        return attnviz.load(name)


def prompt_of(name: str) -> Prompt:
    return PROMPTS.get(name, Prompt(TEXT))


Numbers = dict[str, np.ndarray]


def assert_the_same(name: str, compute: Callable[[Any], Numbers]) -> None:
    """Hold what is computed on the device against the processor's; what is refused there is refused here in the same words."""
    here, there = (_computed(compute, loaded(name, where)) for where in ("cpu", DEVICE))
    if isinstance(here, str) or isinstance(there, str):
        assert there == here
        return
    assert list(there) == list(here)
    for key, want in here.items():
        largest = np.abs(want[np.isfinite(want)]).max(initial=1)
        np.testing.assert_allclose(there[key], want, atol=BOUND * largest, rtol=0, err_msg=key)


def _computed(compute: Callable[[Any], Numbers], model: Any) -> Numbers | str:
    try:
        return compute(model)
    except AttnvizError as error:
        return str(error)


def traced(model: Any, prompt: Prompt, edits: Edits = NO_EDITS) -> Numbers:
    trace = model.trace(prompt, edits=edits)
    layers = {f"{each.kind}, layer {layer}": each.layer_weights(layer) for each in trace.maps for layer in range(each.n_layers)}
    # What it says is compared as numbers, too: its characters.
    return {"output": np.frombuffer(trace.output.encode("utf-32-le"), np.uint32).astype(float), **layers}


@each_model
def test_outputs_and_weights_are_the_same(name: str) -> None:
    model = loaded(name, DEVICE)
    assert model.card.device.startswith(DEVICE)
    assert_the_same(name, lambda model: traced(model, prompt_of(name)))


@each_model
def test_edits_are_the_same(name: str) -> None:
    kind = loaded(name, "cpu").trace(prompt_of(name)).maps[-1].kind
    edits = Edits((HeadSet(kind, 0, 0, "mean"), LinkCut(kind, 0, 0, 1, 1)))
    assert_the_same(name, lambda model: traced(model, prompt_of(name), edits))


@each_model
def test_costs_of_heads_are_the_same(name: str) -> None:
    assert_the_same(name, lambda model: dict(head_costs(model, prompt_of(name)).costs))


@pytest.mark.parametrize("method", METHODS)
@each_model
def test_a_method_gives_the_same_shares(name: str, method: str) -> None:
    assert_the_same(name, lambda model: {"shares": METHODS[method].compute(bind_target(model, prompt_of(name))).values})


@pytest.mark.parametrize("name", [name for name in attnviz.available() if "-en-" in name])
def test_a_search_finds_the_same(name: str) -> None:
    def written(model: Any) -> Numbers:
        made = draft(model, prompt_of(name), DecodingOptions(width=4))
        return {made.trace.output: np.array([made.log_probability])}

    assert_the_same(name, written)


@pytest.mark.parametrize("name", [name for name in attnviz.available() if not name.startswith(RECURRENT)])
def test_what_claims_and_surveys_count_is_the_same(name: str) -> None:
    sentences = shipped(TREEBANK)[:12]

    def counted(model: Any) -> Numbers:
        texts = [each.text for each in sentences]
        read = sorted(self_attention(model, texts))
        words = {f"sentence {place}": word_attention(each, sentences[place]).weights for place, each in read}
        statistics, _ = read_part(model, texts)
        return {**words, "means": statistics.means, "histogram": statistics.histogram}

    assert_the_same(name, counted)


@pytest.mark.usefixtures("_on_the_device")
@pytest.mark.parametrize("family", tiny.FAMILIES, ids=str)
def test_a_family_of_the_hub_is_shown_as_it_computes_there(
    family: tiny.Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A random model that writes never comes to an end by itself.
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "17")
    # As of a long text: heads are computed on the card, one at a time.
    monkeypatch.setattr(device, "LEAST_CELLS", 1)
    monkeypatch.setattr(device, "MOST_CELLS", 1)
    for number, check in enumerate(
        (
            test_every_model.assert_a_folder_shows_what_the_eager_model_computes,
            test_every_model.assert_shown_as_it_computes,
        )
    ):
        check(family, tmp_path / str(number), DEVICE)
    for side in ("left", "right"):
        test_every_model.assert_a_padded_batch_is_read_row_by_row(family, side, DEVICE)


@pytest.mark.parametrize("missing", LOOK_UPS)
def test_a_row_that_is_not_there_does_not_cost_the_device(missing: str) -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.add_tokens(["zx"])
    model = attnviz.wrap(LOOK_UPS[missing]().to(DEVICE), tokenizer)
    with pytest.raises(ModelError, match=r"do not (have|belong)"):
        model.trace(Prompt("the zx sat" if missing == "a piece" else "the cat", pair="a dog"))
    assert model.trace(Prompt("the cat")).encoder.n_layers == 2


N_LONG = 2048
LONG, MIDDLE, SHORT = (Prompt("the cat " * (size // 2)) for size in (N_LONG, 128, 2))
# Bytes that are free: `LONG` takes 25 MB in a layer, some times over; `MIDDLE` a sixteenth.
ROOM = 32 * 2**20


@contextmanager
def little_room() -> Iterator[None]:
    """Let the device seem to have little memory left."""
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + ROOM) / total)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@cache
def _long_reader() -> Any:
    config = hf.GPT2Config(vocab_size=tiny.VOCABULARY, n_positions=N_LONG, n_embd=768, n_layer=3, n_head=12)
    return attnviz.wrap(hf.GPT2LMHeadModel(config).to(DEVICE).eval(), tiny.tokenizer(tiny.DECODER))


WORK: dict[str, Callable[[Any, Prompt], object]] = {
    "trace": lambda model, prompt: model.trace(prompt),
    "many": lambda model, prompt: list(model.trace_all([prompt.text, SHORT.text])),
    "gradients": lambda model, prompt: METHODS["gradient-input"].compute(bind_target(model, prompt)),
    "costs": head_costs,
}


@on_cuda
@pytest.mark.parametrize("work", WORK)
def test_a_text_that_does_not_fit_leaves_nothing(work: str) -> None:
    model, run = _long_reader(), WORK[work]
    # What libraries allocate once is there from then on.
    run(model, MIDDLE)
    gc.collect()
    with little_room():
        before = torch.cuda.memory_allocated()
        errors = until_full(lambda: run(model, LONG))
        assert [str(each) for each in errors] == [
            "This needs more memory than there is: try a shorter text or a smaller model."
        ]
        if work not in ("trace", "many"):
            # What was bound for them, the errors of these still know.
            errors.clear()
            gc.collect()
        assert torch.cuda.memory_allocated() <= before
        assert model.trace(SHORT).decoder.n_layers == 3


@on_cuda
def test_eight_texts_at_once_that_do_not_fit_leave_nothing() -> None:
    model = _long_reader()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(model.trace, [MIDDLE] * 32))
        gc.collect()
        with little_room():
            before = torch.cuda.memory_allocated()
            errors = [each for some in threads.map(lambda _: until_full(partial(model.trace, LONG)), range(8)) for each in some]
            assert len(errors) == 8
            assert torch.cuda.memory_allocated() <= before
            assert model.trace(SHORT).decoder.n_layers == 3
    assert device.choose().type == "cpu"
