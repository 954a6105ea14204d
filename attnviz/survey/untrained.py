"""The same architecture that has learned nothing: what its heads do by chance is what a claim has to beat."""

import copy
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from attnviz.models.base import AttentionModel
from attnviz.models.hub import hf_attention
from attnviz.models.hub.capture import AttentionFunctionReader
from attnviz.models.hub.encoder import TracedModel, body_of


def untrained(model: AttentionModel, seed: int) -> AttentionModel | None:
    """Make the same model with fresh random weights; None where it is unknown how its weights begin."""
    if isinstance(model, TracedModel):
        return _fresh_traced(model, seed) if isinstance(model.reader, AttentionFunctionReader) else None
    inner: Any = getattr(model, "encoder", None)
    if isinstance(inner, TracedModel):
        return untrained(inner, seed)
    network: Any = getattr(model, "model", None)
    return replace(model, model=_reset(network, seed)) if isinstance(network, nn.Module) else None  # type: ignore[type-var]


def _fresh_traced(model: TracedModel, seed: int) -> TracedModel:
    """Initialize a Hugging Face model as its own class does."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = type(model.model)._from_config(copy.deepcopy(model.model.config)).to(model.model.device).eval()
    fresh.set_attn_implementation(hf_attention.NAME)
    return replace(model, model=fresh, reader=AttentionFunctionReader(body_of(fresh)))


def _reset(network: nn.Module, seed: int) -> nn.Module:
    fresh = copy.deepcopy(network)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for module in fresh.modules():
            if callable(reset := getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)):
                reset()
    return fresh.eval()
