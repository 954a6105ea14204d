"""What is kept of a text, as a script draws it; and a summary as buttons."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from attnviz.analysis.summary_selection import Passage, Selection, SummaryWord
from attnviz.figures.html import direction, label
from attnviz.figures.theme import LIGHT, Theme, css_variables

STYLE = Path(__file__).with_name("summary_passage.css").read_text(encoding="utf-8")


def kept_passage(
    passage: Passage,
    selection: Selection,
    scores: Float[np.ndarray, " unit"],
    shares: Float[np.ndarray, " sentence"] | None = None,
) -> dict[str, Any]:
    """Describe the whole text as the page draws it: kept words and sentences, and under every word a bar for its score.

    The longest bar is that of the best word that may be kept; `shares` are written before the sentences that are kept.
    """
    kept = [int(number) for number in selection.sentences.nonzero()[0]]
    return {
        "units": [[unit.start, unit.end] for unit in passage.units],
        "scores": scores.round(6).tolist(),
        "highest": max(round(float(scores[passage.candidate].max()), 6), 1e-12),
        "kept": selection.units.nonzero()[0].tolist(),
        "sentence": passage.sentence,
        "sentences": [[number, None if shares is None else round(float(shares[number]), 6)] for number in kept],
    }


def summary_buttons(words: tuple[SummaryWord, ...], *, chosen: int | None = None, theme: Theme = LIGHT) -> str:
    """Draw a summary as buttons, one a word (`data-pick` is its place); those that the text had not are marked."""
    pieces, end = [], 0
    for index, word in enumerate(words):
        kind = (" new" if word.copied is False else "") + (" chosen" if index == chosen else "")
        gap = " " if word.token.start > end else ""
        pieces.append(f'{gap}<button class="word{kind}" data-pick="{index}"><bdi>{label(word.token)}</bdi></button>')
        end = word.token.end
    read = direction([word.token for word in words])
    return (
        f'<div class="written" dir="{read}" style="{css_variables(theme)}">{"".join(pieces)}'
        '<p class="written-legend"><b>Marked so</b>: not in the text. '
        "Click a word to see where the model looked when it wrote it.</p></div>"
    )
