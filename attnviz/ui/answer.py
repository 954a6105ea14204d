"""What stands on the page Answer: models and sides to choose, the answer with its alternatives, notices, and the pictures."""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.answer_attention import (
    HOW_ANSWERED,
    SIDES,
    TRUST_ANSWERS,
    QuestionAttention,
    Side,
    StrongestHead,
    describe_answer,
    describe_confidence,
    describe_measured_answers,
    describe_question_words,
    describe_word,
    head_shares,
    joint,
    linking_heads,
    question_attention,
    sides,
    strongest_heads,
    window_notices,
)
from attnviz.analysis.head_view import Between, HeadMatrix, HeadView, View
from attnviz.analysis.wording import NUMBERS, Sentence, head_place, head_title, percent
from attnviz.core.trace import AttentionMap, AttentionTrace
from attnviz.export import Picture
from attnviz.export.paper import Sheet, draw_marked
from attnviz.figures import html as shared
from attnviz.figures.answer_spans import STYLE, AnswerPlace, describe_head_of, describe_passage, joint_matrix
from attnviz.figures.before_after import changed_text, number, ranked
from attnviz.figures.explorer.exported_file import records_script
from attnviz.figures.matrix import Marks, matrices_record, one_matrix
from attnviz.models import catalog
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import (
    cell_picker,
    chosen_link,
    dropdown,
    forget,
    forget_cell,
    is_pinned,
    picked_cell,
    publish,
    segments,
    selected_cell,
    toggle,
    value,
)
from attnviz.ui.download import Download, explain_button, source_of
from attnviz.ui.edit import CurrentMap, Editor, current_result
from attnviz.ui.edit_panel import edit_toggle, show_changes, show_edit_buttons, show_edit_panel
from attnviz.ui.explorer import (
    ShownHead,
    all_heads,
    change_head,
    choose_head,
    explain_quantity,
    head_picker,
    heads_are_mixed,
    places_of,
)
from attnviz.ui.frame.sidebar import Choices, merge_toggle, scale_picker, side_by_side
from attnviz.ui.layout import Markup, escaped, story, theme
from attnviz.ui.visitor_limits import offered

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
_BLOCKS: dict[Side, Between] = {"passage": "second-first", "question": "first-second"}
_PICTURES = {"passage": "Question and passage", "matrix": "Matrix", "spans": "Start and end"}
# The heads that say most about an answer: found once, not at every click.
_STRONGEST: WeakKeyDictionary[AttentionTrace, dict[Side, StrongestHead]] = WeakKeyDictionary()


@dataclass(frozen=True)
class AnswerView(HeadView):
    """Which head is drawn of every model, how, and from which side of question and passage."""

    side: Side

    def of(self, trace: AttentionTrace) -> "AnswerView":
        """Return the same view for one model: the encoder's side where it has no cross-attention, and a head that it has.

        A map of one head is its own mean. Of the encoder's attention, it is the block of the side.
        """
        side = self.side if self.side in sides(trace) else sides(trace)[0]
        view = self.view if side == "cross" else replace(self.view, between=_BLOCKS[side])
        own = replace(self, side=side, view=view)
        attention = own.attention(trace)
        return own.within(attention, mean=attention.n_heads == 1)

    def attention(self, trace: AttentionTrace) -> AttentionMap:
        """Return the map that the side belongs to."""
        return trace.cross if self.side == "cross" else trace.encoder

    def place(self, result: Result) -> str:
        """Name the head that is drawn, in words."""
        attention = self.attention(result.trace)
        if result.quantity == "mixing":
            return head_title("mixing", self.layer, None)
        return head_place(self.layer, self.head, attention.n_layers * attention.n_heads)

    def question_attention(self, trace: AttentionTrace) -> QuestionAttention:
        """Question and passage in the head that is drawn."""
        return question_attention(trace, self.side, layer=self.layer, head=self.head, view=self.view)


def answerers_picker() -> tuple[str, ...]:
    """Offer one model, or two side by side: of the catalog, of the hub, or any id or folder that is typed."""
    own = catalog.available_for("answer")
    help_text = (
        "One, or two side by side. answer-en and answer-en-dual travel with attnviz; others come from the Hugging Face hub: "
        "type the id of any encoder that was trained to answer questions, or a folder."
    )
    return side_by_side(Choices(offered([*own, *HUB]), own[:1], MOST, "Choose a model", help_text))


def answer_view_picker(results: Mapping[int, Result], sidebar: DeltaGenerator) -> AnswerView:
    """Offer where to look, layer and head, and how it is drawn; keep all of it in the address.

    Until a person chooses a head, it is the one that passes most to the chosen word of the question.
    """
    listed = tuple(results.values())
    there: list[Side] = [side for side in SIDES if any(side in sides(each.trace) for each in listed)]
    asking: list[Side] = [side for side in there if side != "question"]
    firmest = max(asking, key=lambda side: min(each.share if each else 0.0 for each in _strongest_of(listed, side)))
    side: Side = dropdown(
        sidebar, "Attention", "side", options=there, default=firmest, format_func=_SIDES.__getitem__, on_change=forget_cell
    )
    first = next(filter(None, _strongest_of(listed, side)), None)
    maps = [_seen_from(side, each).attention(each.trace) for each in listed]
    unasked = _head_of_word(side, results) or ((first.layer, first.head) if first else None)
    layer, head = head_picker(maps, sidebar, first=unasked, pinned=is_pinned(), mixed=heads_are_mixed(listed))
    words = merge_toggle("whole_words")
    hide = toggle(sidebar, "Hide special tokens", "hide_special")
    return AnswerView(layer, head, View(words, hide), scale_picker(sidebar), side)


def _seen_from(side: Side, result: Result) -> AnswerView:
    return AnswerView(0, None, View(), True, side).of(result.trace)


def _head_of_word(side: Side, results: Mapping[int, Result]) -> tuple[int, int] | None:
    """Find the head that passes most between the answer and the chosen word of the question; None where none is chosen."""
    view = View(value("whole_words", True), value("hide_special", False))
    for slot, result in results.items():
        own = replace(_seen_from(side, result), view=view).of(result.trace)
        word = chosen_word(own.question_attention(result.trace), slot)
        if word is not None:
            return linking_heads(head_shares(result.trace, own.side, own.view, result.answers.place, word))[0]
    return None


def _strongest_of(results: Iterable[Result], side: Side) -> list[StrongestHead | None]:
    """Find for each model the head whose answer looks most firmly at a word of the question from a side; None: none does."""
    strongest = []
    for each in results:
        if each.trace not in _STRONGEST:
            _STRONGEST[each.trace] = strongest_heads(each.trace, *each.answers.place)
        strongest.append(_STRONGEST[each.trace].get(_seen_from(side, each).side))
    return strongest


def picture_picker(slots: Sequence[int]) -> str:
    """Offer the pictures of the answer, `ANSWER_PICTURES`, and the switch of the Edit mode of the models there."""
    with st.container(horizontal=True, vertical_alignment="center", key="desk-pictures"):
        place, beside = st.container(), st.container(width="content")
    edit_toggle(beside, slots)
    return segments(place, "Picture", "picture", format_func=_PICTURES.__getitem__, label_visibility="collapsed")


def chosen_word(attention: QuestionAttention, slot: int) -> int | None:
    """Return the word of the question that is chosen, by a click or in the address; None where none is."""
    asked = value(f"asked{slot}")
    chosen = asked if asked is not None and 0 <= asked < len(attention.question) else None
    publish(f"asked{slot}", chosen, None)
    return chosen


def forget_question() -> None:
    """Lets go of what was chosen in the question and the passage before."""
    forget_cell()
    forget(*(f"asked{slot}" for slot in range(1, MOST + 1)))


_CHOOSE = "Choose a model in the sidebar: one, or two side by side."
_NO_MODEL = (
    "Choose a model in the sidebar. None travels with this copy of attnviz yet: train one with "
    "`python -m recipes answer-en --data FOLDER`, or name one of the hub, such as distilbert-base-cased-distilled-squad."
)


def ask_for_model() -> None:
    """Say what to do where no model is chosen."""
    st.info(_CHOOSE if catalog.available_for("answer") else _NO_MODEL, icon=":material/school:")


def show_answer(slot: int, result: Result, view: AnswerView, place: DeltaGenerator) -> None:
    """Show one model's answer, and sentences made of its numbers."""
    own = view.of(result.trace)
    shown = own.question_attention(result.trace)
    _show_headline(result, place)
    story(*_sentences(result, shown, chosen_word(shown, slot)), place=place)


def _show_headline(result: Result, place: DeltaGenerator) -> None:
    """Show the answer in large type, or that there is none; and how sure the model is, and how good it was measured to be."""
    answers, card = result.answers, result.card
    best = answers.result.spans[0]
    facts = [card.name, f"{percent(best.probability)} sure"]
    if (sure := answers.confidence) is not None:
        facts.append(describe_confidence(sure))
    span = f"<bdi>{html.escape(answers.text(best))}</bdi>"
    if answers.declined:
        facts[1] = f"{percent(answers.result.nothing)} for no answer"
        span = f'<em>The passage does not say.</em> <span class="declined">Likeliest: {span}</span>'
    place.html(f'<p class="answer">{span} <small>{html.escape(" · ".join(facts))}</small></p>')


def _sentences(result: Result, attention: QuestionAttention, word: int | None) -> tuple[Sentence, Sentence]:
    """Describe where the answer looks in the question; and the next best answer, or what else looks at the chosen word."""
    answers = result.answers
    spans = answers.result.spans
    texts = [answers.text(span) for span in spans]
    nothing = answers.result.nothing if answers.declined else None
    likely = describe_answer(texts, spans, nothing=nothing, threshold=answers.decoding.declines_above)
    number = NUMBERS[result.quantity]
    looks = describe_question_words(attention, texts[0], answers.place, number, word=word)
    return looks, likely if word is None else describe_word(attention, word, number)


def notices_of(result: Result) -> Iterator[tuple[str, str, str]]:
    """Say of a passage that was read in parts which part the attention is of."""
    found = result.answers.result
    return window_notices(found.windows, found.best, len(result.answers.tokens))


def explain_answer(results: Iterable[Result]) -> None:
    """Explain how an answer is found, and how much to trust this."""
    title, how = HOW_ANSWERED
    with st.expander(title):
        st.markdown(how)
        st.latex(r"p(i, j) = \frac{e^{\,s_i + e_j}}{e^{\,0} + \sum_{k \le l \le k + L} e^{\,s_k + e_l}}")
    with st.expander("How much to trust this"):
        st.markdown(TRUST_ANSWERS)
        for card in (each.card for each in results):
            if measured := describe_measured_answers(escaped(card.name), card.metrics):
                st.markdown(f"- {measured}")


_markup = Markup("answer", shared.STYLE + STYLE, records_script())
_DECLINES = "The passage does not say."


def show_picture(slot: int, result: Result, editing: Editor, view: AnswerView, picture: str) -> None:
    """Draw one model's picture: question and passage, where they meet as a matrix, or start × end."""
    if picture == "spans":
        st.caption(
            "First word down, last word across: how likely this answer is. The best are numbered; grey cells are no answer."
        )
        _show_spans(result, slot)
        return
    own = view.of(result.trace)
    shown = own.question_attention(result.trace)
    if picture == "passage":
        _show_passage(result, chosen_word(shown, slot), slot, own)
        return
    st.caption(f"Each row: one word, and where it looks in {own.place(result)}. Of a long passage, the part around the answer.")
    chosen = _show_matrix(result, shown, slot, own)
    show_edit_buttons(editing, ShownHead(own.attention(result.trace), own, *chosen))
    _explain_cell(result, own, slot, chosen)


def _show_passage(result: Result, word: int | None, slot: int, view: AnswerView) -> None:
    """Question and passage as one: the best spans marked, bars where answers start and end, or what meets a chosen word.

    A click on a word of the question chooses it, a second lets it go.
    """
    answers, found = result.answers, result.answers.result
    answer = AnswerPlace(answers.text(found.spans[0]), answers.place, answers.tokens)
    place = {"layer": view.layer, "head": view.head, "word": word, "view": view.view}
    seen = describe_head_of(result.trace, answer, view.side, **place)
    passage = describe_passage(answers.tokens, found.spans, found.start, found.end, declined=answers.declined)
    drawn = {"part": "passage", "text": result.prompt.text, "passage": passage, "where": view.place(result), "seen": seen}
    drawn |= {"answer": answer.text, "isFull": view.full_scale}

    def choose(picked: str) -> None:
        forget(f"asked{slot}")
        if int(picked) != word:
            st.session_state[f"asked{slot}"] = int(picked)

    def open_head(picked: str) -> None:
        if head := picked_cell(picked):
            change_head(*head)

    _markup(f"passage{slot}", drawn, choose)
    if seen["heads"] and result.quantity != "mixing":
        with st.container(key=f"desk-heads{slot}"):
            _markup(f"heads{slot}", drawn | {"part": "heads"}, open_head)


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
    _markup(f"joint{slot}", matrices_record([joint_matrix(table)], theme()))


def _show_matrix(result: Result, seen: QuestionAttention, slot: int, view: AnswerView) -> tuple[HeadMatrix, tuple[int, int]]:
    """Draw the head as a matrix, around the answer. A click on a cell selects it; returns the matrix and its chosen cell."""
    answer = result.answers.place
    matrix = seen.around(*answer)
    inside = [
        place for place, token in enumerate(matrix.keys if seen.from_question else matrix.queries) if token.end > answer[0]
    ]
    row = 0 if seen.from_question or not inside else inside[0]
    attention = view.attention(result.trace)
    link = chosen_link((len(attention.queries), len(attention.keys)), str(slot))
    cell = selected_cell(matrix, link) or (row, int(matrix.weights[row].argmax()))
    places = places_of(attention, view.view).within(matrix)
    marks = Marks(cell, places.head_marks(result.trace.edits, view.layer, view.head))
    drawn = one_matrix(matrix, marks, number=NUMBERS[result.quantity], full_scale=view.full_scale)
    _markup(f"meeting{slot}", matrices_record([drawn], theme(), picks=True), cell_picker(matrix, slot))
    return matrix, cell


def show_every_head(result: Result, editing: Editor, view: AnswerView, slot: int) -> None:
    """Explain numbers that are no weights; and fold away all heads of the side in view: a click opens one, or edits it."""
    shown = current_result(result, editing)
    own = view.of(shown.trace)
    current = CurrentMap(result, own.attention(shown.trace).kind, editing)
    explain_quantity(shown, current.kind, own.layer)
    all_heads(current.drawn, current.drawn_as(own), choose_head, slot=str(slot), editing=editing)


def _explain_cell(result: Result, view: AnswerView, slot: int, chosen: tuple[HeadMatrix, tuple[int, int]]) -> None:
    """Offer the way into Compute for the chosen cell of one head."""
    prompt, (matrix, (row, column)) = result.prompt, chosen
    if view.head is None or result.quantity != "weights" or not matrix.visible[row, column]:
        return
    read = {"model": result.name, "text": prompt.text, "question": prompt.question, "pair": "", "target": ""}
    explain_button(view.attention(result.trace).kind, view, matrix, (row, column), slot=str(slot), **read)


def show_answer_edits(result: Result, editing: Editor, view: AnswerView, *, compares: bool) -> None:
    """Show what is edited in a model, the way back, and its answers before and after; `compares` as of `show_edit_panel`."""
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
    """Return the download of a model's head as it is drawn, and of the passage with the answer framed."""
    own, trace = view.of(result.trace), result.trace

    def picture() -> Picture:
        matrix, kind = own.question_attention(trace).matrix, own.attention(trace).kind
        return Picture(trace, kind, own.layer, own.head, matrix, own.view, own.full_scale)

    return Download(result.name, picture, source_of(result), {"Passage": lambda: _marked_sheet(result)})


def _marked_sheet(result: Result) -> Sheet:
    """Draw the passage with the answer framed, shaded by how likely the answer starts or ends at each token."""
    answers = result.answers
    (best, *_) = answers.result.spans
    likely = np.maximum(answers.result.start, answers.result.end)
    places = np.arange(len(answers.tokens))
    marked = (places >= best.start) & (places <= best.end) & (not answers.declined)
    return draw_marked(answers.tokens, likely, marked, "Where the answer starts and ends, and the answer framed")
