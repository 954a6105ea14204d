"""The revision of a file of weights: a trace keeps it, so that it can be seen whether another has the same."""

import hashlib
from pathlib import Path


def weights_sha256(path: Path) -> str:
    """Compute the SHA-256 of a file, as it stands in a model's metrics.json.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
