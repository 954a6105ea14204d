"""Files written whole or not at all: a full disk, a crash and a pipe."""

import errno
import hashlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from attnviz.core import whole_files


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    whole_files.write(path, "é")
    whole_files.write(path, b"new")
    assert path.read_bytes() == b"new"
    assert whole_files.sha256(path) == hashlib.sha256(b"new").hexdigest()
    assert list(tmp_path.iterdir()) == [path]


def test_what_stood_there_stays_where_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.txt"
    whole_files.write(path, "good")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            whole_files.write(path, "half")
    halves: Any = [b"half", 7]
    with pytest.raises(TypeError), whole_files.replacing(path) as file:
        file.writelines(halves)
    assert path.read_text() == "good"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_who_may_read_it_and_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "x.txt", tmp_path / "link.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    whole_files.write(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_pipe_and_a_device_are_written_to_and_stay(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    whole_files.write(pipe, "through")
    reader.join(10)
    assert got == [b"through"]
    whole_files.write(os.devnull, "gone")
    assert not Path(os.devnull).is_file()


def test_a_full_disk_is_said_of_the_file():
    with pytest.raises(OSError, match="No space left") as raised:
        whole_files.write("/dev/full", b"more than a buffer" * 4096)
    assert raised.value.filename == "/dev/full"


def test_a_folder_that_is_not_there_is_said_of_the_file_itself(tmp_path):
    path = tmp_path / "none" / "x.csv"
    with pytest.raises(OSError, match="No such file") as raised:
        whole_files.write(path, "")
    assert raised.value.filename == str(path)
