"""What stands on the page What if: its controls, how far heads have changed on two sides, what each costs; its files."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.whatif_comparison import CHANGES, Comparison, change_of, side_names
from attnviz.analysis.wording import describe_edits, head_words
from attnviz.core.edits import NO_EDITS, Edits, HeadSet, HeadValue
from attnviz.core.trace import AttentionTrace, Head, HeadCosts, Prompt, RemovalCurve
from attnviz.export import whatif_report
from attnviz.figures.explorer.exported_file import records_script
from attnviz.figures.html import STYLE as MARKUP
from attnviz.figures.whatif_grids_and_matrices import STYLE, comparison_blocks, cost_blocks, curve_blocks
from attnviz.models import catalog
from attnviz.models.base import AttentionModel, Progress
from attnviz.models.catalog import CATALOG, HUB, Task
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import (
    forget,
    one_or_typed,
    publish,
    remember,
    remembered,
    segments,
    text_field,
    url_value,
    value,
    visit_button,
)
from attnviz.ui.background.results import computed
from attnviz.ui.blocks import show_blocks
from attnviz.ui.download import drawing_buttons, file_button
from attnviz.ui.edit_panel import show_next
from attnviz.ui.explorer import clicked_head
from attnviz.ui.frame.sidebar import KNOWN_MODELS, forced_target, one_model, target_picker
from attnviz.ui.layout import Markup, checked, escaped, theme
from attnviz.ui.prompt_box import (
    PAIR,
    Example,
    TextBox,
    example_pills,
    examples,
    forget_typed,
    long_notice,
    prompt_box,
    question_box,
    run_texts,
    text_box,
    unrun_notice,
)
from attnviz.ui.training_checkpoints import checkpoints, label, nearest, publish_settings
from attnviz.ui.visitor_limits import any_model, offered

_PARTS = {"heads": "Heads", "mlps": "MLPs", "stream": "Stream"}
# Parameters of a text whose parts are set.
_PATCHED = ("next", "rather", "part", "query")
_HEAD_VALUES = {"zero": "Zero", "mean": "Its mean", "uniform": "Uniform"}
_ABOUT = "Models of the catalog are on this machine; others come from the Hugging Face hub: choose one, or type any model's id."


@dataclass(frozen=True)
class Sides:
    """What is compared: of each side the model and the prompt, the edits of the second, and what to notice."""

    models: tuple[str, str]
    prompts: tuple[Prompt, Prompt]
    edits: Edits = NO_EDITS
    notice: str = ""

    @property
    def are_models(self) -> bool:
        """Whether two models read."""
        return self.models[0] != self.models[1]

    @property
    def names(self) -> tuple[str, str]:
        """What each side is called: by what differs."""
        return side_names((label(self.models[0]), label(self.models[1])), is_edited=bool(self.edits))


@dataclass(frozen=True)
class Ablation:
    """Which model reads what, what it does, and what its heads are set to.

    target  of a language model, the word or the two words whose probability is measured; empty: the likeliest next one
    """

    model: str
    task: Task
    prompt: Prompt
    to: HeadValue
    target: str = ""

    @property
    def scored(self) -> Prompt:
        """The prompt, with the target that is measured."""
        return replace(self.prompt, target=self.target) if self.target else self.prompt


@dataclass(frozen=True)
class TextPair:
    """Two texts that a model would write on, of which parts of the second are set in the first; two words to compare.

    words  what comes next in either; empty: the likeliest
    """

    model: str
    prompts: tuple[Prompt, Prompt]
    words: tuple[str, str]
    what: str
    notice: str = ""


def change_picker() -> tuple[str, DeltaGenerator]:
    """Ask what is changed, "word", "head", "model" or "patch"; return it, and the place beside it."""
    state, before = st.session_state, value("change", "word")

    def restart() -> None:
        forget("layer", "head", "attention", "target", "about", "second", "edits", "other", "trained", "stopped", *_PATCHED)
        forget_typed()
        if {"model", "patch"} & {before, state.change}:
            forget("model")
        if any(state.get("text") == each.text for each in examples("whatif")):
            forget("text")

    row = st.container(horizontal=True, vertical_alignment="center", key="what-changes")
    change = segments(
        row.container(width="content"), "What changes", "change", format_func=CHANGES.__getitem__, on_change=restart,
        label_visibility="collapsed",
    )  # fmt: skip
    return change, row


def ablation_controls() -> Ablation | None:
    """Ask for what a model reads, and what its heads are set to; None after the page has said what is wrong."""
    model = one_model(KNOWN_MODELS, _ABOUT)
    task = _task_of(model)
    if task == "answer":
        prompt, _ = question_box(forget=_go_on)
    else:
        prompt, _ = prompt_box(task, further=(PAIR,) if task == "encode" else (), forget=_go_on)
        prompt = forced_target(prompt, model) if prompt and task != "summarize" else prompt
    to = segments(
        st.sidebar, "Set a head to", "to", format_func=_HEAD_VALUES.__getitem__,
        help="Zero: the head adds nothing. Its mean: it adds its mean over this text. Uniform: it looks at all tokens equally.",
    )  # fmt: skip
    return Ablation(model, task, prompt, to) if prompt else None


def with_target(ablation: Ablation, result: Result) -> Ablation:
    """Ask which next word of a language model is measured; other models have one output."""
    if result.card.architecture != "decoder" or not (options := targets(ablation.model, ablation.prompt)):
        return ablation
    first = next(iter(options))
    chosen = target_picker(options, "Next word to measure")
    return ablation if chosen == first else replace(ablation, target=chosen)


def _task_of(model: str) -> Task:
    """Return a model's task; of one outside the catalog, by its kind and the address."""
    if model in CATALOG:
        return CATALOG[model].reading_task
    if model in HUB["encoder-decoder"] or url_value("target", ""):
        return "translate"
    return "answer" if url_value("question", "") and model not in (*HUB["encoder"], *HUB["decoder"]) else "encode"


def is_stopped(work: str) -> bool:
    """Say whether somebody has stopped this work, "costs", "curve" or "patches"; if so, the page says how to continue."""
    stopped = value("stopped", "")
    publish("stopped", stopped, "")
    if stopped != work:
        return False
    st.info("You stopped this.", icon=":material/stop_circle:")
    st.button("Continue", key="go-on", icon=":material/play_arrow:", on_click=_go_on)
    return True


def stop(work: str) -> None:
    """Ends the work under way; for a callback."""
    st.session_state.stopped = work


def _go_on() -> None:
    forget("stopped")


def sides_controls(change: str, place: DeltaGenerator) -> Sides | None:
    """Ask for the models, texts and edits of both sides; None after the page has said what is wrong with them."""
    shown = [each for each in examples("whatif") if change_of(vars(each)) == change]
    known = (*dict.fromkeys(each.model for each in shown[:1] if each.model), *KNOWN_MODELS)
    if name := value("model"):
        st.session_state.model = nearest(name)
    model = one_model(tuple(dict.fromkeys(known)), _ABOUT, own=checkpoints(), label=label)
    second = _second_model(model, shown[0].second if change == "model" else "")
    publish_settings(model, second)
    edits = _edits()
    texts = _texts(shown[0], is_two=change == "word")
    example = _example_pills(place, shown, (model, second, *texts, "" if edits is None else edits.text, "", ""))
    if edits is None:
        return None
    notice = example.notice if example else ""
    return checked(lambda: Sides((model, second), (Prompt(texts[0]), Prompt(texts[1])), edits, notice), *texts)


def patch_controls(place: DeltaGenerator) -> TextPair | None:
    """Ask for a model, two texts of one length, two words and a kind of part; None after the page has said what is wrong."""
    shown = [each for each in examples("whatif") if change_of(vars(each)) == "patch"]
    model = one_model((*catalog.available_for("write"), *HUB["decoder"]), _ABOUT)
    what = segments(
        st.sidebar, "Parts to set", "part", format_func=_PARTS.__getitem__, on_change=lambda: forget("layer", "head", "query"),
        help="Heads and MLPs: each at all positions. Stream: what has been added up to a layer, at each position.",
    )  # fmt: skip
    texts = _texts(shown[0], is_two=True)
    own = next((each for each in shown if (each.text, each.other) == texts), None)
    with st.container(horizontal=True):
        first, second = (
            text_field(st.text_input, label, name, default=default, placeholder="the likeliest", width=220)
            for label, name, default in (
                ("Next word of the first text", "next", own.word if own else ""),
                ("Next word of the second text", "rather", own.rather if own else ""),
            )
        )
    example = _example_pills(place, shown, (model, model, *texts, "", first, second))
    notice = example.notice if example else ""
    words = first.strip(), second.strip()
    return checked(lambda: TextPair(model, (Prompt(texts[0]), Prompt(texts[1])), words, what, notice), *texts)


def _second_model(model: str, first: str) -> str:
    """Ask for the model of the second side: that of the first unless the page or the address chooses another."""
    if not first and not value("second", ""):
        return model
    st.session_state.second = nearest(value("second", first))
    return one_or_typed(
        st.sidebar, "Second model", "second", [*offered(KNOWN_MODELS), *checkpoints()], first or model,
        accept_new_options=any_model(), format_func=label, help="It must have as many layers and heads as the first.",
    )  # fmt: skip


def _edits() -> Edits | None:
    """Read the edits of the second side from the address; None after the page has said what is wrong with them."""
    written = str(value("edits", "")).strip()
    publish("edits", written, "")
    return checked(lambda: Edits.parse(written))


def _texts(first: Example, *, is_two: bool) -> tuple[str, str]:
    """Draw the text boxes and return the texts that were run last; without a second one both sides read the first."""
    run = remembered("text", first.text)
    boxes = [text_box("First text", first=first.text)]
    if is_two or value("other", run) != run:
        boxes.append(TextBox("other", "Second text", "The same again, with a word changed", _other(first, run)))
    texts = run_texts(boxes)
    text = texts["text"]
    other = texts.get("other", text)
    remember("other", other, _other(first, text))
    if len(boxes) > 1 and not is_two and other == text:
        # The same text needs no second box.
        st.rerun()
    long_notice(text=text, second_text="" if other == text else other)
    return text, other


def _other(first: Example, text: str) -> str:
    """Return the default text of the second side."""
    return first.other if text == first.text else text


def _example_pills(place: DeltaGenerator, choices: list[Example], seen: tuple[str, ...]) -> Example | None:
    """Offer the examples as chips; the one that is shown is marked."""

    def of(each: Example) -> tuple[str, ...]:
        model = each.model or KNOWN_MODELS[0]
        return model, each.second or model, each.text, each.other, each.edits, each.word, each.rather

    def choose(each: Example) -> None:
        forget_typed()
        forget("layer", "head", "attention", *_PATCHED)
        chosen = {"text": each.text, "other": each.other, "edits": each.edits, "model": of(each)[0], "second": of(each)[1]}
        st.session_state.update(chosen)

    current = next((each for each in choices if of(each) == seen), None)
    with place:
        example_pills(choices, current, choose)
        unrun_notice()
    return current


@computed
def targets(model: AttentionModel, progress: Progress, prompt: Prompt) -> dict[str, str]:
    """List the parts of the output that can be explained, each with a label."""
    from attnviz.models.capabilities import capabilities

    progress(f"Reading with {model.card.name}", None)
    return capabilities(model).targets(prompt)


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
    # No picture follows where nothing has changed: none needs room.
    show_blocks([said], place=heading if drawn else heading.container(key="unchanged"))
    show_next(results, sides.names)
    show_blocks(drawn, _PICTURES)
    return compared.shown_head(chosen, are_models=sides.are_models)


def comparison_buttons(compared: Comparison, results: tuple[Result, Result], chosen: tuple[int, int]) -> None:
    """Offer the picture as a drawing, and how far each head has changed as CSV."""
    traces = results[0].trace, results[1].trace
    with st.container(horizontal=True):
        drawing_buttons("compared", lambda: whatif_report.draw_comparison(compared, traces, *chosen))
        file_button("compared.csv", lambda: whatif_report.comparison_csv(compared))


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
    title, name = f"What each head of {model} costs", f"{model.replace('/', '-')}-costs"
    with st.container(horizontal=True):
        drawing_buttons(name, lambda: whatif_report.draw_costs(costs, curve, title))
        file_button(f"{name}.csv", lambda: whatif_report.costs_csv(costs))
        if curve is not None:
            file_button(f"{name}-off.csv", lambda: whatif_report.curve_csv(curve), "CSV of the curve", "download_curve")


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
