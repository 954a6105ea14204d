"""The models of a site as passes that become ONNX graphs: encoder, answerer, summarizer, translators, language model.

Each is written as files for a browser, with its manifest, which the runner in JavaScript reads.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from jaxtyping import Float, Int
from safetensors.torch import load_file
from torch import Tensor, nn

from attnviz.core import whole_files
from attnviz.core.errors import ModelError
from attnviz.live.graphs.graph import Files, Graph, Rows, WeightFile, digest, halves, write, write_rows, write_weights
from attnviz.live.graphs.graph import export as export_graph
from attnviz.models.base import AttentionModel, ModelCard, silent
from attnviz.models.catalog import CATALOG, Task, load
from attnviz.models.hub.single_stack import StackModel
from attnviz.models.hub.smollm2 import GgufFile, language_model, published
from attnviz.models.question_answering import LEAST_ROOM, MOST_CHARACTERS
from attnviz.models.shipped_answerer import AnswerModel
from attnviz.models.shipped_models import WEIGHTS, pack
from attnviz.models.shipped_summarizer import SummaryModel
from attnviz.models.shipped_translators import UNWRITABLE, TranslationModel
from attnviz.models.write_on import likeliest
from attnviz.nn.attention import KeyValues, attend
from attnviz.nn.encoder import Answerer
from attnviz.nn.lstm_translator import ReadSource, RecurrentState, Seq2Seq
from attnviz.nn.transformer_translator import Translator
from attnviz.settings import assets_folder
from attnviz.text.words import small_words

States = Float[Tensor, "one token dim"]
AnyTranslator = TypeVar("AnyTranslator", Seq2Seq, Translator)


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

    layers  what attention and Compute need; top: what the last states need besides
    """

    embeddings: WeightFile
    layers: WeightFile
    top: WeightFile
    rows: Rows

    @staticmethod
    def of(encoder: Any) -> "SharedFiles":
        """Divide an encoder's weights."""
        last = f"encoder.layer.{encoder.config.num_hidden_layers - 1}."
        after = (".intermediate.", ".output.")
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


# Sizes of an example, all different: rows of a beam, tokens of a source, tokens that are written already, and new ones.
_ROWS, _KEYS, _PAST, _NEW = 2, 7, 5, 3


class TranslatorPass(nn.Module, Generic[AnyTranslator]):
    """A pass through a part of a translator."""

    def __init__(self, model: AnyTranslator) -> None:
        super().__init__()
        self.model = model


class RecurrentRead(TranslatorPass[Seq2Seq]):
    """What an LSTM knows of a source before it writes."""

    def forward(self, source: Int[Tensor, "one key"]) -> tuple[Tensor, ...]:
        """Return the annotations as keys and as values, and the first state, hidden and cell."""
        model = self.model
        states, last = model.encoder(source)
        known = model.attention.project(states)
        return known.key, known.value, model.hidden_bridge(last.hidden).tanh(), model.cell_bridge(last.cell)


class RecurrentWrite(TranslatorPass[Seq2Seq]):
    """One step of an LSTM."""

    def forward(
        self, tokens: Int[Tensor, " row"], hidden: Tensor, cell: Tensor, key: Tensor, value: Tensor
    ) -> tuple[Tensor, ...]:
        """Return the scores of the token after these, the next state, and where the step looked."""
        model, source = self.model, ReadSource(KeyValues(key, value), RecurrentState(hidden, cell), None)
        seen, state, weights = model.step(model.tokens(tokens), source.state, source)
        return model.scores(seen[:, None])[:, 0], state.hidden, state.cell, weights


class TransformerRead(TranslatorPass[Translator]):
    """A Transformer's encoder, and what its decoder attends to."""

    def forward(self, source: Int[Tensor, "one key"]) -> tuple[Tensor, ...]:
        """Return the encoder's weights by layer, then the keys and the values of the source for each layer of the decoder."""
        memory, weights = self.model.encoder(source)
        known = [block.cross.project(memory) for block in self.model.blocks]
        return *(layer[0] for layer in weights), *(each.key for each in known), *(each.value for each in known)


class TransformerWrite(TranslatorPass[Translator]):
    """Some further tokens through a Transformer's decoder, after those whose keys and values are known."""

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
    options = {"written_rows": model.model.row_is_written, "unwritable": UNWRITABLE, "kinds": list(model.model.attentions)}
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


class LlamaLayers(nn.Module):
    """Some layers of a Llama (Touvron et al. 2023): further tokens, behind those whose keys and values are known.

    `last`: the norm on top comes behind them.
    """

    def __init__(self, model: Any, places: range, *, last: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList([model.model.layers[place] for place in places])
        self.norm = model.model.norm if last else nn.Identity()
        self.sizes = model.config.num_attention_heads, model.config.num_key_value_heads
        self.register_buffer("frequencies", model.model.rotary_emb.inv_freq.clone())

    def forward(self, states: States, *known: Tensor) -> tuple[Tensor, ...]:
        """Return the next states; then by layer the queries [one token dim], all keys and all values.

        `known` are the keys [one head key dim] of each layer, then the values. Queries and keys are rotated.
        """
        n_known = known[0].shape[2]
        places = torch.arange(n_known, n_known + states.shape[1])
        angles = places[:, None].float() * self.frequencies
        turn = torch.cat([angles, angles], dim=-1)
        visible = torch.arange(n_known + states.shape[1])[None] <= places[:, None]
        made = []
        for layer, past_key, past_value in zip(self.layers, known[: len(self.layers)], known[len(self.layers) :], strict=True):
            own: Any = layer
            read = own.input_layernorm(states)
            query, key, value = (self._heads(each(read), past_key) for each in self._projections(own.self_attn))
            query, key = self._turned(query, turn), torch.cat([past_key, self._turned(key, turn)], dim=2)
            value = torch.cat([past_value, value], dim=2)
            shared = self.sizes[0] // self.sizes[1]
            keys, values = (each.repeat_interleave(shared, dim=1) for each in (key, value))
            scores = (query @ keys.transpose(2, 3) * query.shape[-1] ** -0.5).masked_fill(~visible, -torch.inf)
            context = (scores.softmax(dim=-1) @ values).transpose(1, 2).flatten(start_dim=2)
            states = states + own.self_attn.o_proj(context)
            states = states + own.mlp(own.post_attention_layernorm(states))
            made.append((query.transpose(1, 2).flatten(start_dim=2), key, value))
        return self.norm(states), *(each for part in zip(*made, strict=True) for each in part)

    @staticmethod
    def _projections(attention: Any) -> tuple[nn.Module, nn.Module, nn.Module]:
        return attention.q_proj, attention.k_proj, attention.v_proj

    @staticmethod
    def _heads(made: Tensor, like: Tensor) -> Tensor:
        return made.unflatten(-1, (-1, like.shape[-1])).transpose(1, 2)

    @staticmethod
    def _turned(vectors: Tensor, turn: Tensor) -> Tensor:
        half = vectors.shape[-1] // 2
        crossed = torch.cat([-vectors[..., half:], vectors[..., :half]], dim=-1)
        return vectors * turn.cos() + crossed * turn.sin()


class NextPass(nn.Module):
    """From the states of tokens to the scores of what comes behind each."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.head = model.lm_head

    def forward(self, states: Float[Tensor, "token dim"]) -> Tensor:
        """Return logits [token piece]."""
        return self.head(states)


class LikeliestPass(nn.Module):
    """What the app keeps of the scores of a whole vocabulary."""

    def forward(self, logits: Float[Tensor, "token piece"], following: Int[Tensor, " token"]) -> tuple[Tensor, ...]:
        """Return what `likeliest` does."""
        return likeliest(logits, following)


# Layers of a graph: the weights of one graph are in memory twice while it is made.
_LAYERS_AT_ONCE = 10
# A page has room for the picture of so many tokens.
_MOST_TOKENS = 512
_TOKENS = "model.embed_tokens.weight"


def write_files(model: StackModel, saved: Path) -> Files:
    """Say what a language model of a GGUF file is written as: the file's own blocks of numbers, which the browser unpacks."""
    file = GgufFile.read(saved)
    llama: Any = language_model(file)
    config, layers = llama.config, llama.model.layers
    graphs, starts = {}, range(0, len(layers), _LAYERS_AT_ONCE)
    for start in starts:
        places = range(start, min(start + _LAYERS_AT_ONCE, len(layers)))
        graphs[f"layers.{start // _LAYERS_AT_ONCE}"] = _llama_graph(llama, places)
    vocabulary = {"logits": torch.randn(_NEW, config.vocab_size), "following": torch.ones(_NEW, dtype=torch.int32)}
    states = torch.ones(_NEW, config.hidden_size)
    graphs["next"] = Graph(NextPass(llama), {"states": states}, {"states": {0: "token"}}, ["logits"])
    names = ["candidates", "scores", "rest", "given"]
    graphs["likeliest"] = Graph(LikeliestPass(), vocabulary, {name: {0: "token"} for name in vocabulary}, names)
    options = {
        "tokens": _TOKENS,
        "dim": config.hidden_size,
        "head_dim": config.hidden_size // config.num_attention_heads,
        "key_heads": config.num_key_value_heads,
        "most_tokens": min(_MOST_TOKENS, config.max_position_embeddings),
        "ends": [config.eos_token_id],
        "marks": list(model.tokenizer.all_special_tokens),
    }
    named = (model.card.name, WeightFile("tokens", _blocks(file, _TOKENS.__eq__)))
    rest = (
        (model.card.name, WeightFile(f"layers.{start // _LAYERS_AT_ONCE}", _blocks(file, _within(start)))) for start in starts
    )
    top = (model.card.name, WeightFile("norm", _blocks(file, "model.norm.weight".__eq__)))
    weights = {name: value for name, value in llama.named_parameters() if name != "lm_head.weight"}
    return Files(graphs, weights, (named, *rest, top), tokenizer(model), options=options)


def _within(start: int) -> Any:
    """Select the tensors of some layers by name."""
    return lambda name: name.startswith("model.layers.") and start <= int(name.split(".")[2]) < start + _LAYERS_AT_ONCE


def _blocks(file: GgufFile, belongs: Any) -> dict[str, Tensor]:
    """Take tensors of a file as they are saved: a matrix in blocks under its name and that of its type."""
    made = {}
    for name, (kind, rows) in file.blocks().items():
        if belongs(name):
            data = torch.from_numpy(rows)
            made |= {name: data.view(torch.float32)[0]} if kind == "f32" else {f"{name}.{kind}": data}
    return made


def _llama_graph(llama: Any, places: range) -> Graph:
    config = llama.config
    layers, last = range(len(places)), places.stop == config.num_hidden_layers
    names = lambda *kinds: [f"{kind}.{layer}" for kind in kinds for layer in layers]
    width = config.hidden_size // config.num_attention_heads
    inputs = {"states": torch.ones(1, _NEW, config.hidden_size)}
    inputs |= {name: torch.ones(1, config.num_key_value_heads, _PAST, width) for name in names("past_key", "past_value")}
    axes = {"states": {1: "token"}, **{name: {2: "past"} for name in names("past_key", "past_value")}}
    return Graph(
        LlamaLayers(llama, places, last=last), inputs, axes, ["next_states", *names("query", "next_key", "next_value")]
    )


# How far a weight of attention may be from the app's own.
BOUND = 1e-3
MANIFEST = "model.json"
# What makes files of a model, by its task.
_WRITERS: dict[Task, Callable[[Any, Path], Files]] = {
    "encode": encode_files,
    "translate": translate_files,
    "answer": answer_files,
    "summarize": summarize_files,
    "write": write_files,
}
# It reads each text on its own.
_LEFT_OUT = ("answer-en-dual",)


def export(name: str, folder: Path) -> dict[str, Any]:
    """Write a model of the catalog into `folder`/`name`, and return its manifest, which stands there too.

    Raises:
        ModelError: it cannot be exported; the message says why.
        OSError: a file cannot be written.
    """
    if name not in exportable():
        raise ModelError(f"{name} cannot be exported for a browser: choose one of {', '.join(exportable())}.")
    task = CATALOG[name].task
    saved = published(silent) if task == "write" else assets_folder() / "models" / name
    return write_model(load(name), task, saved, folder)


def write_model(model: AttentionModel, task: Task, saved: Path, folder: Path) -> dict[str, Any]:
    """Write a model that has a task and was saved in a folder or file of its own, where the catalog does not have it."""
    name = model.card.name
    manifest = {
        "name": name,
        "task": task,
        "bound": BOUND,
        "card": _card(model),
        "small_words": small_words() if model.card.languages[:1] == ("en",) else None,
        **_written(name, folder, _WRITERS[task](model, saved)),
    }
    manifest["version"] = digest(json.dumps(manifest, sort_keys=True).encode())[:16]
    whole_files.write(folder / name / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return manifest


def exportable() -> tuple[str, ...]:
    """List the models of the catalog that can be exported.

    >>> "minilm" in exportable()
    True
    """
    return tuple(name for name, entry in CATALOG.items() if entry.task in _WRITERS and name not in _LEFT_OUT)


def _card(model: AttentionModel) -> dict[str, Any]:
    card: ModelCard = model.card
    return {name: value for name, value in asdict(card).items() if name not in ("device", "weights")}


def _written(name: str, folder: Path, files: Files) -> dict[str, Any]:
    graphs = {}
    for key, graph in files.graphs.items():
        exported = export_graph(graph, files.weights)
        written = write(folder, f"{name}/{key}.onnx", exported.content, text=True)
        graphs[key] = {**written, "weights": {"size": exported.size, "offsets": dict(exported.offsets)}}
    # Named after their content: models that share one share its file.
    named = {key: (f"tokenizers/{digest(text)[:12]}.json", text) for key, text in files.tokenizers.items()}
    tokenizers = {key: write(folder, path, text, text=True) for key, (path, text) in named.items()}
    return {
        "graphs": graphs,
        "parts": [write_weights(folder, owner, part) for owner, part in files.parts],
        "rows": files.rows and write_rows(folder, *files.rows),
        "tokenizers": tokenizers,
        "options": dict(files.options),
    }
