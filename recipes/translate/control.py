"""What supervising a head costs: the same recipe and seed once without, beside the model whose head was supervised."""

import json
from pathlib import Path
from typing import Any

from attnviz.models.shipped import CONFIG, METRICS
from recipes.sentence_pairs import DataError
from recipes.tables import shown, table

# Where metrics.json keeps the figures of the model without supervision.
CONTROL = "without supervision"
# A difference of BLEU that nobody should make much of.
NOTHING = 0.5
_COMPARED = ("BLEU", "chrF", "AER")


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
        raise DataError(f"{folder} has not been measured; run attnviz evaluate {folder} --data DATA --save first")
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
