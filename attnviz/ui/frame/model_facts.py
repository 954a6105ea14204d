"""Below in the sidebar: where a model ran, how long it took, and how large it is."""

import html
from collections.abc import Iterable

import streamlit as st

from attnviz.models.base import ModelCard
from attnviz.models.result import Result


def machine(result: Result) -> None:
    """Where the model ran, how long it took, and what it is."""
    card = result.card
    if result.file:
        st.sidebar.caption("Out of a file: no model ran here.")
        return
    ran = f"Runs on {_device(card)} · {_duration(result)}" if result.seconds else "Saved result: the model has not run now."
    lines = [ran, f"{number(card.parameters)} parameters"]
    if len(card.languages) > 1:
        lines.append(f"Reads {card.languages[0]}, writes {card.languages[1]}")
    weights = card.weights if card.weights.split(",")[0].endswith(" weights") else f"Weights: {card.weights}"
    st.sidebar.caption("  \n".join(lines + [weights] * bool(card.weights)))


def machines(results: Iterable[Result]) -> None:
    """The same of models that stand side by side, each with its name."""
    for each in results:
        card = each.card
        ran = f"{_device(card)} · {_duration(each)}" if each.seconds else "saved result"
        figures = f"{number(card.parameters)} parameters · {ran}"
        st.sidebar.html(f'<p class="machine"><bdi>{html.escape(card.name)}</bdi><br>{figures}</p>')


def _duration(result: Result) -> str:
    return f"{result.seconds * 1000:,.0f} ms"


def _device(card: ModelCard) -> str:
    return "CPU" if card.device == "cpu" else card.device.upper()


def number(count: int) -> str:
    """23 million as "23 M"."""
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return str(count)
