"""Ablate: every head off in turn, and what that costs the output."""

import streamlit as st

from attnviz.analysis.ablate.head_costs import describe_costs
from attnviz.core.shares import HeadCosts
from attnviz.models.result import Result
from attnviz.ui.ablate.view import (
    Ablation,
    ablation_controls,
    chosen_head,
    download_buttons,
    is_stopped,
    show_costs,
    show_curve,
    show_head,
    stop,
)
from attnviz.ui.address.state import finish
from attnviz.ui.background.jobs import stoppable
from attnviz.ui.background.measures import head_costs, removal_curve
from attnviz.ui.background.results import run
from attnviz.ui.explain import show_text_notices, show_toolbar
from attnviz.ui.layout import answer, header, hero, story
from attnviz.ui.sidebar import KNOWN_MODELS, machine, one_model

ABOUT = "Models of the catalog are on this machine; others come from the Hugging Face hub: choose one, or type any model's id."
READING = """
- A head is switched off where the model computes it, in every step; everything after it computes with what is left. Its cost
  is how far ln p falls of the output that the model gives with all heads; for a model that writes nothing, how far its last
  states turn (1 − cosine, the mean over tokens).
- **Zero is not neutral**: later layers have never seen it. Set heads to their mean and see whether the order stays.
- **Redundancy hides**: a head whose work another can do costs nothing alone. Look at the curve, where many go at once.
- A claim about k heads means little without the band: k heads drawn at random, 20 times.
- One text is an anecdote: `attnviz ablate MODEL --data FILE` measures a whole file, with intervals.

Michel, Levy & Neubig 2019, *Are Sixteen Heads Really Better than One?*; Voita et al. 2019, *Analyzing Multi-Head
Self-Attention*.
"""


def show_ablation(ablation: Ablation, result: Result, costs: HeadCosts) -> None:
    """What each head costs, and how the output holds when many are off; then the downloads."""
    chosen = chosen_head(costs)
    with hero() as heading:
        story(describe_costs(costs), place=heading)
        answer(result.trace.output)
        left, right = st.container(key="measured").columns(2, gap="large")
        with left:
            show_costs(costs, chosen)
        show_head(chosen, costs, ablation)
        with right:
            with stoppable(lambda: stop("curve")):
                curve = None if is_stopped("curve") else removal_curve(ablation.model, ablation.prompt, ablation.to, costs)
            if curve:
                show_curve(curve, costs.unit)
    with st.expander("How to read this, and what misleads"):
        st.markdown(READING)
    show_toolbar(own=lambda: download_buttons(costs, curve, ablation.model))


header("Ablate", "Switch every head off in turn. See which ones the output needs.")
model = one_model(KNOWN_MODELS, ABOUT)
ablation = ablation_controls(model)
if ablation and not is_stopped("costs"):
    result = run(model, "encode", ablation.prompt)
    # The address already says what is being worked at.
    finish()
    with stoppable(lambda: stop("costs")):
        costs = head_costs(model, ablation.prompt, ablation.to) if result else None
    if result and costs:
        show_text_notices(result)
        machine(result)
        show_ablation(ablation, result, costs)
finish()
