"""The files that put the app on the web agree with the app and with each other; no engine is needed to see that."""

import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from attnviz.settings import SETTINGS

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
CADDYFILE = (ROOT / "Caddyfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
HEALTH = "/_stcore/health"  # that of Streamlit, which the browser tests wait for as well


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} +(.*)$", DOCKERFILE, re.MULTILINE)


def test_the_cloud_gets_the_torch_that_the_tests_run_with_and_the_project() -> None:
    lines = [line for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == "."
    assert all(line in pinned for line in lines[:-1])
    assert [Requirement(line).name for line in lines[:-1]] == ["torch"]


@pytest.mark.parametrize("name", ["requirements.txt", "constraints.txt", "Dockerfile", "compose.yaml"])
def test_no_file_names_a_place_to_download_from(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^/:'\" ]+", text)) <= {"http://localhost"}


def test_the_image_has_all_that_the_wheel_is_made_of() -> None:
    build, final = DOCKERFILE.rsplit("\nFROM ", 1)
    copied = {path for line in re.findall(r"^COPY +(.*) \S+$", build, re.MULTILINE) for path in line.split()}
    assert all((ROOT / path).exists() for path in copied)
    carried = re.findall(r'^"([^"]+)" = "attnviz/_app', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert carried
    assert copied == {*carried, "attnviz", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert ignored[0] == "*"
    assert {line[1:] for line in ignored if line.startswith("!")} == copied
    assert "pip" not in final


def test_the_image_runs_the_app_as_nobody_special_and_watches_it() -> None:
    assert instructions("USER") == ["attnviz"]
    assert DOCKERFILE.index("\nUSER") < DOCKERFILE.rindex("\nCMD")
    (port,) = instructions("EXPOSE")
    assert f"http://localhost:{port}{HEALTH}" in instructions("HEALTHCHECK")[0]
    assert yaml.safe_load(instructions("CMD")[-1]) == ["attnviz", "--host", "0.0.0.0", "--port", port]
    assert re.search(rf"dynamic a \{{\s+name app\s+port {port}\b", CADDYFILE)


def test_a_class_is_shared_out_and_every_browser_stays_where_it_is() -> None:
    app, proxy = COMPOSE["services"]["app"], COMPOSE["services"]["proxy"]
    assert app["deploy"]["replicas"] > 1
    assert "ports" not in app
    assert {name for name in app["environment"] if name.startswith(("ATTNVIZ_", "HF_"))} <= set(SETTINGS)
    assert "lb_policy cookie" in CADDYFILE
    (mount,) = proxy["volumes"]
    file, place, mode = mount.split(":")
    assert (ROOT / file).is_file()
    assert (place, mode) == ("/etc/caddy/Caddyfile", "ro")
    assert proxy["depends_on"]["app"]["condition"] == "service_healthy"
    assert CADDYFILE.count("{") == CADDYFILE.count("}")
