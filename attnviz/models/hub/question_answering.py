"""A Hugging Face encoder that was trained to find answers, as a `SpanFinder`: question and passage read as one pair.

Its layers of attention hold all that question and passage have to do with each other; the blocks between the two are told
apart by the tokens' segments: 0 is the question, 1 the passage. No answer is what the model says by pointing at its first
special token (Rajpurkar et al. 2018, arXiv:1806.03822; Devlin et al. 2019, section 4.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from attnviz.core.trace import AttentionTrace, Kind, Prompt
from attnviz.models.answer.answers import Logits
from attnviz.models.answer.decoding import SpanDecoding
from attnviz.models.answer.passage_search import QuestionAndPassage
from attnviz.models.answer.span_finder import ANSWER, NO_ANSWER, SpanFinder, span_facts, span_outcome
from attnviz.models.batched_edits import Scorer
from attnviz.models.hub.single_stack import StackModel
from attnviz.models.targets import AttentionSite, BoundTarget, Outcome, Target, no_such_output
from attnviz.nn.attention import Attended
from attnviz.text.spans import Window


@dataclass(frozen=True, eq=False)
class HubAnswerer(SpanFinder, StackModel):
    """An encoder with a start and an end logit for every token."""

    @property
    def can_decline(self) -> bool:
        """Whether its tokenizer has the special token that means no answer."""
        return self.tokenizer.cls_token_id is not None

    def span_decoding(self) -> SpanDecoding:
        """Say how logits become an answer, in windows of what the model reads at once."""
        return SpanDecoding(window=min(SpanDecoding().window, self.card.max_tokens))

    def _trace(self, prompt: Prompt) -> AttentionTrace:
        return self.answers(prompt).trace if prompt.question else super()._trace(prompt)

    def attended(self, prompt: Prompt, pieces: Sequence[int] = ()) -> dict[Kind, tuple[Attended, ...]]:
        """Return what the attention reads, as of any encoder; of a question and a passage, over the window of `trace`."""
        if not prompt.question:
            return super().attended(prompt)
        located = self.located(prompt)
        return {"encoder": self.attended_in(located.pair.cut(located.window))}

    def scorer(self, prompt: Prompt) -> Scorer:
        """Prepare to score the best span; of a text without a question, its last states."""
        self.edit_points()
        return self.span_scorer(prompt) if prompt.question else super().scorer(prompt)

    def bind_target(self, prompt: Prompt, target: Target) -> BoundTarget:
        """Bind the model to the best span that it finds, to no answer, or as any encoder."""
        return (
            self._bind_answer(prompt, target.kind)
            if target.kind in (ANSWER, NO_ANSWER)
            else super().bind_target(prompt, target)
        )

    def bind_trace(self, prompt: Prompt, pieces: Sequence[int] = ()) -> BoundTarget:
        """Bind the model to the window of `trace`, or to a text alone."""
        return self._bind_answer(prompt) if prompt.question else super().bind_trace(prompt)

    def _bind_answer(self, prompt: Prompt, kind: str = ANSWER) -> BoundTarget:
        located = self.located(prompt, kind)
        pair, read = located.pair, located.pair.cut(located.window)
        inputs = {name: ids for name, ids in self.tensors(read).items() if name != "input_ids"}
        if (mark := self._mark(read.inputs["input_ids"])) is None and kind == NO_ANSWER:
            raise no_such_output(self.card.name, "answer that the passage does not say")
        passage = slice(pair.first, pair.first + located.window.size)

        def run(ids: Int[Tensor, "batch token"]) -> Outcome:
            others = {name: value.expand(len(ids), -1) for name, value in inputs.items()}
            with self.computing():
                outputs = self.model(input_ids=ids, **others)
            start, end = outputs.start_logits, outputs.end_logits
            nothing = torch.full_like(start[:, 0], -torch.inf) if mark is None else start[:, mark] + end[:, mark]
            return span_outcome(start[:, passage], end[:, passage], located.span, SpanDecoding(), nothing)

        facts = span_facts(located, prompt.text, self, run)
        if located.span is None and mark is not None:
            # No answer has two logits of its own, which are read from the mark.
            facts["readout"] = {mark: 0.5} | {place: weight / 2 for place, weight in facts["readout"].items()}
        size = slice(0, len(read))
        return BoundTarget(**facts, sites=[AttentionSite(size, size, "encoder", layer) for layer in self.layers("encoder")])

    def _pair(self, question: str, passage: str) -> QuestionAndPassage:
        return QuestionAndPassage.of(self.encode([question, passage], whole=True), self.card.name)

    def _window_trace(self, prompt: Prompt, pair: QuestionAndPassage, window: Window, output: str) -> AttentionTrace:
        read = pair.cut(window)
        with self.computing():
            _, stacks = self.reader.read(self.tensors(read))
        return self._traced(prompt, {"encoder": stacks["encoder"]}, {"encoder": (read.tokens, read.tokens)}, read, output)

    def _batch(self, pair: QuestionAndPassage, windows: Sequence[Window]) -> list[Logits]:
        cut = [self.tensors(pair.cut(window)) for window in windows]
        with self.computing(), torch.inference_mode():
            outputs = self.model(**{name: torch.cat([each[name] for each in cut]) for name in cut[0]})
        return [self._window(pair, *row) for row in zip(outputs.start_logits, outputs.end_logits, strict=True)]

    def _window(self, pair: QuestionAndPassage, start: Tensor, end: Tensor) -> Logits:
        begins, ends = (logits.float().cpu().numpy() for logits in (start, end))
        stop = len(begins) - (len(pair.whole) - pair.stop)
        place = self._mark(pair.whole.inputs["input_ids"])
        if place is not None and place >= pair.stop:
            place -= len(pair.whole) - len(begins)
        nothing = -np.inf if place is None else float(begins[place] + ends[place])
        return Logits(begins[pair.first : stop], ends[pair.first : stop], nothing)

    def _mark(self, ids: Sequence[int]) -> int | None:
        """Find the token whose logits are those of no answer; None: the model cannot say that there is none."""
        return ids.index(self.tokenizer.cls_token_id) if self.can_decline and self.tokenizer.cls_token_id in ids else None
