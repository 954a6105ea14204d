"""Compute's pictures: every worked example, and the weight of a model that an example of Encode opens, as steps."""

from collections.abc import Iterator, Sequence
from typing import Any

from attnviz.analysis.compute.link_steps import link_steps
from attnviz.analysis.compute.long_vectors import QueryKey
from attnviz.analysis.compute.steps import ComputationStep, first_place
from attnviz.analysis.compute.worked_example import worked_steps
from attnviz.analysis.wording import head_name, power_of_ten
from attnviz.core.head_inputs import Tables
from attnviz.core.trace import Prompt
from attnviz.figures.compute.steps import computation
from attnviz.models.base import AttentionModel
from attnviz.models.compute.examples import TABLES, WorkedExample, mask_of, worked_examples
from attnviz.models.compute.worked_example import compute
from attnviz.models.head_inputs import inspect_result, run_inspectable

# What stands below the steps of a weight; the site's script says the same of a text that was typed.
AGREES = "{name} of {model} has {weight:.4f} in the heatmap; these steps agree with it to {difference}."

_OWN_NUMBERS = "Your own numbers, masks and guesses are in the app."


def compute_pictures(model: AttentionModel, opened: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Describe each worked example, then the link of the model that `opened`, an example of Encode, opens."""
    for example in worked_examples():
        yield worked_picture(example)
    yield _weight(model, opened)


def worked_picture(example: WorkedExample) -> dict[str, Any]:
    """Describe a worked example."""
    tokens = tuple(example.tokens.split())
    visible = mask_of(example.mask, len(tokens), padded=1)
    x, w_q, w_k, w_v, w_o = (example.numbers()[name] for name in TABLES)
    tables = Tables(tokens, x, w_q, w_k, w_v, w_o, visible, example.heads)
    computed = compute(tables)
    said = {
        "source": "worked",
        "models": [],
        "label": example.label,
        "notice": f"{_of_the_app(example.notice.replace('$', ''))} {_OWN_NUMBERS}",
    }
    checked = f"Checked: NumPy computes the same numbers, to {power_of_ten(computed.difference)}."
    steps = worked_steps(tables, computed, 0, example.columns)
    at = first_place(steps, example.step, example.cell)
    return {**said, "prompt": {"text": example.tokens}, "maps": [], "checked": checked, **_described(steps, at)}


def _of_the_app(sentence: str) -> str:
    """Say of what is typed below the app's picture that it is there."""
    return sentence.replace("below the picture, type", "in the app, type").replace(
        "here you can type", "in the app you can type"
    )


def _weight(model: AttentionModel, example: dict[str, Any]) -> dict[str, Any]:
    inspected = inspect_result(model, run_inspectable(model, Prompt(example["text"])))
    attention, place = inspected.trace.encoder, (example["layer"], example["head"])
    inputs = inspected.head("encoder", *place)
    assert inputs is not None
    tokens = tuple(token.text for token in attention.keys)
    link = QueryKey(tokens, tokens, example["query"], example["key"])
    computed = link_steps(inputs, attention, place, link, words=False)
    said = {"source": "model", "models": [model.card.name], "label": f"Model: {example['label']}", "notice": ""}
    checked = AGREES.format(
        name=head_name(*place), model=model.card.name, weight=computed.weight, difference=power_of_ten(computed.difference)
    )
    maps = [{"kind": "encoder", "shape": (attention.n_layers, attention.n_heads)}]
    opened = {"tokens": tokens, "maps": maps, "checked": checked}
    chosen = {name: example[name] for name in ("layer", "head", "query", "key")}
    steps = _described(computed.steps, first_place(computed.steps))
    return {**said, "prompt": {"text": example["text"]}, **opened, "place": chosen, **steps}


def _described(steps: Sequence[ComputationStep], at: tuple[int, int, int]) -> dict[str, Any]:
    """Describe steps without colours, which are given to them where they are drawn."""
    drawn = computation(steps)
    for step in drawn["steps"]:
        step["sentence"] = _of_the_app(step["sentence"])
    for matrix in (matrix for step in drawn["steps"] for matrix in step["matrices"]):
        for cell in (cell for row in matrix["cells"] for cell in row):
            cell.pop("shade", None)
            cell.pop("ink", None)
    return {"at": at, "computation": {"steps": drawn["steps"], "origins": drawn["origins"]}}
