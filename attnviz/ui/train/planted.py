"""Which way of asking finds the truth, on request: the ways of Matters, tested where the right alignment is known."""

import streamlit as st

from attnviz.analysis.matters.planted_truth import PlantedScores, describe_ranking
from attnviz.attribution.methods import USUAL, titles_of
from attnviz.figures.html import STYLE
from attnviz.figures.train.planted import STYLE as TABLE_STYLE
from attnviz.figures.train.planted import planted_table
from attnviz.models.base import Progress
from attnviz.models.translate import toy as toys
from attnviz.training.live import LiveRun
from attnviz.training.toy import Frame
from attnviz.ui.address.widgets import toggle
from attnviz.ui.background.jobs import shared
from attnviz.ui.background.results import traces_kept
from attnviz.ui.layout import story, theme
from attnviz.ui.markup import Markup

# Held-out sequences that are asked about, and checkpoints at most.
SEQUENCES, CHECKPOINTS = 4, 6
PIXELS = 440
_markup = Markup("planted", STYLE + TABLE_STYLE)
_ABOUT = (
    f"Each way is asked where every written token of {SEQUENCES} held-out sequences comes from. The number is the part of what "
    "speaks for it that lies beside the right places: 0 finds all of it, 1 nothing. The model reads the true tokens before it."
)


def show_planted(run: LiveRun) -> None:
    """How near every way comes to the true alignment, at some of the kept checkpoints."""
    if not toggle(st.container(), "Which way of asking finds the truth?", "truth", help="The ways of Matters, tested here."):
        return
    frames, recipe = _some(run.frames), run.recipe

    def work(progress: Progress) -> tuple[PlantedScores, ...]:
        from attnviz.attribution.planted import planted_scores

        scores = []
        for place, frame in enumerate(frames):
            progress(f"Asking the model after {frame.step:,} steps", place / len(frames))
            model = toys.toy_model(recipe.model, frame.weights)
            scores.append(planted_scores(model, run.training.held_out.solved[:SEQUENCES], USUAL, step=frame.step))
        kept.weigh(key, sum(each.nbytes for each in scores))
        return tuple(scores)

    kept, key = traces_kept(), ("planted", recipe, tuple(frame.step for frame in frames))
    scores = shared(kept, key, work, st.empty(), pixels=PIXELS)
    titles = titles_of(method.name for method in USUAL)
    story(describe_ranking(scores, titles))
    _markup("planted", planted_table(scores, titles, theme=theme()))
    st.caption(_ABOUT)


def _some(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The first, the last, and evenly many between them."""
    last, most = len(frames) - 1, CHECKPOINTS - 1
    return tuple(frames[place] for place in sorted({round(step * last / most) for step in range(CHECKPOINTS)}))
