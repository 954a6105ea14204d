"""How an answer was: right or wrong, and one sentence made of the model's numbers."""

import html

from attnviz.analysis.wording import whole_percent
from attnviz.lessons.answer_text import as_sentence, plain
from attnviz.lessons.lesson_file import LessonQuestion
from attnviz.lessons.right_answer import Truth


def answered_html(question: LessonQuestion, given: str, unanswered: str = "Not answered.") -> str:
    """Write a question with the answer that was given, and nothing that says whether it is right.

    >>> answered_html(LessonQuestion("token", "Which?", {}, 1), "a<b")
    '<div class="lesson-answer"><p dir="auto">Which?</p><p>You said “a&lt;b”.</p></div>'
    """
    said = html.escape(as_sentence(f"You said “{given}”")) if given else unanswered
    return f'<div class="lesson-answer"><p dir="auto">{html.escape(question.ask)}</p><p>{said}</p></div>'


def verdict_html(question: LessonQuestion, given: str, truth: Truth) -> str:
    """Write a question with its right answer, and how the one that was given was."""
    is_right = bool(given) and truth.accepts(given)
    # As it is guessed.
    right = whole_percent(float(truth.answer)) if question.kind == "number" else truth.answer
    answer = f"<strong>{html.escape(right)}</strong>{as_sentence(right)[len(right) :]}"
    said = f"The answer is {answer}"
    if is_right:
        is_same = plain(given) == plain(right)
        said = f"Right: {answer}" if is_same else f"Right: you said “{html.escape(given)}”, and it is {answer}"
    elif given:
        said = f"{html.escape(as_sentence(f'You said “{given}”'))} {said}"
    comment = question.text("right" if is_right else "wrong")
    parts = [f'<p dir="auto">{html.escape(question.ask)}</p>', f'<p class="said">{said}</p>']
    parts += [f'<p dir="auto">{html.escape(each)}</p>' for each in (comment, truth.sentence) if each]
    kind = "right" if is_right else "wrong" if given else "shown"
    return f'<div class="lesson-answer {kind}">{"".join(parts)}</div>'
