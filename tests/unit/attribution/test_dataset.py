"""A data set is measured text by text, and goes on where it was stopped, but never with the figures of another run."""

import json
import random
from types import SimpleNamespace

import pytest

import attnviz
from attnviz.analysis.matters import Faithfulness
from attnviz.analysis.whatif_comparison import mean_interval
from attnviz.attribution import dataset
from attnviz.attribution.dataset import DatasetOptions, FigureRow, measure_dataset, method_figures
from attnviz.attribution.methods import METHODS
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models.capabilities import bind_target
from tests.tiny import first_now
from tests.translators import tiny_translator

TEXTS = [Prompt(text) for text in ("The dog eat.", "The red car is not new.", "Tom didn't eat the car.", "The dog is red.")]
USED = [METHODS[name] for name in ("attention", "leave-one-out", "random")]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return attnviz.load(str(tiny_translator(tmp_path_factory.mktemp("transformer"), "transformer")))


def test_a_run_goes_on_where_it_was_stopped(model, tmp_path):
    journal, lines = tmp_path / "out.jsonl", list[str]()
    measure_dataset(model, TEXTS, USED, journal, DatasetOptions(limit=2), lines.append)
    first = journal.read_text(encoding="utf-8")
    rows = measure_dataset(model, TEXTS, USED, journal, DatasetOptions(limit=500), lines.append)
    assert journal.read_text(encoding="utf-8").startswith(first)
    assert lines == [f"{n} of {total} texts" for n, total in ((1, 2), (2, 2), (3, 4), (4, 4))]
    assert {row.text for row in rows} == {0, 1, 2, 3}
    figures = method_figures(rows)
    assert [(each.method, each.n_texts, each.over_random is None) for each in figures] == [
        ("attention", 4, False), ("leave-one-out", 4, False), ("random", 4, True),
    ]  # fmt: skip
    assert next(each.tau for each in figures if each.method == "leave-one-out") == 1
    fewer = measure_dataset(model, TEXTS, USED, journal, DatasetOptions(limit=3), lines.append)
    assert fewer == rows[: 3 * len(USED)]


def test_a_record_of_other_figures_is_measured_again(model, tmp_path):
    journal = tmp_path / "out.jsonl"
    rows = measure_dataset(model, TEXTS, USED, journal, DatasetOptions(limit=1), print)
    header, record = journal.read_text(encoding="utf-8").splitlines()
    for forged in (
        [0, 5, {"random": [0.5]}],
        [0, 5, {"random": [0.5, "no", None, 1.0]}],
        [0, 5, {"random": [0.5, 0.5, "no", 1.0]}],
        [0, "five", {}],
        [0, 5],
        [0],
    ):
        journal.write_text(f"{header}\n{json.dumps(forged)}\n{record}\n", encoding="utf-8")
        assert measure_dataset(model, TEXTS, USED, journal, DatasetOptions(limit=1), print) == rows


@pytest.mark.parametrize(
    ("texts", "methods", "options"),
    first_now([
        (TEXTS[1:], USED, DatasetOptions(limit=1)),
        (TEXTS, USED, DatasetOptions(limit=1, target="token:0")),
        (TEXTS, USED[1:], DatasetOptions(limit=1)),
        (TEXTS, USED, DatasetOptions(limit=1, max_tokens=99)),
    ], 2),
    ids=["data", "target", "methods", "length"],
)  # fmt: skip
def test_other_settings_are_measured_anew(model, tmp_path, texts, methods, options):
    journal, said = tmp_path / "out.jsonl", list[str]()
    measure_dataset(model, TEXTS, USED, journal, DatasetOptions(limit=1), said.append)
    rows = measure_dataset(model, texts, methods, journal, options, said.append)
    fresh = measure_dataset(model, texts, methods, tmp_path / "fresh.jsonl", options, said.append)
    assert [row[:-1] for row in rows] == [row[:-1] for row in fresh]
    assert "everything is measured anew" in said[1]


def test_figures_that_are_not_finite_enter_no_mean(model, tmp_path, monkeypatch):
    real, said = dataset.faithfulness, list[str]()

    def broken(bound, made):
        figures = real(bound, made)
        return figures if said else {**figures, "random": dataset.Faithfulness(float("nan"), 0.0)}

    monkeypatch.setattr(dataset, "faithfulness", broken)
    rows = measure_dataset(model, TEXTS, USED, tmp_path / "out.jsonl", DatasetOptions(limit=2), said.append)
    assert "its figures are not finite" in said[0]
    assert len(rows) == 2 * len(USED)


def test_a_text_that_cannot_be_read_is_left_out_and_the_others_are_measured(model, tmp_path, monkeypatch):
    def bind(model, prompt, target):
        if prompt is TEXTS[2]:
            raise ModelError("It has no such output.")
        return bind_target(model, prompt, target)

    monkeypatch.setattr(dataset, "bind_target", bind)
    said: list[str] = []
    rows = measure_dataset(model, TEXTS, USED[2:], tmp_path / "out.jsonl", DatasetOptions(), said.append)
    assert {row.text for row in rows} == {0, 1, 3}
    assert "text 2 is left out: It has no such output." in said


def test_figures_are_rounded_and_what_a_method_refuses_is_told_once(model, tmp_path, monkeypatch):
    texts, said = [Prompt(f"text {at}") for at in range(7)], list[str]()

    def bind(model, prompt, target):
        return SimpleNamespace(tokens=range(int(prompt.text[-1])), place=int(prompt.text[-1]))

    def measured(bound, made):
        return {"one": Faithfulness(bound.place + 0.12345678, 0.98765432, -0.24681357, 12.3456), "two": Faithfulness(0.5, 0.25)}

    monkeypatch.setattr(dataset, "bind_target", bind)
    monkeypatch.setattr(dataset, "shares_by_method", lambda *_: SimpleNamespace(refused={"three": "It cannot.", "four": "No."}))
    monkeypatch.setattr(dataset, "faithfulness", measured)
    options = DatasetOptions(limit=3, max_tokens=5)
    rows = measure_dataset(model, texts, USED, tmp_path / "out.jsonl", options, said.append)
    order = list(range(7))
    random.Random(0).shuffle(order)
    measured_texts = [at for at in order if at <= 5][:3]
    assert rows == [row for at in measured_texts for row in (
        FigureRow(at, at, "one", round(at + 0.123457, 6), 0.987654, -0.246814, 12.3),
        FigureRow(at, at, "two", 0.5, 0.25, None, 0.0),
    )]  # fmt: skip
    refused = ["three does not apply: It cannot.", "four does not apply: No."]
    assert said == [*refused, *(f"{n} of 3 texts" for n in (1, 2, 3))]


@pytest.mark.gate
def test_texts_of_too_many_tokens_are_left_out(model, tmp_path):
    sizes = [len(bind_target(model, text).tokens) for text in TEXTS]
    middle = sorted(sizes)[2]
    rows = measure_dataset(model, TEXTS, USED[2:], tmp_path / "out.jsonl", DatasetOptions(max_tokens=middle), print)
    assert {row.text for row in rows} == {at for at, size in enumerate(sizes) if size <= middle}
    assert {row.tokens for row in rows} == {size for size in sizes if size <= middle}
    with pytest.raises(ModelError, match="allow more tokens"):
        measure_dataset(model, TEXTS, USED[2:], tmp_path / "none.jsonl", DatasetOptions(max_tokens=1), print)


def test_a_target_that_is_none_is_refused(model, tmp_path):
    with pytest.raises(ModelError, match="is no target"):
        measure_dataset(model, TEXTS, USED, tmp_path / "none.jsonl", DatasetOptions(target="nonsense"), print)


def test_over_chance_is_the_mean_difference_on_the_same_texts():
    rows = [FigureRow(text, 5, "random", 0.25, 0.5, None, 1.0) for text in (0, 1)]
    rows += [FigureRow(text, 5, "rollout", text / 2, 0.5, tau, 3.0) for text, tau in ((0, 0.5), (1, None), (2, 0.25))]
    chance, rollout = method_figures(rows)
    assert (chance.over_random, rollout.n_texts, rollout.tau, rollout.milliseconds) == (None, 3, 0.375, 3.0)
    assert rollout.comprehensiveness.mean == 0.5
    assert rollout.over_random is not None
    assert rollout.over_random.mean == 0.0


def test_the_interval_of_a_mean_is_about_two_standard_errors_wide():
    interval = mean_interval([0.0, 1.0] * 200)
    assert interval.mean == 0.5
    assert interval.high - interval.low == pytest.approx(4 * 0.5 / 20, rel=0.1)
    # As the figures on the models' cards were drawn.
    assert (interval.low, interval.high) == (0.45, 0.5475)
