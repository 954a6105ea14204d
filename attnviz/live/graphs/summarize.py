"""The summarizer as a graph: the vectors of a text and each token's sentence in, what all layers compare or weigh out."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from attnviz.live.graphs.bert import BertLayers, example, weigh_graph
from attnviz.live.graphs.encode import NAME, SharedFiles, tokenizer
from attnviz.live.graphs.files import Files, WeightFile, halves
from attnviz.live.graphs.graph import Graph
from attnviz.models.saved_models import WEIGHTS
from attnviz.models.summarize.summary_model import SummaryModel


class SummarizePass(nn.Module):
    """The encoder, then the layers whose attention selects."""

    def __init__(self, model: SummaryModel) -> None:
        super().__init__()
        self.layers = BertLayers(model.encoder.model, last=True)
        self.summarizer = model.summarizer

    def forward(self, vectors: Tensor, segments: Tensor, sentences: Tensor) -> tuple[Tensor, ...]:
        """Return queries and keys of each pretrained layer, then the weights of the trained ones."""
        states, compared = self.layers(vectors, segments)
        _, own = self.summarizer(states[-1], sentences)
        return *compared, *(weights[0] for weights in own)


def summarize_files(model: SummaryModel, saved: Path) -> Files:
    """Say what the summarizer is written as: its own layers, exactly, and all of the encoder's, which it shares."""
    own = load_file(saved / WEIGHTS)
    shared = SharedFiles.of(model.encoder.model)
    weights = dict(model.encoder.model.named_parameters()) | dict(model.summarizer.named_parameters())
    inputs = {**example(model.summarizer.config.state_dim), "sentences": torch.zeros(1, 7, dtype=torch.int32)}
    axes = {name: {1: "token"} for name in inputs}
    n_pretrained = model.encoder.model.config.num_hidden_layers
    own_layers = [f"top.{layer}" for layer in range(model.card.n_layers - n_pretrained)]
    graph = Graph(SummarizePass(model), inputs, axes, [*BertLayers.names(n_pretrained), *own_layers])
    parts = [(NAME, part) for part in (shared.embeddings, shared.layers, shared.top)]
    parts.append((model.card.name, WeightFile("summarizer", halves(own))))
    return Files(
        {"summarize": graph, "weigh": weigh_graph(model.encoder.model)},
        weights,
        tuple(parts),
        tokenizer(model.encoder),
        (NAME, shared.rows),
    )
