"""The worked examples of the page Compute: those that travel with attnviz, random ones, and their text in an address.

They are computed by the functions that models are made of, and compared with the NumPy reference.
"""

import tomllib
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from jaxtyping import Bool

from attnviz.core.errors import TraceError
from attnviz.core.head_inputs import LARGEST, MOST_DIM, MOST_TOKENS, PARAMETERS, Computed, Mask, Tables
from attnviz.nn import reference
from attnviz.settings import assets_folder


def compute(tables: Tables) -> Computed:
    """Compute every matrix from X to the output, in float64, and compare it with the reference.

    >>> eye, row = np.eye(2), np.ones((1, 2))
    >>> found = compute(Tables(("a",), row, eye, eye, eye, eye, np.ones((1, 1), dtype=bool)))
    >>> found.output.tolist(), found.difference < 1e-12
    ([[1.0, 1.0]], True)
    """
    of_library, of_reference = _library(tables), _reference(tables)
    distances = [float(np.abs(mine - oracle).max()) for mine, oracle in zip(of_library, of_reference, strict=True)]
    return Computed(*of_library, difference=max(distances))


def _library(tables: Tables) -> tuple[np.ndarray, ...]:
    # The results that travel with attnviz are shown before PyTorch is there.
    import torch
    from torch.nn import functional as F

    from attnviz.nn.attention import attend

    tensor = partial(torch.tensor, dtype=torch.float64, device="cpu")
    # Tables are written as in the paper, x W; PyTorch's linear layers keep W transposed.
    w_q, w_k, w_v, w_o = (tensor(getattr(tables, name).T) for name in PARAMETERS)
    x, visible = tensor(tables.x), torch.tensor(tables.visible, device="cpu")
    flat = [F.linear(x, weight) for weight in (w_q, w_k, w_v)]
    query, key, value = (each.unflatten(-1, (tables.n_heads, -1)).transpose(0, 1) for each in flat)
    scaling = tables.head_dim**-0.5 if tables.scaled else 1.0
    context, weights = attend(query, key, value, visible=visible, scaling=scaling)
    scores = query @ key.transpose(1, 2)
    concatenated = context.transpose(0, 1).flatten(start_dim=1)
    matrices = (*flat, scores, scores * scaling, weights, context, concatenated, F.linear(concatenated, w_o))
    return tuple(each.numpy() for each in matrices)


def _reference(tables: Tables) -> tuple[np.ndarray, ...]:
    parameters = {f"{name}.weight": getattr(tables, name).T for name in PARAMETERS}
    query, key, value = (reference.linear(tables.x, parameters, name) for name in PARAMETERS[:3])
    width = tables.head_dim
    scaling = 1 / np.sqrt(width) if tables.scaled else 1.0
    scores, weights, contexts = [], [], []
    for head in range(tables.n_heads):
        columns = slice(head * width, (head + 1) * width)
        attended = reference.attend(
            query[:, columns], key[:, columns], value[:, columns], visible=tables.visible, scaling=scaling
        )
        contexts.append(attended[0])
        weights.append(attended[1])
        scores.append(np.einsum("qd,kd->qk", query[:, columns], key[:, columns]))
    concatenated = np.concatenate(contexts, axis=-1)
    output = reference.linear(concatenated, parameters, "w_o")
    raw = np.stack(scores)
    return query, key, value, raw, raw * scaling, np.stack(weights), np.stack(contexts), concatenated, output


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
