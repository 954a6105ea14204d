"""The documentation builds without a warning, has a page for every model, and asks no other machine for anything."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
