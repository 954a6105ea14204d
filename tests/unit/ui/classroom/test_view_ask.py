"""What a class can be asked about a picture: nothing that the weights do not answer."""

import numpy as np
import pytest

from attnviz.analysis.head_view import head_matrix
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt
from attnviz.lessons.picture_link import LessonPicture, read_link
from attnviz.models.base import ModelCard
from attnviz.models.result import Result
from attnviz.ui.classroom import view
from attnviz.ui.lessons import PageSource
from tests.factories import sentence

TOKENS = sentence("cats like milk")
# [CLS] cats like milk [SEP]: "cats" gives "milk" the most of all words, and no half; "like" gives "cats" a half.
WEIGHTS = [[1, 0, 0, 0, 0], [0.3, 0.1, 0.1, 0.4, 0.1], [0.1, 0.5, 0.1, 0.2, 0.1], [0.2] * 5, [0, 0, 0, 0, 1]]
MAP = AttentionMap("encoder", TOKENS, TOKENS, DenseWeights((np.array([WEIGHTS, [[0.2] * 5] * 5]),)))


class Given(PageSource):
    def result(self, picture: LessonPicture) -> Result:
        trace = AttentionTrace("one", Prompt("cats like milk"), (MAP,))
        return Result(trace, ModelCard("one", "", "encoder", 1, 2, 1, 128, "cpu"), 0.0)


@pytest.mark.parametrize(("one", "other", "is_mostly"), [("cats", "milk", False), ("like", "cats", True)])
def test_mostly_is_at_least_a_half(one: str, other: str, is_mostly: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "_current_cell", lambda: ({}, (one, other)))
    monkeypatch.setattr(view, "PageSource", Given)
    picture = read_link("/encode?text=cats+like+milk&layer=0&head=0")
    questions = list(view._of_words(picture, head_matrix(MAP, layer=0, head=0), "head 0 of layer 0", only=False))
    assert [each.question.kind for each in questions] == ["token", "number", *["head"] * is_mostly, "choice"]
    assert questions[-1].question.fields["answer"] == ("true" if is_mostly else "false")
