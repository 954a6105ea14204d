"""What other people's code raises on other people's files becomes one sentence of ours."""

from collections.abc import Iterator
from contextlib import contextmanager

from attnviz.core.errors import AttnvizError


@contextmanager
def failing_as(kind: type[AttnvizError], sentence: str) -> Iterator[None]:
    """Raises `kind(sentence)` in place of whatever goes wrong inside; what attnviz says itself is left as it is.

    >>> with failing_as(AttnvizError, "This file is damaged; get it again."):
    ...     int("many")
    Traceback (most recent call last):
    attnviz.core.errors.AttnvizError: This file is damaged; get it again.

    Raises:
        AttnvizError: of that kind.
        MemoryError: there is not enough memory, whoever noticed it.
    """
    try:
        yield
    except (AttnvizError, MemoryError):
        raise
    except Exception as error:
        if "not enough memory" in str(error) or "out of memory" in str(error):
            raise MemoryError("This needs more memory than there is: try a shorter text or a smaller model.") from error
        raise kind(sentence) from error
    except BaseException as error:
        if not is_panic(error):
            raise
        raise kind(sentence) from error


def is_panic(error: BaseException) -> bool:
    """Whether a library in Rust gave up. Each brings a class of its own, which cannot be imported and is no `Exception`.

    >>> is_panic(KeyboardInterrupt())
    False
    """
    return type(error).__name__ == "PanicException"
