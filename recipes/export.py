"""From trained weights to the folder that travels: half precision, the subwords, the recipe, and the card in words."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as serialized
from torch import Tensor

from attnviz.core import disk
from attnviz.models.shipped import CONFIG, WEIGHTS
from attnviz.models.translate.shipped import SOURCE, TARGET
from attnviz.nn.translator import TranslatorConfig
from recipes.translate.recipe import Recipe

LANGUAGES = {"en": "English", "fr": "French", "de": "German"}
LICENCE = "CC-BY-2.0"
SOURCES = ("http://www.manythings.org/anki", "https://tatoeba.org")


def configuration(recipe: Recipe, vocabularies: tuple[int, int]) -> dict[str, Any]:
    """Make config.json: what `attnviz.models.translate.shipped` builds the model from, and the recipe beside it."""
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
    """Write a folder that `attnviz.models.shipped` loads, with the tokenizers of the run that trained it."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = []
    for name in (SOURCE, TARGET):
        disk.write(folder / name, (run / name).read_bytes())
        sizes.append(len(json.loads((folder / name).read_text(encoding="utf-8"))["model"]["vocab"]))
    save_weights(weights, configuration(recipe, (sizes[0], sizes[1])), folder)


def save_weights(weights: dict[str, Tensor], config: dict[str, Any], folder: Path) -> None:
    """Write model.safetensors, in half precision, and config.json.

    Half precision halves the file; trained weights are far from its limits, and what is measured is what was saved.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, indent=2, ensure_ascii=False)
    disk.write(folder / CONFIG, text + "\n")
    halves = {name: value.detach().cpu().to(torch.float16).contiguous() for name, value in weights.items()}
    disk.write(folder / WEIGHTS, serialized(halves))
