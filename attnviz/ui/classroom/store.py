"""The store of classes that this server uses."""

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

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
    """Where classes are kept: what ATTNVIZ_CLASS_STORE says, else a file among what programs keep for this user."""
    return settings.text("ATTNVIZ_CLASS_STORE") or f"sqlite:///{user_state_path('attnviz') / 'classes.sqlite'}"


def store_place() -> str:
    """Say in words where classes are kept: a file, or a database by its host; no password of it."""
    scheme, _, rest = store_address().partition("?")[0].partition("://")
    if scheme.startswith("sqlite"):
        return f"the file {rest[1:]} of this server"
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
