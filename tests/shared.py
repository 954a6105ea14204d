"""What is made once for all processes of a test run: models as graphs, the wheel."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock

# The folder that the processes of a run share: whoever begins the run names it, and those that it starts inherit the name.
FOLDER = "TEST_RUN_FOLDER"


def begin() -> None:
    """Make the folder, in the process that ends last."""
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="attnviz-tests-")


def end() -> None:
    """Remove the folder."""
    shutil.rmtree(folder(), ignore_errors=True)


def folder() -> Path:
    return Path(os.environ[FOLDER])


def once(name: str, make: Callable[[Path], object]) -> Path:
    """The file or folder that `make` writes, whichever process needs it first."""
    place = folder() / name
    with FileLock(f"{place}.lock"):
        if not place.exists():
            unfinished = place.with_name(f"{name}.part")
            make(unfinished)
            unfinished.rename(place)
    return place


def exported(name: str, folder: Path) -> dict[str, Any]:
    """What `attnviz.live.graphs.export` writes and returns."""
    from attnviz.live.graphs.manifest import MANIFEST, export

    made = once(f"graphs of {name}", lambda place: export(name, place))
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return json.loads((folder / name / MANIFEST).read_text(encoding="utf-8"))


def run_script(script: Path, arguments: list[str], output: Path) -> None:
    """Run a benchmark in this process; it takes graphs of models from here."""
    from attnviz.live import graphs, site
    from benchmarks import harness

    graphs.export = site.export = exported
    harness.run_script(script, arguments, output)
