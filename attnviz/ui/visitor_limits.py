"""What visitors may do here, as the one who runs the app has set it: models, texts, and files that they send."""

import threading
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Never

import streamlit as st
from streamlit import runtime

from attnviz import settings
from attnviz.core.errors import ModelNotFoundError, PromptError
from attnviz.models import catalog

_LOCAL = {"localhost", "127.0.0.1", "::1"}


def folders_allowed() -> bool:
    """Say whether a model may be named by a folder: a visitor of a public app must not read the server's disk.

    Allowed where the app listens on this machine alone, or where ATTNVIZ_ALLOW_FOLDERS says so.
    """
    return _allowed("ATTNVIZ_ALLOW_FOLDERS")


def pickles_allowed() -> bool:
    """Say whether weights may be read from a pickle; the same rule for ATTNVIZ_ALLOW_PICKLES."""
    return _allowed("ATTNVIZ_ALLOW_PICKLES")


def _allowed(name: str) -> bool:
    allowed = settings.yes(name)
    return st.get_option("server.address") in _LOCAL if allowed is None else allowed


def any_model() -> bool:
    """Say whether a visitor may name a model that no list has: not where ATTNVIZ_MODELS lists those to choose from."""
    return settings.names("ATTNVIZ_MODELS") is None


def offered(names: Iterable[str]) -> list[str]:
    """Keep the models that visitors may load: all of the catalog, and what ATTNVIZ_MODELS lists, or all."""
    listed = settings.names("ATTNVIZ_MODELS")
    return [name for name in names if listed is None or name in listed or name in catalog.CATALOG]


def check_offered(name: str) -> None:
    """Stops at a model that visitors may not load.

    Raises:
        ModelNotFoundError: ATTNVIZ_MODELS lists others.
    """
    if not offered([name]):
        others = ", ".join(settings.names("ATTNVIZ_MODELS") or ())
        besides = f" and {others}" if others else ""
        raise ModelNotFoundError(f"{name} is not offered here: choose a model that travels with attnviz{besides}.")


def is_listed(name: str) -> bool:
    """Say whether ATTNVIZ_MODELS has this very name: then it may be a folder, too."""
    return name in (settings.names("ATTNVIZ_MODELS") or ())


def check_length(*texts: str | None) -> None:
    """Stops at a text that is longer than ATTNVIZ_MAX_CHARACTERS.

    Raises:
        PromptError: one of them is.
    """
    limit = settings.limit("ATTNVIZ_MAX_CHARACTERS")
    for text in texts:
        if text and len(text) > limit:
            raise PromptError(f"This text has more than {limit:,} characters, and no more are read here: shorten it.")


def message_bytes() -> int:
    """Return how many bytes of weights, before compression, go to a browser at once; what takes more comes head by head."""
    return settings.limit("ATTNVIZ_MESSAGE_MB") * 2**20


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
