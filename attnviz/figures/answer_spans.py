"""A passage with the answer marked in place and bars under its tokens; and start × end, where the answer is found."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attnviz.analysis.answer_attention import Joint
from attnviz.analysis.head_view import HeadMatrix
from attnviz.analysis.wording import head_words, percent, whole_percent
from attnviz.core.trace import Token
from attnviz.figures.html import label, space_between
from attnviz.figures.matrix import STYLE as MATRIX
from attnviz.figures.matrix import Marks, one_matrix
from attnviz.figures.theme import LIGHT, Theme, css_variables, ink_on
from attnviz.text.words import Span

_WORDS = Path(__file__).parent / "explorer" / "clickable_words.css"
STYLE = MATRIX + "\n".join(path.read_text(encoding="utf-8") for path in (Path(__file__).with_name("answer_spans.css"), _WORDS))
BAR_PIXELS = 22
LEAST_MARKED = 0.005
# Of a longer passage only so many tokens are drawn: a browser lays out no book in an instant.
MOST_DRAWN = 2_400


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars under the tokens of a passage, one a token: what they are called, and how high; the highest of all is full."""

    name: str
    values: Float[np.ndarray, " token"]


def marked_answer(
    text: str,
    tokens: Sequence[Token],
    spans: Sequence[Span],
    bars: Sequence[Bars],
    *,
    declined: bool = False,
    theme: Theme = LIGHT,
) -> str:
    """Draw the whole passage as HTML: the best span marked, the others lighter and numbered, bars under every token.

    `declined`: the model gives no answer, and its best span is marked as lightly as the others. All text is escaped and keeps
    its own direction.

    >>> drawn = marked_answer("a<b ok", (Token("a<b", 0, 3), Token("ok", 4, 6)), [Span(1, 1, 0.9)], [])
    >>> "a&lt;b" in drawn, drawn.count('class="span best"')
    (True, 1)
    """
    highest = _highest(bars)
    opens = {span.start: rank for rank, span in enumerate(spans)}
    closes = {span.end for span in spans}
    first, last = _drawn(len(tokens), spans)
    pieces, end = [f'<span class="unread">… {first:,} tokens before … </span>' if first else ""], tokens[first].start
    for index in range(first, last):
        token = tokens[index]
        gap = space_between(text[end : token.start])
        opened = _span_start(opens[index], spans[opens[index]], declined) if index in opens else ""
        pieces.append(f"{gap}{opened}{_unit(token, bars, index, highest)}{'</span>' if index in closes else ''}")
        end = max(end, token.end)
    pieces.append(f'<span class="unread"> … {len(tokens) - last:,} tokens after …</span>' if last < len(tokens) else "")
    return f'<div class="answered long" dir="auto" style="{css_variables(theme)}">{"".join(pieces)}</div>'


def _highest(bars: Sequence[Bars]) -> float:
    """Return the value of a bar of full height."""
    return max((float(each.values.max(initial=0.0)) for each in bars), default=0.0) or 1.0


def _drawn(n_tokens: int, spans: Sequence[Span]) -> tuple[int, int]:
    """Choose the tokens that are drawn, with the best span in the middle; no span is cut in two."""
    middle = spans[0].start if spans else 0
    first = max(min(middle - MOST_DRAWN // 2, n_tokens - MOST_DRAWN), 0)
    last = min(first + MOST_DRAWN, n_tokens)
    for span in spans:
        first = span.end + 1 if span.start < first <= span.end else first
        last = span.start if span.start < last <= span.end else last
    return first, last


def _unit(token: Token, bars: Sequence[Bars], index: int, highest: float) -> str:
    drawn = "".join(_bar(number, float(each.values[index]), highest) for number, each in enumerate(bars))
    values = " · ".join(f"{each.name} {each.values[index]:.4f}" for each in bars)
    return f'<span class="unit" title="{html.escape(values)}"><bdi>{label(token)}</bdi><span class="bars">{drawn}</span></span>'


def _span_start(rank: int, span: Span, declined: bool) -> str:
    is_unlikely = span.probability < LEAST_MARKED
    # The sentence above names the two best; of the others, those count that are more than nothing.
    if is_unlikely and rank > 1:
        return f'<span data-rank="{rank + 1}">'
    kind = "span best" if rank == 0 and not declined else "span"
    first = " data-first" if rank == 0 else ""
    share = "&lt;1\xa0%" if is_unlikely else whole_percent(span.probability)
    badge = f'<span class="rank">{rank + 1} · {share}</span>'
    return f'<span class="{kind}"{first} data-rank="{rank + 1}">{badge}'


def _bar(number: int, value: float, highest: float) -> str:
    return f'<i class="bar{number}" style="height:{min(value / highest, 1.0) * BAR_PIXELS:.1f}px" data-value="{value:.6f}"></i>'


def question_and_passage(question: str, passage: str, bars: Sequence[Bars], *, above: str, theme: Theme = LIGHT) -> str:
    """Join a question (`question_buttons`) and its passage (`marked_answer`), with the bars' names between them.

    `above` says what the numbers at the question's words are, and what a click on one does.

    >>> drawn = question_and_passage("<p>Who?</p>", "<p>Me.</p>", [Bars("a<b", np.zeros(1))], above="Click a word.")
    >>> drawn.index("Click") < drawn.index("Who?") < drawn.index("a&lt;b") < drawn.index("Me.")
    True
    """
    legend = "".join(f'<span><i class="bar{number}"></i>{html.escape(each.name)}</span>' for number, each in enumerate(bars))
    legend += f"<span>the tallest bar is {percent(_highest(bars))}</span>"
    note = f'<p class="note">{html.escape(above)}</p>'
    return f'<div style="{css_variables(theme)}">{note}{question}<p class="legend">{legend}</p>{passage}</div>'


def question_buttons(
    tokens: Sequence[Token],
    shares: Float[np.ndarray, " token"],
    *,
    chosen: int | None = None,
    full_scale: bool = True,
    theme: Theme = LIGHT,
) -> str:
    """Draw a question as buttons, one a word (`data-pick` is its place), shaded by `shares`, 0 to 1 or to the largest."""
    highest = 1.0 if full_scale else float(shares.max(initial=0.0)) or 1.0
    buttons = []
    for index, (token, share) in enumerate(zip(tokens, shares, strict=True)):
        colour = theme.colour(float(share) / highest)
        kind = ("word special" if token.special else "word") + (" chosen" if index == chosen else "")
        buttons.append(
            f'<button class="{kind}" data-pick="{index}" data-share="{share:.6f}">'
            f'<bdi style="background:{colour};color:{ink_on(colour)}">{label(token)}</bdi><em>{share:.2f}</em></button>'
        )
    return f'<div class="asked" dir="auto" style="{css_variables(theme)}">{"".join(buttons)}</div>'


def first_heads(
    heads: Sequence[tuple[tuple[int, int], float]], names: tuple[str, str], chosen: tuple[int, int | None], theme: Theme = LIGHT
) -> str:
    """List heads with what they give to a link, each a button (`data-pick`), as the explorer lists them.

    names  of the words that look, and of the one that is looked at
    """
    rows = "".join(
        f'<li><button data-pick="{layer}.{head}" aria-pressed="{str((layer, head) == chosen).lower()}">'
        f"<span>{head_words(layer, head)}</span>"
        f'<span class="bar-room" aria-hidden="true"><i style="width:{100 * weight:.1f}%"></i></span><b>{percent(weight)}</b>'
        "</button></li>"
        for (layer, head), weight in heads
    )
    who, whom = (f"<strong><bdi>{html.escape(name)}</bdi></strong>" for name in names)
    caption = f'<p class="note">Which heads link {who} to {whom}?</p>'
    return f'<div class="first" style="{css_variables(theme)}">{caption}<ol class="first-heads">{rows}</ol></div>'


def joint_matrix(joint: Joint, *, theme: Theme = LIGHT) -> str:
    """Draw how likely each span is: starts down, ends across, the best numbered in their cells; what is no span is masked."""
    size = joint.probabilities.shape
    matrix = HeadMatrix(
        weights=np.where(joint.legal, joint.probabilities, 0).astype(np.float32),
        visible=joint.legal,
        queries=joint.starts,
        keys=joint.ends,
        rows=tuple(range(size[0])),
        columns=tuple(range(size[1])),
        own=(None,) * size[0],
    )
    marks = Marks(selected=joint.marks[0] if joint.marks else None, ranks=joint.marks)
    return one_matrix(matrix, marks, number="probability", full_scale=False, theme=theme)
