"""All heads of a model as a grid: in each cell the head's best claim, and how often it holds."""

import html
import re
from pathlib import Path

from attnviz.analysis.heads.atlas import Atlas
from attnviz.analysis.heads.wording import short_claim
from attnviz.analysis.wording import head_name, whole_percent
from attnviz.figures.head_grid import with_axes
from attnviz.figures.theme import LIGHT, Theme, css_variables

STYLE = Path(__file__).with_name("heads.css").read_text(encoding="utf-8")
NONE = "nothing found"
# Where the longest words may be broken in a narrow cell.
_LONG = re.compile(
    r"\b(punctu|conjunc|preposi|antece|determi|subordi|comple|auxil|apposi|inter)(ation|tion|dent|ner|nating|ment|iary|jection)\b"
)


def heads_grid(atlas: Atlas, *, chosen: tuple[int, int], find: int | None = None, theme: Theme = LIGHT) -> str:
    """Draw the grid as HTML, one button a head (`data-pick` is "layer.head"): its best supported claim, its rate, its rival's.

    `find` is the number of a claim: cells then show it, and those of which it does not hold are faded.
    """
    cells = with_axes(atlas.shape, lambda layer, head: _cell(atlas, layer, head, (layer, head) == chosen, find))
    finding = " finding" if find is not None else ""
    style = f"{css_variables(theme)};--heads:{atlas.shape[1]}"
    return f'<div class="atlas{finding}" style="{style}">{cells}</div>'


def _cell(atlas: Atlas, layer: int, head: int, chosen: bool, find: int | None) -> str:
    claim = atlas.best(layer, head) if find is None else find
    holds = claim is not None and bool(atlas.supported[claim, layer, head])
    kind = "head" + " chosen" * chosen + " holds" * holds + " none" * (claim is None)
    where, pressed = head_name(layer, head), str(chosen).lower()
    start = f'<button class="{kind}" data-pick="{layer}.{head}" aria-pressed="{pressed}"'
    if claim is None:
        return f'{start} style="--strength:0"><span>{NONE}</span><span class="where">{where}</span></button>'
    facts, rate = atlas.claims[claim], float(atlas.rates[claim, layer, head])
    strength = min(max(float(atlas.ahead[claim, layer, head]), 0.0) / 0.6, 1.0) if holds else 0.0
    name = html.escape(short_claim(facts.text))
    shown = _LONG.sub(r"\1&shy;\2", name)
    title = f"{where}: {name} {whole_percent(rate)}; best simple rule {whole_percent(facts.strongest_rival)}"
    return (
        f'{start} style="--strength:{strength:.2f}" title="{title}"><span>{shown}</span>'
        f'<span class="rate">{whole_percent(rate)} <span class="where">{where}</span></span></button>'
    )
