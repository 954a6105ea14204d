"""From a trained translator to the folder that travels, what its card says of it, and what supervising its head cost."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from torch import Tensor

from attnviz.core import whole_files
from attnviz.models.shipped_models import CONFIG, METRICS
from attnviz.models.shipped_translators import SOURCE, TARGET
from attnviz.nn.transformer_translator import TranslatorConfig
from recipes.card import FACTS, FAITHFULNESS, command, faithfulness_section, figures, shown, table
from recipes.data import DataError
from recipes.export import save_weights
from recipes.translate.packing import PACKING, packing_section
from recipes.translate.recipe import Recipe

LANGUAGES = {"en": "English", "fr": "French", "de": "German"}
LICENCE = "CC-BY-2.0"
SOURCES = ("http://www.manythings.org/anki", "https://tatoeba.org")
# Where metrics.json keeps the figures of the model without supervision.
CONTROL = "without supervision"
# A difference of BLEU that nobody should make much of.
NOTHING = 0.5
_COMPARED = ("BLEU", "chrF", "AER")
# How the figures that begin with AER were measured; of the Hansards where there are such figures.
_AER = (
    "AER compares forced alignments, the strongest source word of each target word, with links: in domain those of the "
    "statistical aligner eflomal on the development pairs (its intersection sure, its union possible), which are no "
    "human's{hansards}. Balanced: the same attention between words, and between punctuation, rescaled until every source "
    "word is used (Sinkhorn & Knopp 1967); nothing is trained for it."
)
_HANSARDS = "; Hansards are the 447 gold pairs of Och & Ney 2003, parliamentary text unlike anything this model was trained on"


def configuration(recipe: Recipe, vocabularies: tuple[int, int]) -> dict[str, Any]:
    """Make config.json: what `attnviz.models.shipped_translators` builds the model from, and the recipe beside it."""
    config = recipe.model.untrained_model(*vocabularies).config
    source, target = (LANGUAGES[language] for language in recipe.corpus.languages)
    return {
        "kind": "transformer" if isinstance(config, TranslatorConfig) else "seq2seq",
        "model": dataclasses.asdict(config),
        "card": {
            "name": recipe.name,
            "task": f"translates {source} to {target}; {recipe.about}",
            "languages": list(recipe.corpus.languages),
            "licence": LICENCE,
            "sources": [recipe.paper, *SOURCES],
        },
        "recipe": json.loads(recipe.as_json()),
    }


def export_translator(recipe: Recipe, weights: dict[str, Tensor], run: Path, folder: Path) -> None:
    """Write a folder that `attnviz.models.shipped_models` loads, with the tokenizers of the run that trained it."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = []
    for name in (SOURCE, TARGET):
        whole_files.write(folder / name, (run / name).read_bytes())
        sizes.append(len(json.loads((folder / name).read_text(encoding="utf-8"))["model"]["vocab"]))
    save_weights(weights, configuration(recipe, (sizes[0], sizes[1])), folder)


def translator_card(config: dict[str, Any], metrics: dict[str, Any]) -> str:
    """Write the card of a translator as Markdown, from its config.json and metrics.json alone."""
    about, corpus = config["card"], config["recipe"]["corpus"]
    measured = {
        name: value
        for name, value in metrics.items()
        if name not in (*FACTS, "bytes", "sha256", FAITHFULNESS, CONTROL, PACKING)
    }
    parts = [
        f"# {about['name']}",
        f"It {about['task']}: {about['sources'][0]}.",
        "## Data",
        f"Trained on {corpus['name']}: sentence pairs of the Tatoeba project as manythings.org prepares them, "
        f"licensed {about['licence']}. Attribution: www.manythings.org/anki and tatoeba.org. "
        "Development sentences share no English sentence with the training sentences.",
        "## Training",
        command(config),
        figures({name: metrics[name] for name in FACTS if name in metrics}),
        *_supervised_head(config["recipe"].get("supervised_head")),
        *_joined(config["recipe"].get("joined")),
        "The hours are wall-clock, with pauses in which the machine did other work. Everything else that decides the "
        "weights is the recipe in config.json. What is measured are the weights as saved.",
        "## Measured",
        figures(measured),
        *_alignment_error(measured),
        *control_section(metrics),
        *packing_section(config, metrics),
        *faithfulness_section(metrics),
        "## What it is bad at",
        "\n".join(f"- {line}" for line in config["recipe"]["weak"]),
    ]
    return "\n\n".join(parts) + "\n"


def _alignment_error(measured: dict[str, Any]) -> list[str]:
    rates = [name for name in measured if name.startswith("AER")]
    people = _HANSARDS if any("Hansards" in name for name in rates) else ""
    return [_AER.format(hansards=people)] if rates else []


def _supervised_head(head: dict[str, Any] | None) -> list[str]:
    if not head:
        return []
    return [
        f"One head of the cross-attention, L{head['layer']}·H{head['head']}, was told where to look from epoch "
        f"{head['since'] + 1} on: in the row that reads a word, at the words that the statistical aligner eflomal linked it to "
        "on the training pairs (Garg et al. 2019). Its picture is taught; those of all other heads come from translation alone."
    ]


def _joined(joined: dict[str, Any] | None) -> list[str]:
    if not joined:
        return []
    return [
        f"From epoch {joined['since'] + 1} on, {joined['share']:.0%} of its texts were 2 to {joined['most']} sentences in "
        "a row, so that it met longer ones than its data have."
    ]


def read_control(folder: Path) -> dict[str, Any]:
    """Read what was measured of a model that is the control of another: its name, BLEU, chrF and every AER.

    Raises:
        DataError: the folder holds no model that was measured, or one whose head was supervised, too.
    """
    files = [folder / CONFIG, folder / METRICS]
    if not all(path.is_file() for path in files):
        raise DataError(f"{folder} holds no model that was trained here, to compare with")
    config, metrics = (json.loads(path.read_text(encoding="utf-8")) for path in files)
    if config["recipe"].get("supervised_head"):
        raise DataError(f"{folder} had its head supervised, too: a control is the same recipe without")
    kept = {name: value for name, value in metrics.items() if name.startswith(_COMPARED) and isinstance(value, float)}
    if "BLEU" not in kept:
        raise DataError(f"{folder} has not been measured; run python -m recipes evaluate {folder} --data DATA --save first")
    return {"name": config["card"]["name"], **kept}


def control_section(metrics: dict[str, Any]) -> list[str]:
    """Write the part of a card that says what supervision cost; nothing where there is no control."""
    if not (control := metrics.get(CONTROL)):
        return []
    rows = [(name, shown(metrics[name]), shown(value)) for name, value in control.items() if name in metrics]
    return [
        "## What supervising a head costs",
        f"{control['name']} is the same recipe and seed without it: one and the same model until the epoch in which the "
        f"supervision begins. {_verdict(metrics['BLEU'] - control['BLEU'])}",
        table([("", "supervised", "not supervised"), *rows]),
    ]


def _verdict(difference: float) -> str:
    by = f"{abs(difference):.2f} BLEU {'more' if difference > 0 else 'less'} with it than without"
    if abs(difference) <= NOTHING:
        return f"It costs nothing that one could tell: {by}."
    return f"It costs nothing: {by}." if difference > 0 else f"It costs translation: {by}."
