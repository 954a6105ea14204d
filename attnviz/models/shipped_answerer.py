"""Our own answerers: the embedded encoder, changed by training, and blocks of cross-attention between its two texts.

Their trace has two maps. `cross` are the blocks of `attnviz.nn.encoder`, from the passage's tokens to the question's.
`encoder` is the encoder below: both texts as one pair, or each on its own, and then neither may look at the other.

A folder holds only what training has changed: the blocks of cross-attention, and those of the encoder's weights that are no
longer the embedded encoder's, under the names that they have in `attnviz.nn.encoder.Answerer`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import AttentionMap, AttentionTrace, Kind, Prompt, QueryKeyWeights
from attnviz.core.weights import EditedHeads, QueryKeyLayer
from attnviz.models import device
from attnviz.models.base import AttentionModel, EncoderReading, ModelCard, Progress
from attnviz.models.edit import EditPoints, Scorer, edited, own_layers
from attnviz.models.hub.minilm import minilm
from attnviz.models.hub.single_stack import StackModel
from attnviz.models.question_answering import ANSWER, QuestionAndPassage, SpanFinder, span_facts, span_outcome
from attnviz.models.shipped_models import SavedModel
from attnviz.models.span_decoding import Logits, SpanDecoding, best_spans, marginals, pair_logits, text_of
from attnviz.models.targets import AttentionSite, BoundTarget, Outcome
from attnviz.nn import apply_edits
from attnviz.nn.attention import Attended
from attnviz.nn.encoder import Answerer, AnswererConfig, BlockConfig
from attnviz.text.spans import DECLINED, Span, Window
from attnviz.text.tokens import Encoded


@dataclass(frozen=True, eq=False)
class AnswerModel(SpanFinder):
    """An encoder whose weights are this model's own, and the answerer that stands on it."""

    card: ModelCard
    encoder: StackModel
    answerer: Answerer
    decoding: SpanDecoding
    can_read = True

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Trace the window of the passage that holds the best answer; of a text alone, the encoder; with the edits."""
        prompt = self.prompt(prompt)
        with edited(self, prompt, Edits.of(edits)):
            if prompt.question:
                return self.answers(prompt).trace
            return replace(self.encoder.trace(prompt), model=self.card.name)

    def edit_points(self) -> EditPoints:
        """Say which attentions there are to edit."""
        blocks: Any = self.answerer.blocks
        size = len(blocks), self.answerer.config.block.n_heads
        return EditPoints(
            {"encoder": (self.card.n_layers, self.card.n_heads), "cross": size},
            {id(block.attention): "cross" for block in blocks},
        )

    def span_decoding(self) -> SpanDecoding:
        """Say how logits become an answer."""
        return self.decoding

    def scorer(self, prompt: Prompt) -> Scorer:
        """Prepare to score the best span; of a text without a question, the encoder's last states."""
        return self.span_scorer(prompt) if prompt.question else replace(self.encoder.scorer(prompt), model=self)

    def bind_trace(self, prompt: Prompt, pieces: Sequence[int] = ()) -> BoundTarget:
        """Bind the model to the window of `trace`; of a text alone, the encoder."""
        return self._bind_answer(prompt) if prompt.question else self.encoder.bind_trace(prompt)

    def reading(self, prompt: Prompt) -> EncoderReading:
        """Read a text with the encoder alone."""
        return self.encoder.reading(prompt)

    def trace_all(self, texts: Sequence[str]) -> Iterator[tuple[int, AttentionTrace]]:
        """Trace texts with the encoder alone."""
        return self.encoder.trace_all(texts)

    def untrained(self, seed: int) -> AttentionModel | None:
        """Make the encoder with fresh random weights."""
        return self.encoder.untrained(seed)

    def _bind_answer(self, prompt: Prompt, kind: str = ANSWER) -> BoundTarget:
        located = self.located(prompt, kind)
        pair, window, span = located.pair, located.window, located.span
        n_question = self.n_question(pair)
        # The passage's side begins with special tokens of its own where the texts are apart.
        first = pair.first - n_question
        place = span and Span(first + span.start, first + span.end, span.probability)

        def run(ids: Int[Tensor, "batch token"]) -> Outcome:
            start, end = self._start_and_end(ids, n_question)
            return span_outcome(start, end, place, self.decoding, torch.zeros_like(start[:, 0]))

        def output_text(ids: Int[Tensor, "one token"]) -> str:
            start, end = (each[0, first : first + window.size].cpu().numpy() for each in self._start_and_end(ids, n_question))
            limit, penalty = self.decoding.limit, self.decoding.length_penalty
            (best,) = best_spans(start, end, limit=limit, n=1, length_penalty=penalty, nothing=0.0)
            _, _, nothing = marginals(pair_logits(start, end, limit=limit, length_penalty=penalty), 0.0)
            if self.decoding.declines(nothing, best.probability):
                return DECLINED
            part = slice(first, first + window.size)
            masked = (ids[0, n_question:][part] != facts["ids"][n_question:][part]).tolist()
            return text_of(best, prompt.text, pair.passage[window.start : window.stop], masked)

        facts = span_facts(located, prompt.text, self.encoder, run)
        return BoundTarget(output_text=output_text, **facts, sites=self._sites(facts["n_positions"], n_question))

    def _sites(self, n_tokens: int, n_question: int) -> list[AttentionSite]:
        """List the attentions in the order of a pass."""
        question, context, whole = slice(0, n_question), slice(n_question, n_tokens), slice(0, n_tokens)
        config = self.answerer.config
        sides = (whole,) if config.joint else (question, context)
        sites = [AttentionSite(side, side, "encoder", layer) for side in sides for layer in range(self.card.n_layers)]
        for layer in range(config.n_layers):
            sites.append(AttentionSite(context, question, "cross", layer))
            if config.mixing:
                sites.append(AttentionSite(context, context, "mixing", layer))
        return sites

    def _pair(self, question: str, passage: str) -> QuestionAndPassage:
        """Both texts as one, [CLS] question [SEP] passage [SEP]; or one behind the other, each with marks of its own."""
        if self.answerer.config.joint:
            return QuestionAndPassage.of(self.encoder.encode([question, passage], whole=True), self.card.name)
        first, second = (self.encoder.encode([text], whole=True) for text in (question, passage))
        inputs = {name: [*values, *second.inputs[name]] for name, values in first.inputs.items()}
        tokens = (*first.tokens, *(replace(token, segment=1) for token in second.tokens))
        return QuestionAndPassage.of(Encoded(inputs, tokens, (None, None)), self.card.name)

    def n_question(self, pair: QuestionAndPassage) -> int:
        """Count the tokens of the question's side; a passage that is read on its own begins with a mark."""
        return pair.first if self.answerer.config.joint else pair.first - 1

    def _batch(self, pair: QuestionAndPassage, windows: Sequence[Window]) -> list[Logits]:
        n_question, ids = self.n_question(pair), self._ids([pair.cut(window) for window in windows])
        if (edits := apply_edits.running()) and not self.answerer.config.joint:
            edits.shifts = (0, n_question)
        with device.own_types(), torch.inference_mode():
            start, end = self._start_and_end(ids, n_question)
        part = slice(pair.first - n_question, pair.first - n_question + windows[0].size)
        rows = zip(start[:, part].float().cpu().numpy(), end[:, part].float().cpu().numpy(), strict=True)
        return [Logits(begins, ends) for begins, ends in rows]

    def _start_and_end(
        self, ids: Int[Tensor, "batch token"], n_question: int
    ) -> tuple[Float[Tensor, "batch context"], Float[Tensor, "batch context"]]:
        """Compute the logits of the passage's side: a question of so many tokens, and what comes after it."""
        visible = torch.ones_like(ids, dtype=torch.bool)
        question, context = slice(n_question), slice(n_question, None)
        start, end, _ = self.answerer(
            ids[:, question], ids[:, context], question_visible=visible[:, question], context_visible=visible[:, context]
        )
        return start, end

    def _ids(self, read: Sequence[Encoded]) -> Int[Tensor, "window token"]:
        return torch.tensor([each.inputs["input_ids"] for each in read], device=self.encoder.model.device)

    def attended(self, prompt: Prompt, pieces: Sequence[int] = ()) -> dict[Kind, tuple[Attended, ...]]:
        """Return what the attention of each layer reads, over the window of `trace`, by kind."""
        if not prompt.question:
            return self.encoder.attended(prompt)
        located = self.located(prompt)
        pair, window = located.pair, located.window
        question, context, _ = self._read(pair, window)
        with device.own_types(), torch.inference_mode():
            across = self.answerer.attended(question, context)
        layers = zip(*(self.encoder.attended_in(side) for side in self._sides(pair, window)), strict=True)
        return {"encoder": tuple(map(_beside, layers)), "cross": across}

    def _window_trace(self, prompt: Prompt, pair: QuestionAndPassage, window: Window, output: str) -> AttentionTrace:
        """Trace the encoder's attention over a window, and the cross-attention."""
        read, n_question = pair.cut(window), self.n_question(pair)
        question, context, layers = self._read(pair, window)
        with device.own_types(), torch.inference_mode():
            across = own_layers("cross", self.answerer.attended(question, context), first=0)
        maps = (
            AttentionMap("encoder", read.tokens, read.tokens, QueryKeyWeights(layers)),
            AttentionMap("cross", read.tokens[n_question:], read.tokens[:n_question], QueryKeyWeights(across)),
        )
        facts: dict[str, Any] = {"revision": self.card.revision, "edits": apply_edits.current()}
        return AttentionTrace(self.card.name, prompt, maps, output, **facts)

    def _sides(self, pair: QuestionAndPassage, window: Window) -> tuple[Encoded, ...]:
        """Split into what the encoder reads at a time: both texts, or each on its own."""
        read, n_question = pair.cut(window), self.n_question(pair)
        if self.answerer.config.joint:
            return (read,)
        return tuple(
            replace(read, inputs={name: ids[part] for name, ids in read.inputs.items()}, tokens=read.tokens[part])
            for part in (slice(n_question), slice(n_question, None))
        )

    def _read(
        self, pair: QuestionAndPassage, window: Window
    ) -> tuple[Float[Tensor, "one question state"], Float[Tensor, "one context state"], tuple[QueryKeyLayer, ...]]:
        """Compute the states of the question and of a window of the passage, and the encoder's layers over both."""
        states, layers = zip(*map(self.encoder.states, self._sides(pair, window)), strict=True)
        whole, n_question = torch.cat(states, dim=1), self.n_question(pair)
        return whole[:, :n_question], whole[:, n_question:], layers[0] if len(layers) == 1 else tuple(map(_apart, *layers))


def _beside(sides: Sequence[Attended]) -> Attended:
    """Join one layer's states over texts that were read each on its own."""
    states, memory = (torch.cat([getattr(side, name) for side in sides], dim=1) for name in ("states", "memory"))
    return Attended(sides[0].attention, states, memory)


def _apart(first: QueryKeyLayer, second: QueryKeyLayer) -> QueryKeyLayer:
    """Join one layer over two texts that were read each on its own, with what lies between them masked."""

    def joined(name: str) -> Any:
        return np.concatenate([getattr(first, name), getattr(second, name)], axis=1)

    n_first, n_second = first.shape[0], second.shape[0]
    own = np.repeat([0, 1], [n_first, n_second])
    value = None if first.value is None or second.value is None else joined("value")
    edited = sorted({head for side in (first, second) if side.edited for head in side.edited.heads})
    weights = [_blocks(first.weights(slice(head, head + 1))[0], second.weights(slice(head, head + 1))[0]) for head in edited]
    visible = own[:, None] == own[None, :]
    return QueryKeyLayer(
        joined("query"),
        joined("key"),
        first.scaling,
        visible=visible,
        value=value,
        edited=EditedHeads(tuple(edited), np.stack(weights)) if edited else None,
    )


def _blocks(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Put two matrices along a diagonal."""
    whole = np.zeros(tuple(np.add(first.shape, second.shape)), dtype=np.float32)
    whole[: len(first), : first.shape[1]], whole[len(first) :, first.shape[1] :] = first, second
    return whole


def answerer(saved: SavedModel, progress: Progress) -> AnswerModel:
    """Build an answerer on an encoder of its own, whose weights it changes.

    Raises:
        ValueError, KeyError, RuntimeError, …: the folder is damaged.
    """
    encoder = minilm(progress)
    model = untrained_answerer(saved.config, encoder.model)
    _overlay(model, saved.weights)
    model.to(encoder.model.device)
    about: dict[str, Any] = {**saved.about, "sources": (*saved.about["sources"], *encoder.card.sources)}
    card = replace(
        encoder.card,
        **about,
        n_layers=model.config.depth or encoder.card.n_layers,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        reads=("question", "pair"),
        languages=tuple(saved.config["card"]["languages"]),
    )
    decoding = SpanDecoding(**saved.config["decoding"])
    return AnswerModel(card, replace(encoder, card=replace(card, reads=("pair",))), model, decoding)


def untrained_answerer(config: dict[str, Any], encoder: Any) -> Answerer:
    """Build the answerer that a configuration describes, on an encoder's modules, with weights not yet loaded."""
    values = dict(config["model"])
    values |= {"block": BlockConfig(**values["block"]), "special": tuple(values["special"])}
    return Answerer(AnswererConfig(**values), encoder)


def configuration(config: AnswererConfig, decoding: SpanDecoding) -> dict[str, Any]:
    """Describe an answerer as `answerer` reads it."""
    return {"kind": "answerer", "model": asdict(config), "decoding": asdict(decoding)}


def _overlay(model: Answerer, weights: dict[str, Tensor]) -> None:
    """Lay saved weights over those that are there.

    Raises:
        ValueError: there are others than this model's, or not all of those that the encoder does not bring.
    """
    report = model.load_state_dict(weights, strict=False)
    missing = [name for name in report.missing_keys if not name.startswith("encoder.")]
    if missing or report.unexpected_keys:
        raise ValueError(f"weights do not fit: {missing} {report.unexpected_keys}")
    model.eval().requires_grad_(False)
    # New modules have whatever type is torch's default; those of the encoder keep theirs.
    for name, module in model.named_children():
        if name != "encoder":
            module.float()
