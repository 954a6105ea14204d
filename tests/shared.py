"""What is made once for all processes of a test run: models as graphs, the wheel, the app that browsers visit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

# The folder that the processes of a run share: whoever begins the run names it, and those that it starts inherit the name.
FOLDER = "TEST_RUN_FOLDER"
# Python complains of a process that it has forgotten while it runs.
_KEPT: list[subprocess.Popen[bytes]] = []


def begin() -> None:
    """Make the folder, in the process that ends last."""
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="attnviz-tests-")


def end() -> None:
    """Stop what still runs, and remove the folder."""
    for process in folder().glob("*.pid"):
        with suppress(ProcessLookupError):
            os.kill(int(process.stem), signal.SIGTERM)
    shutil.rmtree(folder(), ignore_errors=True)


def stop_at_the_end(process: subprocess.Popen[bytes]) -> None:
    """Keep a process until the run ends, whichever of the run's processes began it."""
    (folder() / f"{process.pid}.pid").touch()
    _KEPT.append(process)


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
    from attnviz.live.graphs.models import MANIFEST, export

    made = once(f"graphs of {name}", lambda place: export(name, place))
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return json.loads((folder / name / MANIFEST).read_text(encoding="utf-8"))


def run_scripts(scripts: list[Path], arguments: list[str], outputs: list[Path], store: str) -> None:
    """Run benchmarks in this process, until one fails; graphs of models come from here, classes from the store of the app."""
    from attnviz.live import graphs, site
    from benchmarks import harness

    os.environ["ATTNVIZ_CLASS_STORE"] = store
    graphs.export = site.export = exported
    sys.argv[1:] = arguments
    with harness.sharing_browser() if len(scripts) > 1 else nullcontext():
        for script, output in zip(scripts, outputs, strict=True):
            if code := harness.run_script(script, arguments, output):
                sys.exit(code)
