"""The answer to a question, as something to ask about: its span's start and end logit."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.attribution.bind import no_such_output
from attnviz.core.trace import Prompt, Token
from attnviz.models.answer.base import text_of
from attnviz.models.answer.decoding import SpanDecoding
from attnviz.models.answer.own import AnswerModel
from attnviz.models.base import AttentionModel
from attnviz.models.bound_target import AttentionSite, BoundTarget, Outcome
from attnviz.models.hub.question_answering import HubAnswerer
from attnviz.text.spans import Span, best_spans
from attnviz.text.tokens import Encoded


def answer(model: AttentionModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind a model to the best span that it finds in the passage.

    Raises:
        ModelError: it was not trained to answer.
        PromptError: it cannot read the question or the passage.
    """
    if isinstance(model, AnswerModel):
        return own_answer(model, prompt)
    if isinstance(model, HubAnswerer):
        return hub_answer(model, prompt)
    raise no_such_output(model, "answer")


def own_answer(model: AnswerModel, prompt: Prompt) -> BoundTarget:
    """Bind one of our answerers to the best span that it finds.

    Raises:
        PromptError: it cannot read the question or the passage.
    """
    pair, window, span = model.located(prompt)
    read, n_asking = pair.cut(window), model.n_asking(pair)
    answer = slice(pair.first + span.start - window.start, pair.first + span.end - window.start + 1)

    def run(ids: Int[Tensor, "batch token"]) -> Outcome:
        visible = torch.ones_like(ids, dtype=torch.bool)
        question, context = slice(n_asking), slice(n_asking, None)
        start, end, _ = model.answerer(
            ids[:, question], ids[:, context], question_visible=visible[:, question], context_visible=visible[:, context]
        )
        place = Span(answer.start - n_asking, answer.stop - 1 - n_asking, 0.0)
        return span_outcome(start, end, place, model.decoding, torch.zeros_like(start[:, 0]))

    def says(ids: Int[Tensor, "one token"]) -> str:
        visible = torch.ones_like(ids, dtype=torch.bool)
        start, end, _ = model.answerer(
            ids[:, :n_asking], ids[:, n_asking:],
            question_visible=visible[:, :n_asking], context_visible=visible[:, n_asking:],
        )  # fmt: skip
        offset = pair.first - n_asking
        begins, ends = (each[0, offset : offset + window.size].cpu().numpy() for each in (start, end))
        span = best_spans(begins, ends, limit=model.decoding.limit, n=1, length_penalty=model.decoding.length_penalty)[0]
        return text_of(span, prompt.text, pair.passage[window.start : window.stop])

    block = model.answerer.config
    return BoundTarget(
        output_text=says,
        **_common(read, answer, prompt.text, model.encoder, run),
        sites=_places(len(read), n_asking, model.card.n_layers, block.n_layers, joint=block.joint, mixing=block.mixing),
    )


def hub_answer(model: HubAnswerer, prompt: Prompt) -> BoundTarget:
    """Bind an answerer of the hub to the best span that it finds.

    Raises:
        PromptError: it cannot read the question or the passage.
    """
    pair, window, span = model.located(prompt)
    read = pair.cut(window)
    answer = slice(pair.first + span.start - window.start, pair.first + span.end - window.start + 1)
    inputs = {name: ids for name, ids in model.tensors(read).items() if name != "input_ids"}
    mark = read.inputs["input_ids"].index(model.tokenizer.cls_token_id)
    passage = slice(pair.first, pair.first + window.size)

    def run(ids: Int[Tensor, "batch token"]) -> Outcome:
        others = {name: value.expand(len(ids), -1) for name, value in inputs.items()}
        with model.computing():
            outputs = model.model(input_ids=ids, **others)
        start, end = outputs.start_logits, outputs.end_logits
        place = Span(answer.start - passage.start, answer.stop - 1 - passage.start, 0.0)
        nothing = start[:, mark] + end[:, mark]
        return span_outcome(start[:, passage], end[:, passage], place, SpanDecoding(), nothing)

    size = slice(0, len(read))
    return BoundTarget(
        **_common(read, answer, prompt.text, model, run),
        sites=[AttentionSite(size, size, "encoder", layer) for layer in range(model.card.n_layers)],
    )


def span_outcome(
    start: Float[Tensor, "batch token"],
    end: Float[Tensor, "batch token"],
    span: Span,
    decoding: SpanDecoding,
    nothing: Float[Tensor, " batch"],
) -> Outcome:
    """Score a span by its two logits, and as ln p among all legal spans and no answer at all."""
    score = start[:, span.start] + end[:, span.end]
    others = [nothing]
    for length in range(min(decoding.limit, start.shape[1] - 1) + 1):
        pairs = start[:, : start.shape[1] - length] + end[:, length:] - decoding.length_penalty * length
        others.append(pairs.logsumexp(dim=1))
    own = score - decoding.length_penalty * (span.end - span.start)
    return Outcome(score, own - torch.stack(others, dim=1).logsumexp(dim=1))


def _common(read: Encoded, answer: slice, text: str, encoder: Any, run: Any) -> dict[str, Any]:
    special = {place for place, token in enumerate(read.tokens) if token.special}
    inside = range(answer.start, answer.stop)
    return {
        "target": f"the answer “{_words(read.tokens[answer], text)}”",
        "tokens": read.tokens,
        "ids": torch.tensor(read.inputs["input_ids"], device=encoder.model.device),
        "embedding": encoder.model.get_input_embeddings().weight,
        "baseline_id": encoder.tokenizer.mask_token_id,
        "fixed": frozenset(special | set(inside)),
        # The start logit is read from its first token, the end logit from its last.
        "readout": {answer.start: 0.5, answer.stop - 1: 0.5} if len(inside) > 1 else {answer.start: 1.0},
        "run": run,
        "n_positions": len(read),
    }


def _words(tokens: Sequence[Token], text: str) -> str:
    return text[tokens[0].start : tokens[-1].end]


def _places(n_tokens: int, n_asking: int, depth: int, n_blocks: int, *, joint: bool, mixing: bool) -> list[AttentionSite]:
    """List the attentions of our answerers in the order of their pass."""
    question, context, whole = slice(0, n_asking), slice(n_asking, n_tokens), slice(0, n_tokens)
    sides = (whole,) if joint else (question, context)
    places = [AttentionSite(side, side, "encoder", layer) for side in sides for layer in range(depth)]
    for layer in range(n_blocks):
        places.append(AttentionSite(context, question, "cross", layer))
        if mixing:
            places.append(AttentionSite(context, context, "mixing", layer))
    return places
