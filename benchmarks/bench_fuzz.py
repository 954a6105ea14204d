"""10,000 hostile addresses, texts, files and folders: what becomes of each, how long the slowest took, and what memory stays.

    python benchmarks/bench_fuzz.py            some 40 minutes; exits 1 where a case ended in anything but a page or a sentence
    python benchmarks/bench_fuzz.py 7          with another seed
    python benchmarks/bench_fuzz.py 7 300      with that seed and so many cases

Files and folders are opened in this process, addresses by Streamlit's own test of an app in it; some of them are asked of a
real server as well, whose log must stay free of tracebacks. Linux only. A failure names its case: `tests.fuzz` makes it again.
"""

import collections
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("ATTNVIZ_ALLOW_FOLDERS", "0")

from streamlit.components.v2 import manifest_scanner

from attnviz import memory
from benchmarks.visitor import Visit, serving
from tests.browser.harness import free_port
from tests.fuzz import Case, address, run_address, run_folder, run_toy, run_trace, sendable

CASES = 10_000
SHARES = {"trace": 0.5, "toy": 0.15, "folder": 0.05, "address": 0.28, "server": 0.02}
# Until then models are loaded for the first time, and what is kept fills up.
WARM = 0.2
GROWTH_MB, PATIENCE_SECONDS = 200, 5.0


def megabytes(process: int | str = "self") -> float:
    """What a process holds now."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


def patience() -> float:
    """Seconds that a case may take: longer while the machine has more to do than it has cores."""
    return PATIENCE_SECONDS * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def measured(kind: str, count: int, run: Callable[[int], str], process: int | str = "self") -> list[str]:
    """Runs the cases of a kind and prints its row of the table; returns what went wrong. `process` is whose memory counts."""
    problems, slowest, begun = [], 0.0, 0.0
    for number in range(count):
        if number == int(count * WARM):
            begun = megabytes(process)
        started = time.monotonic()
        if problem := run(number):
            problems.append(problem)
            print(f"  {kind} {number}: {problem[:2000]!a}", flush=True)
        slowest = max(slowest, time.monotonic() - started)
    growth = megabytes(process) - begun
    print(f"{kind:<10}{count:>8,}{slowest:>10.2f}{growth:>12,.0f}{len(problems):>10,}", flush=True)
    return problems + ([f"{kind}: {growth:,.0f} MB stay"] if growth > GROWTH_MB else [])


def served(seed: int, count: int, folder: Path) -> list[str]:
    """The same for addresses that a real server is asked for."""
    log = folder / "log.txt"
    with serving(free_port(), log=log) as server:

        def run(number: int) -> str:
            page, query = address(Case(seed, number, "server"))
            visit = Visit(server)
            visit.open(page, **sendable(query))
            visit.close()
            is_late = visit.silence > patience() and number >= count * WARM
            return f"it was silent for {visit.silence:.1f} s at {page} {query}" if is_late else ""

        problems = measured("server", count, run, server.process)
    text = log.read_text(encoding="utf-8")
    return problems + (["the server's log has a traceback: " + text[-2000:]] if "Traceback" in text else [])


def main(*arguments: str) -> int:
    """All kinds, one after the other; 1 where one case was not held."""
    seed, cases = int(arguments[0]) if arguments else 1, int(arguments[1]) if arguments[1:] else CASES
    # Streamlit looks for components in all installed packages, half a second for each session, and there are none.
    manifest_scanner.scan_component_manifests = list
    # As the app does when it starts.
    memory.bound_heaps()
    counts = {kind: max(5, int(cases * share)) for kind, share in SHARES.items()}
    print(f"seed {seed}\n{'what':<10}{'cases':>8}{'slowest s':>10}{'MB stay':>12}{'problems':>10}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        warm = counts["address"] * WARM
        runs: dict[str, Callable[[int], str]] = {
            "trace": lambda number: run_trace(Case(seed, number, "trace"), patience=patience()),
            "toy": lambda number: run_toy(Case(seed, number, "toy"), patience=patience()),
            "folder": lambda number: run_folder(Case(seed, number, "folder"), folder / "now", folder, patience=patience()),
            # A model that is loaded for the first time is not what the five seconds are about.
            "address": lambda n: run_address(Case(seed, n, "address"), patience=patience() if n >= warm else 60.0),
        }
        problems = [problem for kind, run in runs.items() for problem in measured(kind, counts[kind], run)]
        problems += served(seed, counts["server"], folder)
    kinds = collections.Counter(problem.partition(" at ")[0][:120] for problem in problems)
    print(f"problems: {len(problems)}", *(f"{count:>6} × {kind!a}" for kind, count in kinds.most_common()), sep="\n  ")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
