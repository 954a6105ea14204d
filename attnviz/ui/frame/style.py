"""The style of every page. It stands in the page before anything is drawn, and this module does not need Streamlit."""

from pathlib import Path

_FRAME = Path(__file__).parent
_LAYOUT = (_FRAME.parent / "layout.css").read_text(encoding="utf-8")
_PRESENT = (_FRAME / "present.css").read_text(encoding="utf-8")

# Within `:root` each rule counts more than Streamlit's own of the same element, which the browser reads later.
STYLE = f":root {{ {_LAYOUT} }}\n{_PRESENT}"
