"""A small matrix to draw a pattern into, and the likeness of each head to it."""

import numpy as np
from jaxtyping import Float

from attnviz.analysis.heads.pattern import WORDS, Drawn
from attnviz.analysis.wording import signed
from attnviz.figures.head_grid import measured_grid
from attnviz.figures.theme import LIGHT, Theme, css_variables


def board(drawn: Drawn, *, theme: Theme = LIGHT) -> str:
    """Draw the matrix as HTML, one button a cell (`data-pick` is "cell:" and its number); arrow keys go from cell to cell.

    >>> board(np.eye(WORDS, dtype=bool)).count('aria-pressed="true"')
    8
    """
    numbers = "".join(f'<span class="axis">{key + 1}</span>' for key in range(WORDS))
    cells = [f'<span class="axis"></span>{numbers}']
    for query in range(WORDS):
        cells.append(f'<span class="axis">{query + 1}</span>')
        for key in range(WORDS):
            place, pressed = query * WORDS + key, str(bool(drawn[query, key])).lower()
            reached = "0" if place == 0 else "-1"
            cells.append(
                f'<button data-pick="cell:{place}" aria-pressed="{pressed}" tabindex="{reached}" '
                f'aria-label="word {query + 1} looks at word {key + 1}"></button>'
            )
    return (
        f'<div class="board" role="group" aria-label="Pattern: rows look at columns" data-columns="{WORDS}" '
        f'style="{css_variables(theme)};--words:{WORDS}">{"".join(cells)}</div>'
    )


def likeness_grid(likeness: Float[np.ndarray, "layer head"], *, chosen: tuple[int, int], theme: Theme = LIGHT) -> str:
    """Draw how like the drawing each head is, one button a head (`data-pick` is "layer.head"); the most alike is strongest."""
    return measured_grid(likeness, signed, strength=lambda alike: max(alike, 0.0), chosen=chosen, theme=theme)
