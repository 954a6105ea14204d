"""The values of a class: its questions and answers, what is said of them, and the teacher's report."""

import html
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from statistics import median
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from attnviz.analysis.head_view import HeadMatrix, word_at, word_names
from attnviz.analysis.wording import cut, head_words, isolated, percent, whole_percent
from attnviz.core.errors import AttnvizError, ClassError, is_unicode
from attnviz.figures.theme import LIGHT
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep, prose_html
from attnviz.lessons.picture_link import TASKS, LessonPicture
from attnviz.lessons.question_kinds import (
    AnswerKind,
    AnswerSource,
    QuestionForm,
    Truth,
    about,
    method_table,
    question_form,
    read_number,
    same_answer,
    truth_of,
)

# Characters of a written answer and of a question; words of a text; cells or heads of a grid.
LONGEST_ANSWER, LONGEST_ASK, MOST_WORDS, MOST_CELLS = 200, 500, 400, 3_200
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
class ClassQuestion(QuestionForm):
    """All that a phone receives before the reveal; `step`: what the wall shows besides."""

    step: ClassStep = ClassStep()

    def __post_init__(self) -> None:
        lines = self.words, self.other, self.texts, self.choices
        texts = (self.ask, *self.rows, *self.columns, *(text for line in lines for text in line))
        if not all(is_unicode(text) and "\x00" not in text for text in texts) or self.kind not in get_args(AnswerKind):
            raise ClassError("This question cannot be asked: it holds what is no text.")
        if max(map(len, lines)) > MOST_WORDS or len(self.rows) * len(self.columns) > MOST_CELLS:
            raise ClassError("This picture has too many words for a phone: ask about a shorter text.")
        if max(map(len, texts)) > LONGEST_ASK:
            raise ClassError(f"A question for a class has at most {LONGEST_ASK} characters: shorten it.")

    def read_answer(self, given: str) -> str:
        """Read an answer as it is kept.

        Raises:
            ClassError: it is none that this question takes.
        """
        fits = is_unicode(given) and "\x00" not in given and len(given) <= LONGEST_ANSWER + LONGEST_ASK * len(self.choices)
        answer = self.read(given) if fits else ""
        if not answer or (self.kind == "text" and len(answer) > LONGEST_ANSWER):
            raise ClassError("This is no answer to this question.")
        return answer


@dataclass(frozen=True)
class AnswerKey:
    """What stays on the server until the reveal.

    right      every right answer; none: nothing is graded. Of a number, its value
    tolerance  how far a number may be off
    sentence   what is said at the reveal, with its numbers
    if_right, if_wrong  what a lesson says besides to a right and to a wrong answer
    weights    0 to 1, of the picture's words, or of the cells of the grid, row by row: how dark each is drawn; of a next
               word the model's share of each choice
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
        """Say whether an answer to a question of that kind is right; None: nobody grades it."""
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


def from_record(record: dict[str, Any]) -> dict[str, Any]:
    """Read a question or a key as JSON holds it, as the arguments of its class."""
    return {name: _from_json(name, value) for name, value in record.items()}


def _from_json(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return (ClassStep if name == "step" else WallPicture)(**from_record(value))
    return tuple(value) if isinstance(value, list) else value


# waiting: nothing has been asked yet; closed: answered no more, and not revealed.
ClassState = Literal["waiting", "open", "closed", "revealed", "ended"]


@dataclass(frozen=True)
class StartedClass:
    """What the teacher holds.

    invite  stands in the QR code: who has it joins, however many wrong codes were typed in the same network
    secret  opens the class as its teacher, from any machine
    """

    code: str
    invite: str
    secret: str


@dataclass(frozen=True)
class Guess:
    """One answer that was given, how often, and whether it is right (None: nobody grades it)."""

    answer: str
    count: int
    is_right: bool | None


@dataclass(frozen=True)
class ClassOverview:
    """What a projector may show. `results`, the most frequent first, and `key` are there once the question is revealed.

    version   grows with all that the phones have to know
    number    of the question, from 1; 0: nothing has been asked
    here      students whose phone was heard of within the last minute
    joined    students at all
    answered  answers to this question
    """

    code: str
    version: int
    state: ClassState
    nicknames: bool
    number: int = 0
    question: ClassQuestion | None = None
    here: int = 0
    joined: int = 0
    answered: int = 0
    results: tuple[Guess, ...] = ()
    key: AnswerKey | None = None

    def for_phones(self) -> dict[str, Any]:
        """Write what every phone of the class receives. What was written in words stays with the teacher."""
        phones: dict[str, Any] = {"code": self.code, "version": self.version, "state": self.state, "number": self.number}
        phones["nicknames"] = self.nicknames
        if self.question is not None and self.state != "ended":
            record = asdict(self.question)
            # A phone has no room for the picture, and 500 phones receive this.
            record["step"] = {name: record["step"][name] for name in ("place", "title", "text", "head", "reveals")}
            phones["question"] = record
        if self.key is not None and self.state == "revealed":
            is_open = self.question is not None and self.question.kind == "text"
            guesses = [] if is_open else [[each.answer, each.count, each.is_right] for each in self.results]
            truth: dict[str, Any] = asdict(self.key)
            del truth["picture"]
            phones["truth"] = {**truth, "answered": self.answered, "guesses": guesses}
        return phones

    @property
    def picture(self) -> WallPicture | None:
        """What a wall draws beside the question: with what was hidden, once that is revealed."""
        if self.question is None or self.state == "ended":
            return None
        revealed = self.key.picture if self.key is not None and self.state == "revealed" else None
        return revealed or self.question.step.picture


@dataclass(frozen=True)
class ClassRound:
    """One question that was asked. `key` and `results` are there once it is revealed, or the class has ended."""

    number: int
    question: ClassQuestion
    state: ClassState
    answered: int
    results: tuple[Guess, ...] = ()
    key: AnswerKey | None = None


@dataclass(frozen=True)
class ClassStudent:
    """One phone of a class.

    round   the number of the present question, 0: nothing has been asked
    answer  what this student has answered to it; None: nothing
    """

    id: int
    number: int
    nickname: str
    round: int = 0
    answer: str | None = None


def guesses_of(answers: Iterable[tuple[str, bool | None]]) -> tuple[Guess, ...]:
    """Count equal answers, the most frequent first.

    >>> guesses_of([("it", False), ("cat", True), ("cat", True)])[0]
    Guess(answer='cat', count=2, is_right=True)
    """
    counted = Counter(answers)
    return tuple(Guess(answer, count, right) for (answer, right), count in counted.most_common())


def class_sentence(overview: ClassOverview) -> str:
    """Say how the guesses of a class compare with the model; empty: nothing is revealed, or nobody has answered.

    >>> from attnviz.lessons.classroom.class_values import AnswerKey, ClassQuestion
    >>> from attnviz.lessons.classroom.class_values import Guess
    >>> question, key = ClassQuestion("token", "Which?", ("it", "cat")), AnswerKey(("cat",), sentence="…", weights=(0.3, 0.57))
    >>> guesses = Guess("cat", 2, True), Guess("it", 1, False)
    >>> common = {"code": "KRTF", "version": 2, "state": "revealed", "nicknames": False}
    >>> class_sentence(ClassOverview(**common, question=question, answered=3, results=guesses, key=key))
    '2 of 3 chose “cat”, and so does the head: 57\\xa0%. …'
    """
    question, key, results = overview.question, overview.key, overview.results
    if question is None or key is None:
        return ""
    if not results:
        return key.sentence
    if question.kind == "number" and key.tolerance is not None:
        values = [value for each in results for value in [read_number(each.answer)] * each.count if value is not None]
        near = sum(each.count for each in results if each.is_right)
        guessed = f"Half of the class guessed {whole_percent(median(values))} or less"
        return f"{guessed}; {near} of {len(values)} came near. {key.sentence}"
    first = results[0]
    leaders = [each.answer for each in results if each.count == first.count]
    if question.kind == "text" or first.is_right is None:
        return key.sentence
    right = sum(each.count for each in results if each.is_right)
    if question.kind not in ("token", "cell", "head"):
        return f"{right} of {overview.answered} {'is' if right == 1 else 'are'} right. {key.sentence}".strip()
    found = f"“{isolated(key.right[0])}”" if len(key.right) == 1 else f"one of {len(key.right)} that are right"
    if len(leaders) > 1:
        which = " and ".join(f"“{isolated(each)}”" for each in leaders) if len(leaders) == 2 else f"{len(leaders)} answers"
        chosen = f"{which} were chosen most, by {first.count} of {overview.answered} each"
        return f"{chosen}; {right} found {found}. {key.sentence}".strip()
    chosen = f"{first.count} of {overview.answered} chose “{isolated(first.answer)}”"
    if first.is_right:
        same = {"token": "so does the head", "cell": "it is the strongest", "head": "this head does it"}[question.kind]
        places = question.words if question.kind == "token" else question.answers
        weight = dict(zip(places, key.weights, strict=False)).get(first.answer)
        number = "" if weight is None else f": {percent(weight)}"
        return f"{chosen}, and {same}{number}. {key.sentence}".strip()
    return f"{chosen}; {right} found {found}. {key.sentence}".strip()


def class_comment(overview: ClassOverview) -> str:
    """Say what the lesson says to a right answer where most of the class were right, else what it says to a wrong one."""
    if overview.key is None or overview.state != "revealed":
        return ""
    right = sum(each.count for each in overview.results if each.is_right)
    return overview.key.if_right if 2 * right > overview.answered else overview.key.if_wrong


_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = f"""
:root {{ font: 16px/1.5 "Source Sans 3", system-ui, sans-serif; color: {LIGHT.text}; background: {LIGHT.background}; }}
body {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }}
section {{ break-inside: avoid; margin: 2rem 0; border-top: 1px solid {LIGHT.border}; }}
.word {{ display: inline-block; padding: .2em .5em; margin: .15em; border-radius: .3em; text-align: center; }}
.word small {{ display: block; }}
table {{ border-collapse: collapse; width: 100%; }} td {{ padding: .2em .8em .2em 0; vertical-align: middle; }}
td:last-child {{ width: 40%; }} i {{ display: block; height: .8em; border-radius: .2em; background: #b85c00; }}
"""


def class_report(code: str, rounds: Sequence[ClassRound]) -> bytes:
    """Write the questions of a class as one HTML file that fetches nothing; what is not revealed has no answers in it."""
    title = f"Class {html.escape(code)}"
    lines = [
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>',
        *(part for each in rounds for part in _round(each)),
        "</body>\n</html>\n",
    ]
    return "\n".join(lines).encode("utf-8")


def _round(class_round: ClassRound) -> Iterator[str]:
    question, key = class_round.question, class_round.key
    yield f'<section>\n<h2 dir="auto">{class_round.number}. {html.escape(question.ask)}</h2>'
    if key is None:
        yield f"<p>{class_round.answered} answered; not revealed.</p>\n</section>"
        return
    if len(key.weights) == len(question.words):
        yield f"<p>{''.join(map(_word, question.words, key.weights))}</p>"
    right = f"Right: {', '.join(key.right[:5])}. " if key.right and key.tolerance is None else ""
    yield f'<p dir="auto">{html.escape(right + key.sentence)}</p>\n<table>'
    for guess in class_round.results:
        mark = {True: "right", False: "wrong", None: ""}[guess.is_right]
        bar = f'<i style="width:{100 * guess.count / class_round.answered:.0f}%"></i>'
        yield f'<tr><td dir="auto">{html.escape(guess.answer)}</td><td>{guess.count}</td><td>{mark}</td><td>{bar}</td></tr>'
    yield "</table>\n</section>"


def _word(name: str, weight: float) -> str:
    place = min(int(weight * len(LIGHT.scale)), len(LIGHT.scale) - 1)
    colour = "#fff" if place > len(LIGHT.scale) / 2 else "#000"
    shown = html.escape(name)
    return (
        f'<span class="word" style="background:{LIGHT.scale[place]};color:{colour}"><bdi>{shown}</bdi>'
        f"<small>{percent(weight)}</small></span>"
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
    # To six digits, however small: a weight that is not 0 is not shown as 0.
    weights = tuple(float(f"{min(max(float(each), 0.0), 1.0):.6g}") for each in truth.weights)
    return AnswerKey(right, truth.tolerance, truth.sentence, weights, "", question.text("right"), question.text("wrong"))


def class_numbers(lesson: Lesson) -> list[str]:
    """List the questions of a lesson that a class is asked, by number: none whose answer stands in a row already revealed."""
    numbers = []
    for number, step, question in lesson.questions:
        before = step.questions[: int(number.partition(".")[2]) - 1]
        rows = {each.text("from") for each in before if about(each) == "row" and each.kind != "number"}
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
    return f"the only head of {card.name}" if card.n_layers == card.n_heads == 1 else head_words(layer, head)


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
    name = "The only head" if result.card.n_layers == result.card.n_heads == 1 else head_words(layer, head, capital=True)
    caption, heads, weights = f"{name} of {result.card.name}", (1, 1), matrix.weights[None]
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
