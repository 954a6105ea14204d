"""What if: what changes where another word stands, a head is off, another model reads, or parts are another text's."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.whatif_comparison import Comparison, compare
from attnviz.core.edits import NO_EDITS
from attnviz.core.errors import TraceError
from attnviz.core.trace import HeadCosts
from attnviz.figures.blocks import notice_blocks
from attnviz.figures.whatif_grids_and_matrices import HOW_COMPARED, HOW_COSTS
from attnviz.figures.why_lens_and_patches import HOW_PATCHED
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import finish, value
from attnviz.ui.background.jobs import stoppable
from attnviz.ui.background.results import run
from attnviz.ui.blocks import show_blocks
from attnviz.ui.download import show_toolbar
from attnviz.ui.frame.sidebar import forced_target, language_picker, machine, map_picker, own_language_button
from attnviz.ui.layout import escaped, header, hero
from attnviz.ui.prompt_box import show_text_notices
from attnviz.ui.training_checkpoints import side
from attnviz.ui.whatif import patches as patches_view
from attnviz.ui.whatif import view


def switch_heads_off() -> None:
    """Switch every head off in turn, and show what that costs the output."""
    ablation = view.ablation_controls()
    if ablation is None or view.is_stopped("costs"):
        return
    result = run(ablation.model, "encode", ablation.prompt)
    if result:
        language_picker(result.card, st.sidebar)
        ablation = view.with_target(ablation, result)
    else:
        own_language_button(ablation.model)
    # The address already says what is being worked at.
    finish()
    with stoppable(lambda: view.stop("costs")):
        costs = view.head_costs(ablation.model, ablation.scored, ablation.to) if result else None
    if result and costs:
        show_text_notices(result)
        machine(result)
        show_costs(ablation, result, costs)


def show_costs(ablation: view.Ablation, result: Result, costs: HeadCosts) -> None:
    """Show what each head costs, and how the output holds when many are off; then the downloads."""
    chosen = view.chosen_head(costs)
    with hero() as heading:
        right = view.show_costs(costs, chosen, result.trace.output, ablation.task, heading)
        view.show_head(chosen, costs, ablation)
        with right:
            with stoppable(lambda: view.stop("curve")):
                curve = (
                    None
                    if view.is_stopped("curve")
                    else view.removal_curve(ablation.model, ablation.scored, ablation.to, costs=costs)
                )
            if curve:
                view.show_curve(curve, costs.unit)
    show_blocks([HOW_COSTS])
    show_toolbar(own=lambda: view.cost_buttons(costs, curve, ablation.model))


def compare_sides(change: str, beside: DeltaGenerator) -> None:
    """Two texts, two models, or before and after an edit, in every head."""
    if (sides := view.sides_controls(change, beside)) is None:
        return
    first, second = (forced_target(*each) for each in zip(sides.prompts, sides.models, strict=True))
    one = side(sides.models[0], first, NO_EDITS)
    other = side(sides.models[1], second, sides.edits) if one else None
    if one:
        language_picker(one.card, st.sidebar)
    else:
        own_language_button(sides.models[0])
    if one and other:
        view.show_edits(sides.edits, one.trace)
        show_text_notices(one, other)
        attention = map_picker(one.trace)
        machine(one)
        try:
            show_changes(compare(one.trace, other.trace, kind=attention.kind), sides, (one, other))
        except TraceError as error:
            st.info(escaped(error), icon=":material/compare_arrows:")


def show_changes(compared: Comparison, sides: view.Sides, results: tuple[Result, Result]) -> None:
    """Show how far each head has changed, and one of them on both sides; below it what to notice."""
    with hero() as heading:
        shown = view.show_comparison(compared, sides, results, heading)
    show_blocks([*notice_blocks(sides.notice), HOW_COMPARED])
    show_toolbar(own=lambda: view.comparison_buttons(compared, results, shown))


def set_parts(beside: DeltaGenerator) -> None:
    """Set every part of a model in turn to what it is in another text, and show what that makes of the next word."""
    if (pair := view.patch_controls(beside)) is None:
        return
    # The address already says what is being worked at.
    finish()
    with hero() as heading:
        shown = patches_view.show_patches(pair, heading)
    show_blocks([*notice_blocks(pair.notice), HOW_PATCHED])
    show_toolbar(own=lambda: patches_view.offer_files(*shown) if shown else None)


header("whatif")
change, beside = view.change_picker()
if change == "head" and not value("edits", ""):
    switch_heads_off()
elif change == "patch":
    set_parts(beside)
else:
    compare_sides(change, beside)
finish()
