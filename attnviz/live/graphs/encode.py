"""The embedded encoder as a graph: a text's tokens in, what every head compares out, and the states that it is made of."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.live.graphs.bert import BertLayers, example, weigh_graph
from attnviz.live.graphs.files import Files, Rows, WeightFile
from attnviz.live.graphs.graph import Graph
from attnviz.models.hub.single_stack import StackModel
from attnviz.models.packed_weights import pack

NAME = "minilm"

WORDS = "embeddings.word_embeddings.weight"
# Steps of 1/16384 of a row's root mean square, its outliers included: weights of attention stay well within 0.001 of those in
# float32. Half precision moves them by up to 0.002.
_BITS, _BYTES = 14, 3


class EncodePass(nn.Module):
    """What each layer's attention compares, and what it reads."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.layers = BertLayers(encoder, last=False)

    def forward(self, vectors: Tensor, segments: Tensor) -> tuple[Tensor, ...]:
        """Return queries and keys of each layer, then the states."""
        states, compared = self.layers(vectors, segments)
        return *compared, *states


def encode_graph(encoder: Any) -> Graph:
    """Describe the pass of an encoder that is shown."""
    n_layers, dim = encoder.config.num_hidden_layers, encoder.config.hidden_size
    axes = {"vectors": {1: "token"}, "segments": {1: "token"}}
    outputs = [*BertLayers.names(n_layers), *(f"states.{layer}" for layer in range(n_layers))]
    return Graph(EncodePass(encoder), example(dim), axes, outputs)


@dataclass(frozen=True, eq=False)
class SharedFiles:
    """The embedded encoder's weights, which other models stand on: each file is fetched once, whichever model needs it.

    layers  what attention needs; top: what the last states need besides
    """

    embeddings: WeightFile
    layers: WeightFile
    top: WeightFile
    rows: Rows

    @staticmethod
    def of(encoder: Any) -> "SharedFiles":
        """Divide an encoder's weights."""
        last = f"encoder.layer.{encoder.config.num_hidden_layers - 1}."
        after = (".value.", ".attention.output.", ".intermediate.", ".output.")
        files: dict[str, dict[str, Tensor]] = {"embeddings": {}, "layers": {}, "top": {}}
        weights = dict(encoder.named_parameters())
        words = weights.pop(WORDS)
        for name, value in weights.items():
            is_top = name.startswith(last) and any(each in name for each in after)
            file = name.split(".")[0] if name.startswith("embeddings.") else "top" if is_top else "layers"
            if not name.startswith("pooler."):
                files[file][name] = value
        packed = {file: WeightFile(file, _packed(values)) for file, values in files.items()}
        return SharedFiles(**packed, rows=Rows("words", _packed({"rows": words})))


def encode_files(model: StackModel, saved: Path) -> Files:
    """Say what the embedded encoder is written as."""
    shared = SharedFiles.of(model.model)
    parts = (NAME, shared.embeddings), (NAME, shared.layers)
    weights = dict(model.model.named_parameters())
    passes = {"encode": encode_graph(model.model), "weigh": weigh_graph(model.model)}
    return Files(passes, weights, parts, tokenizer(model), (NAME, shared.rows))


def tokenizer(model: StackModel) -> dict[str, bytes]:
    """Return the content of an encoder's tokenizer.json."""
    return {"text": model.tokenizer.backend_tokenizer.to_str().encode()}


def _packed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return pack(weights, lambda name: _BITS, n_bytes=_BYTES, vectors=torch.float32)
