"""What `pip install .` brings: every command, and every page of the same app, from any folder and without a network."""

import gzip
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests import shared
from tests.browser.harness import ROOT, serving
from tests.browser.pages import open_page

# Python runs a module of this name before all else: whatever asks for another machine is told no, and written down.
BLOCKED = """
import os, socket
def guarded(reach):
    def call(*arguments, **options):
        address = next(each for each in arguments if not isinstance(each, socket.socket))
        host = address[0] if isinstance(address, tuple) else address
        if host not in (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0") and not str(host).startswith("/"):
            with open(os.environ["REACHED"], "a") as file:
                print(host, file=file)
            raise OSError(f"there is no network to reach {host}")
        return reach(*arguments, **options)
    return call
socket.socket.connect = guarded(socket.socket.connect)
socket.socket.connect_ex = guarded(socket.socket.connect_ex)
socket.getaddrinfo = guarded(socket.getaddrinfo)
"""
# All in one process: most of the time goes into importing torch.
EVERY_COMMAND_AND_PAGE = """
import socket
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
import attnviz
from attnviz.cli import main
from attnviz.settings import app_folder, assets_folder
from attnviz.ui.server import SCRIPT
assert "installed" in attnviz.__file__, attnviz.__file__
assert "installed" in str(app_folder()) and assets_folder() == app_folder() / "assets", (app_folder(), assets_folder())
assert socket.getaddrinfo.__module__ == "sitecustomize"
# Half a second for each page, and there are none.
manifest_scanner.scan_component_manifests = list
commands = [
    ["models"], ["models", "minilm", "--json"], ["trace", "minilm", "The cat sat.", "-o", "cat.attn"], ["show", "cat.attn"],
    *(["show", "cat.attn", "-o", f"cat.{format}"] for format in ("svg", "png", "pdf", "html", "csv", "npz", "json")),
    ["trace", "summarize-en", "One. Two.", "-o", "two.attn"],
    ["train", "toy-reverse", "--steps", "2"], ["trace", "runs/toy-reverse.safetensors", "abc", "-o", "toy.attn"],
]
for command in commands:
    assert main(command) == 0, command
# What trained the shipped models does not travel.
assert main(["train", "dot-lstm-en-fr", "--data", "data"]) == 1
pages = sorted((app_folder() / "pages").glob("*.py"))
assert len(pages) > 9
for page in pages:
    # Home leads to the other pages, which only the router knows.
    app = AppTest.from_file(str(SCRIPT if page.stem == "home" else page), default_timeout=600)
    app.run()
    assert not app.exception and not app.error, (page, app.exception, app.error)
    assert app.title or app.get("html"), page
"""
# Python's zip takes half of the time at its first level, for 2 % more bytes.
BUILD = """
import sys, zlib
zlib.Z_DEFAULT_COMPRESSION = 1
from hatchling.builders.wheel import WheelBuilder
list(WheelBuilder(".").build(directory=sys.argv[1], versions=["standard"]))
"""
MEGABYTES = 97
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(scope="module")
def wheel() -> Path:
    # What pip calls, without pip's own processes.
    command = [sys.executable, "-c", BUILD]
    built_in = shared.once("wheel", lambda folder: subprocess.run([*command, str(folder)], cwd=ROOT, check=True))
    (built,) = built_in.glob("attnviz-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """A folder that holds attnviz as installed from the wheel; its dependencies are those of this environment."""
    command = [*PIP, "install", "--no-deps", "--no-compile", str(wheel), "--target"]
    return shared.once("installed", lambda folder: subprocess.run([*command, str(folder)], check=True))


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def test_the_wheel_fits_the_package_index(wheel):
    # It takes 104.8 MB.
    assert wheel.stat().st_size <= MEGABYTES * 1e6


def test_the_app_travels_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    app = [ROOT / "app.py", *(path for name in ("pages", "assets", ".streamlit") for path in files(ROOT / name))]
    assert {f"attnviz/_app/{path.relative_to(ROOT)}" for path in app} <= names
    assert {str(path.relative_to(ROOT)) for path in files(ROOT / "attnviz")} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]


@pytest.fixture
def alone(installed: Path, tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing but this machine can be reached; what tried to is in the file that REACHED names."""
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text(BLOCKED, encoding="utf-8")
    (tmp_path / "reached").touch()
    paths = os.pathsep.join((str(tmp_path / "blocked"), str(installed)))
    return {"PYTHONPATH": paths, "REACHED": str(tmp_path / "reached"), "HF_HUB_OFFLINE": "", "HF_HOME": str(tmp_path / "hub")}


def test_every_command_and_every_page_runs_alone(alone, tmp_path):
    (tmp_path / "data").mkdir()
    pair, linked = "It is red.\tC'est rouge.", "It is red .\tC' est rouge .\t1-1 2-2 3-3 4-4"
    rows = {"dev": f"{pair}\n", "dev.links": f"{linked}\t{pair}\n"}
    for name, row in rows.items():
        with gzip.open(tmp_path / "data" / f"tatoeba-en-fr.{name}.tsv.gz", "wt", encoding="utf-8") as file:
            file.write(row)
    environment = {**os.environ, **alone}
    command = [sys.executable, "-c", EVERY_COMMAND_AND_PAGE]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert (tmp_path / "reached").read_text() == ""
    assert json.loads((tmp_path / "cat.json").read_text(encoding="utf-8"))["model"] == "minilm"
    assert "toy.attn" in {path.name for path in tmp_path.iterdir()}


def test_the_command_serves_the_app_alone_and_from_any_folder(alone, installed, tmp_path, page):
    command = [str(installed / "bin" / "attnviz")]
    with serving(command, folder=tmp_path, log=tmp_path / "log.txt", **alone) as address:
        page.emulate_media(color_scheme="dark")
        open_page(page, address)
        expect(page.locator(".story")).to_contain_text("L3·H1")
        assert page.get_by_test_id("stAlertContentError").count() == 0
        # The dark background of .streamlit/config.toml, not Streamlit's own.
        background = page.get_by_test_id("stApp").evaluate("element => getComputedStyle(element).backgroundColor")
        assert background == "rgb(18, 18, 26)"
        # The page would complain that its server is gone.
        page.goto("about:blank")
    assert (tmp_path / "reached").read_text() == ""
