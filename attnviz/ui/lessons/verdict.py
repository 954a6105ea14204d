"""How an answer was: right or wrong, and one sentence made of the model's numbers."""

import html

from attnviz.lessons.lesson_file import LessonQuestion
from attnviz.lessons.truth import Truth


def answered_html(question: LessonQuestion, given: str) -> str:
    """Write a question with the answer that was given, and nothing that says whether it is right.

    >>> answered_html(LessonQuestion("token", "Which?", {}, 1), "a<b")
    '<div class="lesson-answer"><p dir="auto">Which?</p><p>You said “a&lt;b”.</p></div>'
    """
    said = f"You said “{html.escape(given)}”." if given else "Not answered."
    return f'<div class="lesson-answer"><p dir="auto">{html.escape(question.ask)}</p><p>{said}</p></div>'


def verdict_html(question: LessonQuestion, given: str, truth: Truth) -> str:
    """Write a question with its right answer, and how the one that was given was."""
    is_right = bool(given) and truth.accepts(given)
    answer = f"<strong>{html.escape(truth.answer)}</strong>"
    said = f"You said “{html.escape(given)}”. The answer is {answer}." if given else f"The answer is {answer}."
    if is_right:
        said = f"Right: {answer}." if given == truth.answer else f"Right: you said “{html.escape(given)}”, and it is {answer}."
    comment = question.text("right" if is_right else "wrong")
    parts = [f'<p dir="auto">{html.escape(question.ask)}</p>', f'<p class="said">{said}</p>']
    parts += [f'<p dir="auto">{html.escape(each)}</p>' for each in (comment, truth.sentence) if each]
    kind = "right" if is_right else "wrong" if given else "shown"
    return f'<div class="lesson-answer {kind}">{"".join(parts)}</div>'
