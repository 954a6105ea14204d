"""Attention between a question and a passage, and the probabilities of an answer, in words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.view import HeadMatrix, View, head_matrix
from attnviz.analysis.wording import WEIGHT, Part, Sentence, cut, percent, quoted
from attnviz.core.trace import AttentionTrace, Token
from attnviz.text.spans import Span

# Cross-attention, or a block of the encoder's attention, named by the text whose tokens are its queries.
Side = Literal["cross", "passage", "question"]
SIDES: tuple[Side, ...] = get_args(Side)
# The verb of a sentence: for weights, and for norms or mixing.
_LOOKING, _TAKING = ("look", "at"), ("take", "from")
# Starts, and ends, that are drawn of start × end: more could not be read.
DRAWN = 16
# Of an answer in a sentence.
MOST_CHARACTERS = 60


def sides(trace: AttentionTrace) -> tuple[Side, ...]:
    """List the attentions between question and passage that a trace has."""
    return SIDES if "cross" in trace.kinds else SIDES[1:]


@dataclass(frozen=True, eq=False)
class QuestionAttention:
    """The attention of one head, or the mean of a layer's, between a passage and a question.

    matrix         as it is drawn
    from_question  the question's tokens are the queries, the passage's the keys; False: the reverse
    """

    matrix: HeadMatrix
    from_question: bool

    @property
    def question(self) -> tuple[Token, ...]:
        return self.matrix.queries if self.from_question else self.matrix.keys

    @property
    def passage(self) -> tuple[Token, ...]:
        return self.matrix.keys if self.from_question else self.matrix.queries

    @property
    def weights(self) -> Float[np.ndarray, "passage question"]:
        return self.matrix.weights.T if self.from_question else self.matrix.weights

    def of_word(self, word: int, tokens: Sequence[Token]) -> Float[np.ndarray, " token"]:
        """Read for each of some passage tokens its weight, or its word's, with a word of the question; 0: it was not read."""
        units = [(token.start, token.end, weight) for token, weight in self._units(self.weights[:, word])]
        starts, values = np.array([start for start, _, _ in units]), np.zeros(len(tokens))
        for index, token in enumerate(tokens):
            place = int(np.searchsorted(starts, token.start, side="right")) - 1
            if place >= 0 and token.start < units[place][1]:
                values[index] = units[place][2]
        return values

    def of_text(self, start: int, end: int) -> Float[np.ndarray, " question"]:
        """Average for each word of the question the weights of the passage's words within start:end; zeros for none."""
        rows = [row for row, token in enumerate(self.passage) if not token.special and token.start < end and start < token.end]
        return self.weights[rows].mean(axis=0) if rows else np.zeros(len(self.question), dtype=np.float32)

    def around(self, start: int, end: int, most: int = 16) -> HeadMatrix:
        """Cut the matrix to so many words of the passage, those around the characters start:end in the middle."""
        inside = [place for place, token in enumerate(self.passage) if token.start < end and start < token.end]
        middle = (inside[0] + inside[-1]) // 2 if inside else 0
        first = max(min(middle - most // 2, len(self.passage) - most), 0)
        kept, every = range(first, min(first + most, len(self.passage))), range(len(self.question))
        return self.matrix.part(every, kept) if self.from_question else self.matrix.part(kept, every)

    def _units(self, column: Float[np.ndarray, " passage"]) -> list[tuple[Token, float]]:
        return [(token, float(weight)) for token, weight in zip(self.passage, column, strict=True) if not token.special]

    def lookers(self, word: int, n: int = 3) -> list[tuple[Token, float]]:
        """Find the words of the passage with the largest weight to, or from, a word of the question; largest first."""
        units = [unit for unit in self._units(self.weights[:, word]) if is_word(unit[0])]
        return sorted(units, key=lambda unit: -unit[1])[:n]


def question_attention(trace: AttentionTrace, side: Side, *, layer: int, head: int | None, view: View) -> QuestionAttention:
    """Read one head as it is drawn from that side; question and passage are segments 0 and 1 of the encoder's tokens.

    Raises:
        TraceError: there is no such map, layer or head, or the view leaves no token.
    """
    if side == "cross":
        return QuestionAttention(head_matrix(trace.cross, layer=layer, head=head, view=view), from_question=False)
    block = replace(view, between="first-second" if side == "question" else "second-first")
    return QuestionAttention(head_matrix(trace.encoder, layer=layer, head=head, view=block), from_question=side == "question")


@dataclass(frozen=True)
class StrongestHead:
    """A head in which an answer and one word of the question look most firmly at each other.

    share  0 to 1: the mean weight that the answer's tokens give to the word, or the sum of those that the word gives to them
    """

    share: float
    layer: int
    head: int


def strongest_heads(trace: AttentionTrace, start: int, end: int) -> dict[Side, StrongestHead]:
    """Find for each side the head that says most about the passage's characters start:end; none where no token stands there."""
    firmness: dict[Side, list[np.ndarray]] = {side: [] for side in sides(trace)}
    for kind in trace.kinds:
        attention = trace.map(kind)
        answer, words = _answer(attention.queries, start, end), _words(attention.keys)
        if not answer or not words:
            continue
        question_words = _words(attention.queries)
        for layer in range(attention.n_layers):
            weights = attention.layer_weights(layer)
            looked_at = weights[:, answer][:, :, words].mean(axis=1).max(axis=1)
            firmness["cross" if kind == "cross" else "passage"].append(looked_at)
            if kind != "cross":
                firmness["question"].append(weights[:, question_words][:, :, answer].sum(axis=2).max(axis=1))
    return {side: _firmest(np.stack(layers)) for side, layers in firmness.items() if layers}


def _firmest(shares: Float[np.ndarray, "layer head"]) -> StrongestHead:
    layer, head = np.unravel_index(int(shares.argmax()), shares.shape)
    return StrongestHead(float(shares[layer, head]), int(layer), int(head))


def _answer(tokens: Sequence[Token], start: int, end: int) -> list[int]:
    """Find places of the passage's tokens that have one of the characters start:end."""
    among = (token.segment == 1 and not token.special and token.start < end and start < token.end for token in tokens)
    return [place for place, inside in enumerate(among) if inside]


def _words(tokens: Sequence[Token]) -> list[int]:
    """Find places of the question's words."""
    return [place for place, token in enumerate(tokens) if token.segment == 0 and is_word(token)]


@dataclass(frozen=True, eq=False)
class Joint:
    """p(start, end) where it matters: the likeliest starts and ends, in the order of the passage.

    legal  start <= end <= start + limit; `marks` are the cells of the best spans, best first
    """

    probabilities: Float[np.ndarray, "start end"]
    legal: Bool[np.ndarray, "start end"]
    starts: tuple[Token, ...]
    ends: tuple[Token, ...]
    marks: tuple[tuple[int, int], ...]


def joint(
    tokens: Sequence[Token],
    start: Float[np.ndarray, " token"],
    end: Float[np.ndarray, " token"],
    spans: Sequence[Span],
    *,
    limit: int,
    length_penalty: float = 0.0,
) -> Joint:
    """Make the table of p(start, end) that the answer is read from; `start` and `end` are logits.

    `limit` and `length_penalty` as of `attnviz.text.spans.pair_logits`.

    >>> table = joint((Token("a", 0, 1), Token("b", 2, 3)), np.array([1.0, 0]), np.array([0.0, 1]), [Span(0, 1, 0.5)], limit=1)
    >>> table.probabilities.round(3).tolist(), table.marks
    ([[0.184, 0.5], [0.0, 0.184]], ((0, 1),))
    """
    rows, columns = _likeliest(start, [span.start for span in spans]), _likeliest(end, [span.end for span in spans])
    following = columns[None, :] - rows[:, None]
    legal = (following >= 0) & (following <= limit)
    best = spans[0]
    # One span's probability is known, and with it that of all others: they differ by their logits alone.
    above = (start[rows].astype(float) - start[best.start])[:, None] + (end[columns].astype(float) - end[best.end])[None, :]
    above -= length_penalty * (following - (best.end - best.start))
    marks = tuple((int(np.searchsorted(rows, span.start)), int(np.searchsorted(columns, span.end))) for span in spans)
    return Joint(
        np.where(legal, np.exp(np.where(legal, above, -np.inf)) * best.probability, 0),
        legal,
        tuple(tokens[row] for row in rows),
        tuple(tokens[column] for column in columns),
        marks,
    )


def _likeliest(logits: Float[np.ndarray, " token"], spans: Sequence[int]) -> np.ndarray:
    ranked = [int(place) for place in np.argsort(-logits, kind="stable") if place not in spans]
    return np.array(sorted({*spans, *ranked[: max(DRAWN - len(set(spans)), 0)]}))


def describe_answer(
    texts: Sequence[str], spans: Sequence[Span], *, nothing: float | None = None, threshold: float | None = None
) -> Sentence:
    """Say how likely the best span is beside the next; or, where the model declines, beside no answer.

    texts      of the spans
    nothing    p(no answer) of a model that declines, 0 to 1; None: it answers
    threshold  p(no answer) above which it declines; None: where no answer is likelier than any span
    """
    best = (quoted(cut(texts[0], MOST_CHARACTERS)), Part(f" ({percent(spans[0].probability)})"))
    if nothing is not None:
        limit = "more than that of any span" if threshold is None else f"it declines above {percent(threshold)}"
        return (Part("The likeliest span is "), *best, Part(f", but p(no answer) is {percent(nothing)}: {limit}."))
    if len(spans) == 1:
        return (Part("Of all spans "), *best, Part(" is the likeliest; no other that does not overlap is left."))
    verdict = (Part("Of all spans "), *best, Part(" is the likeliest; the next that does not overlap is "))
    return (*verdict, quoted(cut(texts[1], MOST_CHARACTERS)), Part(f" ({percent(spans[1].probability)})."))


def describe_question_words(shown: QuestionAttention, name: str, answer: tuple[int, int], number: str = WEIGHT) -> Sentence:
    """Say which words of the question have the largest weights with the answer, in a head of that name.

    `number` is what the numbers are: of norms and mixing the sentence says "takes from" instead of "looks at".
    """
    look, at = _LOOKING if number == WEIGHT else _TAKING
    shares = shown.of_text(*answer)
    places = [place for place in np.argsort(-shares, kind="stable") if is_word(shown.question[place]) and shares[place] > 0]
    if not places:
        return (Part(f"In {name} there is no attention between the answer and the words of the question."),)
    lead = f"{name}: of the question's words, " if shown.from_question else f"{name}: the answer's words {look} most {at} "
    parts: list[Part] = [Part(lead)]
    for index, place in enumerate(places[:2]):
        parts += [Part(" and " if index else ""), quoted(shown.question[place].text), Part(f" ({shares[place]:.2f})")]
    rest = float(sum(shares[place] for place, token in enumerate(shown.question) if token.special))
    end = f" {look} most {at} the answer" if shown.from_question else " of the question"
    verb = "goes to" if number == WEIGHT else "comes from"
    ending = f"; {percent(rest)} {verb} its special tokens." if not shown.from_question and rest >= 0.005 else "."
    return (*parts, Part(end + ending))


def describe_word(shown: QuestionAttention, name: str, word: int, number: str = WEIGHT) -> Sentence:
    """Name the words of the passage with the largest weights to, or from, a word of the question.

    `number` as in `describe_question_words`.
    """
    look, at = _LOOKING if number == WEIGHT else _TAKING
    question_word = quoted(shown.question[word].text)
    lookers = [(token, weight) for token, weight in shown.lookers(word) if weight > 0]
    if not lookers:
        return (Part(f"In {name} there is no attention between the passage and "), question_word, Part("."))
    lead = (Part(f"{name}: "), question_word, Part(f" {look}s most {at} ")) if shown.from_question else (Part(f"{name}: "),)
    parts: list[Part] = []
    for index, (token, weight) in enumerate(lookers):
        parts += [Part(", " if index else ""), quoted(token.text), Part(f" ({weight:.2f})")]
    if shown.from_question:
        return (*lead, *parts, Part(" in the passage."))
    verb = look if len(lookers) > 1 else f"{look}s"
    return (*lead, *parts, Part(f" {verb} {at} "), question_word, Part(" most."))
