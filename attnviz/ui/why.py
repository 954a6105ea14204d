"""Why this word: what every head adds to it, what an opened head does, and what each layer would have said."""

from dataclasses import replace

import streamlit as st

from attnviz.analysis.why import describe_direct, describe_effect, describe_lens, why_title
from attnviz.analysis.write import candidate_label, continuation_of
from attnviz.core.trace import Prompt
from attnviz.core.why import LogitLens, Parts
from attnviz.core.write import Candidate
from attnviz.figures import html as shared
from attnviz.figures.why import STYLE, lens_strip, lens_table, parts_grid
from attnviz.models.base import AttentionModel, Progress
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import dropdown, forget, forget_cell, pin, segments, toggle, value
from attnviz.ui.background.results import computed
from attnviz.ui.layout import Markup, story, theme
from attnviz.ui.write import DRAWN, Upcoming

_markup = Markup("why", shared.STYLE + STYLE)
# What a person chooses to hear of no other word.
NOTHING = "nothing else"
_LENS_LABELS = {"probability": "Likeliest", "log p": "ln p", "rank": "Rank", "entropy": "Entropy"}
_LENS_CAPTIONS = {
    "probability": "What each layer would have said behind each token: the likeliest, as strong as it is likely.",
    "log p": "ln p, in each layer, of the word that the model itself says in the end.",
    "rank": "The place among all tokens, in each layer, of the word that the model itself says in the end.",
    "entropy": "How undecided each layer would have been, in bits.",
}
_TRUST = """
A logit is what a model computes of each word before it makes probabilities of them. All that the layers add to one stream is
summed in it, so the parts above are exact: with the factor of the last norm held fixed, nothing is left over.

- **What a head adds is not what depends on it.** Other heads and MLPs read what it wrote: switched off, more is lost, or less.
- **Where MLPs add most**, they often read what heads have brought: a small number of a head does not say that it is idle.
- **What a layer would have said** reads its stream as if it were the last one's. Small models say nonsense until their last
  layers, since nothing has taught the layers below to speak the last one's language (nostalgebraist 2020).
"""


def show_why(upcoming: Upcoming, result: Result, place: tuple[int, int | None]) -> None:
    """Offer why a word is written: computed when somebody asks, for the model has to run."""
    if not toggle(st.container(), "Why this word?", "why", on_change=lambda: forget("rather")):
        return
    if result.trace.edits:
        st.info("Why a word is written is computed without edits: remove them to see it.", icon=":material/info:")
        return
    rather = _rather_picker(upcoming)
    prompt, begins = result.prompt, continuation_of(upcoming.trace).written
    parts = _parts(result.name, prompt, begins, upcoming.place, rather, result=result)
    if parts is None:
        return
    layer, head = (place[0], place[1]) if place[1] is not None else parts.strongest

    def pick(picked: str) -> None:
        numbers = picked.split(".")
        if len(numbers) == 2 and all(each.isdecimal() for each in numbers):
            pin(*map(int, numbers))

    story(why_title(parts))
    left, right = st.columns([7, 5], gap="medium")
    with left:
        _markup("why-parts", parts_grid(parts, chosen=(layer, head), theme=theme()), pick)
        st.caption(
            "A word's probability is made of its logit: orange adds to it, blue takes from it. "
            "Click a head to see, below, where it looked."
        )
        lines = [describe_direct(parts, layer, head)]
        without = _without(result.name, prompt, begins, (upcoming.place, layer, head), rather, result=result)
        story(*lines, *([] if without is None else [describe_effect(parts, layer, head, without)]))
    with right:
        st.markdown("**What each layer would have said here**")
        lens = _lens(result.name, prompt, begins, upcoming.place, result=result)
        if lens is not None:
            _markup("why-lens", lens_strip(lens, 0, theme=theme()))
            story(describe_lens(lens, 0))
            st.caption(
                "The number is the word's place among all tokens there. Lower layers do not speak the last one's language: "
                "what they seem to say proves little."
            )
    _show_lens_table(result, begins, layer)
    with st.expander("How far to trust this", icon=":material/function:"):
        st.markdown(_TRUST)


def _show_lens_table(result: Result, begins: tuple[str, ...], layer: int) -> None:
    """Draw, where somebody asks for it, what each layer would have said behind every token; a click opens what it looks at."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    if not toggle(row.container(width="content"), "At every position", "positions"):
        return
    number = segments(row.container(width="content"), "In the cells", "lens", format_func=_LENS_LABELS.__getitem__)
    lens = _lens_everywhere(result.name, result.prompt, begins, result=result)
    if lens is None:
        return
    query = value("query")
    chosen = (layer + 1, len(lens.tokens) - 1 if query is None else query)

    def pick(picked: str) -> None:
        numbers = picked.split(".")
        if len(numbers) == 2 and all(each.isdecimal() for each in numbers):
            forget_cell()
            pin(max(int(numbers[0]) - 1, 0), value("head", 0))
            st.session_state.query = int(numbers[1])

    _markup("why-lens-table", lens_table(lens, number, chosen=chosen, theme=theme()), pick)
    st.caption(
        _LENS_CAPTIONS[number]
        + " Outlined: the model's own next word is the likeliest. Click a cell to see, below, where it looks."
    )


def _rather_picker(upcoming: Upcoming) -> Candidate | None:
    """Ask which word the word is compared with: unasked, the likeliest other one."""
    continuation = continuation_of(upcoming.trace)
    others = [each for each in continuation.next_tokens(upcoming.place - 1)[:DRAWN] if each.piece != upcoming.piece]
    known: dict[str, Candidate] = {}
    for each in others:
        label = candidate_label(each, upcoming.before)
        # Of two that read alike the less likely one is known by its piece.
        known[each.piece if label in known else label] = each
    options = [*known, NOTHING]
    chosen = dropdown(st.container(width=280), "Rather than", "rather", options=options, default=options[0])
    return known.get(chosen)


@computed
def _parts(
    model: AttentionModel, progress: Progress, prompt: Prompt, begins: tuple[str, ...], place: int, rather: Candidate | None,
    *, result: Result,
) -> Parts:  # fmt: skip
    from attnviz.attribution import why

    return why.parts(replace(result, model=model), rather_than=rather, position=place)


@computed
def _without(
    model: AttentionModel, progress: Progress, prompt: Prompt, begins: tuple[str, ...], at: tuple[int, int, int],
    rather: Candidate | None, *, result: Result,
) -> float:  # fmt: skip
    """Compute the score of the word without a head; `at` is the word's position, the head's layer and the head."""
    from attnviz.attribution import why

    position, layer, head = at
    same = replace(result, model=model)
    return why.without_head(same, layer=layer, head=head, rather_than=rather, position=position)


@computed
def _lens(
    model: AttentionModel, progress: Progress, prompt: Prompt, begins: tuple[str, ...], place: int, *, result: Result
) -> LogitLens:
    from attnviz.attribution import why

    return why.lens(replace(result, model=model), position=place)


@computed
def _lens_everywhere(
    model: AttentionModel, progress: Progress, prompt: Prompt, begins: tuple[str, ...], *, result: Result
) -> LogitLens:
    from attnviz.attribution import why

    progress(f"Reading every layer of {model.card.name}", None)
    return why.lens(replace(result, model=model))
