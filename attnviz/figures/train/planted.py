"""How near each attribution method is to the known truth, over training: a row a method, a column a checkpoint."""

import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from attnviz.analysis.matters.planted_truth import PlantedScores, ranking
from attnviz.analysis.wording import whole_percent
from attnviz.figures.theme import LIGHT, Theme, css_variables, ink_on

STYLE = Path(__file__).with_name("planted.css").read_text(encoding="utf-8")


def planted_table(scores: Sequence[PlantedScores], titles: Mapping[str, str], *, theme: Theme = LIGHT) -> str:
    """Draw the distances of every method, the nearest first, in the strongest colour. Methods that do not apply say why.

    >>> scores = [PlantedScores(0, {"rollout": 0.5}, 0.25, {}), PlantedScores(9, {"rollout": 0.125}, 1.0, {})]
    >>> drawn = planted_table(scores, {"rollout": "Attention rollout"})
    >>> "Attention rollout" in drawn, drawn.count("<td"), ">.31<" in drawn
    (True, 6, True)
    """
    heads = "".join(f'<th scope="col">{_step(each.step)}</th>' for each in scores)
    rows = "".join(_row(name, titles[name], scores, mean, theme) for name, mean in ranking(scores).items())
    right = "".join(f"<td>{whole_percent(each.accuracy)}</td>" for each in scores)
    table = (
        f'<table class="planted"><thead><tr><th scope="col">Method</th>{heads}<th scope="col">Mean</th></tr></thead>'
        f'<tbody>{rows}<tr class="right"><th scope="row">Written without a mistake</th>{right}<td></td></tr></tbody></table>'
    )
    refused = "".join(_refused(scores, titles))
    return (
        f'<div style="{css_variables(theme)}"><div class="across" tabindex="0" role="region" aria-label="Attribution methods">'
        f"{table}</div>{refused}</div>"
    )


def _row(name: str, title: str, scores: Sequence[PlantedScores], mean: float, theme: Theme) -> str:
    cells = "".join(_cell(each.distances[name], theme) for each in scores)
    kind = ' class="chance"' if name == "random" else ""
    return f'<tr{kind}><th scope="row">{html.escape(title)}</th>{cells}<td>{_figure(mean)}</td></tr>'


def _cell(distance: float, theme: Theme) -> str:
    colour = theme.colour(1 - distance)
    return f'<td style="background:{colour};color:{ink_on(colour)}">{_figure(distance)}</td>'


def _refused(scores: Sequence[PlantedScores], titles: Mapping[str, str]) -> Iterator[str]:
    """Say why methods have no row; those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for name, reason in scores[-1].refused.items():
        reasons.setdefault(reason, []).append(titles[name])
    for reason, named in reasons.items():
        yield f'<p class="why"><b>{html.escape(", ".join(named))}</b>: {html.escape(reason)}</p>'


def _step(step: int) -> str:
    return f"step {step:,}" if step else "untrained"


def _figure(distance: float) -> str:
    return "1" if distance > 0.995 else f"{np.clip(distance, 0, 1):.2f}"[1:]
