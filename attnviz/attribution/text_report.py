"""Make all that a page shows of one text: shares and figures by way, one way's curve, what the model says without words."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from attnviz.analysis.matters.faithfulness import Removals, by_word
from attnviz.analysis.matters.methods import method_named
from attnviz.analysis.matters.report import Report, Without
from attnviz.attribution.bind import Target, bind_target
from attnviz.attribution.removal import words
from attnviz.attribution.targets.targets import targets
from attnviz.attribution.token_removal import ask, deletion_curve, faithfulness, takeable
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel, Progress
from attnviz.models.bound_target import BoundTarget


def report(
    model: AttentionModel, prompt: Prompt, target: str, names: Sequence[str], progress: Progress = lambda *_: None
) -> Report:
    """Ask ways by name, and test each by taking words away; `target` is as in `Target`, empty for what the model is for.

    Raises:
        ModelError: the model has no such output, or no word can be taken.
        PromptError: it cannot read the prompt.
    """
    stage = ""

    def begin(title: str) -> None:
        nonlocal stage
        stage = title
        progress(stage, 0.0)

    bound = bind_target(model, prompt, Target.of(target) if target else None)
    bound = replace(bound, progress=lambda share: progress(stage, share))
    takeable(bound)
    asked = ask(bound, [method_named(name) for name in names], lambda way: begin(f"Asking “{way.title}”"))
    groups = _groups(bound)
    shares = {name: by_word(each.values, groups) for name, each in asked.shares.items()}
    begin(f"Testing {len(asked.shares)} ways by taking words away")
    figures = faithfulness(bound, asked)
    probability = float(bound.outcome(bound.ids[None]).log_probability.exp())
    own = frozenset(place for place, group in enumerate(groups) if not bound.fixed.isdisjoint(group))
    offered = targets(model, prompt)
    return Report(bound.target, probability, _texts(bound, groups), own, shares, figures, asked.refused, offered)


def deletion(model: AttentionModel, prompt: Prompt, target: str, ranked: Sequence[int]) -> Removals:
    """Measure p(output) while words go, `ranked` by their places in `Report.words`, and in the reverse order.

    Raises:
        ModelError: the model has no such output.
        PromptError: it cannot read the prompt.
    """
    bound = bind_target(model, prompt, Target.of(target) if target else None)
    return deletion_curve(bound, _groups(bound), ranked)


def without(model: AttentionModel, prompt: Prompt, target: str, taken: Sequence[int]) -> Without:
    """Ask the model again about a target, with some words taken away by their places in `Report.words`.

    Raises:
        ModelError: the model has no such output.
        PromptError: it cannot read the prompt.
    """
    bound = bind_target(model, prompt, Target.of(target) if target else None)
    groups = _groups(bound)
    ids = bound.ids.clone()[None]
    for place in taken:
        if place < len(groups) and bound.fixed.isdisjoint(groups[place]):
            ids[0, list(groups[place])] = bound.baseline_id
    with torch.no_grad():
        says = bound.output_text(ids) if bound.output_text else None
    return Without(float(bound.outcome(ids).log_probability.exp()), says)


def _groups(bound: BoundTarget) -> tuple[tuple[int, ...], ...]:
    """All words, of those that were typed."""
    special = frozenset(place for place, token in enumerate(bound.tokens) if token.special)
    return words(bound.tokens, special)


def _texts(bound: BoundTarget, groups: Sequence[tuple[int, ...]]) -> tuple[str, ...]:
    return tuple("".join(bound.tokens[place].text for place in group) for group in groups)
