"""Worked examples: those that travel with attnviz, random ones out of a seed, and the numbers of one in an address."""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Bool

from attnviz.core.errors import TraceError
from attnviz.core.head_inputs import LARGEST, MOST_DIM, MOST_TOKENS, PARAMETERS, Mask
from attnviz.settings import assets_folder

TABLES = ("x", *PARAMETERS)
Numbers = dict[str, np.ndarray]


@dataclass(frozen=True)
class WorkedExample:
    """A worked example and one line on what to notice; `given` holds its matrices, where no seed makes them.

    `step` is the symbol of the step that the line speaks of, `cell` the row and the column of its result; `columns` says what
    the columns of X stand for.
    """

    label: str
    notice: str
    tokens: str
    heads: int
    mask: Mask
    dim: int
    seed: int
    step: str
    cell: tuple[int, int]
    given: dict[str, Any]
    columns: tuple[str, ...] = ()

    def numbers(self) -> Numbers:
        """X and the four matrices."""
        if self.given:
            return {name: np.array(self.given[name], dtype=float) for name in TABLES}
        return random_numbers(len(self.tokens.split()), self.dim, self.seed)


@cache
def worked_examples() -> tuple[WorkedExample, ...]:
    """Read the worked examples, in the order of the file."""
    table = tomllib.loads((assets_folder() / "examples.toml").read_text(encoding="utf-8"))
    return tuple(map(_worked_example, table["compute"]))


def _worked_example(entry: dict[str, Any]) -> WorkedExample:
    given = {name: entry[name] for name in TABLES if name in entry}
    return WorkedExample(
        entry["label"], entry["notice"], entry["tokens"], entry.get("heads", 1), entry.get("mask", "none"),
        len(given["x"][0]) if given else entry["dim"], entry.get("seed", 1), entry["step"], tuple(entry["cell"]), given,
        tuple(entry.get("columns", ())),
    )  # fmt: skip


def random_numbers(n_tokens: int, dim: int, seed: int) -> Numbers:
    """Draw normal numbers with one decimal; the same for the same seed, and a further token changes none of those before it.

    Raises:
        TraceError: there are more dimensions than an example has.
    """
    if not 1 <= dim <= MOST_DIM:
        raise TraceError(f"A worked example has 1 to {MOST_DIM} dimensions, and not {dim}: choose one of these.")
    numbers = {"x": np.random.default_rng([seed, 0]).normal(size=(MOST_TOKENS, dim))[:n_tokens]}
    for index, name in enumerate(PARAMETERS, start=1):
        numbers[name] = np.random.default_rng([seed, index]).normal(scale=dim**-0.5, size=(dim, dim))
    return {name: values.round(1) + 0.0 for name, values in numbers.items()}


def resized(numbers: Numbers, n_tokens: int, seed: int) -> Numbers:
    """Give the same numbers for more or fewer tokens; new ones come out of the seed."""
    x = numbers["x"]
    fresh = random_numbers(n_tokens, x.shape[1], seed)["x"]
    return {**numbers, "x": np.concatenate([x[:n_tokens], fresh[len(x) :]])}


def numbers_text(numbers: Numbers) -> str:
    """Write numbers for an address: tables parted by "|", rows by ";", numbers by ",".

    >>> numbers_text({name: np.array([[1.0, 0.5]]) for name in TABLES})
    '1,0.5|1,0.5|1,0.5|1,0.5|1,0.5'
    """
    return "|".join(";".join(",".join(f"{value:g}" for value in row) for row in numbers[name]) for name in TABLES)


def parse_numbers(text: str, n_tokens: int) -> Numbers | None:
    """Read the numbers of an address; None where it has none, or they do not fit.

    >>> parse_numbers("1|2|3|4|5", 1)["w_o"], parse_numbers("1|2", 1), parse_numbers("nan|1|1|1|1", 1)
    (array([[5.]]), None, None)
    """
    try:
        tables = [
            np.array([[float(value) for value in row.split(",")] for row in table.split(";")]) for table in text.split("|")
        ]
    except ValueError:
        return None
    dim = tables[0].shape[1]
    shapes = [(n_tokens, dim), *[(dim, dim)] * len(PARAMETERS)]
    fits = [table.shape for table in tables] == shapes and dim <= MOST_DIM
    if not fits or not all(np.isfinite(table).all() and np.abs(table).max() <= LARGEST for table in tables):
        return None
    return dict(zip(TABLES, tables, strict=True))


def mask_text(visible: Bool[np.ndarray, "token token"]) -> str:
    """Write a mask for an address: rows parted by ";", 1 where a token is visible.

    >>> mask_text(np.tri(2, dtype=bool))
    '10;11'
    """
    return ";".join("".join(str(int(seen)) for seen in row) for row in visible)


def parse_mask(text: str, n_tokens: int) -> Bool[np.ndarray, "token token"]:
    """Read the mask of an address for so many tokens; what it does not say is visible.

    >>> parse_mask("10;11;?", 3).tolist()
    [[True, False, True], [True, True, True], [True, True, True]]
    """
    visible = np.ones((n_tokens, n_tokens), dtype=bool)
    for row, line in zip(visible, text.split(";"), strict=False):
        row[: len(line)] = [mark != "0" for mark in line[:n_tokens]]
    return visible


def mask_of(kind: Mask, n_tokens: int, *, padded: int = 0) -> Bool[np.ndarray, "token token"]:
    """Make a mask of a kind; `padded` tokens at the end are padding.

    >>> mask_of("padding", 2, padded=1).tolist(), mask_of("causal", 2).tolist()
    ([[True, False], [True, False]], [[True, False], [True, True]])
    """
    if kind == "causal":
        return np.tri(n_tokens, dtype=bool)
    seen = np.ones((n_tokens, n_tokens), dtype=bool)
    if kind == "padding" and padded:
        seen[:, -padded:] = False
    return seen
