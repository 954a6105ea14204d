"""`attnviz train` and `attnviz evaluate`: from a model's name to its folder in assets/, and from there to its figures."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attnviz.models.translators import load_folder
from attnviz.nn.decoding import Beam
from attnviz.paths import assets_folder
from attnviz.training import evaluate as evaluation
from attnviz.training import run
from attnviz.training.export import export
from attnviz.training.recipes import recipe

Report = Callable[[object], None]


def folder_of(name: str) -> Path:
    """Where a model that travels with attnviz lies."""
    return assets_folder() / "models" / name


def train(name: str, data: Path, runs: Path, *, epochs: int | None, report: Report) -> None:
    """Train by the recipe of that name, and save the model where it is loaded from.

    Raises:
        ModelNotFoundError: there is no such recipe.
        DataError: the data are not there, or the run in `runs` was begun by another recipe.
    """
    chosen = recipe(name, **({} if epochs is None else {"epochs": epochs}))
    weights = run.train(chosen, data, runs / name, report)
    export(chosen, weights, runs / name, folder_of(name))
    report(f"saved in {folder_of(name)}; measure it with: attnviz evaluate {name} --data {data}")


def evaluate(name: str, data: Path, *, save: bool, report: Report) -> dict[str, Any]:
    """Measure the model of that name; `save` writes what is measured into its metrics.json, keeping what else stands there.

    Raises:
        ModelNotFoundError: it has not been trained.
        DataError: the data are not there.
    """
    folder = folder_of(name)
    found = evaluation.evaluate(load_folder(folder), data, report, beam=Beam(width=5))
    if save:
        path = folder / "metrics.json"
        before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        evaluation.save({**before, **found}, folder)
    return found
