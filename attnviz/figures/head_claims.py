"""What heads do: all of them as a grid with the best claim of each, one head's pattern and evidence, and those of a survey."""

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from attnviz.analysis.heads.atlas import WORDS, Atlas, AtlasExample, Drawn, HeadLink
from attnviz.analysis.heads.claim import parse
from attnviz.analysis.heads.measures import FURTHEST, NAMES, Statistics
from attnviz.analysis.heads.verdict import (
    MEASURE_LABELS,
    ClaimReport,
    ClaimResult,
    claim_sides,
    describe_distance,
    describe_question,
    describe_rival,
    describe_verdict,
    measure_text,
    short_claim,
)
from attnviz.analysis.wording import Part, Sentence, head_name, head_words, signed, whole_percent
from attnviz.figures.blocks import Block, ColumnsBlock, FoldBlock, Pick, PictureBlock, SentencesBlock, TextBlock, head_picks
from attnviz.figures.head_grid import measured_grid, with_axes
from attnviz.figures.theme import LIGHT, Theme, css_variables
from attnviz.text.corpora import is_suitable
from attnviz.text.data_files import ParsedSentence

STYLE = Path(__file__).with_name("head_claims.css").read_text(encoding="utf-8")
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
    kind = "head" + " holds" * holds + " none" * (claim is None)
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


_SURVEY_HEADINGS = ("Measure", "Mean", "95% interval", "Tokens")


def measure_grid(means: Float[np.ndarray, "layer head"], measure: str, *, chosen: tuple[int, int], theme: Theme = LIGHT) -> str:
    """Draw a measure of all heads as HTML, one button a head (`data-pick` is "layer.head"); the largest mean is strongest."""
    highest = max(float(np.nanmax(means, initial=0.0)), 1e-12)

    def strength(mean: float) -> float:
        return 0.0 if np.isnan(mean) else mean / highest

    return measured_grid(means, lambda mean: measure_text(measure, mean), strength=strength, chosen=chosen, theme=theme)


def measures_table(statistics: Statistics, layer: int, head: int, *, chosen: str, theme: Theme = LIGHT) -> str:
    """Draw every measure of a head as an HTML table; a click on one picks its name."""
    means, (low, high) = statistics.means[:, layer, head], statistics.intervals
    rows = []
    for number, name in enumerate(NAMES):
        figures = ("–", "not measured", "0")
        if not np.isnan(means[number]):
            ends = [float(end[number, layer, head]) for end in (low, high)]
            interval = "–" if np.isnan(ends).any() else " to ".join(measure_text(name, end) for end in ends)
            figures = (measure_text(name, float(means[number])), interval, f"{statistics.rows[number]:,.0f}")
        cells = "".join(f'<td class="figure">{figure}</td>' for figure in figures)
        button = f'<button data-pick="{name}" aria-pressed="{str(name == chosen).lower()}">'
        rows.append(f"<tr><td>{button}{html.escape(MEASURE_LABELS[name])}</button></td>{cells}</tr>")
    headings = "".join(
        f'<th scope="col"{" class=figure" if place else ""}>{name}</th>' for place, name in enumerate(_SURVEY_HEADINGS)
    )
    table = f'<table class="claims"><thead><tr>{headings}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    region = f'tabindex="0" role="region" aria-label="Measures of {head_name(layer, head)}"'
    return f'<div class="scroll" style="{css_variables(theme)}" {region}>{table}</div>'


_HEADINGS = ("Claim", "", "Rate", "95 % interval", "Chance", "Best fixed distance", "Untrained", "Words", "")


def claims_table(atlas: Atlas, layer: int, head: int, *, most: int = 12, theme: Theme = LIGHT) -> str:
    """Draw a head's claims as an HTML table, those that hold first; a click on one picks "claim:" and its text."""
    rows = []
    for claim in atlas.ranked(layer, head)[:most]:
        facts, rate = atlas.claims[claim], float(atlas.rates[claim, layer, head])
        low, high = float(atlas.low[claim, layer, head]), float(atlas.high[claim, layer, head])
        holds = bool(atlas.supported[claim, layer, head])
        offset = "–" if facts.place else f"{whole_percent(facts.offset_rate)} ({describe_distance(facts.offset)})"
        untrained = "" if facts.untrained is None else whole_percent(facts.untrained)
        figures = (
            whole_percent(rate),
            f"{whole_percent(low)} to {whole_percent(high)}",
            whole_percent(facts.chance),
            offset,
            untrained,
            f"{facts.queries:,}",
        )
        rows.append(
            f'<tr class="{"holds" if holds else "fails"}"><td><button data-pick="claim:{html.escape(facts.text)}">'
            f"{html.escape(short_claim(facts.text))}</button></td><td>{_bar(rate, (low, high), facts.strongest_rival)}</td>"
            + "".join(f'<td class="figure">{figure}</td>' for figure in figures)
            + f"<td>{'holds' if holds else 'no'}</td></tr>"
        )
    headings = "".join(
        f'<th scope="col"{" class=figure" if 1 < index < 8 else ""}>{name}</th>' if name else "<td></td>"
        for index, name in enumerate(_HEADINGS)
    )
    table = f'<table class="claims"><thead><tr>{headings}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    region = f'tabindex="0" role="region" aria-label="Claims of {head_name(layer, head)}"'
    return f'<div class="scroll" style="{css_variables(theme)}" {region}>{table}</div>'


def rivals_table(tested: ClaimResult, *, theme: Theme = LIGHT) -> str:
    """Draw a tested claim and its rivals as bars, the interval of the claim across its own."""
    kind = "holds" if tested.holds else "fails"
    rows = [_rival_row("The claim", tested.rate, kind, (tested.low, tested.high))]
    rows += [_rival_row(describe_rival(rival).capitalize(), rival.rate, "fails") for rival in tested.rivals]
    return f'<div style="{css_variables(theme)}"><table class="claims rivals"><tbody>{"".join(rows)}</tbody></table></div>'


def _rival_row(name: str, rate: float, kind: str, interval: tuple[float, float] | None = None) -> str:
    figure = f'<td class="figure">{whole_percent(rate)}</td>'
    return f'<tr class="{kind}"><td>{html.escape(name)}</td><td>{_bar(rate, interval)}</td>{figure}</tr>'


def _bar(rate: float, interval: tuple[float, float] | None, rival: float | None = None) -> str:
    """Draw a bar of a rate, the interval as a line across it, and a mark where the rival stands."""
    across = ""
    if interval:
        low, high = interval
        across = f'<b style="inset-inline-start:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"></b>'
    mark = "" if rival is None else f'<u style="inset-inline-start:{100 * rival:.1f}%"></u>'
    return f'<span class="measure"><i style="width:{100 * rate:.1f}%"></i>{across}{mark}</span>'


def distance_bars(shares: Float[np.ndarray, " bin"], *, theme: Theme = LIGHT) -> str:
    """Draw which share of a head's attention goes so many tokens back or on."""
    highest = max(float(shares.max()), 1e-12)
    bars = "".join(
        f'<i{" class=own" if step == 0 else ""} style="height:{100 * share / highest:.1f}%" '
        f'title="{signed(step, "+d")}: {100 * share:.1f}\xa0%"></i>'
        for step, share in zip(range(-FURTHEST, FURTHEST + 1), shares.tolist(), strict=True)
    )
    farthest = int(shares.argmax()) - FURTHEST
    label = f"Share of attention by distance; most, {whole_percent(shares.max())}, goes {signed(farthest, '+d')} tokens"
    ticks = f"<span>{FURTHEST} or more back</span><span>itself</span><span>{FURTHEST} or more on</span>"
    return (
        f'<div style="{css_variables(theme)}"><div class="distances" role="img" aria-label="{label}">{bars}</div>'
        f'<p class="ticks">{ticks}</p></div>'
    )


Case = TypeVar("Case", AtlasExample, HeadLink)


def suitable(sentences: Sequence[ParsedSentence], examples: Sequence[Case]) -> tuple[Case, ...]:
    """Choose the examples whose sentences may stand on a school's projector."""
    return tuple(example for example in examples if is_suitable(sentences[example.sentence].text))


def case_list(sentences: Sequence[ParsedSentence], examples: Sequence[AtlasExample], *, theme: Theme = LIGHT) -> str:
    """Draw sentences as buttons, first where a claim holds, then where it fails; a click picks "open:" and the sentence."""
    groups = []
    for holds, title in ((True, "Strongest cases where it holds"), (False, "Strongest cases where it fails")):
        cases = [_case(sentences[example.sentence], example) for example in examples if example.holds == holds]
        groups.append(f"<div><p>{title}</p>{''.join(cases)}</div>" if cases else "")
    return f'<div class="cases" style="{css_variables(theme)}">{"".join(groups)}</div>'


def link_list(sentences: Sequence[ParsedSentence], links: Sequence[HeadLink], *, theme: Theme = LIGHT) -> str:
    """Draw the sentences in which a head acts most strongly as buttons; a click picks "open:" and the sentence."""
    cases = "".join(_link(sentences[link.sentence], link) for link in links)
    return f'<div class="cases" style="{css_variables(theme)}">{cases}</div>'


def _link(sentence: ParsedSentence, link: HeadLink) -> str:
    text = _marked(sentence, link.word, link.looks, "mark")
    return _sentence_button("right", link.sentence, f"{text} <em>{whole_percent(link.weight)}</em>")


def _case(sentence: ParsedSentence, example: AtlasExample) -> str:
    away = "" if example.looks < len(sentence.words) else " <em>→ a special token</em>"
    text = _marked(sentence, example.word, example.looks, "mark" if example.holds else "s")
    return _sentence_button("right" if example.holds else "wrong", example.sentence, f"{text}{away}")


def _sentence_button(kind: str, number: int, body: str) -> str:
    return f'<button class="case {kind}" dir="auto" data-pick="open:{number}">{body}</button>'


def _marked(sentence: ParsedSentence, word: int, looks: int, element: str) -> str:
    """Write the sentence with the word that looks in bold, and the word that it looks at in an element of its own."""
    pieces, end = [], 0
    for index, each in enumerate(sentence.words):
        pieces.append(html.escape(sentence.text[end : each.start]))
        text = html.escape(sentence.text[max(each.start, end) : each.end])
        text = f"<{element}>{text}</{element}>" if index == looks else text
        pieces.append(f"<b>{text}</b>" if index == word else text)
        end = max(end, each.end)
    return "".join(pieces) + html.escape(sentence.text[end:])


# Claims, and what their chips say.
EXAMPLES = {
    "L2·H0: obj -> head": "L2·H0: object → its verb",
    "any: det -> head": "determiner → its noun",
    "any: compound -> head": "compound → its noun",
    "L1·H9: any -> previous": "L1·H9: word → the one before",
    'any: "he" | "she" -> PROPN': "“he” or “she” → a name",
    "any: pronoun -> antecedent": "pronoun → what it stands for",
}


def first_head(atlas: Atlas) -> tuple[int, int]:
    """Choose the head to look at unasked: the one whose claim about syntax is furthest above its rivals."""
    places = [
        (float(atlas.ahead[number, layer, head]), layer, head)
        for number, claim in enumerate(atlas.claims)
        if claim.text.endswith("-> head")
        for layer, head in atlas.holding(number)
    ]
    _, layer, head = max(places, default=(0.0, 0, 0))
    return layer, head


def atlas_blocks(
    atlas: Atlas, chosen: tuple[int, int], sentences: Sequence[ParsedSentence], *, find: int | None = None, theme: Theme = LIGHT
) -> list[Block]:
    """Show what the chosen head does, sentences in which it does it and in which not, and all heads."""
    layer, head = chosen
    cases = suitable(sentences, atlas.examples.get(f"{layer}.{head}", ()))
    opens = _opens(sentences, cases, atlas.model, layer, head)
    drawn = [PictureBlock("examples", case_list(sentences, cases, theme=theme), opens)] * bool(cases)
    grid = heads_grid(atlas, chosen=chosen, find=find, theme=theme)
    return [SentencesBlock(_atlas_sentences(atlas, chosen)), *drawn, PictureBlock("atlas", grid, head_picks(atlas.shape))]


def _atlas_sentences(atlas: Atlas, chosen: tuple[int, int]) -> tuple[Sentence, Sentence]:
    """Two sentences: what the chosen head does, and for how many heads a claim holds."""
    layer, head = chosen
    best, name = atlas.best(layer, head), head_words(layer, head)
    n_layers, n_heads = atlas.shape
    doing = sum(atlas.best(*place) is not None for place in np.ndindex(n_layers, n_heads))
    found = f"For {doing} of {n_layers * n_heads} heads we found something they do."
    if best is None:
        return (Part(name, True), Part(f": none of the {len(atlas.claims)} habits that were tried.")), (Part(found),)
    facts = atlas.claims[best]
    rate, rival = whole_percent(atlas.rates[best, layer, head]), whole_percent(facts.strongest_rival)
    source, target = claim_sides(parse(facts.text))
    return (
        Part(f"{source[0].upper()}{source[1:]} looks at {target}", strong=True),
        Part(f" {rate} of the time in {name}; the best simple rule, {rival}."),
    ), (Part(found),)


def evidence_blocks(
    atlas: Atlas, chosen: tuple[int, int], sentences: Sequence[ParsedSentence], *, theme: Theme = LIGHT
) -> list[Block]:
    """Show the claims of a head with their rivals, where it acts most strongly, and how far it looks."""
    layer, head = chosen
    name = head_name(layer, head)
    claims = {f"claim:{claim.text}": Pick({"claim": f"{name}: {claim.text}"}) for claim in atlas.claims}
    blocks: list[Block] = [
        TextBlock(f"What {name} does, and how sure that is", "heading"),
        PictureBlock("evidence", claims_table(atlas, layer, head, theme=theme), claims),
        TextBlock(
            "The orange line is what the best simple rule gets.", "caption", " Click one to test it again, with its sentences."
        ),
    ]
    if links := suitable(sentences, atlas.links.get(f"{layer}.{head}", ())):
        drawn, opens = link_list(sentences, links, theme=theme), _opens(sentences, links, atlas.model, layer, head)
        about = (
            f"Its largest weights from one word (bold) on another (marked), of {atlas.sentences:,} sentences. Special tokens, "
            "punctuation, the word itself and the first word of a decoder's text are left out: heads look there when they have "
            "nothing to do."
        )
        blocks += [
            TextBlock(f"**Sentences in which {name} acts most strongly**"),
            PictureBlock("links", drawn, opens),
            TextBlock(about, "caption"),
        ]
    distances = PictureBlock("distances", distance_bars(atlas.histogram[layer, head], theme=theme))
    return [*blocks, TextBlock(f"**How far {name} looks**, in tokens"), distances]


def _opens(
    sentences: Sequence[ParsedSentence], cases: Sequence[AtlasExample | HeadLink], model: str, layer: int, head: int | None
) -> dict[str, Pick]:
    """Open a clicked sentence on Encode, at the head."""
    place = {"layer": layer, "head": head, "mean": head is None or None, "words": True}
    return {
        f"open:{n}": Pick({"model": model, "text": sentences[n].text, **place}, "encode")
        for n in {each.sentence for each in cases}
    }


def verdict_blocks(report: ClaimReport, model: str, *, own: bool = False, theme: Theme = LIGHT) -> list[Block]:
    """Show the verdict in words that can be handed in, its rivals, and sentences, those where the claim holds first.

    `own`: somebody typed the sentences, which are shown whatever they say.
    """
    tested, sentences = report.result, report.sentences
    cases = report.cases if own else suitable(sentences, report.cases)
    said = SentencesBlock(((Part(describe_question(tested), True),), (Part(describe_verdict(tested)),)))
    opens = _opens(sentences, cases, model, tested.layer, tested.head)
    left = (said, PictureBlock("cases", case_list(sentences, cases, theme=theme), opens))
    return [ColumnsBlock(((3, left), (2, (PictureBlock("rivals", rivals_table(tested, theme=theme)),))))]


_HOW = """
- A word counts as correct where the head's largest weight goes where the claim says. Subwords are merged; unless the claim is
  about them, the word itself and special tokens are left out.
- Every second sentence chooses the head (where you write *any*) and the best fixed offset; the others are reported.
- A claim **holds** where it beats chance, the best fixed offset ("always the word before") and the best head of the same model
  untrained: by 5 points or more, and in a test corrected for multiple tests (Holm 1979).
- The interval is a bootstrap over sentences, 1,000 draws (Efron 1979). The method is that of
  Clark et al. 2019, *What Does BERT Look At?*, section 4, with intervals, an untrained model and held-out sentences added.
- The sentences are 1,500 of Universal Dependencies English EWT (CC BY-SA 4.0), and Winogender (MIT) for pronouns.
"""
_BELIEVE = """
- A claim that holds says where a head looks, not whether the model needs it: What if shows that.
- A head may do several things; its cell shows the one that is furthest ahead of the best simple rule.
- "Nothing found" means: none of the claims that were tried holds. What the head does may have no name in this list.
"""
# How a claim is tested, and how much to trust that.
HOW_CLAIMS = (
    FoldBlock("How a claim is tested", (TextBlock(_HOW),)),
    FoldBlock("How much to trust this", (TextBlock(_BELIEVE),)),
)
