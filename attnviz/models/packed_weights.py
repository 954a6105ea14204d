"""Weights as they are saved: a matrix as 16-bit integers with one power of two a row, all else as floats."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

# Beside a matrix that is saved as integers stands one power of two a row, under its name and this.
EXPONENTS = ".exponents"
# The power of two of a row of zeros.
_LEAST_EXPONENT = -100


def pack(weights: Mapping[str, Tensor], bits: Callable[[str], int], vectors: torch.dtype = torch.float16) -> dict[str, Tensor]:
    """Round matrices to steps of about 1/2^bits of each row's root mean square; what has another shape, to `vectors`.

    The steps are powers of two, one a row. High bytes stand apart from low ones: nearly all are small, and compress well.
    `unpacked` is the reverse.
    """
    saved = {}
    for name, value in weights.items():
        value = value.detach().cpu().float()
        if value.ndim != 2:
            saved[name] = value.to(vectors).contiguous()
            continue
        size = value.square().mean(dim=1).sqrt().clamp(min=2.0**_LEAST_EXPONENT).log2().round() - bits(name)
        # The largest number has to fit 16 bits.
        exponents = torch.maximum(size.int(), torch.frexp(value.abs().amax(dim=1)).exponent - 15)
        integers = torch.ldexp(value, -exponents[:, None]).round().clamp(-(2**15), 2**15 - 1).int()
        saved[name] = torch.stack([integers >> 8 & 255, integers & 255]).to(torch.uint8)
        saved[name + EXPONENTS] = exponents.to(torch.int8)
    return saved


def unpacked(saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Restore weights in float32, as `pack` has saved them.

    A matrix is integer · 2^exponent, one exponent a row: the high bytes of all integers, then the low ones. All else is floats.

    >>> planes = torch.tensor([[[255, 1]], [[254, 0]]], dtype=torch.uint8)
    >>> unpacked({"w": planes, "w.exponents": torch.tensor([-1], dtype=torch.int8)})
    {'w': tensor([[ -1., 128.]])}
    """

    def whole(name: str, value: Tensor) -> Tensor:
        if (exponents := saved.get(name + EXPONENTS)) is None:
            return value.float()
        high, low = value
        # NumPy's power of two is exact.
        steps = torch.from_numpy(np.ldexp(np.float32(1), exponents.numpy().astype(np.int32)))
        return (high.view(torch.int8).float() * 256 + low.float()) * steps[:, None]

    return {name: whole(name, value) for name, value in saved.items() if not name.endswith(EXPONENTS)}
