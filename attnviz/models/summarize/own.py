"""The summarizer that travels with attnviz: the embedded encoder, and on it layers whose attention was trained to select.

Its trace is one encoder of all layers: the pretrained ones as they are, then those of `attnviz.nn.summarizer`. The card's
`selects` says which layers' received attention chooses words, and sentences.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from attnviz.core.disk import sha256
from attnviz.core.errors import ModelError, ModelNotFoundError
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, QueryKeyWeights, Token
from attnviz.core.weights import QueryKeyLayer
from attnviz.models.base import ModelCard, Progress
from attnviz.models.hub.encoder import TracedModel
from attnviz.models.hub.minilm import minilm
from attnviz.models.query_key_layer import query_key_layer
from attnviz.nn.attention import Attended
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.summarizer import Summarizer, SummarizerConfig
from attnviz.paths import assets_folder
from attnviz.text.sentences import Sentences
from attnviz.text.tokens import Encoded, encode

CONFIG, WEIGHTS, METRICS = "config.json", "model.safetensors", "metrics.json"


@dataclass(frozen=True, eq=False)
class SummaryModel:
    """An encoder of the hub's kind, and a summarizer that reads its last states."""

    card: ModelCard
    encoder: TracedModel
    summarizer: Summarizer

    def trace(self, prompt: Prompt | str) -> AttentionTrace:
        """One forward pass: the attention of every layer, pretrained and trained.

        Raises:
            PromptError: the tokenizer finds nothing in the text.
        """
        prompt = Prompt.of(prompt)
        return self.trace_sentences(prompt, Sentences.of(prompt.text))

    def trace_sentences(self, prompt: Prompt, sentences: Sentences) -> AttentionTrace:
        """The same, where it is known which sentences the text has."""
        encoded, states, pretrained = read(self.encoder, prompt.text)
        numbers = sentence_numbers(encoded.tokens, sentences).to(states.device)
        with torch.inference_mode():
            own = map(query_key_layer, self.summarizer.attended(states, numbers[None]))
            store = QueryKeyWeights((*pretrained, *own))
        attention = AttentionMap("encoder", encoded.tokens, encoded.tokens, store)
        return AttentionTrace(self.card.name, prompt, (attention,), cut=encoded.cuts[0], revision=self.card.revision)

    def attended(self, prompt: Prompt) -> dict[str, tuple[Attended, ...]]:
        """What the attention of each layer reads, pretrained and trained.

        Raises:
            PromptError: as of `trace`.
        """
        encoded, states, _ = read(self.encoder, prompt.text)
        numbers = sentence_numbers(encoded.tokens, Sentences.of(prompt.text)).to(states.device)
        with torch.inference_mode():
            own = self.summarizer.attended(states, numbers[None])
        return {"encoder": (*self.encoder.attended_in(encoded), *own)}


def read(encoder: TracedModel, text: str) -> tuple[Encoded, Float[Tensor, "one token state"], tuple[QueryKeyLayer, ...]]:
    """A text as an encoder reads it: its tokens, their last states, and the queries and keys of its layers.

    Raises:
        ModelError: the encoder keeps its queries and keys to itself.
    """
    with encoder.lock:
        encoded = encode(encoder.tokenizer, [text], limit=encoder.card.max_tokens)
    inputs = {name: torch.tensor([ids], device=encoder.model.device) for name, ids in encoded.inputs.items()}
    states, stacks = encoder.reader.read({name: value for name, value in inputs.items() if name in encoder.accepts})
    store = stacks["encoder"].store
    if not isinstance(store, QueryKeyWeights):
        raise ModelError(f"{encoder.card.name} does not show its queries and keys: a summarizer cannot stand on it.")
    return encoded, states, store.layers


def sentence_numbers(tokens: tuple[Token, ...], sentences: Sentences) -> Int[Tensor, " token"]:
    """For each token the number of its sentence; a special token counts to the one before it, [CLS] to the first."""
    found, last = [], 0
    for token in tokens:
        last = last if token.special else sentences.at(token.start)
        found.append(last)
    return torch.tensor(found)


def build(config: dict[str, Any]) -> Summarizer:
    """The summarizer that a configuration describes, with weights not yet loaded."""
    values = dict(config["model"])
    return Summarizer(SummarizerConfig(**{**values, "block": BlockConfig(**values["block"])}))


def configuration(config: SummarizerConfig) -> dict[str, Any]:
    """What `build` builds from."""
    return {"kind": "summarizer", "model": asdict(config)}


def load_folder(folder: Path, progress: Progress) -> SummaryModel:
    """A summarizer that `attnviz train` saved.

    Raises:
        ModelNotFoundError: the folder holds none.
        ModelError: what it holds is damaged.
    """
    if not (folder / CONFIG).is_file():
        raise ModelNotFoundError(
            f"There is no summarizer in {folder}; train one with: attnviz train {folder.name} --data FOLDER"
        )
    encoder = minilm(progress)
    progress(f"Loading {folder.name}", None)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        summarizer = build(config)
        weights, revision = load_file(folder / WEIGHTS), sha256(folder / WEIGHTS)
        summarizer.load_state_dict({name: value.float() for name, value in weights.items()})
        metrics = json.loads((folder / METRICS).read_text(encoding="utf-8")) if (folder / METRICS).is_file() else {}
        about = config["card"]
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise ModelError(f"The summarizer in {folder} is damaged and cannot be read; get it again.") from error
    summarizer.eval().requires_grad_(False).to(encoder.model.device)
    own = sum(parameter.numel() for parameter in summarizer.parameters())
    n_layers = encoder.card.n_layers
    card = replace(
        encoder.card,
        name=about["name"],
        task=about["task"],
        n_layers=n_layers + summarizer.config.n_layers,
        parameters=encoder.card.parameters + own,
        revision=revision,
        reads=(),
        licence=about["licence"],
        sources=(*about["sources"], *encoder.card.sources),
        metrics={name: float(value) for name, value in metrics.items() if isinstance(value, int | float)},
        # The first trained layer chooses words, the last one sentences.
        selects=(n_layers, n_layers + summarizer.config.n_layers - 1),
    )
    return SummaryModel(card, encoder, summarizer)


def summarize_en(progress: Progress) -> SummaryModel:
    """MiniLM with two layers of attention on top, trained on the abstracts of SciTLDR (Cachola et al. 2020)."""
    return load_folder(assets_folder() / "models" / "summarize-en", progress)
