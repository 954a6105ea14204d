"""The store of classes that this server uses."""

import threading
from typing import TYPE_CHECKING

from platformdirs import user_state_path

from attnviz import settings

if TYPE_CHECKING:
    from attnviz.lessons.classroom.store import ClassStore

_LOCK = threading.Lock()
_STORES: "dict[str, ClassStore]" = {}


def store_address() -> str:
    """Where classes are kept: what ATTNVIZ_CLASS_STORE says, else a file among what programs keep for this user."""
    return settings.text("ATTNVIZ_CLASS_STORE") or f"sqlite:///{user_state_path('attnviz') / 'classes.sqlite'}"


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
        return _STORES[address]
