"""Rounding that adds up: rounded numbers whose sum is the rounded sum."""

from collections.abc import Sequence

import numpy as np

DECIMALS = 2
MINUS = "−"


def number_text(value: float) -> str:
    """Write a number as it stands on the page; never minus zero.

    >>> number_text(-0.314), number_text(-0.001)
    ('−0.31', '0.00')
    """
    return spelled(units(value))


def units(value: float) -> int:
    """Count a number in units of its last shown digit.

    >>> units(3.104)
    310
    """
    return round(float(value) * 10**DECIMALS)


def spelled(count: int) -> str:
    """Write a count of units of the last digit as a number.

    >>> spelled(-310)
    '−3.10'
    """
    return f"{count / 10**DECIMALS:.{DECIMALS}f}".replace("-", MINUS)


def largest_remainder(
    values: Sequence[float] | np.ndarray, *, total: float | None = None, keep: int | None = None
) -> tuple[int, ...]:
    """Round values so that they add up to their rounded sum, in units of the last digit: Hamilton's method of apportionment.

    Each is rounded down, and those that lost most get the units that are missing. A zero stays a zero. `total` is the sum as
    it is shown; `keep` is a value that is rounded as if it stood alone, so that it reads the same as in another picture.

    >>> largest_remainder([1 / 3, 1 / 3, 1 / 3])
    (34, 33, 33)
    """
    exact = np.asarray(values, dtype=np.float64) * 10**DECIMALS
    counts = np.floor(exact).astype(int)
    lost = exact - counts
    missing = units(float(np.sum(values)) if total is None else total) - int(counts.sum())
    order = [int(index) for index in np.argsort(-lost, kind="stable") if exact[index]]
    if keep is not None and keep in order and len(order) > 1:
        order.remove(keep)
        missing -= round(float(exact[keep])) - int(counts[keep])
        counts[keep] = round(float(exact[keep]))
    # Beyond one unit each only where the sum given is not that of the values.
    for turn in range(abs(missing) if order else 0):
        step = 1 if missing > 0 else -1
        counts[order[(turn if step > 0 else -1 - turn) % len(order)]] += step
    return tuple(int(count) for count in counts)
