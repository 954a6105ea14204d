"""How much of a model's output is left under edits: one number for each of many edits, computed as one batch.

models that write, and that answer   ln p of the output that they gave without edits
the summarizer that attnviz trained  minus how far the attention that its words receive has turned, 1 - cosine
all others                           minus how far their last states have turned, the mean over tokens of 1 - cosine
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from attnviz.core.cancellation import cancellation_point
from attnviz.core.edits import Edits
from attnviz.core.errors import EditError
from attnviz.core.shares import Unit
from attnviz.core.trace import Prompt
from attnviz.models.answer.base import Logits
from attnviz.models.answer.decoding import SpanDecoding
from attnviz.models.answer.own import AnswerModel
from attnviz.models.base import AttentionModel
from attnviz.models.edit.points import intervention, points_of
from attnviz.models.hub.encoder import TracedModel
from attnviz.models.hub.question_answering import HubAnswerer
from attnviz.models.hub.seq2seq import WritingModel
from attnviz.models.hub.widening import is_ready, widening
from attnviz.models.summarize.own import SummaryModel, sentence_numbers
from attnviz.models.translate.own import TranslationModel
from attnviz.nn.decoding import START
from attnviz.nn.edit.edited_pass import intervening
from attnviz.nn.summarizer import received
from attnviz.text.sentences import Sentences
from attnviz.text.spans import pair_logits

# Tokens that are computed at once, of all rows together: more need more memory, and are no faster.
TOKENS = 2048
Forward = Callable[[int], Float[Tensor, " row"]]


@dataclass(frozen=True, eq=False)
class Scorer:
    """What is left of one output, to be asked under edits.

    unit      of the score: "nats" of ln p, or "cosine"
    n_pieces  of the output, over which ln p is the sum
    forward   the score of each of so many rows of one batch
    n_tokens  that one row takes
    shares    whether rows share the layers below the first that is edited: `forward` is called where one row becomes many
    """

    model: AttentionModel
    unit: Unit
    n_pieces: int
    forward: Forward
    n_tokens: int
    shares: bool = False

    def scores(self, several: Sequence[Edits], report: Callable[[float], None] = lambda _: None) -> Float[np.ndarray, " edits"]:
        """Compute the score under each of several edits; a cancellation point stands between batches.

        `report` hears how much is done, 0 to 1.

        Raises:
            EditError: the model does not have what is edited, or an edit patches from another text.
        """
        if any(edits.texts for edits in several):
            raise EditError("Heads that are patched from another text are not scored together: trace them one by one.")
        points, scores, done = points_of(self.model), np.zeros(len(several)), 0
        for layer, places in self._batches(several):
            cancellation_point()
            report(done / len(several))
            rows = [several[place] for place in places]
            with intervening(intervention(self.model, points, rows)), widening(layer, len(rows)), torch.inference_mode():
                scores[places] = self.forward(len(rows)).double().cpu().numpy()
            done += len(rows)
        return scores

    def _batches(self, several: Sequence[Edits]) -> Iterator[tuple[int, list[int]]]:
        """Lay together what is computed at once, and the layer up to which it is alike."""
        groups: dict[int, list[int]] = {}
        for place, edits in enumerate(several):
            first = min((edit.layer or 0 for edit in edits.each), default=self.model.card.n_layers)
            groups.setdefault(first if self.shares else 0, []).append(place)
        size = max(1, TOKENS // self.n_tokens)
        for layer, places in groups.items():
            for start in range(0, len(places), size):
                yield layer, places[start : start + size]


def scorer_for(model: AttentionModel, prompt: Prompt) -> Scorer:
    """Prepare to score what a model makes of a prompt; of one that writes, `prompt.target` or what it writes by itself.

    Raises:
        PromptError: the model cannot read the prompt.
        EditError: the model cannot be edited, or its output is no number.
    """
    points_of(model)
    if isinstance(model, TranslationModel):
        return _translation(model, prompt)
    if isinstance(model, WritingModel):
        return _writing(model, prompt)
    if isinstance(model, AnswerModel | HubAnswerer) and prompt.question:
        return _answering(model, prompt)
    if isinstance(model, AnswerModel):
        return _states(model, model.encoder, prompt)
    if isinstance(model, SummaryModel):
        return _choosing(model, prompt)
    if isinstance(model, TracedModel):
        return _states(model, model, prompt)
    raise EditError(f"What {model.card.name} says is no number that edits could change: choose minilm, or a model that writes.")


def _translation(model: TranslationModel, prompt: Prompt) -> Scorer:
    read, _, _ = model.read(prompt.text)
    pieces = model.forced(prompt.target) if prompt.target else model.translate(prompt.text)[0].pieces
    inputs, labels = (torch.tensor([ids], device=read.device) for ids in ((START, *pieces[:-1]), pieces))

    def forward(n_rows: int) -> Tensor:
        scores = model.model(read.expand(n_rows, -1), inputs.expand(n_rows, -1))[0]
        return _log_probability(scores, labels)

    return Scorer(model, "nats", len(pieces), forward, read.shape[1] + len(pieces))


def _writing(model: WritingModel, prompt: Prompt) -> Scorer:
    source = model.tensors(model.encode([prompt.text]))
    pieces = model.pieces_of(prompt)
    read, labels = (torch.tensor([ids], device=model.model.device) for ids in ((model._start, *pieces[:-1]), pieces))

    def forward(n_rows: int) -> Tensor:
        inputs = {name: ids.expand(n_rows, -1) for name, ids in source.items()}
        with model.computing():
            scores = model.model(**inputs, decoder_input_ids=read.expand(n_rows, -1), use_cache=False).logits
        return _log_probability(scores, labels)

    return Scorer(model, "nats", len(pieces), forward, source["input_ids"].shape[1] + len(pieces))


def _log_probability(scores: Tensor, labels: Tensor) -> Tensor:
    likely = F.cross_entropy(scores.float().transpose(1, 2), labels.expand(len(scores), -1), reduction="none")
    return -likely.sum(dim=1)


def _states(model: AttentionModel, encoder: TracedModel, prompt: Prompt) -> Scorer:
    source = encoder.tensors(encoder._source(prompt))
    shares = is_ready(encoder.body)
    with encoder.computing(), torch.inference_mode():
        before = _last_states(encoder, source)

    def forward(n_rows: int) -> Tensor:
        inputs = source if shares else {name: ids.expand(n_rows, -1) for name, ids in source.items()}
        with encoder.computing():
            after = _last_states(encoder, inputs)
        return -(1 - F.cosine_similarity(before, after, dim=-1)).mean(dim=1)

    return Scorer(model, "cosine", 1, forward, source["input_ids"].shape[1], shares)


def _choosing(model: SummaryModel, prompt: Prompt) -> Scorer:
    """How far the attention that each word receives has turned, in the layer whose received attention chooses words."""
    encoded = model.encoder.encode([prompt.text])
    source = model.encoder.tensors(encoded)
    numbers = sentence_numbers(encoded.tokens, Sentences.of(prompt.text)).to(source["input_ids"].device)[None]
    own = (model.card.selects or (model.card.n_layers - 1,))[0] - model.encoder.card.n_layers
    words = torch.tensor([not token.special for token in encoded.tokens], device=numbers.device)

    def shares(n_rows: int) -> Float[Tensor, "row word"]:
        with model.encoder.computing():
            states = _last_states(model.encoder, {name: ids.expand(n_rows, -1) for name, ids in source.items()})
        weights = model.summarizer(states, numbers.expand(n_rows, -1))[1][own]
        return received(weights, torch.ones_like(numbers, dtype=torch.bool).expand(n_rows, -1))[:, words]

    with torch.inference_mode():
        before = shares(1)
    return Scorer(model, "cosine", 1, lambda n_rows: F.cosine_similarity(before, shares(n_rows), dim=-1) - 1, numbers.shape[1])


def _last_states(encoder: TracedModel, inputs: dict[str, Tensor]) -> Tensor:
    options = {"use_cache": False} if "use_cache" in encoder.accepts else {}
    outputs: Any = encoder.body(**inputs, **options, output_hidden_states=True)
    return outputs.hidden_states[-1].float()


def _answering(model: AnswerModel | HubAnswerer, prompt: Prompt) -> Scorer:
    """ln p of the span that the model finds best without edits, among all spans of the window that shows it, and no answer."""
    pair, _, result = model._find(prompt, 1)
    window, span = result.windows[result.best], result.spans[0]
    decoding = model.decoding if isinstance(model, AnswerModel) else SpanDecoding()
    start, length = span.start - window.start, span.end - span.start

    def forward(n_rows: int) -> Tensor:
        return torch.tensor([_of_span(logits) for logits in model.row_logits(pair, window, n_rows)], dtype=torch.float64)

    def _of_span(logits: Logits) -> float:
        pairs = pair_logits(logits.start, logits.end, limit=decoding.limit, length_penalty=decoding.length_penalty)
        everything = np.append(pairs[np.isfinite(pairs)], logits.nothing)
        top = float(everything.max())
        return float(pairs[start, length]) - top - float(np.log(np.exp(everything - top).sum()))

    return Scorer(model, "nats", 1, forward, len(pair.cut(window)))
