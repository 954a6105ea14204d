"""Files that visitors send: one a visit, and all of them together within bounds, for Streamlit keeps each in memory."""

import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any, Never

from streamlit import runtime

from attnviz import settings
from attnviz.core.errors import PromptError

# Of all visits together, in files of the largest size.
MOST_FILES = 4
# A visit that has been away for two such looks has its file no longer; Streamlit would keep it for two minutes and more.
LOOK_SECONDS = 15.0


def check_file(file: Any, limit: int) -> None:
    """Stops at a file that is larger than its page reads: a browser need not have looked.

    Raises:
        PromptError: it is.
    """
    if file.size > limit:
        raise PromptError(
            f"{file.name} has {file.size / 2**20:,.1f} MB, and at most {limit / 2**20:,.0f} MB are opened here: "
            "open it in Python."
        )


@cache
def bound_uploads() -> None:
    """Lets this server keep the last file of each visit, and of all visits so much as a few of the largest files have."""
    if runtime.exists():
        server = runtime.get_instance()
        manager: Any = server.uploaded_file_mgr
        bounded = Bounded(manager, MOST_FILES * settings.limit("ATTNVIZ_FILE_MB") * 2**20)
        manager.add_file = bounded.add_file
        threading.Thread(target=_look, args=(bounded, server.is_active_session), name="attnviz-files", daemon=True).start()


def _look(bounded: "Bounded", is_here: Callable[[str], bool]) -> Never:
    while True:
        time.sleep(LOOK_SECONDS)
        bounded.let_go(is_here)


class Bounded:
    """Keeps what a manager of files holds within `nbytes`: the oldest goes first."""

    def __init__(self, manager: Any, nbytes: int) -> None:
        self._manager, self._add, self._nbytes = manager, manager.add_file, nbytes
        self._lock = threading.Lock()
        self._sizes: dict[str, int] = {}
        self._away: set[str] = set()

    def add_file(self, session_id: str, file: Any) -> None:
        """Add a visit's file in place of its last one; let go of other visits' where they are too many."""
        with self._lock:
            self._sizes.pop(session_id, None)
            self._manager.remove_session_files(session_id)
            self._sizes[session_id] = len(file.data)
            while len(self._sizes) > 1 and sum(self._sizes.values()) > self._nbytes:
                oldest = next(iter(self._sizes))
                del self._sizes[oldest]
                self._manager.remove_session_files(oldest)
            self._add(session_id, file)

    def let_go(self, is_here: Callable[[str], bool]) -> None:
        """Lets go of the files of visits that are away, and were when this was called last: a browser may come back soon."""
        with self._lock:
            away = {session_id for session_id in self._sizes if not is_here(session_id)}
            for session_id in away & self._away:
                del self._sizes[session_id]
                self._manager.remove_session_files(session_id)
            self._away = away
