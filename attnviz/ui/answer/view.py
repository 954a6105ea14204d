"""The Answer page: which models answer, where question and passage are seen to meet, and its pictures mounted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.answer.question_attention import (
    SIDES,
    QuestionAttention,
    Side,
    joint,
    question_attention,
    sides,
)
from attnviz.analysis.view import HeadMatrix, View
from attnviz.analysis.wording import head_name
from attnviz.core.trace import AttentionMap, AttentionTrace
from attnviz.export import Picture
from attnviz.figures import html as shared
from attnviz.figures.answer.spans import STYLE, Bars, asked_and_answered, asked_words, joint_heatmap, marked_answer
from attnviz.figures.heatmap import Look, draw_matrix
from attnviz.models import catalog
from attnviz.ui.address.state import forget, forget_cell, publish, value
from attnviz.ui.address.widgets import clicked, dropdown, segments, toggle
from attnviz.ui.answer.download import marked_answer as marked_answer_sheet
from attnviz.ui.answer.edited import EditedAnswer
from attnviz.ui.background.results import Answered
from attnviz.ui.download import Kept, kept_answer
from attnviz.ui.edit.panel import edit_toggle
from attnviz.ui.explain import explain_button
from attnviz.ui.explorer import PLOTLY, all_heads, places_of, select_cell, selected_cell
from attnviz.ui.head_picker import choose_head, head_picker
from attnviz.ui.layout import theme
from attnviz.ui.markup import Markup
from attnviz.ui.permissions import offered
from attnviz.ui.quantity import heads_are_mixed, in_python, number_of, tell_weighing
from attnviz.ui.sidebar import Choices, HeadChoice, scale_picker, side_by_side

_markup = Markup("answer", shared.STYLE + STYLE)
MOST = 2
# Encoders of the hub that were trained to find answers.
HUB = (
    "distilbert-base-cased-distilled-squad",
    "deepset/minilm-uncased-squad2",
    "deepset/tinyroberta-squad2",
    "deepset/roberta-base-squad2",
)
_SIDES: dict[Side, str] = {
    "cross": "Across: passage → question",
    "passage": "Encoder: passage → question",
    "question": "Encoder: question → passage",
}
_PICTURES = {"passage": "Question and passage", "matrix": "Who looks at whom", "spans": "Start × end"}


@dataclass(frozen=True)
class Looking:
    """What is drawn of every model: from which side, which head (None: the mean over the layer's), and how."""

    side: Side
    layer: int
    head: int | None
    view: View
    full_scale: bool

    def side_of(self, trace: AttentionTrace) -> Side:
        """The side, or of a model that has no attention across, the encoder's."""
        return self.side if self.side in sides(trace) else sides(trace)[0]

    def attention(self, trace: AttentionTrace) -> AttentionMap:
        """The map that is drawn of a model."""
        return trace.cross if self.side_of(trace) == "cross" else trace.encoder

    def head_of(self, trace: AttentionTrace) -> tuple[int, int | None]:
        """Layer and head that are drawn of a model; of one with fewer, its last; a map of one head is its own mean."""
        attention = self.attention(trace)
        head = None if self.head is None or attention.n_heads == 1 else min(self.head, attention.n_heads - 1)
        return min(self.layer, attention.n_layers - 1), head

    def name(self, answered: Answered) -> str:
        """The head as it is written."""
        layer, head = self.head_of(answered.trace)
        if answered.weighed and answered.weighed.by == "mixing":
            return answered.weighed.named(layer, head)
        return f"{head_name(layer, head)}{'' if head is not None else ', mean of its heads'}"

    def question_attention(self, trace: AttentionTrace) -> QuestionAttention:
        """Question and passage in the head that is drawn."""
        layer, head = self.head_of(trace)
        return question_attention(trace, self.side_of(trace), layer=layer, head=head, view=self.view)

    def choice(self, trace: AttentionTrace) -> HeadChoice:
        """The same for a picture of all heads."""
        layer, head = self.head_of(trace)
        return HeadChoice(layer, head, self.block(trace), self.full_scale)

    def block(self, trace: AttentionTrace) -> View:
        """The view with the block of the encoder's attention that is drawn."""
        side = self.side_of(trace)
        if side == "cross":
            return self.view
        return replace(self.view, between="second-first" if side == "passage" else "first-second")

    def kept(self, name: str, answered: Answered) -> Kept:
        """The head as it is drawn of the model of that name, for who wants to keep it."""
        trace = answered.trace

        def picture() -> Picture:
            shown, (layer, head) = self.question_attention(trace), self.head_of(trace)
            return Picture(trace, self.attention(trace).kind, layer, head, shown.matrix, self.block(trace), self.full_scale)

        kept = kept_answer(name, picture, trace, {"Passage": lambda: marked_answer_sheet(answered)})
        return in_python(kept, name, answered.weighed)


def answerers_picker() -> tuple[str, ...]:
    """One model, or two side by side: of the catalog, of the hub, or any id or folder that is typed."""
    own = catalog.available_for("answer")
    help_text = (
        "One, or two side by side. answer-en and answer-en-dual travel with attnviz; others come from the Hugging Face hub: "
        "type the id of any encoder that was trained to answer questions, or a folder."
    )
    return side_by_side(Choices(offered([*own, *HUB]), own[:1], MOST, "Choose a model", help_text))


def looking(shown: Sequence[Answered], sidebar: DeltaGenerator) -> Looking:
    """Where to look, layer and head, and how it is drawn; all of it in the address."""
    there: list[Side] = [side for side in SIDES if any(side in sides(each.trace) for each in shown)]
    asking: list[Side] = [side for side in there if side != "question"]
    firmest = max(asking, key=lambda side: _firmness(shown, side))
    side: Side = dropdown(
        sidebar,
        "Attention",
        "side",
        options=there,
        default=firmest,
        format_func=_SIDES.__getitem__,
        on_change=forget_cell,
    )
    first = Looking(side, 0, None, View(), full_scale=True)
    strongest = [each.telling[own] for each in shown if (own := first.side_of(each.trace)) in each.telling]
    telling = (strongest[0].layer, strongest[0].head) if strongest else None
    maps = [first.attention(each.trace) for each in shown]
    layer, head = head_picker(maps, sidebar, telling=telling, mixed=heads_are_mixed(shown))
    words = toggle(sidebar, "Merge subwords to words", "whole_words")
    hide = toggle(sidebar, "Hide special tokens", "hide_special")
    return Looking(side, layer, head, View(words, hide), scale_picker(sidebar))


def _firmness(shown: Sequence[Answered], side: Side) -> float:
    """How firmly the answers of all models look at a word of the question from a side, 0 to 1."""
    first = Looking(side, 0, None, View(), full_scale=True)
    strongest = [each.telling.get(first.side_of(each.trace)) for each in shown]
    return min(each.share if each else 0.0 for each in strongest)


def picture_picker(slots: Sequence[int]) -> str:
    """Which picture of the answer is shown: one of `ANSWER_PICTURES`; and the switch of the Edit mode of the models there."""
    with st.container(horizontal=True, vertical_alignment="center", key="desk-pictures"):
        place, beside = st.container(), st.container(width="content")
    edit_toggle(beside, slots)
    return segments(place, "Picture", "picture", format_func=_PICTURES.__getitem__, label_visibility="collapsed")


def chosen_word(shown: QuestionAttention, slot: int) -> int | None:
    """The word of the question that is chosen, by a click or in the address."""
    asked = value(f"asked{slot}")
    chosen = asked if asked is not None and 0 <= asked < len(shown.question) else None
    publish(f"asked{slot}", chosen, None)
    return chosen


def show_passage(answered: Answered, shown: QuestionAttention, word: int | None, slot: int, look: Looking) -> None:
    """Question and passage as one: the best spans marked, bars where answers start and end, or what meets a chosen word.

    A click on a word of the question chooses it, a second lets it go.
    """
    answers = answered.answers

    def pick(picked: str) -> None:
        forget(f"asked{slot}")
        if int(picked) != word:
            st.session_state[f"asked{slot}"] = int(picked)

    bars = [Bars("the answer starts here", answers.result.start), Bars("the answer ends here", answers.result.end)]
    above = f"Below each word of the question, what the answer's words give it in {look.name(answered)}. Click a word."
    if word is not None:
        name = shown.question[word].text
        meets = f"“{name}” looks here" if shown.asking else f"looks at “{name}”"
        bars = [Bars(meets, shown.of_word(word, answers.tokens))]
        above = f"Bars show where the passage meets “{name}”. Click it again to see where the answer starts and ends."
    shares = shown.of_text(*answered.place)
    asked = asked_words(shown.question, shares, chosen=word, full_scale=look.full_scale, theme=theme())
    passage = marked_answer(
        answers.trace.prompt.text, answers.tokens, answers.result.spans, bars, declined=answers.declined, theme=theme()
    )
    _markup(f"passage{slot}", asked_and_answered(asked, passage, bars, above=above, theme=theme()), pick)


def show_joint(answered: Answered, slot: int) -> None:
    """Start × end, where it matters."""
    answers = answered.answers
    logits, decoding = answers.result.logits, answers.decoding
    table = joint(
        answers.tokens,
        logits.start,
        logits.end,
        answers.result.spans,
        limit=decoding.limit,
        length_penalty=decoding.length_penalty,
    )
    best = answers.text(answers.result.spans[0])
    alt = f"How likely each span is, by its first and its last token; the likeliest is “{best}”"
    st.plotly_chart(joint_heatmap(table, theme=theme()), theme=None, key=f"joint{slot}", config=PLOTLY, alt=alt)


def show_meeting(
    edited: EditedAnswer, shown: QuestionAttention, slot: int, look: Looking
) -> tuple[HeadMatrix, tuple[int, int]]:
    """The head as a matrix, around the answer. A click on a cell selects it; returns the matrix and its chosen cell."""
    answer = edited.shown.place
    matrix = shown.around(*answer)
    inside = [place for place, token in enumerate(matrix.keys if shown.asking else matrix.queries) if token.end > answer[0]]
    row = 0 if shown.asking or not inside else inside[0]
    cell = selected_cell(matrix, str(slot)) or (row, int(matrix.weights[row].argmax()))

    rows, columns = matrix.rows, matrix.columns

    def select() -> None:
        if points := clicked(f"meeting{slot}"):
            select_cell(rows[int(points[0]["y"])], columns[int(points[0]["x"])], slot)

    trace = edited.shown.trace
    places = places_of(look.attention(trace), look.block(trace)).within(matrix)
    marks = places.head_marks(trace.edits, *look.head_of(trace))
    figure = draw_matrix(matrix, Look(theme(), look.full_scale, cell, 560, 160, number_of(edited.shown), marks))
    alt = f"Attention between question and passage: {matrix.queries[cell[0]].text} → {matrix.keys[cell[1]].text}"
    st.plotly_chart(figure, theme=None, key=f"meeting{slot}", on_select=select, selection_mode="points", config=PLOTLY, alt=alt)
    return matrix, cell


def show_every_head(answered: EditedAnswer, look: Looking, slot: int) -> None:
    """What the numbers are, if not weights; and folded, all heads of the side that is drawn: a click opens one, or edits it."""
    trace = answered.shown.trace
    shown = answered.maps(look.attention(trace).kind)
    tell_weighing(answered.shown.weighed, shown.kind, look.head_of(trace)[0])
    all_heads(shown.drawn, shown.choice(look.choice(trace)), choose_head, slot=str(slot), editing=shown.editing)


def explain_cell(name: str, answered: Answered, look: Looking, slot: int, chosen: tuple[HeadMatrix, tuple[int, int]]) -> None:
    """The way into Compute for the chosen cell of one head."""
    trace, (matrix, (row, column)) = answered.trace, chosen
    layer, head = look.head_of(trace)
    if head is None or answered.weighed or not matrix.visible[row, column]:
        return
    place = {"model": name, "layer": layer, "head": head, "query": matrix.rows[row], "key": matrix.columns[column]}
    place |= {"text": trace.prompt.text, "question": trace.prompt.question or "", "pair": "", "target": ""}
    explain_button(look.attention(trace), {**place, "words": "true" if look.view.words else ""}, slot=str(slot))


def forget_question() -> None:
    """Lets go of what was chosen in the question and the passage before."""
    forget_cell()
    forget(*(f"asked{slot}" for slot in range(1, MOST + 1)))
