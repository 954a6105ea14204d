"""Attention between a question and a passage, and the probabilities of an answer, in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_ranking import DIGITS, link_weights, strongest_places
from attnviz.analysis.head_view import HeadMatrix, Lens, View, head_matrix, word_names
from attnviz.analysis.wording import MOSTLY, WEIGHT, Part, Sentence, percent, quoted, whole_percent
from attnviz.core.trace import AttentionTrace, Token
from attnviz.text.spans import Span, Window

# Cross-attention, or a block of the encoder's attention, named by the text whose tokens are its queries.
Side = Literal["cross", "passage", "question"]
SIDES: tuple[Side, ...] = get_args(Side)
# The verb of a sentence: for weights, and for norms or mixing.
_LOOKING, _TAKING = ("look", "at"), ("take", "from")
# Below the first share a word is not worth a sentence, below the second not a mention.
_LEAST_SAID, _SECOND = 0.1, 0.05
# How much to trust what is shown, in Markdown.
TRUST_ANSWERS = """
- The numbers are the model's own, from a forward pass over this very text.
- A probability says how the spans compare **to this model**. One that was trained on encyclopedia articles can be sure, and
  wrong, anywhere else.
- How often answers this sure are right was measured on passages of four kinds that do answer. It can be more than p: several
  spans may be right, as with and without *the*.
- It answers with words of the passage, true or not: it does not know the world.
- Whether the passage answers at all was learned from questions put to passages that do not; a passage that almost answers is
  the hardest.
- Where a token **looked** is not why the span was chosen: values, other heads and later layers decide what becomes of it.
"""
# How it comes about: a title, and Markdown.
HOW_ANSWERED = (
    "How this answer is found · softmax over all spans",
    """
Question and passage go through an encoder, and every token of the passage gets two numbers: how much speaks for the answer
**starting** there, and for it **ending** there. A span's score is their sum; answer-en takes a little from it for each token
after the first. All spans are compared at once, *start ≤ end*, with no answer as one more choice, and the softmax over them is
what is shown: bars under a token are its share of the starts and of the ends. Where p(no answer) exceeds a threshold that was
set on questions held out of training, the passage is taken not to say; a model of the hub has none, and declines where no
answer is likelier than any span.

- **answer-en** reads both texts as one pair, so that they meet in every layer; **answer-en-dual** reads each on its own (as
  Seo et al. 2017, *Bidirectional Attention Flow for Machine Comprehension*), so that all one learns of the other comes
  through the cross-attention. Compare the two.
- Across, the passage's tokens are the **queries** and the question's the **keys**: every row is a token of the passage, and
  sums to 1 over the question.
- The page opens where the answer looks most firmly at one word of the question. Read as one pair, the texts have met long
  before the cross-attention, which then has little left to tell: in the encoder an answer often looks at *Who* or *Where*.
- Models of the hub have no cross-attention. Where question and passage meet are blocks of their encoder's attention; a row
  there sums to 1 only with what is not shown.
- A long passage is read in overlapping windows; a token counts as it was read where it stands farthest from an edge. The
  attention is that of the window with the answer.
""",
)
# Starts, and ends, that are drawn of start × end: more could not be read.
DRAWN = 16


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
        return sorted(units, key=lambda unit: -round(unit[1], DIGITS))[:n]


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
    layer, head = np.unravel_index(int(shares.round(DIGITS).argmax()), shares.shape)
    return StrongestHead(float(shares[layer, head]), int(layer), int(head))


def window_notices(windows: Sequence[Window], best: int, n_tokens: int) -> Iterator[tuple[str, str, str]]:
    """Yield which part of a passage of so many tokens the attention is of, as `attnviz.analysis.wording.text_notices`.

    best  index of the window that is drawn

    >>> [(_, said, _)] = window_notices([Window(0, 300), Window(200, 500)], 1, 500)
    >>> said[:62], said[-43:]
    (' read this passage in 2 overlapping windows. The attention is ', 'likeliest answer, tokens 201 to 500 of 500.')
    """
    if len(windows) > 1:
        drawn = f"tokens {windows[best].start + 1:,} to {windows[best].stop:,} of {n_tokens:,}"
        one = f"The attention is that of the one with the likeliest answer, {drawn}."
        said = f" read this passage in {len(windows)} overlapping windows. {one}"
        yield "", said, said


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

    `limit` and `length_penalty` as of `attnviz.models.span_decoding.pair_logits`.

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
    """Name the next best answer; or, where the model declines, how likely no answer is, and the best one.

    texts      of the spans
    nothing    p(no answer) of a model that declines, 0 to 1; None: it answers
    threshold  p(no answer) above which it declines; None: where no answer is likelier than any span
    """
    best = (quoted(texts[0]), Part(f" ({percent(spans[0].probability)})"))
    if nothing is not None:
        limit = "more than any answer" if threshold is None else f"the model declines above {percent(threshold)}"
        return (Part(f"“No answer” has {percent(nothing)}: {limit}. The likeliest answer would be "), *best, Part("."))
    if len(spans) == 1:
        return (Part("There is no other answer."),)
    return (Part("The next best answer is "), quoted(texts[1]), Part(f" ({percent(spans[1].probability)})."))


def describe_confidence(confidence: float) -> str:
    """Say how many of the answers this sure are right, by that share."""
    return f"about {whole_percent(confidence)} of such answers are correct"


def describe_measured_answers(name: str, metrics: Mapping[str, float]) -> str:
    """Say how well a model answered questions that it had not seen; empty where nobody measured it.

    >>> describe_measured_answers("answer-en", {"F1": 81.22})
    'answer-en: F1 81 on held-out questions of SQuAD.'
    """
    return f"{name}: F1 {metrics['F1']:.0f} on held-out questions of SQuAD." if "F1" in metrics else ""


def describe_question_words(
    attention: QuestionAttention, text: str, answer: tuple[int, int], number: str = WEIGHT, *, word: int | None = None
) -> Sentence:
    """Say which words of the question the answer looks at in a head, or which look at it.

    text    of the answer, which stands at the characters `answer`
    number  what the numbers are: of norms and mixing the sentence says "takes from" instead of "looks at"
    word    the word of the question that was asked about; None: the one with the largest weight
    """
    look, at = _LOOKING if number == WEIGHT else _TAKING
    shares, subject = attention.of_text(*answer), quoted(text)
    order = np.argsort(-shares.round(DIGITS), kind="stable")
    places = [place for place in order if is_word(attention.question[place]) and shares[place] > 0]
    if not places:
        return (Part("In this head nothing passes between "), subject, Part(" and the words of the question."))
    names = word_names(attention.question)
    named = [(quoted(names[place]), Part(f" ({percent(float(shares[place]))})")) for place in places[:2]]
    second = len(places) > 1 and shares[places[1]] >= _SECOND
    if word is not None:
        asked, share = quoted(names[word]), percent(float(shares[word]))
        others = (Part(f", and of the question's words most {at} "), *named[0])
        best = () if word == places[0] or attention.from_question else others
        both = (asked, subject) if attention.from_question else (subject, asked)
        return (both[0], Part(f" {look}s {at} "), both[1], Part(f" with {share} of its attention"), *best, Part("."))
    if attention.from_question:
        then = (Part(", then "), *named[1]) if second else ()
        return (
            Part("Of the question, "),
            *named[0],
            *then,
            Part(f" {look}{'' if second else 's'} most {at} "),
            subject,
            Part("."),
        )
    most, rest = float(shares[places[0]]), float(sum(shares[at] for at, each in enumerate(attention.question) if each.special))
    if rest >= MOSTLY and rest > most:
        return (subject, Part(f" {look}s {at} no word of the question: {percent(rest)} goes to its special tokens."))
    if most < _LEAST_SAID:
        return (subject, Part(f" {look}s {at} no word of the question in particular: at most "), *named[0], Part("."))
    then = (Part(f", then {at} "), *named[1]) if second else ()
    goes = f"; {percent(rest)} goes to its special tokens." if rest >= _SECOND else "."
    if most >= MOSTLY:
        return (subject, Part(f" {look}s mostly {at} "), *named[0], *then, Part(goes))
    return (Part("Of the question's words, "), subject, Part(f" {look}s most {at} "), *named[0], *then, Part(goes))


def describe_word(attention: QuestionAttention, word: int, number: str = WEIGHT) -> Sentence:
    """Name the words of the passage with the largest weights to, or from, a word of the question.

    `number` as in `describe_question_words`.
    """
    look, at = _LOOKING if number == WEIGHT else _TAKING
    asked = quoted(attention.question[word].text)
    lookers = [(token, weight) for token, weight in attention.lookers(word) if weight > 0]
    if not lookers:
        return (Part("In this head nothing passes between the passage and "), asked, Part("."))
    parts: list[Part] = []
    for index, (token, weight) in enumerate(lookers):
        joint = "" if index == 0 else " and " if index == len(lookers) - 1 else ", "
        parts += [Part(joint), quoted(token.text), Part(f" ({percent(weight)})")]
    if attention.from_question:
        return (Part("In the passage, "), asked, Part(f" {look}s most {at} "), *parts, Part("."))
    return (Part("In the passage, "), *parts, Part(f" {look if len(lookers) > 1 else f'{look}s'} most {at} "), asked, Part("."))


def linking_heads(shares: Float[np.ndarray, "layer head"]) -> list[tuple[int, int]]:
    """List the layer and the head of the largest shares, as `head_shares` reads them; of those alike in four digits the first.

    >>> linking_heads(np.array([[0.51472, 0.51468], [0.61, 0.51471]]))
    [(1, 0), (0, 0), (0, 1), (1, 1)]
    """
    return strongest_places(shares.round(DIGITS))


def head_shares(
    trace: AttentionTrace, side: Side, view: View, answer: tuple[int, int], word: int
) -> Float[np.ndarray, "layer head"]:
    """Read what the answer's words give to a word of the question, on average, in every head; from the question's side, get."""
    attention = trace.cross if side == "cross" else trace.encoder
    block = view if side == "cross" else replace(view, between="first-second" if side == "question" else "second-first")
    lens, (start, end) = Lens(attention, block), answer
    passage = lens.keys if side == "question" else lens.queries
    inside = [at for at, each in enumerate(passage) if not each.special and each.start < end and start < each.end]
    if not inside:
        return np.zeros((attention.n_layers, attention.n_heads))
    if side == "question":
        return link_weights(attention, block, [word], inside) / len(inside)
    return link_weights(attention, block, inside, [word])
