"""The documentation builds without a warning, has a page for every model, and asks no other machine for anything."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attnviz.core import errors

ROOT = Path(__file__).parents[2]
# What a browser fetches by itself; a link that a person clicks is none.
FETCHED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=[\"']?(https?:[^\"' >]+)[^>]*>")


@pytest.mark.gate
def test_it_builds_and_stands_alone(tmp_path: Path) -> None:
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    pages = {path.relative_to(tmp_path / "site").as_posix(): path for path in (tmp_path / "site").rglob("*.html")}
    for card in ROOT.glob("assets/models/*/card.md"):
        assert f"models/{card.parent.name}.html" in pages
        assert f'href="{card.parent.name}.html"' in pages["models/index.html"].read_text(encoding="utf-8")
    assert "attnviz.models.catalog.load" in pages["api.html"].read_text(encoding="utf-8")
    fetched = [url for path in pages.values() for url in FETCHED.findall(path.read_text(encoding="utf-8"))]
    assert not fetched


def test_every_word_of_the_glossary_is_at_home_in_a_file_that_there_is() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = text.partition("## Glossary")[2].partition("\n## ")[0].splitlines()
    homes = [home for row in rows if row.startswith("|") for home in re.findall(r"`([\w*]+/[\w*/.]*)`", row.split("|")[3])]
    assert len(homes) >= 30
    assert [home for home in homes if not any([*(ROOT / "attnviz").glob(home.rstrip("/")), *ROOT.glob(home.rstrip("/"))])] == []


# A module of JavaScript that computes what Python computes says so: "as attnviz/text/words.py", "as in attnviz.nn.decoding".
AS = re.compile(r"\bas (?:in )?attnviz(?!/[\w/]+\.js)[./]\w")
IMPORTED = re.compile(r"""(?:from |import\()["'](\.[\w./]*/(\w+)\.js)["']""")


def reached(test: Path) -> set[Path]:
    """The modules of JavaScript that a test runs, by the scripts beside it that it names and by names that it calls in them."""
    text = test.read_text(encoding="utf-8")
    models = ROOT / "attnviz" / "live" / "web" / "models"
    waiting = [(models / f"{name}.js").resolve() for name in re.findall(r'\["([\w./]+)"', text)]
    waiting += [folder / name for name in re.findall(r'"(\w+\.js)"', text) for folder in (test.parent, models)]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path.is_file() and path not in found:
            found.add(path)
            waiting += [(path.parent / each).resolve() for each, _ in IMPORTED.findall(path.read_text(encoding="utf-8"))]
    return found


def test_what_two_languages_compute_is_held_by_a_test_that_runs_both() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| JavaScript, in `attnviz/`")[2].partition("\n\n")[0]
    listed: set[Path] = set()
    for row in table.splitlines()[2:]:
        scripts, modules, (test,) = (re.findall(r"`([^`]+)`", cell) for cell in row.strip("|").split("|"))
        scripts = {ROOT / "attnviz" / each for each in scripts}
        assert all((ROOT / "attnviz" / each).is_file() for each in modules), row
        assert scripts <= reached(ROOT / "tests" / "unit" / "live" / test), row
        listed |= scripts
    texts = {path: path.read_text(encoding="utf-8").replace("\n// ", " ") for path in (ROOT / "attnviz").rglob("*.js")}
    assert {path for path, text in texts.items() if AS.search(text)} - listed == set()


ERRORS = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, errors.AttnvizError)}
# What an error may begin with besides a capital: us, an argument or a field; and what is told behind the name of a file.
NAMED = "(attnviz|attention|begins|choices|it|kind|load|open|points|save|tolerance|wrap) "
SENTENCE = re.compile(rf"({NAMED}|[A-Z{{“\"-]).*([.!?]| --data DATA| -o {{}}|[:.,] {{}}|{{}}{{}})")


def test_what_an_error_says_is_a_sentence() -> None:
    """It begins with a capital, a quote or a name of code, and ends with a stop, a command, or what another error says."""
    # Parts of what another error says stand in why.py.
    wrong, files = [], sorted({*(ROOT / "attnviz").rglob("*.py")} - {ROOT / "attnviz" / "core" / "why.py"})
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS and node.args):
                continue
            parts = node.args[0].values if isinstance(node.args[0], ast.JoinedStr) else node.args[:1]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
            if " " in text and not SENTENCE.fullmatch(text):
                wrong.append(f"{file.name}:{node.lineno}: {text}")
    assert wrong == []
