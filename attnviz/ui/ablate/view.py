"""The parts of the page Ablate: what is read, what each head costs, the head that is chosen, how the output holds."""

from dataclasses import dataclass

import streamlit as st

from attnviz.analysis.ablate.head_costs import describe_curve, describe_head
from attnviz.analysis.wording import plain
from attnviz.core.edits import Edits, HeadSet, HeadValue
from attnviz.core.shares import Head, HeadCosts, RemovalCurve
from attnviz.core.trace import Prompt
from attnviz.export import FORMATS, png, svg
from attnviz.export.ablate import cost_sheet
from attnviz.figures.ablate.costs import STYLE, cost_grid
from attnviz.figures.ablate.curve import removal_figure
from attnviz.figures.html import STYLE as MARKUP
from attnviz.models.catalog import CATALOG, HUB, Task
from attnviz.ui.address.state import forget, publish, url_value, value, visit
from attnviz.ui.address.widgets import segments
from attnviz.ui.layout import story, theme
from attnviz.ui.markup import Markup
from attnviz.ui.prompt import PAIR, prompt_box, question_box
from attnviz.ui.sidebar import forced_target

_GRID = Markup("costs", MARKUP + STYLE)
_CURVE = Markup("removal", MARKUP + STYLE)
_SET = {"zero": "Zero", "mean": "Its mean", "uniform": "Uniform"}
_ORDERS = {"layer": "By layer", "cost": "By cost"}


def task_of(model: str) -> Task:
    """What a model does: of the hub, what the address asks of it."""
    if model in CATALOG:
        return CATALOG[model].task
    if model in HUB["encoder-decoder"] or url_value("target", ""):
        return "translate"
    return "answer" if url_value("question", "") and model not in (*HUB["encoder"], *HUB["decoder"]) else "encode"


@dataclass(frozen=True)
class Ablated:
    """Which model reads what, what it does, and what its heads are set to."""

    model: str
    task: Task
    prompt: Prompt
    to: HeadValue


def asked_of(model: str) -> Ablated | None:
    """What is typed for a model, and what its heads are set to; None after the page has said what is wrong."""
    task = task_of(model)
    prompt, to = _typed(task), _set_to()
    return Ablated(model, task, prompt, to) if prompt else None


def _typed(task: Task) -> Prompt | None:

    def again() -> None:
        forget("stopped")

    if task == "answer":
        return question_box(forget=again)[0]
    prompt, _ = prompt_box(task, further=(PAIR,) if task == "encode" else (), forget=again)
    return forced_target(prompt) if prompt and task == "translate" else prompt


def _set_to() -> HeadValue:
    """What a head is set to."""
    help_ = "Zero: the head adds nothing. Its mean: what it adds on average over this text. Uniform: it looks at all alike."
    return segments(st.sidebar, "Set a head to", "to", format_func=_SET.__getitem__, help=help_)


def is_stopped(work: str) -> bool:
    """Whether somebody has stopped this work, "costs" or "curve"; if so, the page says how to go on."""
    stopped = value("stopped", "")
    publish("stopped", stopped, "")
    if stopped != work:
        return False
    st.info("You have stopped this.", icon=":material/stop_circle:")
    st.button("Go on", key="go-on", icon=":material/play_arrow:", on_click=forget, args=("stopped",))
    return True


def stop(work: str) -> None:
    """Ends the work under way; for a callback."""
    st.session_state.stopped = work


def chosen_head(costs: HeadCosts) -> Head:
    """The head that was clicked, or that the address names; unasked, or where there is none such, the most costly."""
    names = ("attention", "layer", "head")
    kind, layer, head = (value(name) for name in names)
    if None in (kind, layer, head):
        return costs.ranked[-1]
    for name, place in zip(names, (kind, layer, head), strict=True):
        publish(name, place, None)
    return (kind, layer, head) if (kind, layer, head) in costs.ranked else costs.ranked[-1]


def show_costs(costs: HeadCosts, chosen: Head) -> None:
    """All heads, by layer or by cost; a click chooses one."""

    def pick(picked: str) -> None:
        kind, layer, head = picked.split(".")
        st.session_state.update(attention=kind, layer=int(layer), head=int(head))

    order = segments(
        st.container(key="desk-order"), "Order", "order", format_func=_ORDERS.__getitem__, label_visibility="collapsed"
    )
    _GRID("costs", cost_grid(costs, chosen=chosen, ordered=order == "cost", theme=theme()), on_pick=pick)


def show_head(head: Head, costs: HeadCosts, seen: Ablated) -> None:
    """What the chosen head costs, and the ways to its picture, and to the page where it is off."""
    kind, layer, number = head
    read = {"model": seen.model, **{name: value(name) for name in ("text", "pair", "question", "target")}}
    place = {"layer": layer, "head": number}
    edits = Edits((HeadSet(kind, layer, number, seen.to),)).text
    if seen.task == "answer":
        read["text"] = seen.prompt.text
        there = {"passage": seen.prompt.text, "question": seen.prompt.question}
    else:
        there = {name: read[name] for name in ("text", "pair", "target")}
    several = seen.task in ("translate", "answer")
    models = {"models": [seen.model], "edits1": edits} if several else {"model": seen.model, "edits": edits}
    with st.container(key="desk-head", horizontal=True, vertical_alignment="center"):
        story(describe_head(head, costs))
        st.button(
            "See this head", key="see-head", icon=":material/grid_on:", help="Opens it on Encode, in the explorer.",
            on_click=visit, args=("encode",), kwargs={**read, "attention": kind, **place, "view": "matrix"},
        )  # fmt: skip
        st.button(
            "Switch it off", key="switch-off", icon=":material/toggle_off:", help=f"Opens {seen.task.title()} without it.",
            on_click=visit, args=(seen.task,), kwargs={**models, **there, **place},
        )  # fmt: skip
        if seen.task != "answer":
            both = {"model": seen.model, "text": read["text"], "other": read["text"], "target": read["target"], "edits": edits}
            st.button(
                "Who looks elsewhere then?", key="compare-off", icon=":material/compare_arrows:",
                help="Opens Compare, with this head on and off.", on_click=visit, args=("compare",), kwargs=both,
            )  # fmt: skip


def show_curve(curve: RemovalCurve, unit: str) -> None:
    """How the output holds when more and more heads are off."""
    _CURVE("removal", removal_figure(curve, "nats" if unit == "nats" else "1 − cosine", theme=theme()))
    st.caption(plain(describe_curve(curve)))


def offer_files(costs: HeadCosts, curve: RemovalCurve | None, model: str) -> None:
    """The picture as SVG and PNG, and its numbers as CSV."""
    title = f"What each head of {model} costs"
    name = f"{model.replace('/', '-')}-heads"
    with st.container(horizontal=True):
        for to, write in (("svg", svg.sheet_svg), ("png", png.sheet_png)):
            file = lambda write=write: write(cost_sheet.draw_costs(costs, curve, title))
            st.download_button(to.upper(), file, f"{name}.{to}", FORMATS[to].media_type, on_click="ignore")
        st.download_button("CSV", lambda: cost_sheet.costs_csv(costs), f"{name}.csv", "text/csv", on_click="ignore")
        if curve is not None:
            st.download_button(
                "CSV of the curve", lambda: cost_sheet.curve_csv(curve), f"{name}-off.csv", "text/csv", on_click="ignore"
            )
