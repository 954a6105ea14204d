"""What a model says before and after an edit, side by side with the differences marked; and the edits themselves as chips."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attnviz.analysis.next_and_why import NextChange, describe_next_change
from attnviz.analysis.translation_alignment import differences
from attnviz.analysis.wording import signed
from attnviz.core.trace import Token
from attnviz.figures.html import label, sentence_html
from attnviz.figures.theme import LIGHT, Theme, css_variables

STYLE = Path(__file__).with_name("before_after.css").read_text(encoding="utf-8")
# As a share of the width, the bar of a certainty: its number stands beside it.
WIDEST = 78
# A text, and whether it differs from what stands on the other side.
Piece = tuple[str, bool]


@dataclass(frozen=True)
class OutputChange:
    """One part of a model's output: its name, before the edits and after them; None: nothing is edited."""

    name: str
    before: tuple[Piece, ...]
    after: tuple[Piece, ...] | None = None


def changed_text(name: str, before: str, after: str | None = None) -> OutputChange:
    """Compare two texts, with the words marked in which they differ.

    >>> changed_text("Translation", "le chat noir", "le chien noir").after
    (('le ', False), ('chien', True), (' noir', False))
    """
    if after is None:
        return OutputChange(name, ((before, False),))
    marked = differences([before, after])
    one, other = (_pieces(text, spans) for text, spans in zip((before, after), marked, strict=True))
    return OutputChange(name, one, other)


def _pieces(text: str, spans: Sequence[tuple[int, int]]) -> tuple[Piece, ...]:
    pieces, end = [], 0
    for start, stop in spans:
        pieces += [(text[end:start], False), (text[start:stop], True)]
        end = stop
    return tuple(piece for piece in (*pieces, (text[end:], False)) if piece[0])


def number(name: str, before: float, after: float | None = None, form: str = ".3f") -> OutputChange:
    """Compare two numbers, marked where they are written differently."""
    written = [signed(value, form) for value in (before, before if after is None else after)]
    differs = written[0] != written[1]
    return OutputChange(name, ((written[0], differs),), None if after is None else ((written[1], differs),))


def ranked(name: str, before: Sequence[tuple[str, float]], after: Sequence[tuple[str, float]] | None = None) -> OutputChange:
    """Compare two lists of the likeliest outputs, with p; what has another rank in the other is marked."""
    if after is None:
        return OutputChange(name, _list(before, None))
    return OutputChange(name, _list(before, after), _list(after, before))


def _list(mine: Sequence[tuple[str, float]], theirs: Sequence[tuple[str, float]] | None) -> tuple[Piece, ...]:
    pieces = []
    for place, (text, share) in enumerate(mine):
        is_other = theirs is not None and (place >= len(theirs) or theirs[place][0] != text)
        pieces += [(f"{text} {share:.2f}", is_other), (" · ", False)]
    return tuple(pieces[:-1])


def before_and_after(rows: Sequence[OutputChange], *, theme: Theme = LIGHT, below: str = "") -> str:
    """Draw what a model says as a table: a column where nothing is edited, else before and after. `below`: HTML under it."""
    both = any(row.after is not None for row in rows)
    head = '<tr><th scope="col"><span class="unseen">What</span></th><th scope="col">Before</th><th scope="col">After</th></tr>'
    body = "".join(
        f'<tr><th scope="row">{html.escape(row.name)}</th><td dir="auto">{_drawn(row.before)}</td>'
        + ("" if row.after is None else f'<td dir="auto">{_drawn(row.after)}</td>') + "</tr>"
        for row in rows
    )  # fmt: skip
    table = f"<table>{f'<thead>{head}</thead>' if both else ''}<tbody>{body}</tbody></table>" if rows else ""
    title = '<p class="said-title">What the model says</p>' if rows else ""
    return f'<div class="said" style="{css_variables(theme)}">{title}{table}{below}</div>'


def _drawn(pieces: Sequence[Piece]) -> str:
    return "".join(f"<mark>{html.escape(text)}</mark>" if marked else html.escape(text) for text, marked in pieces)


def share_bars(rows: Sequence[NextChange], names: tuple[str, str], *, theme: Theme = LIGHT) -> str:
    """Draw p of each next word on both sides as two bars, and by how much they differ; above, what became of the likeliest.

    >>> drawn = share_bars([NextChange("<b>", 0.75, 0.5)], ("Before", "After"))
    >>> "&lt;b&gt;" in drawn, "75.0" in drawn, "−25.0" in drawn
    (True, True, True)
    """
    head = "".join(f'<span class="side-{side}">{html.escape(name)}</span>' for side, name in enumerate(names))
    body = "".join(
        f'<div class="share"><bdi>{html.escape(row.name)}</bdi><div>'
        + "".join(
            f'<span class="side-{side}"><i style="width:{share * WIDEST:.2f}%"></i><em>{100 * share:.1f}\xa0%</em></span>'
            for side, share in enumerate((row.before, row.after))
        )
        + f"</div><b>{signed(100 * (row.after - row.before), '+.1f')}</b></div>"
        for row in rows
    )
    title = f'<p class="next-change">{sentence_html(describe_next_change(rows))}</p>'
    sides = f'<p class="sides">{head}<span class="unit">right: the difference in percentage points</span></p>'
    return f'<div class="shares" style="{css_variables(theme)}">{title}{sides}{body}</div>'


def moved(tokens: Sequence[Token], shifts: Float[np.ndarray, " token"], *, theme: Theme = LIGHT) -> str:
    """Draw the tokens with how far the last state of each has moved under it: 1 - cosine, in a stronger colour for further."""
    furthest = max(float(shifts.max()), 1e-9)
    drawn = []
    for token, shift in zip(tokens, shifts.tolist(), strict=True):
        share = shift / furthest
        style = f"background:{theme.colour(share)};color:{theme.ink(share)}"
        far = signed(shift, ".3f")
        drawn.append(f'<span class="moved"><b dir="auto" style="{style}">{label(token)}</b><small>{far}</small></span>')
    title = "How far the last state of each token moved (1 − cosine: 0 not at all, 2 to its opposite)"
    states = f'<div class="states" tabindex="0" role="group" aria-label="{title}">{"".join(drawn)}</div>'
    return f'<p class="said-name">{title}</p>{states}'


def edit_chips(names: Mapping[str, str], *, theme: Theme = LIGHT) -> str:
    """Draw edits as chips, by pick and name: a press removes one."""
    chips = "".join(
        f'<button type="button" data-pick="{html.escape(pick, quote=True)}" title="Remove this edit">'
        f'<span class="unseen">Remove: </span>{html.escape(name)} <i aria-hidden="true">×</i></button>'
        for pick, name in names.items()
    )
    return f'<div class="edit-chips" style="{css_variables(theme)}">{chips}</div>'
