"""A model in hand, traced without a change to it."""

import copy
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from attnviz.core.errors import ArgumentError, described
from attnviz.models.hub.adapt import Facts, build
from attnviz.models.hub.encoder import TracedModel


def wrapped(model: Any, tokenizer: Any) -> TracedModel:
    """Traces a twin of the model: it shares every weight, so training shows, but has modules and settings of its own.

    Raises:
        ArgumentError: this is no Hugging Face model, or no tokenizer.
        UnsupportedModelError: its attention cannot be shown.
    """
    if not isinstance(model, PreTrainedModel):
        raise ArgumentError(
            f"wrap takes a Hugging Face model and its tokenizer, not {described(model)}; "
            "build maps of other models with from_weights."
        )
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise ArgumentError(
            f"wrap takes the model's tokenizer beside it, such as AutoTokenizer gives, not {described(tokenizer)}."
        )
    copied = twin(model)
    copied.set_attn_implementation("eager")
    return build(copied, tokenizer, Facts(name=model.config.name_or_path or type(model).__name__))


def twin(model: Any) -> Any:
    """Copy the modules around the very same tensors: no weight is copied, and neither model sees the other's settings."""
    shared = {id(tensor): tensor for tensor in [*model.parameters(), *model.buffers()]}
    return copy.deepcopy(model, shared)
