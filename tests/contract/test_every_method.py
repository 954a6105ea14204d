"""Attribution methods on every family of the hub: shares, or one sentence that says why not."""

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
from attnviz.attribution.passes import Frozen
from attnviz.core.errors import AttnvizError, ModelError
from attnviz.core.trace import Prompt
from attnviz.models.capabilities import bind_target
from tests import tiny

TEXT = Prompt("the cat sat on the mat", pair="the dog ran")
# These run a model many times, whatever its layers are: one family of each shape is enough, recorded or not.
MANY_PASSES = {"integrated-gradients", "value-zeroing", "flow", "leave-one-out", "random"}
SHAPES = {"bert", "gpt2", "bart", "mpnet", "bloom"}
SURE = MANY_PASSES - {"value-zeroing", "flow"}
by_family = pytest.mark.parametrize("family", tiny.FAMILIES, ids=str)


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


@pytest.mark.parametrize("family", ASKED, ids=str)
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
