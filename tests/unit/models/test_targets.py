"""Vectors in the place of a text's tokens, and what a model has to explain, whatever its family does with either."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz.attribution.methods import METHODS, attribute
from attnviz.attribution.recorded_pass import AttentionTape
from attnviz.core.errors import AttnvizError, ModelError
from attnviz.core.trace import Prompt
from attnviz.models.capabilities import bind_target, capabilities
from attnviz.models.targets import BoundTarget
from attnviz.models.whatif import head_costs
from tests import tiny
from tests.float64 import in_float64

PAIR = Prompt("the cat sat on the mat", pair="the dog ran")
GPT = {"vocab_size": tiny.VOCABULARY, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 61}
XLM: dict[str, Any] = {"n_words": tiny.VOCABULARY, "emb_dim": 12, "n_layers": 2, "n_heads": 3, "pad_index": 0}
BERT: dict[str, Any] = {
    "vocab_size": tiny.VOCABULARY, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7,
}  # fmt: skip
GRADIENTS = ("gradient-input", "gradient-norm", "integrated-gradients")


@pytest.mark.parametrize(
    ("kind", "config", "shape"),
    [
        # It changes what it has looked up in place.
        (hf.CTRLLMHeadModel, lambda: hf.CTRLConfig(**GPT, dff=7), tiny.DECODER),
        # It looks up among its words, too, from which of two texts a token is.
        (hf.XLMModel, lambda: hf.XLMConfig(**XLM), tiny.ENCODER),
        # Its texts stand upright, a column each.
        (hf.XLNetLMHeadModel, lambda: hf.XLNetConfig(vocab_size=97, d_model=12, n_layer=2, n_head=3, d_inner=7), tiny.DECODER),
    ],
    ids=["ctrl", "xlm", "xlnet"],
)
def test_vectors_of_other_words_give_what_these_words_give(kind: Any, config: Any, shape: str) -> None:
    torch.manual_seed(3)
    bound = bind_target(attnviz.wrap(kind(config()).eval(), tiny.tokenizer(shape)), PAIR)
    other = bound.ids.clone()
    other[2] = 11
    vectors = bound.embedding[other].detach()[None]
    got, want, before = bound.outcome_of(vectors).score, bound.outcome(other[None]).score, bound.outcome(bound.ids[None]).score
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-5)
    # As many texts as each has tokens, which stand upright or not.
    square = bound.outcome_of(vectors.expand(len(bound.ids), -1, -1)).score
    torch.testing.assert_close(square, want.expand(len(square)), atol=1e-5, rtol=1e-5)
    assert not torch.equal(want, before)
    for name in GRADIENTS:
        assert np.abs(METHODS[name].compute(bound).values).max() > 0


@pytest.mark.parametrize(
    ("kind", "config", "shape", "target"),
    [
        (hf.BertForSequenceClassification, lambda: hf.BertConfig(**BERT), tiny.ENCODER, "label"),
        (hf.BertModel, lambda: hf.BertConfig(**BERT), tiny.ENCODER, "similarity"),
        (hf.BertForQuestionAnswering, lambda: hf.BertConfig(**BERT), tiny.ENCODER, "answer"),
        (hf.BartForConditionalGeneration, lambda: hf.BartConfig(**tiny.BART), tiny.SEQ2SEQ, "translation"),
    ],
    ids=["label", "similarity", "answer", "translation"],
)
def test_a_probability_has_more_digits_than_a_model_in_sixteen_bits(kind: Any, config: Any, shape: str, target: str) -> None:
    torch.manual_seed(3)
    model = attnviz.wrap(kind(config()).eval().to(torch.bfloat16), tiny.tokenizer(shape))
    prompt = replace(PAIR, pair=None, question="the cat") if target == "answer" else PAIR
    bound = bind_target(model, prompt, target)
    likely = bound.outcome(bound.ids[None]).log_probability
    assert likely.dtype in (torch.float32, torch.float64)
    assert (likely != likely.bfloat16()).all()


def test_a_decoder_with_labels_explains_its_label() -> None:
    config = hf.GPT2Config(**GPT, pad_token_id=0)
    config.num_labels = 3
    model = attnviz.wrap(hf.GPT2ForSequenceClassification(config).eval(), tiny.tokenizer(tiny.DECODER))
    assert list(capabilities(model).targets(PAIR)) == ["label", "label:0", "label:1", "label:2"]
    assert bind_target(model, PAIR).target.startswith("the label")


@pytest.mark.parametrize("pad", [None, 3], ids=["no padding", "padding that texts hold"])
def test_a_label_is_read_at_the_last_token_whatever_that_is(pad: int | None) -> None:
    config = hf.GPT2Config(**GPT, pad_token_id=pad)
    config.num_labels = 3
    torch.manual_seed(5)
    model = hf.GPT2ForSequenceClassification(config).eval()
    bound = bind_target(attnviz.wrap(model, tiny.tokenizer(tiny.DECODER)), PAIR, "label:1")
    texts = bound.ids.repeat(2, 1)
    texts[1, -1] = 3
    with torch.no_grad():
        want = model.score(model.transformer(texts)[0][:, -1])[:, 1]
        torch.testing.assert_close(bound.outcome(texts).score, want)
    assert model.config.pad_token_id == pad
    for method in METHODS.values():
        assert np.isfinite(method.compute(bound).values).all()


def eurobert(pooling: str) -> Any:
    return hf.EuroBertConfig(**tiny._LLAMA, mask_token_id=4, classifier_pooling=pooling)


def modernbert(pooling: str) -> Any:
    config = tiny.FAMILY["modernbert"].config()
    config.classifier_pooling = pooling
    return config


@pytest.mark.parametrize(
    "config",
    [
        *(modernbert(pooling) for pooling in ("cls", "mean")),
        *(eurobert(pooling) for pooling in ("bos", "mean", "late")),
        hf.BertConfig(**BERT),
    ],
    ids=lambda config: f"{config.model_type} {getattr(config, 'classifier_pooling', '')}",
)
def test_a_label_is_read_from_the_tokens_whose_last_rows_it_depends_on(config: Any) -> None:
    model = hf.AutoModelForSequenceClassification.from_config(config).eval()
    bound = bind_target(attnviz.wrap(model, tiny.tokenizer()), Prompt(PAIR.text))
    with torch.enable_grad(), AttentionTape() as tape:
        score = bound.run(bound.ids[None]).score.sum()
    (slope,) = torch.autograd.grad(score, tape.attentions[-1].given)
    read = slope.abs().sum(dim=(0, 1, 3)).nonzero()[:, 0].tolist()
    assert bound.readout == pytest.approx(dict.fromkeys(read, 1 / len(read)))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"num_labels": 3}, lambda logits: logits.softmax(dim=-1)),
        ({"num_labels": 1}, torch.sigmoid),
        ({"num_labels": 3, "problem_type": "multi_label_classification"}, torch.sigmoid),
    ],
    ids=["one of several", "one alone", "each by itself"],
)
def test_labels_have_the_probabilities_that_transformers_gives_them(options: dict[str, Any], expected: Any) -> None:
    torch.manual_seed(7)
    config = hf.BertConfig(**tiny._BERT, **options)
    model = attnviz.wrap(hf.BertForSequenceClassification(config).eval(), tiny.tokenizer())
    prompt = Prompt(PAIR.text)
    with torch.no_grad():
        want = expected(model.model(**model.tensors(model.encode_prompt(prompt))).logits[0])
    for place, share in enumerate(want):
        bound = bind_target(model, prompt, f"label:{place}")
        torch.testing.assert_close(bound.outcome(bound.ids[None]).log_probability[0].exp(), share)
    ((_, likeliest),) = model.reading(prompt).likeliest
    assert [share for _, share in likeliest] == pytest.approx(sorted(want.tolist(), reverse=True), abs=1e-6)


def test_labels_of_tokens_are_not_taken_for_pieces() -> None:
    model = hf.GPT2ForTokenClassification(hf.GPT2Config(**GPT)).eval()
    assert attnviz.wrap(model, tiny.tokenizer(tiny.DECODER)).reading(Prompt(PAIR.text)).likeliest == ()


def test_what_a_model_raises_is_one_sentence_that_names_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise NotImplementedError

    monkeypatch.setattr("attnviz.attribution.gradients.gradient_norm", fail)
    with pytest.raises(ModelError, match="Gradient norm"):
        METHODS["gradient-norm"].compute(object.__new__(BoundTarget))


DECODERS = [family for family in tiny.FAMILIES if family.architecture == tiny.DECODER]
TEXT = Prompt("the cat sat on the")


def writer(family: tiny.Family) -> Any:
    torch.manual_seed(len(family.name))
    return hf.AutoModelForCausalLM.from_config(family.config(), attn_implementation="eager").eval()


def says(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """The logits of what comes behind each text, by a plain pass."""
    with torch.no_grad():
        return model(input_ids=ids).logits[:, -1].double()


@pytest.mark.parametrize("family", tiny.some_now(DECODERS), ids=str)
def test_the_next_word_is_scored_as_a_plain_pass_has_it(family: tiny.Family) -> None:
    model, shape = writer(family), tiny.tokenizer(tiny.DECODER)
    wrapped = attnviz.wrap(model, shape)
    cat, dog = (shape.convert_tokens_to_ids(word) for word in ("cat", "dog"))
    first = bind_target(wrapped, TEXT, "next:cat")
    texts = torch.stack([first.ids, first.ids.flip(0)])
    want = says(model, texts)
    for target, score, log in (
        ("next:cat", want[:, cat], want.log_softmax(dim=-1)[:, cat]),
        ("rather:cat dog", want[:, cat] - want[:, dog], want[:, [cat, dog]].log_softmax(dim=-1)[:, 0]),
        (f"rather:#{dog} cat", want[:, dog] - want[:, cat], want[:, [dog, cat]].log_softmax(dim=-1)[:, 0]),
    ):
        got = bind_target(wrapped, TEXT, target).outcome(texts)
        torch.testing.assert_close(got.score.double(), score, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(got.log_probability.double(), log, atol=1e-5, rtol=1e-5)
    likeliest = int(want[0].argmax())
    assert bind_target(wrapped, TEXT).target == f"the next token “{shape.decode([likeliest]) or f'#{likeliest}'}”"
    assert first.target == "the next token “cat”"
    assert bind_target(wrapped, TEXT, "rather:cat dog").target == "the next token “cat” rather than “dog”"
    # Each that is offered is another part of the output, and is found again by its name.
    offered = capabilities(wrapped).targets(TEXT)
    assert next(iter(offered)) == "next"
    assert len({bind_target(wrapped, TEXT, name).target for name in offered}) == len(offered) == 9


def test_pieces_that_are_no_words_are_named_as_on_write() -> None:
    model = attnviz.load("smollm2")
    space, newline, byte = model.tokenizer.convert_tokens_to_ids(["Ġ", "Ċ", "Ø"])
    bound = bind_target(model, TEXT, f"rather:#{space} #{newline}")
    assert bound.target == "the next token “␣” rather than “↵”"
    assert bind_target(model, TEXT, f"next:#{byte}").target == "the next token “part of a letter (D8)”"
    # A text that is at its end goes on with a new line.
    ((_, likeliest),) = model.reading(Prompt("It opened in 1887.")).likeliest
    assert likeliest[0][0] == "↵"


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_methods_explain_one_word_rather_than_another(name: str) -> None:
    """Against finite differences of a plain pass, and a plain pass over the text without a word."""
    model, shape = writer(tiny.FAMILY[name]), tiny.tokenizer(tiny.DECODER)
    wrapped = attnviz.wrap(model, shape)
    model.double()
    with in_float64():
        assert_methods(wrapped, model, shape)


def assert_methods(wrapped: Any, model: Any, shape: Any) -> None:
    cat, dog = (shape.convert_tokens_to_ids(word) for word in ("cat", "dog"))
    bound = bind_target(wrapped, TEXT, "rather:cat dog")
    vectors = model.get_input_embeddings().weight[bound.ids].detach()

    def score(moved: torch.Tensor) -> float:
        with torch.no_grad():
            logits = model(inputs_embeds=moved[None]).logits[0, -1]
        return float(logits[cat] - logits[dog])

    step = 1e-5
    want = []
    for place, vector in enumerate(vectors):
        sides = []
        for sign in (1, -1):
            moved = vectors.clone()
            moved[place] = vector * (1 + sign * step)
            sides.append(score(moved))
        want.append((sides[0] - sides[1]) / (2 * step))
    np.testing.assert_allclose(METHODS["gradient-input"].compute(bound).values, want, atol=1e-6, rtol=1e-5)
    made = METHODS["frozen-gradient"].compute(bound)
    assert made.values.sum() + made.rest == pytest.approx(score(vectors), abs=1e-8)
    blank = vectors.clone()
    blank[:] = model.get_input_embeddings().weight[bound.baseline_id]
    integrated = METHODS["integrated-gradients"].compute(bound)
    assert integrated.values.sum() == pytest.approx(score(vectors) - score(blank), abs=1e-4)
    left_out = METHODS["leave-one-out"].compute(bound)
    for place in range(len(vectors) - 1):
        ids = bound.ids.clone()
        ids[place] = bound.baseline_id
        whole, without = says(model, torch.stack([bound.ids, ids]))
        lost = (whole[cat] - whole[dog]) - (without[cat] - without[dog])
        assert left_out.values[place] == pytest.approx(float(lost), abs=1e-10)
    # Where a method follows attention alone, it is the same for every word.
    other = bind_target(wrapped, TEXT, "next:on")
    for method in ("rollout", "attention", "received"):
        np.testing.assert_array_equal(METHODS[method].compute(bound).values, METHODS[method].compute(other).values)


@pytest.mark.parametrize("name", tiny.first_now(["gpt2", "llama"]))
def test_a_head_costs_what_the_next_word_loses_without_it(name: str) -> None:
    """Against what the model says when it writes nothing under the same edit."""
    wrapped = attnviz.wrap(writer(tiny.FAMILY[name]), tiny.tokenizer(tiny.DECODER))

    def says_without(edits: str) -> dict[int, float]:
        made = attnviz.run(wrapped, "write", TEXT.text, tokens=0, edits=edits).continuation
        return dict(zip(made.candidates[-1].tolist(), made.log_probabilities[-1].tolist(), strict=True))

    full = says_without("")
    best, other = list(full)[:2]
    targets = (None, f"#{other}", f"rather:#{best} #{other}")
    costs = [head_costs(wrapped, Prompt(TEXT.text, target=target)) for target in targets]
    assert {each.unit for each in costs} == {"nats"}
    for layer, head in np.ndindex(costs[0].costs["decoder"].shape):
        without = says_without(f"d{layer}.{head}z")
        lost = {piece: full[piece] - without[piece] for piece in (best, other)}
        for cost, want in zip(costs, (lost[best], lost[other], lost[best] - lost[other]), strict=True):
            # A logit of float32 is off by less than a millionth.
            assert cost.costs["decoder"][layer, head] == pytest.approx(want, abs=1e-5)


@pytest.mark.parametrize(
    "target", ["rather:cat", "rather", "next:a b", "next:#99999", "next:#12345678", "next:", "rather:a b c"]
)
def test_a_word_that_cannot_be_explained_is_one_sentence(target: str) -> None:
    wrapped = attnviz.wrap(writer(tiny.FAMILY["gpt2"]), tiny.tokenizer(tiny.DECODER))
    if target in ("next:", "next:#12345678"):
        # Nothing is named; and no number of a piece is as long, so that it is a word.
        assert bind_target(wrapped, TEXT, target).target.startswith("the next token")
        return
    with pytest.raises(ModelError, match="name"):
        bind_target(wrapped, TEXT, target)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("argument", "words"), [("target", "A target is a text"), ("method", "is no attribution method")])
def test_what_is_no_name_is_one_sentence(argument: str, words: str) -> None:
    for given in (5, [5]):
        with pytest.raises(AttnvizError, match=words):
            attribute(attnviz.wrap(writer(tiny.FAMILY["gpt2"]), tiny.tokenizer(tiny.DECODER)), TEXT, **{argument: given})


@pytest.mark.gate
def test_smollm2_finds_whom_john_gives_a_drink_to() -> None:
    """The example of Wang et al. 2023, "Interpretability in the Wild", with a model that they had not."""
    model, prompt = attnviz.load("smollm2"), Prompt("When Mary and John went to the store, John gave a drink to")
    bound = bind_target(model, prompt, "rather:Mary John")
    ids = model.tokenizer(prompt.text, return_tensors="pt")["input_ids"]
    mary, john = (model.tokenizer(f" {word}")["input_ids"][0] for word in ("Mary", "John"))
    logits = says(model.model, ids)[0]
    assert float(bound.outcome(bound.ids[None]).score) == pytest.approx(float(logits[mary] - logits[john]), abs=1e-3)
    assert float(logits[mary] - logits[john]) > 4
    assert capabilities(model).targets(prompt)["rather:Mary the"] == "“Mary” rather than “the”"
