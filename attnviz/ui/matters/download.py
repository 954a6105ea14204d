"""What can be taken along from the page Matters."""

import re
from collections.abc import Callable

import streamlit as st

from attnviz.analysis.matters.faithfulness import AttributionReport, Removals
from attnviz.attribution.methods import titles_of
from attnviz.core.trace import Prompt
from attnviz.export import FORMATS, png, svg
from attnviz.export.matters import report as exported
from attnviz.export.python import prompt_expression


def offer_files(model: str, prompt: Prompt, target: str, report: AttributionReport, way: str, curve: Removals | None) -> None:
    """The text by the way that is looked at and all ways under each other as a drawing, their numbers, and the Python."""
    about = f", target={target!r}" if target else ""
    python = "\n".join([
        "import attnviz as av",
        "from attnviz.attribution.methods import attribute",
        "",
        f"shares = attribute(av.load({model!r}), {_prompt(prompt)}, {way!r}{about})",
        "for token, share in zip(shares.tokens, shares.values):",
        '    print(f"{token.text:20} {share:+.3f}")',
        "",
    ])  # fmt: skip
    name = re.sub(r"[^\w.-]+", "-", f"{model}-matters").strip("-.")
    titles = titles_of({way, *report.figures})
    st.caption("The text, and all ways under each other")
    with st.container(horizontal=True):
        _button("SVG", f"{name}.svg", lambda: svg.sheet_svg(exported.draw_attribution(report, way, titles)))
        _button("PNG", f"{name}.png", lambda: png.sheet_png(exported.draw_attribution(report, way, titles)))
        _button("CSV", f"{name}.csv", lambda: exported.shares_csv(report))
        _button("JSON", f"{name}.json", lambda: exported.attribution_json(report, way, curve))
    with st.expander("The same in Python", icon=":material/code:"):
        st.code(python, language="python", wrap_lines=True)


def _button(label: str, file: str, data: Callable[[], bytes]) -> None:
    kind = file.rsplit(".", 1)[-1]
    st.download_button(label, data, file, FORMATS[kind].media_type, key=f"download_{kind}", on_click="ignore")


def _prompt(prompt: Prompt) -> str:
    written = prompt_expression(prompt)
    return written if written.startswith("av.") else f"av.Prompt({written})"
