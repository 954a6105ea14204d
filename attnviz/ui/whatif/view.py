"""What stands on the page What if: how far heads have changed on two sides, what each head costs, and many of them; files."""

from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.whatif_comparison import Comparison
from attnviz.analysis.wording import describe_edits, head_words
from attnviz.core.edits import Edits, HeadSet, HeadValue
from attnviz.core.trace import AttentionTrace, Head, HeadCosts, Prompt, RemovalCurve
from attnviz.export import whatif_sheets
from attnviz.figures.explorer.exported_file import records_script
from attnviz.figures.html import STYLE as MARKUP
from attnviz.figures.whatif_matrices import STYLE, comparison_blocks, cost_blocks, curve_blocks
from attnviz.models.base import AttentionModel, Progress
from attnviz.models.catalog import Task
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import forget, segments, value, visit_button
from attnviz.ui.background.results import computed
from attnviz.ui.blocks import show_blocks
from attnviz.ui.download import drawing_buttons, file_button
from attnviz.ui.edit_panel import show_next
from attnviz.ui.explorer import clicked_head
from attnviz.ui.layout import Markup, escaped, theme
from attnviz.ui.whatif.controls import Ablation, Sides

_markup = Markup("whatif", MARKUP + STYLE)
# Its pictures, by their keys.
_PICTURES = {
    **dict.fromkeys(("divergence", "changes", "costs", "removal"), _markup),
    "matrices": Markup("compared-heads", MARKUP + STYLE, records_script()),
}
_ORDERS = {"layer": "By layer", "cost": "By importance"}


def show_edits(edits: Edits, trace: AttentionTrace) -> None:
    """Show what is edited on the second side, and the way back; nothing where nothing is."""
    if edits:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{escaped(', '.join(describe_edits(edits, trace).values()))}**", width="content")
            st.button(
                "Back to all heads", key="back", icon=":material/undo:", on_click=forget, args=("edits", "layer", "head"),
            )  # fmt: skip


def show_comparison(
    compared: Comparison, sides: Sides, results: tuple[Result, Result], heading: DeltaGenerator
) -> tuple[int, int]:
    """Show how far each head has changed, and one of them on both sides; return its layer and head."""
    chosen = clicked_head(list(np.ndindex(compared.divergence.shape)))
    said, *drawn = comparison_blocks(compared, chosen, sides.names, are_models=sides.are_models, theme=theme())
    show_blocks([said], place=heading)
    show_next(results, sides.names)
    show_blocks(drawn, _PICTURES)
    return compared.shown_head(chosen, are_models=sides.are_models)


def comparison_buttons(compared: Comparison, results: tuple[Result, Result], chosen: tuple[int, int]) -> None:
    """Offer the picture as a drawing, and how far each head has changed as CSV."""
    traces = results[0].trace, results[1].trace
    with st.container(horizontal=True):
        drawing_buttons("compared", lambda: whatif_sheets.draw_comparison(compared, traces, *chosen))
        file_button("compared.csv", lambda: whatif_sheets.comparison_csv(compared))


def chosen_head(costs: HeadCosts) -> Head:
    """Return the head that was clicked, or that the address names; else the most costly."""
    return clicked_head(costs.ranked, ("attention", "layer", "head")) or costs.ranked[-1]


def show_costs(costs: HeadCosts, chosen: Head, output: str, task: Task, heading: DeltaGenerator) -> DeltaGenerator:
    """Draw all heads, by layer or by cost, below the output of the task; return the place beside them."""
    ordered = value("order") == "cost"
    *above, grid = cost_blocks(costs, chosen, output, task=task, ordered=ordered, theme=theme())
    show_blocks(above, place=heading)
    left, right = st.container(key="measured").columns(2, gap="large")
    with left:
        segments(
            st.container(key="desk-order"), "Order", "order", format_func=_ORDERS.__getitem__, label_visibility="collapsed"
        )
        show_blocks([grid], _PICTURES)
    return right


def show_head(head: Head, costs: HeadCosts, ablation: Ablation) -> None:
    """Offer the ways from the chosen head to its picture, to the output without it, and to the other heads without it."""
    kind, layer, number = head
    model, task, prompt = ablation.model, ablation.task, ablation.prompt
    place = {"layer": layer, "head": number}
    typed = {name: value(name) for name in ("text", "pair", "question", "target")}
    edits = Edits((HeadSet(kind, layer, number, ablation.to),)).text
    if task == "answer":
        typed["text"] = prompt.text
        task_texts = {"passage": prompt.text, "question": prompt.question}
    else:
        task_texts = {name: typed[name] for name in ("text", "pair", "target")}
    is_several = task in ("translate", "answer")
    models = {"models": [model], "edits1": edits} if is_several else {"model": model, "edits": edits}
    # What a language model says is what it would write.
    page = "write" if costs.unit == "nats" and set(costs.costs) == {"decoder"} else task
    with st.container(key="desk-head", horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{head_words(layer, number, kind if len(costs.costs) > 1 else '', capital=True)}**", width="content")
        visit_button(
            "See this head", "encode", {"model": model, **typed, "attention": kind, **place, "view": "matrix"},
            key="see-head", icon="grid_on", help="Opens it on Encode, in the explorer.",
        )  # fmt: skip
        visit_button(
            "Read the output without it", page, {**models, **task_texts, **place},
            key="switch-off", icon="toggle_off", help=f"Opens {page.title()} with this head off.",
        )  # fmt: skip
        if task != "answer":
            st.button(
                "Compare attention with this head off", key="compare-off", icon=":material/compare_arrows:",
                help="Compares every head before and after.", on_click=_compare, args=(edits,),
            )  # fmt: skip


def _compare(edits: str) -> None:
    """Compares all heads with and without an edit; for a callback."""
    forget("layer", "head")
    st.session_state.edits = edits


def show_curve(curve: RemovalCurve, unit: str) -> None:
    """Draw how the output holds when more and more heads are off."""
    show_blocks(curve_blocks(curve, unit, theme=theme()), _PICTURES)


def cost_buttons(costs: HeadCosts, curve: RemovalCurve | None, model: str) -> None:
    """Offer the picture as a drawing, and its numbers as CSV."""
    title, name = f"What each head of {model} costs", f"{model.replace('/', '-')}-heads"
    with st.container(horizontal=True):
        drawing_buttons(name, lambda: whatif_sheets.draw_costs(costs, curve, title))
        file_button(f"{name}.csv", lambda: whatif_sheets.costs_csv(costs))
        if curve is not None:
            file_button(f"{name}-off.csv", lambda: whatif_sheets.curve_csv(curve), "CSV of the curve", "download_curve")


@partial(computed, passes=10)
def head_costs(model: AttentionModel, progress: Progress, prompt: Prompt, to: HeadValue) -> HeadCosts:
    """Measure what each head costs the output."""
    from attnviz.models import whatif

    return whatif.head_costs(model, prompt, to=to, progress=progress)


@partial(computed, passes=40)
def removal_curve(
    model: AttentionModel, progress: Progress, prompt: Prompt, to: HeadValue, *, costs: HeadCosts
) -> RemovalCurve:
    """Measure how the output holds when many heads are off, in the order of what each costs."""
    from attnviz.models import whatif

    return whatif.removal_curve(model, prompt, costs, to=to, progress=progress)
