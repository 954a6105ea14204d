"""An answerer as a graph: the vectors of a question and of a passage in, logits and what all heads compare out."""

from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from attnviz.core.errors import ModelError
from attnviz.live.graphs.bert import BertLayers, example, weigh_graph
from attnviz.live.graphs.encode import NAME, SharedFiles, tokenizer
from attnviz.live.graphs.files import Files, WeightFile, halves
from attnviz.live.graphs.graph import Graph
from attnviz.models.answer.answer_model import AnswerModel
from attnviz.models.answer.passage_search import LEAST_ROOM, MOST_CHARACTERS
from attnviz.models.saved_models import WEIGHTS
from attnviz.nn.qa import Answerer


class AnswerPass(nn.Module):
    """Both texts as one through the encoder, then the cross-attention."""

    def __init__(self, answerer: Answerer) -> None:
        super().__init__()
        self.layers = BertLayers(answerer.encoder, last=True)
        self.answerer = answerer

    def forward(self, question: Tensor, context: Tensor) -> tuple[Tensor, ...]:
        """Return start and end logits of the passage, queries and keys of the encoder, then cross-attention's weights."""
        n_question, n_context = question.shape[1], context.shape[1]
        segments = torch.cat(
            [torch.zeros(1, n_question, dtype=torch.int32), torch.ones(1, n_context, dtype=torch.int32)], dim=1
        )
        states, compared = self.layers(torch.cat([question, context], dim=1), segments.int())
        start, end, across = self.answerer.read(states[-1][:, :n_question], states[-1][:, n_question:])
        return start[0], end[0], *compared, *(weights[0] for weights in across)


def answer_files(model: AnswerModel, saved: Path) -> Files:
    """Say what an answerer is written as: its own weights, exactly, and the encoder's embeddings, which it shares.

    Raises:
        ModelError: it reads each text on its own.
    """
    answerer = model.answerer
    if not answerer.config.joint:
        raise ModelError(f"{model.card.name} cannot be exported for a browser: choose answer-en.")
    own = load_file(saved / WEIGHTS)
    named = answerer.named_parameters(remove_duplicate=False)
    weights = {name if name in own else name.removeprefix("encoder."): value for name, value in named}
    dim = answerer.config.block.dim
    inputs = {"question": example(dim, 5)["vectors"], "context": example(dim, 7)["vectors"]}
    axes = {"question": {1: "question"}, "context": {1: "context"}}
    layers = BertLayers.names(model.card.n_layers)
    layers += [f"cross.{layer}" for layer in range(answerer.config.n_layers)]
    graph = Graph(AnswerPass(answerer), inputs, axes, ["start", "end", *layers])
    shared = SharedFiles.of(model.encoder.model)
    parts = (NAME, shared.embeddings), (model.card.name, WeightFile("answerer", halves(own)))
    options = {
        "decoding": asdict(model.decoding) | {"calibrated": model.decoding.calibrated},
        "special": answerer.config.special,
        "cross": (answerer.config.n_layers, answerer.config.block.n_heads),
        "most_characters": MOST_CHARACTERS,
        "least_room": LEAST_ROOM,
    }
    return Files(
        {"answer": graph, "weigh": weigh_graph(model.encoder.model)},
        weights,
        parts,
        tokenizer(model.encoder),
        (NAME, shared.rows),
        options,
    )
