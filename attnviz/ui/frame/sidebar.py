"""The sidebar, in the same order everywhere: model, layer, head, how the picture is drawn, and facts of model and machine."""

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.head_view import Between, HeadView, View
from attnviz.analysis.wording import ABOUT
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt
from attnviz.models import catalog
from attnviz.models.base import ModelCard
from attnviz.models.result import Result
from attnviz.pages_and_addresses import SLOTS
from attnviz.ui.address.address_sync import (
    Link,
    WordQuestion,
    ask,
    dropdown,
    forget,
    forget_drafts,
    forget_languages,
    one_or_typed,
    pin,
    publish,
    restore,
    segments,
    toggle,
    url_value,
    value,
)
from attnviz.ui.layout import checked, escaped
from attnviz.ui.visitor_limits import any_model, offered


def machine(result: Result) -> None:
    """Say where the model ran, how long it took, and what it is."""
    card = result.card
    if result.file:
        st.sidebar.caption("Out of a file: no model ran here.")
        return
    ran = f"Runs on {_device(card)} · {_duration(result)}" if result.seconds else "Saved result: the model has not run now."
    lines = [ran, f"{number(card.parameters)} parameters"]
    if len(card.languages) > 1:
        lines.append(f"Reads {card.languages[0]}, writes {result.prompt.language or card.languages[1]}")
    weights = card.weights if card.weights.split(",")[0].endswith(" weights") else f"Weights: {card.weights}"
    st.sidebar.caption("  \n".join(lines + [weights] * bool(card.weights)))


def machines(results: Iterable[Result]) -> None:
    """Say the same of models that stand side by side, each with its name."""
    for each in results:
        card = each.card
        ran = f"{_device(card)} · {_duration(each)}" if each.seconds else "saved result"
        figures = f"{number(card.parameters)} parameters · {ran}"
        st.sidebar.html(f'<p class="machine"><bdi>{html.escape(card.name)}</bdi><br>{figures}</p>')


def _duration(result: Result) -> str:
    return f"{result.seconds * 1000:,.0f} ms"


def _device(card: ModelCard) -> str:
    return "CPU" if card.device == "cpu" else card.device.upper()


def number(count: int) -> str:
    """Write a count in three digits.

    >>> number(22_713_216), number(999_885_952)
    ('22.7 M', '1 B')
    """
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        # What rounds to 1,000 of a unit is one of the next.
        if count >= 0.9995 * size:
            return f"{count / size:.3g} {unit}"
    return str(count)


_BETWEEN_LABELS = {
    "all": "All",
    "first-first": "First → first",
    "first-second": "First → second",
    "second-first": "Second → first",
    "second-second": "Second → second",
}


# The models of the catalog, and those of the hub that are named here.
KNOWN_MODELS = (*catalog.available(), *(name for names in catalog.HUB.values() for name in names))


def model_picker() -> str:
    """Offer the models to look into: of the catalog, of the hub, or any id or folder that is typed."""
    return one_model(
        KNOWN_MODELS,
        "minilm is on this machine. Others come from the Hugging Face hub: choose one, or type any model's id, "
        "such as google/electra-small-discriminator, or a folder.",
    )


def one_model(known: Sequence[str], about: str, *, own: Sequence[str] = (), label: Callable[[str], str] = str) -> str:
    """Offer the models that are known, or any id or folder that is typed; a first visit opens the first.

    own    models that this visitor has made
    label  what one of them is called here
    """
    return one_or_typed(
        st.sidebar,
        "Model",
        "model",
        [*offered(known), *own],
        known[0],
        format_func=lambda name: _model_label(label(name)),
        accept_new_options=any_model(),
        on_change=forget_languages,
        help=about,
    )


def _model_label(name: str) -> str:
    kind = next((kind for kind, names in catalog.HUB.items() if name in names), "")
    return f"{name} · {kind}" if kind else name


@dataclass(frozen=True)
class Choices:
    """Models to choose from, at most `most` of them; `unasked` are those of a first visit."""

    known: Sequence[str]
    unasked: tuple[str, ...]
    most: int
    placeholder: str
    help: str


def side_by_side(choices: Choices) -> tuple[str, ...]:
    """Models that stand side by side: of the catalog, of the hub, or any id or folder that is typed."""
    default = choices.unasked
    restore("models", list(default))
    names = st.sidebar.multiselect(
        "Models",
        [*choices.known, *(name for name in st.session_state.models if name not in choices.known)],
        key="models",
        max_selections=choices.most,
        accept_new_options=any_model(),
        on_change=_forget_models,
        placeholder=choices.placeholder,
        help=choices.help,
    )
    names = [name.strip() for name in names if name.strip()][: choices.most]
    publish("models", names, list(default))
    # Of a model that does not stand there nothing is shown.
    for slot in range(len(names) + 1, SLOTS + 1):
        for name in [each for each in st.session_state.address if each.endswith(str(slot))]:
            st.session_state.address.pop(name, None)
    return tuple(names)


def _forget_models() -> None:
    """Lets go of what was chosen in models that may not be there any more; for a callback."""
    forget_drafts()
    forget_languages()


def written_language(model: str, slot: str = "") -> str | None:
    """Return the language that the model of a slot is to write, as it was chosen or stands in the address; None: its own.

    Models of the catalog write one language each.
    """
    language = "" if model in catalog.CATALOG else value(f"language{slot}", "")
    publish(f"language{slot}", language, "")
    return language or None


def language_picker(
    card: ModelCard, place: DeltaGenerator, slot: str = "", *, on_change: Callable[[], None] = forget_drafts
) -> None:
    """Offer the languages that a model writes, where there are several; the next run has the chosen one."""
    if card.writes:
        label = f"{escaped(card.name)} writes" if slot else "Language written"
        help_ = "As the model's authors mark languages, such as deu_Latn or de_DE for German."
        dropdown(
            place, label, f"language{slot}", options=card.writes, default=card.languages[1], on_change=on_change,
            help=help_,
        )  # fmt: skip


def own_language_button(name: str, slot: str = "") -> None:
    """Offer the way back where a language was chosen and the model of that name has written nothing."""
    if value(f"language{slot}", ""):
        label = f"Back to the language of {escaped(name)}"
        st.button(label, key=f"own-language{slot}", icon=":material/undo:", on_click=forget, args=(f"language{slot}",))


def map_picker(trace: AttentionTrace) -> AttentionMap:
    """Offer the maps to look at: of an encoder-decoder its encoder, its decoder, or the cross-attention."""
    kinds = trace.kinds
    if len(kinds) == 1:
        return trace.maps[0]
    kind = segments(st.sidebar, "Attention", "attention", options=kinds, default=kinds[-1])
    if trace.prompt.question is None:
        restore("target", "")
        st.sidebar.text_input(
            "Target text",
            key="target",
            placeholder=trace.output,
            help="The text whose tokens the decoder reads. Empty: what the model writes by itself.",
        )
    return trace.map(kind)


def forced_target(prompt: Prompt, model: str = "") -> Prompt:
    """Add to the prompt what else the page or the address gives: a target text, a question, the language that a model writes.

    What is no text is left out.
    """
    question, target = url_value("question", ""), value("target", "")
    publish("target", target, "")
    language = written_language(model) if model else None
    given = {"question": question or None, "target": target or None, "language": language}
    return checked(lambda: replace(prompt, **given), question, target) or prompt


def target_picker(options: Mapping[str, str], label: str, on_change: Callable[[], None] = lambda: None) -> str:
    """Offer the parts of an output, each with its label; of a language model any word can be typed, or two of them.

    `options` has what the model is there for first.
    """
    first = next(iter(options))
    more: dict[str, Any] = {"format_func": lambda name: options.get(name, _target_label(name)), "on_change": on_change}
    if first != "next":
        return dropdown(st.sidebar, label, "about", options=list(options), help="Which part of the output to explain.", **more)

    def typed() -> None:
        st.session_state.about = typed_target(str(st.session_state.about or ""))
        on_change()

    more |= {"on_change": typed, "accept_new_options": True}
    help = "Choose a word, or type one: Mary. Type two for the first rather than the second: Mary John."
    return one_or_typed(st.sidebar, label, "about", list(options), first, help=help, **more)


def typed_target(words: str) -> str:
    """Write as a target what a person types: a word that could come next, or two, the first rather than the second.

    >>> typed_target("Mary"), typed_target(" Mary John"), typed_target("next:Mary"), typed_target("")
    ('next:Mary', 'rather:Mary John', 'next:Mary', '')
    """
    each = words.split()
    if not each or each[0].startswith(("next:", "rather:")) or words == "next":
        return words
    return f"{'next' if len(each) == 1 else 'rather'}:{' '.join(each)}"


def _target_label(target: str) -> str:
    """Say in words what is explained: a word that was typed, or one rather than another."""
    kind, _, words = target.partition(":")
    one, *others = words.split() or [target]
    return f"“{one}” rather than “{others[0]}”" if kind == "rather" and others else f"The next token “{one}”"


def head_controls(
    attention: AttentionMap, first: tuple[int, int], *, paired: bool, unasked: Link = (None, None)
) -> tuple[HeadView, WordQuestion]:
    """Layer, head and options for one map, and what is asked of it by words, which the head follows until one is chosen.

    `first`: the head of an address that names only half of one; `unasked`: the link of positions
    that is looked at where none was chosen.

    Raises:
        TraceError: the view leaves no token.
    """
    sidebar = st.sidebar
    steppers = sidebar.container()
    toggle(sidebar, "Mean over heads", "mean", on_change=pin)
    words = merge_toggle("words")
    hide = toggle(sidebar, "Hide special tokens", "hide_special")
    renormalize = hide and toggle(
        sidebar,
        "Scale rows up to 1",
        "renormalize",
        help="Off, a row sums to what the shown tokens really get. On, it is divided by that sum.",
    )
    between: Between = "all"
    if paired:
        between = dropdown(sidebar, "Between sentences", "between", format_func=_BETWEEN_LABELS.__getitem__)
    view, full_scale = View(words, hide, renormalize, between), scale_picker(sidebar)
    question = ask(attention, view, first, unasked)
    with steppers:
        _follow_words(question, (attention.n_layers, attention.n_heads))
        if question.place[0] in attention.without_attention:
            st.caption(f"Layer {question.place[0]} mixes words without attention: its picture is empty.")
    return HeadView(*question.place, view, full_scale), question


def merge_toggle(name: str) -> bool:
    """Ask whether the tokens of a word are shown as one."""
    about = "A word may be several tokens. Merged, what goes to them is added up, and what they look at is averaged."
    return toggle(st.sidebar, "Merge subwords to words", name, help=about)


def _follow_words(question: WordQuestion, shape: tuple[int, int]) -> None:
    """Layer and head that are shown; a number that is typed there is a head that is chosen."""
    layer, head = question.place
    shown = layer, value("head", 0) if head is None else head
    names = ("Layer", "layer"), ("Head", "head")
    for column, (label, key), number_shown, size in zip(st.columns(2), names, shown, shape, strict=True):
        if size == 1:
            continue
        st.session_state[key] = min(number_shown, size - 1)
        is_off = key == "head" and head is None
        column.number_input(label, 0, size - 1, key=key, disabled=is_off, on_change=pin, help=ABOUT[label])


def scale_picker(sidebar: DeltaGenerator) -> bool:
    """Ask whether colours run from 0 to 1, and not to the largest weight of the picture."""
    return segments(sidebar, "Colour scale", "scale") == "0 to 1"


def head_steppers(
    sidebar: DeltaGenerator, first: tuple[int, int], shape: tuple[int, int], *, disabled: bool = False
) -> tuple[int, int]:
    """Layer and head side by side: `first` is what a first visit opens, `shape` how many there are of each.

    `disabled`: heads are mixed, and only the layer can be chosen.
    """
    left, right = sidebar.columns(2)
    with left:
        layer = _stepper("Layer", "layer", first[0], shape[0])
    with right:
        return layer, _stepper("Head", "head", first[1], shape[1], disabled=disabled)


def _stepper(label: str, key: str, default: int, size: int, *, disabled: bool = False) -> int:
    """Ask for a number from 0 to size - 1. Another model may have fewer: what no longer exists becomes the last there is.

    Where there is nothing to choose, such as where heads are mixed, what was chosen is kept for when there is; of one there is
    no box.
    """
    if size == 1:
        publish(key, value(key, default), default)
        return 0
    default = min(default, size - 1)
    st.session_state[key] = min(max(value(key, default), 0), size - 1)
    asked = st.number_input(label, 0, size - 1, key=key, disabled=disabled, on_change=pin, help=ABOUT[label])
    number = min(max(asked, 0), size - 1)
    publish(key, number, default)
    return number
