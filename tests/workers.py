"""The processes of a test run begin as copies of one that has imported and collected all tests, which takes 10 s of a core.

It has loaded the models, too.
"""

import contextlib
import importlib
import json
import multiprocessing
import os
import sys
from multiprocessing.connection import Connection
from typing import Any

import execnet.gateway_io
import pytest
from execnet.gateway_base import ExecModel, Popen2IO

# What to collect, for the process that is copied: it imports this module to begin with.
ARGUMENTS = "TESTS_TO_COLLECT"
FORKS = multiprocessing.get_context("forkserver")


class CopiedProcess(Popen2IO):
    """A worker of pytest-xdist, and the two pipes that lead to it."""

    def __init__(self, execmodel: ExecModel) -> None:
        (commands, out), (back, answers) = FORKS.Pipe(duplex=False), FORKS.Pipe(duplex=False)
        self.process = FORKS.Process(target=_serve, args=(commands, answers))
        self.process.start()
        for theirs in (commands, answers):
            theirs.close()
        super().__init__(_file(out, "wb"), _file(back, "rb"), execmodel)

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def kill(self) -> None:
        self.process.kill()


def _file(pipe: Connection, mode: str) -> Any:
    with pipe:
        return open(os.dup(pipe.fileno()), mode)


def _serve(commands: Connection, answers: Connection) -> None:
    """Do what execnet has a new interpreter do: it reads a line of Python and runs it."""
    os.dup2(commands.fileno(), 0)
    os.dup2(answers.fileno(), 1)
    commands.close()
    answers.close()
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    exec(eval(sys.stdin.readline()), {})


def copy_one_process(config: pytest.Config) -> None:
    """Let the workers of a run be copies; elsewhere than on Linux, a process that has imported so much is not to be copied."""
    if sys.platform == "linux":
        os.environ[ARGUMENTS] = json.dumps(["-m", config.getoption("markexpr"), *config.args])
        FORKS.set_forkserver_preload([__name__])
        execnet.gateway_io.create_io = lambda spec, execmodel: CopiedProcess(execmodel)


def _collect(arguments: list[str]) -> None:
    """Import what the tests import, make its checks, and load the models; what is wrong with tests the workers say."""
    # Test modules compute while they are imported, and of PyTorch's threads a copy has none.
    importlib.import_module("torch").set_num_threads(1)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        pytest.main(["--collect-only", "-qq", *arguments])
    importlib.import_module("tests.checking").make_checks()
    importlib.import_module("tests.kept_models").load_all()


if given := os.environ.pop(ARGUMENTS, None):
    _collect(json.loads(given))
