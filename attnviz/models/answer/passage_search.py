"""Questions about passages: the interface of every model that answers, ours and those of the hub.

A passage of any length is read in overlapping windows. Each token keeps the logits of the window in which it stands farthest
from an edge, and the best spans are found over the whole passage at once (`attnviz.text.spans`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.core.errors import PromptError
from attnviz.core.trace import Prompt, Token
from attnviz.models.answer.answers import Logits, SpanSearchResult, text_of
from attnviz.models.answer.decoding import SpanDecoding
from attnviz.models.edit.edit_points import check_windows
from attnviz.text.spans import Span, Window, best_spans, marginals, merged, pair_logits, windows
from attnviz.text.tokens import Encoded

# About 10,000 words: more would keep a small server busy for a minute.
MOST_CHARACTERS = 60_000
# Windows that a model reads at once: more need more memory, keep others waiting for longer, and are no faster.
BATCH = 2
# With less room than this beside the question, windows are too small to be understood.
LEAST_ROOM = 48


def question_of(prompt: Prompt) -> str:
    """Return the question of a prompt, checked.

    Raises:
        PromptError: there is none, or nothing in it but signs that cannot be seen; or the passage is too long.
    """
    if not prompt.question or not any(character.isprintable() and not character.isspace() for character in prompt.question):
        raise PromptError("There is no question yet: type one about the passage.")
    if (length := len(prompt.text)) > MOST_CHARACTERS:
        raise PromptError(
            f"This passage has {length:,} characters, and at most {MOST_CHARACTERS:,} are read: paste the part that the "
            "question is about."
        )
    return prompt.question


@dataclass(frozen=True)
class PassageSearch:
    """How a model of that name searches a passage: `around` tokens of each window are the question and special ones."""

    name: str
    decoding: SpanDecoding
    around: int

    def find(
        self, passage: Sequence[Token], score: Callable[[Sequence[Window]], Sequence[Logits]], n_best: int
    ) -> SpanSearchResult:
        """Find the best spans of a passage, by the logits that `score` gives for each window.

        Raises:
            PromptError: the passage holds no token, or the question leaves no room for it.
        """
        read = self._windows(passage)
        parts = score(read)
        start, end = (
            merged([(window, getattr(logits, name)) for window, logits in zip(read, parts, strict=True)])
            for name in ("start", "end")
        )
        # No answer is as likely as in the window where it is least so.
        logits = Logits(start, end, min(part.nothing for part in parts))
        limit, penalty = self.decoding.limit, self.decoding.length_penalty
        pairs = pair_logits(logits.start, logits.end, limit=limit, length_penalty=penalty)
        if not np.isfinite(pairs.max()):
            raise PromptError(f"{self.name} finds no word in this passage that could be an answer: paste a text.")
        start, end, nothing = marginals(pairs, logits.nothing)
        spans = best_spans(logits.start, logits.end, limit=limit, n=n_best, length_penalty=penalty, nothing=logits.nothing)
        return SpanSearchResult(logits, tuple(spans), start, end, nothing, read, _widest(spans[0], read))

    def declines(self, result: SpanSearchResult) -> bool:
        """Whether the model says that the passage does not answer."""
        return self.decoding.declines(result.nothing, result.spans[0].probability)

    def output(self, result: SpanSearchResult, text: str, passage: Sequence[Token]) -> str:
        """Cut the answer out of the text; empty where the model declines."""
        return "" if self.declines(result) else text_of(result.spans[0], text, passage)

    def _windows(self, passage: Sequence[Token]) -> tuple[Window, ...]:
        n_tokens, room = len(passage), self.decoding.window - self.around
        if not any(token.end > token.start for token in passage):
            raise PromptError(f"{self.name} finds nothing to read in this passage: paste a text with words in it.")
        if room < min(n_tokens, LEAST_ROOM):
            raise PromptError(
                f"The question takes {self.around} of the {self.decoding.window} tokens that {self.name} reads at once, "
                "which leaves no room for the passage: ask in fewer words."
            )
        # Windows that do not overlap would cut an answer in two.
        read = windows(n_tokens, room, min(self.decoding.stride, max(room // 2, 1)))
        check_windows(len(read))
        return read


@dataclass(frozen=True)
class QuestionAndPassage:
    """A question and a passage as a model would read both: the passage's tokens stand at `first` up to `stop`."""

    whole: Encoded
    first: int
    stop: int

    @staticmethod
    def of(whole: Encoded, name: str) -> "QuestionAndPassage":
        """Finds the passage, segment 1, behind the question, segment 0.

        Raises:
            PromptError: the model of that name finds nothing to read in the question.
        """
        typed = [(index, token.segment) for index, token in enumerate(whole.tokens) if not token.special]
        if not any(segment == 0 for _, segment in typed):
            raise PromptError(f"{name} finds nothing to read in this question: type it in words.")
        places = [index for index, segment in typed if segment == 1]
        return (
            QuestionAndPassage(whole, places[0], places[-1] + 1)
            if places
            else QuestionAndPassage(whole, len(whole), len(whole))
        )

    @property
    def passage(self) -> tuple[Token, ...]:
        return self.whole.tokens[self.first : self.stop]

    @property
    def around(self) -> int:
        """Tokens of the question, and special ones: they stand in every window."""
        return len(self.whole) - (self.stop - self.first)

    def cut(self, window: Window) -> Encoded:
        """Cut the pair to a window's tokens of the passage."""
        start, stop = self.first + window.start, self.first + window.stop

        def kept(values: Sequence) -> list:
            return [*values[: self.first], *values[start:stop], *values[self.stop :]]

        inputs = {name: kept(values) for name, values in self.whole.inputs.items()}
        return Encoded(inputs, tuple(kept(self.whole.tokens)), self.whole.cuts)


def _widest(span: Span, read: Sequence[Window]) -> int:
    """Choose the window that shows most on either side of a span; the passage's own ends hide nothing."""
    stop = read[-1].stop

    def shown(window: Window) -> int:
        left = span.start - window.start + stop * (window.start == 0)
        return min(left, window.stop - 1 - span.end + stop * (window.stop == stop))

    return max(range(len(read)), key=lambda place: shown(read[place]))
