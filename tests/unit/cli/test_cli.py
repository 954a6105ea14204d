"""The command `attnviz`: what it understands, what it starts, and how it says no."""

import errno
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import attnviz
from attnviz import cli
from attnviz.cli import serve
from attnviz.cli.arguments import as_json
from attnviz.core.errors import ModelError
from attnviz.live import site
from attnviz.settings import app_folder


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would have taken this process's place."""
    commands: list[list[str]] = []

    def execv(_: str, command: list[str]) -> None:
        commands.append(command)
        raise SystemExit(0)  # what is called does not come back

    monkeypatch.setattr(os, "execv", execv)
    # Which ports of this machine are free is nothing that these tests are about.
    monkeypatch.setattr(serve, "check_port", lambda host, port: None)
    return commands


def test_it_serves_the_app_on_this_machine_only(started):
    with pytest.raises(SystemExit):
        cli.main([])
    (command,) = started
    assert command[:4] == [sys.executable, "-c", serve.STREAMLIT, "run"]
    assert Path(command[4]) == app_folder() / "app.py"
    assert command[5:7] == ["--server.address=localhost", "--server.port=8501"]


@pytest.mark.parametrize(
    ("file", "text", "status"),
    [
        ("streamlit.py", "import os, signal\nos.kill(os.getpid(), signal.SIGINT)", -signal.SIGINT),
        ("graphlib.py", "raise KeyboardInterrupt", 130),
    ],
)
def test_ctrl_c_while_it_starts_ends_it_quietly(tmp_path, file, text, status):
    (tmp_path / file).write_text(text, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "attnviz", f"--port={port}"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


def test_host_and_port_are_passed_on(started):
    with pytest.raises(SystemExit):
        cli.main(["--host", "0.0.0.0", "--port", "9000"])
    assert started[0][5:7] == ["--server.address=0.0.0.0", "--server.port=9000"]


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


@pytest.mark.parametrize(("typed", "named"), [(["bogus"], "command"), (["lesson", "bogus"], "action")])
def test_a_command_that_there_is_not_is_named_as_one(capsys, typed, named):
    with pytest.raises(SystemExit):
        cli.main(typed)
    assert f"argument {named}: invalid choice: 'bogus'" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"attnviz {attnviz.__version__}\n"


def test_an_error_is_one_line(monkeypatch, capsys):
    def fail(_: object) -> int:
        raise ModelError("there is no such model")

    monkeypatch.setattr(serve, "serve", fail)
    assert cli.main([]) == 1
    assert capsys.readouterr().err == "attnviz: there is no such model\n"


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1", "a..b", "x" * 300, ""])
def test_a_host_that_is_none_of_this_machine_is_one_line(started, capsys, monkeypatch, host):
    def known(name: str, *_: object, **__: object) -> list:
        if name != "192.0.2.1":
            name.encode("idna")
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (name, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", known)
    assert cli.main(["--host", host]) == 1
    said = capsys.readouterr().err
    assert f"--host {host!r} is no address of this machine" in said
    assert said.count("\n") == 1
    assert started == []


def test_a_port_that_is_taken_is_one_line_that_says_what_to_do(monkeypatch, capsys):
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("The server was started."))
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert cli.main(["--host", "127.0.0.1", "--port", str(port)]) == 1
    said = capsys.readouterr().err
    assert said == f"attnviz: Port {port} is taken, perhaps by another attnviz: choose another one, such as {port + 1}.\n"
    serve.check_port("127.0.0.1", port)


def test_a_port_that_this_user_may_not_open_is_one_line(monkeypatch, capsys):
    def bind(_: object, address: tuple[str, int]) -> None:
        if address[1]:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", bind)
    assert cli.main(["--host", "127.0.0.1", "--port", "80"]) == 1
    assert capsys.readouterr().err == "attnviz: Port 80 may not be opened by this user: choose another one, such as 8501.\n"


def test_a_place_that_cannot_be_written_is_one_line(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert cli.main(["train", "toy-copy", "--steps", "1", "--runs", str(tmp_path / "file" / "runs")]) == 1
    assert "cannot be read or written" in capsys.readouterr().err


def test_a_terminal_without_these_letters_gets_their_numbers(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(serve, "serve", lambda _: print("L2·H0 → \udcff") or 0)
    assert cli.main([]) == 0
    assert out.buffer.getvalue() == b"L2\\xb7H0 \\u2192 \\udcff\n"


def test_json_is_json_on_a_terminal_without_these_letters(monkeypatch):
    for encoding, written in (("ascii", b'"\\u00e9\\ud83d\\ude00"\n'), ("utf-8", '"é😀"\n'.encode())):
        out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(serve, "serve", lambda _: print(as_json("é😀")) or 0)
        assert cli.main([]) == 0
        assert out.buffer.getvalue() == written


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate output buffer."),
        RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory"),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), "torch"),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
    ],
)
def test_too_little_memory_is_one_line(monkeypatch, capsys, error):
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(serve, "serve", fail)
    assert cli.main([]) == 1
    assert "more memory than there is" in capsys.readouterr().err


def test_a_closed_stdin_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert cli.main(["show", "-"]) == 1
    assert "stdin is closed" in capsys.readouterr().err


@pytest.mark.parametrize("typed", [".", "link"])
def test_a_site_is_written_anew_where_one_stands_and_by_a_link_to_it(typed, monkeypatch, capsys, tmp_path):
    def write(folder: Path, *_: object) -> None:
        folder.mkdir()
        (folder / "service_worker.js").write_text("new", encoding="utf-8")

    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "service_worker.js").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "public")
    monkeypatch.setattr(site, "_write_site", write)
    monkeypatch.chdir(tmp_path / "public" if typed == "." else tmp_path)
    assert cli.main(["site", "-o", typed]) == 0
    assert capsys.readouterr().err.endswith(f"Wrote {typed}: 0.0 MB\n")
    assert (tmp_path / "public" / "service_worker.js").read_text(encoding="utf-8") == "new"


def test_a_site_where_nothing_may_be_written_names_the_folder_that_was_typed(monkeypatch, capsys, tmp_path):
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied", str(tmp_path / ".attnviz-site-7qze1gzy"))

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    assert cli.main(["site", "-o", str(tmp_path / "public")]) == 1
    assert (
        capsys.readouterr().err
        == f"attnviz: {tmp_path / 'public'} cannot be written (Permission denied): choose another place.\n"
    )


@pytest.mark.parametrize(
    ("error", "said"), [(OSError(28, "No space left on device"), " (No space left on device)"), (shutil.Error([]), "")]
)
def test_a_site_on_a_full_disk_names_the_folder_that_was_typed(error, said, monkeypatch, capsys, tmp_path):
    def fill(*_: object) -> None:
        raise error

    monkeypatch.setattr(site, "_write_site", fill)
    assert cli.main(["site", "-o", str(tmp_path / "public")]) == 1
    assert capsys.readouterr().err == f"attnviz: {tmp_path / 'public'} cannot be read or written{said}: choose another place.\n"
