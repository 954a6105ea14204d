"""The Answer page: which models answer, where question and passage are seen to meet, and its pictures mounted."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.answer.meeting import SIDES, Meeting, Side, joint, meeting, sides
from attnviz.analysis.view import HeadMatrix, View
from attnviz.analysis.wording import head_name
from attnviz.core.trace import AttentionMap, AttentionTrace
from attnviz.export import Picture
from attnviz.figures import html as shared
from attnviz.figures.answer.spans import STYLE, Bars, asked_words, joint_heatmap, marked_answer
from attnviz.figures.heatmap import Look, draw_matrix
from attnviz.models import catalog
from attnviz.ui.address.state import forget, forget_cell, publish, value
from attnviz.ui.address.widgets import dropdown, toggle
from attnviz.ui.answer.kept import marked_answer as marked_answer_sheet
from attnviz.ui.background.results import Answered
from attnviz.ui.download import Kept, kept_answer
from attnviz.ui.explain import explain_button
from attnviz.ui.explorer import PLOTLY, all_heads, select_cell, selected_cell
from attnviz.ui.head_picker import choose_head, head_picker
from attnviz.ui.layout import escaped, theme
from attnviz.ui.markup import Markup
from attnviz.ui.permissions import offered
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
_HOW = """
Question and passage go through an encoder, and every token of the passage gets two numbers: how much speaks for the answer
**starting** there, and for it **ending** there. A span's score is their sum; answer-en takes a little from it for each token
after the first. All spans are compared at once, *start ≤ end*, with no answer as one more choice, and the softmax over them is
what is shown: bars under a token are its share of the starts and of the ends. Where the best span's score does not exceed that
of no answer by enough, a threshold that was set on questions held out of training, the passage is taken not to say.

- **answer-en** reads both texts as one pair, so that they meet in every layer; **answer-en-dual** reads each on its own (as
  Seo et al. 2017, *Bidirectional Attention Flow for Machine Comprehension*), so that all one learns of the other comes
  through the attention across. Compare the two.
- Across, the passage's tokens are the **queries** and the question's the **keys**: every row is a token of the passage, and
  sums to 1 over the question.
- The page opens where the answer looks most firmly at one word of the question. Read as one pair, the texts have met long
  before the attention across, which then has little left to tell: in the encoder an answer often looks at *Who* or *Where*.
- Models of the hub have no attention across. Where question and passage meet are blocks of their encoder's attention; a row
  there sums to 1 only with what is not shown.
- A long passage is read in overlapping windows; a token counts as it was read where it stands farthest from an edge. The
  attention is that of the window with the answer.
"""
_BELIEVE = """
- The numbers are the model's own, from a forward pass over this very text.
- A probability says how the spans compare **to this model**. One that was trained on encyclopedia articles can be sure, and
  wrong, anywhere else.
- It answers with words of the passage, true or not: it does not know the world.
- Whether the passage answers at all was learned from questions put to passages that do not; a passage that almost answers is
  the hardest.
- Where a token **looked** is not why the span was chosen: values, other heads and later layers decide what becomes of it.
"""


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
        """Layer and head that are drawn of a model; of one with fewer, its last."""
        attention = self.attention(trace)
        return min(self.layer, attention.n_layers - 1), None if self.head is None else min(self.head, attention.n_heads - 1)

    def name(self, trace: AttentionTrace) -> str:
        """The head as it is told."""
        layer, head = self.head_of(trace)
        return f"{head_name(layer, head)}{'' if head is not None else ', mean of its heads'}"

    def meeting(self, trace: AttentionTrace) -> Meeting:
        """Question and passage in the head that is drawn."""
        layer, head = self.head_of(trace)
        return meeting(trace, self.side_of(trace), layer=layer, head=head, view=self.view)

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
            found, (layer, head) = self.meeting(trace), self.head_of(trace)
            return Picture(trace, self.attention(trace).kind, layer, head, found.matrix, self.block(trace), self.full_scale)

        return kept_answer(name, picture, trace.prompt, {"Passage": lambda: marked_answer_sheet(answered)})


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
        "Where they meet",
        "side",
        options=there,
        default=firmest,
        format_func=_SIDES.__getitem__,
        on_change=forget_cell,
    )
    first = Looking(side, 0, None, View(), full_scale=True)
    told = [each.telling[own] for each in shown if (own := first.side_of(each.trace)) in each.telling]
    telling = (told[0].layer, told[0].head) if told else None
    layer, head = head_picker([first.attention(each.trace) for each in shown], sidebar, telling=telling)
    words = toggle(sidebar, "Merge subwords to words", "whole_words")
    hide = toggle(sidebar, "Hide special tokens", "hide_special")
    return Looking(side, layer, head, View(words, hide), scale_picker(sidebar))


def _firmness(shown: Sequence[Answered], side: Side) -> float:
    """How firmly the answers of all models look at a word of the question from a side, 0 to 1."""
    first = Looking(side, 0, None, View(), full_scale=True)
    found = [each.telling.get(first.side_of(each.trace)) for each in shown]
    return min(each.share if each else 0.0 for each in found)


def headline(answered: Answered) -> None:
    """The answer in large type, or that there is none; and how sure the model is, and how good it was measured to be."""
    answers, card = answered.answers, answered.card
    best = answers.result.spans[0]
    facts = [card.name, f"p = {best.probability:.2f}"]
    if answers.declined:
        facts = [card.name, f"likeliest: “{answers.text(best)[:60]}”, p = {best.probability:.2f}"]
    if "F1" in card.metrics:
        facts.append(f"F1 {card.metrics['F1']:.0f} on held-out questions")
    text = "<em>The passage does not say.</em>" if answers.declined else f"<bdi>{html.escape(answers.trace.output)}</bdi>"
    st.html(f'<p class="answer">{text} <small>{html.escape(" · ".join(facts))}</small></p>')


def show_question(found: Meeting, answer: tuple[int, int], slot: int, look: Looking) -> int | None:
    """The question, shaded by what the answer has to do with each word; a click on a word chooses it, a second lets it go."""
    asked = value(f"asked{slot}")
    chosen = asked if asked is not None and 0 <= asked < len(found.question) else None
    publish(f"asked{slot}", chosen, None)

    def pick(picked: str) -> None:
        forget(f"asked{slot}")
        if int(picked) != chosen:
            st.session_state[f"asked{slot}"] = int(picked)

    shares = found.of_text(*answer)
    drawn = asked_words(found.question, shares, chosen=chosen, full_scale=look.full_scale, theme=theme())
    _markup(f"question{slot}", drawn, pick)
    return chosen


def show_passage(answered: Answered, found: Meeting, word: int | None, slot: int) -> None:
    """The passage with the best spans marked; bars are where answers start and end, or what meets a chosen word."""
    answers = answered.answers
    bars = [Bars("the answer starts here", answers.result.start), Bars("the answer ends here", answers.result.end)]
    if word is not None:
        name = found.question[word].text
        told = f"“{name}” looks here" if found.asking else f"looks at “{name}”"
        bars = [Bars(told, found.of_word(word, answers.tokens))]
    drawn = marked_answer(
        answers.trace.prompt.text, answers.tokens, answers.result.spans, bars, declined=answers.declined, theme=theme()
    )
    _markup(f"passage{slot}", drawn)


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


def show_meeting(found: Meeting, answer: tuple[int, int], slot: int, look: Looking) -> tuple[HeadMatrix, tuple[int, int]]:
    """The head as a matrix, around the answer. A click on a cell selects it; returns the matrix and its chosen cell."""
    matrix = found.around(*answer)
    inside = [place for place, token in enumerate(matrix.keys if found.asking else matrix.queries) if token.end > answer[0]]
    row = 0 if found.asking or not inside else inside[0]
    cell = selected_cell(matrix, str(slot)) or (row, int(matrix.weights[row].argmax()))

    rows, columns = matrix.rows, matrix.columns

    def select() -> None:
        if points := st.session_state[f"meeting{slot}"].selection.points:
            select_cell(rows[int(points[0]["y"])], columns[int(points[0]["x"])], slot)

    figure = draw_matrix(matrix, Look(theme(), look.full_scale, cell, 560, 160))
    alt = f"Attention between question and passage: {matrix.queries[cell[0]].text} → {matrix.keys[cell[1]].text}"
    st.plotly_chart(figure, theme=None, key=f"meeting{slot}", on_select=select, selection_mode="points", config=PLOTLY, alt=alt)
    return matrix, cell


def show_every_head(answered: Answered, look: Looking, slot: int) -> None:
    """Folded: all heads of the side that is drawn. A click opens one."""
    trace = answered.trace
    all_heads(look.attention(trace), look.choice(trace), choose_head, slot=str(slot))


def explain_cell(name: str, answered: Answered, look: Looking, slot: int, chosen: tuple[HeadMatrix, tuple[int, int]]) -> None:
    """The way into Compute for the chosen cell of one head."""
    trace, (matrix, (row, column)) = answered.trace, chosen
    layer, head = look.head_of(trace)
    if head is None or not matrix.visible[row, column]:
        return
    place = {"model": name, "layer": layer, "head": head, "query": matrix.rows[row], "key": matrix.columns[column]}
    place |= {"text": trace.prompt.text, "question": trace.prompt.question or "", "pair": "", "target": ""}
    explain_button(look.attention(trace), {**place, "words": "true" if look.view.words else ""}, slot=str(slot))


def windows_notice(answered: Answered) -> None:
    """Of a passage that was read in parts, which part the attention is of."""
    found = answered.answers.result
    if len(found.windows) > 1:
        window = found.windows[found.best]
        st.info(
            f"{escaped(answered.card.name)} read this passage in {len(found.windows)} overlapping windows. The attention is "
            f"that of the one with the likeliest answer, tokens {window.start + 1:,} to {window.stop:,} of "
            f"{len(answered.answers.tokens):,}.",
            icon=":material/info:",
        )


def forget_question() -> None:
    """Lets go of what was chosen in the question and the passage before."""
    forget_cell()
    forget(*(f"asked{slot}" for slot in range(1, MOST + 1)))


def explained() -> None:
    """How an answer is found, and how much to trust this."""
    with st.expander("How this answer is found · softmax over all spans"):
        st.markdown(_HOW)
        st.latex(r"p(i, j) = \frac{e^{\,s_i + e_j}}{e^{\,0} + \sum_{k \le l \le k + L} e^{\,s_k + e_l}}")
    with st.expander("How much to trust this"):
        st.markdown(_BELIEVE)
