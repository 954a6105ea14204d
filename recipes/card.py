"""card.md: what a model is, where it comes from, what it was measured to do, and what it is bad at."""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

from recipes.faithfulness_table import FAITHFULNESS, faithfulness_section
from recipes.loop import Run
from recipes.tables import figures
from recipes.translate.control import CONTROL, control_section

# What training notes in metrics.json, in the order of the card; the rest of that file is measured by `attnviz evaluate`.
SENTENCES = "sentences trained"
FACTS = ("parameters", SENTENCES, "epochs trained", "training hours", "hardware", "torch", "seed", "commit")

# How the figures that begin with AER were measured; of the Hansards where there are such figures.
_AER = (
    "AER compares forced alignments, the strongest source word of each target word, with links: in domain those of the "
    "statistical aligner eflomal on the development pairs (its intersection sure, its union possible), which are no "
    "human's{hansards}. Balanced: the same attention between words, and between punctuation, rescaled until every source "
    "word is used (Sinkhorn & Knopp 1967); nothing is trained for it."
)
_HANSARDS = "; Hansards are the 447 gold pairs of Och & Ney 2003, parliamentary text unlike anything this model was trained on"


def counted(run: Run, examples: str) -> dict[str, Any]:
    """Record how these weights came about: counted or read off, none of it estimated; `examples` names what is learned from."""
    return {
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        examples: run.task.n_examples,
        "epochs trained": run.progress.epoch,
        "training hours": round(run.progress.seconds / 3600, 2),
        "hardware": hardware(),
        "torch": torch.__version__,
        "seed": run.recipe.schedule.seed,
        "commit": commit(),
    }


def hardware() -> str:
    """Name the processor, or the graphics card, that a run computes on."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    described = Path("/proc/cpuinfo")
    lines = described.read_text(encoding="utf-8").splitlines() if described.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores, {names[0] if names else platform.processor() or platform.machine()}"


def commit() -> str:
    """Read the commit of the checkout that trained; empty where there is none."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def translator_card(config: dict[str, Any], metrics: dict[str, Any]) -> str:
    """Write the card of a translator as Markdown, from its config.json and metrics.json alone."""
    about, corpus = config["card"], config["recipe"]["corpus"]
    measured = {
        name: value for name, value in metrics.items() if name not in (*FACTS, "bytes", "sha256", FAITHFULNESS, CONTROL)
    }
    parts = [
        f"# {about['name']}",
        f"It {about['task']}: {about['sources'][0]}.",
        "## Data",
        f"Trained on {corpus['name']}: sentence pairs of the Tatoeba project as manythings.org prepares them, "
        f"licensed {about['licence']}. Attribution: www.manythings.org/anki and tatoeba.org. "
        "Development sentences share no English sentence with the training sentences.",
        "## Training",
        figures({name: metrics[name] for name in FACTS if name in metrics}),
        *_supervised_head(config["recipe"].get("supervised_head")),
        *_joined(config["recipe"].get("joined")),
        "The hours are wall-clock, with pauses in which the machine did other work. Everything else that decides the "
        "weights is the recipe in config.json. What is measured are the weights as saved, in half precision.",
        "## Measured",
        figures(measured),
        *_alignment_error(measured),
        *control_section(metrics),
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
