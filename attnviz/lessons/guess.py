"""What a question is guessed on before its answer is shown: words to click, cells, heads, a number. No weight is in it."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from attnviz.analysis.head_view import HeadMatrix, word_at, word_names
from attnviz.analysis.wording import head_name
from attnviz.core.trace import Token
from attnviz.lessons.lesson_file import LessonQuestion
from attnviz.lessons.picture_link import LONGEST_ANSWER, LessonPicture
from attnviz.lessons.question_kinds import ARROW, AnswerSource

Form = Literal["words", "order", "number", "cells", "heads", "choices", "text"]


@dataclass(frozen=True)
class GuessLine:
    """One text of the picture, word by word.

    words    each by a name of its own, such as "the(2)"
    marked   places of the words that the question is about
    choices  places of the words that can be the answer
    """

    words: tuple[str, ...]
    marked: tuple[int, ...] = ()
    choices: tuple[int, ...] = ()


@dataclass(frozen=True)
class GuessForm:
    """How a question is answered, and what is shown meanwhile.

    form     which of the ways: a word is clicked, words are put in order, …
    lines    the texts of the picture, where words are asked for
    options  what is chosen from, where no word is
    grid     names of the rows and of the columns, of a cell or a head
    sign     stands between the names of a row and of a column: together they are the answer
    """

    form: Form
    lines: tuple[GuessLine, ...] = ()
    options: tuple[str, ...] = ()
    grid: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    sign: str = ""
    longest: int = LONGEST_ANSWER

    @property
    def record(self) -> dict[str, Any]:
        """The same as plain values, for JavaScript."""
        return asdict(self)


def guess_of(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> GuessForm:
    """Make what a question is guessed on.

    Raises:
        AttnvizError: the model cannot be loaded, cannot read the text, or there is no such word in it.
    """
    if question.kind == "claim":
        return GuessForm("choices", options=("true", "false"))
    if picture is None or question.kind not in _ON_A_PICTURE:
        lines, choices = _typed_text(question, picture, source), question.texts("choices")
        return GuessForm("choices" if choices else "text", lines, choices)
    return _ON_A_PICTURE[question.kind](question, picture, source)


def typed_texts(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> tuple[str, ...]:
    """Give the texts that a model reads, where a question is about what it makes of them, and not about words of a head."""
    if picture and question.kind == "next":
        # What was written is a part of it.
        return (source.result(picture).prompt.text,)
    if picture is None or not (question.kind == "output" or "by" in question.fields):
        return ()
    prompt = picture.prompt
    # On What matters one box is both.
    return tuple(dict.fromkeys(filter(None, (prompt.text, prompt.pair, prompt.question))))


def _typed_text(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> tuple[GuessLine, ...]:
    return tuple(GuessLine((text,)) for text in typed_texts(question, picture, source))


def _matrix(picture: LessonPicture, source: AnswerSource) -> HeadMatrix:
    return picture.matrix(source.result(picture))


def _places(tokens: Sequence[Token]) -> tuple[int, ...]:
    """List the places of words; those of special tokens only where there are no words."""
    return tuple(at for at, token in enumerate(tokens) if not token.special) or tuple(range(len(tokens)))


def _lines(matrix: HeadMatrix, query: str, key: str, choose: Literal["", "query", "key"]) -> tuple[GuessLine, ...]:
    """Make a line of query words and one of key words, or a single line where both are the same."""
    rows, columns = matrix.queries, matrix.keys
    asked = (word_at(query, rows),) if query else ()
    looked = (word_at(key, columns),) if key else ()
    above = GuessLine(tuple(word_names(rows)), asked, _places(rows) if choose == "query" else ())
    below = GuessLine(tuple(word_names(columns)), looked, _places(columns) if choose == "key" else ())
    if above.words == below.words:
        return (GuessLine(above.words, asked + looked, above.choices or below.choices),)
    return above, below


def _words(question: LessonQuestion, picture: LessonPicture, source: AnswerSource) -> GuessForm:
    query, key = question.text("from"), question.text("to")
    return GuessForm("words", _lines(_matrix(picture, source), query, key, "query" if key else "key"))


def _number(question: LessonQuestion, picture: LessonPicture, source: AnswerSource) -> GuessForm:
    return GuessForm("number", _lines(_matrix(picture, source), question.text("from"), question.text("to"), ""))


def _head(question: LessonQuestion, picture: LessonPicture, source: AnswerSource) -> GuessForm:
    result = source.result(picture)
    attention = picture.attention(result)
    lines = _lines(picture.matrix(result, 0, 0), question.text("from"), question.text("to"), "")
    layers = tuple(head_name(layer, None) for layer in range(attention.n_layers))
    heads = tuple(head_name(0, head).partition("·")[2] for head in range(attention.n_heads))
    return GuessForm("heads", lines, grid=(layers, heads), sign="·")


def _cell(question: LessonQuestion, picture: LessonPicture, source: AnswerSource) -> GuessForm:
    matrix = _matrix(picture, source)
    rows, columns = (tuple(word_names(each)[at] for at in _places(each)) for each in (matrix.queries, matrix.keys))
    return GuessForm("cells", grid=(rows, columns), sign=f" {ARROW} ")


def _order(question: LessonQuestion, picture: LessonPicture, source: AnswerSource) -> GuessForm:
    words = question.texts("words")
    if not question.text("from"):
        return GuessForm("order", _typed_text(question, picture, source), options=words)
    return GuessForm("order", _lines(_matrix(picture, source), question.text("from"), "", ""), options=words)


_ON_A_PICTURE: dict[str, Callable[[LessonQuestion, LessonPicture, AnswerSource], GuessForm]] = {
    "token": _words, "number": _number, "head": _head, "cell": _cell, "order": _order,
}  # fmt: skip
