"""A question as JavaScript draws it wherever it is asked: beside a page, on a phone and a wall, on a page without a server."""

from pathlib import Path

from attnviz.figures.html import bundle

_FOLDER = Path(__file__).parent
# For a Streamlit component; `drawQuestion` of question.js draws the same in any other page.
SCRIPT = bundle(_FOLDER / "streamlit.js")
STYLE = (_FOLDER / "question.css").read_text(encoding="utf-8")
