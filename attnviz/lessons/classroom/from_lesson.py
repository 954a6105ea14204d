"""From a question of a lesson, or one asked on the spot, to that of a class: what phones and the wall receive, and its key."""

import html
import re
from base64 import b64encode
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from attnviz.analysis.head_view import HeadMatrix, word_at, word_names
from attnviz.analysis.wording import cut
from attnviz.core.errors import AttnvizError
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
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep, prose_html
from attnviz.lessons.picture_link import TASKS, LessonPicture
from attnviz.lessons.question_kinds import (
    AnswerSource,
    QuestionForm,
    Truth,
    about,
    method_table,
    question_form,
    truth_of,
)

# Words of a matrix whose labels can be read on a wall.
MOST_WALL_WORDS = 48


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
    form = question_form(question, picture, source)
    before, after = _wall_pictures(question, picture, source, place.later if place else ())
    step = replace(
        place.described if place else ClassStep(), hint=question.text("hint"), head=_head_in_words(question, picture, source),
        link=picture.address if picture and not about(question) else "", picture=before,
    )  # fmt: skip
    record: dict[str, Any] = {**vars(form), "texts": tuple(cut(text, LONGEST_ASK) for text in form.texts)}
    key = replace(answer_key(question, form, truth), link=picture.address if picture else "", picture=after)
    return ClassQuestion(**record, step=step), key


def answer_key(question: LessonQuestion, form: QuestionForm, truth: Truth) -> AnswerKey:
    """Write down which answers to a form are right, and what is said of them, as values that outlive the model."""
    right = (truth.answer,) if truth.answer else ()
    if truth.value is not None:
        right = (f"{truth.value:.6f}",)
    elif form.answers:
        right = tuple(filter(truth.accepts, form.answers))
    weights = tuple(round(min(max(float(each), 0.0), 1.0), 3) for each in truth.weights)
    return AnswerKey(right, truth.tolerance, truth.sentence, weights, "", question.text("right"), question.text("wrong"))


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
    every = question.answers
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
    if picture is None or picture.page not in ("home", "encode", "translate") or about(question) not in ("row", "matrix"):
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
    if about(question) == "heads":
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
    return (None if about(question) == "output" else before), after


# Of a matrix, a row (0) or a column (1), and its place.
_Line = tuple[int, int]


def _answering(questions: Sequence[LessonQuestion], matrix: HeadMatrix) -> set[_Line]:
    """List the rows and the columns of a matrix in which answers to questions stand."""
    lines: set[_Line] = set()
    for question in questions:
        if about(question) in ("matrix", "output"):
            lines |= {(0, row) for row in range(len(matrix.queries))}
        elif question.text("from"):
            lines.add((0, word_at(question.text("from"), matrix.queries)))
        elif about(question) == "row" and question.text("to"):
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
