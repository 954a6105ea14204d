"""The steps that a browser makes of a computation's numbers, made in Node, with their matrices as arrays."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.analysis.compute import Computation
from attnviz.figures.compute.steps import computation
from tests.javascript import run

RUNNER = Path(__file__).with_name("worded.js")
MINUS = "−"
NOTHING = f"{MINUS}∞"
Place = tuple[str, int, int]


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix as it stands on the page."""

    name: str
    values: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shown: list[list[str]]
    visible: list[list[bool]] | None
    label: str
    totals: list[str]
    first: tuple[int, int]
    flipped: bool
    size: str
    blocks: int
    weights: bool

    def place(self, row: int, column: int) -> Place:
        """Find the place of a shown cell in the named matrix."""
        row, column = (column, row) if self.flipped else (row, column)
        return self.name, row + self.first[0], column + self.first[1]


@dataclass(frozen=True)
class Origin:
    """The cells that a cell came from, and the sum as pieces of (text, matrix)."""

    cells: tuple[Place, ...]
    sum: list[tuple[str, str]]

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.sum)


@dataclass(frozen=True, eq=False)
class Step:
    """One step; the last matrix is its result."""

    symbol: str
    formula: str
    sentence: str
    matrices: tuple[Matrix, ...]
    signs: tuple[str, ...]
    origins: dict[tuple[int, int], Origin]
    start: tuple[int, int]

    @property
    def result(self) -> Matrix:
        return self.matrices[-1]


def worded(computed: Computation) -> tuple[Step, ...]:
    """Word one computation."""
    return all_worded([computed])[0]


def all_worded(computed: Sequence[Computation]) -> list[tuple[Step, ...]]:
    """Word many, in one run of Node."""
    made = run(RUNNER, [computation(each) for each in computed])
    return [_steps(each, own["worded"]) for each, own in zip(computed, made, strict=True)]


def described(drawn: dict[str, Any]) -> dict[str, Any]:
    """Describe the steps and origins of what a page gives to the browser, as the browser draws them."""
    return run(RUNNER, [drawn])[0]["described"]


def _steps(computed: Computation, made: list[dict[str, Any]]) -> tuple[Step, ...]:
    steps: list[Step] = []
    # What stands in several steps is one matrix.
    known: dict[str, Matrix] = {}
    for own, place in zip(made, computed.places, strict=True):
        matrices = tuple(known.setdefault(json.dumps(each), _matrix(each)) for each in own["matrices"])
        origins = {_cell(at): _origin(origin) for at, origin in own["origins"]}
        step = Step(own["symbol"], own["formula"], own["sentence"], matrices, tuple(own["signs"]), origins, tuple(own["start"]))
        # What an address knows of a step is so.
        assert (step.symbol, (len(step.result.rows), len(step.result.columns)), step.start) == (
            place.symbol,
            place.shape,
            place.start,
        )
        steps.append(step)
    return tuple(steps)


def _cell(at: str) -> tuple[int, int]:
    row, column = map(int, at.split(":"))
    return row, column


def _origin(made: dict[str, Any]) -> Origin:
    return Origin(tuple((name, row, column) for name, row, column in made["cells"]), [(text, of) for text, of in made["sum"]])


def _matrix(made: dict[str, Any]) -> Matrix:
    values = np.array(made["values"], dtype=float)
    size = made.get("size", " × ".join(map(str, values.shape)))
    return Matrix(
        made["name"], values, tuple(made["rows"]), tuple(made["columns"]), made["shown"], made.get("visible"),
        made.get("label", ""), made.get("totals", []), tuple(made.get("first", (0, 0))), made.get("isFlipped", False), size,
        made.get("blocks", 1), made.get("isWeights", False),
    )  # fmt: skip
