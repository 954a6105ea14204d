"""Where models compute, and how large they may be there."""

import os

import torch

from attnviz import memory, settings
from attnviz.core.errors import ModelError

CPU_PARAMETERS = 1_500_000_000
# Of the memory that is left, the share that float32 weights may take: the rest is for what is computed with them.
SHARE = 0.7


def choose() -> torch.device:
    """CUDA where there is one, then Apple's MPS, then the CPU; the environment variable ATTNVIZ_DEVICE overrides.

    On CUDA, LSTMs and convolutions compute in whole float32 from then on, as they do on a CPU.

    Raises:
        ModelError: ATTNVIZ_DEVICE names a device that this machine does not have.
    """
    device = _first()
    if device.type == "cuda":
        # cuDNN rounds their factors to TF32 unless it is told otherwise: an LSTM's alignments were off by 5e-4.
        torch.backends.cudnn.allow_tf32 = False
    return device


def _first() -> torch.device:
    if wanted := settings.text("ATTNVIZ_DEVICE"):
        return _checked(wanted)
    if torch.cuda.is_available():
        return torch.device("cuda:0")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def max_parameters() -> int:
    """Return how many parameters a model may have, as its device has room for it; ATTNVIZ_MAX_PARAMETERS overrides."""
    if limit := settings.number("ATTNVIZ_MAX_PARAMETERS"):
        return limit
    device = choose()
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory * SHARE / 4)
    held = memory.read()
    return min(CPU_PARAMETERS, int(held.free * SHARE / 4)) if held else CPU_PARAMETERS


def _checked(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise ModelError(
            f"ATTNVIZ_DEVICE names {name!r}, which this machine does not have; set it to cpu, or unset it."
        ) from None
    return torch.device("cuda:0") if name == "cuda" else device


def share_cores(n_workers: int) -> None:
    """Leave every one of `n_workers` threads that run models at once its share of the cores.

    Threads of one operation wait for each other: on two busy cores a trace of 16 tokens took 580 ms on two threads, 90 ms on
    one.
    """
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // n_workers))


def use_one_core() -> None:
    """Let operations of this thread run on one core: products as small as a toy's gain nothing from two."""
    torch.set_num_threads(1)
