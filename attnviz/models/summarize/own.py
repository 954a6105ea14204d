"""The summarizer that travels with attnviz: the embedded encoder, and on it layers whose attention was trained to select.

Its trace is one encoder of all layers: the pretrained ones as they are, then those of `attnviz.nn.summarizer`. The card's
`selects` says which layers' received attention chooses words, and sentences.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, QueryKeyWeights, Token
from attnviz.core.weights import QueryKeyLayer
from attnviz.models.base import ModelCard
from attnviz.models.edit.points import EditPoints, edited, with_edited_heads
from attnviz.models.hub.encoder import TracedModel
from attnviz.models.query_key_layer import query_key_layer
from attnviz.nn.attention import Attended
from attnviz.nn.edit import edited_pass
from attnviz.nn.summarizer import Summarizer
from attnviz.text.sentences import Sentences
from attnviz.text.tokens import Encoded


@dataclass(frozen=True, eq=False)
class SummaryModel:
    """An encoder of the hub's kind, and a summarizer that reads its last states."""

    card: ModelCard
    encoder: TracedModel
    summarizer: Summarizer

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Trace a text, with the edits: the attention of every layer, pretrained and trained.

        Raises:
            PromptError: the tokenizer finds nothing in the text.
            EditError: the model does not have what is edited.
        """
        prompt = Prompt.of(prompt)
        with edited(self, prompt, Edits.of(edits)):
            return self.trace_sentences(prompt, Sentences.of(prompt.text))

    def edit_points(self) -> EditPoints:
        """Say which attentions there are to edit: pretrained and trained layers are one stack."""
        blocks: Any = self.summarizer.blocks
        return EditPoints(
            {"encoder": (self.card.n_layers, self.card.n_heads)}, {id(block.attention): "encoder" for block in blocks}
        )

    def trace_sentences(self, prompt: Prompt, sentences: Sentences) -> AttentionTrace:
        """Trace a text of which the sentences are known."""
        encoded, states, pretrained = read(self.encoder, prompt.text)
        numbers = sentence_numbers(encoded.tokens, sentences).to(states.device)
        with torch.inference_mode():
            own = [*map(query_key_layer, self.summarizer.attended(states, numbers[None]))]
        store = QueryKeyWeights((*pretrained, *with_edited_heads("encoder", own, first=len(pretrained))))
        attention = AttentionMap("encoder", encoded.tokens, encoded.tokens, store)
        facts: dict[str, Any] = {"revision": self.card.revision, "edits": edited_pass.current()}
        return AttentionTrace(self.card.name, prompt, (attention,), cut=encoded.cuts[0], **facts)

    def attended(self, prompt: Prompt) -> dict[str, tuple[Attended, ...]]:
        """Return what the attention of each layer reads, pretrained and trained.

        Raises:
            PromptError: as of `trace`.
        """
        encoded, states, _ = read(self.encoder, prompt.text)
        numbers = sentence_numbers(encoded.tokens, Sentences.of(prompt.text)).to(states.device)
        with torch.inference_mode():
            own = self.summarizer.attended(states, numbers[None])
        return {"encoder": (*self.encoder.attended_in(encoded), *own)}


def read(encoder: TracedModel, text: str) -> tuple[Encoded, Float[Tensor, "one token state"], tuple[QueryKeyLayer, ...]]:
    """Read a text with an encoder: its tokens, their last states, and the queries and keys of its layers.

    Raises:
        ModelError: the encoder does not show its queries and keys.
    """
    encoded = encoder.encode([text])
    return encoded, *encoder.states(encoded)


def sentence_numbers(tokens: tuple[Token, ...], sentences: Sentences) -> Int[Tensor, " token"]:
    """Number each token by its sentence; a special token counts to the one before it, [CLS] to the first."""
    numbers, last = [], 0
    for token in tokens:
        last = last if token.special else sentences.at(token.start)
        numbers.append(last)
    return torch.tensor(numbers)
