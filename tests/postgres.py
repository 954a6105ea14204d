"""A PostgreSQL of one's own, in a temporary folder; `python -m tests.postgres` says whether one can be had."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HELP = "no PostgreSQL was found: install one (apt-get install postgresql), or put its initdb and postgres on the PATH"


def programs() -> Path:
    """The folder of initdb and postgres; Debian has it off the PATH."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    place = next((each for each in places if (each / "initdb").is_file() and (each / "postgres").is_file()), None)
    if place is None:
        raise FileNotFoundError(HELP)
    return place


@contextmanager
def cluster() -> Iterator[str]:
    """The address of a database of SQLAlchemy's, served until the end through a socket in its folder."""
    bin_folder = programs()
    folder = Path(tempfile.mkdtemp(prefix="attnviz-pg-"))
    user = _user(folder)
    data = folder / "data"
    run: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **user}
    options = ("-A", "trust", "-U", "attnviz", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
    subprocess.run([bin_folder / "initdb", "-D", data, *options], check=True, **run)
    # No disk is waited for: what is tested is that the app dies, not the machine.
    settings = ("fsync=off", "listen_addresses=", f"unix_socket_directories={folder}", "jit=off", "shared_buffers=16MB")
    command = [bin_folder / "postgres", "-D", data, *(part for each in settings for part in ("-c", each))]
    server = subprocess.Popen(command, **run)
    try:
        _wait(server, folder / ".s.PGSQL.5432")
        yield f"postgresql+psycopg://attnviz@/postgres?host={folder}"
    finally:
        # Its "fast" way to end: nobody who is still connected is waited for.
        server.send_signal(signal.SIGINT)
        try:
            server.wait(3)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _user(folder: Path) -> dict[str, Any]:
    """Whom it runs as: PostgreSQL refuses to be root."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _wait(server: subprocess.Popen, socket: Path) -> None:
    deadline = time.monotonic() + 30
    while not socket.exists():
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("PostgreSQL did not start")
        time.sleep(0.02)


if __name__ == "__main__":
    try:
        programs()
    except FileNotFoundError as error:
        sys.exit(str(error))
