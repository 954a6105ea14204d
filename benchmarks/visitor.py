"""A visit of the app without a browser: what a browser sends and gets, over Streamlit's own WebSocket, and nothing drawn."""

import time
from collections.abc import Sequence
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from benchmarks.harness import App

PATIENCE_SECONDS = 120


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
        self._boxes: dict[str, str] = {}
        self.socket = connect(
            f"ws://{app.host}/_stcore/stream",
            subprotocols=[Subprotocol("streamlit")],
            max_size=None,
            open_timeout=PATIENCE_SECONDS,
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

    def type(self, label: str, text: str, page: str) -> None:
        """Types a text into the box of that label, on the page that was opened last, and does not wait for it."""
        asked = BackMsg()
        asked.rerun_script.page_name = page
        asked.rerun_script.widget_states.widgets.add(id=self._boxes[label], string_value=text)
        self.socket.send(asked.SerializeToString())

    def wait(self, started: float, patience: float = PATIENCE_SECONDS) -> float:
        """Waits for the last element of the page that was asked for; seconds since `started`.

        Raises:
            TimeoutError: it has not come within `patience` seconds.
        """
        self.silence, heard, last = 0.0, started, b""
        ends = time.perf_counter() + patience
        while True:
            data = self.socket.recv(timeout=max(0.0, ends - time.perf_counter()), decode=False)
            message = ForwardMsg.FromString(data)
            kind = message.WhichOneof("type")
            if (now := message.delta.SerializeToString() if kind == "delta" else b"") != last or not now:
                last = now or last
                self.silence, heard = max(self.silence, time.perf_counter() - heard), time.perf_counter()
            if kind == "new_session":
                self.session = message.new_session.initialize.session_id
            elif kind == "delta":
                self.shown += message.SerializeToString().decode("utf-8", "ignore")
                self._note_errors(message)
                if (area := message.delta.new_element.text_area).id:
                    self._boxes[area.label] = area.id
            elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return time.perf_counter() - started

    def close(self) -> None:
        self.socket.close()

    def _note_errors(self, message: ForwardMsg) -> None:
        element = message.delta.new_element
        if element.WhichOneof("type") == "exception":
            self.errors.append(element.exception.message or element.exception.type)
        elif element.WhichOneof("type") == "alert" and element.alert.format == element.alert.ERROR:
            self.errors.append(element.alert.body)


def p95(seconds: Sequence[float]) -> float:
    """The time that one in twenty exceeds."""
    return sorted(seconds)[max(0, int(0.95 * len(seconds)) - 1)]
