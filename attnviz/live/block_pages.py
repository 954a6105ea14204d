"""Pages of a site whose every picture was written when it was built: what the app shows at an address, as HTML in a file.

Each is made of the parts that the app draws (`attnviz.figures.blocks`), in both themes. A click leads to another address; where
that is not here, there is nothing to click.
"""

import gzip
import html
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from markdown_it import MarkdownIt

from attnviz.address import write_parameter
from attnviz.analysis.matters import FIRST_PAIR
from attnviz.attribution.token_removal import attribution_report, without_words, word_removals
from attnviz.core.trace import Prompt
from attnviz.figures.blocks import Block, Blocks, ColumnsBlock, FoldBlock, Pick, PictureBlock, SentencesBlock
from attnviz.figures.heads_grid import EXAMPLES, HOW_CLAIMS, atlas_blocks, evidence_blocks, first_head, verdict_blocks
from attnviz.figures.heads_grid import STYLE as HEADS_STYLE
from attnviz.figures.html import STYLE as MARKUP_STYLE
from attnviz.figures.html import sentence_html
from attnviz.figures.matters_text import LOOKED, experiment_blocks
from attnviz.figures.matters_text import STYLE as MATTERS_STYLE
from attnviz.figures.theme import DARK, LIGHT, Theme
from attnviz.files.shipped import examples_of, find_example
from attnviz.live.pictures import examples_of as examples_in
from attnviz.models import catalog
from attnviz.survey.corpora import TREEBANK, available, shipped, shipped_atlas

BLOCK_STYLE = (Path(__file__).parent / "web" / "block_page.css").read_text(encoding="utf-8")
# Parts above the frame of the picture, within it and below it.
Parts = tuple[Blocks, Blocks, Blocks]


@dataclass(frozen=True)
class PageState:
    """What a page shows where its address gives these values, in a theme."""

    values: Mapping[str, Any]
    parts: Callable[[Theme], Parts]


@dataclass(frozen=True)
class PageGroup:
    """States that travel in one file, the first one first; `values` are those that all of them have."""

    values: Mapping[str, Any]
    states: Sequence[PageState]


@dataclass(frozen=True)
class BlockPage:
    """A page of groups, with what a visitor can choose: of each row its name, and what each button says and asks for."""

    groups: Sequence[PageGroup]
    choices: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]]
    style: str


def head_states(models: Sequence[str]) -> BlockPage:
    """Write the page Heads: every head of the models whose atlas travels, and the claims that were tested beforehand."""
    known = [name for name in catalog.available() if name in available() and name in models]
    groups = [PageGroup({"model": name}, list(_heads_of(name))) for name in known]
    tested = {report.result.claim.text for report in examples_of("claim", known[0])} if known else ()
    claims = [(label, {"model": known[0], "claim": claim}) for claim, label in EXAMPLES.items() if claim in tested]
    return BlockPage(groups, {"Model": _model_choice(known), "Examples": claims}, MARKUP_STYLE + HEADS_STYLE)


def _model_choice(models: Sequence[str]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, {"model": name}) for name in models] if len(models) > 1 else []


def _heads_of(model: str) -> Iterator[PageState]:
    atlas, sentences = shipped_atlas(model), shipped(TREEBANK)
    reports = {report.result.claim.text: report for report in examples_of("claim", model)}
    first = first_head(atlas)
    places = [(layer, head) for layer in range(atlas.shape[0]) for head in range(atlas.shape[1])]

    # A head is drawn once, whatever claim stands above it.
    @cache
    def of_head(place: tuple[int, int], theme: Theme) -> tuple[Blocks, Blocks]:
        evidence = evidence_blocks(atlas, place, sentences, theme=theme)
        return atlas_blocks(atlas, place, sentences, theme=theme), (*evidence, *HOW_CLAIMS)

    @cache
    def verdict(claim: str, theme: Theme) -> Blocks:
        return verdict_blocks(reports[claim], model, theme=theme) if claim else ()

    def state(place: tuple[int, int], claim: str) -> PageState:
        def parts(theme: Theme) -> Parts:
            return verdict(claim, theme), *of_head(place, theme)

        return PageState({"layer": place[0], "head": place[1]} | ({"claim": claim} if claim else {}), parts)

    for place in (first, *(each for each in places if each != first)):
        yield from (state(place, claim) for claim in ("", *reports))


def word_states(models: Sequence[str]) -> BlockPage:
    """Write the page Matters: what each model says of its first text without each of the words."""
    known = sorted((name for name in models if name in catalog.CATALOG), key=lambda name: name != "answer-en")
    groups = [_words_of(name) for name in known if catalog.CATALOG[name].reading_task in _FIRST_TEXTS]
    return BlockPage(
        groups, {"Model": _model_choice([group.values["model"] for group in groups])}, MARKUP_STYLE + MATTERS_STYLE
    )


# What Matters reads at first, by the task of a model: the text, and the second one.
_FIRST_TEXTS: Mapping[str, Callable[[], tuple[str, str]]] = {
    "answer": lambda: (examples_in("answer")[0]["text"], examples_in("answer")[0]["question"]),
    "encode": lambda: FIRST_PAIR,
    "translate": lambda: (examples_in("translate")[0]["text"], ""),
    "summarize": lambda: (examples_in("summarize")[0]["text"], ""),
}


def _words_of(name: str) -> PageGroup:
    task, names = catalog.CATALOG[name].reading_task, ("attention", "random")
    text, pair = _FIRST_TEXTS[task]()
    prompt = Prompt(text) if task == "translate" else Prompt(text, question=pair or None, pair=pair or None)
    model = catalog.load(name)
    report = find_example("_matters", name, prompt, "", names) or attribution_report(model, prompt, "", names)
    removals = find_example("word_removals", name, prompt, "") or word_removals(model, prompt)

    def state(removed: tuple[int, ...]) -> PageState:
        after = removals.output(removed[0]) or without_words(model, prompt, "", removed) if removed else None
        values = {"taken": ".".join(map(str, removed))}
        return PageState(
            values, lambda theme: ((), experiment_blocks(report, removals, removed, after, looked=LOOKED, theme=theme), ())
        )

    alone = [(place,) for place in range(len(report.words)) if place not in report.own]
    return PageGroup({"model": name, "text": text, **({"pair": pair} if pair else {})}, [state(()), *map(state, alone)])


# The pages that are written so, by name.
STATES: Mapping[str, Callable[[Sequence[str]], BlockPage]] = {"heads": head_states, "matters": word_states}


@dataclass(frozen=True)
class WrittenPage:
    """A page as it travels: what its script is told, the file of each group, compressed, and what an address may ask for."""

    config: dict[str, Any]
    files: list[bytes]
    known: AbstractSet[tuple[str, str]]

    def has(self, parameters: Mapping[str, str]) -> bool:
        """Say whether the page can show what an address asks for."""
        return self.known >= parameters.items()


def write_states(page: BlockPage, pages: Collection[str], models: Collection[str]) -> WrittenPage:
    """Write a page of groups; `pages` and `models` of the site are those that a click can lead to."""
    values = [{**group.values, **state.values} for group in page.groups for state in group.states]
    known = {(name, str(write_parameter(value))) for each in values for name, value in each.items()}

    def address(pick: Pick) -> str:
        """Write where a click leads, a query or a page with one; empty: it is not on this site."""
        asked = pick.values if pick.page or known >= pick.values.items() else pick.otherwise or pick.values
        given = {name: write_parameter(value) for name, value in asked.items() if value is not None}
        if pick.page:
            is_there = pick.page in pages and pick.values.get("model") in models
            return f"../{pick.page}/?{urlencode(given, doseq=True)}" if is_there else ""
        return urlencode(given, doseq=True) if known >= given.items() else ""

    files = [_group(group, address) for group in page.groups]
    first = json.loads(gzip.decompress(files[0]))
    texts, (shown, places) = first["texts"], first["states"][0]
    opening = {"values": shown, "parts": ["".join(texts[at] for at in each) for each in places]}
    groups = [dict(group.values) for group in page.groups]
    choices = {name: rows for name, rows in page.choices.items() if rows}
    return WrittenPage({"groups": groups, "opening": opening, "choices": choices, "free": ["present"]}, files, known)


def _group(group: PageGroup, address: Callable[[Pick], str]) -> bytes:
    """Write the states of a group: of each its values, and the parts of its three places by their numbers among all texts."""
    texts: dict[tuple[str, str], int] = {}
    # Many states have the same part: it is written once.
    written: dict[int, int] = {}
    states, kept = [], []

    def number(one: Block, other: Block) -> int:
        if id(one) not in written:
            kept.append(one)
            text = getattr(one, "key", ""), both_themes(block_html(one, address), block_html(other, address))
            written[id(one)] = texts.setdefault(text, len(texts))
        return written[id(one)]

    for state in group.states:
        light, dark = state.parts(LIGHT), state.parts(DARK)
        places = [[number(*each) for each in zip(*pair, strict=True)] for pair in zip(light, dark, strict=True)]
        states.append([dict(state.values), places])
    # What is alike stands together: that is what compression finds.
    order = {place: at for at, (_, place) in enumerate(sorted((key[0], place) for key, place in texts.items()))}
    by_order = sorted(texts, key=lambda each: order[texts[each]])
    states = [[values, [[order[at] for at in each] for each in places]] for values, places in states]
    data = json.dumps({"texts": [text for _, text in by_order], "states": states}, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(data.encode(), mtime=0)


_MARKDOWN = MarkdownIt("commonmark", {"html": False})
_BUTTON = re.compile(r'<button([^>]*?) data-pick="([^"]*)"([^>]*)>(.*?)</button>', re.S)
_PRESSED = re.compile(r' (?:aria-pressed|aria-label)="[^"]*"')


def block_html(block: Block, address: Callable[[Pick], str]) -> str:
    """Write a part as HTML. Styles stand in `data-style`: a page's policy lets its script alone set them."""
    if isinstance(block, SentencesBlock):
        return f'<div class="story">{"".join(f"<p>{sentence_html(each)}</p>" for each in block.sentences)}</div>'
    if isinstance(block, ColumnsBlock):
        cells = "".join(f"<div>{''.join(block_html(each, address) for each in parts)}</div>" for _, parts in block.columns)
        widths = " ".join(f"{share}fr" for share, _ in block.columns)
        return f'<div class="columns" data-style="grid-template-columns:{widths}">{cells}</div>'
    if isinstance(block, PictureBlock):
        if isinstance(block.body, dict):
            return f'<div class="markup" data-record="{html.escape(json.dumps(block.body))}"></div>'
        return f'<div class="markup">{_linked(block.body, block.picks, address).replace(" style=", " data-style=")}</div>'
    if isinstance(block, FoldBlock):
        parts = "".join(block_html(each, address) for each in block.parts)
        return f"<details><summary>{html.escape(block.title)}</summary>{parts}</details>"
    if block.kind == "heading":
        return f"<h2>{html.escape(block.text)}</h2>"
    return f'<div class="{block.kind}">{_MARKDOWN.render(block.text)}</div>'


def _linked(body: str, picks: Mapping[str, Pick], address: Callable[[Pick], str]) -> str:
    """Give each button the address that it leads to; what leads nowhere here is no button."""

    def link(match: re.Match[str]) -> str:
        before, picked, after, text = match.groups()
        pick = picks.get(html.unescape(picked))
        if pick and (leads := address(pick)):
            return f'<button type="button"{before} data-go="{html.escape(leads)}"{after}>{text}</button>'
        return f"<span{_PRESSED.sub('', before + after)}>{text}</span>"

    return _BUTTON.sub(link, body)


_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")


def both_themes(light: str, dark: str) -> str:
    """Join what was drawn in both themes, which differ in their colours alone.

    >>> both_themes("<i style='color:#000000'>#aaaaaa", "<i style='color:#ffffff'>#aaaaaa")
    "<i style='color:light-dark(#000000,#ffffff)'>#aaaaaa"

    Raises:
        ValueError: they differ in something else.
    """
    between = _COLOUR.split(light)
    if between != _COLOUR.split(dark):
        raise ValueError("what was drawn in light and in dark colours differs in more than its colours")
    pairs: Iterable[tuple[str, str]] = zip(_COLOUR.findall(light), _COLOUR.findall(dark), strict=True)
    colours = [one if one == other else f"light-dark({one},{other})" for one, other in pairs]
    return "".join(part for each in zip(between, [*colours, ""], strict=True) for part in each)
