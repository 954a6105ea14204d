"""What memory the app takes: after it has started, after each page, and at its peak, with every model that travels with it.

    python benchmarks/bench_deploy.py            a minute or two; exits 1 where the peak is over the bar
    python benchmarks/bench_deploy.py --clean    the same, of what requirements.txt brings into a new environment

Linux only. The app has two cores and 2.7 GB, as on Streamlit Community Cloud, and is refused more. One visit opens every page
with its examples, Translate with four translators side by side and Answer with two models. With --clean, pip takes PyTorch from
where it is set to: gigabytes with CUDA, unless PIP_EXTRA_INDEX_URL names a place with PyTorch for the CPU.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from attnviz.models import catalog
from attnviz.ui.examples import examples
from benchmarks.visitor import ROOT, App, Machine, Visit, serving

PEAK_MB = 1_500
CLOUD = Machine(megabytes=2_700, cores=2)
PORT = 8641


def installed(folder: Path) -> Path:
    """The command `attnviz` of a new environment in which there is nothing but what requirements.txt brings."""
    venv.create(folder, with_pip=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--requirement", "requirements.txt"]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder / "bin" / "attnviz"


def walk(app: App) -> list[str]:
    """Opens page after page, and prints what the process then holds; returns what went wrong."""
    visit = Visit(app)
    print(f"{'after':<28}{'MB':>8}{'seconds':>10}")
    for page in ("", *sorted(path.stem for path in (ROOT / "pages").glob("*.py") if path.stem != "home")):
        seconds = visit.open(page)
        print(f"{page or 'home':<28}{app.megabytes():>8,.0f}{seconds:>10.1f}", flush=True)
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
    print(f"{'every example':<28}{app.megabytes():>8,.0f}", flush=True)
    visit.close()
    return visit.errors


def measured(command: tuple[str, ...], folder: Path) -> int:
    """Prints the table; 1 where a page said an error, or the peak was over the bar."""
    memory = {"ATTNVIZ_MEMORY_MB": str(CLOUD.megabytes), "ATTNVIZ_MODELS": ""}
    with serving(PORT, command=command, folder=folder, machine=CLOUD, **memory) as app:
        print(f"{'start':<28}{app.megabytes():>8,.0f}")
        errors = walk(app)
        peak = app.megabytes("VmHWM")
    print(f"{'peak':<28}{peak:>8,.0f}          (bar: {PEAK_MB:,})")
    print(f"errors: {len(errors)}", *errors, sep="\n  ")
    return int(bool(errors) or peak > PEAK_MB)


def main(*arguments: str) -> int:
    """Of this checkout, or with --clean of what is installed into a new environment."""
    if arguments != ("--clean",):
        return measured((), ROOT)
    with tempfile.TemporaryDirectory() as folder:
        # From a folder of its own: nothing of this checkout is in reach.
        return measured((str(installed(Path(folder) / "venv")),), Path(folder))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
