"""Where PyTorch is installed from, and what a release publishes."""

import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
import trove_classifiers
import yaml

ROOT = Path(__file__).parents[2]
READ_BY_MAKE = {"Makefile", "constraints.txt", "package.json", "pyproject.toml"}


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """The address of an index that gives everybody this answer; without one it keeps all who ask waiting."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(answer) if answer else ended.wait()

        def log_message(self, format: str, *args: object) -> None: ...

    ended = Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        ended.set()
        server.shutdown()
        server.server_close()


def taken(folder: Path, *arguments: str, card: bool = False) -> tuple[str, float]:
    """Which index make takes PyTorch from, and after how many seconds; without a card, as told, or with one."""
    card_list = folder / "nvidia-smi"
    card_list.write_text(f"#!/bin/sh\nexit {0 if card else 9}\n", encoding="utf-8")
    card_list.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    command = ["make", "--silent", "torch-index", f"PYTHON={sys.executable}", *arguments]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip(), time.perf_counter() - started


@pytest.mark.skipif(sys.platform != "linux", reason="PyTorch of the package index is for the CPU on all other systems")
def test_torch_for_the_cpu_is_taken_where_its_index_answers_and_there_is_no_card(tmp_path: Path) -> None:
    with answering(b"HTTP/1.0 200 OK\r\n\r\n<a>torch</a>") as index:
        assert taken(tmp_path, f"TORCH_INDEX={index}")[0] == index
        assert taken(tmp_path, f"TORCH_INDEX={index}", card=True)[0] == ""
        assert taken(tmp_path, f"TORCH_INDEX={index}", "TORCH=default")[0] == ""
        assert taken(tmp_path, f"TORCH_INDEX={index}", "TORCH=cpu", card=True)[0] == index
    with answering(b"HTTP/1.0 404 Not Found\r\n\r\n") as index:
        assert taken(tmp_path, f"TORCH_INDEX={index}")[0] == ""


@pytest.mark.skipif(sys.platform != "linux", reason="PyTorch of the package index is for the CPU on all other systems")
def test_an_index_that_does_not_answer_costs_three_seconds_at_most(tmp_path: Path) -> None:
    # What asks begins an interpreter, in this case too.
    with answering(b"HTTP/1.0 404 Not Found\r\n\r\n") as index:
        _, answered = taken(tmp_path, f"TORCH_INDEX={index}")
    with answering(b"") as silent:
        # The second is of a name that nobody knows. The shorter of two tries: what else runs on the machine takes time as well.
        for index in (silent, "https://index.invalid/whl/cpu"):
            (where, first), (_, second) = taken(tmp_path, f"TORCH_INDEX={index}"), taken(tmp_path, f"TORCH_INDEX={index}")
            assert where == ""
            assert min(first, second) - answered <= 3


def run_make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make in a checkout that holds no more than make itself reads."""
    for name in READ_BY_MAKE:
        (folder / name).write_bytes((ROOT / name).read_bytes())
    command = ["make", "--no-print-directory", "TORCH=default", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("python", ["", "false", "no-such-python"])
def test_a_python_that_is_too_old_is_told_before_anything_is_made(python: str, tmp_path: Path) -> None:
    done = run_make(tmp_path, "run", f"PYTHON={python}")
    assert done.returncode == 2
    assert done.stdout == "attnviz needs Python 3.11 or newer with its venv module: install python3 and python3-venv\n"
    assert {path.name for path in tmp_path.iterdir()} == READ_BY_MAKE


@pytest.mark.parametrize("python", ["/no/such/python3", "/bin/false"])
def test_what_was_installed_for_a_python_that_is_gone_is_not_started(python: str, tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(python)
    (tmp_path / ".venv" / ".installed").touch()
    for target in ("run", "test", "lint"):
        done = run_make(tmp_path, target)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert "run `make clean`, then the same again" in done.stderr
    assert "make run" in run_make(tmp_path, "help").stdout
    assert run_make(tmp_path, "clean").returncode == 0
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("target", ["run", "docs", "site"])
def test_a_checkout_that_was_moved_calls_no_script_that_names_its_old_place(target: str, tmp_path: Path) -> None:
    done = run_make(tmp_path, "--dry-run", target)
    called = re.findall(r"\.venv/bin/(\w+)", done.stdout.rpartition("touch")[2])
    assert called
    assert set(called) == {"python"}


def test_a_release_publishes_what_was_built_and_checked_without_a_password() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    build, publish = (yaml.safe_load(text)["jobs"][name] for name in ("build", "publish"))
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"id-token": "write"}
    assert build["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    steps = " ".join(step.get("run", "") for step in build["steps"])
    assert steps.index("python -m build") < steps.index("twine check --strict")


def test_every_classifier_is_one_that_the_package_index_knows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["classifiers"]) <= set(trove_classifiers.classifiers)
    assert ("Typing :: Typed" in project["classifiers"]) == (ROOT / "attnviz" / "py.typed").is_file()
