"""What a model says, before and after edits: one function a task, each of which returns both as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt, Token
from attnviz.models.answer.base import Answers, answers
from attnviz.models.answer.own import AnswerModel
from attnviz.models.base import AttentionModel
from attnviz.models.edit.points import edited
from attnviz.models.hub.encoder import TracedModel
from attnviz.models.scoring import scorer_for
from attnviz.models.translate.base import TranslatingModel
from attnviz.models.translate.decode import DecodingOptions, Draft, draft, total
from attnviz.text.tokens import Encoded

Said = TypeVar("Said")
# Alternatives that are listed: as many as Translate shows of each token.
LIKELIEST = 5


@dataclass(frozen=True, eq=False)
class Effect(Generic[Said]):
    """The same thing that a model says, without edits and with them."""

    before: Said
    after: Said


@dataclass(frozen=True, eq=False)
class WrittenEffect(Effect[Draft]):
    """What a model writes.

    log_probabilities  ln p of what it wrote without the edits: without them, and with them
    """

    log_probabilities: tuple[float, float]


@dataclass(frozen=True, eq=False)
class EncoderReading:
    """What an encoder, or a decoder of one stack, makes of a text.

    states      the last state of each token
    likeliest   by the name of the place, what its own layers on top find likeliest there, with p, best first: the next token,
                what stands behind each [MASK], the text's label; empty where the model has no such layer
    similarity  of a pair: the cosine of the means of its two texts' states; None: there is one text
    """

    tokens: tuple[Token, ...]
    states: Float[np.ndarray, "token dim"]
    likeliest: tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
    similarity: float | None


@dataclass(frozen=True, eq=False)
class ReadingEffect(Effect[EncoderReading]):
    """What a model of one stack makes of a text."""

    @property
    def nbytes(self) -> int:
        return self.before.states.nbytes + self.after.states.nbytes

    @property
    def shifts(self) -> Float[np.ndarray, " token"]:
        """Compute how far each token's last state has turned: 1 - cosine, 0 to 2."""
        one, other = self.before.states, self.after.states
        lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        return np.clip(1 - np.vecdot(one, other) / np.maximum(lengths, np.finfo(np.float32).tiny), 0, 2)


def written(model: AttentionModel, prompt: Prompt, edits: Edits, options: DecodingOptions | None = None) -> WrittenEffect:
    """Translate, or write what `prompt.target` says, without edits and with them.

    Raises:
        PromptError: as of `draft`.
        EditError: the model cannot be edited in this way.
    """
    options = options or DecodingOptions()
    before, after = (draft(model, prompt, options, each) for each in (NO_EDITS, edits))
    if prompt.target:
        return WrittenEffect(before, after, (before.log_probability, after.log_probability))
    likely = tuple(log_probability(model, prompt, before, each) for each in (NO_EDITS, edits))
    return WrittenEffect(before, after, (likely[0], likely[1]))


def log_probability(model: AttentionModel, prompt: Prompt, draft: Draft, edits: Edits) -> float:
    """Compute ln p of the pieces of a draft, written with the edits.

    Raises:
        EditError: the model cannot be edited in this way.
    """
    assert isinstance(model, TranslatingModel)
    whole = replace(prompt, text=draft.task_prefix + prompt.text)
    with edited(model, whole, edits.after(draft.task_prefix)):
        return total(model.follow(whole, model.pieces(draft.pieces))[1])


def answered(model: AttentionModel, prompt: Prompt, edits: Edits) -> Effect[Answers]:
    """Answer a question without edits and with them: spans, their probabilities, and whether the model declines.

    Raises:
        PromptError, ModelError: as of `answers`.
        EditError: the model cannot be edited in this way.
    """
    return Effect(answers(model, prompt), answers(model, prompt, edits))


def read(model: AttentionModel, prompt: Prompt, edits: Edits) -> ReadingEffect:
    """Read a text, or a pair of them, without edits and with them.

    Raises:
        ModelError: the model is not one of a single stack of attention.
        PromptError: the tokenizer finds nothing in the text.
        EditError: the model cannot be edited in this way.
    """
    encoder = model.encoder if isinstance(model, AnswerModel) else model
    if not isinstance(encoder, TracedModel) or encoder.card.architecture == "encoder-decoder":
        raise ModelError(f"{model.card.name} is no encoder and no decoder by itself: choose one, such as minilm.")
    before = after = _reading(encoder, prompt)
    if edits:
        with edited(model, prompt, edits):
            after = _reading(encoder, prompt)
    edits.check_tokens(dict.fromkeys(("encoder", "decoder"), (len(before.tokens), len(before.tokens))))
    return ReadingEffect(before, after)


def say(model: AttentionModel, prompt: Prompt, edits: Edits) -> ReadingEffect:
    """Read as `read` does, but without a pass where there is nothing to say: nothing edited, no pair, no layer on top.

    Raises:
        ModelError, PromptError, EditError: as of `read`.
    """
    has_head = isinstance(model, TracedModel) and model.model.base_model is not model.model
    if edits or prompt.pair or has_head:
        return read(model, prompt, edits)
    nothing = EncoderReading((), np.zeros((0, 0), np.float32), (), None)
    return ReadingEffect(nothing, nothing)


def _reading(encoder: TracedModel, prompt: Prompt) -> EncoderReading:
    source = encoder._source(prompt)
    with encoder.computing(), torch.inference_mode():
        outputs: Any = encoder.model(**encoder.tensors(source), output_hidden_states=True)
    states = outputs.hidden_states[-1][0].float().cpu().numpy()
    logits = getattr(outputs, "logits", None)
    likeliest = () if logits is None else _likeliest(encoder, source, logits[0].float())
    return EncoderReading(source.tokens, states, likeliest, _similarity(source.tokens, states))


def _likeliest(encoder: TracedModel, source: Encoded, logits: Tensor) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    if logits.ndim == 1:
        labels = encoder.model.config.id2label
        return (("label", _best(logits, [str(labels.get(place, place)) for place in range(len(logits))])),)
    if encoder.card.architecture == "decoder":
        return (("next token", _best_pieces(encoder, logits[-1])),)
    masks = [place for place, piece in enumerate(source.inputs["input_ids"]) if piece == encoder.tokenizer.mask_token_id]
    return tuple((f"{encoder.tokenizer.mask_token} {place}", _best_pieces(encoder, logits[place])) for place in masks)


def _best_pieces(encoder: TracedModel, logits: Tensor) -> tuple[tuple[str, float], ...]:
    shares = F.softmax(logits, dim=-1).topk(min(LIKELIEST, len(logits)))
    with encoder.reading():
        names = [encoder.tokenizer.decode([piece]).strip() for piece in shares.indices.tolist()]
    return tuple(zip(names, shares.values.tolist(), strict=True))


def _best(logits: Tensor, names: Sequence[str]) -> tuple[tuple[str, float], ...]:
    shares = F.softmax(logits, dim=-1).tolist()
    return tuple(sorted(zip(names, shares, strict=True), key=lambda row: -row[1]))


def _similarity(tokens: Sequence[Token], states: np.ndarray) -> float | None:
    sides = [[place for place, token in enumerate(tokens) if token.segment == side and not token.special] for side in (0, 1)]
    if not all(sides):
        return None
    one, other = (states[side].mean(axis=0) for side in sides)
    return float(one @ other / max(np.linalg.norm(one) * np.linalg.norm(other), np.finfo(np.float32).tiny))


def cost_of(model: AttentionModel, prompt: Prompt, edits: Edits) -> float:
    """Tell what edits cost the output that the model gives without them: nats of ln p, or 1 - cosine of the last states.

    Raises:
        PromptError, EditError: as of `scorer_for`.
    """
    before, after = scorer_for(model, prompt).scores([NO_EDITS, edits])
    return float(before - after)
