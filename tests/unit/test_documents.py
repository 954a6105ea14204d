"""What README and the documentation say to type does what they say: all of a document in order, in a folder of its own.

The notebook has a test of its own, which runs it in IPython.
"""

import gzip
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from attnviz import cli
from attnviz.cli import serve
from tests import shared

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n([\s\S]*?)^```$|(?<=\n\n)((?:    .*\n|\n(?=    ))+)", re.MULTILINE)
# They would change this machine, or ask others for something.
OTHERS = {"git", "cd", "pip", "docker"}
# What takes minutes is asked for less.
SHORTER = {
    "claim": ["--first", "40"],
    "train": ["--steps", "3"],
    "faithful": ["--limit", "1"],
    "site": ["--models", "dot-lstm-en-fr"],
}
# Files that a document names and others have: the recipes' data, and beside them what a class has handed in.
RECORD = {"context": "Ada wrote the first program.", "question": "Who wrote it?"}
DATA = {"qa.dev.jsonl.gz": RECORD, "scitldr.dev.jsonl.gz": {"sentences": ["We read.", "We learn to write."]}}
pytestmark = pytest.mark.usefixtures("unchecked")


class Block(NamedTuple):
    """Lines to type, in which language, and where they stand."""

    language: str
    text: str
    line: int


def blocks(document: Path) -> Iterator[Block]:
    text = document.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match[1]:
            yield Block(match[1], match[2], line)
        elif re.match(r" *(?:\w+=\S+[ \\\n]+)*(attnviz|make|pip|python|git|docker|printf)\b", match[3]):
            yield Block("shell", match[3], line)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, record in DATA.items():
        with gzip.open(tmp_path / name, "wt", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    (tmp_path / "handed-in").mkdir()
    (tmp_path / "handed-in" / "ada.json").write_text("{}", encoding="utf-8")
    return tmp_path


@pytest.mark.gate
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_all_that_a_document_says_to_type_runs(document: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(document):
        if block.language == "python":
            exec(compile(block.text, f"{document.name}, line {block.line}", "exec"), namespace)
        elif block.language in ("shell", "sh"):
            for line in block.text.replace("\\\n", " ").splitlines():
                run_line(line, monkeypatch)


def test_blocks_are_found_and_a_wrong_line_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    languages = [block.language for block in blocks(ROOT / "README.md")]
    assert languages.count("python") == 2
    assert languages.count("shell") >= 3
    for line in (
        "attnviz show none.attn",
        "attnviz show a b c",
        "make nothing",
        "python nowhere.py",
        "rm -r /",
        "python -m no_such",
    ):
        with pytest.raises((AssertionError, SystemExit)):
            run_line(line, monkeypatch)


def run_line(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a line of a shell, with pipes and a file that its output goes to."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in lexer:
        commands.append([]) if word == "|" else commands[-1].append(word)
    data = b""
    for command in commands:
        words, file = [word for word in command if not re.fullmatch(r"[A-Z_]+=.*", word)], ""
        if ">" in words:
            words, file = words[: words.index(">")], words[words.index(">") + 1]
        if words:
            data = run(words, data, monkeypatch)
        if file:
            Path(file).write_bytes(data)


def run(words: list[str], data: bytes, monkeypatch: pytest.MonkeyPatch) -> bytes:
    program, *rest = words
    if program in ("printf", "echo"):
        return subprocess.run(words, capture_output=True, check=True).stdout
    if program == "make":
        targets = [word for word in rest if "=" not in word]
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert all(re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE) for target in targets), words
        return b""
    if Path(program).name == "python":
        assert find_spec(rest[1]) if rest[0] == "-m" else (ROOT / rest[0]).is_file(), words
        return b""
    assert program == "attnviz" or program in OTHERS, f"{program} is not known here: {words}"
    return attnviz(rest, data, monkeypatch) if program == "attnviz" else b""


def attnviz(words: list[str], data: bytes, monkeypatch: pytest.MonkeyPatch) -> bytes:
    arguments = cli.parser().parse_args(words)
    if arguments.command is serve.serve:
        return b""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("attnviz.live.site.export", shared.exported)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        patch.setattr(sys, "stdout", out)
        assert cli.main([*words, *SHORTER.get(words[0], [])]) == 0, words
    out.flush()
    return out.buffer.getvalue()
