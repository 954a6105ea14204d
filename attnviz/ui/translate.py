"""What stands on the page Translate: the translations with their alternatives, how each is aligned, notices."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from streamlit.components.v2 import component
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.head_metrics import Link, is_word
from attnviz.analysis.head_ranking import Step
from attnviz.analysis.head_view import HeadMatrix, HeadView, Lens, View, word_groups
from attnviz.analysis.translation_alignment import (
    HOW_ALIGNED,
    HOW_LIKELY,
    HOW_SCORED,
    SUPERVISED,
    TRUST_ALIGNMENTS,
    Reading,
    balanced_links,
    describe_likelihood,
    describe_score,
    differences,
    first_row,
    links_from,
    opening_cell,
    rank_for_cell,
    ranked_step,
    read_as,
    strongest_links,
    translation_notices,
    truer,
    word_weights,
)
from attnviz.analysis.wording import Part, Sentence, head_name, head_words, quoted
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, Prompt, Token
from attnviz.export import Picture, translation_links
from attnviz.figures.before_after import changed_text, number
from attnviz.figures.html import STYLE as MARKUP
from attnviz.figures.translate.alignments import (
    LEAST_WEIGHT,
    STYLE,
    Aligned,
    Grown,
    Twig,
    WrittenToken,
    alignments,
    beam_tree,
    candidates,
    script,
)
from attnviz.models import catalog
from attnviz.models.base import GREEDY, DecodingOptions, Draft
from attnviz.models.result import Result
from attnviz.pages_and_addresses import SLOTS
from attnviz.ui.address.address_sync import (
    bounded,
    chosen_link,
    forget,
    forget_cell,
    forget_drafts,
    forget_languages,
    is_pinned,
    one_shown,
    publish,
    segments,
    select_cell,
    sent,
    text_field,
    toggle,
    unpin,
    url_value,
    value,
)
from attnviz.ui.download import Download, explain_button, source_of
from attnviz.ui.edit import CurrentMap, Editor, current_result
from attnviz.ui.edit_panel import show_changes, show_edit_panel
from attnviz.ui.explorer import (
    ShownHead,
    all_heads,
    change_head,
    choose_head,
    head_picker,
    heads_are_mixed,
    note_picture,
    places_of,
    reading_picker,
)
from attnviz.ui.frame.sidebar import Choices, merge_toggle, scale_picker, side_by_side
from attnviz.ui.layout import Markup, escaped, theme
from attnviz.ui.prompt_box import examples, forget_typed, long_notice
from attnviz.ui.visitor_limits import offered


@dataclass(frozen=True)
class AlignmentView(HeadView):
    """Which head is drawn of the cross-attention, and how.

    reading  which of a word's two rows stands for it, in a model whose decoder reads what it wrote; None: the truer one
    hard     "Off", "Strongest", "Balanced" or "Threshold": how the hard links are found; `threshold` is the least weight of one
    word     the target word that is looked at where none was chosen, if it is there
    """

    reading: Reading | None
    hard: str
    threshold: float
    word: str = ""

    def of(self, result: Result) -> "AlignmentView":
        """Return the same view for one model: the head it has, of mixed or single heads their layer; and its reading."""
        return replace(self._own(result), reading=self.reading_of(result))

    def _own(self, result: Result) -> "AlignmentView":
        cross = result.trace.cross
        return self.within(cross, mean=result.quantity == "mixing" or cross.n_heads == 1)

    def reading_of(self, result: Result) -> Reading:
        """Return how the rows of a model's head are read."""
        own = self._own(result)
        return self.reading or truer(result.card.metrics, own.layer, own.head)

    def attention(self, result: Result) -> AttentionMap:
        """Return the cross-attention of a model, its rows read as they are drawn."""
        return read_as(result.trace.cross, result.draft.written, self.reading_of(result))

    def first_row(self, result: Result) -> int:
        """Return the address's number of the first row that is drawn of a model."""
        return first_row(result.trace.cross, result.draft.written, self.reading_of(result))

    def given_weights(self, result: Result, position: int) -> Float[np.ndarray, "layer head key"]:
        """Return the weights of the word at a position to each column, in every head, as `attnviz.rank_heads` has them.

        A decoder that reads what it wrote has two rows of a word: unasked it is the one that writes it, in every head.
        """
        return word_weights(result.trace.cross, result.draft.written, self.view, position, self.step)

    @property
    def step(self) -> Step:
        """The step that stands for a word where heads are ranked."""
        return "reads" if self.reading == "shifted" else "writes"

    def followed(self, result: Result, slot: int) -> tuple[int, int] | None:
        """Find the head that gives most to the link that was asked, or of a word to another; None: there is nothing to follow.

        Only heads whose picture has the row that counts are followed.

        Raises:
            TraceError: the view leaves no token.
        """
        query, key = self.chosen_link(result, slot)
        cross = result.trace.cross
        shape = cross.n_layers, cross.n_heads
        if query is None or shape == (1, 1):
            return None
        is_drawn = np.reshape([self._draws(result, query, place) for place in np.ndindex(shape)], shape)
        if not is_drawn.any():
            return None
        lens = Lens(cross, self.view)
        columns = [column for column, part in enumerate(lens.column_parts) if key in part]
        columns = columns or telling_columns(self.token_at(result, query), lens.keys)
        weights = np.where(is_drawn[..., None], self.given_weights(result, query)[..., columns], -1)
        layer, head, _ = np.unravel_index(int(weights.argmax()), weights.shape)
        return int(layer), int(head)

    def _draws(self, result: Result, position: int, place: tuple[int, int]) -> bool:
        """Say whether a head is drawn with the row by which the word at a position is ranked."""
        if not result.draft.reads_its_rows:
            return True
        drawn = "naive" if replace(self, layer=place[0], head=place[1]).first_row(result) else "shifted"
        count = len(result.trace.cross.queries)
        return 0 <= position <= count and "not" not in ranked_step(position, count, self.step, drawn)

    def chosen_link(self, result: Result, slot: int) -> tuple[int | None, int | None]:
        """Return the chosen query and key; where a word has two rows, the address counts one more than the map has."""
        cross = result.trace.cross
        return chosen_link((len(cross.queries) + result.draft.reads_its_rows, len(cross.keys)), str(slot))

    def token_at(self, result: Result, position: int) -> Token:
        """Return the target token at a position of the address."""
        return (*result.trace.cross.queries, *result.draft.written[-1:])[position]

    def alignment(self, result: Result) -> HeadMatrix:
        """Return the alignment of a model as it is drawn."""
        return self.of(result).matrix(self.attention(result))

    def links(self, matrix: HeadMatrix) -> tuple[Link, ...] | None:
        """Find the hard links of a matrix; None where they are off."""
        if self.hard == "Strongest":
            return strongest_links(matrix)
        if self.hard == "Balanced":
            return balanced_links(matrix)
        return links_from(matrix, self.threshold) if self.hard == "Threshold" else None


def alignment_download(result: Result, view: AlignmentView) -> Download:
    """Return the download of a model's alignment as it is drawn."""
    own = view.of(result)

    def picture() -> Picture:
        return Picture(result.trace, "cross", own.layer, own.head, view.alignment(result), own.view, own.full_scale)

    source = source_of(result, naive=result.draft.reads_its_rows and own.reading == "naive")
    sheets = {"Word links": lambda: translation_links.draw_links(picture(), view.links(view.alignment(result)))}
    return Download(result.name, picture, source, sheets)


def telling_columns(query: Token, keys: Sequence[Token]) -> list[int]:
    """Return the columns that tell something when a token looks at them: of a word the words, if there are any."""
    words = [column for column, token in enumerate(keys) if is_word(token)] if is_word(query) else []
    return words or list(range(len(keys)))


def chosen_cell(result: Result, view: AlignmentView, slot: int) -> tuple[int, int]:
    """Return the (row, column) asked at `slot`, else the strongest of `view.word`, else the surest between two words.

    Of a word that was asked without another it is the one that it looks at most. What was asked stays in the address, where
    this view hides it, too. An edit does not move what was not asked: it is chosen as without edits, where both wrote the same.
    """
    matrix, (query, key) = view.alignment(result), view.chosen_link(result, slot)
    before = view.alignment(result.unedited)
    first = before if (before.queries, before.keys) == (matrix.queries, matrix.keys) else matrix
    if query is not None and (row := query - view.first_row(result)) in matrix.rows:
        row = matrix.rows.index(row)
        if key in matrix.columns:
            return row, matrix.columns.index(key)
        if key is None:
            looks = matrix if matrix.weights[row].any() else first
            return row, max(telling_columns(looks.queries[row], looks.keys), key=lambda column: looks.weights[row, column])
    return opening_cell(first, view.word)


def missing_row(result: Result, view: AlignmentView, slot: int) -> tuple[Sentence, ...]:
    """Say that the word which was asked has no row in the head that is drawn; nothing where it has one."""
    query, _ = view.chosen_link(result, slot)
    if (
        query is None
        or not result.draft.reads_its_rows
        or 0 <= query - view.first_row(result) < len(result.trace.cross.queries)
    ):
        return ()
    name, own = quoted(view.token_at(result, query).text), view.of(result)
    only, drawn = ("reads", "writes") if query == 0 else ("writes", "reads")
    where = head_words(own.layer, own.head)
    lead = (Part(f"The translator only {only} "), name)
    return ((*lead, Part(f": {where} is drawn by the steps that {drawn.removesuffix('s')} a word, and has no row of it.")),)


_CHOOSE = "Choose a translator in the sidebar: up to four stand side by side."
_NO_MODEL = (
    "Choose a translator in the sidebar. None travels with this copy of attnviz yet: train one with "
    "`python -m recipes bahdanau-en-fr --data FOLDER`, or name an encoder-decoder of the hub, such as "
    "Helsinki-NLP/opus-mt-en-fr."
)


_ROWS: dict[Reading, str] = {
    "shifted": "The row of a word is the step that **reads** it, just after it was written (shifted: Chen et al. 2020).",
    "naive": "The row of a word is the step that **writes** it, while the decoder reads the word before (naive).",
}


def ask_for_translator() -> None:
    """Say what to do where no translator is chosen."""
    st.info(_CHOOSE if catalog.available_for("translate") else _NO_MODEL, icon=":material/school:")


def notices(result: Result) -> Iterator[tuple[str, str, str]]:
    """Yield what speaks against a translation (`translation_notices`)."""
    written = () if result.trace.prompt.target else result.draft.written
    return translation_notices(result.trace, languages=result.card.languages, written=written)


def show_rows_notice(result: Result, view: AlignmentView) -> None:
    """Say which row was taken for a word, where there are two; and of a supervised head, what trained it."""
    own = view.of(result)
    if result.draft.reads_its_rows and own.reading:
        st.caption(_ROWS[own.reading])
    if (own.layer, own.head) == result.card.supervised_head and result.quantity == "weights":
        st.info(SUPERVISED.format(head_name(own.layer, own.head)), icon=":material/school:")


def explain_alignments() -> None:
    """Explain how an alignment is computed."""
    title, how = HOW_ALIGNED
    with st.expander(title, icon=":material/function:"):
        st.markdown(how)
        st.latex(r"\alpha_{ij} = \frac{e^{e_{ij}}}{\sum_k e^{e_{ik}}}, \qquad c_i = \sum_j \alpha_{ij} h_j")
        st.markdown(HOW_SCORED)
        st.latex(r"e_{ij} = v^\top \tanh(W s_{i-1} + U h_j)")
        st.latex(r"\text{or} \qquad e_{ij} = q_i \cdot k_j \;/\; \sqrt{d}")
        st.markdown(HOW_LIKELY)


def explain_trust_in_alignments() -> None:
    """Explain how much an alignment says."""
    with st.expander("How much to trust this", icon=":material/balance:"):
        st.markdown(TRUST_ALIGNMENTS)


_ALIGNMENTS = component("attnviz.alignments", html='<div class="alignment"></div>', css=STYLE, js=script())
_KEY, _SEQ = "alignments", "alignments_seq"


def show_alignments(results: Mapping[int, Result], view: AlignmentView, large: int) -> None:
    """Show every translation in a table, and its alignment: the one at slot `large` as the large picture.

    Raises:
        TraceError: the view leaves no token.
    """
    shown, result = view.of(results[large]), results[large]
    matrix, cell = view.alignment(result), chosen_cell(result, view, large)
    picture = ShownHead(view.attention(result), shown, matrix, cell)
    note_picture(picture, slot=str(large), first_row=view.first_row(result))
    for slot, each in results.items():
        publish(f"candidate{slot}", each.draft.chosen, 0)
    unlike = differences([each.trace.output for each in results.values()])
    models = [_aligned(slot, each, view, marked) for (slot, each), marked in zip(results.items(), unlike, strict=True)]
    is_open = one_shown("alternatives", ("", "open"), "") == "open"
    settings = {"seq": st.session_state.get(_SEQ, 0), "hero": large, "open": is_open, "least": LEAST_WEIGHT}
    cells = {each.slot: each.cell for each in models}
    settings["ranked"] = {slot: ranked for slot, each in results.items() if (ranked := _ranked(each, view, cells[slot]))}
    settings["isPinned"] = is_pinned()
    name, package = alignments(models, **settings, theme=theme().name, fullScale=view.full_scale)
    # Streamlit keeps the callback of every figure that a visit has seen: it holds names, and no trace.
    pieces = {slot: each.draft.pieces for slot, each in results.items()}
    offered = {slot: [[name for name, _ in step.alternatives] for step in each.draft.steps] for slot, each in results.items()}
    first_rows = {slot: view.first_row(each) for slot, each in results.items()}

    def pick() -> None:
        change = sent(_KEY, "picked") or {}
        st.session_state[_SEQ] = change.get("seq", 0)
        # A click on the picture before this one means nothing here.
        if change.get("of") == name:
            slot = change["hero"]
            _take(change, first_rows[slot])
            if "steer" in change:
                step, place = change["steer"]
                st.session_state[f"begins{slot}"] = " ".join((*pieces[slot][:step], offered[slot][step][place]))
                st.session_state[f"candidate{slot}"] = 0
                forget_cell()

    _ALIGNMENTS(key=_KEY, data=package, on_picked_change=pick)


def _take(change: dict[str, Any], first_row: int) -> None:
    """Makes what was clicked what is looked at: the large model, its word or its link, whether its choices are open."""
    slot = change["hero"]
    st.session_state.update(hero=slot, alternatives="open" if change.get("open") else "")
    if "query" in change:
        select_cell(change["query"] + first_row, change["key"], slot)
        if not change.get("isLink", True):
            forget(f"key{slot}")
    if "layer" in change:
        change_head(change["layer"], change["head"])
    if change.get("unpin"):
        unpin()


def _aligned(slot: int, result: Result, view: AlignmentView, unlike: tuple[tuple[int, int], ...]) -> Aligned:
    matrix, own, cross = view.alignment(result), view.of(result), result.trace.cross
    places = places_of(view.attention(result), view.view).within(matrix)
    marks = places.head_marks(result.trace.edits, own.layer, own.head)
    return Aligned(
        slot=slot,
        name=result.card.name,
        translation=result.trace.output,
        matrix=matrix,
        cell=chosen_cell(result, view, slot),
        place=(own.layer, own.head),
        shape=(cross.n_layers, cross.n_heads),
        is_trained=(own.layer, own.head) == result.card.supervised_head,
        is_given=bool(result.prompt.target),
        quantity=result.quantity,
        marks=marks,
        unlike=unlike,
        choices=row_choices(result, view, matrix),
        links=view.links(matrix),
    )


def _ranked(result: Result, view: AlignmentView, cell: tuple[int, int]) -> dict[str, object] | None:
    """List the heads that give most to a link; None where there is but one, or all are mixed."""
    if result.quantity == "mixing":
        return None
    position = view.alignment(result).rows[cell[0]] + view.first_row(result)
    read = view.reading_of(result)
    return rank_for_cell(result.trace.cross, result.draft.written, view.view, position, cell, read, view.step)


def row_choices(result: Result, view: AlignmentView, matrix: HeadMatrix) -> tuple[tuple[WrittenToken, ...], ...]:
    """List what was chosen at each row of the matrix: the tokens that were written for its word.

    A token that has no row of its own, such as the end mark where rows are named after what is read, stands with the last.
    """
    draft, attention = result.draft, view.attention(result)
    # Those that a person has chosen.
    fixed = 0 if result.prompt.target else len(result.options.begins)
    groups = word_groups(attention.queries) if view.view.words else [[place] for place in range(len(attention.queries))]
    row_of = {place: matrix.rows.index(group[0]) for group in groups if group[0] in matrix.rows for place in group}
    # Rows that are named after what is read stand one below those that wrote it.
    below = int(draft.reads_its_rows and view.of(result).reading == "shifted")
    choices: list[list[WrittenToken]] = [[] for _ in matrix.rows]
    row = 0
    for step, each in enumerate(draft.steps):
        row = row_of.get(step + below, row)
        # The model can go on from a piece; a target that a person has given is changed by typing.
        can = tuple(bool(draft.pieces) and name not in draft.closed for name, _ in each.alternatives)
        choices[row].append(WrittenToken(step, each.token, each.probability, each.alternatives, can, step < fixed))
    return tuple(map(tuple, choices))


def show_translation_edits(result: Result, editing: Editor) -> None:
    """Show what is edited and the way back, and what the model writes before and after."""
    show_edit_panel(CurrentMap(result, "cross", editing))
    if result.before and result.draft.original is not None:
        before = result.before.draft
        rows = [
            changed_text("Translation", before.trace.output, result.trace.output),
            number("log p of it", before.log_probability, result.draft.log_probability, ".2f"),
            number("log p of the one before", before.log_probability, result.draft.original, ".2f"),
        ]
        show_changes(rows, slot=editing.slot)


# The page of examples of each language.
EXAMPLES = {"French": "translate", "German": "translate-german"}
# How the names of our translators into another language than the first end.
ENDINGS = {"German": "-en-de"}


def language_picker() -> str:
    """Offer the languages to translate into, where translators of ours know several."""
    known = {_language_of(name) for name in catalog.available_for("translate")}
    options = tuple(name for name in EXAMPLES if name in known)
    return segments(st.sidebar, "Into", "into", options=options, on_change=_other_language) if len(options) > 1 else "French"


def _language_of(name: str) -> str:
    return next((language for language, ending in ENDINGS.items() if name.endswith(ending)), "French")


def _other_language() -> None:
    """Switch to the language's own translators, and to its first example unless something else was typed; for a callback."""
    forget_drafts()
    forget("models", "target")
    forget_languages()
    if st.session_state.get("text") in {example.text for page in EXAMPLES.values() for example in examples(page)}:
        forget_typed()
        st.session_state.text = examples(EXAMPLES[st.session_state.into])[0].text


def translators_picker(into: str) -> tuple[str, ...]:
    """Offer one to four translators, of the catalog, of the hub, or any id or folder that is typed."""
    own = catalog.available_for("translate")
    first = tuple(name for name in own if _language_of(name) == into)
    return side_by_side(
        Choices(
            offered([*first, *(name for name in own if name not in first), *catalog.HUB["encoder-decoder"]]),
            first[:SLOTS],
            SLOTS,
            "Choose a translator",
            "Up to four, side by side. Those named …-en-fr and …-en-de travel with attnviz; others come from the Hugging Face "
            "hub: type any encoder-decoder's id, or a folder.",
        )
    )


def decoding_picker() -> DecodingOptions:
    """Greedy, or a beam with its width and length penalty."""
    sidebar = st.sidebar
    if segments(sidebar, "Decoding", "decoding") == "Greedy":
        return GREEDY
    left, right = sidebar.columns(2)
    width = bounded(left, "Width", "width")
    penalty = bounded(
        right,
        "Length penalty",
        "penalty",
        help="α of ln p / length^α. 0 favours short translations; 1 compares them by the mean over their tokens.",
    )
    return DecodingOptions(width, penalty)


def options_of(slot: int, options: DecodingOptions) -> DecodingOptions:
    """Add to the options what was chosen for the model at `slot`, now or in the address: how it begins, and the candidate."""
    begins, candidate = value(f"begins{slot}", ""), value(f"candidate{slot}", 0)
    publish(f"begins{slot}", begins, "")
    publish(f"candidate{slot}", candidate, 0)
    return replace(options, begins=tuple(begins.split(" ")) if begins else (), candidate=candidate)


def alignment_picker(
    results: Iterable[Result],
    sidebar: DeltaGenerator,
    folded: DeltaGenerator,
    follows: Callable[[AlignmentView], tuple[int, int] | None],
    word: str = "",
) -> AlignmentView:
    """Options for all alignments of the page, and layer and head, where a model has several; `word` is looked at first.

    Until a person chooses a head, it `follows` what is asked. What specialists choose stands in `folded`.
    """
    results, heads = tuple(results), sidebar.container()
    reading = reading_picker(results, folded)
    words = merge_toggle("whole_words")
    hide = toggle(sidebar, "Hide special tokens", "hide_special")
    hard = segments(
        folded,
        "Hard links",
        "hard",
        help="Draws yes-or-no links over the weights. Strongest: one for each target word. Balanced: the "
        "same after every source word has received its share, which comes nearer to what people link. Threshold: all links "
        "from a weight on.",
    )
    threshold = 0.0
    if hard == "Threshold":
        threshold = bounded(folded, "From weight", "threshold", slider=True)
    view = AlignmentView(0, None, View(words, hide), scale_picker(sidebar), reading, hard, threshold, word)
    supervised_head = next((each.card.supervised_head for each in results if each.card.supervised_head), None)
    maps, mixed, pinned, first = [each.trace.cross for each in results], heads_are_mixed(results), is_pinned(), None
    # Where all is hidden, the picture says it.
    with suppress(TraceError):
        first = None if pinned or mixed else follows(view)
    layer, head = head_picker(maps, heads, supervised_head, first, pinned=pinned, mixed=mixed)
    return replace(view, layer=layer, head=head)


def large_slot(slots: Iterable[int]) -> int:
    """Return the slot of the model whose alignment is drawn large; the first, where the one that was chosen is not there."""
    slots = tuple(slots)
    return one_shown("hero", slots, slots[0])


def forget_target() -> None:
    """Let the models write by themselves again; for a callback."""
    forget("target")
    forget_cell()


def forget_text() -> None:
    """Lets go of what belonged to the text before: a target that a person typed stays, an example's goes with its text."""
    forget_drafts()
    forget("alternatives")
    given = {example.target for page in EXAMPLES.values() for example in examples(page)}
    if st.session_state.get("target") in given and st.session_state.typed != st.session_state.text:
        forget("target")


def target_box(prompt: Prompt, written: str) -> None:
    """Draw the box for the translation whose alignment is looked at; `written` is what stands there else."""
    with st.expander("Force the target", expanded=bool(prompt.target), icon=":material/edit_note:"):
        st.caption("Type any translation: see the alignment the model would give it, and how likely it finds each token.")
        typed = text_field(
            st.text_input,
            "Target text",
            "target",
            placeholder=written or "A translation",
            label_visibility="collapsed",
            on_change=forget_cell,
        )
        long_notice(translation=typed)
        if prompt.target:
            st.button("Back to the model's own", key="own", icon=":material/undo:", on_click=forget_target)


def steered_button(slot: int, name: str, begins: tuple[str, ...]) -> None:
    """Offer the way back where a person has chosen how a translation begins."""

    def unsteer() -> None:
        st.session_state.update({f"begins{slot}": "", f"candidate{slot}": 0})
        forget_cell()

    if begins:
        label = f"Back to what {escaped(name)} writes by itself"
        st.button(label, key=f"unsteer{slot}", icon=":material/undo:", on_click=unsteer)


_markup = Markup("markup", MARKUP)


def show_advanced(slot: int, result: Result, editing: Editor, view: AlignmentView) -> None:
    """Show the search, the rows and the heads of the model that is drawn large; the heads as its edits are compared.

    Raises:
        TraceError: the view leaves no token.
    """
    shown = current_result(result, editing)
    st.caption(describe_score(shown.draft.log_probability, shown.card.metrics.get("BLEU")))
    _show_candidates(shown.draft, slot)
    _show_tree(shown.draft, slot, shown.options.begins)
    show_rows_notice(shown, view)
    attention = view.attention(shown)
    if attention.n_layers * attention.n_heads > 1:
        cell = chosen_cell(shown, view, slot)
        label = f"All heads of {escaped(shown.card.name)}"
        current = CurrentMap(result, "cross", editing)
        # The rows of a difference are named after what is read.
        attention = attention if current.drawn is current.current else current.drawn
        drawn_as = current.drawn_as(view.of(shown))
        all_heads(attention, drawn_as, choose_head, cell=cell, slot=str(slot), label=label, editing=editing)


def opens_advanced(slot: int, result: Result) -> bool:
    """Say whether there is something to see that somebody has asked for: a search, or the heads where there are several."""
    attention, name = result.trace.cross, f"all{slot}"
    heads_asked = st.session_state.get(name, url_value(name, "") == "open")
    return len(result.draft.candidates) > 1 or (heads_asked and attention.n_layers * attention.n_heads > 1)


def describe_given_target(draft: Draft) -> tuple[Sentence, ...]:
    """Say how likely a given target is to the model, beside its own; of the model's own translation nothing."""
    return (describe_likelihood(draft.log_probability, draft.own.log_probability),) if draft.own else ()


def explain_alignment(result: Result, view: AlignmentView, slot: int) -> None:
    """Offer the way into Compute for the chosen cell, where the picture's rows are rows of the one or chosen head."""
    draft, attention, own = result.draft, result.trace.cross, view.of(result)
    if result.quantity != "weights" or draft.reads_its_rows or (own.head is None and attention.n_heads > 1):
        return
    matrix = view.alignment(result)
    drawn = {"model": st.session_state.models[slot - 1], "begins": " ".join(draft.pieces)}
    explain_button("cross", own, matrix, chosen_cell(result, view, slot), slot=str(slot), **drawn)


def _choose(slot: int, picked: str) -> None:
    st.session_state[f"candidate{slot}"] = int(picked)
    forget_cell()


def _show_candidates(draft: Draft, slot: int) -> None:
    """List the translations that the search found. A click shows the alignment of another."""
    if len(draft.candidates) > 1:
        candidates_shown = [(each.text, each.log_probability) for each in draft.candidates]
        drawn = candidates(candidates_shown, chosen=draft.chosen, theme=theme())
        _markup(f"candidates{slot}", drawn, lambda picked: _choose(slot, picked))


def _show_tree(draft: Draft, slot: int, begins: tuple[str, ...]) -> None:
    """Draw the tree that the beam search walked. A click on a leaf shows the alignment of that translation."""
    if draft.tree is None or len(draft.candidates) < 2:
        return
    twigs = [Twig(each.name, each.parent, each.probability, each.kept) for each in draft.tree.branches]
    with st.expander("The tree of the beam", icon=":material/account_tree:"):
        st.caption(
            "A column is a step, with p of each token there. The search keeps the likeliest paths; one that is faint was left "
            "later, one that is struck out was never taken, the best of what its parent lost. A number is a translation's rank."
        )
        start = "".join(begins).replace("▁", " ").strip() or "<s>"
        drawn = beam_tree(twigs, Grown(draft.tree.leaves, draft.chosen, start, theme()))
        _markup(f"tree{slot}", drawn, lambda picked: _choose(slot, picked))
