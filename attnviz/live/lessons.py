"""Lessons as pages of a site: steps, prose and questions as HTML, and what the script needs to grade answers in the browser.

The right answers are in the page: whoever looks for them finds them there. What a student hands in is graded by
`attnviz grade`, which computes them anew and trusts nothing else.
"""

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from attnviz.core.errors import AttnvizError
from attnviz.lessons.check import ComputedSource, truths
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep
from attnviz.lessons.library import read_named, shipped_lessons
from attnviz.lessons.question_kinds import NO_ANSWER, points_of
from attnviz.lessons.right_answer import Truth

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
# Words that a claim is answered with.
_VERDICTS = ("true", "yes", "it holds", "false", "no", "it does not hold")
# Thousandths of a share, at which it is tried whether a number is right.
_STEPS = 1000


def lessons_for(pages: Sequence[str], named: Sequence[Path] = ()) -> dict[str, Lesson]:
    """Read the lessons of a site: those of these files, else those that travel with attnviz and open no page but `pages`.

    Raises:
        LessonError: something is wrong with a file.
    """
    if named:
        return {path.stem: read_named(path.stem, {path.stem: path}) for path in named}
    shipped = shipped_lessons()
    lessons = {name: read_named(name, shipped) for name in shipped}
    return {name: each for name, each in lessons.items() if all(_is_here(step, pages) for step in each.steps)}


def _is_here(step: LessonStep, pages: Sequence[str]) -> bool:
    return step.picture is None or (step.picture.page in pages and not step.picture.get("edits1"))


def describe_lesson(lesson: Lesson, source: ComputedSource) -> dict[str, Any]:
    """Say what the script needs to know of a lesson: how each question is answered, and which answers are right.

    Raises:
        LessonError: something is wrong with it; the message has the line.
    """
    right = truths(lesson, source)
    if not lesson.reveals:
        # A page of its own has no place where an answer could be kept from whoever looks for it.
        return {"name": lesson.name, "questions": {number: _unrevealed(question) for number, _, question in lesson.questions}}
    questions = {
        number: describe_question(question, right[number], _heads(source, step)) for number, step, question in lesson.questions
    }
    return {"name": lesson.name, "questions": questions}


def _unrevealed(question: LessonQuestion) -> dict[str, Any]:
    """Write what is asked, and nothing of what is right."""
    asked = {name: question.text(name) for name in ("ask", "hint")}
    return {
        "kind": question.kind,
        "points": points_of(question),
        "answer": "",
        "sentence": "",
        "right": "",
        "wrong": "",
    } | asked


def _heads(source: ComputedSource, step: LessonStep) -> Sequence[tuple[int, int]]:
    """List the heads that the picture of a step has."""
    try:
        result = source.result(step.picture) if step.picture else None
    except AttnvizError:
        return ()
    return [(layer, head) for layer in range(result.card.n_layers) for head in range(result.card.n_heads)] if result else ()


def describe_question(question: LessonQuestion, truth: Truth, heads: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Write what a question says, and which answers it takes: texts, numbers from one to another, or heads."""
    said = {name: question.text(name) for name in ("ask", "hint", "right", "wrong")}
    known = {"kind": question.kind, "points": points_of(question), "answer": truth.answer, "sentence": truth.sentence, **said}
    if question.kind == "number":
        taken = [step for step in range(_STEPS + 1) if truth.accepts(f"{step / _STEPS:.3f}")]
        return known | {"from": taken[0] / _STEPS, "to": taken[-1] / _STEPS}
    if question.kind == "head":
        return known | {"heads": [place for place in heads if truth.accepts(f"L{place[0]}·H{place[1]}")]}
    texts = (truth.answer, *_VERDICTS, NO_ANSWER, *question.texts("choices"))
    return known | {"texts": [text for text in dict.fromkeys(texts) if text and truth.accepts(text)]}


def lesson_html(lesson: Lesson, root: str, missing: Mapping[str, Any]) -> str:
    """Write the steps of a lesson as HTML; `missing` are pages that only the app has."""
    steps = []
    for number, step in enumerate(lesson.steps, 1):
        questions = "".join(_form(f"{number}.{place}", question) for place, question in enumerate(step.questions, 1))
        prose = _prose(step.prose, root) + _picture(step, root, missing)
        steps.append(f'<section class="step"><h2>{number}. {html.escape(step.title)}</h2>{prose}{questions}</section>')
    about = " · ".join(filter(None, (f"{lesson.minutes} minutes", ", ".join(lesson.models))))
    audience = f" For {html.escape(lesson.audience)}." if lesson.audience else ""
    return f"""<div id="lesson" lang="{html.escape(lesson.language)}">
<p class="about">{html.escape(about)}.{audience}</p>
{_prose(lesson.intro, root)}
{"".join(steps)}
<section class="step"><h2>Hand in</h2><p id="points" role="status"></p>
<form id="hand-in"><label for="student">Your name, if your teacher wants it</label>
<input id="student" maxlength="80" autocomplete="off"><button type="submit">Hand in</button></form>
<p class="about">A small file with your answers. Give it to your teacher.</p></section>
</div>"""


def _prose(markdown: str, root: str) -> str:
    """Write prose as HTML, its links to pictures as those of the site."""
    return re.sub(r'<a href="/(\w+)', rf'<a href="{root}\1/', _MARKDOWN.render(markdown))


def _picture(step: LessonStep, root: str, missing: Mapping[str, Any]) -> str:
    """Write the way to the picture of a step, which opens beside the lesson."""
    if (picture := step.picture) is None:
        return ""
    page, _, query = picture.address.lstrip("/").partition("?")
    is_elsewhere = page in missing or "edits" in query
    mark = " <small>This link's page, or its edits, are in the app only.</small>" if is_elsewhere else ""
    return f'<p><a class="open" target="picture" href="{html.escape(f"{root}{page}/?{query}")}">Open the picture</a>{mark}</p>'


def _form(number: str, question: LessonQuestion) -> str:
    """Write the form that a question is answered in."""
    name = f"answer-{number}"
    choices = ("true", "false") if question.kind == "claim" else question.texts("choices")
    ask = f'<label for="{name}">{html.escape(question.ask)}</label>'
    if choices:
        options = "".join(f"<option>{html.escape(choice)}</option>" for choice in choices)
        field = f'<select id="{name}"><option value="">Choose …</option>{options}</select>'
    elif question.kind == "text":
        field = f'<textarea id="{name}" maxlength="4000"></textarea>'
    else:
        field = f'<input id="{name}" maxlength="400" autocomplete="off" spellcheck="false">'
    hint = f"<details><summary>Hint</summary>{html.escape(question.text('hint'))}</details>" if question.text("hint") else ""
    return (
        f'<form class="question" data-question="{number}">{ask}<div class="typed">{field}'
        f'<button type="submit">Answer</button></div>{hint}<p class="verdict" role="status"></p></form>'
    )
