"""What `python -m recipes` does: from a recipe to a trained model in a folder, and from there to its figures and its card."""

import copy
import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from attnviz.attribution.dataset import method_figures
from attnviz.core import whole_files
from attnviz.models.shipped_answerer import AnswerModel
from attnviz.models.shipped_models import CONFIG, EXPONENTS, METRICS, WEIGHTS, kind_of, unpacked
from attnviz.models.shipped_summarizer import SummaryModel
from attnviz.models.shipped_translators import TranslationModel
from attnviz.nn.decoding import Beam
from attnviz.settings import assets_folder
from recipes.answer.card import answerer_card, answerer_facts, export_answerer
from recipes.answer.evaluate import evaluate_answerer
from recipes.answer.recipe import RECIPES as ANSWERERS
from recipes.answer.run import train_answerer
from recipes.card import FAITHFULNESS, SENTENCES, card_figures, counted, read_table
from recipes.data import DataError
from recipes.export import load_trained_as, packed, rounded, save_metrics, save_weights
from recipes.summarize.card import export_summarizer, summarizer_card, summarizer_facts
from recipes.summarize.evaluate import evaluate_summarizer
from recipes.summarize.task import RECIPES as SUMMARIZERS
from recipes.summarize.task import train_selector
from recipes.translate import eflomal
from recipes.translate.card import CONTROL, export_translator, read_control, translator_card
from recipes.translate.evaluate import evaluate_translator
from recipes.translate.packing import packing_changes
from recipes.translate.recipe import recipe
from recipes.translate.task import train_translator

Report = Callable[[object], None]


@dataclass(frozen=True)
class _OnTheEncoder:
    """A kind of model that stands on the embedded encoder: its recipes, how it is trained, saved and described."""

    recipes: Mapping[str, Any]
    train: Callable[..., Any]
    export: Callable[..., None]
    facts: Callable[[Any], dict[str, Any]]


_ON_THE_ENCODER = (
    _OnTheEncoder(SUMMARIZERS, train_selector, lambda *run, **_: export_summarizer(*run), summarizer_facts),
    _OnTheEncoder(ANSWERERS, train_answerer, export_answerer, answerer_facts),
)
_CARDS: Mapping[str, Callable[[dict[str, Any], dict[str, Any]], str]] = {
    "summarizer": summarizer_card,
    "answerer": answerer_card,
}


def folder_of(name: str) -> Path:
    """Locate a trained model: the folder of that path, else of the model of that name that travels with attnviz."""
    folder = Path(name)
    return folder if (folder / CONFIG).is_file() else assets_folder() / "models" / name


def train(name: str, data: Path, runs: Path, *, out: Path | None, epochs: int | None, report: Report) -> None:
    """Train by the recipe of that name, and save the model in the folder `out`, usually that of the run.

    Raises:
        ModelNotFoundError: there is no such recipe.
        DataError: the data are not there, or the run in `runs` was begun by another recipe.
    """
    changes = {} if epochs is None else {"epochs": epochs}
    folder = out or runs / name
    for kind in _ON_THE_ENCODER:
        if name in kind.recipes:
            known = kind.recipes[name]
            chosen = dataclasses.replace(known, schedule=dataclasses.replace(known.schedule, **changes))
            done = kind.train(chosen, data, runs / name, report)
            kind.export(chosen, done, folder, data=data, report=report)
            save_metrics(kind.facts(done), folder)
            break
    else:
        chosen = recipe(name, **changes)
        done = train_translator(chosen, data, runs / name, report)
        export_translator(chosen, done.best, runs / name, folder)
        save_metrics(counted(done, SENTENCES), folder)
    report(f"saved in {folder}; measure it with: python -m recipes evaluate {folder} --data {data}")


def link(name: str, data: Path, folder: Path, *, report: Report) -> None:
    """Link the words of the corpus that a model learns from, with eflomal.

    Raises:
        ModelNotFoundError: there is no such recipe.
        DataError: the data are not there, or eflomal is not installed.
    """
    eflomal.link(recipe(name).corpus, data, folder, report)


def evaluate(name: str, data: Path, *, save: bool, report: Report, control: Path | None = None) -> dict[str, Any]:
    """Measure the model of that name or folder; `save` adds what is measured to its metrics.json, and writes its card.

    `control` is the folder of the same recipe without its supervised head, measured already: its figures are saved beside.

    Raises:
        ModelNotFoundError: it has not been trained.
        DataError: the data, or the control's figures, are not there.
    """
    folder = folder_of(name)
    beside = {CONTROL: read_control(control)} if control else {}
    match kind_of(folder):
        case "summarizer":
            metrics = evaluate_summarizer(load_trained_as(SummaryModel, folder), data, report)
        case "answerer":
            held_out = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["recipe"]["held_out"]
            metrics = evaluate_answerer(load_trained_as(AnswerModel, folder), data, report, held_out)
        case _:
            metrics = evaluate_translator(load_trained_as(TranslationModel, folder), data, report, beam=Beam(width=5))
    metrics |= beside
    if save:
        save_figures(folder, metrics)
    return metrics


def pack(name: str, data: Path, *, report: Report) -> None:
    """Save the weights of a translator anew, packed; measure it and what that changed, and write its card.

    Raises:
        ModelError: it is no translator of ours.
        DataError: the data are not there, or its weights are packed already.
    """
    folder = folder_of(name)
    before = load_trained_as(TranslationModel, folder)
    with safe_open(folder / WEIGHTS, "pt") as saved:
        if any(each.endswith(EXPONENTS) for each in saved.keys()):  # noqa: SIM118
            raise DataError(f"the weights in {folder} are packed already")
    rounded_model = copy.deepcopy(before.model)
    rounded_model.load_state_dict(unpacked(packed(before.model.state_dict())))
    # Measured before the folder is touched: where data are missing, it stays as it was.
    figures = packing_changes(before, dataclasses.replace(before, model=rounded_model), data, report)
    save_weights(before.model.state_dict(), json.loads((folder / CONFIG).read_text(encoding="utf-8")), folder)
    save_figures(folder, figures)


def faithful(name: str, table: Path, data: Path) -> None:
    """Put what `attnviz faithful` has measured on the card of a model: its `table`, over the texts of `data`.

    Raises:
        DataError: there is no such table, or no model that was trained here.
    """
    save_figures(folder_of(name), {FAITHFULNESS: card_figures(method_figures(read_table(table)), data.name)})


def save_figures(folder: Path, measured: dict[str, Any]) -> None:
    """Add what was measured to a trained model's metrics.json, and write its card.

    Raises:
        DataError: the folder holds no model of ours.
    """
    if not (folder / METRICS).is_file():
        raise DataError(f"{folder} holds no model that was trained here, whose card could say what was measured")
    write = _CARDS.get(kind_of(folder), translator_card)
    metrics, config = (json.loads((folder / name).read_text(encoding="utf-8")) for name in (METRICS, CONFIG))
    save_metrics({**metrics, **measured}, folder)
    whole_files.write(folder / "card.md", write(config, rounded({**metrics, **measured})))
