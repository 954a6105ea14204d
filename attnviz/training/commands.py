"""`attnviz train` and `attnviz evaluate`: from a recipe to a trained model in a folder, and from there to its figures."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from attnviz.core import disk
from attnviz.models.answer import shipped as answerers
from attnviz.models.base import silent
from attnviz.models.catalog import kind_of
from attnviz.models.summarize import own as summary
from attnviz.models.translate.shipped import load_folder
from attnviz.nn.decoding import Beam
from attnviz.paths import assets_folder
from attnviz.training.answer import card as answer_card
from attnviz.training.answer import evaluate as answer_evaluate
from attnviz.training.answer import recipe as answer_recipes
from attnviz.training.answer import task as answering
from attnviz.training.card import SENTENCES, card, counted
from attnviz.training.export import export
from attnviz.training.sentence_pairs import DataError
from attnviz.training.summarize import card as selector_card
from attnviz.training.summarize import evaluate as selector_evaluate
from attnviz.training.summarize import task as selector
from attnviz.training.toy import presets
from attnviz.training.toy import task as toy
from attnviz.training.translate import eflomal as links
from attnviz.training.translate import evaluate as evaluation
from attnviz.training.translate import run
from attnviz.training.translate.recipe import recipe

Report = Callable[[object], None]
# What stands on the embedded encoder: its recipes, how it is trained, and what writes it down.
_ON_THE_ENCODER: tuple[tuple[Mapping[str, Any], Callable[..., Any], Any], ...] = (
    (selector.RECIPES, selector.train, selector_card),
    (answer_recipes.RECIPES, answering.train, answer_card),
)
# How the card of a kind of model is written; a translator's is `card`.
_CARDS = {"summarizer": selector_card.card, "answerer": answer_card.card}


def folder_of(name: str) -> Path:
    """A folder where a trained model lies: the one of that path, else of the model of that name that travels with attnviz."""
    folder = Path(name)
    return folder if (folder / "config.json").is_file() else assets_folder() / "models" / name


def train(name: str, data: Path, runs: Path, *, out: Path | None, epochs: int | None, report: Report) -> None:
    """Train by the recipe of that name, and save the model in the folder `out`, usually that of the run.

    Raises:
        ModelNotFoundError: there is no such recipe.
        DataError: the data are not there, or the run in `runs` was begun by another recipe.
    """
    changes = {} if epochs is None else {"epochs": epochs}
    folder = out or runs / name
    for recipes, learned, writing in _ON_THE_ENCODER:
        if name in recipes:
            known = recipes[name]
            chosen = dataclasses.replace(known, schedule=dataclasses.replace(known.schedule, **changes))
            done = learned(chosen, data, runs / name, report)
            writing.export(chosen, done, folder)
            evaluation.save(writing.facts(done), folder)
            break
    else:
        chosen = recipe(name, **changes)
        done = run.train(chosen, data, runs / name, report)
        export(chosen, done.best, runs / name, folder)
        evaluation.save(counted(done, SENTENCES), folder)
    report(f"saved in {folder}; measure it with: attnviz evaluate {folder} --data {data}")


def train_toy(name: str, runs: Path, *, out: Path | None, steps: int | None, seed: int | None, report: Report) -> None:
    """Train a toy as the page Train does, without a page, and save it in one file, usually in `runs`.

    Raises:
        ModelNotFoundError: there is no such toy.
        DataError: the steps or the seed are no number that a recipe has.
    """
    known = presets.preset(name).recipe
    wished = {name: value for name, value in (("steps", steps), ("seed", seed)) if value is not None}
    for option, value in wished.items():
        if not 1 <= value <= toy.MOST:
            raise DataError(f"--{option} is a whole number from 1 to {toy.MOST:,}, not {value}")
    chosen = dataclasses.replace(known, **wished)
    # Its products are too small to be shared: two threads would wait for each other.
    torch.set_num_threads(1)
    training, every = toy.Training(chosen), max(1, chosen.steps // 20)
    report(training.look())
    while not training.ended:
        training.step()
        if training.taken % every == 0 or training.ended:
            report(training.look())
    path = out or runs / f"{name}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    disk.write(path, toy.to_file(chosen, training.look()))
    report(f"saved in {path}; look at it with: attnviz trace {path} {chosen.task.example!r} -o trace.attn")


def link(name: str, data: Path, folder: Path, *, report: Report) -> None:
    """Link the words of the corpus that a model learns from, with eflomal.

    Raises:
        ModelNotFoundError: there is no such recipe.
        DataError: the data are not there, or eflomal is not installed.
    """
    links.link(recipe(name).corpus, data, folder, report)


def evaluate(name: str, data: Path, *, save: bool, report: Report) -> dict[str, Any]:
    """Measure the model of that name or folder; `save` adds what is measured to its metrics.json, and writes its card.

    Raises:
        ModelNotFoundError: it has not been trained.
        DataError: the data are not there.
    """
    folder = folder_of(name)
    kind = kind_of(folder)
    if kind == "summarizer":
        found = selector_evaluate.evaluate(summary.load_folder(folder, silent), data, report)
    elif kind == "answerer":
        found = answer_evaluate.evaluate(answerers.load_folder(folder, silent), data, report)
    else:
        found = evaluation.evaluate(load_folder(folder), data, report, beam=Beam(width=5))
    if save:
        _save_figures(folder, found, _CARDS.get(kind, card))
    return found


def _save_figures(folder: Path, found: dict[str, Any], write: Callable[[dict[str, Any], dict[str, Any]], str]) -> None:
    """Add what was measured to metrics.json, and write the card."""
    metrics, config = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("metrics.json", "config.json"))
    evaluation.save({**metrics, **found}, folder)
    disk.write(folder / "card.md", write(config, evaluation.rounded({**metrics, **found})))
