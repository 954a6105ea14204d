"""What is trained, in the sidebar and in the address: task, model, and settings worth changing, each with what to look for."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.models.translate.toy import ToyConfig, ToyKind
from attnviz.text.toys import TOYS
from attnviz.training.toy.presets import MOST_STEPS, PRESETS, Preset, sensible
from attnviz.training.toy.task import ToyRecipe
from attnviz.ui.state import publish, restore

_KINDS: dict[str, str] = {"additive": "LSTM, additive", "dot": "LSTM, dot product", "transformer": "Transformer"}
# Seconds that a step takes at least.
_PACES = {"Full": 0.0, "Slow": 0.15, "Slower": 0.6}
_BEST = "The one that aligns best"
_LEAST_STEPS, _MOST_SEED = 20, 9_999
# What to look for when a setting is changed.
_TOLD = {
    "layers": "With one layer a single look has to find the place and fetch the token; a second layer may share the work.",
    "n_heads": "Four heads share the work: which of them aligns, if one does?",
    "divided": "Not divided by √d, scores are larger and the softmax hardens early: on the right place?",
    "forcing": "The less the decoder reads true tokens, the more it goes on from its own mistakes: the alignment comes later.",
    "padding": "Where padding is read, the columns ∅ take attention until the model learns not to look there.",
}


def recipe_picker(known: ToyRecipe | None) -> tuple[ToyRecipe, Preset | None]:
    """The recipe of the chips and the sidebar, and the preset that it is, if it is one.

    `known` is what this visitor already trains: coming back to the page finds it again.
    """
    usual = _values(PRESETS[0].recipe)
    if "toy" not in st.session_state:
        started = usual if known is None or st.query_params else _values(known)
        st.session_state.toy = {name: st.query_params.get(name, value) for name, value in started.items()}
    chips = st.container()
    recipe = _settings(st.session_state.toy)
    current = next((each for each in PRESETS if each.recipe == recipe), None)
    with chips:
        _presets(current)
    for name, value in _values(recipe).items():
        publish(name, value, usual[name])
    return recipe, current


def pace() -> float:
    """How many seconds a step takes at least."""
    return _PACES[st.sidebar.segmented_control(
        "Pace", list(_PACES), default="Full", key="pace", required=True, bind="query-params",
        help="Slow: for a class to follow. It may be changed while the model learns.",
    )]  # fmt: skip


def head_picker(recipe: ToyRecipe) -> tuple[int, int] | None:
    """The head that is drawn, where there are several; None: the one that aligns best."""
    model = recipe.model
    heads = [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]
    if model.kind != "transformer" or len(heads) == 1:
        publish("toy_head", _BEST, _BEST)
        return None
    names = {_BEST: None} | {f"L{layer}·H{head}": (layer, head) for layer, head in heads}
    if st.session_state.get("toy_head") not in names:
        st.session_state.pop("toy_head", None)
    restore("toy_head", _BEST, names)
    chosen = st.sidebar.selectbox("Head", list(names), key="toy_head")
    publish("toy_head", chosen, _BEST)
    return names[chosen]


def show_recipe(recipe: ToyRecipe) -> None:
    """Makes a recipe the one that the sidebar shows; for a callback, or before the sidebar is drawn."""
    st.session_state.toy = _values(recipe)


def _values(recipe: ToyRecipe) -> dict[str, str]:
    """A recipe as it stands in the address."""
    model = recipe.model
    return {
        "task": model.task,
        "kind": "dot" if model.kind == "scaled" else model.kind,
        "layers": str(model.n_layers),
        "n_heads": str(model.n_heads),
        "divided": "off" if compared(model) == "dot" else "on",
        "forcing": f"{recipe.teacher_forcing:g}",
        "padding": "masked" if recipe.masked else "read",
        "steps": str(recipe.steps),
        "first": str(recipe.seed),
    }


def _presets(current: Preset | None) -> None:
    st.session_state.preset = current.label if current else None

    def choose() -> None:
        chosen = next((each for each in PRESETS if each.label == st.session_state.preset), current)
        if chosen is not None:
            show_recipe(chosen.recipe)

    st.pills("What to learn", [each.label for each in PRESETS], key="preset", on_change=choose, label_visibility="collapsed")


def _settings(values: dict[str, str]) -> ToyRecipe:
    """The sidebar, from what is wished for; what is not to be had becomes the first that is."""

    def usual() -> None:
        values["steps"] = str(_sensible(values).steps)

    sidebar = st.sidebar
    _pick(values, "task", list(TOYS), sidebar.selectbox, "Task", then=usual, names={n: toy.label for n, toy in TOYS.items()})
    _pick(values, "kind", list(_KINDS), sidebar.selectbox, "Model", then=usual, names=_KINDS)
    if values["kind"] == "transformer":
        left, right = sidebar.columns(2)
        _pick(values, "layers", ["1", "2"], left.segmented_control, "Layers", then=usual)
        _pick(values, "n_heads", ["1", "4"], right.segmented_control, "Heads", then=usual)
    if values["kind"] != "additive":
        _pick(values, "divided", ["on", "off"], sidebar.segmented_control, "Divide by √d")
    if values["kind"] != "transformer":
        _pick(values, "forcing", ["1", "0.5", "0"], sidebar.segmented_control, "Teacher forcing")
    _pick(values, "padding", ["masked", "read"], sidebar.segmented_control, "Padding")
    left, right = sidebar.columns(2)
    _number(values, "steps", left, "Steps", (_LEAST_STEPS, MOST_STEPS), 50)
    _number(values, "first", right, "Seed", (1, _MOST_SEED), 1)
    recipe = replace(
        _sensible(values), masked=values["padding"] == "masked", steps=int(values["steps"]), seed=int(values["first"])
    )
    return recipe if values["kind"] == "transformer" else replace(recipe, teacher_forcing=float(values["forcing"]))


def _sensible(values: dict[str, str]) -> ToyRecipe:
    kind: ToyKind = "transformer" if values["kind"] == "transformer" else "additive"
    if values["kind"] == "dot":
        kind = "scaled" if values["divided"] == "on" else "dot"
    if kind != "transformer":
        return sensible(values["task"], kind)
    recipe = sensible(values["task"], kind, int(values["layers"]), int(values["n_heads"]))
    return replace(recipe, model=replace(recipe.model, scaled=values["divided"] == "on"))


def compared(model: ToyConfig) -> str:
    """How a model compares queries with keys: "additive", "dot" or "scaled"."""
    return model.kind if model.kind != "transformer" else "scaled" if model.scaled else "dot"


def _pick(
    values: dict[str, str], name: str, options: Sequence[str], widget: Callable[..., str | None], label: str, *,
    then: Callable[[], None] = lambda: None, names: dict[str, str] | None = None,
) -> None:  # fmt: skip
    """One setting as a widget, kept in `values`: they stay when the page is left, which a widget's own state does not."""
    key = f"toy_{name}"
    if values[name] not in options:
        values[name] = options[0]
    st.session_state[key] = values[name]

    def keep() -> None:
        values[name] = st.session_state[key] or values[name]
        then()

    widget(label, options, key=key, on_change=keep, help=_TOLD.get(name), format_func=(names or {}).get if names else str)


def _number(values: dict[str, str], name: str, place: DeltaGenerator, label: str, limits: tuple[int, int], step: int) -> None:
    key = f"toy_{name}"
    least, most = limits
    typed = values[name]
    values[name] = str(min(max(int(typed), least), most)) if typed.isdecimal() and len(typed) < 9 else str(least)
    st.session_state[key] = int(values[name])

    def keep() -> None:
        values[name] = str(st.session_state[key])

    place.number_input(label, least, most, key=key, step=step, on_change=keep)


def look_for(recipe: ToyRecipe, preset: Preset | None) -> list[str]:
    """What to look for: in a preset, or in the settings that are not the usual ones."""
    if preset is not None:
        return [preset.notice]
    model = recipe.model
    unusual = {"layers": model.kind == "transformer", "n_heads": model.n_heads > 1, "divided": compared(model) == "dot",
               "forcing": recipe.teacher_forcing < 1, "padding": not recipe.masked}  # fmt: skip
    return [_TOLD[name] for name, said in unusual.items() if said]
