"""What a person chooses on Translate: models, how they decode, how alignments are drawn, and a target to be written."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.head_view import View
from attnviz.analysis.translation_alignment import describe_likelihood
from attnviz.analysis.wording import Sentence, signed
from attnviz.core.errors import TraceError
from attnviz.core.trace import Prompt
from attnviz.figures.html import STYLE
from attnviz.figures.translate.alignments import Grown, Twig, beam_tree, candidates
from attnviz.models import catalog
from attnviz.models.base import GREEDY, DecodingOptions, Draft
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import (
    bounded,
    forget,
    forget_cell,
    forget_drafts,
    forget_languages,
    is_pinned,
    one_shown,
    publish,
    segments,
    text_field,
    toggle,
    url_value,
    value,
)
from attnviz.ui.address.parameters import SLOTS
from attnviz.ui.download import explain_button
from attnviz.ui.edit import CurrentMap, Editor, current_result
from attnviz.ui.explorer import all_heads, choose_head, head_picker, heads_are_mixed, reading_picker
from attnviz.ui.frame.sidebar import Choices, scale_picker, side_by_side
from attnviz.ui.layout import Markup, escaped, theme
from attnviz.ui.prompt_box import examples, forget_typed
from attnviz.ui.translate import AlignmentView, chosen_cell, show_rows_notice
from attnviz.ui.visitor_limits import offered

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
    words = toggle(sidebar, "Merge subwords to words", "whole_words")
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
        text_field(
            st.text_input,
            "Target text",
            "target",
            placeholder=written or "A translation",
            label_visibility="collapsed",
            on_change=forget_cell,
        )
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


_markup = Markup("markup", STYLE)


def show_advanced(slot: int, result: Result, editing: Editor, view: AlignmentView) -> None:
    """Show the search, the rows and the heads of the model that is drawn large; the heads as its edits are compared.

    Raises:
        TraceError: the view leaves no token.
    """
    shown = current_result(result, editing)
    figures = [f"log p of this translation: {signed(shown.draft.log_probability)}"]
    if (bleu := shown.card.metrics.get("BLEU")) is not None:
        figures.append(f"BLEU on held-out sentences: {bleu:.1f}")
    st.caption(" · ".join(figures))
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
    row, column = chosen_cell(result, view, slot)
    place = {"model": st.session_state.models[slot - 1], "layer": own.layer, "head": own.head or 0}
    place |= {"query": matrix.rows[row], "key": matrix.columns[column], "words": "true" if view.view.words else ""}
    explain_button(attention, place, slot=str(slot), begins=draft.pieces)


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
