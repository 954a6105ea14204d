"""Why a word: parts sum to the logit in every family, each is what it adds; the lens ends with the model; patches hold."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz.analysis.next_and_why import describe_together
from attnviz.analysis.wording import plain
from attnviz.attribution import head_roles, parts_and_lens, patching
from attnviz.core.errors import ArgumentError, EditError, ModelError, PromptError, TraceError
from attnviz.core.why import ComparedWords
from tests import tiny
from tests.float64 import in_float64
from tests.tiny import _BERT, _IDS, _LLAMA, _WINDOW, DECODER, Family

TEXT, OTHER = "the cat sat on the mat", "the dog sat on a mat"
_SIZES: dict[str, Any] = {**_IDS, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6}
_EXPERTS: dict[str, Any] = {**_LLAMA, "intermediate_size": 16, "num_local_experts": 3, "num_experts_per_tok": 2}
_SLIDING: dict[str, Any] = {**_WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
_SCALED: dict[str, Any] = {"embedding_multiplier": 1.7, "residual_multiplier": 0.3, "logits_scaling": 1.3}
MORE = (
    Family("apertus", DECODER, lambda: hf.ApertusConfig(**_LLAMA)),
    Family("bert", DECODER, lambda: hf.BertConfig(**_BERT, is_decoder=True)),
    Family("biogpt", DECODER, lambda: hf.BioGptConfig(**_BERT)),
    Family("bitnet", DECODER, lambda: hf.BitNetConfig(**_LLAMA)),
    Family("codegen", DECODER, lambda: hf.CodeGenConfig(**_IDS, n_positions=61, n_embd=32, n_layer=2, n_head=4, rotary_dim=4)),
    Family("cohere", DECODER, lambda: hf.CohereConfig(**_LLAMA)),
    Family("ctrl", DECODER, lambda: hf.CTRLConfig(
        vocab_size=tiny.VOCABULARY, n_positions=61, n_embd=24, dff=13, n_layer=2, n_head=3)),
    Family("falcon, one value", DECODER, lambda: hf.FalconConfig(**_SIZES, multi_query=True, bias=True)),
    Family("gemma", DECODER, lambda: hf.GemmaConfig(**_LLAMA)),
    Family("gemma2, capped", DECODER, lambda: hf.Gemma2Config(**tiny._GEMMA, final_logit_softcapping=2.0)),
    Family("glm4", DECODER, lambda: hf.Glm4Config(**_LLAMA)),
    Family("gpt-bigcode", DECODER, lambda: hf.GPTBigCodeConfig(**_IDS, n_positions=61, n_embd=24, n_layer=2, n_head=3)),
    Family("gpt-neo", DECODER, lambda: hf.GPTNeoConfig(
        **_IDS, hidden_size=24, num_layers=2, num_heads=3, attention_types=[[["global", "local"], 1]], window_size=3,
        max_position_embeddings=61, intermediate_size=13)),
    Family("granite", DECODER, lambda: hf.GraniteConfig(**_LLAMA, **_SCALED)),
    Family("mpt", DECODER, lambda: hf.MptConfig(vocab_size=tiny.VOCABULARY, d_model=24, n_heads=4, n_layers=2, max_seq_len=61)),
    Family("nemotron", DECODER, lambda: hf.NemotronConfig(**_LLAMA)),
    Family("olmo2", DECODER, lambda: hf.Olmo2Config(**_LLAMA)),
    Family("openai-gpt", DECODER, lambda: hf.OpenAIGPTConfig(
        vocab_size=tiny.VOCABULARY, n_positions=61, n_embd=24, n_layer=2, n_head=3)),
    Family("opt, norm behind", DECODER, lambda: hf.OPTConfig(
        **_IDS, hidden_size=15, num_attention_heads=3, num_hidden_layers=2, ffn_dim=11, max_position_embeddings=61,
        word_embed_proj_dim=7, do_layer_norm_before=False)),
    Family("phi", DECODER, lambda: hf.PhiConfig(**_LLAMA)),
    Family("qwen2", DECODER, lambda: hf.Qwen2Config(**_LLAMA)),
    Family("smollm3", DECODER, lambda: hf.SmolLM3Config(**_LLAMA)),
    Family("stablelm", DECODER, lambda: hf.StableLmConfig(**_LLAMA)),
    Family("starcoder2", DECODER, lambda: hf.Starcoder2Config(**_LLAMA)),
)  # fmt: skip
# PyTorch multiplies experts in float32 at most.
EXPERTS = (
    tiny.FAMILY["gpt-oss"],
    Family("mixtral", DECODER, lambda: hf.MixtralConfig(**_EXPERTS)),
    Family("granitemoe", DECODER, lambda: hf.GraniteMoeConfig(**_EXPERTS, **_SCALED)),
    Family("olmoe", DECODER, lambda: hf.OlmoeConfig(**_EXPERTS, num_experts=3)),
)
FAMILIES = (*(each for each in (*tiny.FAMILIES, tiny.GPTJ) if each.architecture == DECODER and each not in EXPERTS), *MORE)


def made(family: Family, dtype: torch.dtype = torch.float64) -> tuple[Any, Any]:
    """A tiny model that names the next token, and what attnviz makes of it."""
    torch.manual_seed(len(family.name))
    model = hf.AutoModelForCausalLM.from_config(family.config(), attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 1.2 * parameter.shape[-1] ** -0.5)
            else:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model = model.to(dtype)
    return model, attnviz.wrap(model, tiny.tokenizer(DECODER))


def logits(model: Any, wrapped: Any, text: str) -> torch.Tensor:
    ids = torch.tensor([wrapped.tokenizer(text)["input_ids"]])
    with torch.no_grad():
        return model(input_ids=ids).logits[0]


def difference(model: Any, wrapped: Any, text: str) -> float:
    mat, dog = wrapped.tokenizer.convert_tokens_to_ids(["mat", "dog"])
    return float(logits(model, wrapped, text)[-1, mat] - logits(model, wrapped, text)[-1, dog])


def test_there_are_many_families():
    assert len(FAMILIES) >= 25


@pytest.mark.parametrize("family", tiny.some_now(FAMILIES), ids=str)
def test_parts_sum_to_what_the_model_says(family):
    model, wrapped = made(family)
    result = attnviz.run(wrapped, "write", TEXT, tokens=0)
    # Many compute their norms in float32, whatever their type.
    with in_float64():
        parts = attnviz.parts(result, "mat", "dog")
        want = difference(model, wrapped, TEXT)
        assert parts.total == pytest.approx(want, abs=1e-9)
    np.testing.assert_allclose(parts.keys.sum(axis=2), parts.heads, atol=1e-9)
    assert parts.heads.all()
    assert parts.mlps.all()
    assert parts.frame.adds.sum() == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize("family", EXPERTS, ids=str)
def test_parts_of_experts_sum_to_what_the_model_says(family):
    model, wrapped = made(family, torch.float32)
    parts = attnviz.parts(attnviz.run(wrapped, "write", TEXT, tokens=0), "mat", "dog")
    assert parts.total == pytest.approx(difference(model, wrapped, TEXT), abs=1e-4)
    assert parts.heads.all()
    assert parts.mlps.all()


# Where families keep their layers, W_O, what else they add, their last norm; and what is done to what is added.
PLACES = {
    "gpt2": ("transformer.h", "attn.c_proj", "mlp", "transformer.ln_f"),
    "llama": ("model.layers", "self_attn.o_proj", "mlp", "model.norm"),
    "gpt-neox": ("gpt_neox.layers", "attention.dense", "mlp", "gpt_neox.final_layer_norm"),
    "gemma2": ("model.layers", "self_attn.o_proj", "mlp", "model.norm"),
    "granite": ("model.layers", "self_attn.o_proj", "mlp", "model.norm"),
    "falcon": ("transformer.h", "self_attention.dense", "mlp", "transformer.ln_f"),
}


@pytest.mark.parametrize("name", list(PLACES))
def test_each_part_is_what_it_alone_gives_to_the_last_norm(name):
    """Vectors are read from the family's modules, by name; the last norm, written out, has the factor of the whole stream."""
    family = next(each for each in FAMILIES if each.name == name)
    model, wrapped = made(family)
    layers, matrix, addition, norm = PLACES[name]
    read: dict[str, torch.Tensor] = {}
    modules = dict(model.named_modules())

    def note(key: str, place: int | None):
        def hook(module: Any, given: Any, output: Any) -> None:
            read[key] = (output if place is None else given[place]).detach()[0, -1].clone()

        return hook

    for number in range(len(modules[layers])):
        base = f"{layers}.{number}."
        modules[base + matrix].register_forward_hook(note(f"{number}.mixed", 0))
        modules[base + addition].register_forward_hook(note(f"{number}.added", None))
        for behind in ("post_attention_layernorm", "post_feedforward_layernorm") if name == "gemma2" else ():
            modules[base + behind].register_forward_hook(note(f"{number}.{behind}", 0))
    modules[norm].register_forward_hook(note("stream", 0))
    result = attnviz.run(wrapped, "write", TEXT, tokens=0)
    with in_float64():
        parts = attnviz.parts(result, "mat", "dog")
        logits(model, wrapped, TEXT)
    pieces = wrapped.tokenizer.convert_tokens_to_ids(["mat", "dog"])
    rows, last = model.get_output_embeddings().weight.detach()[pieces], modules[norm]

    def alone(vector: torch.Tensor, module: Any = last, stream: torch.Tensor | None = None) -> torch.Tensor:
        stream = read["stream"] if stream is None else stream
        if "RMSNorm" not in type(module).__name__:
            centred = stream - stream.mean()
            return (vector - vector.mean()) / (centred.square().mean() + module.eps).sqrt() * module.weight
        gain = module.weight + ("Gemma" in type(module).__name__)
        eps = getattr(module, "eps", None) or getattr(module, "variance_epsilon", None)
        return vector / (stream.square().mean() + eps).sqrt() * gain

    raw = rows @ alone(read["stream"])
    cap = model.config.final_logit_softcapping if name == "gemma2" else None
    # The cap gives of each word's logit a share, which is held fixed.
    shares = cap * (raw / cap).tanh() / raw if cap else torch.ones_like(raw)
    direction = shares[0] * rows[0] - shares[1] * rows[1]
    for number in range(len(modules[layers])):
        base, scale = f"{layers}.{number}.", 1.0
        weight = modules[base + matrix].weight.detach()
        weight = weight.T if name == "gpt2" else weight
        added = read[f"{number}.added"]
        mixed = read[f"{number}.mixed"]
        width = len(mixed) // parts.heads.shape[1]
        if name == "granite":
            scale = model.config.residual_multiplier / model.config.logits_scaling
        for head_number in range(parts.heads.shape[1]):
            own = slice(head_number * width, (head_number + 1) * width)
            vector = weight[:, own] @ mixed[own]
            if name == "gemma2":
                behind = "post_attention_layernorm"
                vector = alone(vector, modules[base + behind], read[f"{number}.{behind}"])
            want = float((direction @ alone(vector)).detach()) * scale
            assert parts.heads[number, head_number] == pytest.approx(want, abs=1e-9)
        if name == "gemma2":
            behind = "post_feedforward_layernorm"
            added = alone(added, modules[base + behind], read[f"{number}.{behind}"])
        assert parts.mlps[number] == pytest.approx(float((direction @ alone(added)).detach()) * scale, abs=1e-9)


@pytest.mark.parametrize("family", [each for each in FAMILIES if each.name in ("gpt2", "llama", "bloom", "opt")], ids=str)
def test_the_lens_ends_with_what_the_model_says(family):
    model, wrapped = made(family)
    lens = attnviz.lens(attnviz.run(wrapped, "write", TEXT, tokens=0))
    said = logits(model, wrapped, TEXT)
    own = said.argmax(dim=-1)
    want = said.float().log_softmax(dim=-1)
    assert lens.words == tuple(wrapped.writer().text_of(int(index)) for index in own)
    assert lens.likeliest[-1] == lens.words
    assert (lens.rank[-1] == 1).all()
    np.testing.assert_allclose(lens.log_p[-1], want.max(dim=-1).values, atol=1e-6)
    np.testing.assert_allclose(lens.entropy[-1], -(want.exp() * want).sum(dim=-1) / np.log(2), atol=1e-5)
    assert lens.log_p.shape == (model.config.num_hidden_layers + 1, len(lens.tokens))
    assert len(lens.frame) == lens.log_p.size


def test_every_row_of_the_lens_is_the_last_norm_over_a_stream():
    model, wrapped = made(tiny.FAMILY["llama"])
    lens = attnviz.lens(attnviz.run(wrapped, "write", TEXT, tokens=0))
    ids = torch.tensor([wrapped.tokenizer(TEXT)["input_ids"]])
    with torch.no_grad():
        streams = model(input_ids=ids, output_hidden_states=True).hidden_states
        rows = [model.lm_head(model.model.norm(stream))[0].float().log_softmax(dim=-1) for stream in streams[:-1]]
        own = model(input_ids=ids).logits[0].argmax(dim=-1)
    for row, scores in enumerate(rows):
        np.testing.assert_allclose(lens.log_p[row], scores.gather(1, own[:, None])[:, 0], atol=1e-5)
        np.testing.assert_allclose(lens.probability[row], scores.max(dim=-1).values.exp(), atol=1e-6)
        assert lens.likeliest[row] == tuple(wrapped.writer().text_of(int(index)) for index in scores.argmax(dim=-1))
        np.testing.assert_array_equal(lens.rank[row], 1 + (scores > scores.gather(1, own[:, None])).sum(dim=-1))


@pytest.mark.parametrize(
    "family", tiny.first_now([each for each in FAMILIES if each.name in ("gpt2", "llama", "bloom", "opt")], 2), ids=str
)
def test_patching_nothing_changes_nothing_and_all_gives_the_other(family, monkeypatch):
    model, wrapped = made(family)
    for what in ("heads", "mlps", "stream"):
        same = attnviz.patch(wrapped, TEXT, TEXT, "mat", "dog", what)
        assert (same.patched == same.one).all()
        assert (same.estimate == same.one).all()
    # Row by row, no product has another shape than in a pass over one text.
    monkeypatch.setattr(patching, "BATCH", 1)
    stream = attnviz.patch(wrapped, TEXT, OTHER, "mat", "dog", "stream")
    assert stream.patched[-1, -1] == stream.other
    assert stream.one == pytest.approx(difference(model, wrapped, TEXT), abs=1e-6)
    assert stream.other == pytest.approx(difference(model, wrapped, OTHER), abs=1e-6)


# Layers without attention have states in a cache, too. Jamba's read one token behind them; Zaya's hand on a second stream.
HYBRIDS = (
    Family("jamba", DECODER, lambda: hf.JambaConfig(
        **_LLAMA, attn_layer_period=2, attn_layer_offset=1, mamba_d_state=5, mamba_d_conv=3,
        num_experts=1, num_experts_per_tok=1, use_mamba_kernels=False)),
    Family("lfm2", DECODER, lambda: hf.Lfm2Config(**_LLAMA, layer_types=["conv", "full_attention"])),
    Family("zaya", DECODER, lambda: hf.ZayaConfig(**{**_LLAMA, "intermediate_size": 12}, num_experts=3)),
)  # fmt: skip


@pytest.mark.parametrize("family", HYBRIDS, ids=str)
def test_layers_without_attention_are_patched_as_hooks_do_it(family):
    model, wrapped = made(family, torch.float32)
    one, other = "the cat sat on the mat because it was too tired", "the cat sat on a mat and it ran to street"
    patches = attnviz.patch(wrapped, one, other, "mat", "dog", "stream")
    layers, states, changed = model.model.layers, [], []
    for layer in layers:
        layer.register_forward_pre_hook(lambda module, given: states.append(given[0]))
    logits(model, wrapped, other)
    there = dict(enumerate(states))

    def put(row: int, column: int) -> float:
        def hook(module: Any, given: Any) -> Any:
            stream = given[0].clone()
            stream[:, column] = there[row][:, column]
            return (stream, *given[1:])

        handle = layers[row].register_forward_pre_hook(hook)
        try:
            return difference(model, wrapped, one)
        finally:
            handle.remove()

    for row in range(len(layers)):
        changed.append([put(row, column) for column in range(patches.patched.shape[1])])
    np.testing.assert_allclose(patches.patched[:-1], changed, atol=1e-4)
    assert np.ptp(changed) > 0.01


def test_layers_of_images_are_not_taken_for_those_of_a_text():
    vision = {
        "hidden_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 96,
        "image_size": 8,
        "patch_size": 4,
    }
    family = Family("git", DECODER, lambda: hf.GitConfig(**_BERT, vision_config=vision))
    model, wrapped = made(family, torch.float32)
    parts = attnviz.parts(attnviz.run(wrapped, "write", TEXT, tokens=0), "mat", "dog")
    assert parts.total == pytest.approx(difference(model, wrapped, TEXT), abs=1e-4)
    assert parts.heads.all()
    assert parts.mlps.all()
    assert attnviz.patch(wrapped, TEXT, OTHER, "mat", "dog", "stream").patched.shape == (3, 6)


@pytest.mark.parametrize(
    "family",
    tiny.first_now([each for each in FAMILIES if each.name in ("gpt2", "gemma2", "mistral", "opt", "bloom")], 2),
    ids=str,
)
def test_what_both_texts_begin_with_is_read_once_and_changes_nothing(family):
    _, wrapped = made(family)
    seen: list[int] = []
    last = [each for each in wrapped.model.modules() if "Attention" in type(each).__name__][-1]
    last.register_forward_hook(lambda module, given, output: seen.append(output[0].shape[1]))
    both = "the cat sat on the mat", "the cat sat on a mat"
    for what in ("heads", "mlps", "stream"):
        seen.clear()
        patches = attnviz.patch(wrapped, *both, "mat", "dog", what)
        behind = len(patches.tokens[0]) - next(
            place for place, pair in enumerate(zip(*patches.tokens, strict=True)) if pair[0].text != pair[1].text
        )
        assert seen[-1] == behind < len(patches.tokens[0])
        wrapped.writer().continues = False
        np.testing.assert_allclose(patches.difference, attnviz.patch(wrapped, *both, "mat", "dog", what).difference, atol=1e-6)
        assert seen[-1] == len(patches.tokens[0])
        wrapped.writer().continues = True


def test_what_experts_round_otherwise_before_the_first_token_that_differs_is_not_patched():
    _, wrapped = made(EXPERTS[0], torch.float32)
    both = "the cat sat on the mat it was too tired", "the cat sat on the mat it was too dog"
    patches = attnviz.patch(wrapped, *both, "mat", "dog", "stream")
    np.testing.assert_allclose(patches.patched[:, :-1], patches.one, atol=1e-4)


def test_a_patched_head_is_a_pass_with_its_part_of_the_other_text():
    model, wrapped = made(tiny.FAMILY["llama"])
    patches = attnviz.patch(wrapped, TEXT, OTHER, "mat", "dog")
    assert patches.patched.shape == (2, 6)
    for layer in range(2):
        matrix, seen = model.model.layers[layer].self_attn.o_proj, []
        handle = matrix.register_forward_pre_hook(lambda module, given, seen=seen: seen.append(given[0].clone()))
        logits(model, wrapped, OTHER)
        handle.remove()
        for head in range(6):
            own = slice(4 * head, 4 * head + 4)

            def put(module: Any, given: Any, own: slice = own, seen: list[torch.Tensor] = seen) -> Any:
                given[0][..., own] = seen[0][..., own]

            handle = matrix.register_forward_pre_hook(put)
            assert patches.patched[layer, head] == pytest.approx(difference(model, wrapped, TEXT), abs=1e-6)
            handle.remove()
    assert patches.correlation > 0.5
    assert patches.frame.change.abs().max() > 0


@pytest.mark.parametrize("what", ["heads", "mlps", "stream"])
@pytest.mark.parametrize("name", tiny.first_now(["llama", "opt"]))
def test_a_part_of_a_random_text_is_what_a_patch_from_it_gives(name, what):
    """Texts of one batch keep apart, also where a family lays them one behind another; a longer one is cut."""
    _, wrapped = made(tiny.FAMILY[name])
    patches, random = attnviz.patch(wrapped, TEXT, OTHER, "mat", "dog", what), ("a dog ran on the cat", "the mat sat on a dog")
    made_random = attnviz.patch_at_random(wrapped, patches, [random[0], random[1] + " sat"])
    assert made_random.random.shape == (len(patches.strongest), 2)
    for column, text in enumerate(random):
        want = attnviz.patch(wrapped, TEXT, text, "mat", "dog", what).patched
        got = made_random.random[:, column]
        np.testing.assert_allclose(got, [want[place] for place in patches.strongest], atol=1e-6)
    assert np.ptp(np.asarray(made_random.random)) > 1e-3
    longer = attnviz.patch_at_random(wrapped, patches, ["the cat sat on the dog"])  # it differs later than the other text
    want = attnviz.patch(wrapped, TEXT, "the cat sat on the dog", "mat", "dog", what).patched
    np.testing.assert_allclose(longer.random[:, 0], [want[place] for place in patches.strongest], atol=1e-6)
    with pytest.raises(PromptError, match="have 6 tokens or more, and 'the cat' has fewer"):
        attnviz.patch_at_random(wrapped, patches, ["the cat"])
    for none in ([], TEXT):
        with pytest.raises(PromptError, match="a list of one or more"):
            attnviz.patch_at_random(wrapped, patches, none)


@pytest.mark.parametrize(("name", "places"), [("llama", "model.layers.{}.mlp"), ("opt", "model.decoder.layers.{}.fc2")])
def test_a_patched_mlp_is_a_pass_with_its_output_of_the_other_text(name, places):
    model, wrapped = made(tiny.FAMILY[name])
    modules, patched = dict(model.named_modules()), attnviz.patch(wrapped, TEXT, OTHER, "mat", "dog", "mlps").patched
    for layer in range(2):
        addition, seen = modules[places.format(layer)], []
        handle = addition.register_forward_hook(lambda module, given, output, seen=seen: seen.append(output.clone()))
        logits(model, wrapped, OTHER)
        handle.remove()
        handle = addition.register_forward_hook(lambda module, given, output, seen=seen: seen[0])
        assert patched[layer, 0] == pytest.approx(difference(model, wrapped, TEXT), abs=1e-6)
        handle.remove()
    assert np.ptp(np.asarray(patched)) > 1e-3


def _hook(modules: dict[str, Any], what: str, place: str, part: tuple[int, int], seen: list[torch.Tensor]) -> Any:
    """Put what a part was in the other text in its place, in a pass of the whole model."""
    module = modules[place.format(part[0])]
    if what == "mlps":
        return module.register_forward_hook(lambda module, given, output: seen[0])

    def put(module: Any, given: Any) -> Any:
        given[0][..., 4 * part[1] : 4 * part[1] + 4] = seen[0][..., 4 * part[1] : 4 * part[1] + 4]

    return module.register_forward_pre_hook(put)


@pytest.mark.parametrize(
    ("name", "what", "place"),
    [
        ("llama", "heads", "model.layers.{}.self_attn.o_proj"), ("llama", "mlps", "model.layers.{}.mlp"),
        ("opt", "mlps", "model.decoder.layers.{}.fc2"),
    ],
)  # fmt: skip
def test_parts_that_are_set_together_are_a_pass_with_all_of_them(name, what, place):
    model, wrapped = made(tiny.FAMILY[name])
    modules, patches = dict(model.named_modules()), attnviz.patch(wrapped, TEXT, OTHER, "mat", "dog", what)
    curve = attnviz.patch_together(wrapped, patches)
    towards = patches.change * np.sign(patches.other - patches.one)
    order = sorted(np.ndindex(towards.shape), key=lambda part: -towards[part])
    assert curve.counts == ((1, 2, 4, 8, 12) if what == "heads" else (1, 2))
    # What a part is in the other text alone, below it nothing is patched.
    states: dict[int, list[torch.Tensor]] = {layer: [] for layer in range(2)}
    handles = [
        modules[place.format(layer)].register_forward_hook(
            lambda module, given, output, seen=seen: seen.append((output if what == "mlps" else given[0]).clone())
        )
        for layer, seen in states.items()
    ]
    logits(model, wrapped, OTHER)
    for handle in handles:
        handle.remove()
    for count, value in zip(curve.counts, curve.best, strict=True):
        handles = [_hook(modules, what, place, part, states[part[0]]) for part in order[:count]]
        # Norms of llama compute in float32, whose roundings of a logit of 4 are 2e-7 each.
        assert value == pytest.approx(difference(model, wrapped, TEXT), abs=1e-5)
        for handle in handles:
            handle.remove()
    # Whatever the order, all of them are all.
    np.testing.assert_allclose(curve.random[:, -1], curve.best[-1], atol=1e-5)
    assert curve.random.shape == (20, len(curve.counts))
    assert np.ptp(curve.random[:, 0]) > 1e-3
    assert all(np.abs(patches.patched - value).min() < 1e-5 for value in curve.random[:, 0])


def test_streams_that_are_set_together_give_the_other_text_and_a_text_alone_has_no_best_part():
    _, wrapped = made(tiny.FAMILY["llama"])
    patches = attnviz.patch(wrapped, TEXT, OTHER, "mat", "dog", "stream")
    curve = attnviz.patch_together(wrapped, patches)
    best = (patches.change * np.sign(patches.other - patches.one)).argmax()
    assert curve.best[0] == pytest.approx(patches.patched.flat[best], abs=1e-9)
    assert curve.best[-1] == pytest.approx(patches.other, abs=1e-9)
    assert list(curve.frame.columns)[:3] == ["parts", "best", "draw_1"]
    # The first token is the same in both.
    assert curve.counts[-1] == patches.change.size - len(patches.change)
    same = attnviz.patch(wrapped, TEXT, TEXT, "mat", "dog", "stream")
    nothing = attnviz.patch_together(wrapped, same)
    assert (nothing.counts, nothing.best.size, nothing.random.size) == ((), 0, 0)
    assert plain(describe_together(same, nothing)) == "No part moves the difference towards the other text."


# Two additions side by side, of experts and of an MLP that all tokens share; OPT's stand one behind the other.
SHARED = Family("granitemoeshared", DECODER, lambda: hf.GraniteMoeSharedConfig(**_EXPERTS, shared_intermediate_size=11))


@pytest.mark.parametrize(
    ("family", "what"),
    [(tiny.FAMILY["llama"], "stream"), (SHARED, "mlps"), (tiny.FAMILY["opt"], "mlps")], ids=str,
)  # fmt: skip
def test_the_estimate_is_the_slope_of_a_patch(family, what):
    """A text that differs by little is patched as the estimate says: halves of the step bring the two closer by quarters."""
    model, wrapped = made(family, torch.float32 if family is SHARED else torch.float64)
    embedding, cat, dog = model.get_input_embeddings().weight, *wrapped.tokenizer.convert_tokens_to_ids(["cat", "dog"])
    there, gaps = embedding[dog].detach().clone(), []
    for step in (0.02, 0.01):
        with torch.no_grad():
            embedding[dog] = embedding[cat] + step * (there - embedding[cat])
        patches = attnviz.patch(wrapped, TEXT, TEXT.replace("cat", "dog"), "mat", "ran", what)
        gaps.append(np.abs(patches.patched - patches.estimate).max())
    assert gaps[1] < gaps[0] * 0.3


@pytest.mark.usefixtures("unchecked")
def test_a_text_and_its_words_are_checked():
    _, wrapped = made(tiny.FAMILY["gpt2"])
    result = attnviz.run(wrapped, "write", TEXT, tokens=0)
    with pytest.raises(ModelError, match="has no piece"):
        attnviz.parts(result, "#99999")
    with pytest.raises(PromptError, match="position 1 to 6"):
        attnviz.parts(result, "mat", position=9)
    with pytest.raises(PromptError, match="begin with different tokens"):
        attnviz.parts(result, "mat", "mat")
    with pytest.raises(PromptError, match="as many tokens"):
        attnviz.patch(wrapped, TEXT, "the cat")
    with pytest.raises(PromptError, match="heads, mlps, stream"):
        attnviz.estimate_patches(wrapped, TEXT, OTHER, what="layers")
    with pytest.raises(PromptError, match="heads, mlps, stream"):
        attnviz.patch(wrapped, TEXT, OTHER, what="layers")
    with pytest.raises(EditError, match="without edits"):
        attnviz.parts(attnviz.run(wrapped, "write", TEXT, tokens=0, edits="d0.1z"))
    with pytest.raises(TraceError, match="run “write”"):
        attnviz.lens(attnviz.run(wrapped, "encode", TEXT))
    trace: Any = result.trace
    with pytest.raises(ArgumentError, match=r"what attnviz\.run gives for the task “write”, not of an AttentionTrace"):
        attnviz.lens(trace)
    number: Any = 3
    with pytest.raises(ArgumentError, match="a text or a candidate, not int 3"):
        attnviz.parts(result, number)
    with pytest.raises(PromptError, match="a str or a Prompt, not int 3"):
        attnviz.patch(wrapped, TEXT, number)
    for ask in (attnviz.parts, attnviz.lens):
        place: Any = "5"
        with pytest.raises(PromptError, match=r"position 1 to 6, .* not str '5'"):
            ask(result, position=place)


def test_a_model_that_is_no_sum_says_so():
    _, wrapped = made(tiny.FAMILY["llama"])
    last = wrapped.model.model.norm
    plain = last.forward
    last.forward = lambda states: plain(states).sin()
    result = attnviz.run(wrapped, "write", TEXT, tokens=0)
    with pytest.raises(ModelError, match=r"llama.* cannot be taken apart into what was added: on the way lies what is no sum"):
        attnviz.parts(result, "mat")
    hybrid = hf.MiniMaxForCausalLM(tiny.hybrid().config).eval()
    result = attnviz.run(attnviz.wrap(hybrid, tiny.tokenizer(DECODER)), "write", TEXT, tokens=0)
    with pytest.raises(ModelError, match="cannot be taken apart into what was added"):
        attnviz.parts(result, "mat")


def test_a_model_that_was_explained_is_wrapped_and_copied_as_any_other():
    """Each copy is looked into by itself, once: none keeps what was put around the layers of another."""
    _, wrapped = made(tiny.FAMILY["llama"])
    result = attnviz.run(wrapped, "write", TEXT, tokens=0)
    lens = attnviz.lens(result)
    patches = attnviz.patch(wrapped, TEXT, OTHER, "mat", "ran", "mlps")
    for other in (attnviz.wrap(wrapped.model, wrapped.tokenizer), copy.deepcopy(wrapped)):
        there = attnviz.lens(attnviz.run(other, "write", TEXT, tokens=0))
        np.testing.assert_array_equal(there.rank, lens.rank)
        np.testing.assert_array_equal(attnviz.patch(other, TEXT, OTHER, "mat", "ran", "mlps").patched, patches.patched)


def test_a_written_token_is_explained_where_it_stands():
    _, wrapped = made(tiny.FAMILY["gpt2"])
    result = attnviz.run(wrapped, "write", TEXT, tokens=3)
    here = attnviz.parts(result, position=7)
    assert len(here.tokens) == here.place == 7
    assert here.words == ComparedWords(wrapped.writer().text_of(wrapped.writer().ids(result.continuation.pieces)[7]))
    first = attnviz.run(wrapped, "write", TEXT, tokens=0, begins=result.continuation.written[:1])
    assert here.total == pytest.approx(attnviz.parts(first, result.continuation.next_tokens(6)[0]).total, abs=1e-5)


def test_without_a_head_is_a_pass_without_it():
    model, wrapped = made(tiny.FAMILY["llama"])
    result = attnviz.run(wrapped, "write", TEXT, tokens=0)
    off = parts_and_lens.without_head(result, "mat", "dog", layer=0, head=3)
    model.model.layers[0].self_attn.o_proj.register_forward_pre_hook(
        lambda module, given: (torch.cat([given[0][..., :12], 0 * given[0][..., 12:16], given[0][..., 16:]], dim=-1),)
    )
    # Its attention is computed by another kernel, in float32 in places.
    assert off == pytest.approx(difference(model, wrapped, TEXT), abs=1e-6)


@pytest.mark.gate
def test_mary_gets_the_drink():
    model = attnviz.load("smollm2")
    result = attnviz.run(model, "write", "When Mary and John went to the store, John gave a drink to", tokens=0)
    parts = attnviz.parts(result, "Mary", "John")
    ids = torch.tensor([model.tokenizer(result.prompt.text)["input_ids"]])
    mary, john = (model.tokenizer(word)["input_ids"][0] for word in (" Mary", " John"))
    with torch.no_grad():
        said = model.model(ids).logits[0, -1]
    assert parts.total == pytest.approx(float(said[mary] - said[john]), abs=1e-3)
    assert parts.strongest == (23, 3)
    # The name mover looks at Mary, and copies it.
    assert parts.tokens[int(parts.keys[23, 0].argmax())].text == "Mary"


@pytest.mark.parametrize("name", ["gpt2", "llama", "opt", "gpt-neox"])
def test_a_head_copies_what_its_matrices_make_of_the_stream_behind_the_first_layer(name):
    family = next(each for each in FAMILIES if each.name == name)
    model, wrapped = made(family)
    encoded = wrapped.writer().read(TEXT)
    found = head_roles.copied(wrapped, [encoded, encoded], [1, 5])
    trace = wrapped.trace(TEXT)
    looks = np.stack([trace.maps[0].layer_weights(layer)[:, -1] for layer in range(2)])
    np.testing.assert_allclose(found.looks, looks[..., [1, 5]], atol=1e-6)
    assert found.copies.shape == found.looks.shape
    if name != "llama":
        return
    # Written out: the values of the stream behind layer 0, W_O of one head, the last norm, the layer on top.
    with torch.no_grad():
        stream = model(torch.tensor([wrapped.tokenizer(TEXT)["input_ids"]]), output_hidden_states=True).hidden_states[1]
        for layer, head, column in np.ndindex(2, 6, 2):
            place = (1, 5)[column]
            block = model.model.layers[layer]
            source = stream if layer else model.model.embed_tokens(torch.tensor([wrapped.tokenizer(TEXT)["input_ids"]]))
            value = block.self_attn.v_proj(block.input_layernorm(source))[0, place]
            group = head * block.self_attn.v_proj.out_features // (6 * 4)
            own = value[4 * group : 4 * group + 4]
            written = block.self_attn.o_proj.weight[:, 4 * head : 4 * head + 4] @ own
            scores = model.lm_head(model.model.norm(written))
            target = wrapped.tokenizer(TEXT)["input_ids"][place]
            assert bool(found.copies[layer, head, column]) == bool((scores > scores[target]).sum() < head_roles.TOP)
    assert 0 < found.copies.sum() < found.copies.size


def test_a_head_that_always_has_a_role_holds_among_all_heads_of_a_large_model():
    scores = np.zeros((head_roles.SEQUENCES, len(head_roles.ROLES), 80, 64))
    scores[:, 2, 7, 5] = 1
    found = head_roles.HeadRoles("large", scores, None, np.zeros((80, 64)))
    assert np.argwhere(found.holds).tolist() == [[2, 7, 5]]


def test_roles_beside_a_sink_are_those_of_the_tokens():
    """A sink is one more key than there are tokens, and no special token before them."""
    model, wrapped = made(tiny.FAMILY["gpt-oss"], torch.float32)
    found = attnviz.head_roles(wrapped).scores[0]
    dice, known = np.random.default_rng(head_roles.SEED), np.arange(tiny.VOCABULARY // 20, tiny.VOCABULARY // 2)
    period = min(head_roles.PERIOD, len(known), (wrapped.card.max_tokens - 2) // 2)
    ids = dice.choice(np.setdiff1d(known, wrapped.tokenizer.all_special_ids), period, replace=False).tolist()
    with torch.no_grad():
        attentions = model(torch.tensor([[*ids, *ids]]), output_attentions=True).attentions
    weights = np.stack([each[0].numpy() for each in attentions])
    rows = np.arange(period, 2 * period)
    for role, behind in (("duplicate token", 0), ("induction", 1)):
        want = weights[:, :, rows, rows - period + behind].mean(axis=2)
        np.testing.assert_allclose(found[head_roles.ROLES.index(role)], want, atol=1e-6)
