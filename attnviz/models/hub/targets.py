"""What a model of one stack makes of a text, as targets: how alike two texts are, the next or masked token, a label."""

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid

from attnviz.core.errors import ModelError, PromptError
from attnviz.core.trace import Prompt
from attnviz.models.hub.hub_model import TracedModel, check_pieces, n_pieces, own_piece
from attnviz.models.targets import AttentionSite, BoundTarget, Outcome, no_such_output
from attnviz.text.tokens import Encoded

# A likeness of nothing or less has no logarithm.
LEAST = 1e-6


def similarity(model: TracedModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind an encoder to the cosine between the mean states of two texts, each read on its own; p of it is the cosine itself.

    Words are taken from the first text alone: two texts that lose all their words become the same.

    Raises:
        ModelError: this is no encoder.
        PromptError: there is no second text.
    """
    if model.card.architecture != "encoder":
        raise no_such_output(model.card.name, "likeness of two texts")
    if not prompt.pair:
        raise PromptError("There is no second text to compare with: type one.")
    sides = [model.encode([text]) for text in (prompt.text, prompt.pair)]
    tokens = (*sides[0].tokens, *(replace(token, segment=1) for token in sides[1].tokens))
    first = len(sides[0])

    def run(ids: Int[Tensor, "batch token"]) -> Outcome:
        parts = [ids[:, :first], ids[:, first:]]
        one, other = (_states(model, side, part).mean(dim=1) for side, part in zip(sides, parts, strict=True))
        # Lengths by way of their squares, so that what holds them fixed can see them.
        lengths = ((one * one).sum(dim=1) * (other * other).sum(dim=1)).rsqrt()
        cosine = (one * other).sum(dim=1) * lengths
        return Outcome(cosine, cosine.clamp(min=LEAST).log())

    readout = {
        at: 0.5 / len(side) for side, start in zip(sides, (0, first), strict=True) for at in range(start, start + len(side))
    }
    ranges = (slice(0, first), slice(first, len(tokens)))
    return BoundTarget(
        **_common(model, tokens, [index for side in sides for index in side.inputs["input_ids"]]),
        target="how alike the two texts are",
        fixed=_special(tokens) | frozenset(range(first, len(tokens))),
        readout=readout,
        run=run,
        sites=[AttentionSite(side, side, "encoder", layer) for side in ranges for layer in model.layers("encoder")],
    )


def next_token(model: TracedModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind a decoder to the token that it finds likeliest to come next.

    Raises:
        ModelError: the model names no next token.
    """
    if model.card.architecture != "decoder":
        raise no_such_output(model.card.name, "next token")
    encoded = model.encode([prompt.text])
    return _vocabulary(model, encoded, len(encoded) - 1, "next token")


def masked_token(model: TracedModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind an encoder to the token that it finds likeliest behind the text's mask.

    Raises:
        ModelError: the model names no masked token, or does not have the tokenizer's mask.
        PromptError: nothing in the text is masked.
    """
    mask = model.tokenizer.mask_token_id
    if mask is None or model.model.get_output_embeddings() is None:
        raise no_such_output(model.card.name, "masked token")
    check_pieces(n_pieces(model.model), [mask])
    encoded = model.encode([prompt.text])
    if mask not in encoded.inputs["input_ids"]:
        raise PromptError(f"Nothing in this text is masked: put {model.tokenizer.mask_token} in the place of a word.")
    return _vocabulary(model, encoded, encoded.inputs["input_ids"].index(mask), "masked token")


def label(model: TracedModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind a classifier to a label, by default the likeliest.

    Raises:
        ModelError: the model gives no labels, or not so many.
    """
    if not has_labels(model):
        raise no_such_output(model.card.name, "label")
    encoded = model.encode([prompt.text] + ([prompt.pair] if prompt.pair else []))

    def logits(ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch label"]:
        return _outputs(model, encoded, ids).logits

    with torch.no_grad():
        given = logits(_ids(model, encoded)[None])[0]
    if place is not None and place >= len(given):
        raise ModelError(f"{model.card.name} gives {len(given)} labels, 0 to {len(given) - 1}; there is no label {place}.")
    chosen = int(given.argmax()) if place is None else place
    name = model.model.config.id2label.get(chosen, str(chosen))
    return BoundTarget(
        **_common(model, encoded.tokens, encoded.inputs["input_ids"]),
        target=f"the label “{name}”",
        fixed=_special(encoded.tokens),
        readout={0 if model.card.architecture == "encoder" else len(encoded) - 1: 1.0},
        run=lambda ids: Outcome((given := logits(ids))[:, chosen], label_log_probabilities(model, given)[:, chosen]),
        output_text=lambda ids: label_names(model)[int(logits(ids)[0].argmax())],
        sites=_stack(model, encoded),
    )


def label_log_probabilities(model: TracedModel, logits: Float[Tensor, "*batch label"]) -> Float[Tensor, "*batch label"]:
    """Compute ln p of each label: of one of several, or where there is one alone, or any may hold, of each by itself."""
    if logits.shape[-1] == 1 or model.model.config.problem_type == "multi_label_classification":
        return logsigmoid(logits)
    return logits.log_softmax(dim=-1)


def has_labels(model: TracedModel) -> bool:
    """Whether a layer on top gives labels to a text."""
    return "ForSequenceClassification" in type(model.model).__name__


def label_names(model: TracedModel) -> list[str]:
    """Name the labels of a classifier."""
    names = model.model.config.id2label
    return [str(names.get(place, place)) for place in range(len(names))]


def whole_text(model: TracedModel, encoded: Encoded) -> BoundTarget:
    """Bind an encoder or decoder to a text alone, whatever its output: the score is the mean of its states."""

    def run(ids: Int[Tensor, "batch token"]) -> Outcome:
        mean = _states(model, encoded, ids).mean(dim=(1, 2))
        return Outcome(mean, mean)

    return BoundTarget(
        **_common(model, encoded.tokens, encoded.inputs["input_ids"]),
        target="the text",
        fixed=_special(encoded.tokens),
        readout={at: 1 / len(encoded) for at in range(len(encoded))},
        run=run,
        sites=_stack(model, encoded),
    )


def _vocabulary(model: TracedModel, encoded: Encoded, row: int, what: str) -> BoundTarget:
    """Bind a model to the likeliest piece at one of its positions."""
    head, table = model.model.get_output_embeddings(), model.model.get_input_embeddings()
    if head is None and not getattr(model.model.config.get_text_config(), "tie_word_embeddings", False):
        raise ModelError(f"{model.card.name} was loaded without the layer that names its {what}; wrap the model that has it.")

    def logits(ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch vocabulary"]:
        if head is not None:
            return _outputs(model, encoded, ids).logits[:, row]
        # Of a model of which only the stack is here, the words that it reads are the words that it names.
        return _states(model, encoded, ids)[:, row] @ table.weight.T

    with torch.no_grad():
        piece = int(logits(_ids(model, encoded)[None])[0].argmax())

    def name(piece: int) -> str:
        with model.tokenizing():
            return model.tokenizer.decode([piece]).strip()

    return BoundTarget(
        **_common(model, encoded.tokens, encoded.inputs["input_ids"]),
        target=f"the {what} “{name(piece)}”",
        fixed=_special(encoded.tokens) | {row},
        readout={row: 1.0},
        run=lambda ids: _chosen(logits(ids), piece),
        output_text=lambda ids: name(int(logits(ids)[0].argmax())),
        sites=_stack(model, encoded),
    )


def _chosen(logits: Float[Tensor, "batch choice"], choice: int) -> Outcome:
    return Outcome(logits[:, choice], logits.log_softmax(dim=-1)[:, choice])


def _outputs(model: TracedModel, encoded: Encoded, ids: Int[Tensor, "batch token"]) -> Any:
    return _run(model, model.model, encoded, ids)


def _states(model: TracedModel, encoded: Encoded, ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch token state"]:
    return _run(model, model.body, encoded, ids)[0]


def _run(model: TracedModel, part: Any, encoded: Encoded, ids: Int[Tensor, "batch token"]) -> Any:
    others = {name: value.expand(len(ids), -1) for name, value in model.tensors(encoded).items() if name != "input_ids"}
    with model.computing():
        return part(input_ids=ids, **others)


def _ids(model: TracedModel, encoded: Encoded) -> Int[Tensor, " token"]:
    return model.tensors(encoded)["input_ids"][0]


def _common(model: TracedModel, tokens: Any, ids: Any) -> dict[str, Any]:
    check_pieces(n_pieces(model.model), ids)
    return {
        "tokens": tuple(tokens),
        "ids": torch.tensor(ids, device=model.model.device),
        "embedding": model.model.get_input_embeddings().weight,
        "baseline_id": baseline_id(model),
        "n_positions": len(tokens),
    }


def baseline_id(model: TracedModel) -> int:
    """What a model of the hub reads in the place of a word that is taken away: its mask, or what is nearest to one."""
    known = model.tokenizer
    return own_piece(model.model, (known.mask_token_id, known.unk_token_id, known.pad_token_id, known.eos_token_id))


def _stack(model: TracedModel, encoded: Encoded) -> list[AttentionSite]:
    whole = slice(0, len(encoded))
    return [AttentionSite(whole, whole, model.kind, layer) for layer in model.layers(model.kind)]


def _special(tokens: Any) -> frozenset[int]:
    return frozenset(place for place, token in enumerate(tokens) if token.special)


BINDERS = {"similarity": similarity, "next": next_token, "masked": masked_token, "label": label}
