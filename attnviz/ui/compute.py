"""What stands on the page Compute: an example or a link of a model's head, and its computation step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Bool
from streamlit.components.v2 import component
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.compute import BIASES, Computation, PairShares, QueryKey, StepPlace, describe_pairs, first_place
from attnviz.analysis.head_view import HeadView, View
from attnviz.analysis.wording import head_name, isolated, power_of_ten
from attnviz.core.head_inputs import LARGEST, MOST_DIM, MOST_TOKENS, Computed, DotProduct, Mask, Tables
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, from_weights
from attnviz.export.picture import Source, trace_expression
from attnviz.figures.compute.steps import SCRIPT, STYLE, Predict, computation, pairs_table
from attnviz.models.base import AttentionModel, Progress
from attnviz.models.worked_examples import (
    TABLES,
    Numbers,
    WorkedExample,
    compute,
    mask_of,
    mask_text,
    numbers_text,
    parse_mask,
    parse_numbers,
    random_numbers,
    resized,
    worked_examples,
)
from attnviz.pages_and_addresses import MOST_SEED, Number
from attnviz.ui.address.address_sync import (
    bounded,
    dropdown,
    fold,
    forget,
    forget_cell,
    publish,
    restore,
    segments,
    sent,
    text_field,
    url_value,
    value,
)
from attnviz.ui.background import jobs, results
from attnviz.ui.background.results import computed, load_model
from attnviz.ui.download import Download, head_picture
from attnviz.ui.layout import Markup, checked, escaped, story, theme

if TYPE_CHECKING:
    from attnviz.models.head_inputs import InspectedTrace
    from attnviz.models.result import Result


_NAMES = {"x": "$X$", "w_q": "$W_Q$", "w_k": "$W_K$", "w_v": "$W_V$", "w_o": "$W_O$"}
_SEED = Number(1, MOST_SEED)
_MASKS = {"none": "None", "causal": "Causal", "padding": "Padding", "own": "Your own"}
_PREDICT = {"off": "Off", "most": "Which token", "weight": "How much"}


@dataclass(frozen=True)
class ExampleSettings:
    """What the sidebar sets of a worked example; `head` is the one whose steps are shown."""

    n_heads: int
    head: int
    mask: Mask
    padded: int
    scaled: bool
    seed: int


def tokens_box() -> tuple[tuple[str, ...], WorkedExample]:
    """Draw the box of tokens, with worked examples as chips under it; return the tokens and the example opened last."""
    examples = {example.label: example for example in worked_examples()}
    labels = list(examples)
    restore("worked", labels[0], labels)
    example = examples[st.session_state.worked]
    text = text_field(
        st.text_input, "Tokens", "tokens", default=example.tokens,
        label_visibility="collapsed", placeholder="Type a few words", max_chars=120,
    )  # fmt: skip
    st.session_state.chip = example.label

    def choose() -> None:
        if chosen := examples.get(st.session_state.chip):
            open_example(chosen)
            forget("at", "at_step", "revealed")

    st.pills("Examples", labels, key="chip", on_change=choose, label_visibility="collapsed")
    publish("worked", example.label, labels[0])
    return _cut(tuple(text.split())), example


def _cut(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Keep as many of the first tokens as there is room for, and say which are left out."""
    if left_out := tokens[MOST_TOKENS:]:
        names = [f"“{isolated(escaped(token))}”" for token in left_out[:3]]
        named = ", ".join(names) + (" and more" if len(left_out) > 3 else "")
        verb = "is" if len(left_out) == 1 else "are"
        st.caption(f":material/content_cut: A worked example has {MOST_TOKENS} tokens at most: {named} {verb} left out.")
    return tokens[:MOST_TOKENS]


def open_example(example: WorkedExample) -> None:
    """Makes a worked example the one that is shown."""
    st.session_state.update(
        worked=example.label, tokens=example.tokens, heads=str(example.heads), head=0, mask=example.mask, seed=example.seed,
        dim=example.dim, divide="on",
    )  # fmt: skip
    _replace(example.numbers())


def settings_picker(example: WorkedExample, numbers: Numbers) -> ExampleSettings:
    """Offer the heads, mask, scale and seed, in the sidebar."""
    sidebar, dim = st.sidebar, numbers["x"].shape[1]
    choices = [str(heads) for heads in range(1, dim + 1) if dim % heads == 0]
    first = str(example.heads) if str(example.heads) in choices else "1"
    left, right = sidebar.columns(2)
    heads = int(dropdown(left, "Heads", "heads", options=choices, default=first))
    st.session_state.head = min(max(value("head", 0), 0), heads - 1)
    head = min(max(right.number_input("Head", 0, max(heads - 1, 1), key="head", disabled=heads == 1), 0), heads - 1)
    publish("head", head, 0)
    scaled = segments(sidebar, "Divide by √d", "divide", format_func=str.capitalize) == "on"
    mask = dropdown(sidebar, "Mask", "mask", default=example.mask, format_func=_MASKS.__getitem__)
    padded = bounded(sidebar, "Padding tokens at the end", "padded") if mask == "padding" else 0
    return ExampleSettings(heads, head, mask, padded, scaled, _seed_picker(sidebar, example, dim))


def _seed_picker(sidebar: DeltaGenerator, example: WorkedExample, dim: int) -> int:
    """Dimensions, a seed, and a button that draws random numbers in place of those in the tables."""
    state, dims = st.session_state, range(1, MOST_DIM + 1)
    if state.get("dim") not in dims:
        state.dim = dim

    def draw() -> None:
        n_tokens = len(state.tokens.split()) or 1
        dim = state.dim if state.dim in dims else len(state.numbers["w_q"])
        _replace(random_numbers(min(n_tokens, MOST_TOKENS), dim, _SEED.bound(int(state.seed))))

    def again() -> None:
        state.seed = int(state.seed) % MOST_SEED + 1
        draw()

    left, right = sidebar.columns(2)
    left.selectbox("Dimensions", dims, key="dim", on_change=draw)
    seed = bounded(right, "Seed", "seed", default=example.seed, on_change=draw)
    sidebar.button("Random numbers", icon=":material/casino:", on_click=again, width="stretch")
    return seed


def starting_numbers(tokens: tuple[str, ...], example: WorkedExample) -> Numbers:
    """Return the numbers that the tables begin with: of this visit, the address, or the example; as many rows as tokens."""
    n_tokens = max(1, min(len(tokens), MOST_TOKENS))
    if "numbers" not in st.session_state:
        numbers = parse_numbers(url_value("numbers", ""), n_tokens)
        _replace(numbers or example.numbers())
    numbers = st.session_state.numbers
    if len(numbers["x"]) != n_tokens:
        _replace(resized(st.session_state.get("edited", numbers), n_tokens, int(st.session_state.get("seed", example.seed))))
    if f"x-{st.session_state.edition}-{n_tokens}" not in st.session_state:
        # The tables were not there, as on another page: what was typed into them last comes back.
        st.session_state.numbers = st.session_state.edited
    return st.session_state.numbers


def _replace(numbers: Numbers) -> None:
    """New numbers for the tables, in place of what was typed into them."""
    edition = st.session_state.get("edition", 0) + 1
    st.session_state.update(numbers=numbers, edited=numbers, edition=edition)


def is_as_told(example: WorkedExample, tables: Tables, chosen: ExampleSettings) -> bool:
    """Say whether the tokens, numbers, heads and mask are those that the line of an example speaks of."""
    numbers = {name: getattr(tables, name) for name in TABLES}
    shown = " ".join(tables.tokens), numbers_text(numbers), chosen.n_heads, chosen.mask
    return shown == (example.tokens, numbers_text(example.numbers()), example.heads, example.mask)


def tables_editor(
    place: DeltaGenerator, tokens: tuple[str, ...], numbers: Numbers, chosen: ExampleSettings, example: WorkedExample
) -> Tables | None:
    """Tables to type into; None after the page has said what is wrong with what was typed."""
    edited: Numbers = {}
    with place:
        columns = st.columns(3)
        for index, name in enumerate(TABLES):
            rows = tokens if name == "x" else tuple(map(str, range(len(numbers[name]))))
            with columns[index % 3]:
                edited[name] = _edit(name, rows, numbers[name])
        n_tokens = len(numbers["x"])
        visible = mask_of(chosen.mask, n_tokens, padded=min(chosen.padded, n_tokens))
        if chosen.mask == "own":
            with columns[2]:
                visible = _edit_mask(tokens[:n_tokens])
        else:
            publish("own", "", "")
    st.session_state.edited = edited
    publish("numbers", numbers_text(edited), numbers_text(example.numbers()))
    return checked(lambda: Tables(tokens, **edited, visible=visible, n_heads=chosen.n_heads, scaled=chosen.scaled))


def _edit(name: str, rows: tuple[str, ...], values: np.ndarray) -> np.ndarray:
    st.caption(_NAMES[name])
    columns = [str(column) for column in range(values.shape[1])]
    # Two tokens may be the same word: the words are a column, the positions the index.
    frame = pd.DataFrame(values, columns=columns)
    if name == "x":
        frame.insert(0, "token", list(rows))
    config = {column: st.column_config.NumberColumn(min_value=-LARGEST, max_value=LARGEST, step=0.1) for column in columns}
    key = f"{name}-{st.session_state.edition}-{len(rows)}"
    edited: Any = st.data_editor(frame, key=key, hide_index=True, disabled=["token"], column_config=config)
    return edited[columns].to_numpy(dtype=float)


def _edit_mask(tokens: tuple[str, ...]) -> Bool[np.ndarray, "token token"]:
    st.caption("**Mask**: ticked cells are visible")
    key = f"own-{st.session_state.edition}-{len(tokens)}"
    if key not in st.session_state:
        st.session_state.own_begun = parse_mask(value("own", ""), len(tokens))
    frame = pd.DataFrame(st.session_state.own_begun, columns=[str(index) for index in range(len(tokens))])
    config = {str(index): st.column_config.CheckboxColumn(token) for index, token in enumerate(tokens)}
    edited: Any = st.data_editor(
        frame.assign(token=list(tokens)), key=key, hide_index=True, disabled=["token"], column_config=config,
        column_order=["token", *frame.columns],
    )  # fmt: skip
    visible = edited[list(frame.columns)].to_numpy(dtype=bool)
    st.session_state.own = mask_text(visible)
    publish("own", st.session_state.own, mask_text(np.ones_like(visible)))
    return visible


def predict_picker() -> Predict:
    """Offer to hide weights until the class has guessed."""
    return segments(
        st.sidebar, "Predict, then reveal", "predict", format_func=_PREDICT.__getitem__,
        help="Hides the weights at the step softmax until you reveal them, so that the class can guess first: which token gets "
        "the largest weight, or how large one weight is.",
    )  # fmt: skip


def link_picker(attention: AttentionMap, *, query: int, key: int) -> QueryKey:
    """Offer the query and the key whose weight is explained, in the sidebar; the arguments are what a first visit opens."""
    queries, keys = (tuple(token.text for token in tokens) for tokens in (attention.queries, attention.keys))
    # Unasked no mark at the end of a text, such as [SEP], is opened.
    typed = [
        max((at for at, token in enumerate(tokens) if not token.special), default=0)
        for tokens in (attention.queries, attention.keys)
    ]
    chosen = [
        _token_picker("Query: the token that looks", "query", queries, min(query, typed[0])),
        _token_picker("Key: the token it looks at", "key", keys, min(key, typed[1])),
    ]
    return QueryKey(queries, keys, *chosen)


def _token_picker(label: str, name: str, tokens: tuple[str, ...], default: int) -> int:
    places = range(len(tokens))
    st.session_state[name] = min(max(value(name, default), 0), len(tokens) - 1)
    at = st.sidebar.selectbox(label, places, key=name, format_func=lambda at: f"{at} · {tokens[at]}")
    at = at if at in places else places[-1]
    publish(name, at, None)
    return at


def forget_text_before() -> None:
    """Lets go of what was chosen, translated or forced for the text before; for another text."""
    forget_cell()
    forget("begins", "at", "at_step", "question", "target")


_STEPS = component("attnviz.steps", html='<div class="compute"></div>', css=STYLE, js=SCRIPT)
_PAIRS = Markup("pairs", STYLE)
_HOW_PAIRS = (
    "With everything below the head held fixed (attention weights, LayerNorm's σ, the ratios of activations), query and key "
    f"are sums over the typed tokens, plus what comes from no token ({BIASES}; where a model writes, also what it has "
    "written). Their product is the sum over all pairs (as Modarressi et al. 2023 decompose a state)."
)
# Digits of a weight that is written into Python: its rows still sum to 1.
_DIGITS = 8


def show_steps(steps: Computation, *, first: str = "", cell: tuple[int, int] | None = None, predict: Predict) -> bool:
    """Draw the steps, at the place of the address, or else at the step of symbol `first`; False while weights are hidden.

    `cell` is the row and the column of that step's result to open with, where it has them.
    """
    state, symbols = st.session_state, [place.symbol for place in steps.places]

    def moved() -> None:
        if (move := sent("steps", "moved")) is not None:
            state.steps_seq = int(move["seq"])
            step, row, column = map(int, move["at"])
            state.at = ",".join(map(str, [step, row, column, *([move["expanded"]] if move["expanded"] else [])]))
            state.at_step = symbols[step] if step < len(symbols) else None

    def revealed() -> None:
        if (key := sent("steps", "revealed")) is not None:
            state.revealed = str(key)

    default = first_place(steps.places, first, cell)
    place, operand = _parse_place(value("at", ""), steps.places, state.get("at_step"))
    seen = value("revealed", "")
    drawn = computation(steps, at=place or default, predict=predict, revealed=seen, expanded=operand, theme=theme())
    drawn["seq"] = state.get("steps_seq", 0)
    shown = ",".join(map(str, [*drawn["at"], *([operand] if operand else [])]))
    usual = ",".join(map(str, default))
    publish("at", shown, usual)
    state.update(at=shown if shown != usual else "", at_step=symbols[drawn["at"][0]] if shown != usual else None)
    publish("revealed", seen if seen == drawn["key"] else "", "")
    _STEPS(key="steps", data=[drawn], on_moved_change=moved, on_revealed_change=revealed)
    return drawn["hidden"] is None


def _parse_place(text: str, places: Sequence[StepPlace], symbol: str | None) -> tuple[tuple[int, int, int] | None, str]:
    """Step, row and column of an address, and the operand's cell whose sum is written out; None if there is no such step.

    `symbol` is what the step was called when it was looked at: among other steps it may have another number.
    """
    try:
        step, row, column, *operand = text.split(",")
        at, cell = int(step), (int(row), int(column))
    except ValueError:
        return None, ""
    named = next((index for index, each in enumerate(places) if each.symbol == symbol), at)
    if not 0 <= named < len(places) or min(at, *cell) < 0:
        return None, ""
    if not places[named].has(cell):
        return (named, *places[named].start), ""
    return (named, *cell), operand[0] if operand else ""


def show_score_pairs(model: str, inspected: "InspectedTrace", kind: str, place: tuple[int, int], cell: tuple[int, int]) -> None:
    """Folded: the score of a cell, split over pairs of typed tokens; `place` is layer and head, `cell` query and key.

    Nothing where the score is no plain product, or the text was edited.
    """
    inputs = inspected.head(kind, *place)
    if not isinstance(inputs, DotProduct) or inputs.softcap or inputs.bias is not None or inspected.trace.edits:
        return
    folded = fold("Why did it look there?", "why", ":material/account_tree:")
    if not folded.open:
        return
    with folded:
        if (shares := why(model, inspected.trace.prompt, (kind, *place, *cell))) is None:
            return
        score = inputs.scaling * float(inputs.query[cell[0]].astype(float) @ inputs.key[cell[1]].astype(float))
        difference = abs(shares.score - score)
        if difference > 1e-3 * max(1.0, abs(score)):
            st.info("You chose words of this translation, so its scores are not split: open the model's own translation.")
            return
        story(describe_pairs(shares, head_name(*place)))
        _PAIRS("pairs", pairs_table(shares, theme=theme()))
        st.caption(
            ":material/verified: All pairs add up to the score of these steps "
            f"(rounding error: {power_of_ten(difference)}). {_HOW_PAIRS}"
        )


def weight_download(
    name: str, trace: AttentionTrace, attention: AttentionMap, place: tuple[int, int], *, words: bool
) -> Download:
    """Return the download of the head whose weight is explained."""
    picture = head_picture(trace, attention.kind, HeadView(*place, View(words=words), True))
    return Download(name, picture, Source(trace_expression(name, trace.prompt)))


def example_download(tables: Tables, computed: Computed, head: int) -> Download:
    """Return the download of the worked example's weights, a trace like any other."""
    trace = from_weights(computed.weights, tables.tokens, model="worked example")
    rounded = np.round(computed.weights, _DIGITS).tolist()
    made = f"av.from_weights({rounded}, {list(tables.tokens)}, model='worked example')"
    return Download("worked example", head_picture(trace, trace.maps[0].kind, HeadView(0, head, View(), True)), Source(made))


def inspected(name: str, prompt: Prompt, begins: tuple[str, ...]) -> "InspectedTrace | None":
    """Compute a trace whose heads can be looked into; None after the page has said why there is none."""
    if (result := _inspectable(name, prompt, begins)) is None:
        return None
    model = load_model(name, st.empty())
    from attnviz.models.head_inputs import inspect_result

    return inspect_result(model, result)


def worked_example(tables: Tables) -> Computed:
    """Compute the worked example of the page Compute: every matrix between X and the output."""
    if (found := results.find_shipped("worked_example", "", (tables,))) is not None:
        return found
    jobs.finish()
    made = compute(tables)
    results.note_computed("worked_example", "", (tables,), made)
    return made


@computed
def _inspectable(model: AttentionModel, progress: Progress, prompt: Prompt, begins: tuple[str, ...]) -> "Result":
    from attnviz.models.head_inputs import run_inspectable

    progress(f"Computing the attention of {model.card.name}", None)
    return run_inspectable(model, prompt, begins)


@computed
def why(model: AttentionModel, progress: Progress, prompt: Prompt, cell: tuple[str, int, int, int, int]) -> PairShares:
    """Take the score of a cell (kind, layer, head, query, key) apart."""
    from attnviz.attribution import token_removal

    progress(f"Taking a score of {model.card.name} apart", None)
    return token_removal.why(model, prompt, token_removal.Cell(*cell))
