"""A worksheet as a PDF, set by Typst: text that can be selected, pictures that are vectors."""

import unicodedata
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from markdown_it.tree import SyntaxTreeNode

from attnviz.analysis.wording import counted
from attnviz.core.errors import LessonError
from attnviz.lessons.lesson_file import MARKDOWN
from attnviz.lessons.worksheet import Paper, SheetQuestion, SheetStep, Worksheet

_PAPERS = {"A4": "a4", "Letter": "us-letter"}
# Typst takes of each font the letters that those before it lack.
_FONTS = ("Source Sans 3", "Noto Sans", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans CJK SC", "Libertinus Serif")
_STYLE = """
#set heading(outlined: false)
#show heading: set block(above: 1.5em, below: .8em, sticky: true)
#let small(body) = text(size: 9pt, fill: rgb("#55526b"), lang: "en", dir: ltr, body)
#let tick(body) = block(above: .6em, below: 0pt, box(width: .8em, height: .8em, stroke: .6pt) + h(.6em) + body)
#let rule = block(height: 1.9em, width: 100%, above: 0pt, below: 0pt, stroke: (bottom: .5pt + rgb("#55526b")))
#let given(name, body) = block(
  breakable: false, width: 100%, inset: 8pt, radius: 3pt, stroke: .5pt, strong(name) + parbreak() + body,
)
#let drawing(file, caption) = block(breakable: false, context {
  let size = measure(image(file))
  let scale = calc.min(1.5, 176mm / size.width, 140mm / size.height)
  image(file, width: size.width * scale)
  small(caption)
})
#let coded(file, body) = block(
  breakable: false, sticky: true, above: 1.5em, grid(columns: (1fr, auto), gutter: 5mm, body, image(file)),
)
#let lead(body) = block(sticky: true, body)
#let question(ask, room) = block(breakable: false, above: 1.3em, below: 1.3em, ask + room)
#let name_and_date = grid(columns: (2fr, 1fr), gutter: 2em, small("Name") + rule, small("Date") + rule)
"""
_WRAPPED = {"em": "emph", "strong": "strong", "paragraph": "par"}


def import_typst() -> ModuleType:
    """Import what sets a PDF.

    Raises:
        LessonError: it is not installed.
    """
    try:
        import typst
    except ImportError as error:
        raise LessonError("A PDF needs Typst: install attnviz[print], or write .html and print it from a browser.") from error
    return typst


def worksheet_pdf(sheet: Worksheet, paper: Paper = "A4") -> bytes:
    """Set a worksheet as PDF.

    Raises:
        LessonError: Typst is not installed, or cannot set it.
    """
    typst = import_typst()
    drawings = [drawing for step in sheet.steps for drawing in step.drawings]
    lines = [_settings(sheet, paper), _STYLE, "#{", *_blocks(sheet), "}"]
    # Typst's own types do not say that it takes several files.
    files: Any = {f"{place}.svg": drawing for place, drawing in enumerate(drawings)}
    files |= {f"code-{place}.svg": step.code for place, step in enumerate(sheet.steps)}
    files["main.typ"] = "\n".join(lines).encode("utf-8")
    try:
        return typst.compile(files, format="pdf")
    except typst.TypstError as error:
        raise LessonError(f"Typst cannot set this lesson ({error}): write .html and print it from a browser.") from error


def _settings(sheet: Worksheet, paper: Paper) -> str:
    language = sheet.language.split("-")[0].lower()
    fonts = ", ".join(map(_text, _FONTS))
    return (
        f'#set page(paper: "{_PAPERS[paper]}", margin: (x: 17mm, y: 18mm), numbering: "1")\n'
        f"#set text(font: ({fonts}), size: 10.5pt, lang: {_text(language)}, dir: {sheet.direction})\n"
        f"#set document(title: {_text(sheet.title)})"
    )


def _blocks(sheet: Worksheet) -> Iterator[str]:
    """Yield the statements of the document, one a line."""
    yield f"text(size: 20pt, strong({_text(sheet.title)}))"
    yield f"par(small({_text(sheet.facts)}))\nname_and_date"
    yield _prose(sheet.intro)
    drawn = 0
    for place, step in enumerate(sheet.steps):
        yield from _step(step, place, drawn)
        drawn += len(step.drawings)
    yield f"pagebreak()\nheading(level: 2, {_text(f'Answers: {sheet.title}')})"
    yield 'par(small("' + counted(sheet.points, "point") + '. Computed from the models."))'
    # Each in its own direction (Unicode's first strong isolate): what a model's numbers say is English.
    cells = (_text(f"\u2068{each}\u2069") for row in sheet.key for each in row)
    yield f"table(columns: (auto, 3fr, 2fr, 3fr), stroke: (x: none, y: .5pt), inset: (x: 4pt, y: 6pt), {', '.join(cells)})"


def _step(step: SheetStep, place: int, drawn: int) -> Iterator[str]:
    head = f"heading(level: 2, {_text(step.title)})\nlead({_prose(step.prose)})"
    yield f'coded("code-{place}.svg", {{{head}}})' if step.code else head
    yield from (f"given({_text(name)}, {_text(text)})" for name, text in step.given)
    yield from (f'drawing("{each}.svg", {_text(step.caption)})' for each in range(drawn, drawn + len(step.drawings)))
    if step.address:
        yield f"par(small({_text(step.where)}))"
    yield from map(_question, step.questions)


def _question(question: SheetQuestion) -> str:
    points = f" ({question.worth})" if question.worth else ""
    ask = f"strong({_text(question.number)}) + h(.6em) + {_text(question.ask)} + small({_text(points)})"
    room = " + ".join([*(f"tick({_text(each)})" for each in question.choices), *["rule"] * question.lines])
    return f"question({ask}, {room})"


def _prose(markdown: str) -> str:
    return _node(SyntaxTreeNode(MARKDOWN.parse(markdown)))


def _node(node: SyntaxTreeNode) -> str:
    """Write a part of a Markdown text as an expression of Typst; text is always a string in it, never markup."""
    match node.type:
        case "text":
            return _text(node.content)
        case "code_inline" | "fence" | "code_block":
            return f"raw({_text(node.content)}, block: {str(node.type != 'code_inline').lower()})"
        case "softbreak":
            return '" "'
        case "hardbreak":
            return "linebreak()"
        case "hr":
            return "line(length: 100%)"
    parts = [_node(child) for child in node.children]
    match node.type:
        case "ordered_list":
            return f"enum(start: {node.attrs.get('start', 1)}, {', '.join(parts)})"
        case "bullet_list":
            return f"list({', '.join(parts)})"
        case "table":
            rows = [row for part in node.children for row in part.children]
            cells = [_node(cell) for row in rows for cell in row.children]
            return f"table(columns: {len(rows[0].children)}, {', '.join(cells)})"
        case "heading":
            return f"par(strong({_joined(parts)}))"
        case "blockquote":
            return f"quote(block: true, {_joined(parts)})"
        case "em" | "strong" | "paragraph":
            return f"{_WRAPPED[node.type]}({_joined(parts)})"
    return _joined(parts)


def _joined(parts: list[str]) -> str:
    """Write parts as one block, which Typst reads one after the other: a sum of thousands is nested as deeply for it."""
    return "{" + "\n".join(parts) + "}" if parts else '""'


def _text(text: str) -> str:
    """Write a string of Typst; control characters are left out.

    >>> print(_text('say "a\\\\b"'))
    "say \\"a\\\\b\\""
    """
    shown = "".join(character for character in text if unicodedata.category(character) != "Cc" or character == "\n")
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'
