"""The parts of the page Matters: what is asked, rows of shaded text, a table of how well each way did, the verdict."""

import html
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.faithfulness import kendall_tau, verdict
from attnviz.analysis.report import Report, Without
from attnviz.analysis.ways import WAYS
from attnviz.core.errors import PromptError
from attnviz.core.trace import Prompt
from attnviz.figures.matters.deletion import deletion_figure
from attnviz.figures.matters.shaded_text import STYLE, shaded_text
from attnviz.models.catalog import CATALOG, HUB
from attnviz.ui.address.state import publish, remember, remembered, value
from attnviz.ui.address.widgets import dropdown
from attnviz.ui.boxes import Box, run_boxes
from attnviz.ui.examples import examples
from attnviz.ui.layout import escaped, theme
from attnviz.ui.markup import Markup
from attnviz.ui.permissions import check_length

FAST = tuple(way.name for way in WAYS.values() if not way.slow)
SLOW = tuple(way.name for way in WAYS.values() if way.slow)
# A window has room for so many; the others stand below the fold.
IN_HERO = 3
_SHADED = Markup("shaded", STYLE)
# What the second box is for, by what the model does.
_SECOND = {"answer": "Question", "encode": "Second text", "translate": "Translation, if not the model's own"}


def text_boxes(model: str) -> Prompt | None:
    """What is typed for a model: a text, and what else it reads; None after the page has said what is wrong."""
    first = examples("answer")[0]
    known = CATALOG[model].task if model in CATALOG else "translate" if model in HUB["encoder-decoder"] else "encode"
    boxes, run = [Box("typed", "Text", "Type a text")], {"typed": remembered("text", first.text)}
    if known in _SECOND:
        boxes.append(Box("typed_pair", _SECOND[known], "Type it here", one_line=True))
        run["typed_pair"] = remembered("pair", first.question)
    if typed := run_boxes(boxes, run):
        _take([])
        run = typed
    text, second = run["typed"], run.get("typed_pair", "")
    remember("text", text, first.text)
    if known in _SECOND:
        remember("pair", second, first.question)
    try:
        check_length(text, second)
        if known == "translate":
            return Prompt(text, target=second if second != first.question else None)
        return Prompt(text, question=second or None, pair=second or None)
    except PromptError as error:
        st.error(escaped(error), icon=":material/edit:")
        return None


def taken_words(report: Report) -> tuple[int, ...]:
    """The words that the person has taken away, as the address has them."""
    written = str(value("taken", ""))
    places = {int(part) for part in written.split(".") if part.isdecimal() and len(part) < 6}
    return tuple(sorted(place for place in places if place < len(report.words) and place not in report.own))


def _take(places: Sequence[int]) -> None:
    st.session_state.taken = ".".join(map(str, places))


def publish_taken(places: Sequence[int]) -> None:
    """Write the words that were taken into the address."""
    publish("taken", ".".join(map(str, places)), "")


def headline(report: Report, told: DeltaGenerator) -> None:
    """What is asked about, how likely it is, and how far the picture is to be believed."""
    figures = report.figures
    best = max((name for name in figures if name != "random"), key=lambda name: figures[name].comprehensiveness)
    told.html(f'<p class="answer" dir="auto">{_plain(report.target)} · {report.probability:.0%}</p>')
    if "attention" in figures:
        told.markdown(escaped(verdict(figures, "attention", best, figures["random"])))


def show_rows(report: Report, names: Sequence[str], taken: Sequence[int]) -> None:
    """A row a way: its name, and the text shaded by its shares. A click takes a word away, another gives it back."""

    def pick(picked: str) -> None:
        _take(sorted({*taken} ^ {int(picked)}))

    for name in names:
        if name == "random":
            continue
        if name in report.refused:
            st.caption(f"**{WAYS[name].title}** · {escaped(report.refused[name])}")
        elif name in report.shares:
            figure = report.figures[name]
            st.caption(f"**{WAYS[name].title}** · takes {figure.comprehensiveness:.2f} from p · {figure.milliseconds:,.0f} ms")
            _SHADED(
                f"shaded-{name}",
                shaded_text(report.words, report.shares[name], own=report.own, taken=taken, theme=theme()),
                on_pick=pick,
            )


def show_taken(report: Report, taken: Sequence[int], then: Without) -> None:
    """What the model says without the words that were taken, and the way back."""
    names = ", ".join(f"“{report.words[place]}”" for place in taken)
    kept = "still" if then.says and then.says in report.target else "now"
    says = "" if then.says is None else f" The model {kept} says “{then.says}”."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(escaped(f"Without {names}, p goes from {report.probability:.0%} to {then.probability:.0%}.{says}"))
        st.button("Give them back", icon=":material/undo:", on_click=_take, args=([],))


def show_table(report: Report, slow: Report | None = None) -> None:
    """How well each way did on this text, beside chance; with the slow ways, how far each agrees with leaving words out."""
    shares, figures = dict(report.shares), dict(report.figures)
    if slow:
        shares, figures = {**slow.shares, **shares}, {**slow.figures, **figures}
    places = [place for place in range(len(report.words)) if place not in report.own]
    left_out = shares.get("leave-one-out")
    rows = [
        {
            "Way": WAYS[name].title,
            "Takes": round(figures[name].comprehensiveness, 2),
            "Alone": round(figures[name].sufficiency, 2),
            "τ": None if left_out is None else round(kendall_tau(shares[name][places], left_out[places]), 2),
        }
        for name in sorted(figures, key=lambda name: -figures[name].comprehensiveness)
    ]
    st.dataframe(rows, hide_index=True, width="stretch", height=35 * (len(rows) + 1) + 3)
    st.caption(
        "Takes: how far p(output) falls when the most important 1, 5, 10, 20 and 50 % of the words go, on average; more is "
        "better. Alone: how far it falls when only they stay; less is better. τ: how far the order agrees with leaving one "
        "word out, −1 to 1. Chance takes words in any order."
    )


def show_curve(report: Report) -> None:
    """p(output) while words go in one way's order."""
    names = [name for name in FAST if name in report.curves]
    way = dropdown(st.container(), "Order by", "way", options=names, format_func=lambda name: WAYS[name].title)
    curve = report.curves[way]
    st.plotly_chart(
        deletion_figure(curve, theme=theme()), key="curve", theme=None, config={"displayModeBar": False},
        alt=f"p of the output falls from {curve.most_first[0]:.2f} as words go in the order of {WAYS[way].title}.",
    )  # fmt: skip


def _plain(text: str) -> str:
    return html.escape(text[:1].upper() + text[1:])
