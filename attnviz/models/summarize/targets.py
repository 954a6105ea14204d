"""A kept sentence as a target: its share of the attention that chooses sentences."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.errors import ModelError, PromptError
from attnviz.models.hub.single_stack import StackModel
from attnviz.models.targets import AttentionSite, BoundTarget, Outcome
from attnviz.nn.summarizer import Summarizer, received
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

        The score is what a token of the sentence receives, as part of what the means of all sentences sum to; p is that part.

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
        """Compute what a token of each sentence receives, as part of what the means of all sentences sum to."""
        typed = torch.tensor([not token.special for token in self.encoded.tokens], device=ids.device)
        means = torch.nn.functional.one_hot(self.numbers, int(self.numbers.max()) + 1).float() * typed[:, None]
        means = means / means.sum(dim=0).clamp(min=1)
        inputs = {name: value for name, value in self.encoder.tensors(self.encoded).items() if name != "input_ids"}
        others = {name: value.expand(len(ids), -1) for name, value in inputs.items()}
        states = self.encoder.model(input_ids=ids, **others).last_hidden_state
        _, weights = self.summarizer(states, self.numbers.expand(len(ids), -1))
        totals = received(weights[self.layer], torch.ones_like(ids, dtype=torch.bool)) @ means
        return totals / totals.sum(dim=1, keepdim=True)
