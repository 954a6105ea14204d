"""What `attnviz faithful` has measured of a model of ours, as metrics.json keeps it and its card says it."""

from collections.abc import Sequence
from typing import Any

from attnviz.analysis.matters.faithfulness import MEASURES
from attnviz.attribution.methods import method_named
from recipes.tables import table

# Where metrics.json keeps it.
FAITHFULNESS = "faithfulness"


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
        table([("way", *MEASURES), *rows]),
    ]


def _written(bounds: Sequence[float] | None) -> str:
    return f"{bounds[0]:.3f} [{bounds[1]:.3f}, {bounds[2]:.3f}]" if bounds else ""
