"""A lesson on paper: steps with their pictures, questions with room to write, and the answers on a sheet of their own."""

import html
import io
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import segno

from attnviz.analysis.head_view import head_matrix
from attnviz.analysis.wording import counted, isolated
from attnviz.core.errors import AttnvizError, LessonError
from attnviz.export import draw_sheet
from attnviz.export.grids_and_matrices import draw_grid, draw_matrix
from attnviz.export.matters_report import draw_methods
from attnviz.export.picture import Picture
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep, prose_html
from attnviz.lessons.picture_link import TASKS, LessonPicture
from attnviz.lessons.question_kinds import (
    KINDS,
    OF_A_ROW,
    AnswerSource,
    Truth,
    about,
    hidden_map,
    method_table,
    points_of,
    question_form,
)

Paper = Literal["A4", "Letter"]
RIGHT_TO_LEFT = ("ar", "dv", "fa", "he", "ps", "ur", "yi")
_OF_METHODS = (
    "What each word is worth to the output: a row is a method, a column a word. Orange speaks for the output, blue against it; "
    "the darker, the more."
)
# A module of a QR code: three pixels of a page at 80 dpi, as a projector or a poor printer shows it.
_MODULE_MM, _WIDEST_CODE_MM = 0.95, 62.0


@dataclass(frozen=True)
class SheetQuestion:
    """A question as it is printed: boxes to tick where there are choices, else so many lines to write on.

    worth  such as "2 points"; empty: it is not graded
    """

    number: str
    ask: str
    worth: str
    choices: tuple[str, ...] = ()
    lines: int = 0


@dataclass(frozen=True)
class SheetStep:
    """A step as it is printed.

    prose     Markdown
    given     what the model reads, where no matrix shows it: each with its name, such as ("Question", "Who …?")
    drawings  SVG files
    caption   what the drawings show
    address   of the step in the app, or of its picture; empty: there is none
    code      the address as a QR code, an SVG file; empty: the address has no host, or is too long
    needs_app the picture of the step is one that moves, or that a claim or a training makes: no sheet has it
    """

    title: str
    prose: str
    given: tuple[tuple[str, str], ...]
    drawings: tuple[bytes, ...]
    caption: str
    address: str
    questions: tuple[SheetQuestion, ...]
    code: bytes = b""
    needs_app: bool = False

    @property
    def where(self) -> str:
        """The address, and what it is for."""
        return f"{'For this step you need the app' if self.needs_app else 'In the app'}: {self.address}"


@dataclass(frozen=True)
class Worksheet:
    """A lesson as it is printed. `key` has of each graded question its number, what it asks, the answer and its sentence."""

    title: str
    facts: str
    language: str
    intro: str
    steps: tuple[SheetStep, ...]
    key: tuple[tuple[str, str, str, str], ...]
    points: int

    @property
    def direction(self) -> Literal["ltr", "rtl"]:
        return "rtl" if self.language.split("-")[0].lower() in RIGHT_TO_LEFT else "ltr"


def worksheet(
    lesson: Lesson, right: Mapping[str, Truth], source: AnswerSource, *, site: str = "", is_offered: bool = False
) -> Worksheet:
    """Lay a lesson out for paper; `right` are its answers by number, as `attnviz.lessons.check_lesson.truths` computes them.

    site        where the app is reached, such as https://attnviz.school.example: addresses begin with it
    is_offered  the app there knows the lesson by its name: addresses open its steps, whose pictures wait for an answer

    Raises:
        AttnvizError: a picture cannot be computed.
    """
    numbers = {(step.line, question.line): number for number, step, question in lesson.questions}
    steps = []
    for number, step in enumerate(lesson.steps, 1):
        own = step.picture.address if step.picture else ""
        address = f"/lessons?{urlencode({'lesson': lesson.name, 'step': number})}" if is_offered else own
        printed = _step(step, _with_questions_of_same_text(step, lesson), numbers, source)
        steps.append(replace(printed, address=site + address, code=_code(site + address)) if address else printed)
    key = tuple(
        (number, question.ask, right[number].in_words or "not graded", right[number].sentence)
        for number, _, question in lesson.questions
    )
    graded = sum(points_of(question) for number, _, question in lesson.questions if right[number].answer)
    models = f"model{'s' if len(lesson.models) > 1 else ''}: {', '.join(lesson.models)}" if lesson.models else ""
    facts = filter(None, (counted(lesson.minutes, "minute"), models, lesson.audience))
    return Worksheet(lesson.title, " · ".join(facts), lesson.language, lesson.intro, tuple(steps), key, graded)


def _with_questions_of_same_text(step: LessonStep, lesson: Lesson) -> LessonStep:
    """Add to a step what other steps ask about rows of the same text: on paper all pictures are seen at once."""
    others = [
        question
        for each in lesson.steps
        if each is not step and _text_of(each) == _text_of(step)
        for question in each.questions
        if about(question) in OF_A_ROW and (question.text("from") or question.text("by"))
    ]
    return replace(step, questions=(*step.questions, *others))


def _text_of(step: LessonStep) -> tuple[str, ...] | None:
    """Name what decides which words a picture has, and how they are called."""
    names = ("text", "pair", "attention", "between", "words", "whole_words", "hide_special")
    return (step.picture.page, step.picture.model, *map(step.picture.get, names)) if step.picture else None


def _step(step: LessonStep, hides: LessonStep, numbers: Mapping[tuple[int, int], str], source: AnswerSource) -> SheetStep:
    questions = tuple(_question(numbers[step.line, each.line], each, step.picture, source) for each in step.questions)
    if step.picture is None:
        return SheetStep(step.title, step.prose, (), (), "", "", questions)
    shown_by = {about(each) for each in step.questions}
    # The rows of a translation are what the model says.
    drawings, caption = ((), "") if "output" in shown_by else _drawings(hides, step.picture, "heads" in shown_by, source)
    given = () if drawings else _given(step.picture)
    if "next" in shown_by:
        given = (("Text", source.result(step.picture).prompt.text),)
    needs_app = step.picture.page not in TASKS or step.picture.page == "whatif"
    return SheetStep(step.title, step.prose, given, drawings, caption, "", questions, needs_app=needs_app)


def _code(address: str) -> bytes:
    """Draw an address as a QR code, black on white with its quiet zone; none where no phone could open it."""
    if not address.startswith("http"):
        return b""
    try:
        code = segno.make(address, error="m", micro=False)
    except segno.DataOverflowError:
        return b""
    file, (width, _) = io.BytesIO(), code.symbol_size(border=4)
    scale = min(_MODULE_MM, _WIDEST_CODE_MM / width)
    code.save(file, kind="svg", border=4, scale=scale, unit="mm", light="#fff", xmldecl=True, nl=True)
    return file.getvalue()


def _question(number: str, question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> SheetQuestion:
    form, kind, points = question_form(question, picture, source), KINDS[question.kind], points_of(question)
    ask = f"{form.ask} ({', '.join(form.choices)})" if form.kind == "order" else form.ask
    worth = counted(points, "point")
    choices = form.choices if form.kind == "choice" else ()
    return SheetQuestion(number, ask, worth if kind.is_graded else "", choices, 0 if choices else kind.lines)


def _drawings(step: LessonStep, picture: LessonPicture, all_heads: bool, source: AnswerSource) -> tuple[tuple[bytes, ...], str]:
    """Draw the head that the link names, or every head small where a question asks for one; leave out rows that answer."""
    if picture.page not in TASKS:
        return (), ""
    if picture.page == "matters":
        table = method_table(step.questions, picture, source)
        waits = _waits([table.titles[row] for row in table.hidden])
        drawn = draw_methods(table.titles, table.words, table.values, table.hidden)
        return (draw_sheet(drawn, "svg"),), f"{_OF_METHODS}{waits}"
    result = source.result(picture)
    try:
        attention, (layer, head) = picture.attention(result), picture.head(result.card)
        if any(map(about, step.questions)):
            if (hidden := hidden_map(step, source)) is None:
                # Nothing would be left to look at.
                return (), ""
            attention = hidden
    except LessonError:
        # The page draws no head of one model, or the link names none: what the model reads is printed.
        return (), ""
    matrix = head_matrix(attention, layer=layer, head=head, view=picture.view)
    maps = tuple(attention if each.kind == attention.kind else each for each in result.trace.maps)
    words = dict.fromkeys(filter(None, (each.text("from") for each in step.questions)))
    waits = "" if matrix.visible.any(axis=1).all() else _waits(words)
    masked = ("masked or hidden" if matrix.causal else "hidden") if waits else "masked"
    shown = Picture(replace(result.trace, maps=maps), attention.kind, layer, head, matrix, picture.view, masked=masked)
    if all_heads:
        caption = (
            f"All heads of {shown.model}: a row of pictures is a layer, from layer 0; the first picture in it is head 0.{waits}"
        )
        return (draw_sheet(draw_grid(shown), "svg"),), caption
    name = "The only head" if attention.n_layers == attention.n_heads == 1 else f"Head {head} of layer {layer}"
    name = f"The mean over the heads of layer {layer}" if head is None else name
    caption = f"{name} of {shown.model}. A row is a word that looks, a column a word that is looked at.{waits}"
    return (draw_sheet(draw_matrix(shown), "svg"),), caption


def _waits(names: Collection[str]) -> str:
    """Say which rows a picture does not show.

    >>> _waits(["it", "tired"])
    ' The rows of “it”, “tired” are hidden.'
    """
    if not names:
        return ""
    row, is_hidden = ("row", "is hidden") if len(names) == 1 else ("rows", "are hidden")
    return f" The {row} of {', '.join(f'“{isolated(name)}”' for name in names)} {is_hidden}."


def _given(picture: LessonPicture) -> tuple[tuple[str, str], ...]:
    try:
        prompt = picture.prompt
    except AttnvizError:
        return ()
    if prompt.question:
        return ("Question", prompt.question), ("Passage", prompt.text)
    return (("Text", prompt.text), *((("Second text", prompt.pair),) if prompt.pair else ()))


_STYLE = (Path(__file__).parent / "worksheet.css").read_text(encoding="utf-8")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def worksheet_html(sheet: Worksheet, paper: Paper = "A4") -> bytes:
    """Write a worksheet as HTML; its paper is what a browser prints it on."""
    lines = [
        f'<!doctype html>\n<html lang="{html.escape(sheet.language)}" dir="{sheet.direction}">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{html.escape(sheet.title)}</title>\n<style>@page {{ size: {paper} }}\n{_STYLE}</style>\n</head>\n<body>",
        f'<h1 dir="auto">{html.escape(sheet.title)}</h1>\n<p class="facts" dir="auto">{html.escape(sheet.facts)}</p>',
        '<p class="name"><span>Name</span><span>Date</span></p>',
        _prose_html(sheet.intro),
        *(part for step in sheet.steps for part in _step_html(step)),
        *_key(sheet),
        "</body>\n</html>\n",
    ]
    return "\n".join(line for line in lines if line).encode("utf-8")


def _prose_html(markdown: str) -> str:
    return prose_html(markdown).replace("<p>", '<p dir="auto">')


def _step_html(step: SheetStep) -> Iterator[str]:
    title, prose = html.escape(step.title), _prose_html(step.prose)
    yield f'<section>\n{_code_html(step)}<h2 dir="auto">{title}</h2>\n<div class="lead">{prose}</div>'
    for name, text in step.given:
        yield f'<div class="given"><h3>{name}</h3><p dir="auto">{html.escape(text)}</p></div>'
    for drawing in step.drawings:
        yield f'<figure dir="ltr">\n{_svg(drawing)}<figcaption>{html.escape(step.caption)}</figcaption>\n</figure>'
    if step.address:
        yield f'<p class="address" dir="ltr">{html.escape(step.where)}</p>'
    yield from (_question_html(each) for each in step.questions)
    yield "</section>"


def _code_html(step: SheetStep) -> str:
    return f'<div class="code" role="img" aria-label="QR code of this step">{_svg(step.code)}</div>\n' if step.code else ""


def _svg(file: bytes) -> str:
    # In HTML an SVG has no declaration of its own.
    return file.decode("utf-8").partition("?>\n")[2]


def _question_html(question: SheetQuestion) -> str:
    points = f' <span class="points" dir="ltr">({question.worth})</span>' if question.worth else ""
    rows = "".join(f'<li dir="auto"><span class="box"></span>{html.escape(each)}</li>' for each in question.choices)
    room = f'<ul class="choices">{rows}</ul>' if rows else '<div class="line"></div>' * question.lines
    return f'<div class="question"><p dir="auto"><b>{question.number}</b> {html.escape(question.ask)}{points}</p>{room}</div>'


def _key(sheet: Worksheet) -> Iterator[str]:
    yield f'<section class="key">\n<h2 dir="auto">Answers: {html.escape(sheet.title)}</h2>'
    yield f'<p class="facts" dir="auto">{counted(sheet.points, "point")}. Computed from the models.</p>\n<table>'
    for number, ask, answer, sentence in sheet.key:
        cells = (f'<td dir="auto">{html.escape(each)}</td>' for each in (ask, answer, sentence))
        yield f'<tr><th scope="row">{number}</th>{"".join(cells)}</tr>'
    yield "</table>\n</section>"
