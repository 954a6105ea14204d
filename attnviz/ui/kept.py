"""What pages other than Encode and Translate can take along: their heads, and the texts that they mark."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.summarize.selection import Passage, Selection
from attnviz.analysis.summarize.selectors import Selector
from attnviz.analysis.view import View, head_matrix
from attnviz.core.from_weights import from_weights
from attnviz.core.head_inputs import Computed, Tables
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, Token
from attnviz.export import Picture, passage
from attnviz.export.python import prompt_expression
from attnviz.export.sheet import Sheet, printed_text
from attnviz.models.translate import toy as toys
from attnviz.models.translate.decode import DecodingOptions, draft
from attnviz.training.toy.live import LiveRun
from attnviz.training.toy.task import Frame
from attnviz.ui.background.results import Answered, Traced
from attnviz.ui.download import Kept

Place = tuple[int, int | None]
# Digits of a weight that is written into Python: its rows still sum to 1.
_DIGITS = 8


def marked_text(
    tokens: Sequence[Token], values: Float[np.ndarray, " token"], marked: Bool[np.ndarray, " token"], title: str
) -> Sheet:
    """A text, each token shaded by its value, the darkest the highest; those that are marked are framed."""
    highest = max(float(values.max()), 1e-12)
    shares = np.clip(values / highest, 0, 1).tolist()
    words = zip(tokens, shares, marked.tolist(), strict=True)
    return passage.draw_words([passage.Word(printed_text(token), share, mark) for token, share, mark in words], title)


def marked_answer(answered: Answered) -> Sheet:
    """The passage with the answer framed, shaded by how likely the answer starts or ends at each token."""
    answers = answered.answers
    (best, *_) = answers.result.spans
    likely = np.maximum(answers.result.start, answers.result.end)
    places = np.arange(len(answers.tokens))
    marked = (places >= best.start) & (places <= best.end) & (not answers.declined)
    return marked_text(answers.tokens, likely, marked, "Where the answer starts and ends, and the answer framed")


def kept_summary(
    name: str, traced: Traced, attention: AttentionMap, place: Place, marked: tuple[Passage, Selection, Selector]
) -> Kept:
    """A head that Summarize chooses by, and the text with what is kept of it framed."""
    found, kept, way = marked
    scores = way.units - min(float(way.units.min()), 0.0)

    def sheet() -> Sheet:
        return marked_text(found.units, scores, kept.units, f"What is kept, framed; shaded by {way.name}")

    picture = _picture(traced.trace, attention, place, View())
    return Kept(name, picture, _traced(name, traced.trace.prompt), sheets={"Passage": sheet})


def kept_weight(name: str, trace: AttentionTrace, attention: AttentionMap, place: tuple[int, int], *, words: bool) -> Kept:
    """The head of a model whose weight Compute explains."""
    return Kept(name, _picture(trace, attention, place, View(words=words)), _traced(name, trace.prompt))


def kept_example(tables: Tables, computed: Computed, head: int) -> Kept:
    """The weights of the example that Compute works out, as a trace like any other."""
    trace = from_weights(computed.weights, tables.tokens, model="worked example")
    rounded = np.round(computed.weights, _DIGITS).tolist()
    made = f"av.from_weights({rounded}, {list(tables.tokens)}, model='worked example')"
    return Kept("worked example", _picture(trace, trace.maps[0], (0, head), View()), made)


def kept_untrained(run: LiveRun, frame: Frame, head: tuple[int, int] | None) -> Kept:
    """The attention of a model that has learned nothing yet, over its task's first example."""
    recipe = run.recipe
    trace = draft(toys.toy_model(recipe.model, frame.weights), Prompt(recipe.task.example), DecodingOptions()).trace
    name = f"{recipe.model.name}.safetensors"
    return Kept(name, _picture(trace, trace.cross, head or frame.best, View()), _traced(name, trace.prompt))


def _picture(trace: AttentionTrace, attention: AttentionMap, place: Place, view: View) -> Callable[[], Picture]:
    layer, head = min(place[0], attention.n_layers - 1), None if place[1] is None else min(place[1], attention.n_heads - 1)

    def picture() -> Picture:
        return Picture(trace, attention.kind, layer, head, head_matrix(attention, layer=layer, head=head, view=view), view)

    return picture


def _traced(name: str, prompt: Prompt) -> str:
    return f"av.load({name!r}).trace({prompt_expression(prompt)})"
