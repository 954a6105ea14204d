"""All heads of a model on paper, a few words or a number in each box: what each is said to do, and how often that holds."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from attnviz.analysis.heads.atlas import Atlas
from attnviz.analysis.heads.roles import HeadRoles
from attnviz.analysis.heads.verdict import ClaimResult, describe_claim, describe_rival, describe_verdict, short_claim
from attnviz.analysis.wording import head_name, whole_percent
from attnviz.core.errors import ClaimError
from attnviz.export.csv_table import NumberCell, csv_table
from attnviz.export.paper import FONT, PADDING, Item, Label, Rectangle, Sheet, titled, width_of
from attnviz.figures.theme import LIGHT, ink_on, mixed

SMALL = 5.0
LEFT, TOP, HIGH = 20.0, 14.0, 26.0


class HeadBox(NamedTuple):
    """What stands in the box of a head: words, a figure below them, and how strong its colour is, from 0 to 1."""

    words: str
    figure: str
    strength: float = 0.0


def draw_head_grid(shape: tuple[int, int], box: Callable[[int, int], HeadBox], title: str) -> Sheet:
    """Draw a box a head: rows are layers, columns are heads."""
    boxes = {place: box(*place) for place in np.ndindex(*shape)}
    wide = 8.0 + max(width_of(line) for each in boxes.values() for line in (*_lines(each.words), each.figure, "L0·H0")) * SMALL
    items: list[Item] = []
    for (layer, head), each in boxes.items():
        x, y = LEFT + head * wide, TOP + layer * HIGH
        colour = mixed(LIGHT.background, LIGHT.accent, 0.6 * min(max(each.strength, 0.0), 1.0))
        items.append(Rectangle(x, y, wide - 1.0, HIGH - 1.0, colour, data=(("figure", each.figure),)))
        for row, line in enumerate([*_lines(each.words), each.figure]):
            place = y + 5.0 + row * SMALL * 1.4
            items.append(Label(x + wide / 2, place, line, "middle", size=SMALL, colour=ink_on(colour)))
    n_layers, n_heads = shape
    items += [Label(LEFT - PADDING, TOP + (layer + 0.5) * HIGH, f"L{layer}", "end") for layer in range(n_layers)]
    items += [Label(LEFT + (head + 0.5) * wide, TOP / 2, f"H{head}", "middle") for head in range(n_heads)]
    return titled(Sheet(title, LEFT + n_heads * wide + PADDING, TOP + n_layers * HIGH + FONT, tuple(items)), title)


def _lines(words: str) -> list[str]:
    """Break a claim before its arrow; a grid of numbers alone has no words."""
    before, arrow, after = words.partition("→")
    return [line for line in (before.strip(), f"{arrow} {after.strip()}".strip()) if line]


def draw_measure(values: Float[np.ndarray, "layer head"], written: Callable[[float], str], title: str) -> Sheet:
    """Draw one number of every head, the largest on the strongest colour."""
    highest = max(float(np.nanmax(values, initial=0.0)), 1e-12)

    def box(layer: int, head: int) -> HeadBox:
        value = float(values[layer, head])
        return HeadBox("", written(value), 0.0 if np.isnan(value) else value / highest)

    return draw_head_grid(values.shape, box, title)


def measure_csv(values: Float[np.ndarray, "layer head"], name: str) -> bytes:
    """Write one number of every head as CSV."""
    return csv_table(("layer", "head", name), ((*place, float(values[place])) for place in np.ndindex(*values.shape)))


COLUMNS = (
    "claim", "verdict", "layer", "head", "rate", "low", "high", "queries", "sentences", "chance", "best offset", "offset rate",
    "untrained", "shuffled", "rate on all sentences", "p", "in words",
)  # fmt: skip


def claims_csv(texts: Sequence[str], results: Sequence[ClaimResult | ClaimError]) -> bytes:
    """Write results as CSV, one row a claim; what is wrong with one stands in its row."""
    return csv_table(COLUMNS, map(_row, texts, results))


def _row(text: str, tested: ClaimResult | ClaimError) -> list[object]:
    if isinstance(tested, ClaimError):
        return [text, "cannot be tested", *[""] * (len(COLUMNS) - 3), str(tested)]
    offset = next(rival for rival in tested.rivals if rival.name.startswith("offset"))
    rates = [
        tested.rival("chance"),
        NumberCell(int(offset.name.split()[1]), "+d"),
        offset.rate,
        tested.rival("untrained"),
        tested.rival("shuffled"),
    ]
    numbers = [tested.rate, tested.low, tested.high, tested.queries, tested.sentences, *rates, tested.overall]
    verdict = "too few words" if tested.is_small else "holds" if tested.holds else "does not hold"
    head = "mean" if tested.head is None else tested.head
    cells = ["" if number is None else NumberCell(number, ".4f") if isinstance(number, float) else number for number in numbers]
    return [text, verdict, tested.layer, head, *cells, NumberCell(tested.p, ".3g"), describe_verdict(tested)]


ATLAS_COLUMNS = (
    "layer", "head", "claim", "holds", "rate", "low", "high", "queries", "chance", "best offset", "offset rate", "untrained",
)  # fmt: skip


def atlas_csv(atlas: Atlas) -> bytes:
    """Write an atlas as CSV, one row a head and claim, the claims of a head in the order of its table."""
    return csv_table(ATLAS_COLUMNS, _atlas_rows(atlas))


def _atlas_rows(atlas: Atlas) -> Iterator[list[object]]:
    for layer, head in np.ndindex(*atlas.shape):
        for claim in atlas.ranked(layer, head):
            facts = atlas.claims[claim]
            rates = [NumberCell(float(each[claim, layer, head]), ".4g") for each in (atlas.rates, atlas.low, atlas.high)]
            offset = ["", ""] if facts.place else [NumberCell(facts.offset, "+d"), NumberCell(facts.offset_rate, ".4g")]
            untrained = None if facts.untrained is None else NumberCell(facts.untrained, ".4g")
            holds = int(atlas.supported[claim, layer, head])
            yield [layer, head, facts.text, holds, *rates, facts.queries, NumberCell(facts.chance, ".4g"), *offset, untrained]


def draw_atlas(atlas: Atlas, find: int | None = None) -> Sheet:
    """Draw what each head does best, and how often; with `find` that claim of every head."""

    def box(layer: int, head: int) -> HeadBox:
        claim = atlas.best(layer, head) if find is None else find
        if claim is None:
            return HeadBox("nothing found", "")
        holds = bool(atlas.supported[claim, layer, head])
        strength = max(float(atlas.ahead[claim, layer, head]), 0.0) / 0.6 if holds else 0.0
        return HeadBox(short_claim(atlas.claims[claim].text), whole_percent(atlas.rates[claim, layer, head]), strength)

    what = "what each head does best" if find is None else atlas.claims[find].text
    return draw_head_grid(atlas.shape, box, f"{atlas.model}, {atlas.sentences:,} sentences: {what}")


WIDE, ROW = 120.0, 12.0


def draw_verdict(tested: ClaimResult, model: str) -> Sheet:
    """Draw the rate of a claim above its rivals', with its interval as a line."""
    rows = [("the claim", tested.rate), *((describe_rival(rival), rival.rate) for rival in tested.rivals)]
    left, items = 110.0, list[Item]()
    for number, (name, rate) in enumerate(rows):
        y, colour = number * ROW + PADDING, LIGHT.accent if number == 0 and tested.holds else LIGHT.faint
        items.append(Rectangle(left, y, max(WIDE * rate, 0.1), ROW - 4, colour, data=(("rate", f"{rate:.6g}"),)))
        items.append(Label(left - PADDING, y + ROW / 2 - 2, name, "end"))
        items.append(Label(left + WIDE + PADDING, y + ROW / 2 - 2, whole_percent(rate)))
    middle = PADDING + ROW / 2 - 2.5
    items.append(Rectangle(left + WIDE * tested.low, middle, max(WIDE * (tested.high - tested.low), 0.1), 1.0, LIGHT.text))
    bottom = len(rows) * ROW + 2 * PADDING
    verdict = "too few words" if tested.is_small else "holds" if tested.holds else "does not hold"
    items.append(Label(left, bottom + FONT, f"{tested.queries:,} words; the line: 95 % interval; the claim {verdict}"))
    title = f"{model}, {head_name(tested.layer, tested.head)}: {describe_claim(tested.claim)}"
    return titled(Sheet(title, left + WIDE + 60.0, bottom + 2 * FONT + PADDING, tuple(items)), title)


def roles_csv(roles: HeadRoles) -> bytes:
    """Write every role of every head as a table."""
    return csv_table(roles.columns, roles.rows)
