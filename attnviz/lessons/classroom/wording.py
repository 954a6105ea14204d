"""What a class guessed, beside what is true, in one sentence made of numbers."""

from statistics import median

from attnviz.analysis.wording import whole_percent
from attnviz.lessons.answer_text import read_number
from attnviz.lessons.classroom.class_values import ClassOverview


def class_sentence(overview: ClassOverview) -> str:
    """Say how the guesses of a class compare with the model; empty: nothing is revealed, or nobody has answered.

    >>> from attnviz.lessons.classroom.class_question import AnswerKey, ClassQuestion
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
    chosen = f"{first.count} of {overview.answered}"
    if question.kind == "text" or first.is_right is None:
        return key.sentence
    right = sum(each.count for each in results if each.is_right)
    if question.kind not in ("token", "cell", "head"):
        return f"{right} of {overview.answered} are right. {key.sentence}".strip()
    if first.is_right:
        same = {"token": "so does the head", "cell": "it is the strongest", "head": "this head does it"}[question.kind]
        places = question.words if question.kind == "token" else question.cells()
        weight = dict(zip(places, key.weights, strict=False)).get(first.answer)
        number = "" if weight is None else f": {whole_percent(weight)}"
        return f"{chosen} chose “{first.answer}”, and {same}{number}. {key.sentence}".strip()
    found = f"“{key.right[0]}”" if len(key.right) == 1 else f"one of {len(key.right)} that are right"
    return f"{chosen} chose “{first.answer}”; {right} found {found}. {key.sentence}".strip()


def class_comment(overview: ClassOverview) -> str:
    """Say what the lesson says to a right answer where most of the class were right, else what it says to a wrong one."""
    if overview.key is None or overview.state != "revealed":
        return ""
    right = sum(each.count for each in overview.results if each.is_right)
    return overview.key.if_right if 2 * right > overview.answered else overview.key.if_wrong
