"""How many mutants the tests kill: of the code that computes, explains, surveys and edits attention, with one place changed.

Which tests run which lines is measured once, and kept in build/mutants until a file of the package or the tests changes. Each
mutant then meets the tests that run its line, those of its own module first and the quickest next, until one fails or they have
taken what --seconds says. Who survives is printed. Nothing is changed here: two copies of the tree take turns.
"""

import hashlib
import multiprocessing
import os
import queue
import re
import shutil
import sys
import tempfile
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from coverage import CoverageData

from benchmarks.harness import ROOT, Row, run
from benchmarks.mutants import Mutant, sample

FOLDERS = ["core", "analysis", "attribution", "survey", "edit"]
TESTS = "tests/unit tests/property tests/contract tests/app attnviz"
KILLED, WORKERS = 0.9, 2
MEASURE_SECONDS = 3_600
# What no mutant is of, and takes seconds to import: each test run begins as a copy of a process that has it.
LIBRARIES = [
    "beartype", "hypothesis", "matplotlib.figure", "pandas", "plotly.graph_objects", "scipy.stats", "streamlit", "torch",
    "transformers.modeling_utils", "transformers.models.auto.modeling_auto", "pytest_cov.plugin",
]  # fmt: skip
DURATION = re.compile(r"([\d.]+)s (?:setup|call|teardown) +(\S.*)")
FORKS = multiprocessing.get_context("forkserver")


def modules(folders: Sequence[str]) -> list[Path]:
    """The files of some folders of the package; "edit" is every folder or module of that name, wherever it stands."""
    paths = sorted((ROOT / "attnviz").rglob("*.py"))
    named = [path.relative_to(ROOT / "attnviz").with_suffix("").parts for path in paths]
    return [
        path
        for path, parts in zip(paths, named, strict=True)
        if parts[0] in folders or ("edit" in folders and parts[0] in ("nn", "models") and any("edit" in part for part in parts))
    ]


def copy_tree(folder: Path) -> Path:
    """What the tests need, in another place; what they only read is a link."""
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.name in ("attnviz", "tests"):
            shutil.copytree(path, folder / path.name)
        elif path.name not in (".git", ".venv", "build", ".hypothesis"):
            (folder / path.name).symlink_to(path)
    return folder


def _run_pytest(tree: Path, arguments: list[str], output: Path, environment: dict[str, str]) -> None:
    """Begins in a process of its own, which has imported the libraries and nothing of ours."""
    os.chdir(tree)
    with output.open("w") as written:
        os.dup2(written.fileno(), 1)
        os.dup2(written.fileno(), 2)
    os.environ.update({"OMP_NUM_THREADS": "1"} | environment)
    sys.path[:] = [str(tree), *(path for path in sys.path if path and Path(path).resolve() != ROOT)]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("attnviz", "tests")]:
        del sys.modules[name]
    # Nothing that was compiled of a mutant may be taken for the module.
    sys.dont_write_bytecode = "COVERAGE_FILE" not in environment
    sys.exit(int(pytest.main(arguments)))


def run_pytest(tree: Path, arguments: list[str], seconds: float, **environment: str) -> tuple[int | None, str]:
    """The exit code of the tests of a copy, None after so many seconds, and what they print."""
    output = tree / "output.txt"
    begun = FORKS.Process(target=_run_pytest, args=(tree, ["-q", *arguments], output, environment))
    begun.start()
    begun.join(seconds)
    code = begun.exitcode
    if code is None and begun.pid:
        for each in [*psutil.Process(begun.pid).children(recursive=True), psutil.Process(begun.pid)]:
            each.kill()
    return code, output.read_text(errors="replace")


@dataclass(frozen=True)
class LineTests:
    """Which tests run which lines of a file (names from the tree's root), and how many seconds each test takes."""

    by_line: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]

    def of(self, mutant: Mutant, most: float) -> list[str]:
        """The tests that run a mutant's statement, as many as fit into so many seconds.

        What runs when a module is imported runs for no test: there they are those that run anything of the module.
        """
        lines = self.by_line.get(_name(mutant), {})
        run_lines = [line for line in mutant.lines if line in lines]
        tests = set[str]().union(*(lines[line] for line in run_lines))
        if run_lines and not tests:
            tests = tests.union(*lines.values())
        own = f"tests/unit/{mutant.path.relative_to(ROOT / 'attnviz').parent}/test_{mutant.path.stem}.py"
        ordered = sorted(tests & self.seconds.keys(), key=lambda test: (not test.startswith(own), self.seconds[test], test))
        chosen, taken = [], 0.0
        for test in ordered:
            taken += self.seconds[test]
            if chosen and taken > most:
                break
            chosen.append(test)
        return chosen


def _name(mutant: Mutant) -> str:
    return str(mutant.path.relative_to(ROOT))


def line_tests(trees: list[Path], tests: list[str]) -> LineTests:
    """What was measured of the tests, now or before. A test that fails with nothing changed is left out."""
    digest = hashlib.sha256(" ".join(tests).encode())
    for path in sorted(path for folder in ("attnviz", "tests") for path in (ROOT / folder).rglob("*.py")):
        digest.update(path.read_bytes())
    kept = ROOT / "build" / "mutants" / digest.hexdigest()[:16]
    if not kept.exists():
        shutil.rmtree(kept.parent, ignore_errors=True)
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
                by_line[name][line] |= {context.partition("|")[0] for context in contexts if context}
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


def survives(mutant: Mutant, tests: list[str], trees: "queue.Queue[Path]", most: float) -> bool:
    """Whether all tests pass with the change in place.

    Raises:
        RuntimeError: they fail without it, too. Where they only take too long, the change is one that stops their import.
    """
    if not tests:
        return True
    tree = trees.get()
    try:
        with changed(tree / _name(mutant), mutant.code):
            code, _ = run_pytest(tree, ["-x", *tests], 30 + 5 * most)
        if code not in (0, 1, None):
            # Nothing could be imported, it seems: because of the change?
            unchanged, output = run_pytest(tree, ["-x", *tests], 30 + 5 * most)
            if unchanged not in (0, None):
                raise RuntimeError(f"the tests of {_name(mutant)} fail as it is:\n{output[-2000:]}")
        return code == 0
    finally:
        trees.put(tree)


def rows(given: Namespace) -> Iterator[Row]:
    """Who survives, then how many were killed: in each folder, and in all."""
    FORKS.set_forkserver_preload(LIBRARIES)
    mutants = sample(modules(given.folders), given.mutants, given.seed)
    with tempfile.TemporaryDirectory() as place:
        trees = [copy_tree(Path(place) / str(worker)) for worker in range(WORKERS)]
        known = line_tests(trees, given.tests.split())
        tests = [known.of(mutant, given.seconds) for mutant in mutants]
        free: queue.Queue[Path] = queue.Queue()
        for tree in trees:
            free.put(tree)
        with ThreadPoolExecutor(WORKERS) as pool:
            alive = pool.map(lambda mutant, chosen: survives(mutant, chosen, free, given.seconds), mutants, tests)
            killed, all_ = Counter[str](), Counter[str]()
            for mutant, chosen, is_alive in zip(mutants, tests, alive, strict=True):
                folder = str(Path(_name(mutant)).parent)
                all_[folder] += 1
                killed[folder] += not is_alive
                if is_alive:
                    change = mutant.change.replace("|", "\\|")
                    yield Row(f"survives: {_name(mutant)}:{mutant.place[0]}", f"`{change}` ({len(chosen)} tests)")
    for folder, count in sorted(all_.items()):
        yield Row(f"killed in {folder}", f"{killed[folder]} of {count}")
    share = killed.total() / all_.total()
    yield Row("killed", f"{share:.1%} of {all_.total()}", f"≥ {KILLED:.0%}", share >= KILLED)


if __name__ == "__main__":
    smoke = "tests/unit/core/test_from_weights.py"
    sizes = {"mutants": (500, 1), "seconds": (30.0, 1.0), "seed": (1, 4), "tests": (TESTS, smoke)}
    run(rows, minutes=240, sizes={"folders": (FOLDERS, ["core"]), **sizes})
