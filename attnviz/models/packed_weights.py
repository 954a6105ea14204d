"""Weights as they are saved: a matrix as integers of 16 or 24 bits with one power of two a row, all else as floats."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

# Beside a matrix that is saved as integers stands one power of two a row, under its name and this.
EXPONENTS = ".exponents"
# The power of two of a row of zeros.
_LEAST_EXPONENT = -100


def pack(
    weights: Mapping[str, Tensor], bits: Callable[[str], int], *, n_bytes: int = 2, vectors: torch.dtype = torch.float16
) -> dict[str, Tensor]:
    """Round matrices to steps of about 1/2^bits of each row's root mean square; what has another shape, to `vectors`.

    The steps are powers of two, one a row, and larger where a row's largest number would not fit `n_bytes`. High bytes stand
    apart from low ones: nearly all are small, and compress well. `unpacked` is the reverse.
    """
    most = 2 ** (8 * n_bytes - 1)
    saved = {}
    for name, value in weights.items():
        value = value.detach().cpu().float()
        if value.ndim != 2:
            saved[name] = value.to(vectors).contiguous()
            continue
        size = value.square().mean(dim=1).sqrt().clamp(min=2.0**_LEAST_EXPONENT).log2().round() - bits(name)
        exponents = torch.maximum(size.int(), torch.frexp(value.abs().amax(dim=1)).exponent - (8 * n_bytes - 1))
        integers = torch.ldexp(value, -exponents[:, None]).round().clamp(-most, most - 1).int()
        saved[name] = torch.stack([integers >> 8 * place & 255 for place in reversed(range(n_bytes))]).to(torch.uint8)
        saved[name + EXPONENTS] = exponents.to(torch.int8)
    return saved


def unpacked(saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Restore weights in float32, as `pack` has saved them.

    A matrix is integer · 2^exponent, one exponent a row: the highest bytes of all integers, then the lower. All else is floats.

    >>> planes = torch.tensor([[[255, 1]], [[254, 0]]], dtype=torch.uint8)
    >>> unpacked({"w": planes, "w.exponents": torch.tensor([-1], dtype=torch.int8)})
    {'w': tensor([[ -1., 128.]])}
    """

    def whole(name: str, value: Tensor) -> Tensor:
        if (exponents := saved.get(name + EXPONENTS)) is None:
            return value.float()
        high, *lower = value
        integers = high.view(torch.int8).float()
        for plane in lower:
            integers = integers * 256 + plane.float()
        # NumPy's power of two is exact.
        steps = torch.from_numpy(np.ldexp(np.float32(1), exponents.numpy().astype(np.int32)))
        return integers * steps[:, None]

    return {name: whole(name, value) for name, value in saved.items() if not name.endswith(EXPONENTS)}
