"""A kept sentence, as something to ask about: its part of the attention that chooses sentences."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.attribution.bind import no_such_output
from attnviz.core.errors import ModelError, PromptError
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.bound_target import AttentionSite, BoundTarget, Outcome
from attnviz.models.summarize.own import SummaryModel, sentence_numbers
from attnviz.nn.summarizer import received
from attnviz.text.sentences import Sentences
from attnviz.text.tokens import Encoded


def sentence(model: AttentionModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind our summarizer to a sentence, by default the one that it keeps first.

    The score is what a token of the sentence receives, as part of what the means of all sentences sum to; p is that part.

    Raises:
        ModelError: the model chooses no sentences, or there is no such sentence.
        PromptError: nothing in the text can be read.
    """
    if not isinstance(model, SummaryModel) or model.card.selects is None:
        raise no_such_output(model, "kept sentence")
    encoded, sentences = model.encoder.encode([prompt.text]), Sentences.of(prompt.text)
    numbers = sentence_numbers(encoded.tokens, sentences).to(model.encoder.model.device)
    n_sentences = int(numbers.max()) + 1
    if n_sentences == 1:
        raise PromptError("This text is one sentence, which is kept whatever it says: type a longer one.")
    if place is not None and place >= n_sentences:
        raise ModelError(f"This text has {n_sentences} sentences, 0 to {n_sentences - 1}; there is no sentence {place}.")
    ids = torch.tensor(encoded.inputs["input_ids"], device=numbers.device)
    with torch.no_grad():
        chosen = int(_parts(model, encoded, numbers, ids[None])[0].argmax()) if place is None else place

    def run(ids: Int[Tensor, "batch token"]) -> Outcome:
        part = _parts(model, encoded, numbers, ids)[:, chosen]
        return Outcome(part, part.log())

    own = [at for at, number in enumerate(numbers.tolist()) if number == chosen and not encoded.tokens[at].special]
    whole, (start, end) = slice(0, len(encoded)), sentences.spans[chosen]
    return BoundTarget(
        target=f"the sentence “{prompt.text[start:end].strip()}”",
        tokens=encoded.tokens,
        ids=ids,
        embedding=model.encoder.model.get_input_embeddings().weight,
        baseline_id=model.encoder.tokenizer.mask_token_id,
        fixed=frozenset(own) | {at for at, token in enumerate(encoded.tokens) if token.special},
        readout={at: 1 / len(own) for at in own},
        run=run,
        sites=[AttentionSite(whole, whole, "encoder", index) for index in range(model.card.n_layers)],
        n_positions=len(encoded),
        unfreezable="What is asked about is itself made of attention weights, which this way holds fixed: choose another way.",
    )


def _parts(
    model: SummaryModel, encoded: Encoded, numbers: Int[Tensor, " token"], ids: Int[Tensor, "batch token"]
) -> Float[Tensor, "batch sentence"]:
    """What a token of each sentence receives in the layer that chooses, as part of what the means of all sentences sum to."""
    typed = torch.tensor([not token.special for token in encoded.tokens], device=numbers.device)
    means = torch.nn.functional.one_hot(numbers, int(numbers.max()) + 1).float() * typed[:, None]
    means = means / means.sum(dim=0).clamp(min=1)
    inputs = {name: value for name, value in model.encoder.tensors(encoded).items() if name != "input_ids"}
    others = {name: value.expand(len(ids), -1) for name, value in inputs.items()}
    states = model.encoder.model(input_ids=ids, **others).last_hidden_state
    _, weights = model.summarizer(states, numbers.expand(len(ids), -1))
    layer = (model.card.selects or (0, 0))[1] - model.encoder.card.n_layers
    totals = received(weights[layer], torch.ones_like(ids, dtype=torch.bool)) @ means
    return totals / totals.sum(dim=1, keepdim=True)
