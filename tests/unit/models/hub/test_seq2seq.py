"""Encoder-decoders of the hub as translators, held to transformers' own `generate` and to a plain forward pass."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import attnviz
from attnviz.core.edits import NO_EDITS
from attnviz.core.errors import ArgumentError, ModelError, PromptError
from attnviz.core.trace import Prompt
from attnviz.models.base import DecodingOptions
from attnviz.models.head_inputs import inspect_result, run_inspectable
from attnviz.models.hub import download as hub
from attnviz.models.hub.seq2seq import WritingModel
from attnviz.models.tasks import draft
from attnviz.models.write_on import WritesFromSource
from attnviz.nn.decoding import Beam
from tests import tiny

TEXT, TARGET = "the cat sat on the mat", "a dog ran"
# A random model never comes to an end by itself: so many tokens, its beginning among them, are as many as show how it writes.
MOST = 23
FAMILIES = [family for family in tiny.FAMILIES if family.architecture == tiny.SEQ2SEQ]


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", str(MOST))


@pytest.fixture(scope="module", params=tiny.some_now(FAMILIES), ids=str)
def pair(request, tmp_path_factory) -> tuple[Any, WritingModel]:
    """A model as transformers has it, and the same one as attnviz has it."""
    folder = tmp_path_factory.mktemp("model")
    with pytest.MonkeyPatch.context() as patch:
        # A random model seldom ends by itself.
        patch.setenv("ATTNVIZ_MAX_TOKENS", "13")
        model = request.param.save(folder)
        traced = hub.load(str(folder))
    assert isinstance(traced, WritingModel)
    return model, traced


def plain(model: Any, pieces: tuple[int, ...]) -> torch.Tensor:
    """p(token | what is written before it), by a forward pass of the model itself."""
    ids = tiny.tokenizer(tiny.SEQ2SEQ)(TEXT, return_tensors="pt")["input_ids"]
    read = torch.tensor([[model.config.decoder_start_token_id, *pieces[:-1]]])
    with torch.no_grad():
        return model(input_ids=ids, decoder_input_ids=read).logits[0].softmax(-1)


def generated(model: Any, **options: Any) -> list[list[int]]:
    ids = tiny.tokenizer(tiny.SEQ2SEQ)(TEXT, return_tensors="pt")["input_ids"]
    # A cache that transformers makes too shallow for a T5 whose decoder is deeper than its encoder.
    rows = model.generate(input_ids=ids, do_sample=False, max_new_tokens=12, max_length=None, use_cache=False, **options)
    return rows[:, 1:].tolist()


def unpadded(pieces: list[int], end: int) -> tuple[int, ...]:
    return tuple(pieces[: pieces.index(end) + 1] if end in pieces else pieces)


def test_it_can_be_asked_what_our_own_translators_can(pair):
    _, traced = pair
    assert isinstance(traced, WritesFromSource)
    assert not isinstance(attnviz.load("minilm"), WritesFromSource)


def test_greedy_is_generates_own_and_its_steps_are_the_plain_forwards(pair):
    model, traced = pair
    (best,) = traced.translate(TEXT)
    assert best.pieces == unpadded(generated(model, num_beams=1)[0], model.config.eos_token_id)
    trace, steps = traced.steps(TEXT)
    assert trace.output == best.text
    read = traced.names((model.config.decoder_start_token_id, *best.pieces[:-1]))
    assert [token.piece or token.text for token in trace.decoder.queries] == list(read)
    assert (trace.cross.queries, trace.cross.keys) == (trace.decoder.queries, trace.encoder.queries)
    want = plain(model, best.pieces)
    assert len(steps) == len(best.pieces) == len(trace.cross.queries)
    for step, piece, probabilities in zip(steps, best.pieces, want, strict=True):
        assert step.probability == pytest.approx(float(probabilities[piece]), abs=1e-5)
        assert len(step.alternatives) == 5
        by_name = dict(zip(traced.names(range(tiny.VOCABULARY)), probabilities.tolist(), strict=True))
        for name, value in step.alternatives:
            assert value == pytest.approx(by_name[name], abs=1e-5)
        assert [value for _, value in step.alternatives] == pytest.approx(probabilities.topk(5).values.tolist(), abs=1e-5)
    assert best.log_probability == pytest.approx(sum(np.log(step.probability) for step in steps), abs=1e-4)


@pytest.mark.parametrize("penalty", tiny.first_now([1.5, 0.0]))
def test_a_beam_is_generates_own_and_so_is_ln_p_of_each(pair, penalty):
    model, traced = pair
    actual = traced.translate(TEXT, Beam(4, penalty))
    want = generated(model, num_beams=4, num_return_sequences=4, length_penalty=penalty)
    assert [row.pieces for row in actual] == [unpadded(row, model.config.eos_token_id) for row in want]
    assert len({row.pieces for row in actual}) == 4
    for row in actual:
        likely = plain(model, row.pieces)[torch.arange(len(row.pieces)), list(row.pieces)]
        assert row.log_probability == pytest.approx(float(likely.log().sum()), abs=1e-4)


def test_one_translation_is_written_whose_authors_saved_that_several_are() -> None:
    model, tokenizer = tiny.FAMILY["bart"].model(), tiny.tokenizer(tiny.SEQ2SEQ)
    want = [attnviz.wrap(model, tokenizer).translate(TEXT, Beam(width)) for width in (1, 3)]
    model.generation_config.num_beams = model.generation_config.num_return_sequences = 4
    assert [attnviz.wrap(model, tokenizer).translate(TEXT, Beam(width)) for width in (1, 3)] == want


def test_a_given_target_is_read_token_by_token(pair):
    model, traced = pair
    trace, steps = traced.steps(Prompt(TEXT, target=TARGET))
    pieces = tuple(tiny.tokenizer(tiny.SEQ2SEQ)(TARGET)["input_ids"])
    want = plain(model, pieces)[torch.arange(len(pieces)), list(pieces)]
    np.testing.assert_allclose([step.probability for step in steps], want, atol=1e-5)
    assert [step.token.text for step in steps] == ["a", "dog", "ran", "[SEP]"]
    assert [token.text for token in trace.cross.queries[1:]] == ["a", "dog", "ran"]
    actual = draft(traced, Prompt(TEXT, target=TARGET), DecodingOptions())
    assert actual.reads_its_rows
    assert actual.log_probability == pytest.approx(float(want.log().sum()), abs=1e-4)
    assert actual.own == traced.translate(TEXT)[0]


def test_decoding_goes_on_from_what_was_chosen(pair):
    _, traced = pair
    own = draft(traced, Prompt(TEXT), DecodingOptions())
    name = next(name for name, _ in own.steps[1].alternatives if name not in (own.pieces[1], "[SEP]", *own.closed))
    begins = (own.pieces[0], name)
    steered = draft(traced, Prompt(TEXT), DecodingOptions(begins=begins))
    assert steered.pieces[:2] == begins
    assert len(steered.steps) == len(own.steps) or "[SEP]" in (*steered.pieces, *own.pieces)
    assert steered.steps[1].probability == pytest.approx(dict(own.steps[1].alternatives)[name], abs=1e-5)
    several = draft(traced, Prompt(TEXT), DecodingOptions(3, begins=begins, candidate=2))
    assert len(several.candidates) == 3
    assert all(traced.names(row.pieces)[:2] == begins for row in several.candidates)
    assert several.trace.output == several.candidates[2].text
    ended = draft(traced, Prompt(TEXT), DecodingOptions(begins=(own.pieces[0], "[SEP]")))
    assert ended.pieces == (own.pieces[0], "[SEP]")


def test_what_it_wrote_by_itself_may_hold_a_piece_that_stands_for_no_text() -> None:
    model, unknown = tiny.FAMILY["bart"].model(), tiny.tokenizer(tiny.SEQ2SEQ).unk_token_id
    model.final_logits_bias[:, unknown] = 99
    traced = attnviz.wrap(model, tiny.tokenizer(tiny.SEQ2SEQ))
    written = (unknown,) * (MOST - 1)
    made = attnviz.run(traced, "translate", TEXT, edits="c1.2z")
    edited = attnviz.run(traced, "translate", Prompt(TEXT, target=TARGET), edits="c1.2z")
    assert made.before is not None
    assert traced.pieces_of(Prompt(TEXT)) == written
    # Behind what it wrote, one of its alternatives can be chosen.
    begins = (*traced.names(written[:1]), "dog")
    assert draft(traced, Prompt(TEXT), DecodingOptions(begins=begins)).pieces[:2] == begins
    assert made.draft.original == pytest.approx(0, abs=1e-6)
    assert edited.draft.original == pytest.approx(edited.draft.log_probability)
    assert attnviz.run(traced, "translate", TEXT, quantity="norms").trace.cross.queries == made.trace.cross.queries
    assert inspect_result(traced, run_inspectable(traced, Prompt(TEXT))).head("cross", 1, 2) is not None


@pytest.mark.parametrize("name", ["nonsense", "", "[PAD]", "[UNK]", "<3>", "<9999999>"])
def test_what_is_no_piece_is_refused(pair, name):
    with pytest.raises(PromptError, match="has no piece"):
        draft(pair[1], Prompt(TEXT), DecodingOptions(begins=(name,)))


@pytest.mark.parametrize(
    ("family", "target", "written"),
    tiny.first_now([
        (tiny.NLLB, "deu_Latn", "deu_Latn"),
        (tiny.MBART_50, None, "fr_XX"),
        (tiny.NLLB, None, "fra_Latn"),
        (tiny.MBART_50, "de_DE", "de_DE"),
    ], 2),
    ids=["nllb", "mbart-50-unsaid", "nllb-unsaid", "mbart-50"],
)  # fmt: skip
def test_the_language_of_the_tokenizer_is_written(family: Any, target: str | None, written: str) -> None:
    make, kind, config, source = family
    tokenizer = tiny.of_many_languages(make, source, target)
    model = tiny.of_so_many_pieces(kind, config, tokenizer)
    traced = attnviz.wrap(model, tokenizer)
    mark = tokenizer.convert_tokens_to_ids(written)
    given = tokenizer(TEXT, return_tensors="pt")
    want = model.generate(**given, forced_bos_token_id=mark, do_sample=False, max_new_tokens=MOST - 1, max_length=None)[
        0, 1:
    ].tolist()
    assert want[0] == mark
    assert traced.translate(TEXT)[0].pieces == unpadded(want, 2)
    assert traced.card.languages == (source, written)
    assert written in traced.card.task
    # A target that is given has the same mark, and the tokenizer in hand stays as it was.
    assert traced.pieces_of(Prompt(TEXT, target=TARGET))[0] == mark
    assert tokenizer.tgt_lang == target


MANY = [(tiny.NLLB, "deu_Latn", "spa_Latn"), (tiny.MBART_50, "de_DE", "es_XX"), (tiny.M2M_100, "de", "es")]


@pytest.mark.parametrize(("family", "chosen", "own"), tiny.first_now(MANY), ids=["nllb", "mbart-50", "m2m-100"])
def test_a_prompt_chooses_the_language_that_is_written(family: Any, chosen: str, own: str) -> None:
    make, kind, config, source = family
    tokenizer = tiny.of_many_languages(make, source, own)
    model = tiny.of_so_many_pieces(kind, config, tokenizer)
    traced = attnviz.wrap(model, tokenizer)
    assert traced.card.languages == (source, own)
    assert {source, chosen, own} < set(traced.card.writes)
    assert "language" in traced.card.reads
    tokenizer.tgt_lang = chosen
    other = attnviz.wrap(model, tokenizer)
    mark = other.translate(TEXT)[0].pieces[0]
    want = model.generate(
        **tokenizer(TEXT, return_tensors="pt"),
        forced_bos_token_id=mark,
        do_sample=False,
        max_new_tokens=MOST - 1,
        max_length=None,
    )
    prompt = Prompt(TEXT, language=chosen)
    made = draft(traced, prompt, DecodingOptions())
    assert made.candidates[0].pieces == unpadded(want[0, 1:].tolist(), 2)
    # Everything that reads the prompt writes as the model does whose tokenizer names that language.
    for given in (prompt, Prompt(TEXT, target=TARGET, language=chosen)):
        plain = Prompt(TEXT, target=given.target)
        trace, same = traced.trace(given), other.trace(plain)
        assert (trace.prompt.language, trace.cross.queries) == (chosen, same.cross.queries)
        np.testing.assert_array_equal(trace.cross.weights(1, 1), same.cross.weights(1, 1))
        assert traced.pieces_of(given) == other.pieces_of(plain)
        assert traced.scorer(given).scores([NO_EDITS]) == other.scorer(plain).scores([NO_EDITS])
    assert attnviz.run(traced, "translate", prompt, quantity="norms").draft.pieces == made.pieces
    # It keeps nothing of it.
    assert traced.trace(TEXT).cross.queries[1].text == traced.trace(Prompt(TEXT, language=own)).cross.queries[1].text
    assert traced.pieces_of(Prompt(TEXT, target=TARGET)) != traced.pieces_of(Prompt(TEXT, target=TARGET, language=chosen))
    with pytest.raises(PromptError, match=f"does not write '{chosen[:-1]}': choose one of its .* such as"):
        traced.trace(Prompt(TEXT, language=chosen[:-1]))


@pytest.mark.parametrize("name", ["minilm", "bahdanau-en-fr", "answer-en", "summarize-en"])
def test_a_language_is_refused_where_there_is_no_choice(name: str) -> None:
    with pytest.raises(PromptError, match="no languages to choose from: leave out 'de'"):
        attnviz.load(name).trace(Prompt(TEXT, question=TARGET, language="de"))


def test_a_model_of_two_languages_has_no_mark_for_them() -> None:
    class TwoLanguages(hf.PreTrainedTokenizerFast):
        tgt_lang = "cat"  # FSMT names its languages so: here it is a word, too

    tokenizer = TwoLanguages(tokenizer_object=tiny.tokenizer(tiny.SEQ2SEQ).backend_tokenizer, pad_token="[PAD]")
    traced = attnviz.wrap(tiny.FAMILY["bart"].model(), tokenizer)
    assert (traced.card.writes, traced.card.languages) == ((), ())
    assert traced.pieces_of(Prompt(TEXT))[0] != tokenizer.convert_tokens_to_ids("cat")


def test_a_decoder_that_does_not_say_where_its_pieces_are_is_read() -> None:
    config = hf.FSMTConfig(
        langs=["en", "de"], src_vocab_size=tiny.VOCABULARY, tgt_vocab_size=tiny.VOCABULARY,
        **{name: size for name, size in tiny.BART.items() if name != "vocab_size"},
    )  # fmt: skip
    model = hf.FSMTForConditionalGeneration(config).eval()
    wrapped = attnviz.wrap(model, tiny.tokenizer(tiny.SEQ2SEQ))
    trace = wrapped.trace(Prompt(TEXT, target=TARGET))
    # As of every model, though this one names its encoder's last: what it writes is said of the rows of the last map.
    assert trace.kinds == ("encoder", "decoder", "cross")
    assert len(attnviz.run(wrapped, "write", TEXT, tokens=2).continuation.pieces) == 3
    ids = tiny.tokenizer(tiny.SEQ2SEQ)(TEXT, return_tensors="pt")["input_ids"]
    model.set_attn_implementation("eager")
    with torch.no_grad():
        want = model.get_encoder()(ids, output_attentions=True).attentions
    np.testing.assert_allclose(trace.encoder.layer_weights(1), want[1][0], atol=1e-6)


def bert_with_gpt2(n_pieces: int) -> Any:
    """A decoder with another vocabulary than its encoder has."""
    torch.manual_seed(0)
    config = hf.EncoderDecoderConfig.from_encoder_decoder_configs(
        hf.BertConfig(
            vocab_size=tiny.VOCABULARY, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=11
        ),
        hf.GPT2Config(
            vocab_size=n_pieces, n_embd=24, n_layer=2, n_head=3, n_positions=61, bos_token_id=0, eos_token_id=0, pad_token_id=0
        ),
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=0,
    )
    return hf.EncoderDecoderModel(config).eval()


def byte_level() -> Any:
    inner = Tokenizer(
        models.BPE(
            {"<|end|>": 0, **{each: 1 + place for place, each in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}}, []
        )
    )
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return hf.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|end|>", bos_token="<|end|>", pad_token="<|end|>")


def test_each_side_is_named_by_the_tokenizer_of_its_own_vocabulary() -> None:
    source, target = tiny.tokenizer(tiny.SEQ2SEQ), byte_level()
    model = bert_with_gpt2(len(target))
    traced = attnviz.wrap(model, source, target)
    trace = traced.trace(Prompt(TEXT, target="a dog"))
    assert [token.text for token in trace.encoder.keys if not token.special] == TEXT.split()
    assert [token.text for token in trace.decoder.queries] == ["<|end|>", "a", " ", "d", "o"]
    ids = torch.tensor([[0, *target("a dog")["input_ids"]]])
    with torch.no_grad():
        want = model(**source(TEXT, return_tensors="pt"), decoder_input_ids=ids).logits[0].softmax(-1)
    _, steps = traced.steps(Prompt(TEXT, target="a dog"))
    np.testing.assert_allclose([step.probability for step in steps], want[range(5), ids[0, 1:]], atol=1e-6)
    written = traced.translate(TEXT)[0]
    assert written.text == target.decode(written.pieces, skip_special_tokens=True).strip()
    assert traced.pieces(traced.names(written.pieces[:1])) == written.pieces[:1]
    assert traced.closed <= set(target.get_vocab())


@pytest.mark.parametrize("n_pieces", tiny.first_now([tiny.VOCABULARY + 1, 257]))
def test_a_second_vocabulary_without_its_tokenizer_is_said(n_pieces: int) -> None:
    model, source = bert_with_gpt2(n_pieces), tiny.tokenizer(tiny.SEQ2SEQ)
    sentence = rf"reads 97 pieces and its decoder {n_pieces} others.*wrap\(model, tokenizer, target_tokenizer\)"
    with pytest.raises(ModelError, match=sentence):
        attnviz.wrap(model, source)
    # Of as many pieces one tokenizer names both sides.
    assert attnviz.wrap(bert_with_gpt2(tiny.VOCABULARY), source).trace(TEXT).kinds == ("encoder", "decoder", "cross")


def test_a_second_tokenizer_is_checked_as_the_first_is() -> None:
    source, target = tiny.tokenizer(tiny.SEQ2SEQ), byte_level()
    with pytest.raises(ModelError, match=r"the decoder of .* has 97, so they do not belong together"):
        attnviz.wrap(bert_with_gpt2(97), source, target)
    with pytest.raises(ArgumentError, match="not str 'gpt2'"):
        attnviz.wrap(bert_with_gpt2(len(target)), source, "gpt2")
    with pytest.raises(ArgumentError, match="this model has one stack: leave it out"):
        attnviz.wrap(tiny.FAMILY["bert"].model(), source, target)


def test_a_language_that_the_authors_force_is_written_and_one_that_is_no_language_refused() -> None:
    tokenizer = tiny.of_many_languages(hf.MBart50Tokenizer, "de_DE", None)
    english = tokenizer.convert_tokens_to_ids("en_XX")
    model = tiny.of_so_many_pieces(*tiny.MBART_50[1:3], tokenizer)
    model.generation_config.forced_bos_token_id = english
    traced = attnviz.wrap(model, tokenizer)
    assert (traced.translate(TEXT)[0].pieces[0], traced.card.languages) == (english, ("de_DE", "en_XX"))
    tokenizer.tgt_lang = "Klingon"
    with pytest.raises(ModelError, match="write Klingon, for which it has no piece"):
        attnviz.wrap(model, tokenizer)


def test_a_decoder_that_starts_with_its_language_starts_with_the_chosen_one() -> None:
    tokenizer = tiny.of_many_languages(hf.MBart50Tokenizer, "en_XX", "ro_RO")
    romanian, german = map(tokenizer.convert_tokens_to_ids, ("ro_RO", "de_DE"))
    model = tiny.of_so_many_pieces(*tiny.MBART_50[1:3], tokenizer, decoder_start_token_id=german)
    traced = attnviz.wrap(model, tokenizer)
    given = tokenizer(TEXT, return_tensors="pt")
    want = model.generate(**given, decoder_start_token_id=romanian, do_sample=False, max_new_tokens=MOST - 1, max_length=None)
    assert traced.translate(TEXT)[0].pieces == unpadded(want[0, 1:].tolist(), 2)
    assert traced.trace(TEXT).decoder.keys[0].text == "ro_RO"
    tokenizer.tgt_lang = "de_DE"
    chosen, prompt = attnviz.wrap(model, tokenizer), Prompt(TEXT, language="de_DE")
    assert traced.trace(prompt).decoder.keys[0].text == "de_DE"
    assert draft(traced, prompt, DecodingOptions()).candidates == chosen.translate(TEXT)
    assert traced.scorer(prompt).scores([NO_EDITS]) == chosen.scorer(Prompt(TEXT)).scores([NO_EDITS])
    assert model.generation_config.decoder_start_token_id == german
