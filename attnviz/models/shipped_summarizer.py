"""The summarizer that attnviz trained, how it is built, and its targets: a kept sentence's share of the attention that chooses.

Its trace is one encoder of all layers: the pretrained ones as they are, then those of `attnviz.nn.encoder`. The card's
`selects` says which layers' received attention chooses words, and sentences.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import ModelError, PromptError
from attnviz.core.trace import AttentionMap, AttentionTrace, Kind, Prompt, QueryKeyWeights, Token
from attnviz.core.weights import QueryKeyLayer
from attnviz.models import device
from attnviz.models.base import AttentionModel, ModelCard, Progress
from attnviz.models.capabilities import Capabilities
from attnviz.models.edit import EditPoints, Scorer, cosine_distance, edited, own_layers
from attnviz.models.hub.minilm import minilm
from attnviz.models.hub.single_stack import StackModel
from attnviz.models.shipped_models import SavedModel
from attnviz.models.targets import AttentionSite, BoundTarget, Outcome, Target, target_labels
from attnviz.nn import apply_edits
from attnviz.nn.attention import Attended
from attnviz.nn.encoder import BlockConfig, Summarizer, SummarizerConfig, received
from attnviz.text.sentences import Sentences
from attnviz.text.tokens import Encoded

_UNFREEZABLE = "This target is computed from attention weights, which this method holds fixed: choose another method."


@dataclass(frozen=True, eq=False)
class SentenceChoice:
    """How a summarizer on an encoder chooses among the sentences of one text.

    layer    the summarizer's layer whose received attention chooses sentences
    numbers  the sentence of each token
    """

    encoder: StackModel
    summarizer: Summarizer
    layer: int
    encoded: Encoded
    numbers: Int[Tensor, " token"]

    def bind(self, text: str, sentences: Sentences, place: int | None) -> BoundTarget:
        """Bind the sentence at a place, by default the one that is kept first.

        The score is what its tokens receive, as part of what all sentences do: by this they are chosen. p is that part.

        Raises:
            ModelError: there is no such sentence.
            PromptError: there is one sentence only.
        """
        encoded, numbers, n_sentences = self.encoded, self.numbers, int(self.numbers.max()) + 1
        if n_sentences == 1:
            raise PromptError("This text is one sentence, which is kept whatever it says: type a longer one.")
        if place is not None and place >= n_sentences:
            raise ModelError(f"This text has {n_sentences} sentences, 0 to {n_sentences - 1}; there is no sentence {place}.")
        ids = torch.tensor(encoded.inputs["input_ids"], device=numbers.device)
        with torch.no_grad():
            chosen = int(self.parts(ids[None])[0].argmax()) if place is None else place

        def run(ids: Int[Tensor, "batch token"]) -> Outcome:
            part = self.parts(ids)[:, chosen]
            return Outcome(part, part.log())

        own = [at for at, number in enumerate(numbers.tolist()) if number == chosen and not encoded.tokens[at].special]
        whole, (start, end) = slice(0, len(encoded)), sentences.spans[chosen]
        n_layers = self.encoder.card.n_layers + self.summarizer.config.n_layers
        return BoundTarget(
            target=f"the sentence “{text[start:end].strip()}”",
            tokens=encoded.tokens,
            ids=ids,
            embedding=self.encoder.model.get_input_embeddings().weight,
            baseline_id=self.encoder.tokenizer.mask_token_id,
            fixed=frozenset(own) | {at for at, token in enumerate(encoded.tokens) if token.special},
            readout={at: 1 / len(own) for at in own},
            run=run,
            output_text=lambda ids: text[slice(*sentences.spans[int(self.parts(ids)[0].argmax())])].strip(),
            sites=[AttentionSite(whole, whole, "encoder", index) for index in range(n_layers)],
            n_positions=len(encoded),
            unfreezable=_UNFREEZABLE,
        )

    def parts(self, ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch sentence"]:
        """Compute what the typed tokens of each sentence receive from typed tokens, as part of what all sentences do."""
        typed = torch.tensor([not token.special for token in self.encoded.tokens], device=ids.device)
        own = torch.nn.functional.one_hot(self.numbers, int(self.numbers.max()) + 1).float() * typed[:, None]
        inputs = {name: value for name, value in self.encoder.tensors(self.encoded).items() if name != "input_ids"}
        others = {name: value.expand(len(ids), -1) for name, value in inputs.items()}
        states = self.encoder.model(input_ids=ids, **others).last_hidden_state
        _, weights = self.summarizer(states, self.numbers.expand(len(ids), -1))
        totals = received(weights[self.layer], typed.expand(len(ids), -1)) @ own
        return totals / totals.sum(dim=1, keepdim=True)


@dataclass(frozen=True, eq=False)
class SummaryModel(Capabilities):
    """An encoder of the hub's kind, and a summarizer that reads its last states."""

    card: ModelCard
    encoder: StackModel
    summarizer: Summarizer

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Trace a text, with the edits: the attention of every layer, pretrained and trained."""
        prompt = self.prompt(prompt)
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
        with device.own_types(), torch.inference_mode():
            own = own_layers("encoder", self.summarizer.attended(states, numbers[None]), first=len(pretrained))
        store = QueryKeyWeights((*pretrained, *own))
        attention = AttentionMap("encoder", encoded.tokens, encoded.tokens, store)
        facts: dict[str, Any] = {"revision": self.card.revision, "edits": apply_edits.current()}
        return AttentionTrace(self.card.name, prompt, (attention,), cut=encoded.cuts[0], **facts)

    def attended(self, prompt: Prompt, pieces: Sequence[int] = ()) -> dict[Kind, tuple[Attended, ...]]:
        """Return what the attention of each layer reads, pretrained and trained."""
        encoded, states, _ = read(self.encoder, prompt.text)
        numbers = sentence_numbers(encoded.tokens, Sentences.of(prompt.text)).to(states.device)
        with device.own_types(), torch.inference_mode():
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
            return received(weights, words.expand(n_rows, -1))[:, words]

        with device.own_types(), torch.inference_mode():
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
    return torch.tensor(numbers, device="cpu")


def summarizer(saved: SavedModel, progress: Progress) -> SummaryModel:
    """Build a summarizer on the embedded encoder, which stays as it was published.

    Raises:
        ValueError, KeyError, RuntimeError, …: the folder is damaged.
    """
    encoder = minilm(progress)
    model = untrained_summarizer(saved.config)
    model.load_state_dict(saved.weights)
    model.eval().requires_grad_(False).float().to(encoder.model.device)
    about: dict[str, Any] = {**saved.about, "sources": (*saved.about["sources"], *encoder.card.sources)}
    n_layers = encoder.card.n_layers
    card = replace(
        encoder.card,
        **about,
        n_layers=n_layers + model.config.n_layers,
        parameters=encoder.card.parameters + sum(parameter.numel() for parameter in model.parameters()),
        reads=(),
        # The first trained layer chooses words, the last one sentences.
        selects=(n_layers, n_layers + model.config.n_layers - 1),
    )
    return SummaryModel(card, encoder, model)


def untrained_summarizer(config: dict[str, Any]) -> Summarizer:
    """Build the summarizer that a configuration describes, with weights not yet loaded."""
    values: dict[str, Any] = {**config["model"], "block": BlockConfig(**config["model"]["block"])}
    return Summarizer(SummarizerConfig(**values))


def configuration(config: SummarizerConfig) -> dict[str, Any]:
    """Describe a summarizer as `summarizer` reads it."""
    return {"kind": "summarizer", "model": asdict(config)}
