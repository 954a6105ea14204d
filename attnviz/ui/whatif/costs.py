"""What heads cost, on What if: all heads, the chosen one, the curve of many heads off; files."""

from functools import partial

import streamlit as st

from attnviz.analysis.whatif_comparison import describe_curve
from attnviz.analysis.wording import head_words, plain
from attnviz.core.edits import Edits, HeadSet, HeadValue
from attnviz.core.trace import Head, HeadCosts, Prompt, RemovalCurve
from attnviz.export import whatif_sheets
from attnviz.figures.curve import STYLE as CURVE
from attnviz.figures.html import STYLE as MARKUP
from attnviz.figures.whatif_matrices import STYLE, cost_grid, removal_figure
from attnviz.models.base import AttentionModel, Progress
from attnviz.ui.address.address_sync import forget, segments, value, visit_button
from attnviz.ui.background.results import computed
from attnviz.ui.download import drawing_buttons, file_button
from attnviz.ui.explorer import clicked_head, pick_head
from attnviz.ui.layout import Markup, theme
from attnviz.ui.whatif.controls import Ablation

_GRID = Markup("costs", MARKUP + STYLE)
_CURVE = Markup("removal", MARKUP + CURVE)
_ORDERS = {"layer": "By layer", "cost": "By importance"}
READING = """
- A head is switched off where the model computes it, in every step; everything after it computes with what is left. Its cost
  is how far ln p falls of the output that the model gives with all heads, for a language model of the next word; of one word
  rather than another, how far the difference of their logits falls; for a model that says no word, how far its final vectors
  turn (1 − cosine, the mean over tokens).
- **Zero is not neutral**: later layers have never seen it. Set heads to their mean and see whether the order stays.
- **Redundancy hides**: a head whose work another can do costs nothing alone. Look at the curve, where many go at once.
- A claim about k heads means little without the band: k heads drawn at random, 20 times.
- One text proves little: `attnviz ablate MODEL --data FILE` measures a whole file, with intervals.

Michel, Levy & Neubig 2019, *Are Sixteen Heads Really Better than One?*; Voita et al. 2019, *Analyzing Multi-Head
Self-Attention*.
"""


def chosen_head(costs: HeadCosts) -> Head:
    """Return the head that was clicked, or that the address names; else the most costly."""
    return clicked_head(costs.ranked, ("attention", "layer", "head")) or costs.ranked[-1]


def show_costs(costs: HeadCosts, chosen: Head) -> None:
    """Draw all heads, by layer or by cost; a click chooses one."""
    order = segments(
        st.container(key="desk-order"), "Order", "order", format_func=_ORDERS.__getitem__, label_visibility="collapsed"
    )
    _GRID("costs", cost_grid(costs, chosen=chosen, ordered=order == "cost", theme=theme()), on_pick=pick_head)


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
    _CURVE("removal", removal_figure(curve, "ln p lost" if unit == "nats" else "change", theme=theme()))
    st.caption(plain(describe_curve(curve)))


def download_buttons(costs: HeadCosts, curve: RemovalCurve | None, model: str) -> None:
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
