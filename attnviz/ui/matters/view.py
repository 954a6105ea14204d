"""The picture of the page Matters: the output, the text by one way, all ways under each other, and the curve of one."""

import html

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.matters.faithfulness import AttributionReport, Removals, Without, verdict
from attnviz.attribution.methods import METHODS, method_named, titles_of
from attnviz.figures import html as shared
from attnviz.figures.matters.deletion import deletion_figure
from attnviz.figures.matters.methods import STYLE as WAYS_STYLE
from attnviz.figures.matters.methods import ways_table
from attnviz.figures.matters.shaded_text import STYLE as TEXT_STYLE
from attnviz.figures.matters.shaded_text import shaded_text
from attnviz.ui.address.state import value
from attnviz.ui.address.widgets import one_shown
from attnviz.ui.layout import escaped, theme
from attnviz.ui.markup import Markup
from attnviz.ui.matters.controls import take

FAST = tuple(method.name for method in METHODS.values() if method.speed == "fast")
SLOW = tuple(method.name for method in METHODS.values() if method.speed != "fast")
_SHADED = Markup("shaded", TEXT_STYLE)
_WAYS = Markup("ways", shared.STYLE + WAYS_STYLE)
_FIGURES = """
- **Takes**: how far p(output) falls when the most important 1, 5, 10, 20 and 50 % of the words go, on average; more is better,
  and the upright line is what chance takes.
- **Alone**: how far it falls when only they stay; less is better (DeYoung et al. 2020).
- **τ**: how far the order agrees with leaving one word out, −1 to 1 (Kendall).
- A word that goes leaves the model's mask, or its mark for the unknown. The output's own words, underlined, never go.
- One text is an anecdote, and a text with holes is one that the model has never seen. `attnviz faithful` measures the same over
  a data set; the page Limits of the documentation has what it found.
"""


def names_of(seen: str) -> tuple[str, ...]:
    """The ways that are asked at once; first the head from which somebody came."""
    return (seen, *FAST) if seen else FAST


def asks_slow() -> bool:
    """Whether the way that is looked at is a slow one: then the page waits for it."""
    return value("way") in SLOW


def chosen_way(report: AttributionReport) -> str:
    """The way whose shares the text has: chosen, else the head from which somebody came, else attention."""
    ready = [name for name in report.shares if name != "random"]
    heads = [name for name in ready if name not in METHODS]
    first = next(name for name in (*heads, "attention", ready[0]) if name in ready)
    return one_shown("way", ready, first)


def headline(report: AttributionReport, way: str, place: DeltaGenerator) -> None:
    """What is asked about, how likely it is, and how far the way that is looked at is to be believed."""
    figures = report.figures
    best = max((name for name in figures if name != "random"), key=lambda name: figures[name].comprehensiveness)
    place.html(f'<p class="answer" dir="auto">{_capital(report.target)} <small>p = {report.probability:.0%}</small></p>')
    looked_at = way if way in figures else "attention"
    named = {name: _quoted(_lower(method_named(name).title)) for name in figures}
    renamed = {named[name]: figure for name, figure in figures.items()}
    sentence = verdict(renamed, named[looked_at], named[best], figures["random"])
    place.html(f'<div class="story verdict"><p>{html.escape(sentence)}</p></div>')


def show_text(report: AttributionReport, way: str, taken: tuple[int, ...]) -> None:
    """The text by one way. A click takes a word away, another gives it back."""

    def pick(picked: str) -> None:
        if picked.isdecimal():
            take(sorted({*taken} ^ {int(picked)}))

    _SHADED("shaded", shaded_text(report.words, report.shares[way], own=report.own, taken=taken, theme=theme()), on_pick=pick)


def show_ways(place: DeltaGenerator, report: AttributionReport, names: tuple[str, ...], way: str, *, waits: bool) -> None:
    """All ways under each other; a click chooses one. While the slow ones are asked they have their rows already."""

    def pick(picked: str) -> None:
        if picked.startswith("way:"):
            st.session_state.way = picked[4:]

    waiting = SLOW if waits else ()
    # One stands in the place of the other: a name stands once in a run.
    name = "ways-fast" if waits else "ways-all"
    with place.container():
        _WAYS(name, ways_table(report, titles_of(names), chosen=way, waiting=waiting, theme=theme()), on_pick=pick)


def show_taken(report: AttributionReport, taken: tuple[int, ...], then: Without | None) -> None:
    """What the model says without the words that were taken, and the way back; or that words can be taken."""
    with st.container(horizontal=True, vertical_alignment="center", key="desk-taken"):
        if not taken or then is None:
            st.caption(
                ":material/touch_app: Red speaks for the output, blue against it. Click a word to take it away, and see what "
                "the model says then."
            )
            return
        names = ", ".join(f"“{report.words[place]}”" for place in taken)
        kept = "still" if then.says and then.says in report.target else "now"
        says = "" if then.says is None else f" The model {kept} says “{then.says}”."
        st.markdown(escaped(f"Without {names}, p goes from {report.probability:.0%} to {then.probability:.0%}.{says}"))
        st.button("Give them back", icon=":material/undo:", on_click=take, args=([],))


def show_curve(curve: Removals, way: str) -> None:
    """p(output) while words go in the order of the way that is looked at."""
    title = _lower(method_named(way).title)
    st.subheader("What if words go?", anchor=False)
    st.caption(f"In the order of {escaped(title)}; the further apart the two lines are, the better the order.")
    st.plotly_chart(
        deletion_figure(curve, theme=theme()), key="curve", theme=None, config={"displayModeBar": False},
        alt=f"p of the output falls from {curve.most_first[0]:.2f} as words go in the order of {title}.",
    )  # fmt: skip


def explained() -> None:
    """What the figures are, and how much to trust them."""
    st.subheader("How to read this", anchor=False)
    st.markdown(_FIGURES)


def _capital(text: str) -> str:
    return html.escape(text[:1].upper() + text[1:])


def _quoted(title: str) -> str:
    # In a sentence a comma of its own would end the name.
    return f"“{title}”" if "," in title else title


def _lower(title: str) -> str:
    # "L2·H1" is a name.
    return title if title[:1] == "L" and title[1:2].isdigit() else title[:1].lower() + title[1:]
