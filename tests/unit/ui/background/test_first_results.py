"""What pages show at first is read, not computed: it is what the models make of it, and nothing heavy is imported for it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.attribution import token_removal, value_zeroing
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models.catalog import CATALOG
from attnviz.models.targets import BoundTarget
from attnviz.paths import assets_folder
from attnviz.ui.background import first_results, results
from tests.visits import PATIENCE

FOLDER = assets_folder() / first_results.FOLDER
# Train makes a model of its own before anybody trains it.
VISITS = [(path, address) for path, address in first_results.first_visits() if path.stem != "train"]
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
TOLERANCE = 1e-5
# Of the slowest method only what it is worth is computed again: its shares are held against a reference in a test of their own.
(ZEROED,) = (
    report.shares["value-zeroing"]
    for report in map(first_results._read, FOLDER.glob("answer-en-matters-*"))
    if "value-zeroing" in report.shares
)
# How long a method took is another number every time.
UNEQUAL = ("milliseconds", "versions")


def test_no_first_picture_waits_for_a_model():
    opened = (*VISITS, *first_results.claim_visits())
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


def zeroed(bound: BoundTarget) -> np.ndarray:
    """What each word has of value zeroing, at its first token."""
    shares = np.zeros(len(bound.tokens))
    shares[[group[0] for group in token_removal._groups(bound)]] = ZEROED
    return shares


@pytest.mark.parametrize(("path", "address"), VISITS, ids=lambda each: each.stem if isinstance(each, Path) else str(each))
def test_what_travels_is_what_the_models_compute(
    path: Path, address: dict[str, str], monkeypatch: pytest.MonkeyPatch, unchecked: None
):
    results.traces_kept.clear()
    computed: dict[Path, Any] = {}
    monkeypatch.setattr(first_results, "_recorded", computed)
    monkeypatch.setattr(value_zeroing, "value_zeroing", zeroed)
    app = AppTest.from_file(path, default_timeout=PATIENCE)
    app.query_params.update(address)
    assert not app.run().exception
    assert computed or path.stem in ("class", "heads", "lessons")
    for file, made in computed.items():
        travels = dict(leaves(first_results._read(file)))
        for place, value in leaves(made):
            if isinstance(value, float | np.ndarray):
                np.testing.assert_allclose(travels[place], value, atol=TOLERANCE, rtol=TOLERANCE, err_msg=file.name + place)
            else:
                assert travels[place] == value, file.name + place
        assert len(travels) == len(dict(leaves(made)))


def test_every_file_belongs_to_the_weights_that_travel():
    """After weights have changed: python -m recipes examples."""
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 5 * 2**20
    assert {path.name.split("-run")[0] for path in FOLDER.glob("*-run-*")} < set(CATALOG)


def test_a_model_that_was_trained_again_has_none(monkeypatch: pytest.MonkeyPatch):
    def find() -> Any:
        asked = (Prompt("The cat, which had chased the mice, was tired."), "encode", results.NO_EDITS, results.GREEDY)
        return first_results.find("_run", "minilm", asked)

    from attnviz.ui.examples import examples

    asked = (Prompt(examples("encode")[0].text), "encode", results.NO_EDITS, results.GREEDY)
    assert first_results.find("_run", "minilm", asked).trace.model == "minilm"
    assert find() is None
    assert first_results.find("_run", "somebody/minilm", asked) is None
    assert first_results.find("_run", "minilm", (*asked, float("nan"), object())) is None
    monkeypatch.setattr(first_results, "_weights", lambda name: "others")
    assert first_results.find("_run", "minilm", asked) is None
