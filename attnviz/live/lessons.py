"""Lessons as pages of a site: steps, prose and questions as HTML, and the files that grade answers.

No right answer is in a page, nor the link to a picture that shows one: they are in files of their own, which the script fetches
when answers were given. Without a server nothing checks that: who knows the address of such a file can open it before. What a
student hands in is graded by `attnviz grade`, which computes the right answers anew and trusts nothing else.
"""

import html
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from attnviz.core.errors import AttnvizError
from attnviz.lessons.check import ComputedSource
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep, prose_html
from attnviz.lessons.library import read_named, shipped_lessons
from attnviz.lessons.picture_link import TYPED_KINDS, LessonPicture, is_hidden
from attnviz.lessons.question_kinds import NO_ANSWER, Truth, points_of
from attnviz.live.page_html import APP_PAGES

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
# Says in a sentence why a picture cannot be shown, and nothing where it can.
Why = Callable[[LessonPicture], str]
# Words that a claim is answered with.
_VERDICTS = ("true", "yes", "it holds", "false", "no", "it does not hold")
# Thousandths of a share, at which it is tried whether a number is right.
_STEPS = 1000


def lessons_for(named: Sequence[Path] = ()) -> dict[str, Lesson]:
    """Read these files, or without any the lessons that travel with attnviz.

    Raises:
        LessonError: something is wrong with a file.
    """
    files = {path.stem: path for path in named} or shipped_lessons()
    return {name: read_named(name, files) for name in files}


def why_missing(picture: LessonPicture, pages: Collection[str], models: Sequence[str]) -> str:
    """Say in a sentence why a site with these pages and models cannot show a picture; empty: it can."""
    if picture.page == "compute":
        return "It is about numbers of your own, which are typed on Compute in the app."
    if picture.page not in pages:
        title = APP_PAGES[picture.page][0] if picture.page in APP_PAGES else picture.page.capitalize()
        return f"It opens {title}, which is not part of this site."
    if picture.get("edits") or picture.get("edits1"):
        return "It edits a model's attention, which the app does."
    others = [name for name in (picture.get("models") or picture.get("model")).split(",") if name and name not in models]
    return f"It reads with {others[0]}, a model that is not part of this site." if others else ""


def describe_lesson(lesson: Lesson, right: Mapping[str, Truth]) -> dict[str, Any]:
    """Say what the page's script needs to know of a lesson, and nothing of what is right."""
    questions = {
        number: {"ask": question.ask, "points": points_of(question), "graded": lesson.reveals and bool(right[number].answer)}
        for number, _, question in lesson.questions
    }
    return {"name": lesson.name, "questions": questions}


def later_files(
    lesson: Lesson, right: Mapping[str, Truth], source: ComputedSource, root: str, why: Why
) -> dict[str, dict[str, Any]]:
    """Write by name what is fetched later: of a question that was answered what is right, of a step the link to its picture."""
    # A page without a server cannot keep an answer from whoever looks for it: where none is revealed there is none.
    asked = [(number, step, question) for number, step, question in lesson.questions if lesson.reveals and right[number].answer]
    answers = {number: describe_question(question, right[number], _heads(source, step)) for number, step, question in asked}
    pictures = {
        f"step-{number}": {"picture": _site_link(step.picture, root)}
        for number, step in enumerate(lesson.steps, 1)
        if step.picture and _waits(lesson, number, why)
    }
    return answers | pictures


def _waits(lesson: Lesson, number: int, why: Why) -> bool:
    """Say whether the picture of a step, from 1, would give away what it asks, or what a step before it does."""
    picture = lesson.steps[number - 1].picture
    return bool(picture) and not why(picture) and any(is_hidden(lesson, each, {}) for each in range(1, number + 1))


def _heads(source: ComputedSource, step: LessonStep) -> Sequence[tuple[int, int]]:
    """List the heads that the picture of a step has."""
    try:
        result = source.result(step.picture) if step.picture else None
    except AttnvizError:
        return ()
    return [(layer, head) for layer in range(result.card.n_layers) for head in range(result.card.n_heads)] if result else ()


def describe_question(question: LessonQuestion, truth: Truth, heads: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Write which answers a question takes, and what is said of them: texts, numbers from one to another, or heads."""
    said = {name: question.text(name) for name in ("right", "wrong")}
    known = {"kind": question.kind, "answer": truth.answer, "sentence": truth.sentence, **said}
    if question.kind == "number":
        taken = [step for step in range(_STEPS + 1) if truth.accepts(f"{step / _STEPS:.3f}")]
        return known | {"from": taken[0] / _STEPS, "to": taken[-1] / _STEPS}
    if question.kind == "head":
        return known | {"heads": [place for place in heads if truth.accepts(f"L{place[0]}·H{place[1]}")]}
    texts = (truth.answer, *_VERDICTS, NO_ANSWER, *question.texts("choices"))
    return known | {"texts": [text for text in dict.fromkeys(texts) if text and truth.accepts(text)]}


def absent_lessons(lessons: Mapping[str, Lesson], why: Why) -> dict[str, str]:
    """Name the lessons of which a picture cannot be shown, each with the first reason."""
    reasons = {name: [why(step.picture) for step in lesson.steps if step.picture] for name, lesson in lessons.items()}
    return {name: next(filter(None, each)) for name, each in reasons.items() if any(each)}


def lesson_html(lesson: Lesson, root: str, why: Why) -> str:
    """Write the steps of a lesson as HTML; `why` says of a picture why it cannot be shown, and nothing where it can."""
    steps = []
    for number, step in enumerate(lesson.steps, 1):
        questions = "".join(_form(f"{number}.{place}", question) for place, question in enumerate(step.questions, 1))
        reason = why(step.picture) if step.picture else ""
        waits = _waits(lesson, number, why)
        # In the prose, too, the link would lead to what is asked.
        prose = prose_html(step.prose) if waits else _prose(step.prose, root)
        title, attribute = f"<h2>{number}. {html.escape(step.title)}</h2>", " data-waits" if waits else ""
        picture = _picture(step, root, reason, waits)
        steps.append(f'<section class="step"{attribute}>{title}{prose}{picture}{questions}</section>')
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


def _picture(step: LessonStep, root: str, reason: str, waits: bool) -> str:
    """Write the way to the picture of a step, which opens beside the lesson, or the reason why there is none (yet)."""
    if step.picture is None:
        return ""
    if reason:
        return f'<p class="about">The picture of this step is in the app alone. {html.escape(reason)}</p>'
    address = "" if waits else f' href="{html.escape(_site_link(step.picture, root))}"'
    later = '<span class="waits">The picture opens when you have answered.</span>' if waits else ""
    return f'<p><a class="open" target="picture"{address}>Open the picture</a>{later}</p>'


def _site_link(picture: LessonPicture, root: str) -> str:
    """Write the address of a picture on the site."""
    page, _, query = picture.address.lstrip("/").partition("?")
    return f"{root}{page}/?{query}"


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
    typed = " data-typed" if question.kind in TYPED_KINDS else ""
    return (
        f'<form class="question" data-question="{number}"{typed}>{ask}<div class="typed">{field}'
        f'<button type="submit">Answer</button></div>{hint}<p class="verdict" role="status"></p></form>'
    )
