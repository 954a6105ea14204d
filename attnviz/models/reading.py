"""What an encoder, or a decoder of one stack, makes of a text: its last states, and what its layers on top find likeliest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt, Token
from attnviz.models.answer.own import AnswerModel
from attnviz.models.base import AttentionModel
from attnviz.models.edit.points import edited
from attnviz.models.hub.encoder import TracedModel
from attnviz.text.tokens import Encoded

# Alternatives that are listed: as many as Translate shows of each token.
LIKELIEST = 5


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

    @property
    def nbytes(self) -> int:
        return self.states.nbytes


NOTHING_READ = EncoderReading((), np.zeros((0, 0), np.float32), (), None)


def shifts(before: EncoderReading, after: EncoderReading) -> Float[np.ndarray, " token"]:
    """Compute how far each token's last state has turned: 1 - cosine, 0 to 2."""
    one, other = before.states, after.states
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.clip(1 - np.vecdot(one, other) / np.maximum(lengths, np.finfo(np.float32).tiny), 0, 2)


def read(model: AttentionModel, prompt: Prompt, edits: Edits = NO_EDITS) -> EncoderReading:
    """Read a text, or a pair of them, with the edits.

    Raises:
        ModelError: the model is not one of a single stack of attention.
        PromptError: the tokenizer finds nothing in the text.
        EditError: the model cannot be edited in this way.
    """
    encoder = _stack_of(model)
    if encoder is None:
        raise ModelError(f"{model.card.name} is no encoder and no decoder by itself: choose one, such as minilm.")
    with edited(model, prompt, edits):
        reading = _reading(encoder, prompt)
    edits.check_tokens(dict.fromkeys(("encoder", "decoder"), (len(reading.tokens), len(reading.tokens))))
    return reading


def says_more(model: AttentionModel, prompt: Prompt) -> bool:
    """Whether there is more to say of a text than its trace does: how alike a pair is, or what layers on top find likeliest."""
    return bool(prompt.pair) or (isinstance(model, TracedModel) and model.model.base_model is not model.model)


def can_read(model: AttentionModel) -> bool:
    """Whether a model is of a single stack of attention, so that `read` knows its last states."""
    return _stack_of(model) is not None


def _stack_of(model: AttentionModel) -> TracedModel | None:
    encoder = model.encoder if isinstance(model, AnswerModel) else model
    return encoder if isinstance(encoder, TracedModel) and encoder.card.architecture != "encoder-decoder" else None


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
