"""Which weights an answerer begins with, where another one has learned to answer before it.

An answerer that reads question and passage each on its own has only the lower layers of an encoder below its blocks. The upper
ones are not lost: a block begins as one of them, its attention within the passage and its cross-attention as the two halves of
what that layer's attention did to both texts at once. This is how Cao et al. 2020, arXiv:2005.00697, take an encoder apart.
"""

from typing import Any, cast

import torch
from torch import nn

from attnviz.nn.encoder import Answerer, AnswererConfig, CrossBlock, EncoderBlock

# Of the embedded encoder.
LAYERS = 6
# Parts of a block of ours that begin as parts of a BERT layer.
_PARTS = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "thinking.attention.query": "attention.self.query",
    "thinking.attention.key": "attention.self.key",
    "thinking.attention.value": "attention.self.value",
    "thinking.attention.output": "attention.output.dense",
    "thinking.attention_norm": "attention.output.LayerNorm",
    "thinking.expand": "intermediate.dense",
    "thinking.contract": "output.dense",
    "thinking.feed_forward_norm": "output.LayerNorm",
}


def depth_of(name: str, config: AnswererConfig) -> int | None:
    """Find which of the encoder's layers a parameter is of, or has been; None for one that is new.

    >>> from attnviz.nn.encoder import BlockConfig
    >>> dual = AnswererConfig(False, 3, BlockConfig(dim=22, n_heads=2, hidden=13), mixing=True, depth=3)
    >>> depth_of("blocks.1.thinking.expand.weight", dual), depth_of("output.weight", dual)
    (4, None)
    """
    parts = name.split(".")
    if name.startswith("encoder.encoder.layer."):
        return int(parts[3])
    if config.depth is not None and name.startswith("blocks.") and ".".join(parts[2:-1]) in _PARTS:
        return config.depth + int(parts[1])
    return None


def begin(model: Answerer, base: Answerer) -> None:
    """Copy an answerer of the same shape whole; of another, its encoder: lower layers as they are, upper ones into blocks."""
    if model.config == base.config:
        model.load_state_dict(base.state_dict())
        return
    lower, upper = cast(Any, model.encoder).encoder.layer, cast(Any, base.encoder).encoder.layer[model.config.depth :]
    lower.load_state_dict(cast(Any, base.encoder).encoder.layer[: len(lower)].state_dict())
    below = lower[-1].output.LayerNorm
    for block, layer in zip(cast("list[CrossBlock]", list(model.blocks)), upper, strict=True):
        for ours, theirs in _PARTS.items():
            block.get_submodule(ours).load_state_dict(layer.get_submodule(theirs).state_dict())
        with torch.no_grad():
            # What was one softmax over both texts is now two: each brings about half.
            for attention in (block.attention, cast(EncoderBlock, block.thinking).attention):
                attention.output.weight.mul_(0.5)
            # The layer's queries were made of states as large as the norm below leaves them.
            block.attention_norm.weight.fill_(_size(below))
        below = layer.output.LayerNorm


def _size(norm: nn.LayerNorm) -> float:
    """Compute the standard deviation of what a norm lets through."""
    mean_square = float((norm.weight.square() + norm.bias.square()).mean())
    return (mean_square - float(norm.bias.mean()) ** 2) ** 0.5
