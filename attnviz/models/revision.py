"""Which weights a model was loaded from: what a trace says of them, so that it can be told whether another has the same."""

import hashlib
from pathlib import Path


def sha256(path: Path) -> str:
    """The SHA-256 of a file; that of the weights stands in the model's metrics.json.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
