"""What a model of one stack makes of a text, as something to ask about: likeness, the next or masked token, a label."""

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.attribution.bind import no_such_output
from attnviz.core.errors import ModelError, PromptError
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.bound_target import AttentionSite, BoundTarget, Outcome
from attnviz.models.hub.encoder import TracedModel
from attnviz.text.tokens import Encoded

# A likeness of nothing or less has no logarithm.
LEAST = 1e-6


def similarity(model: AttentionModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind an encoder to the cosine between the mean states of two texts, each read on its own; p of it is the cosine itself.

    Words are taken from the first text alone: two texts that lose all their words become the same.

    Raises:
        ModelError: this is no encoder.
        PromptError: there is no second text.
    """
    inner = _one_stack(model, "likeness of two texts")
    if inner.card.architecture != "encoder":
        raise no_such_output(model, "likeness of two texts")
    if not prompt.pair:
        raise PromptError("There is no second text to compare with: type one.")
    sides = [inner.encode([text]) for text in (prompt.text, prompt.pair)]
    tokens = (*sides[0].tokens, *(replace(token, segment=1) for token in sides[1].tokens))
    first = len(sides[0])

    def run(ids: Int[Tensor, "batch token"]) -> Outcome:
        parts = [ids[:, :first], ids[:, first:]]
        one, other = (_states(inner, side, part).mean(dim=1) for side, part in zip(sides, parts, strict=True))
        # Lengths by way of their squares, so that what holds them fixed can see them.
        lengths = ((one * one).sum(dim=1) * (other * other).sum(dim=1)).rsqrt()
        cosine = (one * other).sum(dim=1) * lengths
        return Outcome(cosine, cosine.clamp(min=LEAST).log())

    asking = {
        at: 0.5 / len(side) for side, start in zip(sides, (0, first), strict=True) for at in range(start, start + len(side))
    }
    ranges = (slice(0, first), slice(first, len(tokens)))
    return BoundTarget(
        **_common(inner, tokens, [index for side in sides for index in side.inputs["input_ids"]]),
        target="how alike the two texts are",
        fixed=_special(tokens) | frozenset(range(first, len(tokens))),
        readout=asking,
        run=run,
        sites=[AttentionSite(side, side, "encoder", layer) for side in ranges for layer in range(inner.card.n_layers)],
    )


def next_token(model: AttentionModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind a decoder to the token that it finds likeliest to come next.

    Raises:
        ModelError: the model names no next token.
    """
    inner = _one_stack(model, "next token")
    if inner.card.architecture != "decoder":
        raise no_such_output(model, "next token")
    encoded = inner.encode([prompt.text])
    return _vocabulary(inner, encoded, len(encoded) - 1, "next token")


def masked_token(model: AttentionModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind an encoder to the token that it finds likeliest behind the text's mask.

    Raises:
        ModelError: the model names no masked token.
        PromptError: nothing in the text is masked.
    """
    inner = _one_stack(model, "masked token")
    mask = inner.tokenizer.mask_token_id
    if mask is None or inner.model.get_output_embeddings() is None:
        raise no_such_output(model, "masked token")
    encoded = inner.encode([prompt.text])
    if mask not in encoded.inputs["input_ids"]:
        raise PromptError(f"Nothing in this text is masked: put {inner.tokenizer.mask_token} in the place of a word.")
    return _vocabulary(inner, encoded, encoded.inputs["input_ids"].index(mask), "masked token")


def label(model: AttentionModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind a classifier to a label, by default the likeliest.

    Raises:
        ModelError: the model gives no labels, or not so many.
    """
    inner = _one_stack(model, "label")
    if "ForSequenceClassification" not in type(inner.model).__name__:
        raise no_such_output(model, "label")
    encoded = inner.encode([prompt.text] + ([prompt.pair] if prompt.pair else []))

    def logits(ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch label"]:
        return _outputs(inner, encoded, ids).logits

    with torch.no_grad():
        given = logits(_ids(inner, encoded)[None])[0]
    if place is not None and place >= len(given):
        raise ModelError(f"{model.card.name} gives {len(given)} labels, 0 to {len(given) - 1}; there is no label {place}.")
    chosen = int(given.argmax()) if place is None else place
    name = inner.model.config.id2label.get(chosen, str(chosen))
    return BoundTarget(
        **_common(inner, encoded.tokens, encoded.inputs["input_ids"]),
        target=f"the label “{name}”",
        fixed=_special(encoded.tokens),
        readout={0 if inner.card.architecture == "encoder" else len(encoded) - 1: 1.0},
        run=lambda ids: _chosen(logits(ids), chosen),
        sites=_stack(inner, encoded),
    )


def text(model: AttentionModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind an encoder or decoder to a text alone, where nothing about an output is asked: the score is the mean of its states.

    Raises:
        ModelError: the model has more than one stack.
    """
    inner = _one_stack(model, "text of its own")
    encoded = inner.encode([prompt.text] + ([prompt.pair] if prompt.pair and "pair" in inner.card.reads else []))

    def run(ids: Int[Tensor, "batch token"]) -> Outcome:
        mean = _states(inner, encoded, ids).mean(dim=(1, 2))
        return Outcome(mean, mean)

    return BoundTarget(
        **_common(inner, encoded.tokens, encoded.inputs["input_ids"]),
        target="the text",
        fixed=_special(encoded.tokens),
        readout={at: 1 / len(encoded) for at in range(len(encoded))},
        run=run,
        sites=_stack(inner, encoded),
    )


def _vocabulary(inner: TracedModel, encoded: Encoded, row: int, what: str) -> BoundTarget:
    """Bind a model to the likeliest piece at one of its positions."""
    head, table = inner.model.get_output_embeddings(), inner.model.get_input_embeddings()
    if head is None and not getattr(inner.model.config.get_text_config(), "tie_word_embeddings", False):
        raise ModelError(f"{inner.card.name} was loaded without the layer that names its {what}; wrap the model that has it.")

    def logits(ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch vocabulary"]:
        if head is not None:
            return _outputs(inner, encoded, ids).logits[:, row]
        # Of a model of which only the stack is here, the words that it reads are the words that it names.
        return _states(inner, encoded, ids)[:, row] @ table.weight.T

    with torch.no_grad():
        piece = int(logits(_ids(inner, encoded)[None])[0].argmax())
    with inner.reading():
        name = inner.tokenizer.decode([piece]).strip()
    return BoundTarget(
        **_common(inner, encoded.tokens, encoded.inputs["input_ids"]),
        target=f"the {what} “{name}”",
        fixed=_special(encoded.tokens) | {row},
        readout={row: 1.0},
        run=lambda ids: _chosen(logits(ids), piece),
        sites=_stack(inner, encoded),
    )


def _chosen(logits: Float[Tensor, "batch choice"], choice: int) -> Outcome:
    return Outcome(logits[:, choice], logits.log_softmax(dim=-1)[:, choice])


def _one_stack(model: AttentionModel, what: str) -> TracedModel:
    if not isinstance(model, TracedModel) or model.card.architecture == "encoder-decoder":
        raise no_such_output(model, what)
    return model


def _outputs(inner: TracedModel, encoded: Encoded, ids: Int[Tensor, "batch token"]) -> Any:
    return _run(inner, inner.model, encoded, ids)


def _states(inner: TracedModel, encoded: Encoded, ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch token state"]:
    return _run(inner, inner.body, encoded, ids)[0]


def _run(inner: TracedModel, part: Any, encoded: Encoded, ids: Int[Tensor, "batch token"]) -> Any:
    others = {name: value.expand(len(ids), -1) for name, value in inner.tensors(encoded).items() if name != "input_ids"}
    with inner.computing():
        return part(input_ids=ids, **others)


def _ids(inner: TracedModel, encoded: Encoded) -> Int[Tensor, " token"]:
    return inner.tensors(encoded)["input_ids"][0]


def _common(inner: TracedModel, tokens: Any, ids: Any) -> dict[str, Any]:
    return {
        "tokens": tuple(tokens),
        "ids": torch.tensor(ids, device=inner.model.device),
        "embedding": inner.model.get_input_embeddings().weight,
        "baseline_id": baseline_id(inner.tokenizer),
        "n_positions": len(tokens),
    }


def baseline_id(tokenizer: Any) -> int:
    """What a model of the hub reads in the place of a word that is taken away: its mask, or what is nearest to one."""
    known = (tokenizer.mask_token_id, tokenizer.unk_token_id, tokenizer.pad_token_id, tokenizer.eos_token_id)
    return next((index for index in known if index is not None), 0)


def _stack(inner: TracedModel, encoded: Encoded) -> list[AttentionSite]:
    whole = slice(0, len(encoded))
    kind = "decoder" if inner.card.architecture == "decoder" else "encoder"
    return [AttentionSite(whole, whole, kind, layer) for layer in range(inner.card.n_layers)]


def _special(tokens: Any) -> frozenset[int]:
    return frozenset(place for place, token in enumerate(tokens) if token.special)
