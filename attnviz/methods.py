"""What a trace does for a person at a prompt: it saves itself, and shows itself.

The one module whose imports point up, and therefore each inside of its method: importing the values imports nothing above them.
"""

import os
from pathlib import Path
from typing import Any


class TraceMethods:
    """Conveniences of an `AttentionTrace`. Each only calls the function that does it, in the layer where that belongs."""

    def save(self: Any, path: str | os.PathLike[str], *, exact: bool = False) -> Path:
        """Writes the trace to a file that `attnviz.open` reads; see `attnviz.files.save`.

        Raises:
            TraceError: the file cannot be written.
        """
        from attnviz.files import save

        return save(self, path, exact=exact)
