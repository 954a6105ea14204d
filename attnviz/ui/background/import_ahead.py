"""Imports what every page needs as soon as the server starts: seconds in which the browser fetches Streamlit's own script."""

import importlib
import threading

# PyTorch and transformers come with them.
_MODULES = (
    "attnviz.models.head_inputs",
    "attnviz.models.hub.minilm",
    "transformers.models.bert.modeling_bert",
    "plotly.graph_objects",
)


def _import_all() -> None:
    for name in _MODULES:
        importlib.import_module(name)


_importing = threading.Thread(target=_import_all, name="attnviz-import", daemon=True)


def begin() -> None:
    """Begins, once, without making anybody wait."""
    _importing.start()


def finish() -> None:
    """Waits until it is done, if it has begun: two threads that import the same in another order would wait for each other."""
    if _importing.ident is not None:
        _importing.join()
