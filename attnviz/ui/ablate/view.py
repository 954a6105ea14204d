"""The parts of the page Ablate: what is typed, what each head costs, the chosen head, the curve of many heads off; files."""

from dataclasses import dataclass

import streamlit as st

from attnviz.analysis.ablate.head_costs import describe_curve, describe_head
from attnviz.analysis.wording import plain
from attnviz.core.edits import Edits, HeadSet, HeadValue
from attnviz.core.shares import Head, HeadCosts, RemovalCurve
from attnviz.core.trace import Prompt
from attnviz.export.ablate import cost_sheet
from attnviz.figures.ablate.costs import STYLE, cost_grid
from attnviz.figures.ablate.curve import removal_figure
from attnviz.figures.html import STYLE as MARKUP
from attnviz.models.catalog import CATALOG, HUB, Task
from attnviz.ui.address.state import forget, publish, url_value, value
from attnviz.ui.address.widgets import segments, visit_button
from attnviz.ui.download import drawing_buttons, file_button
from attnviz.ui.head_picker import clicked_head, pick_head
from attnviz.ui.layout import story, theme
from attnviz.ui.markup import Markup
from attnviz.ui.prompt import PAIR, prompt_box, question_box
from attnviz.ui.sidebar import forced_target

_GRID = Markup("costs", MARKUP + STYLE)
_CURVE = Markup("removal", MARKUP + STYLE)
_HEAD_VALUES = {"zero": "Zero", "mean": "Its mean", "uniform": "Uniform"}
_ORDERS = {"layer": "By layer", "cost": "By cost"}


def task_of(model: str) -> Task:
    """What a model does; one of the hub does what the address says."""
    if model in CATALOG:
        return CATALOG[model].task
    if model in HUB["encoder-decoder"] or url_value("target", ""):
        return "translate"
    return "answer" if url_value("question", "") and model not in (*HUB["encoder"], *HUB["decoder"]) else "encode"


@dataclass(frozen=True)
class Ablation:
    """Which model reads what, what it does, and what its heads are set to."""

    model: str
    task: Task
    prompt: Prompt
    to: HeadValue


def ablation_controls(model: str) -> Ablation | None:
    """What is typed for a model, and what its heads are set to; None after the page has said what is wrong."""
    task = task_of(model)
    prompt = _prompt_box(task)
    to = segments(
        st.sidebar, "Set a head to", "to", format_func=_HEAD_VALUES.__getitem__,
        help="Zero: the head adds nothing. Its mean: it adds its mean over this text. Uniform: it looks at all tokens equally.",
    )  # fmt: skip
    return Ablation(model, task, prompt, to) if prompt else None


def _prompt_box(task: Task) -> Prompt | None:

    def restart() -> None:
        forget("stopped")

    if task == "answer":
        return question_box(forget=restart)[0]
    prompt, _ = prompt_box(task, further=(PAIR,) if task == "encode" else (), forget=restart)
    return forced_target(prompt) if prompt and task == "translate" else prompt


def is_stopped(work: str) -> bool:
    """Whether somebody has stopped this work, "costs" or "curve"; if so, the page says how to continue."""
    stopped = value("stopped", "")
    publish("stopped", stopped, "")
    if stopped != work:
        return False
    st.info("You stopped this.", icon=":material/stop_circle:")
    st.button("Continue", key="go-on", icon=":material/play_arrow:", on_click=forget, args=("stopped",))
    return True


def stop(work: str) -> None:
    """Ends the work under way; for a callback."""
    st.session_state.stopped = work


def chosen_head(costs: HeadCosts) -> Head:
    """The head that was clicked, or that the address names; else the most costly."""
    return clicked_head(costs.ranked, ("attention", "layer", "head")) or costs.ranked[-1]


def show_costs(costs: HeadCosts, chosen: Head) -> None:
    """All heads, by layer or by cost; a click chooses one."""
    order = segments(
        st.container(key="desk-order"), "Order", "order", format_func=_ORDERS.__getitem__, label_visibility="collapsed"
    )
    _GRID("costs", cost_grid(costs, chosen=chosen, ordered=order == "cost", theme=theme()), on_pick=pick_head)


def show_head(head: Head, costs: HeadCosts, ablation: Ablation) -> None:
    """What the chosen head costs, and the ways to its picture, and to the pages where it is off."""
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
    with st.container(key="desk-head", horizontal=True, vertical_alignment="center"):
        story(describe_head(head, costs))
        visit_button(
            "See this head", "encode", {"model": model, **typed, "attention": kind, **place, "view": "matrix"},
            key="see-head", icon="grid_on", help="Opens it on Encode, in the explorer.",
        )  # fmt: skip
        visit_button(
            "Switch it off", task, {**models, **task_texts, **place},
            key="switch-off", icon="toggle_off", help=f"Opens {task.title()} with this head off.",
        )  # fmt: skip
        if task != "answer":
            both = {"model": model, "text": typed["text"], "other": typed["text"], "target": typed["target"], "edits": edits}
            visit_button(
                "Compare attention with this head off", "compare", both,
                key="compare-off", icon="compare_arrows", help="Opens Compare: which heads look elsewhere then.",
            )  # fmt: skip


def show_curve(curve: RemovalCurve, unit: str) -> None:
    """How the output holds when more and more heads are off."""
    _CURVE("removal", removal_figure(curve, "nats" if unit == "nats" else "1 − cosine", theme=theme()))
    st.caption(plain(describe_curve(curve)))


def download_buttons(costs: HeadCosts, curve: RemovalCurve | None, model: str) -> None:
    """The picture as a drawing, and its numbers as CSV."""
    title, name = f"What each head of {model} costs", f"{model.replace('/', '-')}-heads"
    with st.container(horizontal=True):
        drawing_buttons(name, lambda: cost_sheet.draw_costs(costs, curve, title))
        file_button(f"{name}.csv", lambda: cost_sheet.costs_csv(costs))
        if curve is not None:
            file_button(f"{name}-off.csv", lambda: cost_sheet.curve_csv(curve), "CSV of the curve", "download_curve")
