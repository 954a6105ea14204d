"""Imports what models need behind a page: the first picture of every page stands without it."""

import importlib
import threading

from attnviz.ui.background.priority import PRIORITY

# PyTorch and transformers come with them.
_MODULES = (
    "torch",
    "attnviz.models.head_inputs",
    "attnviz.models.hub.minilm",
    "transformers.models.bert.modeling_bert",
)
# Whoever imports some of it without all: two threads that import the same in another order would wait for each other.
TURN = threading.Lock()
# So long a page that is being drawn goes first.
_COURTESY_SECONDS = 2.0


def _import_all() -> None:
    for name in _MODULES:
        if not _needed.is_set():
            PRIORITY.give_way(_COURTESY_SECONDS)
        with TURN:
            importlib.import_module(name)


_needed = threading.Event()
_importing = threading.Thread(target=_import_all, name="attnviz-import", daemon=True)
_starting = threading.Lock()


def begin() -> None:
    """Begins, once, without making anybody wait."""
    with _starting:
        if _importing.ident is None:
            _importing.start()


def finish() -> None:
    """Waits until it is done, and begins it if nobody has."""
    _needed.set()
    begin()
    _importing.join()
