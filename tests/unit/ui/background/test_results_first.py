"""What pages show at first is read, not computed: it is what the models make of it, and nothing heavy is imported for it."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.analysis.matters import AttributionReport, Faithfulness
from attnviz.attribution import token_removal
from attnviz.attribution.token_removal import MethodShares
from attnviz.core.trace import AttentionTrace, Prompt, Shares
from attnviz.files import shipped
from attnviz.models.base import silent
from attnviz.models.catalog import CATALOG
from attnviz.models.targets import BoundTarget
from attnviz.models.worked_examples import compute
from attnviz.ui.background import results
from recipes.first_results import claim_visits, first_visits
from tests.float64 import exact, in_float64
from tests.visits import PATIENCE

FOLDER = shipped.examples_folder()
# Train makes a model of its own before anybody trains it.
VISITS = [(path, address) for path, address in first_visits() if path.stem != "train"]
# Each page says what it has imported of these.
SERVED = """
import json, sys
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
manifest_scanner.scan_component_manifests = list
for path, address in json.loads(sys.argv[1]):
    app = AppTest.from_file(path, default_timeout=300)
    app.query_params.update(address)
    app.run()
    assert not app.exception and not app.error, path
    print(path, *sorted({"torch", "transformers", "scipy", "sklearn", "matplotlib"} & set(sys.modules)))
"""
# How far rounding moves a number of float32, beside the largest that was added up in it: its unit roundoff, 6e-8, some hundred
# times, for each of a dozen layers rounds again.
TOLERANCE = 1e-5
# Of the slowest method only what it is worth is computed again: its shares are held against a reference in a test of their own.
SLOWEST = "value-zeroing"
# How long a method took is another number every time.
UNEQUAL = ("milliseconds", "versions")


@pytest.mark.gate
def test_no_first_picture_waits_for_a_model():
    opened = (*VISITS, *claim_visits())
    visits = json.dumps([(str(path), address) for path, address in opened])
    run = subprocess.run([sys.executable, "-c", SERVED, visits], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    lines = [line.split() for line in run.stdout.splitlines()]
    assert [Path(path) for path, *_ in lines] == [path for path, _ in opened]
    assert not [line for line in lines if line[1:]], "the first example of these pages imports"


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """All that a value holds, each by its place; of a trace the tokens, and the weights of every layer."""
    if isinstance(value, AttentionTrace):
        for each in value.maps:
            yield f"{place}.{each.kind}", (each.queries, each.keys, each.causal)
            yield from ((f"{place}.{each.kind}.{layer}", each.store.layer(layer)) for layer in range(each.n_layers))
    if is_dataclass(value):
        named = [(each.name, getattr(value, each.name)) for each in fields(value) if each.name not in (*UNEQUAL, "maps")]
    elif isinstance(value, dict):
        named = [*value.items()]
    elif isinstance(value, tuple):
        named = [*enumerate(value)]
    else:
        yield place, value
        return
    for name, each in named:
        yield from leaves(each, f"{place}.{name}")


def in_its_order(report: AttributionReport) -> Callable[[BoundTarget, MethodShares], dict[str, Faithfulness]]:
    """`faithfulness` of words in the order of a report's shares: rounding may exchange two that are worth nearly the same."""
    tested = token_removal.faithfulness

    def shares(bound: BoundTarget, shares: Shares) -> Shares:
        values = np.zeros(len(bound.tokens))
        values[[group[0] for group in token_removal._groups(bound)]] = report.shares[shares.method]
        return replace(shares, values=values)

    return lambda bound, made: tested(
        bound, replace(made, shares={name: shares(bound, each) for name, each in made.shares.items()})
    )


@pytest.mark.gate
@pytest.mark.parametrize(("path", "address"), VISITS, ids=lambda each: each.stem if isinstance(each, Path) else str(each))
def test_what_travels_is_what_the_models_compute_in_float64(
    path: Path, address: dict[str, str], monkeypatch: pytest.MonkeyPatch, unchecked: None
):
    """A page goes on with what travels, in whose order words and heads are removed, on this processor as on any other."""
    pairs: list[tuple[str, Any, Any]] = []
    compute_once, find = results.compute_once, results.find_shipped

    def computed(work: Callable[..., Any], name: str, asked: tuple[Any, ...], given: Any, *rest: Any, **options: Any) -> Any:
        travels = compute_once(work, name, asked, given, *rest, **options)
        model = exact(name)
        with monkeypatch.context() as patched, in_float64():
            if isinstance(travels, AttributionReport):
                patched.setattr(token_removal, "faithfulness", in_its_order(travels))
                patched.setattr(token_removal, "value_zeroing", lambda bound: np.zeros(len(bound.tokens)))
            pairs.append((work.__name__, travels, work(model, silent, *asked, **given)))
        return travels

    def found(work: str, name: str, asked: tuple[Any, ...]) -> Any:
        travels = find(work, name, asked)
        assert travels is not None, (work, name)
        if work == "worked_example":
            pairs.append((work, travels, compute(*asked)))
        return travels

    monkeypatch.setattr(results, "compute_once", computed)
    monkeypatch.setattr(results, "find_shipped", found)
    # All methods twice, of them once in float64: ten times as long as any other page, and a busy machine is no failure.
    app = AppTest.from_file(path, default_timeout=10 * PATIENCE)
    app.query_params.update(address)
    assert not app.run().exception
    assert pairs or path.stem in ("class", "heads", "lessons")
    for work, read, made in pairs:
        travels = dict(leaves(read))
        for place, value in leaves(getattr(made, "without_durations", lambda made=made: made)()):
            if place == f".shares.{SLOWEST}":
                continue
            if isinstance(value, float | np.ndarray):
                largest = np.max(np.abs(value), initial=1, where=np.isfinite(value))
                np.testing.assert_allclose(travels[place], value, rtol=0, atol=TOLERANCE * largest, err_msg=work + place)
            else:
                assert travels[place] == value, work + place
        assert len(travels) == len(dict(leaves(made)))


def test_every_file_belongs_to_the_weights_that_travel():
    """After weights have changed: python -m recipes examples."""
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 5 * 2**20
    assert {path.name.split("-run")[0] for path in FOLDER.glob("*-run-*")} < set(CATALOG)


def test_a_model_that_was_trained_again_has_none(monkeypatch: pytest.MonkeyPatch):
    def find() -> Any:
        asked = (Prompt("The cat, which had chased the mice, was tired."), "encode", results.NO_EDITS, results.GREEDY)
        return results.find_shipped("_run", "minilm", asked)

    from attnviz.ui.prompt_box import examples

    asked = (Prompt(examples("encode")[0].text), "encode", results.NO_EDITS, results.GREEDY)
    assert results.find_shipped("_run", "minilm", asked).trace.model == "minilm"
    assert find() is None
    assert results.find_shipped("_run", "somebody/minilm", asked) is None
    assert results.find_shipped("_run", "minilm", (*asked, float("nan"), object())) is None
    monkeypatch.setattr(shipped, "_weights", lambda name: "others")
    assert results.find_shipped("_run", "minilm", asked) is None
