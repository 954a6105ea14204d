"""Attribution methods, tested where the truth is known: on the tasks of `attnviz.text.toy_tasks`."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from attnviz.analysis.matters.planted_truth import PlantedScores, distance
from attnviz.attribution.methods import Method
from attnviz.core.cancellation import cancellation_point
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models.capabilities import bind_target
from attnviz.models.targets import Target
from attnviz.models.translate.translation_model import TranslationModel
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
