"""Make all that a page shows of one text: shares and figures by way, one way's curve, what the model says without words."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from attnviz.analysis.matters.faithfulness import Removals, by_word
from attnviz.analysis.matters.methods import method_named
from attnviz.analysis.matters.report import Report, Without
from attnviz.attribution.bind import Target, bind
from attnviz.attribution.bound_target import Reading
from attnviz.attribution.removal import words
from attnviz.attribution.targets.targets import targets
from attnviz.attribution.token_removal import ask, deletion_curve, faithfulness, takeable
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel, Progress


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

    bound = bind(model, prompt, Target.of(target) if target else None)
    reading = replace(bound, progress=lambda share: progress(stage, share))
    takeable(reading)
    asked = ask(reading, [method_named(name) for name in names], lambda way: begin(f"Asking “{way.title}”"))
    groups = _groups(reading)
    shares = {name: by_word(each.values, groups) for name, each in asked.shares.items()}
    begin(f"Testing {len(asked.shares)} ways by taking words away")
    figures = faithfulness(reading, asked)
    probability = float(reading.outcome(reading.ids[None]).log_probability.exp())
    own = frozenset(place for place, group in enumerate(groups) if not reading.fixed.isdisjoint(group))
    offered = targets(model, prompt)
    return Report(reading.target, probability, _texts(reading, groups), own, shares, figures, asked.refused, offered)


def deletion(model: AttentionModel, prompt: Prompt, target: str, ranked: Sequence[int]) -> Removals:
    """Measure p(output) while words go, `ranked` by their places in `Report.words`, and in the reverse order.

    Raises:
        ModelError: the model has no such output.
        PromptError: it cannot read the prompt.
    """
    reading = bind(model, prompt, Target.of(target) if target else None)
    return deletion_curve(reading, _groups(reading), ranked)


def without(model: AttentionModel, prompt: Prompt, target: str, taken: Sequence[int]) -> Without:
    """Ask the model again about a target, with some words taken away by their places in `Report.words`.

    Raises:
        ModelError: the model has no such output.
        PromptError: it cannot read the prompt.
    """
    reading = bind(model, prompt, Target.of(target) if target else None)
    groups = _groups(reading)
    ids = reading.ids.clone()[None]
    for place in taken:
        if place < len(groups) and reading.fixed.isdisjoint(groups[place]):
            ids[0, list(groups[place])] = reading.stand_in
    with torch.no_grad():
        says = reading.says(ids) if reading.says else None
    return Without(float(reading.outcome(ids).log_probability.exp()), says)


def _groups(reading: Reading) -> tuple[tuple[int, ...], ...]:
    """All words, of those that were typed."""
    special = frozenset(place for place, token in enumerate(reading.tokens) if token.special)
    return words(reading.tokens, special)


def _texts(reading: Reading, groups: Sequence[tuple[int, ...]]) -> tuple[str, ...]:
    return tuple("".join(reading.tokens[place].text for place in group) for group in groups)
