"""Make what the page Matters shows of one text: shares and figures by method, a curve, the model without some words."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from attnviz.analysis.matters.faithfulness import Removals, by_word
from attnviz.analysis.matters.report import AttributionReport, Without
from attnviz.attribution.bind import Target, bind_target
from attnviz.attribution.methods import method_named
from attnviz.attribution.targets.targets import targets
from attnviz.attribution.token_removal import deletion_curve, faithfulness, removable_words, shares_by_method, words
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.models.bound_target import BoundTarget


def attribution_report(
    model: AttentionModel, prompt: Prompt, target: str, names: Sequence[str], progress: Progress = silent
) -> AttributionReport:
    """Compute shares by the methods of these names, and test each by taking words away; `target` as in `attribute`.

    Raises:
        ModelError: the model has no such output, or no word can be taken.
        PromptError: it cannot read the prompt.
    """
    stage = ""

    def begin(title: str) -> None:
        nonlocal stage
        stage = title
        progress(stage, 0.0)

    bound = replace(_bound(model, prompt, target), progress=lambda share: progress(stage, share))
    removable_words(bound)
    made = shares_by_method(bound, [method_named(name) for name in names], lambda each: begin(f"Asking “{each.title}”"))
    groups = _groups(bound)
    shares = {name: by_word(each.values, groups) for name, each in made.shares.items()}
    begin(f"Testing {len(made.shares)} ways by taking words away")
    figures = faithfulness(bound, made)
    probability = float(bound.outcome(bound.ids[None]).log_probability.exp())
    own = frozenset(place for place, group in enumerate(groups) if not bound.fixed.isdisjoint(group))
    offered = targets(model, prompt)
    return AttributionReport(bound.target, probability, _texts(bound, groups), own, shares, figures, made.refused, offered)


def deletion(model: AttentionModel, prompt: Prompt, target: str, ranked: Sequence[int]) -> Removals:
    """Measure p(output) while words go, `ranked` by their places in `AttributionReport.words`, and in the reverse order.

    Raises:
        ModelError: the model has no such output.
        PromptError: it cannot read the prompt.
    """
    bound = _bound(model, prompt, target)
    return deletion_curve(bound, _groups(bound), ranked)


def without_words(model: AttentionModel, prompt: Prompt, target: str, taken: Sequence[int]) -> Without:
    """Run the model again without some words, named by their places in `AttributionReport.words`.

    Raises:
        ModelError: the model has no such output.
        PromptError: it cannot read the prompt.
    """
    bound = _bound(model, prompt, target)
    groups = _groups(bound)
    ids = bound.ids.clone()[None]
    for place in taken:
        if place < len(groups) and bound.fixed.isdisjoint(groups[place]):
            ids[0, list(groups[place])] = bound.baseline_id
    with torch.no_grad():
        says = bound.output_text(ids) if bound.output_text else None
    return Without(float(bound.outcome(ids).log_probability.exp()), says)


def _bound(model: AttentionModel, prompt: Prompt, target: str) -> BoundTarget:
    return bind_target(model, prompt, Target.of(target) if target else None)


def _groups(bound: BoundTarget) -> tuple[tuple[int, ...], ...]:
    """All words, of those that were typed."""
    special = frozenset(place for place, token in enumerate(bound.tokens) if token.special)
    return words(bound.tokens, special)


def _texts(bound: BoundTarget, groups: Sequence[tuple[int, ...]]) -> tuple[str, ...]:
    return tuple("".join(bound.tokens[place].text for place in group) for group in groups)
