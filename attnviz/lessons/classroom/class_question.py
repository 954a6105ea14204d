"""A question as a class is asked it: what phones receive to answer it, and apart from it the key, which stays on the server."""

import re
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any, Literal, get_args

from attnviz.analysis.wording import cut
from attnviz.core.errors import ClassError, is_unicode
from attnviz.lessons.answer_text import read_number, same_answer
from attnviz.lessons.question_kinds import ARROW

# How a phone answers: tap a word, a cell or a head, move a slider, choose one, put some in order, write.
AnswerKind = Literal["token", "cell", "head", "number", "choice", "order", "text"]
# Characters of a written answer, of a question and of one word; words of a text; cells or heads of a grid.
LONGEST_ANSWER, LONGEST_ASK, LONGEST_WORD, MOST_WORDS, MOST_CELLS = 200, 500, 200, 400, 3_200
# What a lesson or a program has written, and no model.
_AS_WRITTEN = ("kind", "lesson", "number", "prose", "text", "link", "cells")
_COVERED = "“…” stands for a word that is not shown here."
# Cells of a picture on the wall, of all heads together.
MOST_PICTURE_CELLS = 60_000


@dataclass(frozen=True)
class WallPicture:
    """A matrix, or every head small, as a wall draws it. Nothing of what is hidden is in its cells.

    caption  names the head
    cells    bytes in base64, a head after the other, row by row: 0 to 255 for weights 0 to 1
    heads    layers, and heads of a layer: (1, 1) is one matrix
    marked   rows that the question is about
    hidden_rows, hidden_columns  what waits for the reveal
    """

    caption: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: str
    heads: tuple[int, int] = (1, 1)
    marked: tuple[int, ...] = ()
    hidden_rows: tuple[int, ...] = ()
    hidden_columns: tuple[int, ...] = ()


@dataclass(frozen=True)
class ClassStep:
    """Where a question stands, and what is said and shown there before its answer.

    lesson   its name in an address, and `number` the question's in it, such as "2.1"; empty: asked about a picture
    place    such as "What is “it”? · step 2 of 5 · question 1 of 2"
    title    of the step, with its prose: as HTML, and as plain `text`
    head     that the question is about, such as "head 1 of layer 3"; empty: about none
    link     of a page that does not show the answer; empty: it waits for the reveal
    reveals  False: nobody is told what is right
    """

    lesson: str = ""
    number: str = ""
    place: str = ""
    title: str = ""
    prose: str = ""
    text: str = ""
    hint: str = ""
    head: str = ""
    link: str = ""
    reveals: bool = True
    picture: WallPicture | None = None


@dataclass(frozen=True)
class ClassQuestion:
    """All that a phone receives before the reveal.

    words    of the picture, by names that each stand once, such as "the(2)"; of what is answered in words, the texts to read
    marked   which of them the question is about
    choices  answers to choose from; of kind token those of the words that can be tapped, of kind order what is put in order
    rows     of a grid of cells or heads, with its columns: an answer is "row → column" there, or "L3·H1"
    step     what the wall shows besides
    """

    kind: AnswerKind
    ask: str
    words: tuple[str, ...] = ()
    marked: tuple[int, ...] = ()
    choices: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    step: ClassStep = ClassStep()

    def __post_init__(self) -> None:
        texts = (self.ask, *self.words, *self.choices, *self.rows, *self.columns)
        if not all(is_unicode(text) and "\x00" not in text for text in texts) or self.kind not in get_args(AnswerKind):
            raise ClassError("This question cannot be asked: it holds what is no text.")
        if len(self.words) > MOST_WORDS or len(self.rows) * len(self.columns) > MOST_CELLS or len(self.choices) > MOST_WORDS:
            raise ClassError("This picture has too many words for a phone: ask about a shorter text.")
        if len(self.ask) > LONGEST_ASK or max(map(len, texts)) > LONGEST_ASK:
            raise ClassError(f"A question for a class has at most {LONGEST_ASK} characters: shorten it.")

    def read_answer(self, given: str) -> str:
        """Read an answer as it is kept.

        Raises:
            ClassError: it is none that this question takes.
        """
        if not is_unicode(given) or "\x00" in given or len(given) > LONGEST_ANSWER + LONGEST_ASK * len(self.choices):
            raise ClassError("This is no answer to this question.")
        answer = " ".join(given.split())
        if self.kind == "number":
            value = read_number(answer)
            fits = value is not None and value <= 1
        elif self.kind in ("cell", "head"):
            fits = answer in self.cells()
        elif self.kind == "order":
            fits = sorted(answer.split(" > ")) == sorted(" ".join(each.split()) for each in self.choices)
        elif self.kind == "text":
            fits = 0 < len(answer) <= LONGEST_ANSWER
        else:
            fits = answer in self.choices or given in self.choices
        if not fits:
            raise ClassError("This is no answer to this question.")
        return given if given in self.choices else answer

    def cells(self) -> list[str]:
        """Name every cell of the grid as an answer does, row by row."""
        between = "·" if self.kind == "head" else f" {ARROW} "
        return [f"{row}{between}{column}" for row in self.rows for column in self.columns]


@dataclass(frozen=True)
class AnswerKey:
    """What stays on the server until the reveal.

    right      every right answer; none: nothing is graded. Of a number, its value
    tolerance  how far a number may be off
    sentence   what is said at the reveal, with its numbers
    if_right, if_wrong  what a lesson says besides to a right and to a wrong answer
    weights    0 to 1, of the picture's words, or of the cells of the grid, row by row: how dark each is drawn
    link       the address of the picture in the app
    picture    what the wall draws now; None: what it drew before
    """

    right: tuple[str, ...] = ()
    tolerance: float | None = None
    sentence: str = ""
    weights: tuple[float, ...] = ()
    link: str = ""
    if_right: str = ""
    if_wrong: str = ""
    picture: WallPicture | None = None

    def accepts(self, answer: str, kind: AnswerKind) -> bool | None:
        """Whether an answer to a question of that kind is right; None: nobody grades it."""
        if not self.right:
            return None
        if self.tolerance is not None:
            value, true = read_number(answer), float(self.right[0])
            return value is not None and abs(value - true) <= self.tolerance + 1e-6
        # What is tapped is one of several, of which `right` has all that a lesson accepts.
        return answer in self.right or (kind == "text" and any(same_answer(answer, each) for each in self.right))


def covered(question: ClassQuestion, key: AnswerKey, blocked: Collection[str]) -> tuple[ClassQuestion, AnswerKey]:
    """Write “…” in place of every blocked word, whole and in any case, and say so; a second word is “…2”.

    >>> asked = ClassQuestion("token", "Which?", ("Merde", "merdes"), choices=("Merde", "merdes"))
    >>> shown, told = covered(asked, AnswerKey(("Merde",)), ["merde"])
    >>> shown.choices, told.right, shown.ask
    (('…', 'merdes'), ('…',), 'Which? “…” stands for a word that is not shown here.')
    """
    if not blocked:
        return question, key
    # Capitals of a letter may be two letters, as of ß.
    spellings = {spelling for word in blocked for spelling in (word, word.casefold(), word.upper())}
    listed = "|".join(map(re.escape, sorted(spellings, key=len, reverse=True)))
    pattern, stands = re.compile(rf"(?<!\w)(?:{listed})(?!\w)", re.IGNORECASE), {}

    def cover(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(
                lambda word: stands.setdefault(word[0].casefold(), f"…{len(stands) + 1 if stands else ''}"), value
            )
        if isinstance(value, tuple):
            return tuple(map(cover, value))
        if not is_dataclass(value):
            return value
        changed = {each.name: cover(getattr(value, each.name)) for each in fields(value) if each.name not in _AS_WRITTEN}
        return replace(value, **changed)

    asked, told = cover(question), cover(key)
    if asked != question:
        asked = replace(asked, ask=f"{cut(asked.ask, LONGEST_ASK - len(_COVERED) - 1)} {_COVERED}")
    if told != key:
        told = replace(told, sentence=f"{told.sentence} {_COVERED}".strip())
    return asked, told


def to_record(value: ClassQuestion | AnswerKey) -> dict[str, Any]:
    """Write a question or a key as JSON can hold it."""
    return asdict(value)


def from_record(record: dict[str, Any]) -> dict[str, Any]:
    """Read what `to_record` wrote, as the arguments of its class."""
    return {name: _from_json(name, value) for name, value in record.items()}


def _from_json(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return (ClassStep if name == "step" else WallPicture)(**from_record(value))
    return tuple(value) if isinstance(value, list) else value
