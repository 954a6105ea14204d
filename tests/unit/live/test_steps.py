"""The steps of a weight as the site computes them, made in Node, against the app's own."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.analysis.compute import QueryKey, link_steps
from attnviz.core.head_inputs import DotProduct, Projected, Projections
from attnviz.core.trace import AttentionMap, DenseWeights, Token
from attnviz.figures.compute.steps import computation
from attnviz.live.pictures import worked_picture
from attnviz.models.worked_examples import worked_examples
from tests.factories import numbered, typed
from tests.javascript import run
from tests.unit.live.graphs.test_algorithms import call
from tests.worded import described

RUNNER = Path(__file__).with_name("steps.js")
# Tokens, numbers of a state and of a head, how large they are, and the link: all shown, some, scores that saturate, halves.
SIZES = [
    (typed("un|able <b> cat|s"), 5, 3, 1.0, (1, 4)),
    (numbered(13), 17, 11, 0.7, (12, 0)),
    (numbered(29), 23, 13, 3.0, (0, 28)),
    (numbered(1), 3, 2, 0.5, (0, 0)),
]


def head_of(tokens: tuple[Token, ...], dim: int, width: int, scale: float) -> DotProduct:
    random = np.random.default_rng(dim)
    states = (scale * random.normal(size=(len(tokens), dim))).round(2).astype(np.float32)

    def projected() -> Projected:
        weight = random.normal(size=(width, dim)).round(1).astype(np.float32)
        return Projected(states, weight, random.normal(size=width).round(1).astype(np.float32))

    made = Projections(projected(), projected(), projected())
    vectors = made.query.vectors, made.key.vectors, made.value.vectors
    return DotProduct(*vectors, width**-0.5, made=made)


def case(tokens: tuple[Token, ...], dim: int, width: int, scale: float, link: tuple[int, int]) -> dict[str, Any]:
    inputs = head_of(tokens, dim, width, scale)
    scores = inputs.scaling * inputs.query @ inputs.key.T
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    attention = AttentionMap("encoder", tokens, tokens, DenseWeights((weights[None],)))
    names = tuple(token.text for token in tokens)
    expected = link_steps(inputs, attention, (0, 0), QueryKey(names, names, *link), words=True)
    assert inputs.made is not None
    learned = {
        name: {"weight": getattr(inputs.made, name).weight.tolist(), "bias": getattr(inputs.made, name).bias.tolist()}
        for name in ("query", "key", "value")
    }
    words = [[at for at, each in enumerate(tokens) if each.word == tokens[place].word] for place in link]
    return {
        "inputs": {"states": inputs.made.query.states.tolist(), **learned},
        "vectors": {name: getattr(inputs, name).tolist() for name in learned},
        "link": {"tokens": names, "query": link[0], "key": link[1]},
        **{"weights": weights.ravel().tolist(), "rows": words[0], "columns": words[1], "expected": computation(expected.steps)},
    }


def without_values(cells: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """Cells without the number that they are coloured by, whose last digits differ."""
    return [[{name: value for name, value in cell.items() if name != "value"} for cell in row] for row in cells]


def test_a_browser_unfolds_a_weight_as_the_app_does():
    for actual, expected in run(RUNNER, [case(*each) for each in SIZES]):
        assert [step["symbol"] for step in actual["steps"]] == [step["symbol"] for step in expected["steps"]]
        for one, other in zip(actual["steps"], expected["steps"], strict=True):
            for step in (one, other):
                for matrix in step["matrices"]:
                    matrix["cells"] = without_values(matrix["cells"])
            assert one == other
        assert actual["origins"] == expected["origins"]


def test_a_text_that_was_typed_opens_on_a_word():
    # The example's weight is of a longer text.
    weight = {"layer": 3, "head": 1, "query": 10, "key": 2}
    said = {"tokens": ["[CLS]", "a", "cat", "[SEP]"], "maps": [{"shape": [6, 12]}]}
    weights = {"An example": weight, "a cat": weight | {"query": 1}}
    asked = [("A cat", {}), ("A cat", {"query": 99}), ("a cat", {})]
    unasked, last, own = call(
        *(
            ["../address", "placeOnCompute", {"weights": weights}, {"said": said | {"prompt": {"text": text}}}, values]
            for text, values in asked
        )
    )
    assert own["query"] == 1
    assert unasked == {"layer": 3, "head": 1, "query": 2, "key": 2, "words": False}
    # What an address names is shown, a mark too.
    assert last["query"] == 3


def test_worked_examples_send_to_the_app_who_wants_to_type_numbers():
    for example in worked_examples():
        picture = worked_picture(example)
        said = json.dumps([picture["notice"], described(picture["computation"])], ensure_ascii=False)
        assert "here you can type" not in said
        assert "below the picture, type" not in said
        assert "in the app you can type" in said
