"""What the heads of our Transformer translator move, by hand: each weight times the length of what it carries."""

from typing import Any

import numpy as np
import torch

from attnviz.models.base import Draft


def cross_norm_shares(model: Any, written: Draft, layer: int, head: int) -> np.ndarray:
    """‖α x W_V W_O‖ of one head of the attention across, as shares of each row; x is what the encoder says of each word."""
    cross = model.model.decoder[layer].cross
    read: list[torch.Tensor] = []
    hook = cross.value.register_forward_hook(lambda module, given, value: read.append(value))
    try:
        model.follow(written.trace.prompt, model.forced("Oui."))
    finally:
        hook.remove()
    width = cross.value.out_features // written.trace.cross.n_heads
    own = slice(head * width, (head + 1) * width)
    carried = read[0][0, :, own].double().numpy() @ cross.output.weight.detach().double().numpy()[:, own].T
    moved = written.trace.cross.weights(layer, head) * np.linalg.norm(carried, axis=1)
    return moved / moved.sum(axis=1, keepdims=True)
