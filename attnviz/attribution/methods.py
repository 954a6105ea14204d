"""One function a way, all with one signature: a bound target in, one share a token out."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from attnviz.analysis.matters.methods import HeadMethod, Method, method_named
from attnviz.attribution import attention, gradients, norms, removal
from attnviz.attribution.bind import Target, bind_target
from attnviz.attribution.value_zeroing import value_zeroing
from attnviz.core.shares import Shares
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.bound_target import BoundTarget

# What a way says: shares, and what is there without any token where it knows that.
Ask = Callable[[BoundTarget], np.ndarray | tuple[np.ndarray, float]]
ASK: dict[str, Ask] = {
    "frozen-gradient": gradients.frozen_gradient,
    "attention": attention.mean_of_layers,
    "last-layer": attention.last_layer,
    "received": attention.received,
    "rollout": attention.rollout,
    "value-norms": norms.value_norms,
    "norms": norms.norms_with_residual,
    "gradient-attention": attention.gradient_weighted,
    "gradient-norm": gradients.gradient_norm,
    "gradient-input": gradients.gradient_times_input,
    "integrated-gradients": gradients.integrated_gradients,
    "value-zeroing": value_zeroing,
    "flow": attention.flow,
    "leave-one-out": removal.leave_one_out,
    "random": removal.random_shares,
}


def attribute(model: AttentionModel, prompt: Prompt, way: str = "frozen-gradient", target: str = "") -> Shares:
    """Ask one way what each token was worth to a model's output; `target` is as in `Target`, empty for what the model is for.

    Raises:
        ModelError: there is no such way or output, or the way does not apply to this model or text; the message says why.
        PromptError: the model cannot read the prompt.
    """
    return shares(method_named(way), bind_target(model, prompt, Target.of(target) if target else None))


def shares(way: Method, bound: BoundTarget) -> Shares:
    """Ask one way what each token was worth to the target.

    Raises:
        ModelError: the way does not apply to this model or this text; the message says why.
    """
    if isinstance(way, HeadMethod):
        return replace(head_shares(bound, way.kind, way.layer, way.head), way=way.name)
    values, rest = made if isinstance(made := ASK[way.name](bound), tuple) else (made, None)
    return Shares(way.name, bound.target, bound.tokens, values, way.signed, rest)


def head_shares(bound: BoundTarget, kind: str, layer: int, head: int) -> Shares:
    """Ask the weights of one head, seen from the positions from which the output is read.

    Raises:
        ModelError: the output is not read from that head.
    """
    values = attention.head_weights(bound, kind, layer, head)
    return Shares(f"L{layer}·H{head}", bound.target, bound.tokens, values, signed=False)
