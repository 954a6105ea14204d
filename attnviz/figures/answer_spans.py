"""Question and passage with the answer marked in place, as a script draws them; and start × end, where the answer is found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from attnviz.analysis.answer_attention import (
    SIDES,
    Joint,
    Side,
    describe_question_words,
    describe_word,
    head_shares,
    linking_heads,
    question_attention,
)
from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_ranking import DIGITS
from attnviz.analysis.head_view import HeadMatrix, View
from attnviz.core.trace import AttentionTrace, Token
from attnviz.figures.html import sentence_parts
from attnviz.figures.matrix import STYLE as MATRIX
from attnviz.figures.matrix import DrawnMatrix, Marks, one_matrix, rounded
from attnviz.text.spans import Span
from attnviz.text.words import visible_text

_WORDS = Path(__file__).parent / "explorer" / "clickable_words.css"
STYLE = MATRIX + "\n".join(path.read_text(encoding="utf-8") for path in (Path(__file__).with_name("answer_spans.css"), _WORDS))
BARS = ("how likely the answer starts here", "how likely it ends here")
WHOLE_WORDS = View(words=True)


@dataclass(frozen=True)
class AnswerPlace:
    """An answer, the characters of the passage where it stands, and the tokens of the passage."""

    text: str
    place: tuple[int, int]
    tokens: Sequence[Token] = ()


def describe_head_of(
    trace: AttentionTrace,
    answer: AnswerPlace,
    side: Side,
    *,
    layer: int,
    head: int | None,
    word: int | None = None,
    view: View = WHOLE_WORDS,
) -> dict[str, Any]:
    """Describe one head as the page draws it: what it gives to each word of the question, and the heads that give most to one.

    word  of the question that was chosen; None: none was
    """
    shown = question_attention(trace, side, layer=layer, head=head, view=view)
    attention = trace.cross if side == SIDES[0] else trace.encoder
    shares, count = shown.of_text(*answer.place), attention.n_layers * attention.n_heads
    places = [place for place, token in enumerate(shown.question) if is_word(token)]
    most = max(places, key=lambda place: float(shares[place].round(DIGITS)), default=None) if word is None else word
    weights = head_shares(trace, side, view, answer.place, most) if count > 1 and most is not None else np.zeros((0, 0))
    story = [describe_question_words(shown, answer.text, answer.place, word=word)]
    return {
        "side": side,
        "kind": attention.kind,
        "layer": layer,
        "head": head,
        "count": count,
        "question": [[visible_text(token.text), int(token.special)] for token in shown.question],
        "shares": [round(float(share), 6) for share in shares],
        "word": word,
        "bars": None if word is None else [round(float(weight), 6) for weight in shown.of_word(word, answer.tokens)],
        "name": "" if most is None else shown.question[most].text,
        "heads": [[*place, round(float(weights[place]), 6)] for place in linking_heads(weights)],
        "story": [sentence_parts(each) for each in (story if word is None else [*story, describe_word(shown, word)])],
    }


def describe_passage(
    tokens: Sequence[Token], spans: Sequence[Span], *bars: Float[np.ndarray, " token"], declined: bool
) -> dict[str, Any]:
    """Describe a passage as the page draws it: where its tokens stand, the bars under each, and the best spans."""
    highest = max(float(values.max(initial=0)) for values in bars)
    return {
        "units": [[token.start, token.end] for token in tokens],
        "bars": [{"name": name, "values": rounded(values, highest, 6)} for name, values in zip(BARS, bars, strict=True)],
        "spans": [[span.start, span.end, span.probability] for span in spans],
        "declined": declined,
    }


def joint_matrix(joint: Joint) -> DrawnMatrix:
    """Show how likely each span is: starts down, ends across, the best numbered in their cells; what is no span is masked."""
    size = joint.probabilities.shape
    matrix = HeadMatrix(
        weights=np.where(joint.legal, joint.probabilities, 0).astype(np.float32),
        visible=joint.legal,
        queries=joint.starts,
        keys=joint.ends,
        rows=tuple(range(size[0])),
        columns=tuple(range(size[1])),
        own=(None,) * size[0],
    )
    marks = Marks(selected=joint.marks[0] if joint.marks else None, ranks=joint.marks)
    return one_matrix(matrix, marks, number="probability", full_scale=False)
