"""A survey of a corpus: one measure of every head as a grid, and all measures of one head as a table."""

import html

import numpy as np
from jaxtyping import Float

from attnviz.analysis.heads.corpus_statistics import NAMES, Statistics
from attnviz.analysis.heads.wording import MEASURE_LABELS, measure_text
from attnviz.analysis.wording import head_name
from attnviz.figures.head_grid import measured_grid
from attnviz.figures.theme import LIGHT, Theme, css_variables

_HEADINGS = ("Measure", "Mean", "95% interval", "Tokens")


def measure_grid(means: Float[np.ndarray, "layer head"], measure: str, *, chosen: tuple[int, int], theme: Theme = LIGHT) -> str:
    """Draw a measure of all heads as HTML, one button a head (`data-pick` is "layer.head"); the largest mean is strongest."""
    highest = max(float(np.nanmax(means, initial=0.0)), 1e-12)

    def strength(mean: float) -> float:
        return 0.0 if np.isnan(mean) else mean / highest

    return measured_grid(means, lambda mean: measure_text(measure, mean), strength=strength, chosen=chosen, theme=theme)


def measures_table(statistics: Statistics, layer: int, head: int, *, chosen: str, theme: Theme = LIGHT) -> str:
    """Draw every measure of a head as an HTML table; a click on one picks its name."""
    means, (low, high) = statistics.means[:, layer, head], statistics.intervals
    rows = []
    for number, name in enumerate(NAMES):
        figures = ("–", "not measured", "0")
        if not np.isnan(means[number]):
            ends = (measure_text(name, float(end[number, layer, head])) for end in (low, high))
            figures = (measure_text(name, float(means[number])), " to ".join(ends), f"{statistics.rows[number]:,.0f}")
        cells = "".join(f'<td class="figure">{figure}</td>' for figure in figures)
        button = f'<button data-pick="{name}" aria-pressed="{str(name == chosen).lower()}">'
        rows.append(f"<tr><td>{button}{html.escape(MEASURE_LABELS[name])}</button></td>{cells}</tr>")
    headings = "".join(f'<th scope="col"{" class=figure" if place else ""}>{name}</th>' for place, name in enumerate(_HEADINGS))
    table = f'<table class="claims"><thead><tr>{headings}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    region = f'tabindex="0" role="region" aria-label="Measures of {head_name(layer, head)}"'
    return f'<div class="scroll" style="{css_variables(theme)}" {region}>{table}</div>'
