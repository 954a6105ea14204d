"""What a model writes: greedy as transformers writes it, drawn from the distributions of its warpers, under edits, in files."""

from itertools import pairwise

import numpy as np
import pytest
import torch
import transformers as hf
from transformers.generation import logits_process as warpers

import attnviz
from attnviz.core.edits import Edits
from attnviz.core.errors import ArgumentError, ModelError, PromptError
from attnviz.core.sampling import TEMPERATURES, WritingOptions, draw, sampling_probabilities
from attnviz.core.trace import Prompt
from attnviz.files.trace_file import from_bytes, to_bytes
from attnviz.models.tasks import run_task
from tests import tiny

TEXT = "the cat sat on"
# transformers says of a Llama 4 that writes that it is its own layers.
LLAMA4 = tiny.Family("llama4", tiny.DECODER, lambda: hf.Llama4TextConfig(
    vocab_size=tiny.VOCABULARY, hidden_size=24, num_attention_heads=6, num_key_value_heads=2, num_hidden_layers=2, head_dim=4,
    intermediate_size=13, intermediate_size_mlp=11, num_local_experts=2))  # fmt: skip
ELECTRA = tiny.Family("electra", tiny.DECODER, lambda: hf.ElectraConfig(
    vocab_size=tiny.VOCABULARY, embedding_size=7, hidden_size=24, num_attention_heads=3, num_hidden_layers=2,
    intermediate_size=13, max_position_embeddings=61, is_decoder=True))  # fmt: skip
DECODERS = [family for family in (*tiny.FAMILIES, tiny.GPTJ, LLAMA4, ELECTRA) if family.architecture == tiny.DECODER]
each_decoder = pytest.mark.parametrize("family", tiny.some_now(DECODERS), ids=str)


def writer(family: tiny.Family, ends: bool = False):
    """A tiny model with the layer that names the next token, and what attnviz makes of it."""
    torch.manual_seed(len(family.name))
    model = hf.AutoModelForCausalLM.from_config(family.config(), attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 1.2 * parameter.shape[-1] ** -0.5)
    model.generation_config.eos_token_id = 3 if ends else None
    return model, attnviz.wrap(model, tiny.tokenizer(tiny.DECODER))


@each_decoder
def test_greedy_is_what_generate_writes(family):
    model, wrapped = writer(family)
    ids = torch.tensor([wrapped.tokenizer(TEXT)["input_ids"]])
    want = model.generate(ids, do_sample=False, max_new_tokens=29, eos_token_id=None, pad_token_id=0)[0].tolist()
    trace = attnviz.run(wrapped, "write", TEXT, tokens=29).trace
    assert wrapped._writer.ids(trace.continuation.pieces) == want
    assert trace.continuation.start == ids.shape[1]
    assert len(trace.maps[0].queries) == len(want)


@each_decoder
def test_each_position_has_what_the_model_says_there(family):
    model, wrapped = writer(family)
    trace = attnviz.run(wrapped, "write", TEXT, tokens=7).trace
    continuation, ids = trace.continuation, wrapped._writer.ids(trace.continuation.pieces)
    with torch.no_grad():
        want = model(torch.tensor([ids])).logits[0].float().log_softmax(dim=-1).numpy()
    got = np.full_like(want, np.nan)
    np.put_along_axis(got, continuation.candidates.astype(int), continuation.log_probabilities, axis=1)
    known = ~np.isnan(got)
    assert known.sum(axis=1).tolist() == [50] * len(ids)
    np.testing.assert_allclose(got[known], want[known], atol=1e-4)
    np.testing.assert_allclose(continuation.given[1:], want[np.arange(len(ids) - 1), ids[1:]], atol=1e-4)
    for place, temperature in enumerate(TEMPERATURES):
        rest = np.log(np.where(known, 0, np.exp(want.astype(np.float64) / temperature)).sum(axis=1))
        np.testing.assert_allclose(continuation.rest[:, place], rest, atol=1e-3)
    # The same attention as of a text that is read.
    whole = wrapped.trace(trace.prompt.text).maps[0]
    if len(whole.queries) == len(ids):
        np.testing.assert_allclose(trace.maps[0].weights(1, 2), whole.weights(1, 2), atol=1e-5)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.7])
@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (5, 1.0), (0, 0.9), (0, 0.05), (11, 0.6)])
def test_a_token_is_drawn_from_the_distribution_of_the_warpers(temperature, top_k, top_p):
    scores = torch.randn(3, 211, generator=torch.Generator().manual_seed(5)).double() * 3
    scores[0, 7] = scores[0].max()
    warped = warpers.TemperatureLogitsWarper(temperature)(None, scores)
    warped = warpers.TopKLogitsWarper(top_k)(None, warped) if top_k else warped
    warped = warpers.TopPLogitsWarper(top_p)(None, warped) if top_p < 1 else warped
    options = WritingOptions(temperature=temperature, top_k=top_k, top_p=top_p)
    for row, want in zip(scores.numpy(), warped.softmax(dim=-1).numpy(), strict=True):
        np.testing.assert_allclose(sampling_probabilities(row, options), want, atol=1e-6)


def test_tokens_are_drawn_as_often_as_they_are_likely():
    shares = np.array([0.5, 0.0, 0.3, 0.2, 0.0])
    drawn = [draw(shares, WritingOptions(temperature=1, seed=seed), 3) for seed in range(3000)]
    # Five standard errors of a share of 3,000.
    np.testing.assert_allclose(np.bincount(drawn, minlength=5) / 3000, shares, atol=5 * (0.25 / 3000) ** 0.5)


def test_twenty_tokens_are_ten_and_ten_more():
    _, wrapped = writer(tiny.FAMILY["llama"])
    options = {"temperature": 1.3, "top_p": 0.95, "seed": 11}
    whole = attnviz.run(wrapped, "write", TEXT, tokens=20, **options).continuation
    first = attnviz.run(wrapped, "write", TEXT, tokens=10, **options).continuation.written
    again = attnviz.run(wrapped, "write", TEXT, tokens=10, begins=first, **options).continuation
    assert again.pieces == whole.pieces
    assert again.start == whole.start
    other = attnviz.run(wrapped, "write", TEXT, tokens=20, **{**options, "seed": 12}).continuation
    assert other.pieces != whole.pieces


@pytest.mark.parametrize(
    ("edits", "family"),
    [
        *tiny.first_now([(each, "llama") for each in (
            "d0.1z", "d1.0c3.2", "d0.1w3.1-0.5", "d1.2m", "d0.0u", "dk1", "d1.3pthe dog ran to")], 2),
        # What a window leaves out of a cache still counts.
        ("d0.0c2.1,d0.1c2.1,d0.2c2.1,d0.3c2.1", "mistral"), ("dk1", "gpt-oss"),
    ],
)  # fmt: skip
def test_edits_act_while_it_writes(edits, family):
    """Each token is the likeliest of a pass over all before it, with the edits."""
    _, wrapped = writer(tiny.FAMILY[family])
    edited = attnviz.run(wrapped, "write", TEXT, tokens=9, edits=edits)
    assert edited.trace.edits == Edits.parse(edits)
    assert edited.before.trace.edits == Edits()
    pieces = edited.continuation.pieces
    for place in range(edited.continuation.start, len(pieces)):
        options = WritingOptions(tokens=0, begins=pieces[edited.continuation.start : place])
        step = run_task(wrapped, "write", Prompt(TEXT), edits=edits, options=options).continuation
        assert step.next_tokens(place - 1)[0].piece == pieces[place]


def test_it_ends_with_its_end_mark():
    model, wrapped = writer(tiny.FAMILY["gpt2"], ends=True)
    with torch.no_grad():
        model.lm_head.weight[3] = 0  # the end mark, likeliest where all others are below
        model.lm_head.weight[:3] = model.lm_head.weight[4:] = -model.lm_head.weight[4:].abs().mean()
    for seed in range(5):
        pieces = attnviz.run(wrapped, "write", TEXT, tokens=40, temperature=1.5, seed=seed).continuation.written
        assert "[SEP]" not in pieces[:-1]


def test_what_is_reshaped_without_a_pass_is_what_would_be_drawn_from():
    model, wrapped = writer(tiny.FAMILY["qwen3"])
    continuation = attnviz.run(wrapped, "write", TEXT, tokens=3).continuation
    ids = wrapped._writer.ids(continuation.pieces)
    with torch.no_grad():
        scores = model(torch.tensor([ids])).logits[0, -1].double().numpy()
    for options in (
        *(WritingOptions(temperature=temperature) for temperature in TEMPERATURES),
        WritingOptions(temperature=0.7, top_k=5), WritingOptions(temperature=1.4, top_p=0.5), WritingOptions(temperature=0),
    ):  # fmt: skip
        want = sampling_probabilities(scores, options)
        for each in continuation.next_tokens(len(ids) - 1, options):
            (index,) = wrapped._writer.ids([each.piece])
            assert each.probability == pytest.approx(want[index], abs=1e-4)


def test_files_keep_what_comes_next():
    _, wrapped = writer(tiny.FAMILY["gpt2"])
    trace = attnviz.run(wrapped, "write", TEXT, tokens=5, edits="d0.1z").trace
    again = from_bytes(to_bytes(trace))
    one, other = trace.continuation, again.continuation
    assert (one.start, one.pieces, dict(one.vocabulary)) == (other.start, other.pieces, dict(other.vocabulary))
    for name in ("candidates", "log_probabilities", "rest", "given"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert from_bytes(to_bytes(wrapped.trace(TEXT))).continuation is None


@pytest.mark.parametrize("text", ["The capital of France is Paris.", "日本", " Ж", "🙂"])
def test_a_text_has_bits_a_byte(text):
    from attnviz.analysis.next_and_why import bits_per_byte

    trace = attnviz.run(attnviz.load("smollm2"), "write", text, tokens=0).trace
    model = attnviz.load("smollm2")
    ids = torch.tensor([model.tokenizer(trace.prompt.text)["input_ids"]])
    with torch.no_grad():
        nats = float(model.model(ids, labels=ids).loss) * (ids.shape[1] - 1)
    # A piece is named by a letter for each of its bytes, and the first is not foretold.
    n_bytes = len(text.encode()) - len(trace.continuation.pieces[0])
    assert bits_per_byte(trace) == pytest.approx(nats / np.log(2) / n_bytes, rel=1e-3)


def test_an_end_mark_has_no_bytes():
    from attnviz.analysis.next_and_why import bits_per_byte

    model = attnviz.load("smollm2")
    ended = attnviz.run(model, "write", "Say yes.", tokens=20).trace
    assert ended.continuation.pieces[-1] == "<|im_end|>"
    read = attnviz.run(model, "write", ended.prompt.text, tokens=0).trace
    assert bits_per_byte(read) == pytest.approx(bits_per_byte(ended), rel=1e-3)
    assert bits_per_byte(attnviz.run(model, "write", "Say", tokens=0).trace) is None


@pytest.mark.parametrize(
    "text", tiny.first_now([" ", "😀 and", "مرحبا بك", "12 345", "<script>alert(1)</script>", "x" * 300, "a\n\n", "日本"], 2)
)
def test_any_text_is_written_on(text):
    if not text.strip():
        with pytest.raises(PromptError):
            attnviz.run(attnviz.load("smollm2"), "write", text, tokens=2)
        return
    trace = attnviz.run(attnviz.load("smollm2"), "write", text, tokens=4, temperature=2.0, seed=3).trace
    assert trace.prompt.text == text + trace.output
    ends = [token.end for token in trace.maps[0].queries if not token.special]
    assert ends == sorted(ends)
    assert ends[-1] <= len(trace.prompt.text)


@pytest.mark.parametrize(
    ("text", "written"), [("He said", "Ċ Ċ Hello , ĉ x"), ("4,", "Ġ 5 , Ġ 6"), ("def f():", "Ċ ĠĠĠ Ġreturn Ġ 1")]
)
def test_spaces_that_are_written_stand_where_they_would_if_they_were_typed(text, written):
    model = attnviz.load("smollm2")
    trace = attnviz.run(model, "write", text, tokens=0, begins=tuple(written.split())).trace
    tokens, whole = trace.maps[0].queries, trace.prompt.text
    blank = [(before, token) for before, token in pairwise(tokens) if not whole[token.start : token.end].strip()]
    assert len(blank) == sum(not name.strip("ĠĊĉ") for name in written.split())
    for before, token in blank:
        assert (token.start, whole[token.start : token.end], token.word) == (before.end, token.text, None)


def test_what_cannot_write_says_so():
    with pytest.raises(ModelError, match="choose a decoder"):
        attnviz.run(attnviz.load("minilm"), "write", TEXT)
    _, wrapped = writer(tiny.FAMILY["gpt2"])
    with pytest.raises(PromptError, match="no piece 'nowhere'"):
        attnviz.run(wrapped, "write", TEXT, begins=("nowhere",))
    with pytest.raises(PromptError, match="temperature"):
        attnviz.run(wrapped, "write", TEXT, temperature=-1)
    with pytest.raises(ArgumentError, match="write"):
        attnviz.run(wrapped, "encode", TEXT, tokens=3)


PAIRS = [family for family in tiny.FAMILIES if family.architecture == tiny.SEQ2SEQ]
MORE_PAIRS = (
    tiny.Family("mbart", tiny.SEQ2SEQ, lambda: hf.MBartConfig(**tiny.BART)),
    tiny.Family("blenderbot", tiny.SEQ2SEQ, lambda: hf.BlenderbotConfig(**tiny.BART)),
    tiny.Family("mt5", tiny.SEQ2SEQ, lambda: hf.MT5Config(
        vocab_size=tiny.VOCABULARY, pad_token_id=0, eos_token_id=3, decoder_start_token_id=0, d_model=17, d_kv=5, d_ff=11,
        num_layers=2, num_decoder_layers=2, num_heads=3)),
)  # fmt: skip
each_pair = pytest.mark.parametrize("family", tiny.some_now([*PAIRS, *MORE_PAIRS]), ids=str)


def source_reader(family: tiny.Family):
    """A tiny encoder-decoder that never ends, and what attnviz makes of it."""
    model = family.model()
    model.generation_config.eos_token_id = None
    return model, attnviz.wrap(model, tiny.tokenizer(tiny.SEQ2SEQ))


@each_pair
def test_an_encoder_decoder_writes_as_generate_does_from_its_source(family):
    model, wrapped = source_reader(family)
    ids = torch.tensor([wrapped.tokenizer(TEXT)["input_ids"]])
    # A cache has as many layers as the encoder.
    options = {"do_sample": False, "num_beams": 1, "max_new_tokens": 23, "max_length": None, "use_cache": False}
    want = model.generate(ids, **options)[0].tolist()
    trace = attnviz.run(wrapped, "write", TEXT, tokens=23).trace
    continuation = trace.continuation
    assert list(wrapped.known_pieces(continuation.pieces)) == want
    assert (continuation.start, len(trace.cross.queries), len(trace.decoder.queries)) == (1, 24, 24)
    with torch.no_grad():
        scores = model(ids, decoder_input_ids=torch.tensor([want])).logits[0].log_softmax(dim=-1).numpy()
    rows = np.arange(len(want))[:, None]
    np.testing.assert_allclose(continuation.log_probabilities, scores[rows, continuation.candidates], atol=1e-4)
    np.testing.assert_allclose(continuation.given[1:], scores[rows[:-1, 0], want[1:]], atol=1e-4)
    # What was drawn by chance opens again by its pieces, and another word goes on from where it is taken.
    drawn = attnviz.run(wrapped, "write", TEXT, tokens=9, temperature=1.0, seed=3)
    again = attnviz.run(wrapped, "write", TEXT, tokens=0, begins=drawn.continuation.written)
    assert again.trace.output == drawn.trace.output
    np.testing.assert_array_equal(again.trace.cross.weights(1, 2), drawn.trace.cross.weights(1, 2))
    halves = attnviz.run(wrapped, "write", TEXT, tokens=5, temperature=1.0, seed=3, begins=drawn.continuation.written[:4])
    assert halves.continuation.pieces == drawn.continuation.pieces
    taken = drawn.continuation.next_tokens(2)[1].piece
    branch = attnviz.run(wrapped, "write", TEXT, tokens=3, begins=(*drawn.continuation.written[:2], taken))
    assert branch.continuation.pieces[3] == taken
    off = attnviz.run(wrapped, "write", TEXT, tokens=9, edits="c1.2z")
    assert not off.trace.cross.weights(1, 2).any()
    assert off.before.continuation.pieces == attnviz.run(wrapped, "write", TEXT, tokens=9).continuation.pieces


@pytest.mark.parametrize("name", ["transformer-en-fr", "bahdanau-en-de"])
def test_a_translator_of_the_catalog_writes_what_it_translates(name):
    model, text = attnviz.load(name), "He has been to France."
    want, result = attnviz.run(model, "translate", text), attnviz.run(model, "write", text, tokens=40)
    assert result.trace.output == want.trace.output
    assert result.continuation.written == want.draft.pieces
    likely = [step.probability for step in want.draft.steps]
    np.testing.assert_allclose(np.exp(result.continuation.given[1:]), likely, atol=1e-5)
    assert len(from_bytes(to_bytes(result.trace)).continuation.pieces) == len(want.draft.pieces) + 1
    assert attnviz.run(model, "write", text, tokens=9, begins=want.draft.pieces).trace.output == want.trace.output
    with pytest.raises(PromptError, match="no piece 'nowhere'"):
        attnviz.run(model, "write", text, begins=("nowhere",))
    with pytest.raises(PromptError, match="leave out the target"):
        attnviz.run(model, "write", Prompt(text, target="Oui."))
    with pytest.raises(ModelError, match="choose a decoder"):
        attnviz.parts(result)


def test_suppressed_pieces_and_a_forced_first_one_are_what_authors_saved():
    _, wrapped = source_reader(tiny.FAMILY["bart"])
    model = wrapped.model
    plain = attnviz.run(wrapped, "write", TEXT, tokens=1).continuation
    (most,) = wrapped.known_pieces(plain.written)
    model.generation_config.bad_words_ids, model.generation_config.forced_bos_token_id = [[most], [5, 7]], None
    assert attnviz.run(wrapped, "write", TEXT, tokens=1).continuation.written == (plain.next_tokens(0)[1].piece,)
    model.generation_config.forced_bos_token_id = 11
    ids = torch.tensor([wrapped.tokenizer(TEXT)["input_ids"]])
    want = model.generate(ids, do_sample=False, num_beams=1, max_new_tokens=7, max_length=None)[0].tolist()
    forced = attnviz.run(wrapped, "write", TEXT, tokens=6).continuation
    assert forced.start == 2
    assert list(wrapped.known_pieces(forced.pieces)) == want


def test_an_option_that_there_is_not_is_named_with_those_that_there_are():
    with pytest.raises(ArgumentError, match="takes no token: its options are tokens, temperature, top_k"):
        attnviz.run(attnviz.load("minilm"), "write", TEXT, token=3)
