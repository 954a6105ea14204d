"""Hostile addresses, texts, files and folders end in a page or in one sentence; `make bench` has 10,000 more."""

from pathlib import Path

import pytest

from tests.fuzz import Case, run_address, run_folder, run_toy, run_trace

SEED = 2026
# A busy machine takes its time; the benchmark, alone on one, has the bar of 5 s.
PATIENCE = 40.0


@pytest.fixture(autouse=True)
def _no_scan(monkeypatch: pytest.MonkeyPatch, unchecked: None) -> None:
    """Streamlit looks for components in all installed packages, half a second for each session, and there are none."""
    monkeypatch.setattr("streamlit.components.v2.manifest_scanner.scan_component_manifests", list)


def test_trace_files_are_opened_or_refused() -> None:
    assert [actual for number in range(400) if (actual := run_trace(Case(SEED, number, "trace"), patience=PATIENCE))] == []


def test_files_of_toy_models_are_opened_or_refused() -> None:
    assert [actual for number in range(40) if (actual := run_toy(Case(SEED, number, "toy"), patience=PATIENCE))] == []


@pytest.mark.gate
def test_folders_of_models_are_opened_or_refused(tmp_path: Path) -> None:
    actual = [run_folder(Case(SEED, n, "folder"), tmp_path / "now", tmp_path, patience=PATIENCE) for n in range(8)]
    assert [problem for problem in actual if problem] == []


def test_addresses_open_a_page() -> None:
    assert [actual for number in range(8) if (actual := run_address(Case(SEED, number, "address"), patience=PATIENCE))] == []


def test_a_case_is_always_the_same() -> None:
    assert [Case(SEED, 5, "toy").draw.random() for _ in range(2)] == [Case(SEED, 5, "toy").draw.random()] * 2
