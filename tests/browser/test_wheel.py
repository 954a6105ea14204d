"""What `pip install .` brings: the command opens the same app, with the same theme, from any folder."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.browser.harness import ROOT, serving

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)], check=True)
    (built,) = folder.glob("attnviz-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds attnviz as installed from the wheel; its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([*PIP, "install", "--no-deps", "--target", str(folder), str(wheel)], check=True)
    return folder


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def test_the_app_travels_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    app = [ROOT / "app.py", *(path for name in ("pages", "assets", ".streamlit") for path in files(ROOT / name))]
    assert {f"attnviz/_app/{path.relative_to(ROOT)}" for path in app} <= names
    assert {str(path.relative_to(ROOT)) for path in files(ROOT / "attnviz")} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]


def test_the_installed_package_finds_its_own_app(installed, tmp_path):
    script = "import attnviz.paths as paths; print(paths.app_folder(), paths.assets_folder())"
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == [str(installed / "attnviz/_app"), str(installed / "attnviz/_app/assets")]


def test_the_command_serves_the_app_from_any_folder(installed, tmp_path, page):
    command = [str(installed / "bin" / "attnviz")]
    with serving(command, folder=tmp_path, log=tmp_path / "log.txt", PYTHONPATH=str(installed)) as address:
        page.emulate_media(color_scheme="dark")
        page.goto(address)
        page.get_by_role("heading", level=1).first.wait_for()
        # The dark background of .streamlit/config.toml, not Streamlit's own.
        background = page.get_by_test_id("stApp").evaluate("element => getComputedStyle(element).backgroundColor")
        assert background == "rgb(18, 18, 26)"
        assert page.get_by_test_id("stException").count() == 0
        # The page would complain that its server is gone.
        page.goto("about:blank")
