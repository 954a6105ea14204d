"""Every error a person can meet, and how a message names what is wrong. Each is one sentence: what is wrong, and what to do.

Who runs a model says what is checked there (`cancellable`). The model calls `cancellation_point` after each window of a
passage, each token that it writes, each layer. Where nothing was said, nothing is checked.
"""

import difflib
import gc
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

# PyTorch's words for it, the operating system's, and the loader's.
_NO_MEMORY = re.compile("not enough memory|out of memory|Cannot allocate memory|failed to map segment")
# After these a card computes nothing more for the process that met them.
_LOST_CARD = re.compile(r"CUDA error: .*(assert|illegal|launch (failure|timed out)|misaligned|uncorrectable)")


class AttnvizError(Exception):
    """The root of all errors that attnviz raises on purpose."""


class ArgumentError(AttnvizError, TypeError):
    """A function was given a value of another type than it takes."""


class SettingError(AttnvizError, ValueError):
    """An environment variable that sets something holds what cannot be."""


class PromptError(AttnvizError, ValueError):
    """What was typed cannot be traced: it is empty, or holds characters that are not text."""


class TraceError(AttnvizError, ValueError):
    """An attention map or trace contradicts itself, or does not have what is read from it."""


class CorpusError(AttnvizError, ValueError):
    """A text collection cannot be read, or holds nothing to read."""


class ClaimError(AttnvizError, ValueError):
    """What was claimed of a head cannot be understood, or not be tested."""


class ModelError(AttnvizError):
    """A model cannot be found, loaded or traced."""


class ModelNotFoundError(ModelError):
    """Neither the catalog, the hub nor the disk has a model of that name."""


class ModelTooLargeError(ModelError):
    """The model has more parameters than this machine is allowed to load."""


class UnsupportedModelError(ModelError):
    """The model exists, but has no attention that can be shown."""


class LostCardError(AttnvizError):
    """A graphics card has stopped, and this process can never compute on it again."""


class CancelledError(AttnvizError):
    """Work was stopped between two steps, as nobody waits for it any more."""


class LessonError(AttnvizError, ValueError):
    """A lesson, a question of one, or what was handed in cannot be read or has no answer; the message has the line."""


class ClassError(AttnvizError, ValueError):
    """A class cannot do what was asked for; `reason` names why in one word, for programs."""

    def __init__(self, sentence: str, reason: str = "invalid") -> None:
        super().__init__(sentence)
        self.reason = reason


class BusyError(AttnvizError):
    """A server has too much to do to begin, or to end, this work soon."""


class EditError(AttnvizError, ValueError):
    """An edit of a model's attention cannot be made: there is no such head or word, or nothing would be left to look at."""


class EditedRowError(EditError):
    """An edit cannot be made in one row of a map of some kind; `named` says so with words in the place of numbers.

    >>> error = EditedRowError("encoder", "{query} cannot look at {key}.", query=3, key=5)
    >>> str(error), error.named("“it”", "“cat”")
    ('query 3 cannot look at key 5.', '“it” cannot look at “cat”.')
    """

    def __init__(self, kind: str, sentence: str, query: int, key: int = 0) -> None:
        self.kind, self.query, self.key = kind, query, key
        self._sentence = sentence
        super().__init__(self.named(f"query {query}", f"key {key}"))

    def named(self, query: str, key: str) -> str:
        """Say what is wrong, with these names of the query and the key."""
        return self._sentence.format(query=query, key=key)


@contextmanager
def failing_as(kind: type[AttnvizError], sentence: str) -> Iterator[None]:
    """Raise `kind(sentence)` in place of any other error inside; those of attnviz itself pass.

    >>> with failing_as(AttnvizError, "This file is damaged; get it again."):
    ...     int("many")
    Traceback (most recent call last):
    attnviz.core.errors.AttnvizError: This file is damaged; get it again.

    Raises:
        AttnvizError: of that kind.
        MemoryError: there is not enough memory, whoever noticed it.
        LostCardError: the graphics card has stopped.
    """
    try:
        yield
    except AttnvizError:
        raise
    except Exception as error:
        if (limit := beyond_machine(error)) is None:
            raise kind(sentence) from error
        failure = limit
    except BaseException as error:
        if not is_panic(error):
            raise
        raise kind(sentence) from error
    else:
        return
    raise failure


def beyond_machine(error: BaseException) -> MemoryError | LostCardError | None:
    """Tell whether an error means that memory is full, or a card is lost: the error to raise in its place; None: neither.

    Where memory is full, the frames that failed let go of what they hold, for whoever keeps the error would keep that, too.

    >>> beyond_machine(RuntimeError("CUDA out of memory."))
    MemoryError('This needs more memory than there is: try a shorter text or a smaller model.')
    >>> beyond_machine(FileNotFoundError(2, "No such file or directory", "out of memory.csv"))
    """
    # What a file is called says nothing.
    said = str(getattr(error, "strerror", None) or error)
    if isinstance(error, MemoryError) or _NO_MEMORY.search(said):
        _let_go(error)
        return MemoryError("This needs more memory than there is: try a shorter text or a smaller model.")
    if _LOST_CARD.search(str(error)):
        return LostCardError(
            "The graphics card has stopped, and this program cannot use it again: start it once more, or where somebody else "
            "runs it, try again in a minute."
        )
    return None


def _let_go(error: BaseException) -> None:
    """Clear the frames of an error, and of those that it came from."""
    chain: list[BaseException] = [error]
    for each in chain:
        chain += [other for other in (each.__cause__, each.__context__) if other is not None and other not in chain]
    for each in chain:
        link, each.__traceback__ = each.__traceback__, None
        traceback.clear_frames(link)
        while link is not None:
            # Whoever passes an error on keeps the first link; a frame that was cleared keeps its function's closure.
            following, link.tb_next = link.tb_next, None
            link = following
    gc.collect()


def is_panic(error: BaseException) -> bool:
    """Tell whether a library in Rust panicked. Each brings a class of its own, which cannot be imported and is no `Exception`.

    >>> is_panic(KeyboardInterrupt())
    False
    """
    return type(error).__name__ == "PanicException"


def is_unicode(value: object) -> bool:
    """Tell whether this is a text of whole characters: half of one (a lone surrogate) cannot be written to any file or page.

    >>> is_unicode("😀"), is_unicode(chr(0xD83D)), is_unicode(b"a")
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def shortened(text: str, most: int = 40) -> str:
    """Write a text as one short line, between quotes.

    >>> shortened("The cat sat.", most=7)
    "'The cat'…"
    """
    return repr(text) if len(text) <= most else f"{text[:most]!r}…"


def described(value: object) -> str:
    """Describe a value as a message names it: its type, and of small ones what it is.

    >>> described(b"hi"), described(None), described([1, 2])
    ("bytes b'hi'", 'None', 'a list')
    """
    if value is None:
        return "None"
    kind = type(value).__name__
    if isinstance(value, str | bytes | bool | int | float):
        return f"{kind} {repr(value)[:40]}"
    return f"a{'n' if kind[:1].lower() in 'aeiou' else ''} {kind}"


def nearest(written: str, known: Sequence[str], n: int = 2, cutoff: float = 0.7) -> list[str]:
    """List the known names that someone who wrote another may have meant, nearest first, `n` at most.

    >>> nearest("objj", ["obj", "iobj", "nsubj"])
    ['obj', 'iobj']
    """
    by_case = {name.casefold(): name for name in known}
    return [by_case[name] for name in difflib.get_close_matches(written.casefold(), by_case, n, cutoff)]


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
