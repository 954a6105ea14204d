"""Parts of another text, on What if: how far each moves one word's logit above another's, estimated first; files."""

from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.next_and_why import part_name
from attnviz.core.trace import Prompt
from attnviz.core.why import RANDOM_TEXTS, PatchCurve, Patches
from attnviz.export.next_and_why import draw_why, together_csv, why_file
from attnviz.figures import html as shared
from attnviz.figures.why_lens_and_patches import PART_PLACES, PARTS_STYLE, patch_blocks, together_blocks
from attnviz.models.base import AttentionModel, Progress
from attnviz.text.corpora import random_passages
from attnviz.ui.address.address_sync import value, visit_button
from attnviz.ui.background.jobs import stoppable
from attnviz.ui.background.results import computed, is_known
from attnviz.ui.blocks import show_blocks
from attnviz.ui.download import drawing_buttons, file_button
from attnviz.ui.explorer import clicked_head
from attnviz.ui.layout import Markup, escaped, theme
from attnviz.ui.whatif.view import TextPair, is_stopped, stop

_markup = Markup("patches", shared.STYLE + PARTS_STYLE)


def show_patches(pair: TextPair, heading: DeltaGenerator) -> tuple[Patches, PatchCurve | None] | None:
    """Draw what each part of the other text changes: as estimated, then as computed, then beside random texts, then many."""
    asked = (pair.model, pair.prompts[0], pair.prompts[1].text, pair.words, pair.what)
    said, drawn = heading.empty(), st.empty()
    known, patches, curve = is_known(_patches, *asked), None, None
    if not known:
        if (patches := _estimated_patches(*asked)) is None:
            return None
        _show(patches, "estimated", said, drawn)
    goes_on = (known and is_known(_patches_together, *asked)) or not is_stopped("patches")
    if known or goes_on:
        with stoppable(lambda: stop("patches")):
            exact = _patches(*asked)
            beside = _random_patches(*asked, patches=exact) if exact and goes_on else None
            patches = beside or exact
    if patches is None:
        return None
    _show(patches, "computed", said, drawn)
    _show_part(patches, pair, chosen_part(patches))
    if goes_on and patches.strongest:
        with stoppable(lambda: stop("patches")):
            curve = _patches_together(*asked, patches=patches)
    if curve:
        show_blocks(together_blocks(patches, curve, theme=theme()), _markup)
    return patches, curve


def _show(patches: Patches, stage: str, said: DeltaGenerator, drawn: DeltaGenerator) -> None:
    with drawn.container():
        show_blocks(patch_blocks(patches, chosen_part(patches), key=f"patches-{stage}", theme=theme()), _markup, said)


def chosen_part(patches: Patches) -> tuple[int, int]:
    """Return the row and column of the part that was clicked, or that the address names; else of the strongest."""
    names = PART_PLACES[patches.what]
    places = [place[: len(names)] for place in np.ndindex(patches.change.shape)]
    first = patches.strongest[0] if patches.strongest else (0, 0)
    # What was chosen of other parts, of which the address names no whole place here, is kept for them.
    place = (clicked_head(places, names) if value(names[-1]) is not None else None) or first
    return place[0], place[1] if len(place) > 1 else 0


def _show_part(patches: Patches, pair: TextPair, chosen: tuple[int, int]) -> None:
    """Offer the way from the chosen part to what it looks at."""
    row, column = chosen
    if patches.what == "mlps":
        return
    place = {"layer": row, "head": column} if patches.what == "heads" else {"layer": max(row - 1, 0), "query": column}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{escaped(part_name(patches, row, column))}**", width="content")
        visit_button(
            "See where it looks", "write", {"model": pair.model, "text": pair.prompts[0].text, **place},
            key="see-part", icon="visibility", help="Opens it on Write, in the first text.",
        )  # fmt: skip


@computed
def _estimated_patches(
    model: AttentionModel, progress: Progress, prompt: Prompt, other: str, words: tuple[str, str], what: str
) -> Patches:
    from attnviz.attribution.patching import estimate_patches

    progress(f"Estimating what parts of {model.card.name} change", None)
    return estimate_patches(model, prompt.text, other, *_words(words), what)


def _words(words: tuple[str, str]) -> tuple[str | None, str | None]:
    return words[0] or None, words[1] or None


@partial(computed, passes=40)
def _patches(
    model: AttentionModel, progress: Progress, prompt: Prompt, other: str, words: tuple[str, str], what: str
) -> Patches:
    from attnviz.attribution.patching import patch

    return patch(model, prompt.text, other, *_words(words), what, progress)


@partial(computed, passes=10)
def _random_patches(
    model: AttentionModel, progress: Progress, prompt: Prompt, other: str, words: tuple[str, str], what: str,
    *, patches: Patches,
) -> Patches:  # fmt: skip
    from attnviz.attribution.patching import patch_at_random

    return patch_at_random(model, patches, random_passages(RANDOM_TEXTS, len(patches.tokens[0])), progress)


@partial(computed, passes=20)
def _patches_together(
    model: AttentionModel, progress: Progress, prompt: Prompt, other: str, words: tuple[str, str], what: str,
    *, patches: Patches,
) -> PatchCurve:  # fmt: skip
    from attnviz.attribution.patching import patch_together

    return patch_together(model, patches, progress)


def offer_files(patches: Patches, curve: PatchCurve | None) -> None:
    """Offer the picture as a drawing, and its numbers as CSV."""
    with st.container(horizontal=True):
        drawing_buttons("patched", lambda: draw_why(patches))
        file_button("patched.csv", lambda: why_file(patches, "csv"))
        if curve is not None:
            file_button("together.csv", lambda: together_csv(curve), "CSV of the curve", "download_together")
