"""Where models compute."""

import os

import torch

from attnviz.errors import ModelError


def choose() -> torch.device:
    """CUDA where there is one, then Apple's MPS, then the CPU; the environment variable ATTNVIZ_DEVICE overrides.

    Raises:
        ModelError: ATTNVIZ_DEVICE names a device that this machine does not have.
    """
    if wanted := os.environ.get("ATTNVIZ_DEVICE"):
        return _checked(wanted)
    if torch.cuda.is_available():
        return torch.device("cuda:0")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def _checked(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise ModelError(
            f"ATTNVIZ_DEVICE names {name!r}, which this machine does not have; set it to cpu, or unset it."
        ) from None
    return torch.device("cuda:0") if name == "cuda" else device
