"""How many mutants the tests kill: of the code that computes, explains, surveys and edits attention, with one place changed.

Which tests run which lines is measured once, and kept in build/mutants until a file of the package or the tests changes. Each
mutant then meets the tests that run its line, those of its own module first and the quickest next, until one fails or they have
taken what --seconds says. Who survives is printed. Nothing is changed here: two copies of the tree take turns.
"""

import tempfile
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue

from benchmarks.harness import ROOT, Row, run
from benchmarks.mutant_tests import FORKS, LineTests, begin_pytest, changed, copy_tree, line_tests, run_pytest
from benchmarks.mutant_trials import OUTSIDE, SURVIVED, Trial, Trials
from benchmarks.mutants import Mutant, sample

FOLDERS = ["core", "analysis", "attribution", "survey", "edit"]
TESTS = "tests/unit tests/property tests/contract attnviz"
BAR, WORKERS = 0.9, 2
COLLECT_SECONDS = 300


def modules(folders: Sequence[str]) -> list[Path]:
    """The files of some folders of the package; "edit" is every folder or module of that name, wherever it stands."""
    paths = sorted((ROOT / "attnviz").rglob("*.py"))
    named = [path.relative_to(ROOT / "attnviz").with_suffix("").parts for path in paths]
    return [
        path
        for path, parts in zip(paths, named, strict=True)
        if parts[0] in folders or ("edit" in folders and parts[0] in ("nn", "models") and any("edit" in part for part in parts))
    ]


@dataclass
class Worker:
    """A copy of the tree, in which tests wait, collected, for mutants."""

    tree: Path
    tests: list[str]
    known: LineTests
    most: float
    passes: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.trials, sent = FORKS.Pipe()
        begin_pytest(self.tree, self.tests, Trials(sent))
        sent.close()
        if not self.trials.poll(COLLECT_SECONDS):
            raise RuntimeError(f"no tests: {(self.tree / 'output.txt').read_text()[-2000:]}")
        self.collected = set(self.trials.recv())

    def killer(self, mutant: Mutant) -> str | None:
        """The test that fails with the change in place, or "one of ..."; None where all that run its line pass."""
        tests = [test for test in self.known.of(mutant, self.most) if test in self.collected]
        with changed(self.tree / mutant.name, mutant.code):
            while tests and not self.known.runs_at_import(mutant):
                outcome, test = self._try(mutant, tests)
                if outcome == SURVIVED:
                    return None
                if outcome == OUTSIDE:
                    break
                if self._passes_unchanged(mutant, test):
                    return test
                tests.remove(test)
            return f"one of {len(tests)}" if tests and not self._pass_anew(mutant, tests) else None

    def _try(self, mutant: Mutant, tests: list[str], *, as_it_is: bool = False) -> tuple[int, str]:
        after = mutant.source if as_it_is else mutant.code
        self.trials.send(Trial(mutant.module, mutant.source, after, tests, self._patience(tests)))
        return self.trials.recv()

    def _patience(self, tests: list[str]) -> float:
        return 20 + 5 * sum(self.known.seconds[test] for test in tests)

    def _passes_unchanged(self, mutant: Mutant, test: str) -> bool:
        if test not in self.passes:
            with changed(self.tree / mutant.name, mutant.source):
                self.passes[test] = self._try(mutant, [test], as_it_is=True)[0] == SURVIVED
        return self.passes[test]

    def _pass_anew(self, mutant: Mutant, tests: list[str]) -> bool:
        """Whether the tests pass in a new process, which imports the changed module.

        Raises:
            RuntimeError: they cannot be run without the change either.
        """
        code, _ = run_pytest(self.tree, ["-x", *tests], 20 + self._patience(tests))
        if code not in (0, 1, None):
            # Nothing could be imported, it seems: because of the change?
            with changed(self.tree / mutant.name, mutant.source):
                unchanged, output = run_pytest(self.tree, ["-x", *tests], 20 + self._patience(tests))
            if unchanged not in (0, None):
                raise RuntimeError(f"the tests of {mutant.name} fail as it is:\n{output[-2000:]}")
        return code == 0


def rows(given: Namespace) -> Iterator[Row]:
    """Who survives, then how many were killed: in each folder, and in all."""
    mutants, tests = sample(modules(given.folders), given.mutants, given.seed), given.tests.split()
    workers = min(WORKERS, given.mutants)
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(workers) as pool:
        trees = [copy_tree(Path(place) / str(worker)) for worker in range(workers)]
        known = line_tests(trees, tests)
        free: Queue[Worker] = Queue()
        for worker in pool.map(lambda tree: Worker(tree, tests, known, given.seconds), trees):
            free.put(worker)

        def killer(mutant: Mutant) -> str | None:
            worker = free.get()
            try:
                return worker.killer(mutant)
            finally:
                free.put(worker)

        killed, all_ = Counter[str](), Counter[str]()
        for mutant, test in zip(mutants, pool.map(killer, mutants), strict=True):
            folder = str(Path(mutant.name).parent)
            all_[folder] += 1
            killed[folder] += test is not None
            if test is None:
                change = mutant.change.replace("|", "\\|")
                yield Row(
                    f"survives: {mutant.name}:{mutant.place[0]}", f"`{change}` ({len(known.of(mutant, given.seconds))} tests)"
                )
    for folder, count in sorted(all_.items()):
        yield Row(f"killed in {folder}", f"{killed[folder]} of {count}")
    share = killed.total() / all_.total()
    yield Row("killed", f"{share:.1%} of {all_.total()}", f"≥ {BAR:.0%}", share >= BAR)


if __name__ == "__main__":
    smoke = "tests/unit/core/test_trace_from_weights.py"
    sizes = {"mutants": (500, 1), "seconds": (15.0, 1.0), "seed": (1, 4), "tests": (TESTS, smoke)}
    run(rows, minutes=120, sizes={"folders": (FOLDERS, ["core"]), **sizes})
