"""Why a language model writes a word: what each part adds, what each layer would have said, and what a patched part does."""

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attnviz.analysis.next_and_why import describe_correlation, describe_patch, describe_together, part_name, row_name
from attnviz.analysis.wording import cut, head_name, percent, plain, signed
from attnviz.core.why import ComparedWords, LensNumber, LogitLens, Parts, PatchCurve, Patches
from attnviz.figures.blocks import Block, Pick, PictureBlock, SentencesBlock, TextBlock, how_to_read
from attnviz.figures.curve import STYLE as CURVE
from attnviz.figures.curve import Axes, Range, Series, band_of, evenly, lines_figure
from attnviz.figures.head_grid import STYLE as GRID
from attnviz.figures.head_grid import HeadCell, head_grid
from attnviz.figures.html import STYLE as MARKUP
from attnviz.figures.html import Page, label
from attnviz.figures.theme import AGAINST, FOR, LIGHT, Theme, css_variables, diverging, ink_on
from attnviz.text.words import visible_text

PARTS_STYLE = GRID + CURVE + Path(__file__).with_name("why_lens_and_patches.css").read_text(encoding="utf-8")
# A number that is less than this is not written in its cell.
_LEAST = 0.05
# Characters of a token in a cell.
_WIDEST = 9


def parts_grid(parts: Parts, *, chosen: tuple[int, int] | None = None, theme: Theme = LIGHT) -> str:
    """Draw the sum, and what every head adds to it as a button (`data-pick` is "layer.head"): orange for, blue against."""
    signs = [f"<span>{name} <b>{signed(value, '+.2f')}</b></span>" for name, value in parts.sums.items()]
    total = f'<p class="sum">{"".join(signs)}<span>= <b>{signed(parts.logit)}</b>, {_logit(parts)}</span></p>'
    grid = _grid(parts.heads, "adds", chosen, theme) + _scale(parts.heads, parts.words, theme)
    return f'<div class="why" style="{css_variables(theme)}">{total}{grid}</div>'


def _logit(parts: Parts) -> str:
    word, rather = parts.words.word, parts.words.rather_than
    return f"the logit of {_quoted(word)}" + ("" if rather is None else f" less that of {_quoted(rather)}")


def _quoted(word: str) -> str:
    return f"“<bdi>{html.escape(visible_text(word.strip(' ')))}</bdi>”"


def _grid(values: Float[np.ndarray, "layer head"], verb: str, chosen: tuple[int, int] | None, theme: Theme) -> str:
    largest = _largest(values)

    def cell(layer: int, head: int) -> HeadCell:
        value, name = float(values[layer, head]), head_name(layer, head)
        figure = signed(value, ".1f") if abs(value) >= _LEAST else ""
        colour = diverging(value / largest, theme)
        title = f"{name} {verb} {signed(value, '+.2f')}"
        return HeadCell(f"{layer}.{head}", figure, colour, title, (layer, head) == chosen, name)

    return head_grid(values.shape, cell)


def _largest(values: np.ndarray) -> float:
    return max(float(np.abs(values).max(initial=0.0)), 1e-12)


def _scale(values: np.ndarray, words: ComparedWords, theme: Theme) -> str:
    """Draw which colour speaks for which word."""
    stops, largest = ",".join(diverging(share / 4, theme) for share in range(-4, 5)), signed(_largest(values))
    bar, word = f'<i style="background:linear-gradient(90deg,{stops})"></i>', _quoted(words.word)
    other = f"against {word}" if words.rather_than is None else f"for {_quoted(words.rather_than)}"
    return f'<p class="scale"><span>{other} −{largest}</span> {bar} <span>+{largest} for {word}</span></p>'


def lens_strip(lens: LogitLens, place: int, *, theme: Theme = LIGHT) -> str:
    """Draw what each layer would have said behind a token: the likeliest, as strong as it is likely, the last layer first."""
    word = _quoted(cut(lens.words[place].strip(" "), _WIDEST))
    rows = [f"<div><span></span><span></span><em>place of {word}</em></div>"]
    for row in reversed(range(len(lens.likeliest))):
        said, share = lens.likeliest[row][place], float(lens.probability[row, place])
        colour, own = theme.colour(share), said == lens.words[place]
        text = html.escape(visible_text(said.strip(" ")))
        rank = "" if own else f"{lens.rank[row, place]:,}"
        rows.append(
            f'<div class="{"own" if own else ""}"><span class="layer">{row_name(row)}</span>'
            f'<span class="said" style="background:{colour};color:{ink_on(colour)}"><bdi>{text}</bdi> {percent(share)}</span>'
            f"<em>{rank}</em></div>"
        )
    style = f"{css_variables(theme)};--layers:{len(lens.likeliest)}"
    return f'<div class="lens" style="{style}">{"".join(rows)}</div>'


def lens_table(lens: LogitLens, number: LensNumber, *, chosen: tuple[int, int] | None = None, theme: Theme = LIGHT) -> str:
    """Draw what each layer would have said behind every token (`data-pick` is "row.column"), the last layer first.

    number  what stands in a cell: the likeliest token, as strong as it is likely; or ln p or rank of the model's own next word,
            or the entropy
    """
    last, furthest = len(lens.likeliest) - 1, max(math.log(float(lens.rank.max())), 1e-12)
    widest = max(float(lens.entropy.max()), 1e-12)

    def cell(place: int, column: int) -> TableCell:
        row = last - place
        said, share = lens.likeliest[row][column], float(lens.probability[row, column])
        log_p, rank, entropy = (float(each[row, column]) for each in (lens.log_p, lens.rank, lens.entropy))
        text, strength = {
            "probability": (cut(visible_text(said.strip(" ")), _WIDEST), share),
            "log p": (signed(log_p, ".1f"), math.exp(log_p)),
            "rank": (f"{rank:,.0f}", 1 - math.log(rank) / furthest),
            "entropy": (f"{entropy:.1f}", entropy / widest),
        }[number]
        behind, likeliest, own = map(visible_text, (lens.tokens[column].text, said.strip(" "), lens.words[column].strip(" ")))
        title = (
            f"{row_name(row)}, behind “{behind}”: “{likeliest}” {percent(share)}; “{own}” is number {rank:,.0f}, "
            f"ln p {signed(log_p)}; entropy {entropy:.2f} bits"
        )
        pick = f"{row}.{column}"
        return TableCell(text, theme.colour(strength), title, (row, column) == chosen, pick, said == lens.words[column])

    names = [row_name(row) for row in range(last, -1, -1)]
    return (
        f'<div class="why" style="{css_variables(theme)}">{_table(names, [label(token) for token in lens.tokens], cell)}</div>'
    )


def patches_grid(patches: Patches, *, chosen: tuple[int, int] | None = None, theme: Theme = LIGHT) -> str:
    """Draw how far each part of another text moves the difference; of heads a grid, of others a table (`data-pick`)."""
    if patches.what == "heads":
        body = _grid(patches.change, "changes it by", chosen, theme)
    else:
        body = _changes_table(patches, chosen, theme)
    scale = _scale(patches.change, patches.words, theme)
    return f'<div class="why" style="{css_variables(theme)}">{body}{scale}</div>'


# The parameters of an address that name a part.
PART_PLACES = {"heads": ("layer", "head"), "mlps": ("layer",), "stream": ("layer", "query")}
HOW_PATCHED = how_to_read("""
- In turn, each part is set to what it is in the second text, and the rest of the model is run again: a head or an MLP at all
  positions, the stream (the sum of all that was added so far) at one position, behind one layer. Orange moves towards the first
  word, blue towards the second (Vig et al. 2020, *causal mediation*; Meng et al. 2022).
- Change one word into one that has as many tokens: the texts have to be equally long, and all else stays the same.
- **Any other text changes something.** So the ten strongest parts are also set to what they are in five passages that have
  nothing to do with these two.
- **Many together**: the k best are those that move it furthest towards the second text, each alone. Together they may do less
  than their sum, where others step in, or more. Parts in a random order, 20 times, say what any k of them do.
- **A part that changes nothing may still do the work**: others step in where it fails (backup heads; Wang et al. 2023).
- The **quick estimate** is gradient × difference (attribution patching; Nanda 2023, Syed et al. 2023). It takes a part for a
  straight line; where attention is sharp it is far off, so its correlation with what was computed is written beside it.
""")


def part_address(patches: Patches, row: int, column: int) -> dict[str, int]:
    """Write which part it is, as an address does."""
    return dict(zip(PART_PLACES[patches.what], (row, column), strict=False))


def patch_blocks(patches: Patches, chosen: tuple[int, int], *, key: str = "patches", theme: Theme = LIGHT) -> list[Block]:
    """Say what the chosen part of the other text changes, and draw that of all parts; a click chooses one."""
    picks = {f"{row}.{column}": Pick(part_address(patches, row, column)) for row, column in np.ndindex(patches.change.shape)}
    return [
        SentencesBlock(tuple(describe_patch(patches, *chosen))),
        PictureBlock(key, patches_grid(patches, chosen=chosen, theme=theme), picks),
        TextBlock(describe_correlation(patches), "caption"),
    ]


def together_blocks(patches: Patches, curve: PatchCurve, *, theme: Theme = LIGHT) -> list[Block]:
    """Draw what becomes of the difference when more and more parts are set together."""
    return [
        TextBlock("**Many parts set together**"),
        PictureBlock("patches-together", together_figure(patches, curve, theme=theme)),
        TextBlock(plain(describe_together(patches, curve)), "caption"),
    ]


def together_figure(patches: Patches, curve: PatchCurve, *, theme: Theme = LIGHT) -> str:
    """Draw what the difference becomes when more and more parts of the other text are set together, beside random ones."""
    across, draws = evenly(len(curve.counts)), curve.random
    heights = Range.of((patches.one, patches.other, *curve.best, *draws.ravel()))
    other = tuple((x, heights.down([patches.other])[0]) for x in (0.0, 1.0))
    lines = [Series("value of the other text", AGAINST, other)]
    for name, colour, values in (("best parts first", FOR, curve.best), ("random order", theme.faint, draws.mean(axis=0))):
        titles = tuple(
            f"{count} parts together: {signed(value)}" for count, value in zip(curve.counts, values.tolist(), strict=True)
        )
        lines.append(Series(name, colour, tuple(zip(across, heights.down(values), strict=True)), titles))
    counts = tuple((x, str(count)) for x, count in zip(across, curve.counts, strict=True))
    title = f"number of parts set together · up: logit of {patches.words.label} · band: {len(draws)} random orders"
    label = plain(describe_together(patches, curve))
    return lines_figure(lines, Axes(counts, heights.ticks, title, label), band=band_of(draws, heights), theme=theme)


def _changes_table(patches: Patches, chosen: tuple[int, int] | None, theme: Theme) -> str:
    largest = _largest(patches.change)
    stream = patches.what == "stream"
    names = [label(token) for token in patches.tokens[0]] if stream else ["MLP"]
    rows = [row_name(row) if stream else f"L{row}" for row in range(len(patches.change))]

    def cell(row: int, column: int) -> TableCell:
        value = float(patches.change[row, column])
        figure = signed(value, ".1f") if abs(value) >= _LEAST else ""
        title = f"{part_name(patches, row, column)} changes it by {signed(value, '+.2f')}"
        return TableCell(figure, diverging(value / largest, theme), title, (row, column) == chosen, f"{row}.{column}")

    return _table(rows, names, cell)


@dataclass(frozen=True)
class TableCell:
    """What stands in a cell of a layer and a token: its text, its colour, what it is in full, and what a click gives.

    own  whether it is the model's own word
    """

    text: str
    colour: str
    title: str
    chosen: bool
    pick: str
    own: bool = False


def _table(rows: Sequence[str], columns: Sequence[str], cell: Callable[[int, int], TableCell]) -> str:
    """Draw a table of buttons; columns are HTML already."""
    lines = ["".join(f'<th scope="col"><bdi>{name}</bdi></th>' for name in ["", *columns])]
    for row, name in enumerate(rows):
        cells = ""
        for column in range(len(columns)):
            one = cell(row, column)
            cells += (
                f'<td><button{" class=own" if one.own else ""} data-pick="{one.pick}" aria-pressed="{str(one.chosen).lower()}" '
                f'title="{html.escape(one.title)}" aria-label="{html.escape(one.title)}" '
                f'style="background:{one.colour};color:{ink_on(one.colour)}"><bdi>{html.escape(one.text)}</bdi></button></td>'
            )
        lines.append(f'<th scope="row">{html.escape(name)}</th>{cells}')
    return f'<div class="layers"><table>{"".join(f"<tr>{line}</tr>" for line in lines)}</table></div>'


def why_page(value: Parts | LogitLens | Patches) -> Page:
    """Make a page of one of them, as a notebook shows it: of a lens what is said behind the last token."""
    if isinstance(value, LogitLens):
        body = lens_strip(value, len(value.tokens) - 1)
    else:
        body = parts_grid(value) if isinstance(value, Parts) else patches_grid(value)
    title = f"Why a word, by {html.escape(value.model)}"
    style = f"<style>{MARKUP}{PARTS_STYLE}</style>"
    return Page(f'<!doctype html><meta charset="utf-8"><title>{title}</title>{style}<div class="markup">{body}</div>')
