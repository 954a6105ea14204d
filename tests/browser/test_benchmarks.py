"""No benchmark rots: each runs on tiny input and prints its table; and none runs for longer than it says."""

import multiprocessing
import subprocess
import sys
import time
import types
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import psutil
import pytest

from benchmarks import bench_attack, harness
from benchmarks.harness import Row, at_most, none
from tests import shared
from tests.browser.harness import ROOT

SCRIPTS = sorted((ROOT / "benchmarks").glob("bench_*.py"))
# Those that need a browser share one, and so its process.
BROWSERS = [script for script in SCRIPTS if "browsing" in script.read_text(encoding="utf-8")]
GROUPS = [*([script] for script in SCRIPTS if script not in BROWSERS), BROWSERS]
PATIENCE = 180
# Each benchmark begins as a copy of a process that has imported what most of them need: three seconds of a core each.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["attnviz.models.hub.hub_model", "benchmarks.harness", "playwright.sync_api", "streamlit"])
# A benchmark of which no row comes.
ENDLESS = """
import subprocess, sys, time
from benchmarks.harness import run
def rows(given):
    print("begun", subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
    time.sleep(600)
    yield
run(rows, minutes=0.02)
"""


@pytest.mark.parametrize("scripts", GROUPS, ids=["browsers" if len(group) > 1 else group[0].stem for group in GROUPS])
def test_benchmarks_run_on_tiny_input_and_print_their_tables(
    scripts: list[Path], app_url: str, class_store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = [tmp_path / f"{script.stem}.txt" for script in scripts]
    # A forked process runs the file of __main__ first, which a test of a page may have replaced by its own script.
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    begun = FORKS.Process(target=shared.run_scripts, args=(scripts, ["--smoke", "--server", app_url], outputs, class_store))
    begun.start()
    begun.join(PATIENCE * len(scripts))
    begun.kill()
    printed = [output.read_text() if output.exists() else "" for output in outputs]
    assert begun.exitcode == 0, "\n".join(printed)[-6000:]
    for each in printed:
        header, line, *rows = (line for line in each.splitlines() if line.startswith("|"))
        assert (header, line) == ("| what | measured | bar | |", "|---|---|---|---|")
        assert rows
        assert all(row.split(" | ")[1].strip() for row in rows)


class Watched:
    """A visit that takes no time; what each has asked for."""

    asked: ClassVar[list[str]] = []
    errors: tuple[str, ...] = ()

    def __init__(self, app: harness.App) -> None:
        self.close = lambda: None

    def open(self, page: str, *, text: str) -> float:
        self.asked.append(text)
        return 0.25


def test_an_attack_counts_how_its_acts_end_beside_texts_that_nobody_has_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(app: object, number: int) -> None:
        time.sleep(0.02)
        raise OSError(f"an upload of {number} MB was answered with 403")

    monkeypatch.setattr(bench_attack, "Visit", Watched)
    seconds, errors, peak, acts = bench_attack.attacked(types.SimpleNamespace(megabytes=lambda: 7.0), 2, refused, 0.4)
    assert (set(seconds), errors, peak, [*acts]) == ({0.25}, [], 7.0, ["OSError: an upload of"])
    assert len(set(Watched.asked)) == len(Watched.asked) == len(seconds) > 1


def test_the_files_of_an_attack_are_taken_and_refused_by_the_server_itself(
    app_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_attack, "MEGABYTES", (1, 65))
    bench_attack.bodies.cache_clear()
    bench_attack.uploads(harness.App(app_url), 3)
    monkeypatch.setattr(bench_attack, "MEGABYTES", (65, 1))
    bench_attack.bodies.cache_clear()
    with pytest.raises(OSError, match="was answered with 413"):
        bench_attack.uploads(harness.App(app_url), 3)
    bench_attack.bodies.cache_clear()


@pytest.mark.parametrize(
    ("row", "usual", "smoke"),
    [
        (lambda given: at_most("one", 2.0, 3.0), 0, 0),
        (lambda given: at_most("one", 2.0, 1.0), 1, 0),
        (lambda given: none("one", ["it is wrong"]), 1, 1),
        (lambda given: at_most("one", given.size, 5.0), 1, 0),
        (lambda given: none("one", ["it is large"] * (given.size > 5)), 1, 0),
    ],
)
def test_a_missed_bar_fails_and_one_of_speed_not_in_a_smoke_run(
    row: Callable[[Namespace], Row], usual: int, smoke: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its time is not that of the tests.
    monkeypatch.setattr(harness, "_end_after", lambda *_: types.SimpleNamespace(cancel=lambda: None))

    def exit_code(*flags: str) -> int:
        monkeypatch.setattr(sys, "argv", ["bench.py", *flags])
        with pytest.raises(SystemExit) as ended:
            harness.run(lambda given: [row(given)], minutes=1, sizes={"size": (7, 3)})
        return int(ended.value.code or 0)

    assert (exit_code(), exit_code("--smoke")) == (usual, smoke)


def test_a_benchmark_that_runs_over_its_time_ends_itself_and_what_it_has_started() -> None:
    command = [sys.executable, "-c", ENDLESS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert "is not done after 0.02 minutes" in done.stdout
    (started,) = (int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("begun"))
    # What was killed ends when the machine comes to it.
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(started)
        while process.status() != psutil.STATUS_ZOMBIE:
            assert time.time() < process.create_time() + PATIENCE
            time.sleep(0.05)
