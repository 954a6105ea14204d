"""What every page shows at first, computed beforehand, for assets/examples/."""

import shutil
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from attnviz.core import whole_files
from attnviz.figures.head_claims import EXAMPLES
from attnviz.files.shipped import examples_folder, read_shipped
from attnviz.files.trace_file import value_to_bytes
from attnviz.lessons.lesson_file import read_lesson
from attnviz.lessons.library import shipped_lessons
from attnviz.settings import page_file
from attnviz.ui.background import results

_PATIENCE_SECONDS = 600


def make_shipped(report: Callable[[str], None]) -> None:
    """Open every page as a first visit does, whatever travels, and write what is computed for it.

    Raises:
        RuntimeError: a page fails; what was written before stays.
    """
    results.recorded = recorded = {}
    try:
        for script, address in (*first_visits(), *claim_visits()):
            app = AppTest.from_file(script, default_timeout=_PATIENCE_SECONDS)
            app.query_params.update(address)
            if app.run().exception:
                raise RuntimeError(f"{script.name} at {address} fails: {app.exception[0].message}")
    finally:
        results.recorded = None
    # What was there before goes only once all of it is here.
    files = {path: value_to_bytes(value) for path, value in recorded.items()}
    folder = examples_folder()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, data in files.items():
        whole_files.write(path, data)
        report(f"{path.name}  {len(data):,} bytes")
    read_shipped.cache_clear()


def first_visits() -> tuple[tuple[Path, dict[str, str]], ...]:
    """List the script of each page with its address: empty, of Matters also with its methods, of What if what else can change.

    Home's script is the app's own, for it leads to the others.
    """
    pages = sorted(page_file("home").parent.glob("*.py"))
    router = Path(results.__file__).parents[1] / "frame" / "router.py"
    empty = [(path, {}) for path in (router, *(path for path in pages if path.stem != "home"))]
    changes = ((page_file("whatif"), {"change": change}) for change in ("head", "model", "patch"))
    return *empty, (page_file("matters"), {"methods": "open"}), *changes


def claim_visits() -> tuple[tuple[Path, dict[str, str]], ...]:
    """List the page Heads at each claim of its examples and of our lessons: to test one a model reads all sentences."""
    lessons = (read_lesson(path) for path in shipped_lessons().values())
    claims = {question.text("claim") for lesson in lessons for _, _, question in lesson.questions if question.kind == "claim"}
    return tuple((page_file("heads"), {"claim": claim}) for claim in sorted({*claims, *EXAMPLES}))
