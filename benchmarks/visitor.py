"""A visit of the app without a browser: what a browser sends and gets, over Streamlit's own WebSocket, and nothing drawn."""

import os
import resource
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

ROOT = Path(__file__).parents[1]
PATIENCE_SECONDS = 120


@dataclass(frozen=True)
class App:
    """A running server: where it is, and its process."""

    host: str
    process: int

    def megabytes(self, what: str = "VmRSS") -> float:
        """Memory of the process now, or its peak ("VmHWM")."""
        status = Path(f"/proc/{self.process}/status").read_text(encoding="ascii")
        (line,) = (line for line in status.splitlines() if line.startswith(f"{what}:"))
        return int(line.split()[1]) / 1024


@dataclass(frozen=True)
class Machine:
    """A small one: the memory that its processes may have, and its cores."""

    megabytes: int
    cores: int

    def enter(self) -> None:
        """Makes this process, and those that it starts, live on such a machine."""
        # Not of the address space: PyTorch reserves far more of it than it ever fills.
        resource.setrlimit(resource.RLIMIT_DATA, (self.megabytes * 2**20,) * 2)
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: self.cores])


@contextmanager
def serving(
    port: int, *, command: Sequence[str] = (), folder: Path = ROOT, machine: Machine | None = None,
    log: Path = Path(os.devnull), **environment: str,
) -> Iterator[App]:  # fmt: skip
    """The app, offline, of this checkout unless `command` serves another; it is stopped at the end."""
    command = [*(command or (sys.executable, "-m", "attnviz.cli")), "--port", str(port)]
    with log.open("w") as output:
        server = subprocess.Popen(
            command,
            cwd=folder,
            stdout=output,
            stderr=output,
            env={**os.environ, "HF_HUB_OFFLINE": "1", **environment},
            preexec_fn=machine.enter if machine else None,
        )
    app = App(f"localhost:{port}", server.pid)
    try:
        _wait(app, server)
        yield app
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()


def _wait(app: App, server: subprocess.Popen) -> None:
    started = time.monotonic()
    while server.poll() is None and time.monotonic() - started < PATIENCE_SECONDS:
        try:
            urllib.request.urlopen(f"http://{app.host}/_stcore/health", timeout=5)
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("the app did not start")


class Visit:
    """One session, as of one browser.

    errors   what its pages said was wrong
    shown    every text that the page opened last has sent, in one string
    session  the name that the server gave it
    silence  the longest time (seconds) in which the page opened last has sent nothing new: no element, and no progress
    """

    def __init__(self, app: App) -> None:
        self.errors: list[str] = []
        self.shown = self.session = ""
        self.silence = 0.0
        self.socket = connect(
            f"ws://{app.host}/_stcore/stream", subprotocols=["streamlit"], max_size=None, open_timeout=PATIENCE_SECONDS
        )

    def open(self, page: str, **query: str | Sequence[str]) -> float:
        """Opens a page with that address; seconds until its last element has come."""
        started = time.perf_counter()
        self.ask(page, **query)
        return self.wait(started)

    def ask(self, page: str, **query: str | Sequence[str]) -> None:
        """Asks for a page, and does not wait for it."""
        asked = BackMsg()
        asked.rerun_script.query_string = urlencode(query, doseq=True)
        asked.rerun_script.page_name = page
        self.shown = ""
        self.socket.send(asked.SerializeToString())

    def wait(self, started: float) -> float:
        """Waits for the last element of the page that was asked for; seconds since `started`."""
        self.silence, heard, last = 0.0, started, b""
        while True:
            said = ForwardMsg.FromString(self.socket.recv(timeout=PATIENCE_SECONDS))
            kind = said.WhichOneof("type")
            if (now := said.delta.SerializeToString() if kind == "delta" else b"") != last or not now:
                last = now or last
                self.silence, heard = max(self.silence, time.perf_counter() - heard), time.perf_counter()
            if kind == "new_session":
                self.session = said.new_session.initialize.session_id
            elif kind == "delta":
                self.shown += said.SerializeToString().decode("utf-8", "ignore")
                self._look(said)
            elif kind == "script_finished" and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return time.perf_counter() - started

    def close(self) -> None:
        self.socket.close()

    def _look(self, said: ForwardMsg) -> None:
        element = said.delta.new_element
        if element.WhichOneof("type") == "exception":
            self.errors.append(element.exception.message or element.exception.type)
        elif element.WhichOneof("type") == "alert" and element.alert.format == element.alert.ERROR:
            self.errors.append(element.alert.body)
