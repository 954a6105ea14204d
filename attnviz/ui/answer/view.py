"""The pictures of Answer: question and passage marked, where they meet as a matrix, start × end, and what edits change."""

import numpy as np
import streamlit as st

from attnviz.analysis.answer.question_attention import MOST_CHARACTERS, QuestionAttention, head_shares, joint
from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_ranking import strongest_places
from attnviz.analysis.head_view import HeadMatrix
from attnviz.analysis.wording import NUMBERS, cut
from attnviz.export import Picture, shaded_text
from attnviz.export.sheet import Sheet
from attnviz.figures import html as shared
from attnviz.figures.answer.spans import (
    STYLE,
    Bars,
    first_heads,
    joint_matrix,
    marked_answer,
    question_and_passage,
    question_buttons,
)
from attnviz.figures.edit.before_after import changed_text, number, ranked
from attnviz.figures.matrix import Marks, one_matrix
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import forget
from attnviz.ui.address.chosen_cell import cell_picker, picked_cell, selected_cell
from attnviz.ui.answer.controls import AnswerView, chosen_word
from attnviz.ui.download import Download, source_of
from attnviz.ui.edit.current_map import CurrentMap, current_result
from attnviz.ui.edit.edits_in_address import Editor
from attnviz.ui.edit.output import show_changes
from attnviz.ui.edit.panel import show_edit_buttons, show_edit_panel
from attnviz.ui.explorer import ShownHead, all_heads, places_of
from attnviz.ui.frame.page_buttons import explain_button
from attnviz.ui.head_picker import change_head, choose_head
from attnviz.ui.layout import theme
from attnviz.ui.markup import Markup
from attnviz.ui.quantity_picker import explain_quantity

_markup = Markup("answer", shared.STYLE + STYLE)
_DECLINES = "The passage does not say."


def show_picture(slot: int, result: Result, editing: Editor, view: AnswerView, picture: str) -> None:
    """One model's picture: question and passage, where they meet as a matrix, or start × end."""
    if picture == "spans":
        st.caption(
            "First word down, last word across: how likely this answer is. The best are numbered; grey cells are no answer."
        )
        _show_spans(result, slot)
        return
    own = view.of(result.trace)
    shown = own.question_attention(result.trace)
    if picture == "passage":
        _show_passage(result, shown, chosen_word(shown, slot), slot, own)
        return
    st.caption(f"Each row: one word, and where it looks in {own.place(result)}. Of a long passage, the part around the answer.")
    chosen = _show_matrix(result, shown, slot, own)
    show_edit_buttons(editing, ShownHead(own.attention(result.trace), own, *chosen))
    _explain_cell(result, own, slot, chosen)


def _show_passage(result: Result, shown: QuestionAttention, word: int | None, slot: int, view: AnswerView) -> None:
    """Question and passage as one: the best spans marked, bars where answers start and end, or what meets a chosen word.

    A click on a word of the question chooses it, a second lets it go.
    """
    answers = result.answers

    def pick(picked: str) -> None:
        forget(f"asked{slot}")
        if int(picked) != word:
            st.session_state[f"asked{slot}"] = int(picked)

    bars = [
        Bars("how likely the answer starts here", answers.result.start),
        Bars("how likely it ends here", answers.result.end),
    ]
    above = f"How much the answer looks at each question word ({view.place(result)}). Click a word."
    shares = shown.of_text(*answers.place)
    if shown.from_question:
        above = f"How much each question word looks at the answer ({view.place(result)}). Click a word."
    if word is not None:
        name = shown.question[word].text
        meets = f"“{name}” looks here" if shown.from_question else f"looks at “{name}”"
        bars = [Bars(meets, shown.of_word(word, answers.tokens))]
        above = f"Bars show attention with “{name}” in {view.place(result)}. Click it again to go back."
    asked = question_buttons(shown.question, shares, chosen=word, full_scale=view.full_scale, theme=theme())
    passage = marked_answer(
        result.prompt.text, answers.tokens, answers.result.spans, bars, declined=answers.declined, theme=theme()
    )
    _markup(f"passage{slot}", question_and_passage(asked, passage, bars, above=above, theme=theme()), pick)
    _show_first_heads(result, shown, word, slot, view)


def _show_first_heads(result: Result, shown: QuestionAttention, word: int | None, slot: int, view: AnswerView) -> None:
    """The heads that pass most between the answer and the chosen word, or the one it looks at most. A click opens one."""
    attention, answers = view.attention(result.trace), result.answers
    places = [place for place, token in enumerate(shown.question) if is_word(token)]
    if attention.n_layers * attention.n_heads == 1 or result.quantity == "mixing" or not places:
        return
    shares = shown.of_text(*answers.place)
    asked = max(places, key=lambda place: float(shares[place])) if word is None else word
    weights = head_shares(result.trace, view.side, view.view, answers.place, asked)
    heads = [(place, float(weights[place])) for place in strongest_places(weights)]
    names = cut(answers.text(answers.result.spans[0]), MOST_CHARACTERS), shown.question[asked].text
    drawn = first_heads(heads, (names[1], names[0]) if shown.from_question else names, (view.layer, view.head), theme())

    def pick(picked: str) -> None:
        if head := picked_cell(picked):
            change_head(*head)

    with st.container(key=f"desk-heads{slot}"):
        _markup(f"heads{slot}", drawn, pick)


def _show_spans(result: Result, slot: int) -> None:
    """Start × end, where it matters."""
    answers = result.answers
    logits, decoding = answers.result.logits, answers.decoding
    table = joint(
        answers.tokens,
        logits.start,
        logits.end,
        answers.result.spans,
        limit=decoding.limit,
        length_penalty=decoding.length_penalty,
    )
    _markup(f"joint{slot}", joint_matrix(table, theme=theme()))


def _show_matrix(result: Result, shown: QuestionAttention, slot: int, view: AnswerView) -> tuple[HeadMatrix, tuple[int, int]]:
    """The head as a matrix, around the answer. A click on a cell selects it; returns the matrix and its chosen cell."""
    answer = result.answers.place
    matrix = shown.around(*answer)
    inside = [
        place for place, token in enumerate(matrix.keys if shown.from_question else matrix.queries) if token.end > answer[0]
    ]
    row = 0 if shown.from_question or not inside else inside[0]
    cell = selected_cell(matrix, str(slot)) or (row, int(matrix.weights[row].argmax()))
    places = places_of(view.attention(result.trace), view.view).within(matrix)
    marks = Marks(cell, places.head_marks(result.trace.edits, view.layer, view.head))
    drawn = one_matrix(matrix, marks, number=NUMBERS[result.quantity], full_scale=view.full_scale, theme=theme())
    _markup(f"meeting{slot}", drawn, cell_picker(matrix, slot))
    return matrix, cell


def show_every_head(result: Result, editing: Editor, view: AnswerView, slot: int) -> None:
    """What the numbers are, if not weights; and folded, all heads of the side that is drawn: a click opens one, or edits it."""
    shown = current_result(result, editing)
    own = view.of(shown.trace)
    current = CurrentMap(result, own.attention(shown.trace).kind, editing)
    explain_quantity(shown, current.kind, own.layer)
    all_heads(current.drawn, current.drawn_as(own), choose_head, slot=str(slot), editing=editing)


def _explain_cell(result: Result, view: AnswerView, slot: int, chosen: tuple[HeadMatrix, tuple[int, int]]) -> None:
    """The way into Compute for the chosen cell of one head."""
    prompt, (matrix, (row, column)) = result.prompt, chosen
    if view.head is None or result.quantity != "weights" or not matrix.visible[row, column]:
        return
    place = {"model": result.name, "layer": view.layer, "head": view.head}
    place |= {"query": matrix.rows[row], "key": matrix.columns[column], "words": "true" if view.view.words else ""}
    place |= {"text": prompt.text, "question": prompt.question or "", "pair": "", "target": ""}
    explain_button(view.attention(result.trace), place, slot=str(slot))


def show_answer_edits(result: Result, editing: Editor, view: AnswerView, *, compares: bool) -> None:
    """What is edited in a model, with the way back, and what it says before and after; `compares` as of `show_edit_panel`."""
    kind = view.of(current_result(result, editing).trace).attention(result.trace).kind
    show_edit_panel(CurrentMap(result, kind, editing), compares=compares)
    if result.before is None:
        return
    both = result.before.answers, result.answers
    texts = [_DECLINES if each.declined else each.trace.output for each in both]
    lists = [[(each.text(span), span.probability) for span in each.result.spans[:3]] for each in both]
    nothing = number("p of no answer", both[0].result.nothing, both[1].result.nothing)
    rows = [changed_text("Answer", *texts), ranked("Likeliest spans, p", *lists), nothing]
    show_changes(rows, slot=editing.slot)


def answer_download(result: Result, view: AnswerView) -> Download:
    """The head as it is drawn of a model, and the passage with the answer framed."""
    own, trace = view.of(result.trace), result.trace

    def picture() -> Picture:
        matrix, kind = own.question_attention(trace).matrix, own.attention(trace).kind
        return Picture(trace, kind, own.layer, own.head, matrix, own.view, own.full_scale)

    return Download(result.name, picture, source_of(result), {"Passage": lambda: _marked_sheet(result)})


def _marked_sheet(result: Result) -> Sheet:
    """The passage with the answer framed, shaded by how likely the answer starts or ends at each token."""
    answers = result.answers
    (best, *_) = answers.result.spans
    likely = np.maximum(answers.result.start, answers.result.end)
    places = np.arange(len(answers.tokens))
    marked = (places >= best.start) & (places <= best.end) & (not answers.declined)
    return shaded_text.draw_marked(answers.tokens, likely, marked, "Where the answer starts and ends, and the answer framed")
