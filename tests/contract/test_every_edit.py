"""What every edit must keep, one family a parameter: it does to the model what it says, and nothing else, and nothing stays."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from torch.overrides import TorchFunctionMode
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

import attnviz
from attnviz import Edits, HeadPatched, HeadSet, LinkCut, Prompt, WeightSet, WordHidden
from attnviz.core.errors import AttnvizError, EditError
from attnviz.export import export, picture
from attnviz.export.picture import trace_expression
from attnviz.models.edit import edited
from attnviz.models.hub import attention_readers
from attnviz.models.hub import download as hub
from attnviz.models.shipped_models import load_trained
from attnviz.nn import attention as own
from attnviz.nn.lstm_translator import Seq2Seq
from tests import tiny
from tests.answerers import tiny_answerer
from tests.factories import assert_same
from tests.summarizers import tiny_summarizer
from tests.translators import KINDS, tiny_translator

TEXT = "The cat sat on the mat, because it was too tired."
TOLERANCE = 1e-5
# One of each shape: what edits is one function, and that it reads every family right is said by test_every_model.py.
ALIKE = {
    "roberta", "xlm-roberta", "camembert", "electra", "mistral", "qwen3", "gemma3", "phi3", "marian", "m2m-100", "pegasus"
}  # fmt: skip
SHAPES = [family for family in tiny.FAMILIES if family.name not in ALIKE]
RECORDED = [family for family in SHAPES if family.recorded]
OTHERS = [family for family in SHAPES if not family.recorded]
by_family = pytest.mark.parametrize("family", tiny.some_now(RECORDED), ids=str)
by_every_family = pytest.mark.parametrize("family", tiny.some_now(SHAPES), ids=str)
ANSWER = Prompt("The cat sat on the mat in 1887.", question="When did the cat sit?")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch, brief: None) -> None:
    # A random model that writes never comes to an end by itself.
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "29")


@cache
def loaded(family: tiny.Family) -> Any:
    """The family's model as it is read from a folder: what a test does to it is gone after the test."""
    with TemporaryDirectory() as folder:
        family.save(Path(folder))
        return hub.load(folder)


def prompt_for(family: tiny.Family) -> Prompt:
    return Prompt(TEXT, target="the dog ran" if family.architecture == tiny.SEQ2SEQ else None)


def kind_of(family: tiny.Family) -> Any:
    return "decoder" if family.architecture == tiny.DECODER else "encoder"


def outputs(traced: Any, prompt: Prompt, edits: Edits = Edits()) -> torch.Tensor:  # noqa: B008 - edits are immutable
    """The last states, or the scores of what is written, of a model of the hub's kind."""
    with edited(traced, prompt, edits):
        source = traced.tensors(traced.encode([prompt.text]))
        if prompt.target:
            written = traced.encode([prompt.target], target=True).inputs["input_ids"]
            source["decoder_input_ids"] = torch.tensor([[traced._start, *written[:-1]]])
        return traced.reader.read(source)[0].clone()


def written_out(module: Any, query: Any, key: Any, mask: Any, options: dict[str, Any]) -> torch.Tensor:
    """softcap(Q Kᵀ · scaling) + position bias, masked; a sink is the last column. Nothing of attnviz computes it."""
    scaling, softcap, sink = (options.get(name) for name in ("scaling", "softcap", "s_aux"))
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if softcap is not None:
        scores = softcap * (scores / softcap).tanh()
    if options.get("position_bias") is not None:
        scores = scores + options["position_bias"]
    n_queries, n_keys = scores.shape[2:]
    is_causal = options.get("is_causal")
    if mask is None and (module.is_causal if is_causal is None else is_causal) and n_queries > 1:
        mask = torch.arange(n_keys) - n_keys <= torch.arange(n_queries)[:, None] - n_queries
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf) if mask.dtype == torch.bool else scores + mask
    if sink is not None:
        scores = torch.cat([scores, sink.reshape(1, -1, 1, 1).expand(len(scores), -1, n_queries, 1)], dim=3)
    return scores


class Scored:
    """Attention as a paper writes it, with -inf added to one score of one head of one layer."""

    def __init__(self, kinds: dict[int, str], stack: str, cut: LinkCut, depth: int) -> None:
        self.kinds, self.stack, self.cut, self.depth, self.calls = kinds, stack, cut, depth, 0

    def __call__(self, module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> tuple[Any, None]:
        groups = query.shape[1] // key.shape[1]
        key, value = (each.repeat_interleave(groups, dim=1) for each in (key, value))
        scores = written_out(module, query, key, mask, options)
        if self.kinds.get(id(module), self.stack) == self.cut.kind:
            if self.calls % self.depth == self.cut.layer:
                scores[:, self.cut.head, self.cut.query, self.cut.key] += -torch.inf
            self.calls += 1
        weights = scores.softmax(dim=-1)[..., : key.shape[2]]
        return (weights @ value).transpose(1, 2).contiguous(), None


@by_every_family
def test_nothing_edited_and_what_is_already_there_are_bit_equal(family: tiny.Family) -> None:
    traced, prompt, kind = loaded(family), prompt_for(family), kind_of(family)
    plain, want = traced.trace(prompt), outputs(traced, prompt)
    attention = plain.map(kind)
    head = attention.n_heads - 1
    weight = float(attention.weights(1, head)[5, 3])
    masked = np.argwhere(~attention.visible(1))
    there = [
        Edits(),
        Edits((WeightSet(kind, 1, head, 5, 3, weight),)),
        Edits((HeadPatched(kind, 1, head, prompt.text),)),
        *(Edits((LinkCut(kind, 1, head, *map(int, cell)),)) for cell in masked[:1]),
    ]
    for edits in there:
        trace = traced.trace(prompt, edits)
        assert trace.edits == edits
        assert_same(trace, plain)
        assert torch.equal(outputs(traced, prompt, edits), want), edits.text


@by_family
def test_a_cut_link_is_minus_infinity_added_to_its_score(family: tiny.Family) -> None:
    traced: Any = loaded(family)
    prompt = prompt_for(family)
    for kind, (depth, heads) in traced.sizes.items():
        query, key = (3, 1)
        cut = LinkCut(kind, depth - 1, heads - 1, query, key)
        got = outputs(traced, prompt, Edits((cut,)))
        assert not torch.equal(got, outputs(traced, prompt)), "the edit does nothing"
        AttentionInterface.register("cut", Scored(traced.reader.kinds, kind_of(family), cut, depth))
        AttentionMaskInterface.register("cut", sdpa_mask)
        traced.model.set_attn_implementation("cut")
        want = outputs(traced, prompt)
        traced.model.set_attn_implementation(attention_readers.NAME)
        torch.testing.assert_close(got, want, atol=TOLERANCE, rtol=TOLERANCE)
        assert traced.trace(prompt, Edits((cut,))).map(kind).weights(cut.layer, cut.head)[query, key] == 0


# Where the families keep the W_O of an attention: the linear layer that reads the heads side by side.
OUTPUTS = ("o_proj", "out_proj", "out_lin", "dense", "c_proj", "o", "Wo", "wo")


def w_o(module: Any, traced: Any) -> Any:
    """Find W_O of an attention module, or of the module around it."""
    around = {id(child): parent for parent in traced.model.modules() for child in parent.children()}
    for place in (module, getattr(around.get(id(module)), "output", None)):
        for name in OUTPUTS:
            if place is not None and (actual := getattr(place, name, None)) is not None and hasattr(actual, "weight"):
                return actual
    raise AssertionError(f"no W_O in {type(module).__name__}")


@by_family
def test_a_head_at_zero_is_its_columns_of_w_o_at_zero(family: tiny.Family) -> None:
    traced: Any = loaded(family)
    prompt = prompt_for(family)
    with torch.no_grad(), attention_readers.recording() as recorded:
        source = traced.tensors(traced.encode([prompt.text]))
        if prompt.target:
            source["decoder_input_ids"] = torch.tensor([[traced._start, 7, 8]])
        traced.model(**source)
    for kind, (_, heads) in traced.sizes.items():
        calls = [call for call in recorded.calls if traced.reader.kinds.get(id(call.module), kind_of(family)) == kind]
        layer = len(calls) - 1
        off = Edits((HeadSet(kind, layer, heads - 1),))
        got, trace = outputs(traced, prompt, off), traced.trace(prompt, off)
        assert not trace.map(kind).weights(layer, heads - 1).any()
        matrix, dim = w_o(calls[layer].module, traced), calls[layer].value.shape[-1]
        columns = slice((heads - 1) * dim, heads * dim)
        kept = matrix.weight.detach().clone()
        if calls[0].module is calls[layer].module and layer:
            # Layers that share a module share W_O: what is off in all of them is compared.
            off = Edits(tuple(HeadSet(kind, each, heads - 1) for each in range(layer + 1)))
            got = outputs(traced, prompt, off)
        with torch.no_grad():
            # GPT-2 keeps its matrices the other way round.
            (matrix.weight if type(matrix).__name__ == "Conv1D" else matrix.weight.T)[columns] = 0
            want = outputs(traced, prompt)
            matrix.weight.copy_(kept)
        torch.testing.assert_close(got, want, atol=TOLERANCE, rtol=TOLERANCE)
        assert not torch.equal(got, outputs(traced, prompt)), "the edit does nothing"


@by_every_family
def test_means_uniform_rows_and_hidden_words_honour_the_mask(family: tiny.Family) -> None:
    traced, prompt, kind = loaded(family), prompt_for(family), kind_of(family)
    plain = traced.trace(prompt).map(kind)
    before, seen = plain.weights(1, 1), plain.visible(1)
    n_keys = before.shape[0]  # a sink is one more
    uniform = traced.trace(prompt, Edits((HeadSet(kind, 1, 1, "uniform"),))).map(kind).weights(1, 1)
    spread = seen[:, :n_keys] / seen[:, :n_keys].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(uniform[:, :n_keys], spread, atol=TOLERANCE)
    mean = traced.trace(prompt, Edits((HeadSet(kind, 1, 1, "mean"),))).map(kind).weights(1, 1)
    rows = np.cumsum(before, axis=0) / np.arange(1, len(before) + 1)[:, None]
    rows = (rows if kind == "decoder" else np.broadcast_to(before.mean(axis=0), before.shape)) * seen
    np.testing.assert_allclose(mean, rows / rows.sum(axis=1, keepdims=True), atol=TOLERANCE)
    last = n_keys - 1
    edits = Edits((WordHidden(kind, 2, 1), WeightSet(kind, 1, 0, last, last - 1, 0.25)))
    hidden = traced.trace(prompt, edits).map(kind)
    assert not hidden.layer_weights(1)[:, :, 2].any()
    np.testing.assert_allclose(hidden.layer_weights(1).sum(axis=-1), 1, atol=1e-4)
    assert hidden.weights(1, 0)[last, last - 1] == pytest.approx(0.25)


class CutScore(TorchFunctionMode):
    """Adds -inf to one score of one head in one of the softmaxes of a pass: those of the attentions, lowest layer first."""

    def __init__(self, cut: LinkCut) -> None:
        super().__init__()
        self.cut, self.calls = cut, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.softmax, torch.Tensor.softmax, torch.nn.functional.softmax) and args[0].ndim == 4:
            if self.calls == self.cut.layer:
                args[0][:, self.cut.head, self.cut.query, self.cut.key] = -torch.inf
            self.calls += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("family", tiny.some_now(OTHERS), ids=str)
def test_a_family_that_computes_its_attention_itself_is_edited_at_its_softmax(family: tiny.Family) -> None:
    traced: Any = loaded(family)
    ((kind, (depth, heads)),) = traced.sizes.items()
    cut = LinkCut(kind, depth - 1, heads - 1, 3, 1)
    with CutScore(cut):
        want = outputs(traced, Prompt(TEXT))
    got, trace = outputs(traced, Prompt(TEXT), Edits((cut,))), traced.trace(TEXT, Edits((cut,)))
    torch.testing.assert_close(got, want, atol=TOLERANCE, rtol=TOLERANCE)
    assert not torch.equal(got, outputs(traced, Prompt(TEXT))), "the edit does nothing"
    assert trace.map(kind).weights(cut.layer, cut.head)[3, 1] == 0
    off = traced.trace(TEXT, Edits((HeadSet(kind, 0, 1),))).map(kind).layer_weights(0)
    assert not off[1].any()
    np.testing.assert_array_equal(off[0], traced.trace(TEXT).map(kind).weights(0, 0))


def test_a_softmax_of_something_else_in_the_same_module_is_not_edited() -> None:
    sizes = {"vocab_size": tiny.VOCABULARY, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6}
    config = hf.ConvBertConfig(**sizes, head_ratio=2, embedding_size=24, intermediate_size=11, conv_kernel_size=3)
    traced = attnviz.wrap(hf.ConvBertModel(config).eval(), tiny.tokenizer())
    before, off = traced.trace(TEXT).encoder, traced.trace(TEXT, "e0.1z").encoder
    assert not off.weights(0, 1).any()
    np.testing.assert_array_equal(off.weights(0, 0), before.weights(0, 0))


def test_where_no_single_softmax_gives_the_weights_no_edit_is_made() -> None:
    config = hf.ReformerConfig(
        vocab_size=tiny.VOCABULARY, hidden_size=24, attention_head_size=8, num_attention_heads=3, feed_forward_size=11,
        attn_layers=["local", "local"], axial_pos_embds_dim=[8, 16], axial_pos_shape=[8, 8], is_decoder=False,
    )  # fmt: skip
    with pytest.raises(EditError, match="code of its own"):
        attnviz.wrap(hf.ReformerModel(config).eval(), tiny.tokenizer()).trace(TEXT, "e0.0z")


@pytest.fixture(scope="module", params=tiny.first_now(["joint", *KINDS, "separate", "summarizer"], 2))
def ours(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Prompt]:
    """A model of our own with random weights, and what it reads."""
    folder = tmp_path_factory.mktemp(request.param) / "model"
    if request.param in KINDS:
        text = "The dog, which isn't Tom's, didn't eat."
        return load_trained(tiny_translator(folder, request.param)), Prompt(text, target="Le chien n'a pas mangé !")
    if request.param == "summarizer":
        return load_trained(tiny_summarizer(folder)), Prompt(TEXT)
    return load_trained(tiny_answerer(folder, joint=request.param == "joint")), ANSWER


def said(model: Any, prompt: Prompt, edits: Edits = Edits()) -> np.ndarray:  # noqa: B008 - edits are immutable
    """Numbers of a model's output: the probabilities of what it writes, the logits of spans, or the last layer's attention."""
    if prompt.question:
        with edited(model, prompt, edits):
            logits = model.answers(prompt).result.logits
        return np.concatenate([logits.start, logits.end])
    if prompt.target:
        with edited(model, prompt, edits):
            return np.array([step.probability for step in model.steps(prompt)[1]])
    attention = model.trace(prompt, edits).encoder
    return attention.layer_weights(attention.n_layers - 1)


def test_our_own_models_are_bit_equal_where_nothing_changes(ours: tuple[Any, Prompt]) -> None:
    model, prompt = ours
    plain, want = model.trace(prompt), said(model, prompt)
    for attention in plain.maps:
        kind, layer, head = attention.kind, attention.n_layers - 1, attention.n_heads - 1
        weights = attention.weights(layer, head)
        for edits in (
            Edits((WeightSet(kind, layer, head, 3, 2, float(weights[3, 2])),)),
            Edits((HeadPatched(kind, layer, head, prompt.text),)),
        ):
            assert_same(model.trace(prompt, edits), plain)
            np.testing.assert_array_equal(said(model, prompt, edits), want)


def test_in_our_own_models_a_cut_link_is_minus_infinity_added(
    ours: tuple[Any, Prompt], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, prompt = ours
    plain = said(model, prompt)
    points = model.edit_points()
    modules = dict.fromkeys(points.places.values())
    for kind in modules:
        layers, heads = points.sizes[kind]
        places = [place for place, one in points.places.items() if one == kind]
        # The first of the layers that are our own: what it changes is seen in those above it.
        query, layer = 3, layers - len(places)
        # The link that carries most: cutting any other may change nothing that can be seen.
        key = int(model.trace(prompt).map(kind).weights(layer, heads - 1)[query].argmax())
        got = said(model, prompt, Edits((LinkCut(kind, layer, heads - 1, query, key),)))
        module = _module(model, places[0])
        want = _with_a_score_cut(module, monkeypatch, heads - 1, query, key, lambda: said(model, prompt))
        np.testing.assert_allclose(got, want, atol=TOLERANCE)
        assert not np.array_equal(got, plain), f"the edit of {kind} does nothing"


def _module(model: Any, place: int) -> Any:
    for part in vars(model).values():
        if isinstance(part, torch.nn.Module):
            for module in part.modules():
                if id(module) == place:
                    return module
    raise AssertionError("a place is no module of the model")


def _with_a_score_cut(module: Any, patch: pytest.MonkeyPatch, head: int, query: int, key: int, run: Any) -> Any:
    """Run with -inf added to one score of one module, whatever it calls the softmax with; step by step in an LSTM."""
    softmax, inside = own.masked_softmax, {"now": False, "step": 0}

    def cut(scores: torch.Tensor, visible: Any = None) -> torch.Tensor:
        if inside["now"]:
            row = query if scores.shape[-2] > 1 or isinstance(module, own.MultiHeadAttention) else query - inside["step"]
            inside["step"] += scores.shape[-2]
            scores = scores.clone()
            if 0 <= row < scores.shape[-2]:
                (scores[:, head] if scores.ndim == 4 else scores)[:, row, key] += -torch.inf
        return softmax(scores, visible)

    hooks = [
        module.register_forward_pre_hook(lambda *_: inside.update(now=True)),
        module.register_forward_hook(lambda *_: inside.update(now=False)),
    ]
    with patch.context() as patched:
        patched.setattr(own, "masked_softmax", cut)
        actual = run()
    for hook in hooks:
        hook.remove()
    return actual


def test_in_our_own_models_a_head_at_zero_is_its_columns_of_w_o_at_zero(ours: tuple[Any, Prompt]) -> None:
    model, prompt = ours
    points = model.edit_points()
    for kind in dict.fromkeys(points.places.values()):
        layers, heads = points.sizes[kind]
        places = [place for place, one in points.places.items() if one == kind]
        # The first of the layers that are our own: what it changes is seen in those above it.
        layer = layers - len(places)
        edits = Edits((HeadSet(kind, layer, heads - 1),))
        got, module = said(model, prompt, edits), _module(model, places[0])
        matrices = [module.output.weight] if hasattr(module, "output") else _readers_of_the_context(model.model)
        width = module.output.in_features // heads if hasattr(module, "output") else model.model.encoder.width
        if hasattr(module, "value") and not hasattr(module, "output"):
            width = module.value.out_features
        kept = [matrix.detach().clone() for matrix in matrices]
        with torch.no_grad():
            for matrix in matrices:
                matrix[:, -width:] = 0
            want = said(model, prompt)
            for matrix, values in zip(matrices, kept, strict=True):
                matrix.copy_(values)
        np.testing.assert_allclose(got, want, atol=TOLERANCE)
        trace = model.trace(prompt, edits)
        assert not trace.map(kind).weights(layer, heads - 1).any()


def _readers_of_the_context(model: Seq2Seq) -> list[torch.Tensor]:
    """What multiplies the context in an LSTM's decoder, whose last columns do: the first cell, and the readout."""
    cells: Any = model.cells
    return [cells[0].weight_ih, model.readout.combine.weight]


def test_a_decoder_that_writes_is_edited_in_every_step(ours: tuple[Any, Prompt]) -> None:
    model, prompt = ours
    if not prompt.target:
        return
    free = Prompt(prompt.text)
    layers, heads = model.edit_points().sizes["cross"]
    off = Edits(tuple(HeadSet("cross", layer, head, "mean") for layer in range(layers) for head in range(heads)))
    trace = model.trace(free, off)
    # What it wrote step by step is what one pass over all of it finds likeliest at each step.
    with edited(model, free, off):
        (best,) = model.translate(free.text)
        _, steps = model.follow(free, best.pieces)
    assert trace.output == best.text
    for step in steps:
        allowed = [(name, p) for name, p in step.alternatives if name not in model.closed]
        assert step.probability == pytest.approx(allowed[0][1], abs=1e-6)


def test_a_bad_edit_is_one_sentence_and_loses_nothing() -> None:
    minilm = attnviz.load("minilm")
    plain = minilm.trace(TEXT)
    for edits in ("e6.0z", "e0.12z", "c0.0z", "e0.0c99.0", "e0.0w0.99-0.5", "ek99", "e0.0pThe%20cat."):
        with pytest.raises(AttnvizError) as raised:
            minilm.trace(TEXT, edits)
        assert "\n" not in str(raised.value)
        assert str(raised.value).endswith(".")
    n_keys = len(plain.encoder.keys)
    with pytest.raises(EditError, match="nothing left to look at"):
        minilm.trace(TEXT, Edits(tuple(LinkCut("encoder", 0, 0, 4, key) for key in range(n_keys))))
    assert_same(minilm.trace(TEXT), plain)


def test_a_trace_that_was_edited_says_so_in_its_file_and_its_exports(tmp_path: Path) -> None:
    family = tiny.FAMILIES[0]
    model = attnviz.wrap(family.model(), tiny.tokenizer(family.architecture))
    trace = model.trace(TEXT, "e0.1z,e1.2c3.1")
    opened = attnviz.open(attnviz.save(trace, tmp_path / "x.attn", exact=True))
    assert opened.edits == trace.edits
    assert_same(opened, trace)
    assert not opened.encoder.weights(0, 1).any()
    assert (tmp_path / "x.attn").read_bytes().count(b'\\"format\\":2') == 1
    assert attnviz.save(model.trace(TEXT), tmp_path / "y.attn").read_bytes().count(b'\\"format\\":1') == 1
    assert "edits='e0.1z,e1.2c3.1'" in trace_expression(opened.model, opened.prompt, opened.edits)
    shown = picture(trace, layer=1, head=2)
    for to in ("svg", "html", "json", "csv"):
        assert b"e0.1z,e1.2c3.1" in export(shown, to), to
