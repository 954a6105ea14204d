"""From a question of a lesson, or one asked on the spot, to that of a class: what phones and the wall receive, and its key."""

import html
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from attnviz.analysis.head_view import HeadMatrix, word_at, word_names
from attnviz.analysis.wording import cut, head_name
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import Token
from attnviz.lessons.classroom.class_values import (
    LONGEST_ASK,
    MOST_PICTURE_CELLS,
    AnswerKey,
    ClassOverview,
    ClassQuestion,
    ClassStep,
    Guess,
    WallPicture,
)
from attnviz.lessons.guess import typed_texts
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep, prose_html
from attnviz.lessons.picture_link import TASKS, TYPED_KINDS, LessonPicture
from attnviz.lessons.question_kinds import TOLERANCE, AnswerSource, Truth, method_table, next_shares, read_number, truth_of

# Words of a matrix whose labels can be read on a wall.
MOST_WALL_WORDS = 48
# Pages that draw a matrix, and kinds that ask about one head of it.
_MATRIX_PAGES, _OF_ONE_HEAD = ("home", "encode", "translate"), ("token", "number", "cell", "order")


@dataclass(frozen=True)
class QuestionPlace:
    """A question of a lesson: the lesson under its name in an address, and the question's number, such as "2.1"."""

    name: str
    lesson: Lesson
    number: str

    @property
    def step(self) -> LessonStep:
        return self.lesson.steps[self._places[0] - 1]

    @property
    def question(self) -> LessonQuestion:
        return self.step.questions[self._places[1] - 1]

    @property
    def later(self) -> tuple[LessonQuestion, ...]:
        """The questions of the step that come after it."""
        return self.step.questions[self._places[1] :]

    @property
    def described(self) -> ClassStep:
        """Where it stands, and what the lesson says there; with the step's first question what it says at its beginning."""
        at, steps = self._places[0], len(self.lesson.steps)
        numbers = [number for number in class_numbers(self.lesson) if number.startswith(f"{at}.")]
        place = numbers.index(self.number) + 1 if self.number in numbers else 0
        where = f"{self.lesson.title} · step {at} of {steps}"
        where += f" · question {place} of {len(numbers)}" if place and len(numbers) > 1 else ""
        prose = prose_html("\n\n".join(filter(None, (self.lesson.intro if at == 1 else "", self.step.prose))))
        text = html.unescape(re.sub("<[^>]+>", "", prose)).strip()
        return ClassStep(self.name, self.number, where, self.step.title, prose, text, reveals=self.lesson.reveals)

    @property
    def _places(self) -> tuple[int, int]:
        step, question = self.number.split(".")
        return int(step), int(question)


def class_question(
    question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource, place: QuestionPlace | None = None
) -> tuple[ClassQuestion, AnswerKey]:
    """Make a question of a lesson, or one of the same kinds asked on the spot, one for a class, and compute its key.

    `place`: of the question in a lesson; None: it is asked about a picture.

    Raises:
        AttnvizError: it has no right answer that can be taught, or its picture is too large for a phone.
    """
    truth = truth_of(question, picture, source)
    make = _MAKERS.get(question.kind)
    if make and picture:
        asked, key = make(question, picture, source, truth)
    else:
        texts = tuple(cut(text, LONGEST_ASK) for text in typed_texts(question, picture, source))
        asked, key = _without_picture(question, truth, texts)
        if question.kind == "next" and picture and asked.choices:
            key = replace(key, weights=_rounded(next_shares(question, source.result(picture))[1]))
    before, after = _wall_pictures(question, picture, source, place.later if place else ())
    step = replace(
        place.described if place else ClassStep(), hint=question.text("hint"), head=_head_in_words(question, picture, source),
        link=picture.address if picture and question.kind in TYPED_KINDS else "", picture=before,
    )  # fmt: skip
    said = {"if_right": question.text("right"), "if_wrong": question.text("wrong"), "picture": after}
    link = picture.address if picture else ""
    return replace(asked, step=step), replace(key, sentence=truth.sentence, link=link, **said)


def class_numbers(lesson: Lesson) -> list[str]:
    """List the questions of a lesson that a class is asked, by number: none whose answer stands in a row already revealed."""
    numbers = []
    for number, step, question in lesson.questions:
        before = step.questions[: int(number.partition(".")[2]) - 1]
        rows = {each.text("from") for each in before if each.kind in ("token", "order")}
        if question.kind != "number" or question.text("from") not in rows:
            numbers.append(number)
    return numbers


def next_question(lesson: Lesson, earlier: Collection[str]) -> str | None:
    """Find the first question of a lesson, by its number, that is none of the `earlier` ones of a class."""
    return next((number for number in class_numbers(lesson) if number not in earlier), None)


def made_up(question: ClassQuestion, key: AnswerKey, *, revealed: bool) -> ClassOverview:
    """Make the class of a preview: 25 students, 23 of whom have answered, 14 of them rightly where a wrong answer is known."""
    common: Any = {
        "code": "ABCD",
        "version": 1,
        "nicknames": False,
        "number": 1,
        "question": question,
        "here": 25,
        "joined": 25,
    }
    if not revealed:
        return ClassOverview(**common, state="open", answered=23)
    every = question.cells() if question.kind in ("cell", "head") else question.choices
    if question.kind == "number" and key.right:
        every = sorted((f"{step / 20:.2f}" for step in range(21)), key=lambda each: abs(float(each) - float(key.right[0])))
    elif question.kind == "order":
        every = tuple(" > ".join(reversed(each.split(" > "))) for each in key.right)
    guesses = [*key.right[:1], *(each for each in every if not key.accepts(each, question.kind))][:4]
    first = (14, 6, 2)[: max(len(guesses) - 1, 0)]
    counts = zip(guesses, (*first, 23 - sum(first)), strict=False)
    results = tuple(Guess(each, times, key.accepts(each, question.kind)) for each, times in counts)
    return ClassOverview(**common, state="revealed", answered=23, results=results, key=key)


def _head_in_words(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> str:
    """Name the head that a question is about, such as "head 1 of layer 3"; empty: it is about none, or about all."""
    if (
        picture is None
        or picture.page not in ("home", "encode", "translate")
        or question.kind not in ("token", "number", "cell", "order")
    ):
        return ""
    card = source.result(picture).card
    layer, head = picture.head(card)
    if card.n_layers == card.n_heads == 1:
        return f"the only head of {card.name}"
    return f"the mean of layer {layer}" if head is None else f"head {head} of layer {layer}"


def _wall_pictures(
    question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource, later: Sequence[LessonQuestion]
) -> tuple[WallPicture | None, WallPicture | None]:
    """Draw what a wall shows before the reveal, and after it: without what answers this question, and those that come later."""
    if picture is None or picture.page not in TASKS:
        return None, None
    try:
        if picture.page == "matters":
            table = method_table((question, *later), picture, source)
            seen, names = np.maximum(table.values, 0)[None], (table.titles, table.words)
            caption = "How much each word is worth to the output: a row is a method"
            own = 1 if question.text("by") else 0
            rows = [{(0, row) for row in hidden} for hidden in (table.hidden, table.hidden[own:])]
            return _wall_picture(caption, names, seen, rows[0]), _wall_picture(caption, names, seen, rows[1])
        result = source.result(picture)
        picture.attention(result)
        layer, head = picture.head(result.card)
        matrix = picture.matrix(result)
    except AttnvizError:
        # The page draws no matrix of one head: the wall has the texts of the question, and the link.
        return None, None
    if max(matrix.weights.shape) > MOST_WALL_WORDS:
        return None, None
    name = f"Head {head} of layer {layer} of {result.card.name}"
    name = f"The mean of layer {layer} of {result.card.name}" if head is None else name
    name = f"The only head of {result.card.name}" if result.card.n_layers == result.card.n_heads == 1 else name
    caption, heads, weights = name, (1, 1), matrix.weights[None]
    if question.kind == "head":
        attention = picture.attention(result)
        heads = attention.n_layers, attention.n_heads
        caption = f"All {heads[0] * heads[1]} heads of {result.card.name}: a row of pictures is a layer"
        weights = np.stack([picture.matrix(result, int(one), int(each)).weights for one, each in np.ndindex(*heads)])
    if weights.size > MOST_PICTURE_CELLS:
        return None, None
    own, others = _answering((question,), matrix), _answering(later, matrix)
    marked = (word_at(question.text("from"), matrix.queries),) if question.text("from") else ()
    names = tuple(word_names(matrix.queries)), tuple(word_names(matrix.keys))
    before = _wall_picture(caption, names, weights, own | others, heads=heads, marked=marked)
    after = _wall_picture(caption, names, weights, others - own, heads=heads, marked=marked)
    # The rows of a translation are what the model says.
    return (None if question.kind == "output" else before), after


# Of a matrix, a row (0) or a column (1), and its place.
_Line = tuple[int, int]


def _answering(questions: Sequence[LessonQuestion], matrix: HeadMatrix) -> set[_Line]:
    """List the rows and the columns of a matrix in which answers to questions stand."""
    lines: set[_Line] = set()
    for question in questions:
        if question.kind in ("cell", "output"):
            lines |= {(0, row) for row in range(len(matrix.queries))}
        elif question.text("from"):
            lines.add((0, word_at(question.text("from"), matrix.queries)))
        elif question.kind == "token":
            lines.add((1, word_at(question.text("to"), matrix.keys)))
    return lines


def _wall_picture(
    caption: str,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    weights: Float[np.ndarray, "head query key"],
    hidden: Collection[_Line],
    *,
    heads: tuple[int, int] = (1, 1),
    marked: tuple[int, ...] = (),
) -> WallPicture:
    """Draw the weights of one head or of many, without those lines."""
    shown = np.array(weights, dtype=float)
    rows, columns = (tuple(sorted(place for axis, place in hidden if axis == each)) for each in (0, 1))
    shown[:, list(rows)] = 0
    shown[:, :, list(columns)] = 0
    cells = b64encode(np.rint(np.clip(shown, 0, 1) * 255).astype(np.uint8).tobytes()).decode("ascii")
    return WallPicture(caption, *names, cells, heads, marked, rows, columns)


def _token(
    question: LessonQuestion, picture: LessonPicture, source: AnswerSource, truth: Truth
) -> tuple[ClassQuestion, AnswerKey]:
    matrix = picture.matrix(source.result(picture))
    sends = "to" in question.fields
    tokens, others = (matrix.queries, matrix.keys) if sends else (matrix.keys, matrix.queries)
    place = word_at(question.text("to" if sends else "from"), others)
    names, weights = word_names(tokens), matrix.weights[:, place] if sends else matrix.weights[place]
    marked = _same_place(matrix, others, place, tokens)
    choices = _words(tokens, names)
    asked = ClassQuestion("token", question.ask, tuple(names), marked, choices)
    return asked, AnswerKey(tuple(filter(truth.accepts, choices)), weights=_rounded(weights))


def _number(
    question: LessonQuestion, picture: LessonPicture, source: AnswerSource, truth: Truth
) -> tuple[ClassQuestion, AnswerKey]:
    matrix = picture.matrix(source.result(picture))
    row, key = word_at(question.text("from"), matrix.queries), word_at(question.text("to"), matrix.keys)
    weight = float(matrix.weights[row, key])
    tolerance = read_number(question.text("tolerance")) or TOLERANCE
    marked = (*_same_place(matrix, matrix.queries, row, matrix.keys), key)
    asked = ClassQuestion("number", question.ask, tuple(word_names(matrix.keys)), marked)
    return asked, AnswerKey((f"{weight:.4f}",), tolerance, weights=_rounded(matrix.weights[row]))


def _head(
    question: LessonQuestion, picture: LessonPicture, source: AnswerSource, truth: Truth
) -> tuple[ClassQuestion, AnswerKey]:
    result = source.result(picture)
    attention = picture.attention(result)
    rows = tuple(f"L{layer}" for layer in range(attention.n_layers))
    columns = tuple(f"H{head}" for head in range(attention.n_heads))
    weights, matrix = [], picture.matrix(result, 0, 0)
    row, key = word_at(question.text("from"), matrix.queries), word_at(question.text("to"), matrix.keys)
    for layer, head in np.ndindex(attention.n_layers, attention.n_heads):
        weights.append(picture.matrix(result, int(layer), int(head)).weights[row, key])
    heads = (head_name(layer, head) for layer, head in np.ndindex(attention.n_layers, attention.n_heads))
    right = tuple(name for name in heads if truth.accepts(name))
    marked = (*_same_place(matrix, matrix.queries, row, matrix.keys), key)
    words = tuple(word_names(matrix.keys))
    asked = ClassQuestion("head", question.ask, words, marked, rows=rows, columns=columns)
    return asked, AnswerKey(right, weights=_rounded(np.array(weights)))


def _cell(
    question: LessonQuestion, picture: LessonPicture, source: AnswerSource, truth: Truth
) -> tuple[ClassQuestion, AnswerKey]:
    matrix = picture.matrix(source.result(picture))
    down = [at for at, token in enumerate(matrix.queries) if not token.special] or list(range(len(matrix.queries)))
    across = [at for at, token in enumerate(matrix.keys) if not token.special] or list(range(len(matrix.keys)))
    rows, columns = word_names(matrix.queries), word_names(matrix.keys)
    asked = ClassQuestion(
        "cell", question.ask, rows=tuple(rows[at] for at in down), columns=tuple(columns[at] for at in across)
    )
    right = tuple(filter(truth.accepts, asked.cells()))
    return asked, AnswerKey(right, weights=_rounded(matrix.weights[np.ix_(down, across)]))


def _without_picture(question: LessonQuestion, truth: Truth, texts: tuple[str, ...]) -> tuple[ClassQuestion, AnswerKey]:
    """Questions that are answered in words, whatever stands on the picture; `texts` is what the model reads."""
    if question.kind == "order":
        # By the alphabet: as a lesson writes them they may stand in the right order.
        choices = tuple(sorted(question.texts("words"), key=str.casefold))
        return ClassQuestion("order", question.ask, texts, choices=choices), AnswerKey((truth.answer,))
    choices = ("True", "False") if question.kind == "claim" else question.texts("choices")
    if not choices:
        return ClassQuestion("text", question.ask, texts), AnswerKey((truth.answer,) if truth.answer else ())
    right = tuple(each for each in choices if truth.accepts(each))
    return ClassQuestion("choice", question.ask, texts, choices=choices), AnswerKey(right)


_MAKERS: dict[str, Callable[..., tuple[ClassQuestion, AnswerKey]]] = {
    "token": _token, "number": _number, "head": _head, "cell": _cell,
}  # fmt: skip


def _words(tokens: tuple[Token, ...], names: list[str]) -> tuple[str, ...]:
    """Name what can be tapped: no special tokens, unless there is nothing else."""
    words = tuple(name for name, token in zip(names, tokens, strict=True) if not token.special)
    return words or tuple(names)


def _same_place(matrix: HeadMatrix, those: tuple[Token, ...], place: int, tokens: tuple[Token, ...]) -> tuple[int, ...]:
    """Find a token among those that are shown, where both are of one text."""
    return (place,) if those == tokens else ()


def _rounded(weights: Any) -> tuple[float, ...]:
    return tuple(round(min(max(float(each), 0.0), 1.0), 3) for each in np.ravel(weights))
