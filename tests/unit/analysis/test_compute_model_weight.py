"""Every matrix of one weight's way, from its vectors to its context, against the formulas."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from attnviz.analysis.compute import Excerpt, QueryKey, first_place, link_steps, unfold_additive, unfold_dot_product
from attnviz.core.head_inputs import Additive, DotProduct, Projected, Projections
from tests.factories import given_map, typed
from tests.worded import MINUS, NOTHING, Matrix, Origin, Step, worded

N, KEYS, DIM, VALUE_DIM, STATE = 5, 11, 13, 9, 10
DICE = np.random.default_rng(3)
PAIR = QueryKey(tuple(f"q{at}" for at in range(N)), tuple(f"k{at}" for at in range(KEYS)), 3, 7)
QUERY, KEY, VALUE = (DICE.normal(size=shape) for shape in ((N, DIM), (KEYS, DIM), (KEYS, VALUE_DIM)))
SEEN = DICE.random((N, KEYS)) < 0.6
SEEN[3, 7] = True


def shares(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def by_symbol(steps: tuple[Step, ...]) -> dict[str, Step]:
    return {step.symbol: step for step in steps}


def kept(names: tuple[str, ...], prefix: str = "") -> list[int]:
    """The places of the shown rows or columns; the last may count the others."""
    return [int(name.removeprefix(prefix)) for name in names if not name.endswith("more")]


def holds(step: Step, want: np.ndarray, prefix: str = "") -> None:
    """Check the shown part of a row, and that each of its cells ends with the number that it shows."""
    result, places = step.result, kept(step.result.columns, prefix)
    np.testing.assert_allclose(result.values[0, : len(places)], want[places], atol=1e-9)
    for (row, column), origin in step.origins.items():
        assert row == 0
        text, of = origin.sum[-1]
        text = text if of else origin.text
        assert result.shown[0][column] in text
    assert {column for _, column in step.origins} == {column for column, at in enumerate(places) if np.isfinite(want[at])}
    if len(places) < len(result.columns):
        assert (result.shown[0][-1], result.columns[-1]) == ("…", f"{len(want) - len(places)} more")
        assert np.isnan(result.values[0, -1])


def chained(steps: tuple[Step, ...]) -> None:
    """Check the cells that each number came from, and that sums that are written out add up as they read."""
    for before, step in pairwise(steps):
        left, right = step.matrices[0], step.matrices[1 % len(step.matrices)]
        assert step.symbol in ("mask", "softmax") or step.start[0] == 0
        for (row, column), origin in step.origins.items():
            shown = range(len(kept_names(left.columns)))
            if step.signs == ("→",):
                assert left is before.result
                assert step.symbol == "softmax" or origin.cells == (left.place(0, column),)
            elif step.signs == ("×", "="):
                places = [left.place(0, at) for at in shown], [right.place(at, column) for at in shown]
                assert origin.cells == (*places[0], *places[1])
            elif step.signs == ("·", "="):
                assert {each[0] for each in origin.cells} == {left.name, right.name}
                assert [each[2] for each in origin.cells] == [*shown, *shown]
            if step.signs in (("×", "="), ("·", "=")):
                assert origin.text.startswith(factors(left, right, column, by_rows=step.signs[0] == "×"))
            if origin.text.count(" = ") == 2 and step.symbol != "÷√d" and "e^" not in origin.text:
                _, terms, total = origin.text.split(" = ")
                numbers = re.findall(rf"{MINUS}? ?\d+\.\d\d", terms)
                assert sum(map(number, numbers)) == pytest.approx(number(total)), (row, origin.text)


def factors(left: Matrix, right: Matrix, column: int, *, by_rows: bool) -> str:
    """The terms that a sum begins with: of a long one the five largest of those that stand on the page, and how many others."""
    n, known = int(left.size.split(" × ")[1]), len(kept_names(left.columns))
    others = [(right.values[at, column], right.shown[at][column]) if by_rows else (right.values[0, at], right.shown[0][at])
              for at in range(known)]  # fmt: skip
    order = sorted(range(known), key=lambda at: -abs(left.values[0, at] * others[at][0]))
    some = sorted(order[:5] if n > 6 else order)
    pairs = [[f"({text})" if text.startswith(MINUS) else text for text in (left.shown[0][at], others[at][1])] for at in some]
    return " + ".join("·".join(pair) for pair in pairs) + (f" + ({n - len(some)} more)" if n > len(some) else "")


def kept_names(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not name.endswith("more")]


def number(text: str) -> float:
    return float(text.replace(" ", "").replace(MINUS, "-"))


def told(step: Step, write: Any) -> None:
    """Check how each number is written to come from the one before it."""
    for (_, column), origin in step.origins.items():
        assert origin.text == write(*(matrix.shown[0][column] for matrix in step.matrices)), step.symbol


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"scaling": DIM**-0.5},
        {"scaling": 0.25, "visible": SEEN},
        {"scaling": 2.0},
        {"scaling": 0.5, "softcap": 2.0, "bias": DICE.normal(size=(N, KEYS))},
        {"bias": DICE.normal(size=(N, KEYS)), "visible": SEEN},
        {"sink": 0.5, "visible": np.pad(SEEN, ((0, 0), (0, 1)), constant_values=True)},
        {"value": None},
    ],
    ids=lambda changes: "+".join(changes) or "plain",
)
def test_a_dot_product_is_unfolded_by_its_formula(changes: dict[str, Any]) -> None:
    inside = replace(DotProduct(QUERY, KEY, VALUE, 1.0), **changes)
    # A sink is one more key, without a product.
    pair = PAIR if inside.sink is None else replace(PAIR, keys=(*PAIR.keys, f"k{KEYS}"))
    chained(unfolded := worded(unfold_dot_product(inside, pair)))
    steps = by_symbol(unfolded)
    scores = KEY @ QUERY[3]
    assert "how this model makes them is not shown" in steps["q·k"].sentence
    assert f"{DIM} numbers each" in steps["q·k"].sentence
    assert steps["q·k"].result.values.item() == pytest.approx(scores[7])
    # The largest products, by size, are those that are written out.
    assert kept(steps["q·k"].matrices[0].columns) == sorted(np.argsort(-np.abs(KEY[7] * QUERY[3]))[:6])
    holds(steps["q·K"], scores if inside.sink is None else np.append(scores, np.nan), "k")
    assert tuple(symbol in steps for symbol in ("÷√d", "cap", "+ bias", "sink", "mask")) == (
        inside.scaling != 1, inside.softcap is not None, inside.bias is not None, inside.sink is not None, "visible" in changes,
    )  # fmt: skip
    if inside.scaling != 1:
        scores = inside.scaling * scores
        holds(steps["÷√d"], scores, "k")
        root = inside.scaling == DIM**-0.5
        told(
            steps["÷√d"],
            lambda old, new: (
                f"{old} / √{DIM} = {old} / {DIM**0.5:.2f} = {new}" if root else f"{old} · {inside.scaling:g} = {new}"
            ),
        )
        assert (f"√{DIM}" in steps["÷√d"].formula) == (inside.scaling == DIM**-0.5)
        assert (f"√{DIM} = {DIM**0.5:.2f} takes back" in steps["÷√d"].sentence) == root
    if inside.softcap is not None:
        scores = inside.softcap * np.tanh(scores / inside.softcap)
        holds(steps["cap"], scores, "k")
        told(steps["cap"], lambda old, new: f"{inside.softcap:g} · tanh({old} / {inside.softcap:g}) = {new}")
        assert steps["cap"].formula == "T = c · tanh(S′ / c)"
    if inside.bias is not None:
        scores = scores + inside.bias[3]
        holds(steps["+ bias"], scores, "k")
        assert steps["+ bias"].formula == f"B = {'T' if inside.softcap else 'S'} + bias"
        for (_, column), origin in steps["+ bias"].origins.items():
            old, new = (number(matrix.shown[0][column]) for matrix in steps["+ bias"].matrices)
            match = re.fullmatch(r"(\S+) ([+−]) (\S+) = (\S+)", origin.text)
            assert match
            assert [number(each) for each in match.group(1, 4)] == [old, new]
            assert old + number(match[2].replace("+", "") + match[3]) == pytest.approx(new)
    if inside.sink is not None:
        told(steps["sink"], lambda old, _: f"{old} stays")
    if "mask" in steps:
        hidden = f"{{}} → {NOTHING}, so that its weight is exactly 0"
        told(steps["mask"], lambda old, new: (hidden if new == NOTHING else "{} stays").format(old))
    final = scores if inside.sink is None else np.append(scores, inside.sink)
    weights = shares(final if inside.visible is None else np.where(inside.visible[3], final, -np.inf))
    softmax, names = steps["softmax"], dict(zip(PAIR.keys, range(KEYS), strict=True))
    for column, name in enumerate(softmax.result.columns):
        if name in names:
            assert softmax.result.values[0, column] == pytest.approx(weights[names[name]], abs=1e-6)
    rows = [steps[symbol] for symbol in ("q·K", "÷√d", "cap", "+ bias", "sink", "mask", "softmax") if symbol in steps]
    assert {(step.start[0], step.result.columns[step.start[1]]) for step in rows} == {(0, "k7")}
    assert {step.result.size for step in rows} == {f"1 × {len(pair.keys)}"}
    assert f"“k7” gets {weights[7]:.4f} of" in softmax.sentence
    assert softmax.result.values.sum() == pytest.approx(1)
    if inside.value is None:
        assert "·V" not in steps
        return
    context = weights[:KEYS] @ VALUE
    holds(steps["·V"], context)
    assert kept(steps["·V"].result.columns) == sorted(np.argsort(-np.abs(context))[:6])
    largest = [7, *(at for at in np.argsort(-weights, kind="stable").tolist() if at != 7)][:6]
    assert kept(softmax.result.columns, "k") == sorted(largest)
    table = steps["·V"].matrices[1]
    np.testing.assert_allclose(
        table.values[0, : len(kept(table.columns))], VALUE[names[table.rows[0]], kept(table.columns)], atol=1e-9
    )


def test_sentences_cut_a_token_that_is_very_long() -> None:
    pair = replace(PAIR, queries=("q" * 300,) * N, keys=("k" * 300,) * KEYS)
    steps = worded(unfold_dot_product(DotProduct(QUERY, KEY, VALUE, 1.0), pair))
    said = [step.sentence for step in steps]
    assert any(f"“{'q' * 59}…” looks for, k what “{'k' * 59}…”" in each for each in said)
    assert not any("q" * 61 in each or "k" * 61 in each for each in said)


def test_a_sink_has_a_score_and_no_product() -> None:
    inside = DotProduct(QUERY, KEY, VALUE, 1.0, sink=0.5)
    steps = by_symbol(worded(unfold_dot_product(inside, QueryKey(PAIR.queries, (*PAIR.keys, "sink"), 3, KEYS))))
    assert [*steps] == ["q·K", "sink", "softmax", "·V"]
    assert steps["softmax"].result.columns[steps["softmax"].start[1]] == "sink"


def test_vectors_are_made_of_the_tokens_states_where_that_is_known() -> None:
    states = DICE.normal(size=(KEYS, STATE))
    made = [Projected(states, DICE.normal(size=(size, STATE)), DICE.normal(size=size)) for size in (DIM, DIM, VALUE_DIM)]
    query, key, value = (each.vectors for each in made)
    chained(unfolded := worded(unfold_dot_product(DotProduct(query[:N], key, value, 1.0, made=Projections(*made)), PAIR)))
    steps = by_symbol(unfolded)
    assert "not shown" not in steps["q·k"].sentence
    assert f"{STATE} numbers. W_Q was learned, and {DIM} of" in steps["q"].sentence
    of_context = steps["·V"].matrices[1]
    assert steps["v"].result.place(0, 0) == of_context.place(of_context.rows.index("k7"), 0)
    assert steps["v"].result.label == "v"
    assert [*steps][:3] == ["q", "k", "q·k"]
    assert [*steps][-2:] == ["v", "·V"]
    for symbol, vector in (("q", query[3]), ("k", key[7]), ("v", value[7])):
        holds(steps[symbol], vector)
        left, table = steps[symbol].matrices[:2]
        at = 3 if symbol == "q" else 7
        np.testing.assert_allclose(left.values[0, : len(kept(left.columns))], states[at, kept(left.columns)])
        weight = made["qkv".index(symbol)].weight.T
        assert table.values[0, 0] == pytest.approx(weight[kept(table.rows)[0], kept(table.columns)[0]])
        given = np.abs(states[at][:, None] * weight[:, kept(table.columns)]).sum(axis=1)
        assert kept(table.rows) == kept(left.columns) == sorted(np.argsort(-given)[:4])


def test_additive_attention_is_unfolded_by_its_formula() -> None:
    inside = Additive(*(DICE.normal(size=size) for size in ((N, STATE), (KEYS, 7), (DIM, STATE), (DIM,), (DIM, 7), (DIM,))))
    chained(unfolded := worded(unfold_additive(inside, PAIR)))
    steps = by_symbol(unfolded)
    told(steps["tanh"], lambda old, new: f"tanh({old}) = {new}")
    assert f"all {DIM} units" in steps["v·"].sentence
    assert [*steps] == ["W s", "U h", "+", "tanh", "v·", "all e", "softmax", "·H"]
    state, annotation = inside.w @ inside.states[3] + inside.b, inside.u @ inside.memory[7]
    for symbol, values in (
        ("W s", state),
        ("U h", annotation),
        ("+", state + annotation),
        ("tanh", np.tanh(state + annotation)),
    ):
        holds(steps[symbol], values)
    energies = np.array([inside.v @ np.tanh(state + inside.u @ each) for each in inside.memory])
    assert steps["v·"].result.values.item() == pytest.approx(energies[7])
    assert steps["tanh"].matrices[0] is steps["+"].result
    assert steps["v·"].matrices[1] is steps["tanh"].result
    assert steps["softmax"].matrices[0] is steps["all e"].result
    holds(steps["all e"], energies, "k")
    assert steps["all e"].result.columns[steps["all e"].start[1]] == "k7"
    holds(steps["·H"], shares(energies) @ inside.memory)
    # Three numbers that all stand on the page add up as they read.
    for column, origin in steps["+"].origins.items():
        assert origin.cells == tuple(matrix.place(*column) for matrix in steps["+"].matrices[:2])
        left, right, total = (
            float(each.replace(" ", "").replace(MINUS, "-")) for each in re.findall(r"−? ?\d+\.\d+", origin.text)
        )
        assert left + right == pytest.approx(total, abs=1e-9), column


@pytest.mark.parametrize(
    ("symbol", "cell", "want"),
    [("", None, 0), ("softmax", None, 2), ("softmax", (0, 1), (2, 0, 1)), ("softmax", (1, 0), 2), ("softmax", (0, 7), 2),
     ("nothing", None, 0)],
)  # fmt: skip
def test_the_cell_to_open_with_is_one_that_there_is(symbol: str, cell: tuple[int, int] | None, want: Any) -> None:
    steps = unfold_dot_product(DotProduct(QUERY, KEY, VALUE, 1.0), PAIR).places
    assert first_place(steps, symbol, cell) == (want if isinstance(want, tuple) else (want, *steps[want].start))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 12])
def test_an_excerpt_has_the_largest_and_what_is_asked_for(n: int) -> None:
    sizes = np.array([*range(n)]) * (-1.0) ** np.arange(n)
    excerpt = Excerpt.of(sizes, 6, (0,))
    assert (excerpt.length, 0 in excerpt.kept) == (n, True)
    assert excerpt.kept == (tuple(range(n)) if n <= 8 else (0, *range(n - 5, n)))
    assert excerpt.rest == tuple(sorted({*range(n)} - {*excerpt.kept}))
    assert excerpt.width == min(n, 7 if n > 8 else 8)


def test_pieces_become_words_by_the_sum_over_keys_and_the_mean_over_queries() -> None:
    tokens = typed("un|do it sing|s")
    query, key = DICE.normal(size=(5, 4)), DICE.normal(size=(5, 4))
    weights = np.array([shares(key @ each) for each in query])
    attention = given_map(weights, tokens)
    names = tuple(token.text for token in tokens)
    inside = DotProduct(query, key, None, 1.0)
    unfolded = link_steps(inside, attention, (0, 0), QueryKey(names, names, 1, 3), words=True)
    step = by_symbol(steps := worded(unfolded.steps))["word"]
    assert step.result.values.item() == pytest.approx(weights[:2, 3:].sum() / 2, abs=1e-6)
    assert (step.result.rows, step.result.columns) == (("undo",), ("sings",))
    pieces, origin = step.matrices[0], step.origins[0, 0]
    assert origin.cells == tuple(pieces.place(*cell) for cell in np.ndindex(2, 2))
    found = re.fullmatch(r"\((.*)\) / 2 = (\S+) / 2 = (\S+)", origin.text)
    assert found
    assert sum(map(float, found[1].split(" + "))) == pytest.approx(float(found[2]))
    assert (found[3], pieces.size) == (step.result.shown[0][0], "2 × 2")
    assert steps.index(step) == unfolded.steps.weights_step + 1
    assert (unfolded.weight, unfolded.difference) == (pytest.approx(weights[1, 3]), pytest.approx(0, abs=1e-6))
    alone = link_steps(inside, attention, (0, 0), QueryKey(names, names, 2, 2), words=True)
    assert "word" not in by_symbol(worded(alone.steps))
    whole = link_steps(inside, attention, (0, 0), QueryKey(names, names, 2, 4), words=True)
    step = by_symbol(worded(whole.steps))["word"]
    assert step.result.values.item() == pytest.approx(weights[2, 3:].sum(), abs=1e-6)
    assert re.fullmatch(r"\S+ \+ \S+ = \S+", step.origins[0, 0].text)
    unmerged = link_steps(inside, attention, (0, 0), QueryKey(names, names, 1, 3), words=False)
    assert "word" not in by_symbol(worded(unmerged.steps))


@pytest.mark.parametrize(
    ("scores", "seen", "says"),
    [
        ([1.0, 2.0], [True, True], "e^{1.00} / (e^{1.00} + e^{2.00})"),
        ([1.0, 9.0], [True, True], f"e^{{1.00 {MINUS} 9.00}} / (e^{{1.00 {MINUS} 9.00}}"),
        ([-9.0, -8.0], [True, True], f"e^{{{MINUS}9.00 + 8.00}} / ("),
        ([0.5, -9.0], [True, True], f"e^{{0.50 {MINUS} 0.50}} / ("),
        ([1.0, 2.0], [True, False], "the only key that can be seen: "),
        ([1.0, 2.0], [False, True], f"e^{{{NOTHING}}} = "),
    ],
)
def test_a_weight_is_written_as_a_power_over_a_sum(scores: list[float], seen: list[bool], says: str) -> None:
    before, origin, result = weight_of(scores, seen, 0)
    assert says in origin.text
    assert origin.text.endswith(result)
    assert origin.cells == tuple(before.place(0, at) for at in range(2) if (seen[at] and seen[0]) or (not seen[0] and at == 0))


def weight_of(scores: Sequence[float], seen: Sequence[bool], key: int) -> tuple[Matrix, Origin, str]:
    """How the weight of a key is written, of keys of one number that a query of 1 meets; and the scores before it."""
    names = tuple(map(str, range(len(scores))))
    inside = DotProduct(np.ones((1, 1)), np.array(scores)[:, None], None, 1.0, np.array([seen]))
    step = by_symbol(worded(unfold_dot_product(inside, QueryKey(("q",), names, 0, key))))["softmax"]
    return step.matrices[0], step.origins[step.start], step.result.shown[0][step.start[1]]


@pytest.mark.parametrize("shift", [0.0, 9.0, -9.0])
@pytest.mark.parametrize("n", [5, 6, 7, 11])
def test_a_weight_among_many_is_written_with_the_largest_and_the_sum_of_the_others(n: int, shift: float) -> None:
    scores = np.random.default_rng(n).normal(size=n).round(2) + shift
    seen = np.arange(n) != 1
    for at in (0, n - 1):
        before, origin, result = weight_of(scores.tolist(), seen.tolist(), at)
        shown = [at, *(key for key in np.argsort(-scores).tolist() if seen[key] and key != at)]
        more = max(len(shown) - 5, 0) if len(shown) > 6 else 0
        kept_keys = sorted(shown[: len(shown) - more])
        highest = scores[seen].max()
        less = "" if not shift else f" {MINUS if shift > 0 else '+'} {abs(highest):.2f}"
        powers = {key: f"e^{{{f'{scores[key]:.2f}'.replace('-', MINUS)}{less}}}" for key in kept_keys}
        below = " + ".join(powers.values()) + (f" + ({more} more)" if more else "")
        top, over, total = re.fullmatch(
            re.escape(f"{powers[at]} / ({below}) = ") + rf"(\S+) / \((.*)\) = \1 / (\S+) = {re.escape(result)}", origin.text
        ).groups()
        energies = np.exp(scores - (highest if shift else 0))
        assert float(top) == pytest.approx(energies[at], abs=0.00501)
        assert sum(map(float, over.split(" + "))) == pytest.approx(float(total))
        assert float(total) == pytest.approx(energies[seen].sum(), abs=0.00501)
        assert result == f"{energies[at] / energies[seen].sum():.2f}"
        places = [column for column, name in enumerate(kept_names(before.columns)) if seen[int(name)]]
        assert origin.cells == tuple(before.place(0, column) for column in places)
