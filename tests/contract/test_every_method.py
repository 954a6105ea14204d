"""Attribution methods on every family of the hub: shares, or one sentence that says why not."""

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

import attnviz
from attnviz.attribution.gradients import frozen_gradient
from attnviz.attribution.methods import METHODS
from attnviz.attribution.recorded_pass import Frozen
from attnviz.core.errors import AttnvizError, ModelError
from attnviz.core.trace import Prompt
from attnviz.models.capabilities import bind_target
from tests import tiny
from tests.float64 import in_float64

TEXT = Prompt("the cat sat on the mat", pair="the dog ran")
# These run a model many times, whatever its layers are: one family of each shape is enough, recorded or not.
MANY_PASSES = {"integrated-gradients", "value-zeroing", "flow", "leave-one-out", "random"}
SHAPES = {"bert", "gpt2", "bart", "mpnet", "bloom"}
SURE = MANY_PASSES - {"value-zeroing", "flow"}
by_family = pytest.mark.parametrize("family", tiny.some_now(tiny.FAMILIES), ids=str)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    # A random model that writes never comes to an end by itself.
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "17")


def whole(family: tiny.Family) -> Any:
    """A tiny model; a decoder with the layer that names the next token."""
    model = family.model()
    if family.architecture != tiny.DECODER:
        return model
    causal = hf.AutoModelForCausalLM.from_config(family.config(), attn_implementation="eager").eval()
    causal.base_model.load_state_dict(model.state_dict())
    return causal


@by_family
def test_a_method_gives_a_share_a_token_or_says_why_not(family: tiny.Family) -> None:
    bound = bind_target(attnviz.wrap(whole(family), tiny.tokenizer(family.architecture)), TEXT)
    given, refused = set(), []
    for method in METHODS.values():
        if method.name in MANY_PASSES and family.name not in SHAPES:
            continue
        try:
            got = method.compute(bound)
        except AttnvizError as error:
            refused.append(str(error))
            continue
        assert np.isfinite(got.values).all()
        given.add(method.name)
    assert all(reason.endswith(".") and ". " not in reason for reason in refused)
    assert given >= {"gradient-norm", "gradient-input"} | (SURE if family.name in SHAPES else set())
    if family.recorded:
        assert given >= {"attention", "rollout", "value-norms", "gradient-attention"}


class _Lookups(TorchFunctionMode):
    """Keeps every other vector that is looked up: of positions, of segments, and of what a decoder has written."""

    def __init__(self) -> None:
        super().__init__()
        self.actual: list[torch.Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func in (F.embedding, torch.Tensor.index_select) and made.is_floating_point() and made.grad_fn is None:
            self.actual.append(made.detach().requires_grad_())
            return self.actual[-1]
        return made


# Bloom's activation is an operation of its own, which nothing can hold fixed; the position vectors of M2M-100 and the 1 that
# GPT-OSS adds to its gates are no parameters, and so no test can ask for their share.
ASKED = [family for family in tiny.FAMILIES if family.name not in {"bloom", "m2m-100", "gpt-oss"}]


def test_an_operation_that_cannot_be_held_fixed_is_named():
    family = tiny.FAMILY["bloom"]
    bound = bind_target(attnviz.wrap(whole(family), tiny.tokenizer(family.architecture)), TEXT)
    with pytest.raises(ModelError, match="GeLUFunction"):
        frozen_gradient(bound)


@pytest.mark.parametrize("family", tiny.some_now(ASKED), ids=str)
def test_frozen_shares_and_what_biases_give_sum_to_the_score(family: tiny.Family) -> None:
    """The model is linear in tokens and in all else that it adds up: the share of a bias is its gradient times itself."""
    model = whole(family)
    bound = bind_target(attnviz.wrap(model, tiny.tokenizer(family.architecture)), TEXT)
    given_by_tokens, rest = frozen_gradient(bound)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.endswith("bias"))
    biases = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with Frozen(), _Lookups() as lookups:
        score = bound.outcome_of(bound.embedded()[None].requires_grad_()).score.sum()
    added = [*biases, *lookups.actual]
    gradients = torch.autograd.grad(score, added, allow_unused=True) if added else ()
    pairs = [(gradient, value) for gradient, value in zip(gradients, added, strict=True) if gradient is not None]
    given = sum(float((gradient * value).detach().sum()) for gradient, value in pairs)
    assert rest == pytest.approx(given, rel=1e-4, abs=1e-5 * max(1.0, float(np.abs(given_by_tokens).sum())))


@dataclass
class _Layers:
    """What the layers of a decoder read, gave, and mixed, in double precision: hooks by the names of transformers.

    zeroed  a layer and a token whose value is taken for nothing
    """

    model: Any
    zeroed: tuple[int, int] = (-1, -1)
    read: list[torch.Tensor] = field(default_factory=list)
    gave: list[torch.Tensor] = field(default_factory=list)
    values: list[torch.Tensor] = field(default_factory=list)
    outputs: list[torch.Tensor] = field(default_factory=list)

    def run(self, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Run the model, and return its weights."""
        config, handles = self.model.config, []
        width = config.num_key_value_heads * config.head_dim

        def valued(number: int, given: torch.Tensor) -> torch.Tensor:
            made = given.clone()
            if number == self.zeroed[0]:
                made[:, self.zeroed[1], -width:] = 0
            self.values.append(made[0, :, -width:])
            return made

        for number, layer in enumerate(self.model.model.layers):
            attention = layer.self_attn
            value = attention.v_proj if hasattr(attention, "v_proj") else attention.qkv_proj
            handles += [
                layer.register_forward_pre_hook(
                    lambda _, given, named: self.read.append(_states(given, named)), with_kwargs=True
                ),
                layer.register_forward_hook(lambda _, given, made: self.gave.append(_first(made)[0])),
                value.register_forward_hook(lambda _, given, made, number=number: valued(number, made)),
                attention.o_proj.register_forward_hook(lambda _, given, made: self.outputs.append(made[0])),
            ]
        try:
            with torch.no_grad():
                return self.model(ids, output_attentions=True, use_cache=False).attentions
        finally:
            for handle in handles:
                handle.remove()

    def part(self, number: int, weights: torch.Tensor, query: int, key: int) -> torch.Tensor:
        """What a query's position is given by a key: every head's value, times its own columns of W_O, normed and scaled."""
        config, layer = self.model.config, self.model.model.layers[number]
        size, group = config.head_dim, config.num_attention_heads // config.num_key_value_heads
        heads = [
            weights[0, head, query, key]
            * layer.self_attn.o_proj.weight[:, head * size : (head + 1) * size]
            @ self.values[number][key, head // group * size : (head // group + 1) * size]
            for head in range(config.num_attention_heads)
        ]
        made = torch.stack(heads).sum(dim=0) * getattr(config, "residual_multiplier", 1.0)
        name = {"glm4": "post_self_attn_layernorm"}.get(config.model_type, "post_attention_layernorm")
        if config.model_type in ("gemma2", "gemma3_text", "olmo2", "olmo3", "glm4", "exaone4"):
            norm = getattr(layer, name)
            weight = norm.weight + (1 if config.model_type.startswith("gemma") else 0)
            made = made * weight / (self.outputs[number][query].pow(2).mean() + config.rms_norm_eps).sqrt()
        return made


def _states(given: tuple[Any, ...], named: dict[str, Any]) -> torch.Tensor:
    return (given[0] if given else named["hidden_states"])[0]


def _first(made: Any) -> torch.Tensor:
    return made[0] if isinstance(made, tuple) else made


@pytest.mark.parametrize("family", tiny.some_now(tiny.ROOT_MEAN_SQUARES), ids=str)
def test_a_model_of_root_mean_squares_is_followed_as_by_hand_in_double_precision(family: tiny.Family) -> None:
    model, text = whole(family), "the cat sat on it"
    wrapped = attnviz.wrap(copy.deepcopy(model), tiny.tokenizer(family.architecture))
    bound = bind_target(wrapped, Prompt(text))
    got = {name: METHODS[name].compute(bound).values for name in ("norms", "value-zeroing")}
    mixing = attnviz.run(wrapped, "encode", text, quantity="mixing")
    model.double()
    n_layers, n_tokens = model.config.num_hidden_layers, len(bound.ids)
    followed = {name: np.eye(n_tokens)[-1] for name in got}
    with in_float64(), torch.no_grad():
        plain = _Layers(model)
        weights = [each[..., :n_tokens] for each in plain.run(bound.ids[None])]
        rows: dict[str, list[np.ndarray]] = {name: [] for name in got}
        for number in range(n_layers):
            parts = torch.stack([
                torch.stack([plain.part(number, weights[number], query, key) for key in range(n_tokens)])
                for query in range(n_tokens)
            ])  # fmt: skip
            parts[range(n_tokens), range(n_tokens)] += plain.read[number]
            kept = parts[range(n_tokens), range(n_tokens)]
            lengths = parts.norm(dim=-1)
            others = (parts.sum(dim=1) - kept).norm(dim=-1)
            want = float((others / (others + kept.norm(dim=-1))).mean())
            assert mixing.mixing["decoder", number] == pytest.approx(want, abs=1e-5)
            rows["norms"].append((lengths / lengths.sum(dim=1, keepdim=True)).numpy())
            changes = torch.zeros(n_tokens, n_tokens)
            for key in range(n_tokens):
                without = _Layers(model, (number, key))
                without.run(bound.ids[None])
                changes[:, key] = 1 - F.cosine_similarity(plain.gave[number], without.gave[number], dim=-1)
            rows["value-zeroing"].append((changes / changes.sum(dim=1, keepdim=True)).numpy())
    for name, steps in rows.items():
        for step in reversed(steps):
            followed[name] = followed[name] @ step
        # Some hundred roundings of float32.
        np.testing.assert_allclose(got[name], followed[name], atol=2e-5)
