"""Which weights a model was loaded from: what a trace says of them, so that it can be told whether another has the same."""

import hashlib
from pathlib import Path


def of_weights(path: Path) -> str:
    """The SHA-256 of a file of weights, as it stands in the model's metrics.json.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
