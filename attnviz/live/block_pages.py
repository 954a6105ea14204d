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
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from markdown_it import MarkdownIt

import attnviz as av
from attnviz.analysis.heads.atlas import shipped_atlas
from attnviz.analysis.matters import BLANKS, FIRST_PAIR
from attnviz.analysis.next_and_why import next_changes
from attnviz.analysis.whatif_comparison import CHANGES, Comparison, change_of, compare, side_names
from attnviz.analysis.wording import describe_edits
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import Head, Prompt
from attnviz.core.why import RANDOM_TEXTS
from attnviz.figures.before_after import STYLE as BEFORE_STYLE
from attnviz.figures.before_after import share_bars
from attnviz.figures.blocks import (
    Block,
    Blocks,
    ColumnsBlock,
    FoldBlock,
    Pick,
    PictureBlock,
    SentencesBlock,
    TextBlock,
    notice_blocks,
)
from attnviz.figures.head_claims import EXAMPLES, HOW_CLAIMS, atlas_blocks, evidence_blocks, first_head, verdict_blocks
from attnviz.figures.head_claims import STYLE as HEADS_STYLE
from attnviz.figures.html import STYLE as MARKUP_STYLE
from attnviz.figures.html import sentence_html
from attnviz.figures.matters_text import LOOKED, experiment_blocks
from attnviz.figures.matters_text import STYLE as MATTERS_STYLE
from attnviz.figures.theme import DARK, LIGHT, Theme
from attnviz.figures.whatif_grids_and_matrices import HOW_COMPARED, HOW_COSTS, comparison_blocks, cost_blocks, curve_blocks
from attnviz.figures.whatif_grids_and_matrices import STYLE as WHATIF_STYLE
from attnviz.figures.why_lens_and_patches import HOW_PATCHED, PARTS_STYLE, part_address, patch_blocks, together_blocks
from attnviz.files.shipped import examples_of, find_example, models_with_atlas
from attnviz.live.pictures import examples_of as examples_in
from attnviz.live.pictures import notice_on_site, shown_result
from attnviz.models import catalog
from attnviz.models.tasks import run_task
from attnviz.models.whatif import head_costs, removal_curve
from attnviz.pages_and_addresses import write_parameter
from attnviz.text.corpora import TREEBANK, random_passages, shipped

BLOCK_STYLE = (Path(__file__).parent / "web" / "block_page.css").read_text(encoding="utf-8")
# What an address says, by its parameters.
Address = Mapping[str, str]
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


Button = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class ChoiceRow:
    """Buttons to choose by, each with what it says and asks for; they are there where the page shows the values of `where`."""

    name: str
    buttons: Sequence[Button]
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BlockPage:
    """A page of groups, with what a visitor can choose.

    whole    fills in what an address leaves out of the values of a group, as the app does
    unasked  the values that count as not asked for, all of them, where no picture has them; of what is not in it, a number
             that is beyond the last is the last
    """

    groups: Sequence[PageGroup]
    choices: Sequence[ChoiceRow]
    style: str
    whole: Callable[[Address], Address]
    unasked: Sequence[str] = ()


def head_states(models: Sequence[str], _: Sequence[Address]) -> BlockPage:
    """Write the page Heads: every head of the models whose atlas travels, and the claims that were tested beforehand."""
    known = [name for name in catalog.available() if name in models_with_atlas() and name in models]
    groups = [PageGroup({"model": name}, list(_heads_of(name))) for name in known]
    tested = {report.result.claim.text for report in examples_of("claim", known[0])} if known else ()
    claims = [(label, {"model": known[0], "claim": claim}) for claim, label in EXAMPLES.items() if claim in tested]
    rows = [_model_choice(known), ChoiceRow("Examples", claims)]
    return BlockPage(groups, rows, MARKUP_STYLE + HEADS_STYLE, lambda asked: {"model": known[0], **asked})


def _model_choice(models: Sequence[str], where: Mapping[str, Any] = {}) -> ChoiceRow:
    return ChoiceRow("Model", [(name, {**where, "model": name}) for name in models] if len(models) > 1 else (), where)


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


def word_states(models: Sequence[str], _: Sequence[Address]) -> BlockPage:
    """Write the page Matters: what each model says of its first text without each of the words."""
    known = sorted((name for name in models if name in catalog.CATALOG), key=lambda name: name != "answer-en")
    groups = [_words_of(name) for name in known if catalog.CATALOG[name].reading_task in _FIRST_TEXTS]
    names = [group.values["model"] for group in groups]

    def whole(asked: Address) -> Address:
        model = asked.get("model", names[0])
        text, pair = _FIRST_TEXTS[catalog.CATALOG[model].reading_task]()
        # Beside another text the usual one would mean nothing.
        own = {"model": model, "text": asked.get("text", text)}
        return own | {"pair": asked.get("pair", pair if own["text"] == text else "")}

    return BlockPage(groups, [_model_choice(names)], MARKUP_STYLE + MATTERS_STYLE, whole)


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
    report = find_example("_matters", name, prompt, "", names) or av.attribution_report(model, prompt, "", names)
    removals = find_example("word_removals", name, prompt, "") or av.word_removals(model, prompt)

    blanks = (TextBlock(BLANKS, "caption"),)

    def state(removed: tuple[int, ...]) -> PageState:
        after = removals.output(removed[0]) or av.without_words(model, prompt, "", removed) if removed else None
        values = {"taken": ".".join(map(str, removed))}
        return PageState(
            values, lambda theme: ((), experiment_blocks(report, removals, removed, after, looked=LOOKED, theme=theme), blanks)
        )

    alone = [(place,) for place in range(len(report.words)) if place not in report.own]
    return PageGroup({"model": name, "text": text, "pair": pair}, [state(()), *map(state, alone)])


# Of an example, what an address calls its fields.
_EXAMPLE_FIELDS = {name: name for name in ("model", "second", "text", "other", "edits", "rather")} | {"word": "next"}
# What an address of What if may say for its picture to be written, besides what each picture has.
_PLACES = {"attention", "layer", "head", "query", "order"}


def change_states(models: Sequence[str], asked: Sequence[Address]) -> BlockPage:
    """Write the page What if: what it shows of each model unasked, its examples, and what lessons ask for."""
    known = sorted((name for name in models if name in catalog.CATALOG), key=lambda name: name != "minilm")
    examples = [(each["label"], _example_address(each)) for each in examples_in("whatif")]
    unasked = [{"change": change, "model": name} for change in ("word", "head") for name in known]
    groups: dict[str, PageGroup] = {}
    for each in (*unasked, *(address for _, address in examples), *asked):
        address = _whole_address(each)
        is_here = {address["model"], address.get("second") or address["model"]} <= {*known}
        if is_here and each.keys() <= address.keys() | _PLACES and json.dumps(address) not in groups:
            groups[json.dumps(address)] = _GROUPS[_kind_of(address)](address)
    changes = {group.values["change"] for group in groups.values()}
    shown = [(label, address) for label, address in examples if json.dumps(_whole_address(address)) in groups]
    rows = [ChoiceRow("What changes", [(title, {"change": name}) for name, title in CHANGES.items() if name in changes])]
    rows += [_model_choice(known, {"change": change}) for change in ("word", "head")]
    for change in CHANGES:
        own = [each for each in shown if each[1]["change"] == change]
        # One that the page opens with is no choice.
        rows.append(ChoiceRow("Examples", own if len(own) > 1 or change == "head" else (), {"change": change}))
    rows.append(ChoiceRow("Order", [("By importance", {"order": "cost"})], {"change": "head", "edits": ""}))
    for group in groups.values():
        kinds = list(dict.fromkeys(state.values["attention"] for state in group.states)) if "second" in group.values else []
        rows.append(
            ChoiceRow("Attention", [(each, {"attention": each}) for each in kinds] if len(kinds) > 1 else (), group.values)
        )
    style = MARKUP_STYLE + WHATIF_STYLE + PARTS_STYLE + BEFORE_STYLE
    whole = partial(_whole_address, usual=known[0]) if known else _whole_address
    return BlockPage(list(groups.values()), rows, style, whole, ("attention", "layer", "head", "query"))


def _example_address(example: Mapping[str, str]) -> Address:
    fields = {name: example[field] for field, name in _EXAMPLE_FIELDS.items() if example.get(field)}
    return {"change": change_of(example), **fields}


def _kind_of(address: Address) -> str:
    """Tell which picture of What if an address opens."""
    change = address.get("change", "word")
    return "patch" if change == "patch" else "costs" if change == "head" and not address.get("edits") else "sides"


def _whole_address(asked: Address, usual: str = "minilm") -> Address:
    """Fill in what an address of What if leaves out, as the app does; `usual` is the model where no example names one."""
    change, kind = asked.get("change", "word"), _kind_of(asked)
    # As the app does with a change that there is none of.
    change = change if change in CHANGES else "word"
    first = next(each for each in examples_in("whatif") if change_of(each) == change)
    first = {"model": usual} | (first if kind != "costs" else {})
    model = asked.get("model") or first["model"]
    whole = {"change": change, "model": model, "edits": asked.get("edits", "")}
    if kind == "costs":
        task = catalog.CATALOG[model].reading_task if model in catalog.CATALOG else "encode"
        shown = examples_in(task)[0]
        texts = {"question": shown["question"], "passage": shown["text"]} if task == "answer" else {"text": shown["text"]}
        return whole | {"to": "zero"} | {name: asked.get(name, text) for name, text in texts.items()}
    text = asked.get("text") or first["text"]
    is_first = text == first["text"]
    whole |= {"text": text, "other": asked.get("other") or (first["other"] if is_first else text)}
    if kind == "patch":
        is_own = next((each for each in examples_in("whatif") if (each["text"], each["other"]) == (text, whole["other"])), {})
        words = {"next": is_own.get("word", ""), "rather": is_own.get("rather", "")}
        return whole | {name: asked.get(name, word) for name, word in words.items()} | {"part": asked.get("part", "heads")}
    return whole | {"second": asked.get("second", first.get("second", "") if change == "model" else "")}


def _below(address: Address, how: Block) -> Blocks:
    """Say what to notice, where an address opens an example, and how its picture is read."""
    own = (each["notice"] for each in examples_in("whatif") if _whole_address(_example_address(each)) == address)
    return (*notice_blocks(notice_on_site(next(own, ""))), how)


def _texts(lines: Mapping[str, str]) -> Blocks:
    """Show what was read, each text by its name: the app has boxes for them."""
    read = (f'<p class="read"><b>{name}</b> <bdi>{html.escape(text)}</bdi></p>' for name, text in lines.items() if text)
    return (PictureBlock("texts", "".join(read)),)


def _sides(address: Address) -> PageGroup:
    """Compare two texts, two models, or a model with itself under edits, in every head."""
    names, edits = (address["model"], address["second"] or address["model"]), Edits.parse(address["edits"])
    prompts = Prompt(address["text"]), Prompt(address["other"])
    # What is compared with edits is computed by the same processor, as in the app.
    one, other = (
        run_task(catalog.load(name), "encode", prompt, edits=edit)
        if edits
        else shown_result(catalog.load, name, "encode", prompt)
        for name, prompt, edit in zip(names, prompts, (NO_EDITS, edits), strict=True)
    )
    are_models, titles = names[0] != names[1], side_names((names[0], names[1]), is_edited=bool(edits))
    read = (
        {"First text": prompts[0].text, "Second text": prompts[1].text}
        if prompts[0] != prompts[1]
        else {"Text": prompts[0].text}
    )
    above = _texts({**read, "Edited": ", ".join(describe_edits(edits, one.trace).values())})
    following, below = None, _below(address, HOW_COMPARED)
    if one.card.architecture == other.card.architecture == "decoder" and not are_models:
        before, after = (
            run_task(catalog.load(each.name), "write", each.prompt, edits=each.trace.edits) for each in (one, other)
        )
        following = next_changes(before.trace, after.trace)

    def state(compared: Comparison, kind: str, place: tuple[int, int] | None) -> PageState:
        def parts(theme: Theme) -> Parts:
            said, *drawn = comparison_blocks(compared, place, titles, are_models=are_models, theme=theme)
            bars = [PictureBlock("next-shares", share_bars(following, titles, theme=theme))] if following else []
            return above, (said, *bars, *drawn), below

        return PageState({"attention": kind, **_place(place)}, parts)

    states = []
    for kind in reversed(one.trace.kinds):
        compared = compare(one.trace, other.trace, kind=kind)
        heads = list(np.ndindex(compared.divergence.shape)) if compared.has_changed else []
        states += [state(compared, kind, place) for place in (None, *heads)]
    return PageGroup(address, states)


def _place(place: tuple[int, int] | None) -> dict[str, int]:
    return dict(zip(("layer", "head"), place, strict=True)) if place else {}


def _costs(address: Address) -> PageGroup:
    """Switch every head off in turn, then many."""
    name, to = address["model"], "zero"
    task = catalog.CATALOG[name].reading_task
    prompt = Prompt(address["passage"], question=address["question"]) if task == "answer" else Prompt(address["text"])
    model = catalog.load(name)
    costs = find_example("head_costs", name, prompt, to) or head_costs(model, prompt)
    curve = find_example("removal_curve", name, prompt, to) or removal_curve(model, prompt, costs)
    output = run_task(model, "encode", prompt).trace.output
    below = _below(address, HOW_COSTS)
    above = _texts({"Question": prompt.question or "", "Passage" if task == "answer" else "Text": prompt.text})

    def state(head: Head | None, order: str) -> PageState:
        def parts(theme: Theme) -> Parts:
            *said, grid = cost_blocks(costs, head or costs.ranked[-1], output, task=task, ordered=order == "cost", theme=theme)
            columns = ColumnsBlock(((1, (grid,)), (1, curve_blocks(curve, costs.unit, theme=theme))))
            return above, (*said, columns), below

        place = dict(zip(("attention", "layer", "head"), head, strict=True)) if head else {}
        return PageState({"order": order, **place}, parts)

    return PageGroup(address, [state(head, order) for order in ("layer", "cost") for head in (None, *costs.ranked)])


def _patched(address: Address) -> PageGroup:
    """Set every part of a model in turn to what it is in another text."""
    name, texts, what = address["model"], (address["text"], address["other"]), address["part"]
    words = address["next"], address["rather"]
    asked = name, Prompt(texts[0]), texts[1], words, what
    model = catalog.load(name)
    exact = find_example("_patches", *asked) or av.patch(model, *texts, words[0] or None, words[1] or None, what)
    passages = random_passages(RANDOM_TEXTS, len(exact.tokens[0]))
    patches = find_example("_random_patches", *asked) or av.patch_at_random(model, exact, passages)
    curve = find_example("_patches_together", *asked) or av.patch_together(model, patches)
    above, below = _texts({"First text": texts[0], "Second text": texts[1]}), _below(address, HOW_PATCHED)

    def state(place: tuple[int, int] | None) -> PageState:
        def parts(theme: Theme) -> Parts:
            drawn = patch_blocks(patches, place or patches.strongest[0], theme=theme)
            return above, (*drawn, *together_blocks(patches, curve, theme=theme)), below

        return PageState(part_address(patches, *place) if place else {}, parts)

    return PageGroup(address, [state(None), *map(state, np.ndindex(patches.change.shape))])


_GROUPS = {"sides": _sides, "costs": _costs, "patch": _patched}


# The pages that are written so, by name.
STATES: Mapping[str, Callable[[Sequence[str], Sequence[Address]], BlockPage]] = {
    "heads": head_states,
    "matters": word_states,
    "whatif": change_states,
}


@dataclass(frozen=True)
class WrittenPage:
    """A page as it travels: what its script is told, and of each group its file, compressed, and what it has."""

    config: dict[str, Any]
    files: list[bytes]
    known: Sequence[AbstractSet[tuple[str, str]]]

    def has(self, parameters: Address) -> bool:
        """Say whether the page can show what an address asks for."""
        return any(values >= parameters.items() for values in self.known)


def write_states(page: BlockPage, pages: Collection[str], models: Collection[str]) -> WrittenPage:
    """Write a page of groups; `pages` and `models` of the site are those that a click can lead to."""

    def address(known: AbstractSet[tuple[str, str]], pick: Pick) -> str:
        """Write where a click leads, a query or a page with one; empty: it is not on this site."""
        asked = pick.values if pick.page or known >= pick.values.items() else pick.otherwise or pick.values
        given = {name: write_parameter(value) for name, value in asked.items() if value is not None}
        if pick.page:
            is_there = pick.page in pages and pick.values.get("model") in models
            return f"../{pick.page}/?{urlencode(given, doseq=True)}" if is_there else ""
        return urlencode(given, doseq=True) if known >= given.items() else ""

    known = [_known(group) for group in page.groups]
    files = [_group(group, partial(address, values)) for group, values in zip(page.groups, known, strict=True)]
    first = json.loads(gzip.decompress(files[0]))
    texts, (shown, places, pressed) = first["texts"], first["states"][0]
    opening = {"values": shown, "parts": ["".join(texts[at] for at in each) for each in places], "pressed": pressed}
    groups = [dict(group.values) for group in page.groups]
    needs = [[name for name in values if page.whole(_without(values, name)) != values] for values in groups]
    choices = [vars(row) for row in page.choices if row.buttons]
    config = {"groups": groups, "needs": needs, "opening": opening, "choices": choices}
    return WrittenPage(config | {"free": ["present"], "unasked": page.unasked}, files, known)


def _without(values: Address, name: str) -> Address:
    return {each: value for each, value in values.items() if each != name}


def _known(group: PageGroup) -> AbstractSet[tuple[str, str]]:
    """List what an address may say of the states of a group."""
    values = ({**group.values, **state.values} for state in group.states)
    return {(name, str(write_parameter(value))) for each in values for name, value in each.items()}


def _group(group: PageGroup, address: Callable[[Pick], str]) -> bytes:
    """Write the states of a group: of each its values, the parts of its three places by their numbers, and what is pressed."""
    texts: dict[tuple[str, str], int] = {}
    # Many states have the same part: it is written once.
    written: dict[str, int] = {}
    states = []

    def number(one: Block | str, other: Block | str, pressed: list[str]) -> int:
        if isinstance(one, str) or isinstance(other, str):
            return texts.setdefault(("", str(one)), len(texts))
        if isinstance(one, PictureBlock) and isinstance(one.body, str):
            on = (address(one.picks[html.unescape(match[2])]) for match in _ON.finditer(one.body))
            pressed += filter(None, on)
        one, other = _let_go(one), _let_go(other)
        if (same := repr(one)) not in written:
            text = both_themes(block_html(one, address), block_html(other, address))
            written[same] = texts.setdefault((getattr(one, "key", ""), text), len(texts))
        return written[same]

    for state in group.states:
        pressed: list[str] = []
        light, dark = ([_pieces(each) for each in state.parts(theme)] for theme in (LIGHT, DARK))
        places = [[number(*each, pressed) for each in zip(*pair, strict=True)] for pair in zip(light, dark, strict=True)]
        states.append([dict(state.values), places, pressed])
    # What is alike stands together: that is what compression finds.
    order = {place: at for at, (_, place) in enumerate(sorted((key[0], place) for key, place in texts.items()))}
    by_order = sorted(texts, key=lambda each: order[texts[each]])
    states = [[values, [[order[at] for at in each] for each in places], pressed] for values, places, pressed in states]
    data = json.dumps({"texts": [text for _, text in by_order], "states": states}, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(data.encode(), mtime=0)


# A button that is pressed, and what it hands over.
_ON = re.compile(r'(data-pick="([^"]*)"[^>]*? aria-pressed=)"true"')


def _let_go(block: Block) -> Block:
    """Draw what can be pressed as if it were not: so all heads are drawn once, whichever is chosen."""
    if isinstance(block, PictureBlock) and isinstance(block.body, str):
        return replace(block, body=_ON.sub(r'\1"false"', block.body))
    return block


def _pieces(blocks: Blocks) -> Iterator[Block | str]:
    """Take columns apart into what stands in them, and the HTML around that."""
    for block in blocks:
        if not isinstance(block, ColumnsBlock):
            yield block
            continue
        widths = " ".join(f"{share}fr" for share, _ in block.columns)
        yield f'<div class="columns" data-style="grid-template-columns:{widths}">'
        for _, parts in block.columns:
            yield "<div>"
            yield from _pieces(parts)
            yield "</div>"
        yield "</div>"


MARKDOWN = MarkdownIt("commonmark", {"html": False})
_BUTTON = re.compile(r'<button([^>]*?) data-pick="([^"]*)"([^>]*)>(.*?)</button>', re.S)
# Of a tag: within a text the next bracket begins one.
_STYLE = re.compile(r""" style=(?=["'][^<>]*>)""")
_PRESSED = re.compile(r' (?:aria-pressed|aria-label)="[^"]*"')


def block_html(block: Block, address: Callable[[Pick], str]) -> str:
    """Write a part as HTML. Styles stand in `data-style`: a page's policy lets its script alone set them."""
    if isinstance(block, SentencesBlock):
        return f'<div class="story">{"".join(f"<p>{sentence_html(each)}</p>" for each in block.sentences)}</div>'
    if isinstance(block, PictureBlock):
        if isinstance(block.body, dict):
            return f'<div class="markup" data-record="{html.escape(json.dumps(block.body))}"></div>'
        return f'<div class="markup">{_STYLE.sub(" data-style=", _linked(block.body, block.picks, address))}</div>'
    if isinstance(block, FoldBlock):
        parts = "".join(block_html(each, address) for each in block.parts)
        return f"<details><summary>{html.escape(block.title)}</summary>{parts}</details>"
    if isinstance(block, ColumnsBlock):
        return "".join(each if isinstance(each, str) else block_html(each, address) for each in _pieces([block]))
    if block.kind == "output":
        return f'<p class="answer" dir="auto">{html.escape(block.text)}</p>'
    if block.kind == "heading":
        return f"<h2>{html.escape(block.text)}</h2>"
    return f'<div class="{block.kind}">{MARKDOWN.render(block.text)}</div>'


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
