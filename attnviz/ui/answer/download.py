"""What Answer marks in the passage, as a drawing to take along."""

import numpy as np

from attnviz.export import shaded_text
from attnviz.export.sheet import Sheet
from attnviz.ui.background.results import Answered


def marked_answer(answered: Answered) -> Sheet:
    """The passage with the answer framed, shaded by how likely the answer starts or ends at each token."""
    answers = answered.answers
    (best, *_) = answers.result.spans
    likely = np.maximum(answers.result.start, answers.result.end)
    places = np.arange(len(answers.tokens))
    marked = (places >= best.start) & (places <= best.end) & (not answers.declined)
    return shaded_text.draw_marked(answers.tokens, likely, marked, "Where the answer starts and ends, and the answer framed")
