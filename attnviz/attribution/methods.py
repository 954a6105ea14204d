"""The table of attribution methods, and the call of any of them by name: a bound target in, one share a token out.

A new method is a line of `METHODS` and a module of this folder with its function. The table itself needs no torch.
"""

import importlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from attnviz.core.errors import ModelError, failing_as
from attnviz.core.trace import Prompt, Shares
from attnviz.models.base import AttentionModel

if TYPE_CHECKING:
    from attnviz.models.targets import BoundTarget

# What a method takes of the model: a pass or two; a pass for each word or step; a pass for each word in each layer.
Speed = Literal["fast", "slow", "slowest"]


@dataclass(frozen=True)
class Method:
    """One attribution method.

    title     as a person reads it
    function  "module:function" of attnviz.attribution: of a `BoundTarget` the shares, or the shares and the rest
    """

    name: str
    title: str
    function: str
    paper: str = ""
    speed: Speed = "fast"

    def compute(self, bound: "BoundTarget") -> Shares:
        """Compute how much each token contributes to the target.

        Raises:
            ModelError: the method does not apply to this model or this text; the message says why.
        """
        from attnviz.models import device

        sentence = f"“{self.title}” cannot follow this model over this text: choose another method."
        with failing_as(ModelError, sentence), device.ordinary_tensors():
            made = self._call(bound)
        values, rest = made if isinstance(made, tuple) else (made, None)
        return Shares(self.name, bound.target, bound.tokens, values, rest)

    def _call(self, bound: "BoundTarget", *arguments: object) -> Any:
        module, function = self.function.split(":")
        return getattr(importlib.import_module(f"attnviz.attribution.{module}"), function)(bound, *arguments)


@dataclass(frozen=True)
class HeadMethod(Method):
    """The weights of one head, seen from the positions from which the output is read."""

    kind: str = ""
    layer: int = 0
    head: int = 0

    def _call(self, bound: "BoundTarget", *arguments: object) -> Any:
        return super()._call(bound, self.kind, self.layer, self.head)


_ROWS = (
    Method("frozen-gradient", "Gradient × input, attention held fixed", "gradients:frozen_gradient", "arXiv:2306.02873"),
    Method("attention", "Attention, mean of all layers", "attention_methods:mean_of_layers", "arXiv:1409.0473"),
    Method("last-layer", "Attention, last layer", "attention_methods:last_layer", "arXiv:1409.0473"),
    Method("received", "Attention received", "attention_methods:received", "arXiv:1906.04341"),
    Method("rollout", "Attention rollout", "attention_methods:rollout", "arXiv:2005.00928"),
    Method("value-norms", "Attention × value norms", "attention_methods:value_norms", "arXiv:2004.10102"),
    Method("norms", "Norms, with residual and LayerNorm", "attention_methods:norms_with_residual", "arXiv:2109.07152"),
    Method("gradient-attention", "Gradient-weighted attention", "attention_methods:gradient_weighted", "arXiv:2103.15679"),
    Method("gradient-norm", "Gradient norm", "gradients:gradient_norm", "arXiv:1506.01066"),
    Method("gradient-input", "Gradient × input", "gradients:gradient_times_input", "arXiv:1412.6815"),
    Method("integrated-gradients", "Integrated gradients", "gradients:integrated_gradients", "arXiv:1703.01365", "slow"),
    Method("value-zeroing", "Value zeroing", "token_removal:value_zeroing", "arXiv:2301.12971", "slowest"),
    Method("flow", "Attention flow", "attention_methods:flow", "arXiv:2005.00928", "slowest"),
    Method("leave-one-out", "Leaving one word out", "token_removal:leave_one_out", "arXiv:1612.08220", "slow"),
    Method("random", "Chance", "token_removal:random_shares"),
)  # fmt: skip
METHODS = {method.name: method for method in _ROWS}
# Those that a data set, or many checkpoints of a training, can wait for: the slowest say what faster ones do.
USUAL = tuple(method for method in _ROWS if method.speed != "slowest")
_HEAD = re.compile(r"head:(encoder|decoder|cross):(\d{1,4}):(\d{1,4})")


def method_named(name: str) -> Method:
    """Look up a method; "head:cross:2:1" is a head.

    Raises:
        ModelError: there is none of that name.

    >>> method_named("rollout").title
    'Attention rollout'
    >>> method_named("head:cross:2:1").title
    'L2·H1, the head you came from'
    """
    if match := _HEAD.fullmatch(str(name)):
        kind, layer, head = match[1], int(match[2]), int(match[3])
        title = f"L{layer}·H{head}, the head you came from"
        return HeadMethod(name, title, "attention_methods:head_weights", kind=kind, layer=layer, head=head)
    if not isinstance(name, str) or name not in METHODS:
        raise ModelError(f"{name!r} is no attribution method: choose one of {', '.join(METHODS)}.")
    return METHODS[name]


def titles_of(names: Iterable[str]) -> dict[str, str]:
    """Look up the titles of some methods, by name."""
    return {name: method_named(name).title for name in names}


def attribute(model: AttentionModel, prompt: Prompt | str, method: str = "frozen-gradient", target: str = "") -> Shares:
    """Compute by one method how much each token contributes to a model's output.

    `target` is as in `Target`, empty for what the model is for.

    Raises:
        ModelError: there is no such method or output, or the method does not apply to this model or text; the message says why.
        PromptError: the model cannot read the prompt.
    """
    # Imported here: the table of methods must not wait for torch.
    from attnviz.models.capabilities import bind_target

    return method_named(method).compute(bind_target(model, prompt, target))
