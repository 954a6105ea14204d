"""A Hugging Face model of one stack and its tokenizer, as an `AttentionModel`."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import EditError, ModelError, PromptError, failing_as
from attnviz.core.trace import AttentionMap, AttentionTrace, Kind, Prompt, QueryKeyWeights, Token
from attnviz.core.weights import QueryKeyLayer
from attnviz.models.base import ModelCard
from attnviz.models.edit.points import EditPoints, edited
from attnviz.models.hub.capture import AttentionFunctionReader, Reader, Stacks
from attnviz.models.hub.qkv_layers import qkv_layers
from attnviz.nn.attention import Attended
from attnviz.nn.edit import edited_pass
from attnviz.text.tokens import Encoded, encode

Rows = dict[str, tuple[tuple[Token, ...], tuple[Token, ...]]]
SINK = Token("sink", 0, 0, special=True)


@dataclass(frozen=True, eq=False)
class TracedModel:
    """Traces a Hugging Face model that is an encoder or a decoder."""

    card: ModelCard
    model: Any
    tokenizer: Any
    reader: Reader
    # The inputs that the model's forward pass takes.
    accepts: frozenset[str]
    # Layers and heads of each kind of attention.
    sizes: Mapping[Kind, tuple[int, int]]
    # Tokenizers are not safe to share: some switch language or truncation within a call.
    _lock: Any = field(default_factory=threading.Lock)

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Run one forward pass over the prompt, with the edits, and keep the attention of every head.

        A model that writes traces what it writes, or `prompt.target` where it is given; one that answers, with a question, the
        window of the passage that holds the best answer.

        Raises:
            PromptError: nothing in the text can be read, or there is too much; the message says which.
            EditError: the model does not have what is edited, or cannot be edited.
        """
        prompt = Prompt.of(prompt)
        with edited(self, prompt, Edits.of(edits)):
            return self._trace(prompt)

    def edit_points(self) -> EditPoints:
        """Say which attentions there are to edit.

        Raises:
            EditError: the model computes its attention by itself.
        """
        if not isinstance(self.reader, AttentionFunctionReader):
            raise EditError(
                f"{self.card.name} computes its attention in code of its own ({self.model.config.model_type}), so it can be "
                "looked at but not edited: choose another, such as bert-base-uncased."
            )
        return EditPoints(self.sizes, self.reader.kinds, self._kind, writes=self.card.architecture == "encoder-decoder")

    def _trace(self, prompt: Prompt) -> AttentionTrace:
        source = self._source(prompt)
        with self.computing():
            _, stacks = self.reader.read(self.tensors(source))
        kind = self._kind
        return self._traced(prompt, {kind: stacks["encoder"]}, {kind: (source.tokens, source.tokens)}, source)

    def attended(self, prompt: Prompt) -> dict[str, tuple[Attended, ...]]:
        """Return what the attention of each layer reads, by kind; nothing where `attended_in` finds nothing.

        Raises:
            PromptError: as of `trace`.
        """
        return {self._kind: layers} if (layers := self.attended_in(self._source(prompt))) else {}

    def attended_in(self, encoded: Encoded) -> tuple[Attended, ...]:
        """Return what the attention of each layer reads; nothing where it is unknown which layers are W_Q, W_K and W_V."""
        layers = qkv_layers(self.model)
        if self.card.architecture == "encoder-decoder" or len(layers) != self.card.n_layers:
            return ()
        with self.computing(), torch.inference_mode():
            states = self.body(**self.tensors(encoded), output_hidden_states=True).hidden_states
            entered = [layer.enter(read) for layer, read in zip(layers, states[:-1], strict=True)]
        return tuple(Attended(layer.attention, read, read) for layer, read in zip(layers, entered, strict=True))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let this thread alone use the tokenizer; whatever its files make it do wrong is one sentence."""
        sentence = f"The tokenizer of {self.card.name} fails at this text; type another one, or choose another model."
        with failing_as(ModelError, sentence), self._lock:
            yield

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Let the model compute; whatever its files make it do wrong is one sentence."""
        sentence = f"{self.card.name} fails at this text, for its files do not fit together; choose another model."
        with failing_as(ModelError, sentence):
            yield

    def encode(self, texts: Sequence[str], *, whole: bool = False, target: bool = False) -> Encoded:
        """Tokenize one text or a pair, cut to what the model reads at once unless `whole`; `target`: as text that it writes.

        Raises:
            PromptError: the tokenizer finds nothing in the text that the model could read.
        """
        with self.reading():
            encoded = encode(self.tokenizer, texts, limit=None if whole else self.card.max_tokens, target=target)
        if not encoded.tokens:
            raise PromptError(f"{self.card.name} finds nothing to read in this text: type a word.")
        return encoded

    def states(self, encoded: Encoded) -> tuple[Float[Tensor, "one token state"], tuple[QueryKeyLayer, ...]]:
        """Compute an encoder's last states, which other layers can stand on, and the queries and keys of its own layers.

        Raises:
            ModelError: the model does not show its queries and keys.
        """
        with self.computing():
            states, stacks = self.reader.read(self.tensors(encoded))
        store = stacks["encoder"].store
        if not isinstance(store, QueryKeyWeights):
            raise ModelError(f"{self.card.name} does not show its queries and keys: no other layers can stand on it.")
        return states, store.layers

    @property
    def body(self) -> Any:
        """The model without the layer on its top that names pieces or labels."""
        return body_of(self.model)

    @property
    def _kind(self) -> Kind:
        # A model of one stack has its attention under "encoder", whether it looks ahead or not.
        return "decoder" if self.card.architecture == "decoder" else "encoder"

    def _source(self, prompt: Prompt) -> Encoded:
        return self.encode([prompt.text] + ([prompt.pair] if prompt.pair and "pair" in self.card.reads else []))

    def tensors(self, encoded: Encoded) -> dict[str, Tensor]:
        inputs = {name: ids for name, ids in encoded.inputs.items() if name in self.accepts}
        check_pieces(self.model, encoded.inputs["input_ids"])
        return {name: torch.tensor([ids], device=self.model.device) for name, ids in inputs.items()}

    def _traced(self, prompt: Prompt, stacks: Stacks, tokens: Rows, source: Encoded, output: str = "") -> AttentionTrace:
        maps = []
        for kind, stack in stacks.items():
            queries, keys = tokens[kind]
            if stack.store.shape[1] == len(keys) + 1:
                keys = (*keys, SINK)
            maps.append(AttentionMap(kind, queries, keys, stack.store, stack.causal))
        cut, cut_pair = (*source.cuts, None)[:2]
        facts: dict[str, Any] = {"revision": self.card.revision, "edits": edited_pass.current()}
        return AttentionTrace(self.card.name, prompt, tuple(maps), output, cut, cut_pair, **facts)


def body_of(model: Any) -> Any:
    """Find the layers that attend: all of a model that writes, which needs its top to go on."""
    return model if model.config.is_encoder_decoder else model.base_model


def check_pieces(model: Any, ids: Sequence[int]) -> None:
    """Stops before a model looks for a piece that it does not have: a GPU would never compute again.

    Raises:
        ModelError: the tokenizer has more pieces than the model.
    """
    try:
        known = getattr(model.get_input_embeddings(), "num_embeddings", None)
    except NotImplementedError:
        return  # transformers does not know where this model keeps them
    if known is not None and (unknown := [piece for piece in ids if piece >= known]):
        raise ModelError(
            f"The tokenizer gives piece number {unknown[0]}, and the model has {known:,} pieces only: the two do not belong "
            "together; choose another model."
        )
