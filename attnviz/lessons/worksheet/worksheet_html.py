"""A worksheet as one HTML file that prints well and fetches nothing."""

import html
from collections.abc import Iterator
from pathlib import Path

from attnviz.lessons.lesson_file import prose_html
from attnviz.lessons.worksheet.worksheet import Paper, SheetQuestion, SheetStep, Worksheet

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
        _prose(sheet.intro),
        *(part for step in sheet.steps for part in _step(step)),
        *_key(sheet),
        "</body>\n</html>\n",
    ]
    return "\n".join(line for line in lines if line).encode("utf-8")


def _prose(markdown: str) -> str:
    return prose_html(markdown).replace("<p>", '<p dir="auto">')


def _step(step: SheetStep) -> Iterator[str]:
    yield f'<section>\n{_code(step)}<h2 dir="auto">{html.escape(step.title)}</h2>\n<div class="lead">{_prose(step.prose)}</div>'
    for name, text in step.given:
        yield f'<div class="given"><h3>{name}</h3><p dir="auto">{html.escape(text)}</p></div>'
    for drawing in step.drawings:
        yield f'<figure dir="ltr">\n{_svg(drawing)}<figcaption>{html.escape(step.caption)}</figcaption>\n</figure>'
    if step.address:
        yield f'<p class="address" dir="ltr">{html.escape(step.where)}</p>'
    yield from (_question(each) for each in step.questions)
    yield "</section>"


def _code(step: SheetStep) -> str:
    return f'<div class="code" role="img" aria-label="QR code of this step">{_svg(step.code)}</div>\n' if step.code else ""


def _svg(file: bytes) -> str:
    # In HTML an SVG has no declaration of its own.
    return file.decode("utf-8").partition("?>\n")[2]


def _question(question: SheetQuestion) -> str:
    points = f' <span class="points">({question.worth})</span>' if question.worth else ""
    rows = "".join(f'<li dir="auto"><span class="box"></span>{html.escape(each)}</li>' for each in question.choices)
    room = f'<ul class="choices">{rows}</ul>' if rows else '<div class="line"></div>' * question.lines
    return f'<div class="question"><p dir="auto"><b>{question.number}</b> {html.escape(question.ask)}{points}</p>{room}</div>'


def _key(sheet: Worksheet) -> Iterator[str]:
    yield f'<section class="key">\n<h2 dir="auto">Answers: {html.escape(sheet.title)}</h2>'
    yield f'<p class="facts">{sheet.points} points. Computed from the models.</p>\n<table>'
    for number, ask, answer, sentence in sheet.key:
        cells = (f'<td dir="auto">{html.escape(each)}</td>' for each in (ask, answer, sentence))
        yield f'<tr><th scope="row">{number}</th>{"".join(cells)}</tr>'
    yield "</table>\n</section>"
