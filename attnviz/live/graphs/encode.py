"""The embedded encoder as a graph: a text's tokens in, the weights of every head out."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.live.graphs.bert import BertLayers, example
from attnviz.live.graphs.files import Files, Rows, WeightFile
from attnviz.live.graphs.graph import Graph
from attnviz.models.hub.stack import StackModel
from attnviz.models.packed_weights import pack

NAME = "minilm"

WORDS = "embeddings.word_embeddings.weight"
# Steps of 1/4096 of a row's root mean square: weights of attention stay within 0.001 of those in float32, which they do not do
# with half precision.
_BITS = 12


class EncodePass(nn.Module):
    """Weights of attention alone."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.layers = BertLayers(encoder, last=False)

    def forward(self, vectors: Tensor, segments: Tensor) -> tuple[Tensor, ...]:
        """Return the weights of each layer."""
        return self.layers(vectors, segments)[1]


def encode_graph(encoder: Any) -> Graph:
    """Describe the pass of an encoder that is shown."""
    n_layers, dim = encoder.config.num_hidden_layers, encoder.config.hidden_size
    axes = {"vectors": {1: "token"}, "segments": {1: "token"}}
    return Graph(EncodePass(encoder), example(dim), axes, [f"encoder.{layer}" for layer in range(n_layers)])


def encoder_parts(weights: Mapping[str, Tensor], n_layers: int) -> tuple[WeightFile, WeightFile, Rows]:
    """Divide an encoder's weights into what its attention needs, what only its last states need, and vectors of words."""
    last = f"encoder.layer.{n_layers - 1}."
    after = (".value.", ".attention.output.", ".intermediate.", ".output.")
    layers, top = {}, {}
    for name, value in weights.items():
        if name.startswith(("pooler", WORDS)) or not value.is_floating_point():
            continue
        chosen = top if name.startswith(last) and any(each in name for each in after) else layers
        chosen[name] = value
    bits = lambda name: _BITS
    packed = [pack(each, bits, torch.float32) for each in (layers, top)]
    return WeightFile("layers", packed[0]), WeightFile("top", packed[1]), Rows("words", pack({"rows": weights[WORDS]}, bits))


def encode_files(model: StackModel) -> Files:
    """Say what the embedded encoder is written as."""
    weights = dict(model.model.named_parameters())
    layers, _, rows = encoder_parts(weights, model.card.n_layers)
    return Files({"encode": encode_graph(model.model)}, weights, ((NAME, layers),), tokenizer(model), (NAME, rows))


def tokenizer(model: StackModel) -> dict[str, bytes]:
    """Return the content of an encoder's tokenizer.json."""
    return {"text": model.tokenizer.backend_tokenizer.to_str().encode()}
