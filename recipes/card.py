"""What every card says: how the weights came about, how far to believe the pictures, and tables in Markdown."""

import csv
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import astuple
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch

from attnviz.analysis.matters import MEASURES
from attnviz.attribution.dataset import FigureRow, MethodFigures
from attnviz.attribution.methods import method_named
from recipes.data import DataError
from recipes.loop import Run

# What training notes in metrics.json, in the order of the card; the rest of that file is measured afterwards.
SENTENCES = "sentences trained"
FACTS = ("parameters", SENTENCES, "epochs trained", "training hours", "hardware", "torch", "seed", "commit")
_COLUMNS = itemgetter("text", "tokens", "method", "comprehensiveness", "sufficiency", "tau", "milliseconds")
# Where metrics.json keeps what `attnviz faithful` has measured.
FAITHFULNESS = "faithfulness"


def command(config: dict[str, Any]) -> str:
    """Say how to train the model of a config.json again."""
    return f"To train it again: `python -m recipes {config['recipe']['name']} --data FOLDER`."


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


def read_table(path: Path) -> list[FigureRow]:
    """Read the table that `attnviz faithful` writes.

    Raises:
        DataError: there is none, or it is another kind of file.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [
                FigureRow(
                    int(text), int(tokens), way, float(more), float(less), float(tau) if tau else None, float(milliseconds)
                )
                for text, tokens, way, more, less, tau, milliseconds in map(_COLUMNS, csv.DictReader(file))
            ]
    except (OSError, ValueError, KeyError, TypeError):
        rows = []
    if not rows:
        raise DataError(f"{path} is no table of attnviz faithful: name the file that it has written")
    return rows


def card_figures(figures: Sequence[MethodFigures], data: str) -> dict[str, Any]:
    """Make what a model's metrics.json keeps: by method and measure the mean and its interval, the least method first."""
    ways = {}
    for each in sorted(figures, key=lambda one: one.comprehensiveness.mean):
        measured = zip(MEASURES, (each.comprehensiveness, each.sufficiency, each.over_random), strict=True)
        ways[each.method] = {name: [round(value, 3) for value in astuple(interval)] for name, interval in measured if interval}
    return {"data": data, "texts": max(each.n_texts for each in figures), "ways": ways}


def faithfulness_section(metrics: dict[str, Any]) -> list[str]:
    """Write the part of a card that says how far to believe the model's pictures; nothing where that was not measured."""
    if not (kept := metrics.get(FAITHFULNESS)):
        return []
    rows = [(method_named(way).title, *(_written(row.get(name)) for name in MEASURES)) for way, row in kept["ways"].items()]
    return [
        "## How far to believe its pictures",
        f"On {kept['texts']} texts of {kept['data']}: comprehensiveness is how far p(output) falls when the most important 1, "
        "5, 10, 20 and 50 % of the words are taken away, on average (more is better), sufficiency how far it falls when only "
        "they stay (less is better; DeYoung et al. 2020, arXiv:1911.03429). In brackets: 95 % intervals, by bootstrap over "
        "texts.",
        table([("method", *MEASURES), *rows]),
    ]


def _written(bounds: Sequence[float] | None) -> str:
    return f"{bounds[0]:.3f} [{bounds[1]:.3f}, {bounds[2]:.3f}]" if bounds else ""


def figures(values: dict[str, Any]) -> str:
    """Write a table of two columns without a heading: names and figures."""
    return table([("", ""), *((name, shown(value)) for name, value in values.items())])


def table(rows: Sequence[Sequence[str]]) -> str:
    """Write rows as a table in Markdown, the first as its heading.

    >>> print(table([("method", "ROUGE"), ("first|last", "20.1")]).replace(chr(92), "/"))
    | method | ROUGE |
    |---|---|
    | first/|last | 20.1 |
    """
    # A signature has bars of its own, which would end its cell.
    head, *body = (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def shown(value: Any) -> str:
    """Write a figure with two digits; anything else as it is.

    >>> shown(20.126), shown(3)
    ('20.13', '3')
    """
    return f"{value:.2f}" if isinstance(value, float) else str(value)
