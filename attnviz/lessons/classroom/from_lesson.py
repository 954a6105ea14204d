"""From a question of a lesson, or one asked on the spot, to that of a class: what phones receive, and its computed key."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from attnviz.analysis.head_view import HeadMatrix
from attnviz.analysis.word_names import word_at, word_names
from attnviz.analysis.wording import cut, head_name
from attnviz.core.trace import Token
from attnviz.lessons.answer_text import read_number
from attnviz.lessons.classroom.class_question import LONGEST_ASK, AnswerKey, ClassQuestion
from attnviz.lessons.guess import typed_texts
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep
from attnviz.lessons.picture_link import LessonPicture
from attnviz.lessons.question_kinds import TOLERANCE, truth_of
from attnviz.lessons.right_answer import AnswerSource, Truth


def class_question(
    question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource
) -> tuple[ClassQuestion, AnswerKey]:
    """Make a question of a lesson, or one of the same kinds asked on the spot, one for a class, and compute its key.

    Raises:
        AttnvizError: it has no right answer that can be taught, or its picture is too large for a phone.
    """
    truth = truth_of(question, picture, source)
    make = _MAKERS.get(question.kind)
    if make and picture:
        asked, key = make(question, picture, source, truth)
    else:
        asked, key = _without_picture(question, truth, tuple(cut(text, LONGEST_ASK) for text in typed_texts(question, picture)))
    return asked, AnswerKey(key.right, key.tolerance, truth.sentence, key.weights, picture.address if picture else "")


def next_question(lesson: Lesson, asked: Iterable[str]) -> tuple[str, LessonStep, LessonQuestion] | None:
    """Find the first question of a lesson that a class has not been asked; two steps may ask in the same words."""
    counted = Counter(asked)
    for number, step, question in lesson.questions:
        if not counted[question.ask]:
            return number, step, question
        counted[question.ask] -= 1
    return None


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


def _same_place(matrix: HeadMatrix, those: tuple[Token, ...], place: int, shown: tuple[Token, ...]) -> tuple[int, ...]:
    """Find a token among those that are shown, where both are of one text."""
    return (place,) if those == shown else ()


def _rounded(weights: Any) -> tuple[float, ...]:
    return tuple(round(min(max(float(each), 0.0), 1.0), 3) for each in np.ravel(weights))
