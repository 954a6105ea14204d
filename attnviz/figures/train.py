"""Training, drawn: where a model looks and where it should, its progress as curves, and methods against a planted truth."""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.matters import PlantedScores, ranking
from attnviz.analysis.wording import Sentence, whole_percent
from attnviz.figures.html import sentence_html
from attnviz.figures.theme import HEAD_COLOURS, LIGHT, Theme, css_variables, ink_on

STYLE = Path(__file__).with_name("train.css").read_text(encoding="utf-8")
# How large a matrix is in units of its own drawing; on the page it grows to the place it has.
PIXELS = 320
LEAST_CELL, MOST_CELL = 16, 34
CURVE_HEIGHT = 64
OUTLINE = HEAD_COLOURS[2]
# The vermilion of Okabe and Ito; on white, letters need a darker one.
WRONG = {"light": "#B34700", "dark": HEAD_COLOURS[5]}


@dataclass(frozen=True, eq=False)
class HeldOutSequence:
    """One held-out sequence.

    written   what the model writes in each row, after the true tokens before it
    weights   what it looks at; `visible` says where it can look, and None: everywhere
    sure, possible  the true links; a row may have none
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    written: tuple[str, ...]
    weights: Float[np.ndarray, "query key"]
    sure: Bool[np.ndarray, "query key"]
    possible: Bool[np.ndarray, "query key"]


@dataclass(frozen=True)
class Curve:
    """A figure over steps: its name, its present value as written, all its values, and the value at the top of its frame."""

    name: str
    reading: str
    values: tuple[tuple[int, float], ...]
    top: float = 1.0


def emergence(
    sequence: HeldOutSequence,
    curves: Sequence[Curve],
    story: Sequence[Sentence] = (),
    *,
    steps: int,
    at: int,
    theme: Theme = LIGHT,
) -> str:
    """Draw what the model looks at, where it should look outlined; beside it figures over the steps 0 to `steps`, and a story.

    `at` is the step that is looked at. Every token is escaped.

    >>> one = np.ones((1, 1), dtype=bool)
    >>> sequence = HeldOutSequence(("<a>",), ("b",), ("c",), np.ones((1, 1), dtype=np.float32), one, one)
    >>> "&lt;a&gt;" in emergence(sequence, [], steps=1, at=0)
    True
    """
    return (
        f'<div class="training" style="{_colours(theme)}">'
        f'<div class="sequence">{_legend(sequence)}<div class="matrix">{_matrix(sequence, theme)}</div></div>'
        f'<div class="curves">{"".join(_curve(each, steps, at) for each in curves)}{_story(story)}</div></div>'
    )


def curves(all_curves: Sequence[Curve], *, steps: int, at: int, theme: Theme = LIGHT) -> str:
    """Draw figures alone, side by side, each over a small curve from step 0 to `steps`; `at` is the step that is looked at."""
    drawn = "".join(_curve(each, steps, at) for each in all_curves)
    return f'<div class="curves beside" style="{_colours(theme)}">{drawn}</div>'


def _colours(theme: Theme) -> str:
    return f"{css_variables(theme)};--wrong:{WRONG[theme.name]};--outline:{OUTLINE};--weight:{theme.colour(0.7)}"


def _legend(sequence: HeldOutSequence) -> str:
    """Name the marks of a matrix; that of a possible link only where there is one."""
    may = '<span><i class="may"></i>May look at</span>' if (sequence.possible & ~sequence.sure).any() else ""
    return (
        f'<p class="legend"><span><i class="weight"></i>Looks at</span><span><i class="should"></i>Should look at</span>{may}'
        "<span>Last column: what the model writes, with <b>mistakes</b> in colour</span></p>"
    )


def _story(sentences: Sequence[Sentence]) -> str:
    paragraphs = "".join(f"<p>{sentence_html(sentence)}</p>" for sentence in sentences)
    return f'<div class="story">{paragraphs}</div>'


def _curve(curve: Curve, steps: int, at: int) -> str:
    points = " ".join(
        f"{100 * step / max(steps, 1):.2f},{CURVE_HEIGHT * (1 - min(value / curve.top, 1)):.2f}" for step, value in curve.values
    )
    x = 100 * at / max(steps, 1)
    return (
        f'<div class="curve"><span>{html.escape(curve.name)}</span><strong>{html.escape(curve.reading)}</strong>'
        f'<svg viewBox="0 0 100 {CURVE_HEIGHT}" preserveAspectRatio="none" height="{CURVE_HEIGHT}" aria-hidden="true">'
        f'<line x1="{x:.2f}" x2="{x:.2f}" y1="0" y2="{CURVE_HEIGHT}"/><polyline points="{points}"/></svg></div>'
    )


def _matrix(sequence: HeldOutSequence, theme: Theme) -> str:
    """Draw the matrix with the source above it, the target at its left, and what the model writes at its right."""
    n_rows, n_columns = len(sequence.target), len(sequence.source)
    cell = min(max(PIXELS // max(n_rows, n_columns), LEAST_CELL), MOST_CELL)
    letters = max(len(token) for token in sequence.source)
    leaning = letters > 2
    left, top = 26, 8 + 6 * letters if leaning else 22
    width, height = left + n_columns * cell + (34 if leaning else 28), top + n_rows * cell + 2
    parts = [
        _cell(left + column * cell, top + row * cell, cell, f'fill="{theme.colour(float(weight))}"')
        for row, weights in enumerate(sequence.weights)
        for column, weight in enumerate(weights)
    ]
    # Above all cells: none covers a part of the outline of another.
    for row, column in np.argwhere(sequence.possible | sequence.sure).tolist():
        kind = "should" if sequence.sure[row, column] else "may"
        parts.append(_cell(left + column * cell, top + row * cell, cell, f'class="{kind}"'))
    for column, token in enumerate(sequence.source):
        x = left + (column + 0.5) * cell
        turned = f' transform="rotate(-45 {x:.1f} {top - 6})" class="leaning"' if leaning else ' class="above"'
        parts.append(f'<text x="{x:.1f}" y="{top - 6}"{turned}>{_token_text(token)}</text>')
    for row, (token, written) in enumerate(zip(sequence.target, sequence.written, strict=True)):
        y, kind = top + row * cell + cell / 2 + 5, "right" if written == token else "wrong"
        parts.append(f'<text x="{left - 8}" y="{y:.1f}" class="before">{_token_text(token)}</text>')
        parts.append(f'<text x="{left + n_columns * cell + 6}" y="{y:.1f}" class="{kind}">{_token_text(written)}</text>')
    # A tenth smaller, eight columns and what is written fit on a phone.
    size = f'style="min-width:{0.9 * width:.0f}px" viewBox="0 0 {width} {height}"'
    return f'<svg {size} role="img" aria-label="{html.escape(_described(sequence))}">{"".join(parts)}</svg>'


def _cell(x: int, y: int, cell: int, kind: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{cell - 1}" height="{cell - 1}" {kind}/>'


def _described(sequence: HeldOutSequence) -> str:
    n_right = sum(one == other for one, other in zip(sequence.target, sequence.written, strict=True))
    return (
        f"What the model looks at, where it should look outlined. Of “{''.join(sequence.source)}” it writes {n_right} of "
        f"{len(sequence.target)} tokens right"
    )


_MARKS = {" ": "␣", "</s>": "⏎", "<pad>": "∅", "<unk>": "∅", "<s>": "∅"}


def _token_text(token: str) -> str:
    return html.escape(_MARKS.get(token, token))


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
    cells = "".join(_distance_cell(each.distances[name], theme) for each in scores)
    kind = ' class="chance"' if name == "random" else ""
    return f'<tr{kind}><th scope="row">{html.escape(title)}</th>{cells}<td>{_figure(mean)}</td></tr>'


def _distance_cell(distance: float, theme: Theme) -> str:
    colour = theme.colour(1 - distance)
    return f'<td style="background:{colour};color:{ink_on(colour)}">{_figure(distance)}</td>'


def _refused(scores: Sequence[PlantedScores], titles: Mapping[str, str]) -> Iterator[str]:
    """Say why methods have no row; those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for name, reason in {name: reason for each in scores for name, reason in each.refused.items()}.items():
        reasons.setdefault(reason, []).append(titles[name])
    for reason, named in reasons.items():
        yield f'<p class="why"><b>{html.escape(", ".join(named))}</b>: {html.escape(reason)}</p>'


def _step(step: int) -> str:
    return f"step {step:,}" if step else "untrained"


def _figure(distance: float) -> str:
    return "1" if distance > 0.995 else f"{np.clip(distance, 0, 1):.2f}"[1:]
