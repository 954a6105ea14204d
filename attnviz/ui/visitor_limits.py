"""What the one who runs the app has set, as the pages need it."""

from collections.abc import Iterable

import streamlit as st

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
