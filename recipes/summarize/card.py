"""From a trained selector to the folder that travels, and what its card says of it."""

import json
from pathlib import Path
from typing import Any

from attnviz.models import shipped_summarizer
from recipes.card import FACTS, command, counted, faithfulness_section, figures, shown, table
from recipes.export import save_weights
from recipes.loop import Run
from recipes.summarize.evaluate import KEPT, names_of_ways
from recipes.summarize.task import SelectorRecipe

MEASURES = ("ROUGE-1", "ROUGE-2", "ROUGE-L", f"words at {KEPT}")


def configuration(recipe: SelectorRecipe) -> dict[str, Any]:
    """Make config.json: what `attnviz.models.shipped_summarizer` builds the model from, and the recipe beside it."""
    return {
        **shipped_summarizer.configuration(recipe.model),
        "card": {
            "name": recipe.name,
            "task": f"keeps words and sentences of a text; {recipe.about}",
            "languages": ["en"],
            "licence": "Apache-2.0",
            "sources": [recipe.paper, "https://github.com/allenai/scitldr"],
        },
        "recipe": json.loads(recipe.as_json()),
    }


def summarizer_facts(run: Run) -> dict[str, Any]:
    """Record how these weights came about, for metrics.json."""
    return {**counted(run, "abstracts trained"), "best epoch": run.progress.best_epoch}


def export_summarizer(recipe: SelectorRecipe, run: Run, folder: Path) -> None:
    """Write a folder that `attnviz.models.shipped_models` loads; the encoder under it travels by itself."""
    save_weights(run.best, configuration(recipe), folder)


def summarizer_card(config: dict[str, Any], metrics: dict[str, Any]) -> str:
    """Write the card as Markdown, from config.json and metrics.json alone."""
    about, recipe = config["card"], config["recipe"]
    noted = {name: value for name, value in metrics.items() if name in (*FACTS, "abstracts trained", "best epoch")}
    parts = [
        f"# {about['name']}",
        f"It {about['task']}. The encoder is all-MiniLM-L6-v2 as it was published; not one of its weights was changed.",
        "## Data",
        "Trained on the abstracts of SciTLDR (Cachola et al. 2020, arXiv:2004.15011, https://github.com/allenai/scitldr, "
        "Apache-2.0), each with a one-sentence summary by the paper's author. "
        f"{recipe['held_out']} abstracts of the training file only decided which epoch was best; the development abstracts "
        "decided nothing.",
        "## Training",
        command(config),
        figures(noted),
        "A sentence's target is the softmax of its mean ROUGE with the summary, divided by "
        f"{recipe['temperature']}; a word's is whether the summary has it. Received attention is brought to these "
        "by cross-entropy. The hours are wall-clock, without the encoder's reading of the abstracts, on a machine that did "
        "other work.",
        "## Measured",
        f"On {metrics.get('abstracts', 0)} of the 619 development abstracts, with {metrics.get('references', 0)} summaries, "
        "against the summary that suits best: ROUGE F1 in percent (rouge-score, stemmed) of the one sentence chosen; of the "
        f"content words among {KEPT} kept words, the percentage that a summary has (random: the expected value).",
        table([("chosen by", *MEASURES), *_rows(metrics)]),
        f"The best way to use attention alone was found by trying all of them on these very abstracts: for sentences "
        f"{metrics.get('Attention alone, the best of all ways: way', 'not measured')}. So its row is an upper bound.",
        *faithfulness_section(metrics),
        "## What it is bad at",
        "\n".join(f"- {line}" for line in recipe["weak"]),
    ]
    return "\n\n".join(parts) + "\n"


def _rows(metrics: dict[str, Any]) -> list[tuple[str, ...]]:
    return [(name, *(shown(metrics.get(f"{name}: {measure}", "")) for measure in MEASURES)) for name in names_of_ways(metrics)]
