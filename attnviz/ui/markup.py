"""HTML that figures have made, mounted on the page: a click on what has `data-pick` comes back to Python."""

from collections.abc import Callable

from streamlit.components.v2 import component

from attnviz.figures.html import SCRIPT
from attnviz.ui.address.widgets import sent


class Markup:
    """A component of its own name and style; call it with a key, the HTML, and what is to be done with what is picked."""

    def __init__(self, name: str, style: str) -> None:
        self._mount = component(f"attnviz.{name}", html='<div class="markup"></div>', css=style, js=SCRIPT)

    def __call__(self, key: str, body: str, on_pick: Callable[[str], None] | None = None) -> None:
        def picked() -> None:
            if on_pick and (value := sent(key, "picked")) is not None:
                on_pick(value)

        # In a list: of a bare text Streamlit imports pandas, half a second, to see whether it is a table.
        self._mount(key=key, data=[body], on_picked_change=picked)
