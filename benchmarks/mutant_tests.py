"""Which tests run which lines of the package, measured once for a state of it; and tests in a process of their own."""

import hashlib
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil
import pytest
from coverage import CoverageData

from benchmarks.harness import ROOT
from benchmarks.mutants import Mutant

MEASURE_SECONDS = 3_600
VALUES = "tests/unit/test_values.py"
# What no mutant is of, and takes seconds to import: each test run begins as a copy of a process that has it.
LIBRARIES = [
    "beartype", "hypothesis", "matplotlib.figure", "pandas", "plotly.graph_objects", "scipy.stats", "streamlit", "torch",
    "transformers.modeling_utils", "transformers.models.auto.modeling_auto", "pytest_cov.plugin",
]  # fmt: skip
DURATION = re.compile(r"([\d.]+)s (?:setup|call|teardown) +(\S.*)")
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(LIBRARIES)


def copy_tree(folder: Path) -> Path:
    """What the tests need, in another place; what they only read is a link."""
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.name in ("attnviz", "tests"):
            shutil.copytree(path, folder / path.name)
        elif path.name not in (".git", ".venv", "build", ".hypothesis"):
            (folder / path.name).symlink_to(path)
    return folder


def _run_pytest(tree: Path, arguments: list[str], output: Path, environment: dict[str, str], plugins: Sequence[object]) -> None:
    """Begins in a process of its own, which has imported the libraries and nothing of ours."""
    os.chdir(tree)
    with output.open("w") as written:
        os.dup2(written.fileno(), 1)
        os.dup2(written.fileno(), 2)
    os.environ.update({"OMP_NUM_THREADS": "1"} | environment)
    sys.path[:] = [str(tree), *(path for path in sys.path if path and Path(path).resolve() != ROOT)]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("attnviz", "tests")]:
        del sys.modules[name]
    # Nothing that was compiled of a mutant may be taken for the module: only tests that wait for mutants compile for others.
    sys.dont_write_bytecode = not plugins
    sys.exit(int(pytest.main(arguments, plugins=plugins)))


def begin_pytest(tree: Path, arguments: list[str], *plugins: object, **environment: str) -> BaseProcess:
    """Tests of a copy, begun; what they print goes into its output.txt."""
    begun = FORKS.Process(target=_run_pytest, args=(tree, ["-q", *arguments], tree / "output.txt", environment, plugins))
    begun.start()
    return begun


def run_pytest(tree: Path, arguments: list[str], seconds: float, **environment: str) -> tuple[int | None, str]:
    """The exit code of the tests of a copy, None after so many seconds, and what they print."""
    begun = begin_pytest(tree, arguments, **environment)
    begun.join(seconds)
    code = begun.exitcode
    if code is None and begun.pid:
        for each in [*psutil.Process(begun.pid).children(recursive=True), psutil.Process(begun.pid)]:
            each.kill()
    return code, (tree / "output.txt").read_text(errors="replace")


@dataclass(frozen=True)
class LineTests:
    """Which tests run which lines of a file (names from the tree's root), and how many seconds each test takes.

    What runs when a module is imported runs for the test "".
    """

    by_line: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]

    def runs_at_import(self, mutant: Mutant) -> bool:
        """Whether its statement was run before any test."""
        lines = self.by_line.get(mutant.name, {})
        return any("" in lines.get(line, ()) for line in mutant.lines)

    def of(self, mutant: Mutant, most: float) -> list[str]:
        """The tests that run a mutant's statement, as many as fit into so many seconds.

        Of what runs when a module is imported, they are those of anything of the module, and those that import all modules.
        """
        lines = self.by_line.get(mutant.name, {})
        tests = set[str]().union(*(lines.get(line, ()) for line in mutant.lines))
        own = f"tests/unit/{mutant.path.relative_to(ROOT / 'attnviz').parent}/test_{mutant.path.stem}"
        if "" in tests:
            tests = tests.union(*lines.values(), (test for test in self.seconds if test.startswith((own, VALUES))))
        # What holds for all values is told of a class before what holds for one.
        ordered = sorted(
            tests & self.seconds.keys(),
            key=lambda test: (not test.startswith(VALUES), not test.startswith(own), self.seconds[test], test),
        )
        chosen, taken = [], 0.0
        for test in ordered:
            taken += 0 if test.startswith(VALUES) else self.seconds[test]
            if chosen and taken > most:
                break
            chosen.append(test)
        return chosen


def line_tests(trees: list[Path], tests: list[str]) -> LineTests:
    """What was measured of the tests, now or before. A test that fails with nothing changed is left out."""
    state = hashlib.sha256()
    for path in sorted(path for folder in ("attnviz", "tests") for path in (ROOT / folder).rglob("*.py")):
        state.update(path.read_bytes())
    of_tests = ROOT / "build" / "mutants" / hashlib.sha256(" ".join(tests).encode()).hexdigest()[:16]
    kept = of_tests / state.hexdigest()[:16]
    if not kept.exists():
        shutil.rmtree(of_tests, ignore_errors=True)
        with tempfile.TemporaryDirectory() as place:
            _measure(trees, tests, Path(place))
            shutil.copytree(place, kept)
    lines = [line for path in kept.glob("*.txt") for line in path.read_text().splitlines()]
    failed = {line.partition(" ")[2].partition(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))}
    seconds: dict[str, float] = defaultdict(float)
    for duration, test in (match.groups() for line in lines if (match := DURATION.fullmatch(line))):
        seconds[test] += float(duration)
    by_line: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in kept.glob("*.coverage"):
        data = CoverageData(str(path))
        data.read()
        for name in data.measured_files():
            for line, contexts in data.contexts_by_lineno(name).items():
                by_line[name][line] |= {context.rpartition("|")[0] for context in contexts}
    return LineTests(by_line, {test: taken for test, taken in seconds.items() if test not in failed})


def _measure(trees: list[Path], tests: list[str], kept: Path) -> None:
    """Runs the tests under coverage, some in each copy."""
    settings = kept / "settings"
    settings.write_text("[run]\nrelative_files = true\n")
    files = [path for test in tests for path in (sorted((ROOT / test).rglob("test_*.py")) or [ROOT / test])]
    options = [
        "--durations=0",
        "--durations-min=0",
        "--cov=attnviz",
        "--cov-context=test",
        "--cov-report=",
        f"--cov-config={settings}",
    ]

    def measure(part: int) -> None:
        chosen = [str(path.relative_to(ROOT)) for path in files[part :: len(trees)]]
        name = str(kept / f"{part}.coverage")
        code, output = run_pytest(trees[part], [*options, *chosen], MEASURE_SECONDS, COVERAGE_FILE=name)
        if code not in (0, 1):
            raise RuntimeError(f"the tests did not run to their end:\n{output[-2000:]}")
        (kept / f"{part}.txt").write_text(output)

    with ThreadPoolExecutor(len(trees)) as pool:
        list(pool.map(measure, range(min(len(trees), len(files)))))


@contextmanager
def changed(path: Path, code: str) -> Iterator[None]:
    """A file holds other code meanwhile; afterwards it is as it was, and what was compiled of it counts."""
    before, times = path.read_bytes(), path.stat()
    path.write_text(code, encoding="utf-8")
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
