"""The style of every page. It stands in the page before anything is drawn, and this module does not need Streamlit."""

from pathlib import Path


def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


# Within `:root` each rule counts more than Streamlit's own of the same element, which the browser reads later.
STYLE = f":root {{ {_read('layout.css')} }}\n{_read('present.css')}"
