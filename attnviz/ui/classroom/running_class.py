"""A class as the server holds it: its store, and what all of its phones see now."""

import asyncio
import json
import logging
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

import anyio
import anyio.to_thread
from platformdirs import user_state_path

from attnviz import settings
from attnviz.core.errors import AttnvizError

if TYPE_CHECKING:
    from attnviz.lessons.classroom.store import ClassStore


# Seconds between two looks for classes whose day is over.
HOUR = 3600.0
_LOCK = threading.Lock()
_STORES: "dict[str, ClassStore]" = {}


def store_address() -> str:
    """Return where classes are kept: what ATTNVIZ_CLASS_STORE says, else a file among what programs keep for this user."""
    # Quoted: in an address, a `?` begins options and `%41` is an A; the name of a folder may have both.
    own = user_state_path("attnviz") / "classes.sqlite"
    return settings.text("ATTNVIZ_CLASS_STORE") or f"sqlite:///{quote(str(own))}"


def store_place() -> str:
    """Say in words where classes are kept: a file, or a database by its host; no password of it."""
    scheme, _, rest = store_address().partition("?")[0].partition("://")
    if scheme.startswith("sqlite"):
        return f"the file {unquote(rest[1:])} of this server"
    return f"the database at {rest.rpartition('@')[2].partition('/')[0] or 'this server'}"


def class_store() -> "ClassStore":
    """Open the store, once a process.

    Raises:
        SettingError: there is no such database, or nothing can be written there.
    """
    # Imported here: a server without classes does without SQLAlchemy.
    from attnviz.lessons.classroom.store import ClassStore

    address = store_address()
    with _LOCK:
        if address not in _STORES:
            _STORES[address] = ClassStore(address)
            threading.Thread(target=_delete_old, args=(_STORES[address],), name="old classes", daemon=True).start()
        return _STORES[address]


def _delete_old(store: "ClassStore") -> None:
    """Delete classes whose day is over, now and every hour, whether or not another one is started."""
    while True:
        with suppress(AttnvizError):
            store.delete_old()
        time.sleep(HOUR)


# Seconds between two looks at the store, between two signs of life to a phone, and between two notes of who is here.
LOOK, BEAT, NOTE = 0.25, 10.0, 20.0
# Phones that one copy of the app tells as it happens; further ones ask every few seconds.
MOST_LISTENERS = 700
# One student may have a phone and two further windows.
MOST_OF_ONE = 3
# Threads that wait for the database: Streamlit's own are not taken.
THREADS = 6
Value = TypeVar("Value")
_LOG = logging.getLogger(__name__)


class Hub:
    """The listeners of one process, by the code of their class."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[asyncio.Queue[str | None]]] = {}
        self._streams = Counter[int]()
        self._views: dict[str, tuple[int, str]] = {}
        self._heard: set[int] = set()
        self._noted = time.monotonic()
        self._task: asyncio.Task | None = None
        self._limiter: anyio.CapacityLimiter | None = None
        self._is_closed = False

    async def run(self, function: Callable[..., Value], *arguments: Any) -> Value:
        """Run what waits for the database in a thread."""
        self._limiter = self._limiter or anyio.CapacityLimiter(THREADS)
        return await anyio.to_thread.run_sync(function, *arguments, limiter=self._limiter)

    @property
    def is_full(self) -> bool:
        return sum(map(len, self._listeners.values())) >= MOST_LISTENERS

    def has_enough(self, student: int) -> bool:
        """Say whether a student has as many streams as one may have: the others are for the class."""
        return self._streams[student] >= MOST_OF_ONE

    def hear(self, student: int) -> None:
        """Note that a student's phone has asked for something."""
        self._heard.add(student)
        self._begin()

    async def listen(self, code: str, student: int, version: int) -> AsyncIterator[str]:
        """Give what phones receive whenever it changes from `version` on, and an empty text as a sign of life."""
        if self._is_closed:
            return
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        known, text = self._views.get(code, (version, ""))
        if known != version:
            queue.put_nowait(text)
        self._listeners.setdefault(code, set()).add(queue)
        self._streams[student] += 1
        self._begin()
        try:
            while True:
                self._heard.add(student)
                try:
                    told = await asyncio.wait_for(queue.get(), BEAT)
                except TimeoutError:
                    told = ""
                if told is None:
                    return
                yield told
        finally:
            self._streams -= Counter([student])
            self._listeners[code].discard(queue)
            if not self._listeners[code]:
                del self._listeners[code]
                self._views.pop(code, None)

    def close(self) -> None:
        """End every stream, and each that is begun from now on: the server is about to stop, and waits for them."""
        self._is_closed = True
        for queue in [queue for queues in self._listeners.values() for queue in queues]:
            queue.put_nowait(None)

    def _begin(self) -> None:
        if self._task is None or self._task.done() or self._task.get_loop() is not asyncio.get_running_loop():
            _on_exit(self.close)
            # A busy thread goes on for 5 ms, and an answer changes threads often: beside a model it took half a second.
            sys.setswitchinterval(0.0005)
            self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while self._listeners or self._heard:
            # A store that does not answer now is asked again; whatever else is raised ends no stream.
            try:
                await self._look()
                if time.monotonic() - self._noted > NOTE:
                    self._noted, heard = time.monotonic(), self._heard
                    self._heard = set()
                    await self.run(class_store().mark_here, heard)
            except AttnvizError:
                pass
            except Exception:
                _LOG.exception("The streams of classes go on after an error")
                await asyncio.sleep(NOTE)
            await asyncio.sleep(LOOK)

    async def _look(self) -> None:
        if not (codes := list(self._listeners)):
            return
        versions = await self.run(class_store().versions, codes)
        for code in codes:
            known, _ = self._views.get(code, (0, ""))
            if code not in versions:
                self._tell(code, 0, json.dumps({"view": {"code": code, "version": 0, "state": "ended", "number": 0}}))
            elif versions[code] != known:
                view = (await self.run(class_store().overview, code)).for_phones()
                self._tell(code, view["version"], json.dumps({"view": view}, ensure_ascii=False))

    def _tell(self, code: str, version: int, text: str) -> None:
        # The last may have gone meanwhile: whoever comes next must not be told what was true then.
        if (queues := self._listeners.get(code)) and self._views.get(code) != (version, text):
            self._views[code] = version, text
            for queue in queues:
                queue.put_nowait(text)


def _on_exit(function: Callable[[], None]) -> None:
    """Call a function when the process is told to stop, before the server's own handler."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(each)
        if callable(before) and not hasattr(before, "ends_streams"):

            def leave(number: int, frame: Any, before: Any = before) -> None:
                loop.call_soon_threadsafe(function)
                before(number, frame)

            marked: Any = leave
            marked.ends_streams = True
            signal.signal(each, leave)
