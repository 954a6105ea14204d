"""Right answers from what the app computes in the background, once for everybody who is in the same lesson."""

import streamlit as st

from attnviz.analysis.heads.verdict import ClaimResult
from attnviz.core.errors import LessonError
from attnviz.core.shares import Shares
from attnviz.lessons.picture_link import LessonPicture
from attnviz.lessons.question_kinds import truth_of
from attnviz.lessons.right_answer import Truth
from attnviz.models.result import Result
from attnviz.ui.background.corpus_results import claim_verdict
from attnviz.ui.background.results import in_quantity, run
from attnviz.ui.background.shares_and_costs import shares
from attnviz.ui.lessons.place import LessonPlace

# What exactly is wrong stands above it.
_NOTHING = "The answer to this question cannot be computed here."


class PageSource:
    """Results that pages keep; what cannot be computed is said where it is asked for."""

    def result(self, picture: LessonPicture) -> Result:
        result = run(picture.model, picture.task, picture.prompt, edits=picture.edits)
        if result is None:
            raise LessonError(_NOTHING)
        return in_quantity(result, picture.quantity)

    def verdict(self, model: str, claim: str) -> ClaimResult:
        if (tested := claim_verdict(model, claim)) is None:
            raise LessonError(_NOTHING)
        return tested.result

    def shares(self, picture: LessonPicture, method: str) -> Shares:
        if (computed := shares(picture.model, picture.prompt, method)) is None:
            raise LessonError(_NOTHING)
        return computed


def truth_at(place: LessonPlace, number: str) -> Truth:
    """Compute the right answer to a question that was answered, once in a visit.

    Raises:
        AttnvizError: it has none that can be taught, or cannot be computed here.
    """
    known: dict[tuple[str, str], Truth] = st.session_state.setdefault("lesson_truths", {})
    key = place.name, number
    if key not in known:
        _, step, question = next(each for each in place.lesson.questions if each[0] == number)
        known[key] = truth_of(question, step.picture, PageSource())
    return known[key]
