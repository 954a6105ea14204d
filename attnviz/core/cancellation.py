"""Points at which long work can be stopped, or made to wait: between two of its steps.

Who runs a model says what is checked there (`cancellable`). The model calls `cancellation_point` after each window of a
passage, each token that it writes, each layer. Where nothing was said, nothing is checked.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], None] | None] = ContextVar("attnviz_cancellation", default=None)


@contextmanager
def cancellable(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` at every cancellation point within this context, and in no other thread; it may wait, or raise.

    >>> calls = []
    >>> with cancellable(lambda: calls.append("go on?")):
    ...     cancellation_point()
    >>> cancellation_point()
    >>> calls
    ['go on?']
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def cancellation_point() -> None:
    """Check, between two steps, whether to go on.

    Raises:
        CancelledError: nobody waits for the result any more.
    """
    if (check := _check.get()) is not None:
        check()
