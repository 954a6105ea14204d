"""What is trained, in the sidebar and in the address: task, model, and settings worth changing, each with what to look for."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.wording import counted
from attnviz.models.toy_config import PRESETS, Preset, ToyConfig, ToyKind, ToyRecipe, sensible
from attnviz.pages_and_addresses import Number
from attnviz.text.toy_tasks import TOYS
from attnviz.ui.address.address_sync import declared, dropdown, link, publish, segments, url_value

_KINDS: dict[str, str] = {"additive": "LSTM, additive", "dot": "LSTM, dot product", "transformer": "Transformer"}
_TOPICS = {"alignment": "An alignment", "induction": "Induction"}
# Seconds that a step takes at least.
_PACES = {"Full": 0.0, "Slow": 0.15, "Slower": 0.6}
_BEST = "The one that aligns best"
_NUMBERS = ("steps", "first")
# What to look for when a setting is changed.
_HELP = {
    "layers": "With one layer a single look has to find the place and fetch the token; a second layer may share the work.",
    "n_heads": "Four heads share the work: which of them aligns, if any?",
    "divided": "Not divided by √d, scores are larger and the softmax hardens early: on the right place?",
    "forcing": "The less the decoder reads true tokens, the more it goes on from its own mistakes: the alignment comes later.",
    "padding": "Where padding is read, the columns ∅ take attention until the model learns not to look there.",
}


def recipe_picker(known: ToyRecipe | None) -> tuple[ToyRecipe, Preset | None]:
    """Offer the recipe in chips and the sidebar; return it, and its preset, if it is one.

    `known` is what this visitor already trains: coming back to the page finds it again.
    """
    usual = _values(PRESETS[0].recipe)
    if "toy" not in st.session_state:
        started = usual if known is None or link() else _values(known)
        st.session_state.toy_recipe = known
        st.session_state.toy = {name: str(url_value(name, value)) for name, value in started.items()}
    chips = st.container()
    recipe = _settings_pickers(st.session_state.toy)
    current = next((each for each in PRESETS if each.recipe == recipe), None)
    with chips:
        _preset_pills(current)
    for name, value in _values(recipe).items():
        publish(name, int(value) if name in _NUMBERS else value, int(usual[name]) if name in _NUMBERS else usual[name])
    return recipe, current


def topic_picker() -> str:
    """Ask what is learned: an alignment, or induction."""
    return segments(st.sidebar, "What is learned", "topic", format_func=_TOPICS.__getitem__)


def pace_picker() -> float:
    """Ask how many seconds a step takes at least."""
    return _PACES[segments(
        st.sidebar, "Pace", "pace", help="Slower steps are easier for a class to follow. It can be changed while training."
    )]  # fmt: skip


def drawn_head_picker(recipe: ToyRecipe) -> tuple[int, int] | None:
    """Offer the head that is drawn, where there are several; None: the one that aligns best."""
    model = recipe.model
    heads = [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]
    if model.kind != "transformer" or len(heads) == 1:
        publish("toy_head", _BEST, _BEST)
        return None
    names = {_BEST: None} | {f"L{layer}·H{head}": (layer, head) for layer, head in heads}
    return names[dropdown(st.sidebar, "Head", "toy_head", options=tuple(names))]


def show_recipe(recipe: ToyRecipe) -> None:
    """Makes a recipe the one that the sidebar shows, with what no setting there says; for a callback, or before it is drawn."""
    st.session_state.toy, st.session_state.toy_recipe = _values(recipe), recipe


def _values(recipe: ToyRecipe) -> dict[str, str]:
    """Write a recipe as it stands in the address."""
    model = recipe.model
    return {
        "task": model.task,
        "kind": "dot" if model.kind == "scaled" else model.kind,
        "layers": str(model.n_layers),
        "n_heads": str(model.n_heads),
        "divided": "off" if score_kind(model) == "dot" else "on",
        "forcing": f"{recipe.teacher_forcing:g}",
        "padding": "masked" if recipe.masked else "read",
        "steps": str(recipe.steps),
        "first": str(recipe.seed),
    }


def _preset_pills(current: Preset | None) -> None:
    st.session_state.preset = current.label if current else None

    def choose() -> None:
        chosen = next((each for each in PRESETS if each.label == st.session_state.preset), current)
        if chosen is not None:
            show_recipe(chosen.recipe)

    st.pills("What to learn", [each.label for each in PRESETS], key="preset", on_change=choose, label_visibility="collapsed")


def _settings_pickers(values: dict[str, str]) -> ToyRecipe:
    """Draw the sidebar from `values`; one that is no option becomes the first.

    A recipe out of a file may have what the sidebar does not offer: it offers that too, as long as nothing else is chosen.
    """
    known: ToyRecipe | None = st.session_state.get("toy_recipe")
    if known is not None and _values(known) != values:
        known = None
    own = dict.fromkeys(values, "") if known is None else dict(values)

    def usual() -> None:
        values["steps"] = str(_sensible(values).steps)

    sidebar = st.sidebar
    _setting(values, "task", list(TOYS), sidebar.selectbox, "Task", then=usual, names={n: toy.label for n, toy in TOYS.items()})
    _setting(values, "kind", list(_KINDS), sidebar.selectbox, "Model", then=usual, names=_KINDS)
    if values["kind"] == "transformer":
        left, right = sidebar.columns(2)
        _setting(values, "layers", _offered("1", "2", own["layers"]), left.segmented_control, "Layers", then=usual)
        _setting(values, "n_heads", _offered("1", "4", own["n_heads"]), right.segmented_control, "Heads", then=usual)
    if values["kind"] != "additive":
        _setting(values, "divided", ["on", "off"], sidebar.segmented_control, "Divide by √d", names={"on": "On", "off": "Off"})
    _number_setting(values, "steps", sidebar, "Steps", own["steps"])
    folded = sidebar.expander("Advanced", expanded=_is_advanced(values), icon=":material/tune:")
    if values["kind"] != "transformer":
        _setting(values, "forcing", _offered("1", "0.5", "0", own["forcing"]), folded.segmented_control, "Teacher forcing")
    _setting(
        values, "padding", ["masked", "read"], folded.segmented_control, "Padding", names={"masked": "Masked", "read": "Read"}
    )
    _number_setting(values, "first", folded, "Seed", own["first"])
    return known if known is not None and values == own else _recipe(values)


def _is_advanced(values: dict[str, str]) -> bool:
    """Say whether something that is folded away is not as usual, and so should be seen."""
    usual = _values(PRESETS[0].recipe)
    return any(values[name] != usual[name] for name in ("forcing", "padding", "first"))


def _recipe(values: dict[str, str]) -> ToyRecipe:
    """Build the recipe of the settings, with the usual where they say nothing."""
    recipe = replace(
        _sensible(values), masked=values["padding"] == "masked", steps=int(values["steps"]), seed=int(values["first"])
    )
    return recipe if values["kind"] == "transformer" else replace(recipe, teacher_forcing=float(values["forcing"]))


def _offered(*options: str) -> list[str]:
    """Options without those that stand there already, or are empty."""
    return [option for option in dict.fromkeys(options) if option]


def _sensible(values: dict[str, str]) -> ToyRecipe:
    kind: ToyKind = "transformer" if values["kind"] == "transformer" else "additive"
    if values["kind"] == "dot":
        kind = "scaled" if values["divided"] == "on" else "dot"
    if kind != "transformer":
        return sensible(values["task"], kind)
    recipe = sensible(values["task"], kind, int(values["layers"]), int(values["n_heads"]))
    return replace(recipe, model=replace(recipe.model, scaled=values["divided"] == "on"))


def score_kind(model: ToyConfig) -> str:
    """Say how a model compares queries with keys: "additive", "dot" or "scaled"."""
    return model.kind if model.kind != "transformer" else "scaled" if model.scaled else "dot"


def _setting(
    values: dict[str, str], name: str, options: Sequence[str], widget: Callable[..., str | None], label: str, *,
    then: Callable[[], None] = lambda: None, names: dict[str, str] | None = None,
) -> None:  # fmt: skip
    """Draw one setting and keep it in `values`: they stay when the page is left, which a widget's own state does not."""
    key = f"toy_{name}"
    if values[name] not in options:
        values[name] = options[0]
    st.session_state[key] = values[name]

    def keep() -> None:
        values[name] = st.session_state[key] if st.session_state[key] in options else values[name]
        then()

    widget(label, options, key=key, on_change=keep, help=_HELP.get(name), format_func=(names or {}).get if names else str)


def _number_setting(values: dict[str, str], name: str, place: DeltaGenerator, label: str, own: str) -> None:
    """Draw one number field; `own` is that of a recipe out of a file, which is among those to choose."""
    key, kind = f"toy_{name}", declared(name, Number)
    if own:
        kind = replace(kind, least=min(kind.least, int(own)), most=max(kind.most, int(own)))
    st.session_state[key] = kind.bound(int(values[name]))
    values[name] = str(st.session_state[key])

    def keep() -> None:
        values[name] = str(kind.bound(int(st.session_state[key])))

    place.number_input(label, kind.least, kind.most, key=key, step=kind.step, on_change=keep)


def notices(recipe: ToyRecipe, preset: Preset | None) -> list[str]:
    """Say what to look for: in a preset, or in the settings that are not the usual ones."""
    if preset is not None:
        return [preset.notice]
    if recipe != _recipe(_values(recipe)):
        return [
            f"From a file: {counted(recipe.steps, 'step')} in batches of {recipe.batch:,} at a learning rate of "
            f"{recipe.learning_rate:g}, with states of {recipe.model.dim} numbers. Any change of a setting starts a new model."
        ]
    model = recipe.model
    unusual = {"layers": model.kind == "transformer", "n_heads": model.n_heads > 1, "divided": score_kind(model) == "dot",
               "forcing": recipe.teacher_forcing < 1, "padding": not recipe.masked}  # fmt: skip
    return [_HELP[name] for name, is_unusual in unusual.items() if is_unusual]
