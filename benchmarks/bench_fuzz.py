"""10,000 hostile addresses, texts, files and folders: what becomes of each, how long the slowest took, and what memory stays.

Then as many models whose tokenizer, marks or settings do not fit their tables, as if they were on a graphics card, which would
never compute again after one look-up beyond a table.

Files and folders are opened in this process, addresses by Streamlit's own test of an app in it; some of them are asked of a
real server as well, whose log must stay free of tracebacks. Linux only. A failure names its case: `tests.fuzz` makes it again.
"""

import os
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("ATTNVIZ_ALLOW_FOLDERS", "0")

from streamlit.components.v2 import manifest_scanner

from attnviz import memory
from benchmarks.harness import Row, at_most, none, run, serving, status
from benchmarks.visitor import Visit
from tests.contract.test_lookups import on_a_card, run_lookup
from tests.fuzz import Case, address, run_address, run_folder, run_toy, run_trace, sendable

SHARES = {"trace": 0.5, "toy": 0.15, "folder": 0.05, "address": 0.28, "server": 0.02, "lookup": 1.0}
# Until then models are loaded for the first time, and what is kept fills up.
WARM = 0.2
GROWTH_MB, PATIENCE_SECONDS = 200, 5.0


def patience() -> float:
    """Seconds that a case may take: longer while the machine has more to do than it has cores."""
    return PATIENCE_SECONDS * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def measured(kind: str, count: int, try_case: Callable[[int], str], process: int | str = "self") -> Iterator[Row]:
    """Tries the cases of a kind; `process` is whose memory counts."""
    problems, slowest, begun = [], 0.0, 0
    for number in range(count):
        if number == int(count * WARM):
            begun = status(process, "VmRSS")
        started = time.monotonic()
        if problem := try_case(number):
            problems.append(f"case {number}: {problem!a}")
        slowest = max(slowest, time.monotonic() - started)
    yield none(f"{kind}: problems of {count:,} cases", problems)
    yield Row(f"{kind}: the slowest", f"{slowest:.2f} s")
    yield at_most(f"{kind}: memory that stays", (status(process, "VmRSS") - begun) / 1024, GROWTH_MB, "MB")


def served(seed: int, count: int, folder: Path) -> Iterator[Row]:
    """The same for addresses that a real server is asked for."""
    log = folder / "log.txt"
    with serving(log=log) as server:

        def visited(number: int) -> str:
            page, query = address(Case(seed, number, "server"))
            visit = Visit(server)
            visit.open(page, **sendable(query))
            visit.close()
            is_late = visit.silence > patience() and number >= count * WARM
            return f"it was silent for {visit.silence:.1f} s at {page} {query}" if is_late else ""

        yield from measured("server", count, visited, server.process)
    text = log.read_text(encoding="utf-8")
    yield none("tracebacks in the server's log", [text[-2000:]] if "Traceback" in text else [])


def looked_up(number: int, folder: Path) -> str:
    """What went wrong with a model that looks up rows, as if it were on a card."""
    with on_a_card():
        return run_lookup(number, folder)


def rows(given: Namespace) -> Iterator[Row]:
    """All kinds, one after the other."""
    # Streamlit looks for components in all installed packages, half a second for each session, and there are none.
    manifest_scanner.scan_component_manifests = lambda max_workers=None: []
    # As the app does when it starts.
    memory.bound_heaps()
    seed = given.seed
    counts = {kind: max(2, int(given.cases * SHARES[kind])) for kind in given.kinds}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        warm = counts.get("address", 0) * WARM
        tries: dict[str, Callable[[int], str]] = {
            "trace": lambda number: run_trace(Case(seed, number, "trace"), patience=patience()),
            "toy": lambda number: run_toy(Case(seed, number, "toy"), patience=patience()),
            "folder": lambda number: run_folder(Case(seed, number, "folder"), folder / "now", folder, patience=patience()),
            # A model that is loaded for the first time is not what the five seconds are about.
            "address": lambda n: run_address(Case(seed, n, "address"), patience=patience() if n >= warm else 60.0),
            "lookup": lambda number: looked_up(number, folder / "stranger"),
        }
        for kind, count in counts.items():
            yield from served(seed, count, folder) if kind == "server" else measured(kind, count, tries[kind])


if __name__ == "__main__":
    run(rows, minutes=120, sizes={"seed": (1, 1), "cases": (10_000, 4), "kinds": ([*SHARES], ["trace", "folder"])})
