"""What is chosen and typed on the page What if: what is changed, the texts, both models, and what heads are set to."""

from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.whatif_comparison import CHANGES, change_of, side_names
from attnviz.core.edits import NO_EDITS, Edits, HeadValue
from attnviz.core.trace import Prompt
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
)
from attnviz.ui.background.results import computed
from attnviz.ui.frame.sidebar import KNOWN_MODELS, forced_target, one_model, target_picker
from attnviz.ui.layout import checked
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
    long_notice("text", text)
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
