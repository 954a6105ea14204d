"""What a question of a lesson is guessed on, as JavaScript that draws it wherever it is asked."""

from pathlib import Path

from attnviz.figures.html import bundle

_FOLDER = Path(__file__).parent
# For a Streamlit component; `drawGuess` of guess.js draws the same in any other page.
SCRIPT = bundle(_FOLDER / "streamlit.js")
STYLE = (_FOLDER / "guess.css").read_text(encoding="utf-8")
