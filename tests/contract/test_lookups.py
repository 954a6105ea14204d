"""No text makes a model look for a row that its tables do not have, for a graphics card would never compute again.

A processor refuses such a look-up by itself, so that it can be found without a card: here every table takes itself to be on
one, and whatever still reaches PyTorch's own refusal would have ended a process that computes on a card.
"""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz.attribution.methods import METHODS
from attnviz.attribution.token_removal import without_words
from attnviz.core.errors import AttnvizError, ModelError
from attnviz.core.trace import Prompt
from attnviz.models import device
from attnviz.models.base import DecodingOptions
from attnviz.models.capabilities import bind_target, capabilities
from attnviz.models.tasks import run_task, with_readings
from attnviz.models.whatif import head_costs
from attnviz.nn.decoding import Beam
from tests import tiny

pytestmark = pytest.mark.usefixtures("unchecked")
# As many as the tiny tokenizers have; and their words alone, without the letters that come after them.
PIECES, FEWER = len(tiny.tokenizer()), 40
TEXTS = ("the cat sat", "the q sat on zx", "cat " * 70, "[MASK] sat", "dog")
# A model with a mistake in each of its tables and settings, one at a time.
MISTAKES: dict[str, dict[str, Any]] = {
    "none": {},
    "pieces": {"vocab_size": FEWER},
    "positions": {"max_position_embeddings": 18, "n_positions": 18},
    "segments": {"type_vocab_size": 1},
    "start": {"decoder_start_token_id": 96},
    "forced": {"forced_eos_token_id": 5000},
    "end": {"eos_token_id": 500},
    "decoder": {"decoder_vocab_size": 30, "share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
}
# What transformers itself says of a configuration that is none.
NOT_MADE = (ValueError, AssertionError, AttributeError, IndexError, RuntimeError, TypeError)
NAMES = ("bert", "roberta", "electra", "albert", "distilbert", "gpt2", "opt", "bart", "marian", "m2m-100", "pegasus", "t5")
LED = hf.LEDConfig(
    vocab_size=PIECES, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
    encoder_ffn_dim=11, decoder_ffn_dim=11, max_encoder_position_embeddings=64, max_decoder_position_embeddings=16,
    attention_window=8, pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2,
)  # fmt: skip
QUANTIZED = hf.IBertConfig(
    vocab_size=FEWER, hidden_size=16, num_attention_heads=2, num_hidden_layers=1, intermediate_size=11,
    max_position_embeddings=20, pad_token_id=1,
)  # fmt: skip
ANSWERER = hf.BertConfig(**{**tiny._BERT, "vocab_size": PIECES, "type_vocab_size": 1})


def _model(name: str, mistake: str, top: str) -> Any:
    if name == "led":
        return hf.LEDForConditionalGeneration(LED)
    if name == "ibert":
        return hf.IBertModel(QUANTIZED)
    if name == "answerer":
        return hf.BertForQuestionAnswering(ANSWERER)
    family = tiny.FAMILY[name]
    config = family.config()
    # Which words a name stands for, is a matter of each family; what it does not know, it passes by.
    for setting, value in ({"vocab_size": PIECES} | MISTAKES[mistake]).items():
        if hasattr(config, setting):
            setattr(config, setting, value)
    if config.pad_token_id is not None and mistake == "pieces":
        config.pad_token_id = min(config.pad_token_id, FEWER - 1)
    kind = {
        "bare": hf.AutoModel,
        "labels": hf.AutoModelForSequenceClassification,
        "words": {tiny.ENCODER: hf.AutoModelForMaskedLM, tiny.DECODER: hf.AutoModelForCausalLM}.get(
            family.architecture, hf.AutoModelForSeq2SeqLM
        ),
    }[top]
    return kind.from_config(config, attn_implementation="eager")


def _tokenizer(name: str, odd: str) -> Any:
    family = tiny.FAMILY.get(name)
    made = tiny.tokenizer({"led": tiny.SEQ2SEQ}.get(name, family.architecture if family else tiny.ENCODER))
    if odd == "pad":
        made.add_special_tokens({"pad_token": "[MY PAD]"})
    elif odd == "mask":
        made.add_special_tokens({"mask_token": "[MY MASK]"})
    elif odd == "words":
        made.add_tokens(["zx"])
    return made


def _method(name: str) -> Callable[[Any, Prompt], object]:
    return lambda model, prompt: METHODS[name].compute(bind_target(model, prompt))


WAYS: dict[str, Callable[[Any, Prompt], object]] = {
    "trace": lambda model, prompt: model.trace(prompt),
    "trace many": lambda model, prompt: list(model.trace_all([prompt.text, "the cat", "a dog ran too"])),
    "targets": lambda model, prompt: [bind_target(model, prompt, each) for each in model.targets(prompt)],
    "what if": lambda model, prompt: head_costs(model, prompt),
    "edited": lambda model, prompt: model.trace(prompt, edits="e0.0z"),
    "patched": lambda model, prompt: model.trace(prompt, edits='e0.0p"the q zx"'),
    "reading": lambda model, prompt: with_readings(model, run_task(model, "encode", prompt)),
    "translate": lambda model, prompt: run_task(model, "translate", prompt, options=DecodingOptions(width=2)),
    "prefix": lambda model, prompt: model.translator().translate(prompt.text, Beam(width=1), tuple(range(5, 19))),
    "answer": lambda model, prompt: model.answers(prompt),
    "inside": lambda model, prompt: capabilities(model).attended(prompt),
    "left out": _method("leave-one-out"),
    "gradients": _method("integrated-gradients"),
    "attention": _method("attention"),
    "without words": lambda model, prompt: without_words(model, prompt, "", (0, 1)),
    "fresh": lambda model, prompt: model.untrained(7).trace(prompt),
}


# What a stranger's generation_config.json may name that its model does not have.
GENERATION = (
    "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id", "pad_token_id", "bos_token_id", "eos_token_id",
    "suppress_tokens", "begin_suppress_tokens", "bad_words_ids", "exponential_decay_length_penalty", "max_length",
)  # fmt: skip
# A configuration's settings by which its tables get their sizes, or by which they are looked up.
SIZES = (
    "vocab_size", "max_position_embeddings", "n_positions", "type_vocab_size", "decoder_vocab_size", "d_vocab",
    "relative_attention_num_buckets", "max_relative_positions", "position_buckets",
)  # fmt: skip
MARKS = (
    "pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id",
    "mask_token_id", "sep_token_id", "cls_token_id",
)  # fmt: skip


def save_stranger(draw: random.Random, folder: Path) -> str:
    """Save a random checkpoint whose tables, marks and tokenizer need not belong together; say what it is."""
    family = draw.choice(tiny.FAMILIES)
    config = family.config()
    changed = {name: draw.choice((1, 3, 17, FEWER, PIECES, 2 * PIECES)) for name in SIZES if draw.random() < 0.2}
    marks = {name: draw.choice((-1, 0, 2, FEWER, PIECES, 5000)) for name in MARKS if draw.random() < 0.15}
    for name, value in changed.items():
        if hasattr(config, name):
            setattr(config, name, value)
    kinds = {
        tiny.ENCODER: (hf.AutoModel, hf.AutoModelForMaskedLM, hf.AutoModelForSequenceClassification,
                       hf.AutoModelForQuestionAnswering),
        tiny.DECODER: (hf.AutoModel, hf.AutoModelForCausalLM),
        tiny.SEQ2SEQ: (hf.AutoModel, hf.AutoModelForSeq2SeqLM),
    }[family.architecture]  # fmt: skip
    torch.manual_seed(draw.randrange(1000))
    draw.choice(kinds).from_config(config).save_pretrained(folder)
    # The weights are as before, whatever the marks say now.
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(settings | marks), encoding="utf-8")
    ids = {name: _generation_setting(name, draw.choice((-1, 2, PIECES, 5000))) for name in GENERATION if draw.random() < 0.2}
    (folder / "generation_config.json").write_text(json.dumps(ids), encoding="utf-8")
    own = tiny.tokenizer(draw.choice((family.architecture, family.architecture, tiny.ENCODER, tiny.DECODER, tiny.SEQ2SEQ)))
    own.add_tokens([f"zx{number}" for number in range(draw.choice((0, 0, 1, 60)))])
    odd = {name: f"[{name}]" for name in ("pad_token", "mask_token", "eos_token", "unk_token") if draw.random() < 0.15}
    own.add_special_tokens(odd)
    own.save_pretrained(folder)
    return f"{family}, {changed}, {marks}, {ids}, {odd}"


def _generation_setting(name: str, number: int) -> Any:
    if name == "exponential_decay_length_penalty":
        return [number, 1.1]
    return [[number]] if name == "bad_words_ids" else [number] if "suppress" in name else number


def reaches_a_table(error: BaseException | None) -> bool:
    """Whether PyTorch, not attnviz, has refused a look-up."""
    while error is not None:
        if not isinstance(error, AttnvizError) and ("out of range" in str(error) or "out of bounds" in str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def look_up(seed: int) -> str:
    """Run a model with a mistake in one way; return what came of it: "shown", or the sentence."""
    draw = random.Random(seed)
    name = draw.choice([*NAMES, "led", "ibert", "answerer"])
    top, mistake, odd = (
        draw.choice(("bare", "labels", "words")),
        draw.choice(list(MISTAKES)),
        draw.choice(["", "pad", "mask", "words"]),
    )
    text, pair, target = draw.choice(TEXTS), draw.choice([None, *TEXTS]), draw.choice([None, *TEXTS])
    prompt = Prompt(text, pair=pair, target=target, question="what sat?" if name == "answerer" else None)
    way = draw.choice(list(WAYS))
    try:
        model = _model(name, mistake, top)
    except NOT_MADE:
        return "no such model"
    case = f"{seed}: {name}, {top}, {mistake}, {odd}, {way}, {prompt}"
    return _outcome(case, lambda: WAYS[way](attnviz.wrap(model, _tokenizer(name, odd)), prompt))


def look_up_in_folder(seed: int, folder: Path) -> str:
    """Load a stranger's folder and go one way with it; return what came of it, as `look_up` does."""
    draw = random.Random(f"folder {seed}")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        made = save_stranger(draw, folder)
    except NOT_MADE:
        return "no such model"
    prompt = Prompt(draw.choice(TEXTS), pair=draw.choice([None, *TEXTS]), target=draw.choice([None, *TEXTS]), question="who?")
    way = draw.choice(list(WAYS))
    return _outcome(f"folder {seed}: {made}, {way}, {prompt}", lambda: WAYS[way](attnviz.load(str(folder)), prompt))


def run_lookup(seed: int, folder: Path) -> str:
    """What went wrong with a case, every eighth a stranger's folder; empty where nothing did."""
    try:
        look_up(seed) if seed % 8 else look_up_in_folder(seed, folder)
    except AssertionError as error:
        return str(error)
    return ""


def _outcome(case: str, work: Callable[[], object]) -> str:
    failure = _failure(work)
    if failure is None:
        return "shown"
    # `untrained` gives None for some models.
    assert isinstance(failure, AttnvizError) or "NoneType" in str(failure), f"{case}: {failure!r}"
    assert not reaches_a_table(failure), f"{case}: {failure!r}"
    return str(failure)


def _failure(work: Callable[[], object]) -> Exception | None:
    try:
        work()
    except Exception as error:
        return error
    return None


@contextmanager
def on_a_card() -> Iterator[None]:
    """Within this context, every table takes itself to be on a card."""
    with mock.patch.object(device, "REFUSING", ("meta",)), mock.patch.dict(os.environ, {"ATTNVIZ_MAX_TOKENS": "40"}):
        yield


@pytest.fixture
def as_on_a_card() -> Iterator[None]:
    with on_a_card():
        yield


@pytest.mark.gate
@pytest.mark.parametrize("first", range(0, 80, 20))
def test_no_way_leads_beyond_a_table(first: int, as_on_a_card: None) -> None:
    results = [look_up(seed) for seed in range(first, first + 20)]
    assert "shown" in results
    assert any("tables do not have" in each or "piece number" in each for each in results)


@pytest.mark.gate
def test_no_folder_of_a_stranger_leads_beyond_a_table(tmp_path: Path, as_on_a_card: None) -> None:
    results = [look_up_in_folder(seed, tmp_path / "stranger") for seed in range(16)]
    assert "shown" in results
    assert any("tables do not have" in each or "belong together" in each for each in results)


@pytest.mark.parametrize("family", tiny.some_now(tiny.FAMILIES), ids=str)
def test_words_are_taken_away_by_a_piece_that_the_model_has(family: tiny.Family, as_on_a_card: None) -> None:
    top = "bare" if family.architecture == tiny.ENCODER else "words"
    _assert_words_can_be_taken_away(_model(family.name, "none", top), family.architecture)


def test_words_are_taken_away_by_a_piece_that_an_answerer_has(as_on_a_card: None) -> None:
    config = hf.BertConfig(**{**tiny._BERT, "vocab_size": PIECES})
    _assert_words_can_be_taken_away(hf.BertForQuestionAnswering(config), tiny.ENCODER)


def _assert_words_can_be_taken_away(model: Any, architecture: str) -> None:
    """Explain a model whose tokenizer's mask, unknown piece and padding lie beyond its table."""
    tokenizer = tiny.tokenizer(architecture)
    own = tokenizer.eos_token_id or 0
    tokenizer.add_special_tokens({f"{name}_token": f"[MY {name}]" for name in ("mask", "unk", "pad")})
    model = attnviz.wrap(model, tokenizer)
    target = "the dog" if "target" in model.card.reads else None
    bound = bind_target(model, Prompt("the cat sat", pair="a dog", target=target, question="what sat?"))
    assert bound.baseline_id == own
    assert min(tokenizer.convert_tokens_to_ids(["[MY mask]", "[MY unk]", "[MY pad]"])) >= len(bound.embedding)
    assert np.isfinite(METHODS["leave-one-out"].compute(bound).values).all()
    try:
        values, refused = METHODS["integrated-gradients"].compute(bound).values, ""
    except ModelError as error:
        values, refused = np.zeros(0), str(error)
    # Where experts take turns, the score jumps.
    assert "do not add up" in refused or (values.size and np.isfinite(values).all())


@pytest.mark.parametrize("text", ["the cat sat", "the [MY MASK] sat"])
def test_nobody_is_told_to_write_a_mask_that_the_model_does_not_have(text: str, as_on_a_card: None) -> None:
    model = attnviz.wrap(_model("modernbert", "none", "words"), _tokenizer("modernbert", "mask"))
    with pytest.raises(ModelError, match=f"piece number {PIECES}, and the model has {PIECES} pieces only"):
        bind_target(model, Prompt(text))


@pytest.mark.parametrize("family", [family for family in tiny.FAMILIES if family.name in ("bert", "m2m-100", "gpt2")], ids=str)
def test_padding_that_a_model_does_not_have_is_named(family: tiny.Family, tmp_path: Path, as_on_a_card: None) -> None:
    config = family.config()
    kinds = {tiny.ENCODER: hf.AutoModel, tiny.DECODER: hf.AutoModelForCausalLM, tiny.SEQ2SEQ: hf.AutoModelForSeq2SeqLM}
    kinds[family.architecture].from_config(config).save_pretrained(tmp_path)
    tiny.tokenizer(family.architecture).save_pretrained(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps(settings | {"pad_token_id": config.vocab_size}), encoding="utf-8")
    failure = _failure(lambda: attnviz.load(str(tmp_path)).trace("the cat sat"))
    # GPT-2 has no row of padding, and is shown.
    expected = f"piece number {config.vocab_size} as its pad_token_id, and the model has {config.vocab_size} pieces only"
    assert failure is None if family.name == "gpt2" else expected in str(failure)
    assert not reaches_a_table(failure)
