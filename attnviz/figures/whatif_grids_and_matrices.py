"""What if, drawn: a head before, after and the difference, what every head costs, and the output as heads go."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from attnviz.analysis.whatif_comparison import Change, Comparison, describe_costs, describe_curve, name_of, written_cost
from attnviz.analysis.wording import counted, cut, head_name, percent, plain, points, signed, whole_percent
from attnviz.core.trace import Head, HeadCosts, RemovalCurve, Token
from attnviz.core.weights import Kind
from attnviz.figures.blocks import Block, ColumnsBlock, Pick, PictureBlock, SentencesBlock, TextBlock, head_picks, how_to_read
from attnviz.figures.curve import STYLE as CURVE
from attnviz.figures.curve import Axes, Points, Range, Series, band_of, evenly, lines_figure
from attnviz.figures.head_grid import STYLE as GRID
from attnviz.figures.head_grid import HeadCell, head_button, head_grid, least_width
from attnviz.figures.matrix import MOST_LABEL, DrawnMatrix, labels, matrices_record
from attnviz.figures.matrix import STYLE as MATRIX
from attnviz.figures.theme import AGAINST, FOR, LIGHT, Theme, css_variables, diverging
from attnviz.text.words import visible_text

STYLE = GRID + MATRIX + CURVE + Path(__file__).with_name("whatif_grids_and_matrices.css").read_text(encoding="utf-8")
HOW_COMPARED = how_to_read("""
- Tokens are aligned by their text. Between equal tokens, as many on both sides are paired one by one; a token that only one
  side has is a key of its own.
- Of each aligned row the two distributions over keys are compared by their **Jensen-Shannon divergence**: 0 % where they are
  equal, 100 % where they have no key in common (Lin 1991, *Divergence measures based on the Shannon entropy*). A head's
  change is the mean over its rows.
- A head that looks elsewhere need not matter to the output: choose **A head off** to see which heads do.
""")
HOW_COSTS = how_to_read("""
- A head is switched off where the model computes it, in every step; everything after it computes with what is left. Its cost
  is how far ln p falls of the output that the model gives with all heads, for a language model of the next word; of one word
  rather than another, how far the difference of their logits falls; for a model that says no word, how far its final vectors
  turn (1 − cosine, the mean over tokens).
- **Zero is not neutral**: later layers have never seen it. With heads set to their mean the order may be another.
- **Redundancy hides**: a head whose work another can do costs nothing alone. Look at the curve, where many go at once.
- A claim about k heads means little without the band: k heads drawn at random, 20 times.
- One text proves little: `attnviz ablate MODEL --data FILE` measures a whole file, with intervals.

Michel, Levy & Neubig 2019, *Are Sixteen Heads Really Better than One?*; Voita et al. 2019, *Analyzing Multi-Head
Self-Attention*.
""")


def comparison_blocks(
    compared: Comparison,
    chosen: tuple[int, int] | None,
    names: tuple[str, str],
    *,
    are_models: bool = False,
    theme: Theme = LIGHT,
) -> list[Block]:
    """Say and draw how far each head has changed, and the chosen one on both sides, else the first; a click chooses a head."""
    at = compared.shown_head(chosen, are_models=are_models)
    said = compared.sentence(chosen, names if are_models else None)
    sentences = SentencesBlock((said, compared.describe_place(at)))
    if not compared.has_changed:
        return [sentences]
    shape, changes = compared.divergence.shape, compared.changes(*at)
    links = [PictureBlock("changes", changes_table(changes, names, theme=theme))] * bool(changes)
    grid = PictureBlock("divergence", divergence_grid(compared, chosen=at, theme=theme), head_picks(shape))
    columns = ColumnsBlock(((3, (grid,)), (2, links)) if compared.divergence.size > 1 else ((1, links),), key="desk-heads")
    hint = "Point at a cell, or press Tab and then the arrow keys."
    matrices = PictureBlock("matrices", matrices_record(three_matrices(compared, *at, names), theme, hint))
    aligned, tokens = len(compared.queries), len(compared.after.queries)
    about = TextBlock(f"Compared: the {aligned} of {tokens} tokens that stand on both sides.", "caption")
    return [sentences, columns, matrices, *[about] * (aligned < tokens)]


def cost_blocks(
    costs: HeadCosts, chosen: Head, output: str = "", *, task: str = "encode", ordered: bool = False, theme: Theme = LIGHT
) -> list[Block]:
    """Say what the output of a task loses without the chosen head, and draw what it loses without each; a click chooses one."""
    picks = {
        ".".join(map(str, head)): Pick(dict(zip(("attention", "layer", "head"), head, strict=True))) for head in costs.ranked
    }
    given = output or ("The passage does not say" if task == "answer" else "")
    return [
        SentencesBlock(describe_costs(costs, chosen)),
        *[TextBlock(given, "output")] * bool(given),
        PictureBlock("costs", cost_grid(costs, chosen=chosen, ordered=ordered, theme=theme), picks),
    ]


def curve_blocks(curve: RemovalCurve, unit: str, *, theme: Theme = LIGHT) -> list[Block]:
    """Draw how the output holds when more and more heads are off, whose costs have this unit."""
    figure = removal_figure(curve, "ln p lost" if unit == "nats" else "change", theme=theme)
    return [PictureBlock("removal", figure), TextBlock(plain(describe_curve(curve)), "caption")]


def divergence_grid(compared: Comparison, *, chosen: tuple[int, int], theme: Theme = LIGHT) -> str:
    """Draw how far each head has moved, in percent of a bit, as a grid of buttons (`data-pick` is "layer.head")."""
    # A head that is off has moved as far as can be: the others would all look alike.
    largest = float(compared.divergence[~compared.is_off].max(initial=0.0)) or 1.0

    def cell(layer: int, head: int) -> HeadCell:
        bits = float(compared.divergence[layer, head])
        title = f"{head_name(layer, head)}: average change {percent(bits)}"
        short = whole_percent(bits).split("\xa0")[0]
        return HeadCell(f"{layer}.{head}", short, theme.colour(bits / largest), title, (layer, head) == chosen)

    stops = ",".join(theme.colour(step / 8) for step in range(9))
    bar = f'<i style="background:linear-gradient(90deg,{stops})"></i>'
    scale = f'<p class="scale"><span>0 {bar} {percent(largest)}</span><span>stronger colour: larger change</span></p>'
    grid = head_grid(compared.divergence.shape, cell)
    width = least_width(compared.divergence.shape[1])
    return f'<div class="ablation" style="{css_variables(theme)};--least:{width}px">{grid}{scale}</div>'


def three_matrices(compared: Comparison, layer: int, head: int, names: tuple[str, str]) -> list[DrawnMatrix]:
    """Show a head before, after, and the difference, whose rows and columns are the aligned tokens."""
    moved = compared.difference(layer, head)
    largest = max(float(np.abs(moved).max(initial=0.0)), 1e-9)
    rows, columns = aligned_labels(compared)
    shared = list(range(len(rows))), list(range(len(columns)))
    ends = (f"±{points(largest).lstrip('+')}", "")
    difference = DrawnMatrix("Difference", moved, rows, columns, 3, largest, signed=True, ends=ends, shared=shared)
    matrices = [*_sides(compared, layer, head, names), difference]
    down, across = (max(len(name) for each in matrices for name in getattr(each, side)) for side in ("rows", "columns"))
    return [replace(each, longest=(down, across)) for each in matrices]


def _sides(compared: Comparison, layer: int, head: int, names: tuple[str, str]) -> Iterator[DrawnMatrix]:
    for side, (attention, name) in enumerate(zip((compared.before, compared.after), names, strict=True)):
        queries, keys = ({pair[side]: at for at, pair in enumerate(pairs)} for pairs in (compared.queries, compared.keys))
        shared = [queries.get(at) for at in range(len(attention.queries))], [keys.get(at) for at in range(len(attention.keys))]
        weights = attention.weights(layer, head)
        yield DrawnMatrix(name, weights, labels(attention.queries), labels(attention.keys), shared=shared)


def aligned_labels(compared: Comparison) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the aligned queries and keys; where both sides differ, both tokens."""
    before, after = compared.before, compared.after
    rows = (_pair_name(before.queries[left], after.queries[right]) for left, right in compared.queries)
    columns = (_pair_name(before.keys[left], after.keys[right]) for left, right in compared.keys)
    return tuple(rows), tuple(columns)


def _pair_name(before: Token, after: Token) -> str:
    one, other = visible_text(before.text), visible_text(after.text)
    return cut(one if one == other else f"{one}→{other}", MOST_LABEL)


def changes_table(changes: Sequence[Change], names: tuple[str, str], *, theme: Theme = LIGHT) -> str:
    """Draw the links that changed most as a table: the weight on both sides, and the change, the largest first."""
    figures = "".join(f'<th scope="col" class="figure">{html.escape(name)}</th>' for name in (*names, "Change"))
    headings = f'<th scope="col">Looks → at</th>{figures}'
    rows = ""
    for change in changes:
        link = " → ".join(f"<bdi>{html.escape(name)}</bdi>" for name in labels((change.query, change.key)))
        numbers = (percent(change.was), percent(change.now), points(change.now - change.was))
        figures = "".join(f'<td class="figure">{number}</td>' for number in numbers)
        rows += f"<tr><td>{link}</td>{figures}</tr>"
    table = f'<table class="changes"><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div style="{css_variables(theme)}">{table}</div>'


def cost_grid(costs: HeadCosts, *, chosen: Head | None = None, ordered: bool = False, theme: Theme = LIGHT) -> str:
    """Draw every head as a button (`data-pick` is "kind.layer.head"), the redder the more it costs.

    All kinds have one scale, up to the largest cost; blue is a head without which the output is likelier.

    >>> import numpy as np
    >>> drawn = cost_grid(HeadCosts("nats", -2.0, {"cross": np.array([[0.5, -0.1]])}), chosen=("cross", 0, 1))
    >>> 'data-pick="cross.0.0"' in drawn, ">.500<" in drawn, ">−.100<" in drawn, drawn.count('aria-pressed="true"')
    (True, True, True, 1)
    """
    largest = largest_of(costs)
    if ordered:
        cells = "".join(head_button(_cell(head, costs, largest, chosen, theme)) for head in reversed(costs.ranked))
        body = f'<div class="costs list">{cells}</div>'
    else:
        body = "".join(_of_kind(kind, costs, largest, chosen, theme) for kind in costs.costs)
    least = least_width(max(each.shape[1] for each in costs.costs.values()))
    return f'<div class="ablation" style="{css_variables(theme)};--least:{least}px">{body}{_scale(costs, largest, theme)}</div>'


def largest_of(costs: HeadCosts) -> float:
    """Find the number of the strongest colour: the largest cost, or gain."""
    return max(abs(costs.of(head)) for head in costs.ranked) or 1.0


def _of_kind(kind: Kind, costs: HeadCosts, largest: float, chosen: Head | None, theme: Theme) -> str:
    title = f'<p class="kind">{kind}</p>' if len(costs.costs) > 1 else ""
    heads = set(costs.ranked)

    def cell(layer: int, number: int) -> HeadCell | None:
        head = (kind, layer, number)
        return _cell(head, costs, largest, chosen, theme) if head in heads else None

    grid = head_grid(costs.costs[kind].shape, cell)
    return f"<div>{title}{grid}</div>"


def _cell(head: Head, costs: HeadCosts, largest: float, chosen: Head | None, theme: Theme) -> HeadCell:
    cost, name = costs.of(head), name_of(head, costs)
    figure = written_cost(cost, largest)
    colour = diverging(cost / largest, theme)
    return HeadCell(".".join(map(str, head)), figure.replace("0.", ".", 1), colour, f"{name}: {figure}", head == chosen, name)


def _scale(costs: HeadCosts, largest: float, theme: Theme) -> str:
    most, can_gain = written_cost(largest, largest), costs.unit == "nats"
    # Final vectors change or stay: no head is one without which they change less than not at all.
    stops = ",".join(diverging(share / 4, theme) for share in range(-4 if can_gain else 0, 5))
    bar = f'<i style="background:linear-gradient(90deg,{stops})"></i>'
    ends = (f"likelier without −{most}", f"+{most} less likely without") if can_gain else ("0", f"{most} change")
    return f'<p class="scale"><span>{ends[0]} {bar} {ends[1]}</span></p>'


def removal_lines(curve: RemovalCurve, theme: Theme = LIGHT) -> tuple[tuple[str, str, Points], ...]:
    """List the lines of the picture: name, colour, and points from 0 to 1, y from the top."""
    means = curve.random.mean(axis=0)
    lines = (
        ("most important first", FOR, curve.most),
        ("random order", theme.faint, means),
        ("least important first", AGAINST, curve.least),
    )
    across, down = evenly(len(curve.counts)), _range(curve).down
    return tuple((name, colour, tuple(zip(across, down(costs), strict=True))) for name, colour, costs in lines)


def random_band(curve: RemovalCurve) -> Points:
    """Outline all random draws."""
    return band_of(curve.random, _range(curve))


def heights(curve: RemovalCurve) -> tuple[tuple[float, str], ...]:
    """Place the lines across, from the top, each with its cost."""
    return _range(curve).ticks


def removal_figure(curve: RemovalCurve, unit: str, *, theme: Theme = LIGHT) -> str:
    """Draw the curve as HTML around an SVG. Numbers of heads stand evenly: each is about the same share more than the last."""
    values = (curve.most, curve.random.mean(axis=0), curve.least)
    lines = [
        Series(name, colour, points, tuple(_title(*each) for each in zip(curve.counts, costs, strict=True)))
        for (name, colour, points), costs in zip(removal_lines(curve, theme), values, strict=True)
    ]
    across = tuple((x, str(count)) for x, count in zip(evenly(len(curve.counts)), curve.counts, strict=True))
    title = f"number of heads off · up: {unit} · band: {len(curve.random)} random orders"
    axes = Axes(across, heights(curve), title, plain(describe_curve(curve)))
    return lines_figure(lines, axes, band=random_band(curve), theme=theme)


def _title(count: int, cost: float) -> str:
    return f"{counted(count, 'head')} off: {signed(float(cost), '.2f')}"


def _range(curve: RemovalCurve) -> Range:
    ends = [float(edge) for costs in (curve.least, curve.most, curve.random) for edge in (costs.min(), costs.max())]
    return Range.of((0.0, *ends))
