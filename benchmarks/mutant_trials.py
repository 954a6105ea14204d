"""Tests that wait, collected, in a process of their own: each mutant meets some of them in a copy of that process.

Only the functions that a mutant changes are made anew, in place. What stands outside of functions was run when the tests were
collected: a change there needs a process that imports it.
"""

import gc
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from inspect import CO_OPTIMIZED
from multiprocessing.connection import Connection
from types import CodeType, FunctionType

import psutil
import pytest

SURVIVED, KILLED, OUTSIDE = range(3)
# On a busy machine a process waits for a processor: it has so many times the seconds that it may compute.
WAITING = 4


@dataclass(frozen=True)
class Trial:
    """A module, its text before and after a change, and the tests that are to notice it within so many processor seconds."""

    module: str
    before: str
    after: str
    tests: list[str]
    seconds: float


@dataclass
class Trials:
    """A plugin of pytest: in place of all tests it runs those of each trial that it is sent, and answers which one failed."""

    sent: Connection
    functions: dict[tuple[str, CodeType], list[FunctionType]] = field(default_factory=dict)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer until there is nothing more to try."""
        items = {item.nodeid: item for item in session.items}
        # What tests/conftest.py froze is not among the objects.
        gc.unfreeze()
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                self.functions.setdefault((each.__code__.co_filename, each.__code__), []).append(each)
        gc.freeze()
        self.sent.send(list(items))
        with suppress(EOFError):
            while True:
                self.sent.send(self._try(session, self.sent.recv(), items))
        return True

    def _try(self, session: pytest.Session, trial: Trial, items: dict[str, pytest.Item]) -> tuple[int, str]:
        """What became of a mutant, and the test that did not pass."""
        read, write = os.pipe()
        child = os.fork()
        if not child:
            code, sys.dont_write_bytecode = KILLED, True
            try:
                code = self._run(session, trial, [items[test] for test in trial.tests], write)
            finally:
                os._exit(code)
        os.close(write)
        code = _wait(child, trial.seconds)
        with os.fdopen(read, errors="replace") as told:
            return code, (told.read().splitlines() or [""])[-1]

    def _run(self, session: pytest.Session, trial: Trial, items: list[pytest.Item], write: int) -> int:
        try:
            is_inside = self._change(trial)
        except SyntaxError:
            is_inside = False
        if not is_inside:
            return OUTSIDE
        for item, next_one in zip(items, [*items[1:], None], strict=True):
            os.write(write, f"{item.nodeid}\n".encode(errors="replace"))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=next_one)
            if session.testsfailed:
                return KILLED
        return SURVIVED

    def _change(self, trial: Trial) -> bool:
        """Put the changed functions in place; whether nothing else than functions differs."""
        spec = find_spec(trial.module)
        if not (spec and spec.origin and isinstance(spec.loader, SourceFileLoader)):
            return False
        before, after = (
            [*_functions(spec.loader.source_to_code(text.encode(), spec.origin))] for text in (trial.before, trial.after)
        )
        if len(before) != len(after):
            return False
        for one, other in zip(before, after, strict=True):
            if one == other:
                continue
            if not (isinstance(one, CodeType) and isinstance(other, CodeType) and one.co_freevars == other.co_freevars):
                return False
            for function in self.functions.get((spec.origin, one), []):
                function.__code__ = other
        return True


def _functions(code: CodeType) -> Iterator[CodeType | tuple]:
    """The functions of a module and its classes, and what stands around them."""
    inside = [each for each in code.co_consts if isinstance(each, CodeType)]
    yield code.co_code, code.co_names, [each for each in code.co_consts if not isinstance(each, CodeType)]
    for each in inside:
        if each.co_flags & CO_OPTIMIZED:
            yield each
        else:
            yield from _functions(each)


def _wait(child: int, seconds: float) -> int:
    """The exit code of a process, which is ended with all that it began when its time of a processor is over, or it waits."""
    process, ends, wait = psutil.Process(child), time.monotonic() + WAITING * seconds, 0.002
    while sum(process.cpu_times()[:4]) < seconds and time.monotonic() < ends:
        ended, code = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(code)
        time.sleep(wait)
        wait = min(2 * wait, 0.05)
    for each in [*process.children(recursive=True), process]:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    os.waitpid(child, 0)
    return KILLED
