"""Faithfulness of attribution methods over a data set, with a journal from which a stopped run goes on."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attnviz.analysis.matters import Faithfulness, PlantedScores, distance
from attnviz.analysis.whatif_comparison import Interval, mean_interval
from attnviz.attribution.methods import Method
from attnviz.attribution.token_removal import faithfulness, shares_by_method
from attnviz.core.errors import ModelError, PromptError, cancellation_point
from attnviz.core.journal import Journal, digest, model_facts
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import bind_target
from attnviz.models.shipped_translators import TranslationModel
from attnviz.models.targets import Target
from attnviz.text.toy_tasks import Solved


def planted_scores(
    model: TranslationModel, solved: Sequence[Solved], methods: Sequence[Method], *, step: int = 0
) -> PlantedScores:
    """Attribute every target token by each method, and measure how far the shares are from the places it comes from.

    The model is given the true target, as its training was; `step` says how long that took.

    Raises:
        PromptError: a source is none of the model's task.
    """
    distances_of: dict[str, list[float]] = defaultdict(list)
    refused: dict[str, str] = {}
    right = []
    for each in solved:
        text = " ".join(each.source) if any(len(token) > 1 for token in each.source) else "".join(each.source)
        target = "".join(each.target)
        right.append(model.translate(text)[0].pieces == model.forced(target))
        for place, links in enumerate(each.possible):
            if not links:
                continue
            cancellation_point()
            bound = bind_target(model, Prompt(text, target=target), Target("token", place))
            for method in methods:
                if method.name in refused:
                    continue
                try:
                    distances_of[method.name].append(distance(method.compute(bound).values, links))
                except ModelError as error:
                    refused[method.name] = str(error)
    distances = {name: float(np.mean(values)) for name, values in distances_of.items() if name not in refused}
    return PlantedScores(step, distances, float(np.mean(right)), refused)


# Texts of one data set are drawn in this order, so that the first hundred of a run are a fair sample of all.
SEED = 0


@dataclass(frozen=True)
class DatasetOptions:
    """How much of a data set is measured: so many texts, each of at most so many tokens.

    target  which part of each output is explained, as in `Target`; empty: the model's default
    """

    limit: int = 500
    max_tokens: int = 170
    target: str = ""


class FigureRow(NamedTuple):
    """The figures of one method on one text of a data set."""

    text: int
    tokens: int
    method: str
    comprehensiveness: float
    sufficiency: float
    tau: float | None
    milliseconds: float


@dataclass(frozen=True)
class MethodFigures:
    """One method over a data set: means, and 95 % intervals by bootstrap; `over_random` is the difference from chance."""

    method: str
    n_texts: int
    comprehensiveness: Interval
    sufficiency: Interval
    over_random: Interval | None
    tau: float | None
    milliseconds: float


def measure_dataset(
    model: AttentionModel,
    prompts: Sequence[Prompt],
    methods: Sequence[Method],
    journal: Path,
    options: DatasetOptions,
    report: Callable[[str], None],
) -> list[FigureRow]:
    """Measure methods on the texts of a data set, and write each text's figures into the journal as soon as they are there.

    Raises:
        ModelError: no text of it can be read, or there is no such target.
        AttnvizError: the journal is another kind of file, or another run is writing it.
        OSError: the file cannot be written.
    """
    target = Target.of(options.target) if options.target else None
    header = {
        **model_facts(model.card.name, model.card.revision), "data": digest(prompts),
        "methods": [method.name for method in methods], "target": options.target, "max_tokens": options.max_tokens,
    }  # fmt: skip
    order = list(range(len(prompts)))
    random.Random(SEED).shuffle(order)
    with Journal(journal, header, report, _is_record) as known:
        for index in (index for index in order if index not in known.done):
            if len(known.done) >= options.limit:
                break
            try:
                bound = bind_target(model, prompts[index], target)
                if len(bound.tokens) > options.max_tokens:
                    continue
                made = shares_by_method(bound, methods)
                figures = faithfulness(bound, made)
            except (PromptError, ModelError) as error:
                report(f"text {index} is left out: {error}")
                continue
            if not known.done:
                for name, reason in made.refused.items():
                    report(f"{name} does not apply: {reason}")
            if known.note(index, len(bound.tokens), {name: _rounded(each) for name, each in figures.items()}):
                report(f"{len(known.done)} of {min(options.limit, len(prompts))} texts")
            else:
                report(f"text {index} is left out: its figures are not finite.")
    if not known.done:
        raise ModelError("No text of this file could be measured: name a file that the model reads, or allow more tokens.")
    # A run before may have measured more texts than this one is to.
    return [row for text, record in islice(known.done.items(), options.limit) for row in _rows(text, *record)]


def _is_record(n_tokens: object, figures: dict[str, list[object]]) -> bool:
    """Say whether a line of the journal holds figures: three numbers a method, and tau or nothing."""
    numbers = [(more, less, tau or 0, spent) for more, less, tau, spent in figures.values()]
    return isinstance(n_tokens, int) and all(isinstance(number, int | float) for row in numbers for number in row)


def _rounded(figures: Faithfulness) -> tuple[float, float, float | None, float]:
    tau = None if figures.tau is None else round(figures.tau, 6)
    return round(figures.comprehensiveness, 6), round(figures.sufficiency, 6), tau, round(figures.milliseconds, 1)


def _rows(text: int, n_tokens: int, figures: dict[str, Sequence[Any]]) -> Iterator[FigureRow]:
    for method, values in figures.items():
        yield FigureRow(text, n_tokens, method, *values)


def method_figures(rows: Iterable[FigureRow]) -> list[MethodFigures]:
    """Average rows by method, in the order in which the methods stand in them."""
    by_method: dict[str, dict[int, FigureRow]] = {}
    for row in rows:
        by_method.setdefault(row.method, {})[row.text] = row
    chance = by_method.get("random", {})
    figures = []
    for method, own in by_method.items():
        over = [row.comprehensiveness - chance[text].comprehensiveness for text, row in own.items() if text in chance]
        taus = [row.tau for row in own.values() if row.tau is not None]
        figures.append(MethodFigures(
            method, len(own), mean_interval([row.comprehensiveness for row in own.values()]),
            mean_interval([row.sufficiency for row in own.values()]),
            mean_interval(over) if over and method != "random" else None,
            sum(taus) / len(taus) if taus else None, sum(row.milliseconds for row in own.values()) / len(own),
        ))  # fmt: skip
    return figures
