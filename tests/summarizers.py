"""Summarizers with random weights, saved as `python -m recipes` saves them."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from attnviz.nn.encoder import BlockConfig, Summarizer, SummarizerConfig
from recipes.export import save_metrics
from recipes.summarize.card import configuration
from recipes.summarize.task import SelectorRecipe

RECIPE = SelectorRecipe(
    "tiny-summarizer",
    "made for a test",
    "https://arxiv.org/abs/2004.15011",
    SummarizerConfig(n_outputs=2, n_layers=2, block=BlockConfig(24, 12, 13, norm="before", dropout=0.0)),
)


def tiny_summarizer(folder: Path, *, seed: int = 7) -> Path:
    """A folder that holds one, on top of the embedded encoder; the same seed gives the same weights."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    weights = {name: (2 * value).half() for name, value in Summarizer(RECIPE.model).state_dict().items()}
    save_file(weights, str(folder / "model.safetensors"))
    (folder / "config.json").write_text(json.dumps(configuration(RECIPE)), encoding="utf-8")
    save_metrics({}, folder)
    return folder
