"""Alignments mounted on the page, one a model, and what a click in them does."""

from dataclasses import dataclass, replace

import streamlit as st

from attnviz.analysis.head_metrics import Link
from attnviz.analysis.translate.alignment import (
    Reading,
    balanced_links,
    clearest_link,
    links_from,
    origin_of,
    read_as,
    strongest_links,
)
from attnviz.analysis.view import HeadMatrix, View, head_matrix
from attnviz.core.trace import AttentionMap
from attnviz.export import Picture
from attnviz.figures.heatmap import Look, draw_matrix
from attnviz.figures.html import STYLE
from attnviz.figures.translate.beam_tree import Grown, Twig, beam_tree
from attnviz.figures.translate.sentence_pair import Columns, mark_links, sentence_pair
from attnviz.figures.translate.token_alternatives import Rung, candidates, ladder
from attnviz.models.translate.decode import DecodingOptions, Draft
from attnviz.ui.address.state import forget_cell, publish, value
from attnviz.ui.background.results import Drafted
from attnviz.ui.download import Kept, kept_draft
from attnviz.ui.explain import explain_button
from attnviz.ui.explorer import PLOTLY, all_heads, select_cell, selected_cell
from attnviz.ui.head_picker import choose_head, truer
from attnviz.ui.layout import escaped, theme
from attnviz.ui.markup import Markup
from attnviz.ui.sidebar import HeadChoice

_markup = Markup("markup", STYLE)
# Matrices side by side share the width of the window.
_HEIGHTS = {1: 560, 2: 480, 3: 440, 4: 440}


@dataclass(frozen=True)
class Drawing:
    """How every alignment of the page is drawn.

    head     None: the mean over the layer's heads
    reading  which of a word's two rows stands for it, in a model whose decoder reads what it wrote; None: the truer one
    hard     "Off", "Strongest", "Balanced" or "Threshold": how the hard links are found; `threshold` is the least weight of one
    word     the target word that is looked at where none was chosen, if it is there
    """

    layer: int
    head: int | None
    reading: Reading | None
    view: View
    full_scale: bool
    hard: str
    threshold: float
    word: str = ""

    def head_of(self, drafted: Drafted) -> tuple[int, int | None]:
        """Layer and head that are drawn of a model; of one with fewer, its last."""
        attention = drafted.trace.cross
        head = None if self.head is None else min(self.head, attention.n_heads - 1)
        return min(self.layer, attention.n_layers - 1), head

    def reading_of(self, drafted: Drafted) -> Reading:
        """The reading that is drawn of a model."""
        return self.reading or truer(drafted.card, *self.head_of(drafted))

    def attention(self, drafted: Drafted) -> AttentionMap:
        """The cross-attention of a model, its rows read as they are drawn."""
        draft = drafted.draft
        attention = draft.trace.cross
        return read_as(attention, draft.written, self.reading_of(drafted)) if draft.reads_its_rows else attention

    def choice(self, drafted: Drafted) -> HeadChoice:
        """The head that is drawn of a model, and how."""
        return HeadChoice(*self.head_of(drafted), self.view, self.full_scale)

    def matrix(self, drafted: Drafted) -> HeadMatrix:
        """The alignment as it is drawn."""
        layer, head = self.head_of(drafted)
        return head_matrix(self.attention(drafted), layer=layer, head=head, view=self.view)

    def kept(self, name: str, drafted: Drafted, options: DecodingOptions) -> Kept:
        """The alignment of the model of that name as it is drawn, for who wants to keep it."""
        trace = drafted.trace
        layer, head = self.head_of(drafted)

        def picture() -> Picture:
            return Picture(trace, "cross", layer, head, self.matrix(drafted), self.view, self.full_scale)

        naive = drafted.draft.reads_its_rows and self.reading == "naive"
        usual = not drafted.draft.task_prefix and (trace.prompt.target or options == DecodingOptions())
        return kept_draft(name, picture, trace.prompt, None if usual else options, naive=naive)

    def links(self, matrix: HeadMatrix) -> tuple[Link, ...] | None:
        """The hard links of a matrix, None where they are off."""
        if self.hard == "Strongest":
            return strongest_links(matrix)
        if self.hard == "Balanced":
            return balanced_links(matrix)
        return links_from(matrix, self.threshold) if self.hard == "Threshold" else None


def options_of(slot: int, options: DecodingOptions) -> DecodingOptions:
    """The options with what was chosen for the model at `slot`, now or in the address: how it begins, and the candidate."""
    begins, candidate = value(f"begins{slot}", ""), value(f"candidate{slot}", 0)
    publish(f"begins{slot}", begins, "")
    publish(f"candidate{slot}", candidate, 0)
    return replace(options, begins=tuple(begins.split(" ")) if begins else (), candidate=candidate)


def chosen_cell(matrix: HeadMatrix, slot: int, word: str) -> tuple[int, int]:
    """The (row, column) chosen in the picture at `slot`, else the strongest of `word`, else the surest between two words."""
    if (cell := selected_cell(matrix, str(slot))) is not None:
        return cell
    link = origin_of(matrix, word) or clearest_link(matrix)
    return (link.query, link.key) if link else (0, int(matrix.weights[0].argmax()))


def show_matrix(matrix: HeadMatrix, drawing: Drawing, slot: int, *, alt: str, n_models: int = 1) -> None:
    """The alignment as a matrix: target down, source across. A click on a cell selects it."""

    rows, columns = matrix.rows, matrix.columns

    def select() -> None:
        if points := st.session_state[f"matrix{slot}"].selection.points:
            select_cell(rows[int(points[0]["y"])], columns[int(points[0]["x"])], slot)

    look = Look(
        theme(), drawing.full_scale, chosen_cell(matrix, slot, drawing.word), _HEIGHTS[n_models], 220 if n_models < 3 else 110
    )
    figure = draw_matrix(matrix, look)
    if links := drawing.links(matrix):
        figure = mark_links(figure, links, theme())
    st.plotly_chart(figure, theme=None, key=f"matrix{slot}", on_select=select, selection_mode="points", config=PLOTLY, alt=alt)


def show_pair(matrix: HeadMatrix, drawing: Drawing, slot: int) -> None:
    """The two sentences as columns of words with links. A click on a target word selects it, and its strongest link."""
    row, _ = chosen_cell(matrix, slot, drawing.word)

    def select(picked: str) -> None:
        select_cell(matrix.rows[int(picked)], matrix.columns[int(matrix.weights[int(picked)].argmax())], slot)

    _markup(f"pair{slot}", sentence_pair(matrix, Columns(theme(), row, drawing.links(matrix))), select)


def show_heads(shown: dict[int, Drafted], drawing: Drawing) -> None:
    """Folded, for each model of several heads: all of them over this sentence. A click on one draws it above."""
    for slot, drafted in shown.items():
        attention, name = drawing.attention(drafted), escaped(drafted.card.name)
        if attention.n_layers * attention.n_heads > 1:
            cell = chosen_cell(drawing.matrix(drafted), slot, drawing.word)
            label = f"All heads of {name}"
            all_heads(attention, drawing.choice(drafted), choose_head, cell=cell, slot=str(slot), label=label)


def show_ladder(draft: Draft, slot: int, *, fixed: int) -> None:
    """Each token with its probability and what else could stand there. A click decodes on from that alternative."""
    rungs = [
        Rung(step.token, step.probability, step.alternatives, tuple(_is_open(draft, name) for name, _ in step.alternatives))
        for step in draft.steps
    ]

    def steer(picked: str) -> None:
        step, place = map(int, picked.split(":"))
        name, _ = draft.steps[step].alternatives[place]
        st.session_state[f"begins{slot}"] = " ".join((*draft.pieces[:step], name))
        st.session_state[f"candidate{slot}"] = 0
        forget_cell()

    _markup(f"ladder{slot}", ladder(rungs, fixed=fixed, theme=theme()), steer)


def show_candidates(draft: Draft, slot: int) -> None:
    """The translations that the search found. A click shows the alignment of another."""
    found = [(each.text, each.log_probability) for each in draft.candidates]

    def choose(picked: str) -> None:
        st.session_state[f"candidate{slot}"] = int(picked)
        forget_cell()

    _markup(f"candidates{slot}", candidates(found, chosen=draft.chosen, theme=theme()), choose)


def show_tree(draft: Draft, slot: int, *, begins: tuple[str, ...]) -> None:
    """Folded: the tree that the beam search walked. A click on a leaf shows the alignment of that translation."""
    if draft.tree is None or len(draft.candidates) < 2:
        return

    def choose(picked: str) -> None:
        st.session_state[f"candidate{slot}"] = int(picked)
        forget_cell()

    twigs = [Twig(each.name, each.parent, each.probability, each.kept) for each in draft.tree.branches]
    with st.expander("The tree of the beam", icon=":material/account_tree:"):
        st.caption(
            "A column is a step, with p of each token there. The search keeps the likeliest paths; one that is faint was left "
            "later, one that is struck out was never taken, the best of what its parent lost. A number is a translation's rank."
        )
        start = "".join(begins).replace("▁", " ").strip() or "<s>"
        _markup(f"tree{slot}", beam_tree(twigs, Grown(draft.tree.leaves, draft.chosen, start, theme())), choose)


def explain_alignment(drafted: Drafted, drawing: Drawing, slot: int) -> None:
    """The way into Compute for the chosen cell, where a row of the picture is a row of the model's one head or chosen head."""
    draft, attention = drafted.draft, drafted.trace.cross
    layer, head = drawing.head_of(drafted)
    if draft.reads_its_rows or (head is None and attention.n_heads > 1):
        return
    matrix = drawing.matrix(drafted)
    row, column = chosen_cell(matrix, slot, drawing.word)
    place = {"model": st.session_state.models[slot - 1], "layer": layer, "head": head or 0}
    place |= {"query": matrix.rows[row], "key": matrix.columns[column], "words": "true" if drawing.view.words else ""}
    explain_button(attention, place, slot=str(slot), begins=draft.pieces)


def steered(slot: int, options: DecodingOptions) -> None:
    """Where a person has chosen how a translation begins: the way back."""

    def unsteer() -> None:
        st.session_state.update({f"begins{slot}": "", f"candidate{slot}": 0})
        forget_cell()

    if options.begins:
        st.button("Back to the model's own", key=f"unsteer{slot}", icon=":material/undo:", on_click=unsteer)


def _is_open(draft: Draft, name: str) -> bool:
    """Whether the model can go on from a piece; a target that a person has given is changed by typing."""
    return bool(draft.pieces) and name not in draft.closed
