"""The command `attnviz`: what it understands, what it starts, and how it says no."""

import os
import sys

import pytest

import attnviz
from attnviz import cli
from attnviz.core.errors import ModelError


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would have taken this process's place."""
    commands: list[list[str]] = []

    def execv(_: str, command: list[str]) -> None:
        commands.append(command)
        raise SystemExit(0)  # what is called does not come back

    monkeypatch.setattr(os, "execv", execv)
    return commands


def test_it_serves_the_app_on_this_machine_only(started):
    with pytest.raises(SystemExit):
        cli.main([])
    assert started == [[sys.executable, "-m", "attnviz.ui.server", "localhost", "8501"]]


def test_host_and_port_are_passed_on(started):
    with pytest.raises(SystemExit):
        cli.main(["--host", "0.0.0.0", "--port", "9000"])
    assert started[0][-2:] == ["0.0.0.0", "9000"]


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "80.5", "²"])
def test_a_port_that_is_none_is_refused(started, capsys, port):
    with pytest.raises(SystemExit, match="2"):
        cli.main([f"--port={port}"])
    assert f"a port is a number from 1 to 65535, not '{port}'" in capsys.readouterr().err
    assert started == []


def test_help_shows_examples(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    assert "attnviz --port 9000" in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"attnviz {attnviz.__version__}\n"


def test_an_error_is_one_line(monkeypatch, capsys):
    def fail(_: object) -> int:
        raise ModelError("there is no such model")

    monkeypatch.setattr(cli, "serve", fail)
    assert cli.main([]) == 1
    assert capsys.readouterr().err == "attnviz: there is no such model\n"
