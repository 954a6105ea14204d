import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import peft
import pytest
import torch
import transformers as hf
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers import models as tokenizer_models

import attnviz
from attnviz.core.errors import ArgumentError, ModelError, PromptError, UnsupportedModelError
from attnviz.models import catalog
from tests import tiny


def test_the_public_names_are_the_catalogs() -> None:
    assert attnviz.available() == catalog.available()
    assert "minilm" in attnviz.available()


def test_the_list_of_the_hub_is_by_kind_and_names_no_model_twice() -> None:
    assert set(catalog.HUB) == {"encoder", "decoder", "encoder-decoder"}
    names = [name for models in catalog.HUB.values() for name in models]
    assert len(set(names)) == len(names)


def test_listing_the_catalog_imports_no_torch() -> None:
    code = "import attnviz, sys; attnviz.available(); assert 'torch' not in sys.modules and 'streamlit' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_no_hugging_face_model_cannot_be_wrapped() -> None:
    with pytest.raises(ArgumentError, match="not a Linear"):
        attnviz.wrap(torch.nn.Linear(2, 3), tiny.tokenizer())
    for given in (None, b"x", "bert-base-uncased", [], 1.5):
        with pytest.raises(ArgumentError, match="wrap takes a Hugging Face model"):
            attnviz.wrap(given, tiny.tokenizer())
        with pytest.raises(ArgumentError, match="wrap takes the model's tokenizer"):
            attnviz.wrap(tiny.FAMILY["bert"].model(), given)


@pytest.mark.parametrize("given", [None, b"minilm", ["minilm"], 1.5, 7], ids=repr)
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_name_is_told(given: Any) -> None:
    with pytest.raises(ArgumentError, match="load takes the name of a model"):
        attnviz.load(given)


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_model_is_told_and_what_is_no_task() -> None:
    others: list[Any] = ["minilm", None, tiny.FAMILY["bert"].model()]
    for given in others:
        with pytest.raises(ArgumentError, match=r"A model comes from attnviz\.load, by its name, or from attnviz\.wrap"):
            attnviz.run(given, "encode", TEXT)
    task: Any = "encodes"
    with pytest.raises(PromptError, match="no task 'encodes': choose encode, translate, answer, summarize or write"):
        attnviz.run(attnviz.wrap(tiny.FAMILY["bert"].model(), tiny.tokenizer()), task, TEXT)


def test_a_wrapped_model_follows_the_training_of_the_one_in_hand() -> None:
    model = tiny.FAMILY["bert"].model()
    traced = attnviz.wrap(model, tiny.tokenizer())
    before = traced.trace("the cat sat").encoder.weights(0, 0)
    with torch.no_grad():
        model.encoder.layer[0].attention.self.query.weight.mul_(3)
    assert abs(traced.trace("the cat sat").encoder.weights(0, 0) - before).max() > 1e-3


def test_a_model_in_half_precision_is_wrapped_too() -> None:
    traced = attnviz.wrap(tiny.FAMILY["llama"].model().to(torch.bfloat16), tiny.tokenizer(tiny.DECODER))
    trace = traced.trace("the cat sat on the mat")
    assert abs(trace.decoder.layer_weights(1).sum(axis=-1) - 1).max() < 1e-5


def byte_level(**options: Any) -> hf.PreTrainedTokenizerFast:
    """Make a tokenizer that puts <s> before a text, and knows a chat's marks."""
    marks = ["<s>", "</s>", "<|user|>", "<|assistant|>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(tokenizer_models.BPE({piece: number for number, piece in enumerate([*marks, *alphabet])}, []))
    inner.add_special_tokens(marks)
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)])
    return hf.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>", **options)


TEMPLATE = (
    "{{ bos_token }}{% for each in messages %}<|{{ each.role }}|>{{ each.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
MESSAGES: Any = [{"role": "user", "content": "hi"}]


def reader_of(tokenizer: Any) -> Any:
    torch.manual_seed(0)
    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6, "intermediate_size": 13}
    return hf.LlamaForCausalLM(hf.LlamaConfig(vocab_size=len(tokenizer), **sizes))


def test_messages_are_read_by_the_template_of_the_tokenizer_with_one_mark_at_their_beginning() -> None:
    tokenizer = byte_level(chat_template=TEMPLATE)
    model = attnviz.wrap(reader_of(tokenizer), tokenizer)
    want = tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=True, return_dict=True)["input_ids"]
    text = tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=True, tokenize=False)
    for given in (MESSAGES, text):
        trace = model.trace(given)
        assert [token.text for token in trace.decoder.keys] == tokenizer.convert_ids_to_tokens(want)
        assert [token.special for token in trace.decoder.keys] == [True] + [False] * (len(want) - 1)
        assert trace.prompt.text == text
    assert attnviz.run(model, "encode", MESSAGES).trace.prompt.text == text


@pytest.mark.parametrize(
    ("template", "given", "words"),
    [
        (None, MESSAGES, "has no template for the messages of a chat"),
        (TEMPLATE, [{"text": "hi"}], "traces a str or a Prompt, not a list"),
        ("{{ raise_exception('no') }}", MESSAGES, "cannot write these messages"),
    ],
)
def test_messages_that_cannot_be_read_are_one_sentence(template: str | None, given: Any, words: str) -> None:
    tokenizer = byte_level(chat_template=template)
    with pytest.raises(PromptError, match=words):
        attnviz.wrap(reader_of(tokenizer), tokenizer).trace(given)


def test_a_tokenizer_that_cuts_at_the_left_is_read_from_the_beginning_and_stays_as_it_is() -> None:
    tokenizer = tiny.tokenizer(truncation_side="left", model_max_length=8)
    trace = attnviz.wrap(tiny.FAMILY["bert"].model(), tokenizer).trace("the cat sat on the mat because it was too tired")
    assert [token.text for token in trace.encoder.keys] == ["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]"]
    assert (trace.is_cut, trace.cut) == (True, len("the cat sat on the mat"))
    assert tokenizer.truncation_side == "left"


def test_a_tokenizer_of_other_pieces_than_the_model_has_is_refused_or_named() -> None:
    with pytest.raises(ModelError, match="tokenizer has 260 pieces and BertModel has 97"):
        attnviz.wrap(tiny.FAMILY["bert"].model(), byte_level())
    model = tiny.FAMILY["bert"].model()
    model.resize_token_embeddings(211)
    card = attnviz.wrap(model, tiny.tokenizer()).card
    assert "its tokenizer has 83 pieces and the model 211" in card.task
    assert "pieces" not in attnviz.wrap(tiny.FAMILY["bert"].model(), tiny.tokenizer()).card.task


TEXT = "the cat sat on the mat"


def weights_of(model: Any, *tokenizer: Any) -> np.ndarray:
    """Trace all layers of a tiny BERT."""
    trace = attnviz.wrap(model, *(tokenizer or (tiny.tokenizer(),))).trace(TEXT)
    return np.stack([trace.encoder.layer_weights(layer) for layer in range(2)])


def own_weights(model: Any) -> np.ndarray:
    """Ask transformers for the same."""
    with torch.no_grad():
        layers = model(**tiny.tokenizer()(TEXT, return_tensors="pt"), output_attentions=True).attentions
    return np.stack([layer[0].numpy() for layer in layers])


def compiled_within(model: Any) -> Any:
    model.compile(backend="eager")
    return model


def with_compiled_forward(model: Any) -> Any:
    model.forward = torch.compile(model.forward, backend="eager")
    return model


def with_compiled_layers(model: Any) -> Any:
    model.encoder.layer[1] = torch.compile(model.encoder.layer[1], backend="eager")
    return model


def parallel_and_compiled(model: Any) -> Any:
    compiled: Any = torch.compile(model, backend="eager")
    return torch.nn.DataParallel(compiled)


@pytest.mark.parametrize(
    "around",
    [
        lambda model: torch.compile(model, backend="eager"),
        compiled_within,
        with_compiled_forward,
        with_compiled_layers,
        torch.nn.DataParallel,
        parallel_and_compiled,
    ],
    ids=["compiled", "compiled-within", "compiled-forward", "compiled-layers", "parallel", "parallel-and-compiled"],
)
def test_what_is_around_a_model_is_taken_off(around: Any) -> None:
    traced = attnviz.wrap(around(tiny.FAMILY["bert"].model()), tiny.tokenizer())
    trace = traced.trace(TEXT)
    want = own_weights(tiny.FAMILY["bert"].model())
    for layer in range(2):
        np.testing.assert_allclose(trace.encoder.layer_weights(layer), want[layer], atol=1e-6)
    # Edits act in it as well.
    assert not traced.trace(TEXT, "e1.2z").encoder.weights(1, 2).any()


@pytest.mark.parametrize("name", ["bert", "deberta-v2", "llama", "bart"])
def test_a_copy_has_weights_of_its_own_and_no_model_is_pickled(name: str) -> None:
    family = tiny.FAMILY[name]
    traced = attnviz.wrap(family.model(), tiny.tokenizer(family.architecture))
    edits = "d1.2z" if family.architecture == tiny.DECODER else "e1.2z"
    copied, (want, *_) = copy.deepcopy(traced), traced.trace(TEXT, edits).maps
    assert copied.card == traced.card
    assert copy.copy(traced) is traced
    with torch.no_grad():
        next(traced.model.parameters()).zero_()
    (after, *_) = copied.trace(TEXT, edits).maps
    assert not after.weights(1, 2).any()
    np.testing.assert_array_equal(after.layer_weights(1), want.layer_weights(1))
    with pytest.raises(ModelError, match="cannot be pickled: load or wrap it in each process"):
        pickle.dumps(traced)


def test_a_pipeline_brings_its_model_and_its_tokenizer() -> None:
    model = hf.BertForSequenceClassification(tiny.FAMILY["bert"].config())
    pipeline = hf.pipeline("text-classification", model=model, tokenizer=tiny.tokenizer(), device="cpu")
    assert attnviz.wrap(pipeline).card.n_heads == 3
    with pytest.raises(ArgumentError, match="takes the model's tokenizer beside it"):
        attnviz.wrap(model)


def test_what_holds_a_model_is_told_where() -> None:
    holder = torch.nn.Module()
    holder.auto_model = tiny.FAMILY["bert"].model()
    with pytest.raises(ArgumentError, match=r"not a Module; give it the one in its \.auto_model\."):
        attnviz.wrap(holder, tiny.tokenizer())


@pytest.mark.parametrize("targets", [["query", "value"], ["query", "dense"]], ids=" ".join)
@pytest.mark.parametrize("injected", [False, True])
def test_an_adapter_of_peft_is_added_to_the_weights(targets: list[str], injected: bool) -> None:
    base = tiny.FAMILY["bert"].model()
    before = {name: tensor.clone() for name, tensor in base.state_dict().items()}
    config = peft.LoraConfig(target_modules=targets, r=2, init_lora_weights=False)
    model = peft.inject_adapter_in_model(config, base) if injected else peft.get_peft_model(base, config)
    want = own_weights(model.eval())
    assert abs(want - own_weights(tiny.FAMILY["bert"].model())).max() > 0.01
    traced = attnviz.wrap(model, tiny.tokenizer())
    np.testing.assert_allclose(weights_of(model), want, atol=1e-5)
    # Norms are of the matrices with the changes in them: an output matrix without them would not explain the sum behind it.
    assert attnviz.run(traced, "encode", TEXT, quantity="mixing").quantity == "mixing"
    # The model in hand keeps its weights and its adapter.
    np.testing.assert_array_equal(own_weights(model), want)
    kept = base.state_dict()
    assert all(torch.equal(kept[name.replace(".weight", ".base_layer.weight") if name not in kept else name], tensor)
               for name, tensor in before.items() if "bias" not in name)  # fmt: skip


def test_learned_vectors_before_a_text_are_named() -> None:
    model = tiny.FAMILY["gpt2"].model()
    config = peft.PromptTuningConfig(task_type="FEATURE_EXTRACTION", num_virtual_tokens=5)
    with pytest.raises(UnsupportedModelError, match="puts 5 learned vectors before every text"):
        attnviz.wrap(peft.get_peft_model(model, config), tiny.tokenizer(tiny.DECODER))
