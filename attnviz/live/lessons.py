"""Lessons as pages of a site: steps, prose and questions as HTML, and the files that grade answers.

No right answer is in a page, nor the link to a picture that shows one: they are in files of their own, which the script fetches
when answers were given. Without a server nothing checks that: who knows the address of such a file can open it before. What a
student hands in is graded by `attnviz grade`, which computes the right answers anew and trusts nothing else.
"""

import html
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from markdown_it import MarkdownIt

from attnviz.core.errors import LessonError
from attnviz.lessons.check_lesson import ComputedSource
from attnviz.lessons.classroom.class_values import answer_key
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep, prose_html
from attnviz.lessons.library import ordered, read_named, shipped_lessons
from attnviz.lessons.picture_link import LessonPicture
from attnviz.lessons.question_kinds import QuestionForm, Truth, about, is_hidden, points_of, question_form
from attnviz.live.block_pages import WrittenPage
from attnviz.models.catalog import CATALOG
from attnviz.pages_and_addresses import PAGES

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
# Says in a sentence why a picture cannot be shown, and nothing where it can.
Why = Callable[[LessonPicture], str]


def lessons_for(named: Sequence[Path] = ()) -> dict[str, Lesson]:
    """Read these files, or without any the lessons that travel with attnviz.

    Raises:
        LessonError: something is wrong with a file, or two have one name, in letters of any case.
    """
    places: dict[str, Path] = {}
    for path in named:
        if (same := places.setdefault(path.stem.casefold(), path)) != path:
            raise LessonError(f"{same} and {path} would be one page of the site: rename one of the files.")
    files = {path.stem: path for path in named} or shipped_lessons()
    return {name: read_named(name, files) for name in (files if named else ordered(files))}


def why_missing(
    picture: LessonPicture, pages: Collection[str], models: Sequence[str], written: Mapping[str, WrittenPage] = {}
) -> str:
    """Say in a sentence why a site with these pages and models cannot show a picture; empty: it can.

    `written` are the pages whose pictures were all written when the site was built.
    """
    if picture.page in written:
        is_there = written[picture.page].has(picture.parameters)
        return "" if is_there else "It asks for something that a model would have to compute, which the app does."
    if picture.page == "compute":
        return "It is about numbers of your own, which are typed on Compute in the app."
    title = next(page.title for page in PAGES if page.name == picture.page)
    if picture.page not in pages:
        return f"It opens {title}, which is not part of this site."
    if picture.get("edits") or picture.get("edits1"):
        return "It edits a model's attention, which the app does."
    query = parse_qs(picture.address.partition("?")[2])
    named = query.get("models") or query.get("model") or (["smollm2"] if picture.page == "write" else [])
    if absent := [name for name in named if name not in models]:
        return f"It reads with {absent[0]}, a model that is not part of this site."
    # A page of a site runs the models of its own task alone.
    others = [name for name in named if CATALOG[name].task != picture.task]
    return f"It opens {title} with {others[0]}, which the app does." if others else ""


def describe_lesson(lesson: Lesson, right: Mapping[str, Truth], source: ComputedSource) -> dict[str, Any]:
    """Say what the page's script needs to know of a lesson, and nothing of what is right."""
    questions = {
        number: {
            "form": asdict(question_form(question, step.picture, source)),
            "points": points_of(question),
            "graded": lesson.reveals and bool(right[number].answer),
        }
        for number, step, question in lesson.questions
    }
    return {"name": lesson.name, "questions": questions}


def later_files(
    lesson: Lesson, right: Mapping[str, Truth], source: ComputedSource, root: str, why: Why
) -> dict[str, dict[str, Any]]:
    """Write by name what is fetched later: of a question that was answered what is right, of a step the link to its picture."""
    # A page without a server cannot keep an answer from whoever looks for it: where none is revealed there is none.
    answers = {
        number: describe_answer(question, question_form(question, step.picture, source), right[number])
        for number, step, question in lesson.questions
        if lesson.reveals and right[number].answer
    }
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


def describe_answer(question: LessonQuestion, form: QuestionForm, truth: Truth) -> dict[str, Any]:
    """Write which answers to a question are right, the best of them, and what is said of them."""
    key = asdict(answer_key(question, form, truth))
    return {name: key[name] for name in ("right", "tolerance", "sentence", "if_right", "if_wrong")} | {"answer": truth.in_words}


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
        steps.append(f'<section class="step" dir="auto"{attribute}>{title}{prose}{picture}{questions}</section>')
    audience = f" For {html.escape(lesson.audience)}." if lesson.audience else ""
    return f"""<div id="lesson" lang="{html.escape(lesson.language)}">
<p class="about">{html.escape(lesson.facts)}.{audience}</p>
<div dir="auto">{_prose(lesson.intro, root)}</div>
{"".join(steps)}
<section class="step"><h2>Hand in</h2><p id="points" role="status"></p>
<form id="hand-in"><label for="student">Your name, if your teacher wants it</label>
<input id="student" maxlength="80" autocomplete="off"><button type="submit">Hand in</button></form>
<p class="about">A small file with your answers. Give it to your teacher.</p>
<details id="again" hidden><summary>Start again</summary><button type="button">Delete all answers</button></details></section>
</div>"""


def _prose(markdown: str, root: str) -> str:
    """Write prose as HTML, its links to pictures as those of the site."""
    return re.sub(r'<a href="/?(\w+)', rf'<a href="{root}\1/', _MARKDOWN.render(markdown))


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
    """Write the place where a question is asked: its script draws what it is answered with."""
    advice = html.escape(question.text("hint"))
    hint = f'<details><summary>Hint</summary><div dir="auto">{advice}</div></details>' if advice else ""
    typed = "" if about(question) else " data-typed"
    return (
        f'<form class="question" data-question="{number}" aria-labelledby="ask-{number}"{typed}>'
        f'<p class="ask" id="ask-{number}">{html.escape(question.ask)}</p><div class="asked"></div>'
        f'<button class="give" disabled>Answer</button>{hint}'
        '<p class="verdict" dir="auto" role="status" tabindex="-1"></p></form>'
    )
