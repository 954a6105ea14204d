"""What memory the app takes: after it has started, after each page, and at its peak, with every model that travels with it.

Linux only. The app has two cores and 2.7 GB, as on Streamlit Community Cloud, and is refused more. One visit opens every page
with its examples, Translate with four translators side by side and Answer with two models. With --clean, pip takes PyTorch from
where it is set to: gigabytes with CUDA, unless PIP_EXTRA_INDEX_URL names a place with PyTorch for the CPU.
"""

import os
import resource
import subprocess
import tempfile
import time
import venv
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from attnviz.models import catalog
from attnviz.ui.prompt_box import examples
from benchmarks.harness import APP, ROOT, Row, at_most, none, run, serving
from benchmarks.visitor import Visit

PEAK_MB = 1_500
CLOUD_MB, CORES = 2_700, 2
PIP_SECONDS = 1_200


def installed(folder: Path) -> Path:
    """The command `attnviz` of a new environment in which there is nothing but what requirements.txt brings."""
    venv.create(folder, with_pip=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--requirement", "requirements.txt"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=PIP_SECONDS)
    return folder / "bin" / "attnviz"


def shrink_machine() -> None:
    """Makes this process, and those that it starts, live on a small machine."""
    # Not of the address space: PyTorch reserves far more of it than it ever fills.
    resource.setrlimit(resource.RLIMIT_DATA, (CLOUD_MB * 2**20, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])


def open_examples(visit: Visit) -> None:
    """Opens each page with its examples."""
    for example in examples("summarize"):
        visit.open("summarize", text=example.text)
    for example in examples("encode"):
        visit.open("encode", text=example.text)
        visit.open("summarize", model=catalog.available()[0], text=example.text)
    for example in examples("translate"):
        visit.open("translate", text=example.text)
        visit.open("encode", text=example.text)
    for example in examples("answer"):
        visit.open("answer", question=example.question, passage=example.text, models=catalog.available_for("answer"))


def rows(given: Namespace) -> Iterator[Row]:
    """What the process holds page after page, of this checkout, or with --clean of what is installed into a new environment."""
    shrink_machine()
    memory = {"ATTNVIZ_MEMORY_MB": str(CLOUD_MB), "ATTNVIZ_MODELS": ""}
    with tempfile.TemporaryDirectory() as place:
        # From a folder of its own: nothing of this checkout is in reach.
        command, folder = ([str(installed(Path(place) / "venv"))], Path(place)) if given.clean else (APP, ROOT)
        with serving(command=command, folder=folder, environment=memory) as app:
            yield Row("start", f"{app.megabytes():,.0f} MB")
            visit = Visit(app)
            for page in given.pages:
                seconds = visit.open("" if page == "home" else page)
                yield Row(f"after {page}", f"{app.megabytes():,.0f} MB, {seconds:.1f} s")
            if not given.smoke:
                began = time.perf_counter()
                open_examples(visit)
                yield Row("after every example", f"{app.megabytes():,.0f} MB, {time.perf_counter() - began:.1f} s")
            visit.close()
            yield at_most("peak", app.megabytes("VmHWM"), PEAK_MB, "MB")
    yield none("errors on the pages", visit.errors)


if __name__ == "__main__":
    names = sorted((path.stem for path in (ROOT / "pages").glob("*.py")), key=lambda name: (name != "home", name))
    run(rows, minutes=25, sizes={"clean": (False, False), "pages": (names, ["home", "compute"])})
