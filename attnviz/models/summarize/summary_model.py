"""The summarizer that travels with attnviz: the embedded encoder, and on it layers whose attention was trained to select.

Its trace is one encoder of all layers: the pretrained ones as they are, then those of `attnviz.nn.summarizer`. The card's
`selects` says which layers' received attention chooses words, and sentences.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.query_key import QueryKeyLayer
from attnviz.core.trace import AttentionMap, AttentionTrace, Kind, Prompt, QueryKeyWeights, Token
from attnviz.models.base import AttentionModel, ModelCard
from attnviz.models.batched_edits import Scorer, cosine_distance
from attnviz.models.capabilities import Capabilities
from attnviz.models.edit.edit_points import EditPoints, edited, own_layers
from attnviz.models.hub.single_stack import StackModel
from attnviz.models.summarize.targets import SentenceChoice
from attnviz.models.targets import BoundTarget, Target, target_labels
from attnviz.nn.attention import Attended
from attnviz.nn.edit import edited_pass
from attnviz.nn.summarizer import Summarizer, received
from attnviz.text.sentences import Sentences
from attnviz.text.tokens import Encoded


@dataclass(frozen=True, eq=False)
class SummaryModel(Capabilities):
    """An encoder of the hub's kind, and a summarizer that reads its last states."""

    card: ModelCard
    encoder: StackModel
    summarizer: Summarizer

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Trace a text, with the edits: the attention of every layer, pretrained and trained."""
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
            own = own_layers("encoder", self.summarizer.attended(states, numbers[None]), first=len(pretrained))
        store = QueryKeyWeights((*pretrained, *own))
        attention = AttentionMap("encoder", encoded.tokens, encoded.tokens, store)
        facts: dict[str, Any] = {"revision": self.card.revision, "edits": edited_pass.current()}
        return AttentionTrace(self.card.name, prompt, (attention,), cut=encoded.cuts[0], **facts)

    def attended(self, prompt: Prompt, pieces: Sequence[int] = ()) -> dict[Kind, tuple[Attended, ...]]:
        """Return what the attention of each layer reads, pretrained and trained."""
        encoded, states, _ = read(self.encoder, prompt.text)
        numbers = sentence_numbers(encoded.tokens, Sentences.of(prompt.text)).to(states.device)
        with torch.inference_mode():
            own = self.summarizer.attended(states, numbers[None])
        return {"encoder": (*self.encoder.attended_in(encoded), *own)}

    def scorer(self, prompt: Prompt) -> Scorer:
        """Prepare to score how far the attention that each word receives turns, in the layer that chooses words."""
        encoded = self.encoder.encode([prompt.text])
        source = self.encoder.tensors(encoded)
        numbers = sentence_numbers(encoded.tokens, Sentences.of(prompt.text)).to(source["input_ids"].device)[None]
        own = (self.card.selects or (self.card.n_layers - 1,))[0] - self.encoder.card.n_layers
        words = torch.tensor([not token.special for token in encoded.tokens], device=numbers.device)

        def shares(n_rows: int) -> Float[Tensor, "row word"]:
            states = self.encoder.last_states({name: ids.expand(n_rows, -1) for name, ids in source.items()})
            weights = self.summarizer(states, numbers.expand(n_rows, -1))[1][own]
            return received(weights, torch.ones_like(numbers, dtype=torch.bool).expand(n_rows, -1))[:, words]

        with torch.inference_mode():
            before = shares(1)
        turned = lambda n_rows: -cosine_distance(before, shares(n_rows))
        return Scorer(self, "cosine", 1, turned, numbers.shape[1])

    def targets(self, prompt: Prompt) -> dict[str, str]:
        """List the sentences."""
        spans = Sentences.of(prompt.text).spans
        return target_labels("sentence", "sentence", [prompt.text[start:end].strip() for start, end in spans])

    def bind_target(self, prompt: Prompt, target: Target) -> BoundTarget:
        """Bind the model to a sentence, by default the one that it keeps first."""
        if target.kind != "sentence" or self.card.selects is None:
            return super().bind_target(prompt, target)
        encoded, sentences = self.encoder.encode([prompt.text]), Sentences.of(prompt.text)
        numbers = sentence_numbers(encoded.tokens, sentences).to(self.encoder.model.device)
        layer = self.card.selects[1] - self.encoder.card.n_layers
        choice = SentenceChoice(self.encoder, self.summarizer, layer, encoded, numbers)
        return choice.bind(prompt.text, sentences, target.place)

    def bind_trace(self, prompt: Prompt, pieces: Sequence[int] = ()) -> BoundTarget:
        """Bind the model to the sentence that it keeps first."""
        return self.bind_target(prompt, self.default_target(prompt))

    def trace_all(self, texts: Sequence[str]) -> Iterator[tuple[int, AttentionTrace]]:
        """Trace texts with the encoder alone."""
        return self.encoder.trace_all(texts)

    def untrained(self, seed: int) -> AttentionModel | None:
        """Make the encoder with fresh random weights."""
        return self.encoder.untrained(seed)


def read(encoder: StackModel, text: str) -> tuple[Encoded, Float[Tensor, "one token state"], tuple[QueryKeyLayer, ...]]:
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
