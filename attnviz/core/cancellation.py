"""Long work may be told to stop, or to let others go first: between two of its steps, where it asks.

Whoever runs a model says what asking does (`cancellable`); the model asks after each window of a passage, each token that it
writes, each layer (`cancellation_point`). Where nobody said anything, asking does nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ask: ContextVar[Callable[[], None] | None] = ContextVar("attnviz_cancellation", default=None)


@contextmanager
def cancellable(ask: Callable[[], None]) -> Iterator[None]:
    """Within this context, and in no other thread, every cancellation point calls `ask`: it may wait, or raise.

    >>> asked = []
    >>> with cancellable(lambda: asked.append("go on?")):
    ...     cancellation_point()
    >>> cancellation_point()
    >>> asked
    ['go on?']
    """
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)


def cancellation_point() -> None:
    """Asks, between two steps, whether to go on.

    Raises:
        CancelledError: nobody waits for the result any more.
    """
    if (ask := _ask.get()) is not None:
        ask()
