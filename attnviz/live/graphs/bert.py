"""The layers of a BERT encoder as a pass from embeddings to states, which gives the attention of every layer."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnviz.nn.attention import attend

Weights = Float[Tensor, "head query key"]


class BertLayers(nn.Module):
    """The encoder of a Hugging Face BERT: the states that each layer reads, and its weights.

    It has the modules of `encoder` under the names that they have there. `last` leaves out what the last layer makes of its
    attention: who wants weights alone needs no more.
    """

    def __init__(self, encoder: Any, *, last: bool) -> None:
        super().__init__()
        self.embeddings, self.encoder = encoder.embeddings, encoder.encoder
        self.last = last

    def forward(
        self, vectors: Float[Tensor, "one token dim"], segments: Int[Tensor, "one token"]
    ) -> tuple[tuple[Float[Tensor, "one token dim"], ...], tuple[Weights, ...]]:
        """Read the vectors of tokens, of which `segments` says in which text they stand; with `last`, its states come last."""
        given: Any = self.embeddings
        positions = given.position_embeddings.weight[: vectors.shape[1]]
        states = given.LayerNorm(vectors + given.token_type_embeddings(segments) + positions)
        weights: list[Weights] = []
        read = []
        layers: Any = self.encoder
        for index, layer in enumerate(layers.layer):
            own = layer.attention.self
            read.append(states)
            query, key, value = (self._heads(own, linear(states)) for linear in (own.query, own.key, own.value))
            context, across = attend(query, key, value)
            weights.append(across[0])
            if index < len(layers.layer) - 1 or self.last:
                states = layer.attention.output(context.transpose(1, 2).flatten(start_dim=2), states)
                states = layer.output(layer.intermediate(states), states)
        return (*read, states) if self.last else tuple(read), tuple(weights)

    @staticmethod
    def _heads(attention: Any, states: Tensor) -> Tensor:
        return states.unflatten(-1, (attention.num_attention_heads, -1)).transpose(1, 2)


def example(dim: int, n_tokens: int = 7) -> dict[str, Tensor]:
    """Make inputs of the layers, to export them by."""
    return {"vectors": torch.ones(1, n_tokens, dim), "segments": torch.zeros(1, n_tokens, dtype=torch.int32)}
