"""Translators as two graphs: one reads a source, one writes the next tokens, for several translations at once."""

from pathlib import Path

import torch
from jaxtyping import Int
from safetensors.torch import load_file
from torch import Tensor, nn

from attnviz.live.graphs.files import Files, WeightFile
from attnviz.live.graphs.graph import Graph
from attnviz.models.saved_models import WEIGHTS
from attnviz.models.translate.translation_model import UNWRITABLE, TranslationModel
from attnviz.nn.attention import KeyValues
from attnviz.nn.seq2seq import ReadSource, RecurrentState, Seq2Seq
from attnviz.nn.translator import Translator

# Sizes of an example, all different: rows of a beam, tokens of a source, tokens that are written already, and new ones.
_ROWS, _KEYS, _PAST, _NEW = 2, 7, 5, 3


class RecurrentRead(nn.Module):
    """What an LSTM knows of a source before it writes."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Int[Tensor, "one key"]) -> tuple[Tensor, ...]:
        """Return the annotations as keys and as values, and the first state, hidden and cell."""
        model = self.model
        states, last = model.encoder(source)
        known = model.attention.project(states)
        return known.key, known.value, model.hidden_bridge(last.hidden).tanh(), model.cell_bridge(last.cell)


class RecurrentWrite(nn.Module):
    """One step of an LSTM."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, tokens: Int[Tensor, " row"], hidden: Tensor, cell: Tensor, key: Tensor, value: Tensor
    ) -> tuple[Tensor, ...]:
        """Return the scores of the token after these, the next state, and where the step looked."""
        model, source = self.model, ReadSource(KeyValues(key, value), RecurrentState(hidden, cell), None)
        seen, state, weights = model.step(model.tokens(tokens), source.state, source)
        return model.scores(seen[:, None])[:, 0], state.hidden, state.cell, weights


class TransformerRead(nn.Module):
    """A Transformer's encoder, and what its decoder attends to."""

    def __init__(self, model: Translator) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Int[Tensor, "one key"]) -> tuple[Tensor, ...]:
        """Return the encoder's weights by layer, then the keys and the values of the source for each layer of the decoder."""
        memory, weights = self.model.encoder(source)
        known = [block.cross.project(memory) for block in self.model.blocks]
        return *(layer[0] for layer in weights), *(each.key for each in known), *(each.value for each in known)


class TransformerWrite(nn.Module):
    """Some further tokens through a Transformer's decoder, after those whose keys and values are known."""

    def __init__(self, model: Translator) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Int[Tensor, "row query"], *known: Tensor) -> tuple[Tensor, ...]:
        """Return scores, then by layer: the weights over what is written, over the source, and keys and values of the written.

        `known` are the keys of what is written by layer, its values, the keys of the source and its values.
        """
        n_layers = len(self.model.blocks)
        past_keys, past_values, keys, values = (known[part * n_layers : (part + 1) * n_layers] for part in range(4))
        states = self.model.tokens(tokens) * self.model.config.block.dim**0.5
        start, stop = past_keys[0].shape[2], past_keys[0].shape[2] + tokens.shape[1]
        states = states + self.model.positions.table[start:stop]
        layers: list[tuple[Tensor, ...]] = []
        for block, *past, key, value in zip(self.model.blocks, past_keys, past_values, keys, values, strict=True):
            written = block.remember(states, KeyValues(*past))
            states, own, across = block(states, KeyValues(key, value), known=written)
            layers.append((own, across, written.key, written.value))
        return self.model.scores(states), *(each for part in zip(*layers, strict=True) for each in part)


def translate_files(model: TranslationModel, saved: Path) -> Files:
    """Say what a translator is written as: its weights are the file that ships."""
    name = model.card.name
    graphs = _recurrent(model.model) if isinstance(model.model, Seq2Seq) else _transformer(model.model)
    own = load_file(saved / WEIGHTS)
    tokenizers = {side: getattr(model, side).to_str().encode() for side in ("source", "target")}
    options = {
        "written_rows": model.model.row_is_written,
        "unwritable": UNWRITABLE,
        "kinds": list(model.model.attentions),
    }
    weights = dict(model.model.named_parameters(remove_duplicate=False))
    return Files(graphs, weights, ((name, WeightFile("model", own)),), tokenizers, options=options)


def _recurrent(model: Seq2Seq) -> dict[str, Graph]:
    source = torch.ones(1, _KEYS, dtype=torch.int32)
    with torch.no_grad():
        key, value, hidden, cell = RecurrentRead(model.eval())(source)
    rows = {"hidden": hidden.expand(-1, _ROWS, -1).clone(), "cell": cell.expand(-1, _ROWS, -1).clone()}
    inputs = {"tokens": torch.ones(_ROWS, dtype=torch.int32), **rows, "key": key, "value": value}
    axes = {"tokens": {0: "row"}, "hidden": {1: "row"}, "cell": {1: "row"}, "key": {1: "key"}, "value": {1: "key"}}
    return {
        "read": Graph(RecurrentRead(model), {"source": source}, {"source": {1: "key"}}, ["key", "value", "hidden", "cell"]),
        "write": Graph(RecurrentWrite(model), inputs, axes, ["scores", "next_hidden", "next_cell", "weights"]),
    }


def _transformer(model: Translator) -> dict[str, Graph]:
    source, layers = torch.ones(1, _KEYS, dtype=torch.int32), range(len(model.blocks))
    block = model.config.block
    sizes = {"past_key": (_ROWS, _PAST), "past_value": (_ROWS, _PAST), "key": (1, _KEYS), "value": (1, _KEYS)}
    names = lambda *kinds: [f"{kind}.{layer}" for kind in kinds for layer in layers]
    inputs = {"tokens": torch.ones(_ROWS, _NEW, dtype=torch.int32)}
    for kind, (n_rows, n_tokens) in sizes.items():
        # Each is a tensor of its own: one that stands for two would be one input.
        inputs |= {name: torch.ones(n_rows, block.n_heads, n_tokens, block.dim // block.n_heads) for name in names(kind)}
    axes = {"tokens": {0: "row", 1: "query"}, **{name: {2: "key"} for name in names("key", "value")}}
    axes |= {name: {0: "row", 2: "past"} for name in names("past_key", "past_value")}
    read = names("encoder", "key", "value")
    written = ["scores", *names("decoder", "cross", "next_key", "next_value")]
    return {
        "read": Graph(TransformerRead(model), {"source": source}, {"source": {1: "key"}}, read),
        "write": Graph(TransformerWrite(model), inputs, axes, written),
    }
