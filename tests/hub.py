"""A server on this machine that speaks as much of the Hugging Face hub's API as a download needs, with faults on request."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import huggingface_hub
import pytest

Files = dict[str, bytes]


def files_of(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def pull_request(num: int, **changes: Any) -> dict[str, Any]:
    """A pull request as the hub lists the conversions of its own bot."""
    return {
        "num": num,
        "title": "Adding `safetensors` variant of this model",
        "author": {"name": "SFconvertbot"},
        "createdAt": "2023-03-21T09:05:27.000Z",
        "status": "open",
        "isPullRequest": True,
        "repo": {"name": "owner/model", "type": "model"},
    } | changes


@dataclass
class Repository:
    """What a repository holds at each revision, and what has been proposed."""

    revisions: dict[str, Files]
    requests: list[dict[str, Any]] = field(default_factory=list)
    gated: bool = False

    def commit(self, revision: str) -> str | None:
        """The commit that a revision, or the start of no other, stands for."""
        commits = {name: hashlib.sha1("".join(map(str, sorted(files.items()))).encode()).hexdigest()
                   for name, files in self.revisions.items()}  # fmt: skip
        return commits.get(revision) or (revision if revision in commits.values() else None)

    def files(self, commit: str) -> Files:
        return next(files for name, files in self.revisions.items() if self.commit(name) == commit)


@dataclass
class Hub:
    """The server's state: repositories by name, names that have changed, and faults.

    cut    names of files that are cut short, and how often still; the connection ends with half of what was asked for
    mute   a part of an address that gets no answer
    asked  every request, as "METHOD path", with the range where one was asked for
    """

    repositories: dict[str, Repository] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    mute: str = ""
    asked: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    address: str = ""

    def fetched(self, file: str) -> list[str]:
        """The requests for what a file holds."""
        return [request for request in self.asked if request.startswith("GET") and f"/{file}" in request]


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None: ...

    def _answer(self) -> None:
        part = urlsplit(self.path)
        path = unquote(part.path).strip("/")
        self.hub.asked.append(" ".join([self.command, self.path, *filter(None, [self.headers["Range"]])]))
        if self.hub.mute and self.hub.mute in self.path:
            self.hub.closing.wait(60)
            self.close_connection = True
            return
        for old, new in self.hub.renamed.items():
            if path.startswith((f"{old}/", f"api/models/{old}")):
                self._send(307, b"", {"Location": self.path.replace(old, new)})
                return
        name = next((name for name in self.hub.repositories if name in path), None)
        if not path:
            self._send(200, b"")
        elif name is None:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        else:
            rest = path.removeprefix("api/models/").removeprefix(name).strip("/")
            self._repository(self.hub.repositories[name], rest)

    def _repository(self, repository: Repository, path: str) -> None:
        task, _, rest = path.partition("/")
        if task == "discussions":
            # All of them, whatever was asked for: who asks must look for itself.
            self._json({"discussions": repository.requests, "count": len(repository.requests), "start": 0})
        elif task == "resolve":
            # A commit has no stroke in it, a pull request has two.
            parts = 3 if rest.startswith("refs/pr/") else 1
            revision, file = "/".join(rest.split("/")[:parts]), "/".join(rest.split("/")[parts:])
            self._file(repository, revision, file)
        else:
            commit = repository.commit(rest or "main")
            if commit is None:
                self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            elif task == "tree":
                self._json([{"type": "file", "path": file, "size": len(content), "oid": _oid(content)}
                            for file, content in repository.files(commit).items()])  # fmt: skip
            else:
                siblings = [{"rfilename": file, "size": len(content), "blobId": _oid(content)}
                            for file, content in repository.files(commit).items()]  # fmt: skip
                self._json({"id": "owner/model", "sha": commit, "siblings": siblings, "private": False})

    def _file(self, repository: Repository, revision: str, file: str) -> None:
        commit = repository.commit(revision)
        if repository.gated:
            self._send(403, b"{}", {"X-Error-Code": "GatedRepo"})
        elif commit is None:
            self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        elif file not in repository.files(commit):
            self._send(404, b"{}", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
        else:
            content = repository.files(commit)[file]
            headers = {"X-Repo-Commit": commit, "ETag": f'"{_oid(content)}"'}
            first = int((self.headers["Range"] or "bytes=0-").removeprefix("bytes=").split("-")[0])
            if first:
                headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
            cut = self.command == "GET" and self.hub.cut.get(file, 0) > 0
            self.hub.cut[file] = self.hub.cut.get(file, 0) - cut
            self._send(206 if first else 200, content[first:], headers, cut=cut)

    def _json(self, content: Any) -> None:
        self._send(200, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None, cut: bool = False) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[: len(content) // 2] if cut else content)
        self.close_connection = cut


def _oid(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """While it is open, `hub.address` answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def use(hub: Hub, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes this process ask that hub, as HF_ENDPOINT and HF_HOME would have when it began."""
    constants = huggingface_hub.constants
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", hub.address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
