"""What every page shows at first, computed beforehand: it travels in assets/examples/, so that no model is needed to show it.

Each file is named after what was asked: of which model, and with which weights. So no file is read once a model was trained
again; `python -m recipes examples` makes them anew.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from attnviz.core import journal
from attnviz.core.errors import TraceError
from attnviz.files.contents import value_from_bytes, value_to_bytes
from attnviz.models.catalog import CATALOG
from attnviz.settings import assets_folder, page_file

FOLDER = "examples"
# So much of a model's weights tells whether it was trained again: every number of them changes.
WEIGHTS_BYTES = 2**16
_PATIENCE_SECONDS = 600
# What is computed while all of it is recorded, by its file; None: nothing is recorded.
_recorded: dict[Path, Any] | None = None


def find(work: str, name: str, arguments: tuple[Any, ...]) -> Any:
    """Read the shipped result of a piece of work for a model and these arguments; None: it does not travel."""
    if _recorded is not None or (path := _file(work, name, arguments)) is None or not path.is_file():
        return None
    return _without_durations(_read(path))


def note(work: str, name: str, arguments: tuple[Any, ...], result: Any) -> None:
    """Takes down what was computed, if all of it is recorded. How long that took elsewhere is of no interest here."""
    if _recorded is not None and (path := _file(work, name, arguments)) is not None:
        _recorded[path] = _without_durations(result)


def _without_durations(result: Any) -> Any:
    """Drop how long a result took on the machine that made it."""
    return result.without_durations() if hasattr(result, "without_durations") else result


def make(report: Callable[[str], None]) -> None:
    """Opens every page as a first visit does, and writes what is computed for it."""
    from streamlit.testing.v1 import AppTest

    with _recording() as recorded:
        for script, address in (*first_visits(), *claim_visits()):
            app = AppTest.from_file(script, default_timeout=_PATIENCE_SECONDS)
            app.query_params.update(address)
            app.run()
    folder = assets_folder() / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, made in recorded.items():
        data = value_to_bytes(made)
        journal.write(path, data)
        report(f"{path.name}  {len(data):,} bytes")
    _read.cache_clear()


def first_visits() -> tuple[tuple[Path, dict[str, str]], ...]:
    """List the script of each page with its address: empty, of Matters also with its methods, of What if what else can change.

    Home's script is the app's own, for it leads to the others.
    """
    pages = sorted(page_file("home").parent.glob("*.py"))
    router = Path(__file__).parents[1] / "frame" / "router.py"
    empty = [(path, {}) for path in (router, *(path for path in pages if path.stem != "home"))]
    changes = ((page_file("whatif"), {"change": change}) for change in ("head", "model", "patch"))
    return *empty, (page_file("matters"), {"methods": "open"}), *changes


def claim_visits() -> tuple[tuple[Path, dict[str, str]], ...]:
    """List the page Heads at each claim that a lesson of ours asks about: to test one a model reads all sentences."""
    from attnviz.lessons.lesson_file import read_lesson
    from attnviz.lessons.library import shipped_lessons

    lessons = (read_lesson(path) for path in shipped_lessons().values())
    claims = {question.text("claim") for lesson in lessons for _, _, question in lesson.questions if question.kind == "claim"}
    return tuple((page_file("heads"), {"claim": claim}) for claim in sorted(claims))


@contextmanager
def _recording() -> Iterator[dict[Path, Any]]:
    """Within this context everything is computed, whatever travels, and taken down."""
    global _recorded
    _recorded = {}
    try:
        yield _recorded
    finally:
        _recorded = None


def _file(work: str, name: str, arguments: tuple[Any, ...]) -> Path | None:
    """Name the file of a shipped result; None: what models of that name say does not travel."""
    if name and name not in CATALOG:
        return None
    try:
        digest = hashlib.sha256(value_to_bytes((work, name, _weights(name), arguments))).hexdigest()
    except (TraceError, ValueError):  # such as a number that is not finite
        return None
    return assets_folder() / FOLDER / f"{'-'.join(filter(None, (name, work.strip('_'))))}-{digest[:12]}.attn"


@cache
def _weights(name: str) -> str:
    """Tells weights that travel from others of the same model; of those that do not, nothing: they are always the same."""
    path = assets_folder() / "models" / name / "model.safetensors"
    if not name or not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.sha256(file.read(WEIGHTS_BYTES)).hexdigest() + f" of {path.stat().st_size}"


@cache
def _read(path: Path) -> Any:
    return value_from_bytes(path.read_bytes(), name=path.name)
