"""What a person chooses on Answer: models, from which side question and passage are seen to meet, and which picture."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.answer.question_attention import (
    SIDES,
    QuestionAttention,
    Side,
    StrongestHead,
    head_shares,
    question_attention,
    sides,
    strongest_heads,
)
from attnviz.analysis.head_ranking import strongest_places
from attnviz.analysis.head_view import Between, HeadView, View
from attnviz.analysis.wording import head_place, head_title
from attnviz.core.trace import AttentionMap, AttentionTrace
from attnviz.models import catalog
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import forget, forget_cell, publish, value
from attnviz.ui.address.widgets import dropdown, segments, toggle
from attnviz.ui.edit.panel import edit_toggle
from attnviz.ui.frame.sidebar import Choices, scale_picker, side_by_side
from attnviz.ui.head_picker import head_picker
from attnviz.ui.quantity_picker import heads_are_mixed
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
        """The same of one model: the encoder's side where it has no cross-attention, and a head that it has.

        A map of one head is its own mean. Of the encoder's attention, it is the block of the side.
        """
        side = self.side if self.side in sides(trace) else sides(trace)[0]
        view = self.view if side == "cross" else replace(self.view, between=_BLOCKS[side])
        own = replace(self, side=side, view=view)
        attention = own.attention(trace)
        return own.within(attention, mean=attention.n_heads == 1)

    def attention(self, trace: AttentionTrace) -> AttentionMap:
        """The map that the side is of."""
        return trace.cross if self.side == "cross" else trace.encoder

    def place(self, result: Result) -> str:
        """Which head is drawn, in words."""
        attention = self.attention(result.trace)
        if result.quantity == "mixing":
            return head_title("mixing", self.layer, None)
        return head_place(self.layer, self.head, attention.n_layers * attention.n_heads)

    def question_attention(self, trace: AttentionTrace) -> QuestionAttention:
        """Question and passage in the head that is drawn."""
        return question_attention(trace, self.side, layer=self.layer, head=self.head, view=self.view)


def answerers_picker() -> tuple[str, ...]:
    """One model, or two side by side: of the catalog, of the hub, or any id or folder that is typed."""
    own = catalog.available_for("answer")
    help_text = (
        "One, or two side by side. answer-en and answer-en-dual travel with attnviz; others come from the Hugging Face hub: "
        "type the id of any encoder that was trained to answer questions, or a folder."
    )
    return side_by_side(Choices(offered([*own, *HUB]), own[:1], MOST, "Choose a model", help_text))


def answer_view_picker(shown: Mapping[int, Result], sidebar: DeltaGenerator) -> AnswerView:
    """Where to look, layer and head, and how it is drawn; all of it in the address.

    Until a person chooses a head, it is the one that passes most to the chosen word of the question.
    """
    results = tuple(shown.values())
    there: list[Side] = [side for side in SIDES if any(side in sides(each.trace) for each in results)]
    asking: list[Side] = [side for side in there if side != "question"]
    firmest = max(asking, key=lambda side: min(each.share if each else 0.0 for each in _strongest_of(results, side)))
    side: Side = dropdown(
        sidebar,
        "Attention",
        "side",
        options=there,
        default=firmest,
        format_func=_SIDES.__getitem__,
        on_change=forget_cell,
    )
    first = next(filter(None, _strongest_of(results, side)), None)
    maps = [_seen_from(side, each).attention(each.trace) for each in results]
    unasked = _head_of_word(side, shown) or ((first.layer, first.head) if first else None)
    layer, head = head_picker(maps, sidebar, first=unasked, mixed=heads_are_mixed(results))
    words = toggle(sidebar, "Merge subwords to words", "whole_words")
    hide = toggle(sidebar, "Hide special tokens", "hide_special")
    return AnswerView(layer, head, View(words, hide), scale_picker(sidebar), side)


def _seen_from(side: Side, result: Result) -> AnswerView:
    return AnswerView(0, None, View(), True, side).of(result.trace)


def _head_of_word(side: Side, shown: Mapping[int, Result]) -> tuple[int, int] | None:
    """The head that passes most between the answer and the word of the question that is chosen; None where none is."""
    view = View(value("whole_words", True), value("hide_special", False))
    for slot, result in shown.items():
        own = replace(_seen_from(side, result), view=view).of(result.trace)
        word = chosen_word(own.question_attention(result.trace), slot)
        if word is not None:
            return strongest_places(head_shares(result.trace, own.side, own.view, result.answers.place, word))[0]
    return None


def _strongest_of(results: Iterable[Result], side: Side) -> list[StrongestHead | None]:
    """Of each model the head whose answer looks most firmly at a word of the question from a side; None: none does."""
    strongest = []
    for each in results:
        if each.trace not in _STRONGEST:
            _STRONGEST[each.trace] = strongest_heads(each.trace, *each.answers.place)
        strongest.append(_STRONGEST[each.trace].get(_seen_from(side, each).side))
    return strongest


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


def forget_question() -> None:
    """Lets go of what was chosen in the question and the passage before."""
    forget_cell()
    forget(*(f"asked{slot}" for slot in range(1, MOST + 1)))
