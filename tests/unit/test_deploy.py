"""The files that put the app on the web agree with the app and with each other; no engine is needed to see that."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from sqlalchemy.engine import make_url

from attnviz.lessons.classroom.class_values import AnswerKey, ClassQuestion
from attnviz.lessons.classroom.store import ClassStore
from attnviz.settings import SETTINGS
from attnviz.ui.classroom.routes import HEADER
from tests import image

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
CADDYFILE = (ROOT / "Caddyfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
# The one place besides the package index that files may name.
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
HEALTH = "/_stcore/health"  # that of Streamlit, which the browser tests wait for as well


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} +(.*)$", DOCKERFILE, re.MULTILINE)


def test_the_cloud_gets_the_torch_that_the_tests_run_with_and_the_project() -> None:
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    options, *lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert options == f"--find-links {TORCH_INDEX}/torch/"
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == "."
    assert all(line in pinned for line in lines[:-1])
    assert [Requirement(line).name for line in lines[:-1]] == ["torch"]


def test_every_file_of_the_image_but_pytorchs_is_held_against_its_hash() -> None:
    listed, pins = {}, image.pins()
    for line in image.LIST.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            pin, *hashes = line.split(" --hash=")
            listed[pin.partition("==")[0]] = pin.partition("==")[2]
            assert hashes
            assert all(re.fullmatch("sha256:[0-9a-f]{64}", each) for each in hashes)
    assert listed == {name: pins[name] for name in image.packages()}
    installs = re.findall(r"pip install [^&]*", DOCKERFILE)
    unheld = [each for each in installs if "--require-hashes --" not in each]
    assert all("torch" in each or each.rstrip().endswith("--no-deps .") for each in unheld)
    assert all("--no-deps" in each or each.rstrip().endswith(" torch") for each in installs)


@pytest.mark.parametrize("name", ["Makefile", "requirements.txt", "constraints.txt", "image.txt", "Dockerfile", "compose.yaml"])
def test_no_file_names_another_place_to_download_from_than_pytorchs_own(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^/:'\" \n]+", text)) <= {"http://localhost", TORCH_INDEX.removesuffix("/whl/cpu")}


def test_the_image_has_all_that_the_wheel_is_made_of() -> None:
    build, final = DOCKERFILE.rsplit("\nFROM ", 1)
    copied = {path for line in re.findall(r"^COPY +(.*) \S+$", build, re.MULTILINE) for path in line.split()}
    assert all((ROOT / path).exists() for path in copied)
    carried = re.findall(r'^"([^"]+)" = "attnviz/_app', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert carried
    assert copied == {*carried, "attnviz", "pyproject.toml", "constraints.txt", "image.txt", "README.md", "LICENSE"}
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
    copies = COMPOSE["services"]["app"]["deploy"]["replicas"]
    assert re.search(r"reverse_proxy (.*) \{", CADDYFILE)[1].split() == [
        f"{COMPOSE['name']}-app-{n + 1}:{port}" for n in range(copies)
    ]


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
    # All copies share one store of classes, which the image can reach, and which no browser can.
    store, address = COMPOSE["services"]["store"], make_url(app["environment"]["ATTNVIZ_CLASS_STORE"])
    assert (address.host, address.username, address.password) == ("store", "attnviz", store["environment"]["POSTGRES_PASSWORD"])
    assert address.database == store["environment"]["POSTGRES_DB"]
    assert "ports" not in store
    assert app["depends_on"]["store"]["condition"] == "service_healthy"
    assert "psycopg" in image.packages()


# A copy of the app: only what answers, at which names, and with its own name; and what phones of a class ask for.
COPY = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from attnviz.ui.classroom.routes import ROUTES
from attnviz.ui.server import HostCheck
app = Starlette(routes=[*ROUTES, Mount("/", PlainTextResponse(sys.argv[1]))])
uvicorn.run(HostCheck(app), port=int(sys.argv[1]), log_level="error")
"""
QUESTION = ClassQuestion("choice", "True?", choices=("True", "False"))


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        return [stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(count)]


def get(port: int, path: str = "/", cookie: str = "", **more: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers={**more, "Cookie": cookie} if cookie else more)
    return connection.getresponse()


def post(port: int, path: str, body: dict[str, object], **more: str) -> dict[str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", path, json.dumps(body), {**more, "Content-Type": "application/json"})
    answered = connection.getresponse()
    return json.loads(answered.read()) if answered.status == 200 else {}


def states(stream: http.client.HTTPResponse) -> Iterator[str]:
    """What a phone that listens is told of its class."""
    while line := stream.readline():
        if line.startswith(b"data: "):
            yield json.loads(line[6:])["view"]["state"]


def wait_for(port: int) -> None:
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        with suppress(OSError):
            if get(port, HEALTH).status == 200:
                return
        time.sleep(0.1)
    raise AssertionError(f"nobody answers at port {port}")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> Iterator[tuple[int, dict[str, subprocess.Popen[bytes]]]]:
    """The port of a real Caddy with the project's own file, and by their names three copies behind it that share classes."""
    tmp_path = tmp_path_factory.mktemp("proxy")
    if not (caddy := shutil.which("caddy") or shutil.which("caddy", path=Path(sys.executable).parent)):
        pytest.fail("There is no Caddy: run `make caddy`, or install it from caddyserver.com.")
    front, *ports = free_ports(4)
    text = re.sub(r"attnviz-app-(\d):8501", lambda each: f"127.0.0.1:{ports[int(each[1]) - 1]}", CADDYFILE)
    for usual, here in (("{\n", "{\n\tadmin off\n"), ("\n:80 {", f"\n:{front} {{"), ("read_header 20s", "read_header 2s")):
        text = text.replace(usual, here, 1)
    (tmp_path / "Caddyfile").write_text(text, encoding="utf-8")
    home = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    ours = {**os.environ, "ATTNVIZ_CLASS_STORE": postgres}
    copies = {str(port): subprocess.Popen([sys.executable, "-c", COPY, str(port)], cwd=ROOT, env=ours) for port in ports}
    command = [caddy, "run", "--config", "Caddyfile", "--adapter", "caddyfile"]
    server = subprocess.Popen(command, cwd=tmp_path, env=home, stderr=subprocess.DEVNULL)
    try:
        for port in (*ports, front):
            wait_for(port)
        yield front, copies
    finally:
        for each in (server, *copies.values()):
            each.send_signal(signal.SIGCONT)
            each.kill()
            each.wait()


def test_a_new_visitor_is_answered_though_a_copy_hangs(proxy: tuple[int, dict[str, subprocess.Popen[bytes]]]) -> None:
    front, copies = proxy
    half = socket.create_connection(("127.0.0.1", front), timeout=20)
    half.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
    ours = get(front)
    cookie, home = ours.headers["Set-Cookie"], ours.read().decode()
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    # A browser comes back to its copy.
    assert {get(front, cookie=cookie.split(";")[0]).read().decode() for _ in range(7)} == {home}
    copies[home].send_signal(signal.SIGSTOP)
    # One that asks before Caddy has noticed is answered by another copy.
    assert get(front, cookie=cookie.split(";")[0]).read().decode() in {*copies} - {home}
    time.sleep(4)
    for _ in range(11):
        begun = time.monotonic()
        assert get(front).read().decode() in {*copies} - {home}
        assert time.monotonic() - begun < 2
    # Who never ends the head of a request is not waited for.
    half.settimeout(1)
    assert half.recv(999) == b""
    half.close()
    copies[home].send_signal(signal.SIGCONT)


def test_a_class_spans_the_copies_and_goes_on_when_one_is_killed(
    postgres: str, proxy: tuple[int, dict[str, subprocess.Popen[bytes]]]
) -> None:
    front, copies = proxy
    store = ClassStore(postgres)
    started = store.start()
    of_class = f"/class/{started.code}"
    # Three phones, each at a copy of its own.
    phones: dict[str, dict[str, str]] = {}
    heard: dict[str, Iterator[str]] = {}
    ends = time.monotonic() + 30
    while len(phones) < 3 and time.monotonic() < ends:
        ours = get(front)
        home, cookie = ours.read().decode(), ours.headers["Set-Cookie"].split(";")[0]
        # A copy that is slow for a moment gets nobody: a phone joins again.
        if not (token := post(front, f"{of_class}/join", {}, Cookie=cookie).get("token")):
            continue
        phones[home] = {"cookie": cookie, HEADER: token}
        # The copy that has fewest connections gets the next one.
        heard[home] = states(get(front, f"{of_class}/stream", **phones[home], **{"Accept-Encoding": "gzip, zstd"}))
    assert [next(told) for told in heard.values()] == ["waiting"] * 3
    store.ask(started.code, started.secret, QUESTION, AnswerKey(("True",)))
    begun = time.monotonic()
    assert all("open" in told for told in heard.values())
    assert time.monotonic() - begun < 2
    copies[home := next(iter(phones))].kill()
    for phone in phones.values():
        ends = time.monotonic() + 20
        # As a phone does, for what was under way to the copy is lost.
        while post(front, f"{of_class}/answer", {"number": 1, "answer": "True"}, **phone) != {"answer": "True"}:
            assert time.monotonic() < ends
    heard[home] = states(get(front, f"{of_class}/stream", **phones[home]))
    store.reveal(started.code, started.secret)
    assert all("revealed" in told for told in heard.values())
    assert store.overview(started.code).answered == 3
    store.dispose()


def test_images_are_named_by_exact_versions_and_actions_by_commits() -> None:
    images = [each["image"] for each in COMPOSE["services"].values() if "build" not in each]
    images += [line.split()[1] for line in DOCKERFILE.splitlines() if line.startswith("FROM ")]
    assert len(images) == 4
    # PostgreSQL's versions have two numbers.
    assert all(re.search(r":17\.\d+-|:\d+\.\d+\.\d+", image) for image in images), images
    used = [
        line for path in (ROOT / ".github/workflows").glob("*.yml") for line in path.read_text().splitlines() if "uses:" in line
    ]
    assert len(used) == 9
    assert all(re.search(r"uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line) for line in used), used


def test_a_copy_that_does_not_answer_is_ended_and_one_that_begins_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The image's own check."""
    check = yaml.safe_load(instructions("HEALTHCHECK")[0].partition("CMD ")[2])[2].replace("timeout=20", "timeout=0.3")
    ended: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *which: ended.append(which))
    (port,) = free_ports(1)
    with pytest.raises(OSError, match="refused"):
        exec(check.replace("8501", str(port)), {})
    assert not ended
    with socket.create_server(("127.0.0.1", 0)) as silent:
        exec(check.replace("8501", str(silent.getsockname()[1])), {})
    assert ended == [(-1, signal.SIGKILL)]
    assert COMPOSE["services"]["app"]["init"]
