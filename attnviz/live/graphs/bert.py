"""The layers of a BERT encoder as a pass from embeddings to states, which gives what the attention of every layer compares."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnviz.live.graphs.graph import Graph
from attnviz.nn.attention import attend

States = Float[Tensor, "one token dim"]


class BertLayers(nn.Module):
    """The encoder of a Hugging Face BERT: the states that each layer reads, and the queries and keys that it makes of them.

    Weights of all heads would be tens of megabytes for a long text: who draws a head computes its weights.

    It has the modules of `encoder` under the names that they have there. Without `last`, what the last layer makes of its
    attention is left out.
    """

    def __init__(self, encoder: Any, *, last: bool) -> None:
        super().__init__()
        self.embeddings, self.encoder = encoder.embeddings, encoder.encoder
        self.last = last

    def forward(
        self, vectors: Float[Tensor, "one token dim"], segments: Int[Tensor, "one token"]
    ) -> tuple[tuple[States, ...], tuple[States, ...]]:
        """Read the vectors of tokens, of which `segments` says in which text they stand; with `last`, its states come last.

        Queries and keys are those of all layers, the queries first.
        """
        given: Any = self.embeddings
        positions = given.position_embeddings.weight[: vectors.shape[1]]
        states = given.LayerNorm(vectors + given.token_type_embeddings(segments) + positions)
        read, queries, keys = [], [], []
        layers: Any = self.encoder
        for index, layer in enumerate(layers.layer):
            own = layer.attention.self
            read.append(states)
            queries.append(own.query(states))
            keys.append(own.key(states))
            if index < len(layers.layer) - 1 or self.last:
                made = (self._heads(own, each) for each in (queries[-1], keys[-1], own.value(states)))
                context, _ = attend(*made)
                states = layer.attention.output(context.transpose(1, 2).flatten(start_dim=2), states)
                states = layer.output(layer.intermediate(states), states)
        return (*read, states) if self.last else tuple(read), (*queries, *keys)

    @staticmethod
    def names(n_layers: int) -> list[str]:
        """Name the queries and keys that it returns."""
        return [f"{kind}.{layer}" for kind in ("query", "key") for layer in range(n_layers)]

    @staticmethod
    def _heads(attention: Any, states: Tensor) -> Tensor:
        return states.unflatten(-1, (attention.num_attention_heads, -1)).transpose(1, 2)


class WeighPass(nn.Module):
    """The weights of all heads from the queries and keys of some layers."""

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads

    def forward(self, query: Float[Tensor, "layer token dim"], key: Float[Tensor, "layer token dim"]) -> Tensor:
        """Return weights [layer head query key]."""
        queries, keys = (each.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for each in (query, key))
        return attend(queries, keys, keys)[1]


def weigh_graph(encoder: Any) -> Graph:
    """Describe the pass from an encoder's queries and keys to weights."""
    axes = {name: {0: "layer", 1: "token"} for name in ("query", "key")}
    # Of one tensor twice the exporter would make one input.
    inputs = {name: torch.ones(2, 5, encoder.config.hidden_size) for name in axes}
    return Graph(WeighPass(encoder.config.num_attention_heads), inputs, axes, ["weights"])


def example(dim: int, n_tokens: int = 7) -> dict[str, Tensor]:
    """Make inputs of the layers, to export them by."""
    return {"vectors": torch.ones(1, n_tokens, dim), "segments": torch.zeros(1, n_tokens, dtype=torch.int32)}
