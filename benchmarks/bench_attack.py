"""A public server under attack: what one hostile visitor does, and how long others wait for Encode meanwhile.

Linux only. What the attackers and visits themselves compute takes processor time from the server that they attack, and so does
whatever else the machine does. Beside each attack stands how its acts ended: one that is refused proves nothing of the others.
"""

import http.client
import random
import re
import socket
import threading
import time
import uuid
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

from websockets.exceptions import WebSocketException

from benchmarks.bench_class import lesson_rows, sentence, warm_up
from benchmarks.harness import APP, App, Row, at_most, none, run, serving
from benchmarks.visitor import Visit, p95

ENCODE_SECONDS, MOST_SECONDS = 1.0, 2.0
# What the server is told that it may take, by how much it may miss that, and how much of it may stay.
MEMORY_MB, PEAK_MB, STAYS_MB = 2_000, 2_200, 150
BARS = {"encode": 2.5, "answer": 2.5, "summarize": 2.5, "translate": 4.0}
# Of a file that is taken, and of one that is too large.
MEGABYTES = (63, 200)
PUBLIC = (*APP, "--host", "0.0.0.0")
# What each attack does as long as it lasts, with a number that no other call has.
Attack = Callable[[App, int], None]


def words(number: int, characters: int) -> str:
    """A text of so many characters that nobody has sent before."""
    draw = random.Random(number)
    return " ".join(sentence(draw) for _ in range(characters // 30))[:characters]


def closed(app: App, number: int) -> None:
    """Asks for a long passage, and closes the tab."""
    visit = Visit(app)
    visit.ask("answer", **passage(number))
    time.sleep(0.5)
    visit.close()


def passage(number: int) -> dict[str, str]:
    return {"passage": words(number, 60_000), "question": "Who likes the cat?"}


@cache
def bodies() -> tuple[bytes, ...]:
    """What a browser sends of each of these files."""
    head = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="x.attn"\r\n\r\n'
    return tuple(head + bytes(megabytes * 2**20) + b"\r\n--edge--\r\n" for megabytes in MEGABYTES)


def uploads(app: App, number: int) -> None:
    """A file of 64 MB, and one of 200, which is refused."""
    visit = Visit(app)
    visit.open("home")
    connection = http.client.HTTPConnection(app.host, timeout=30)
    connection.request("GET", "/_stcore/health")
    cookie = (answer := connection.getresponse()).headers["Set-Cookie"].split(";")[0]
    answer.read()
    for body, is_welcome in zip(bodies(), (True, False), strict=True):
        token = {"X-Xsrftoken": cookie.partition("=")[2], "Cookie": cookie}
        head = {"Content-Type": "multipart/form-data; boundary=edge", **token}
        connection.request("PUT", f"/_stcore/upload_file/{visit.session}/{uuid.uuid4()}", body, head)
        status = (answer := connection.getresponse()).status
        answer.read()
        if is_welcome != (status < 300):
            raise OSError(f"an upload of {len(body) / 2**20:.0f} MB was answered with {status}")
    connection.close()
    visit.close()


def opening(page: str, query: Callable[[int], dict[str, str | list[str]] | dict[str, str]]) -> Attack:
    """Opens a page and waits for it, ten seconds at most: it may well wait for its turn. What it says is wrong is raised."""

    def attack(app: App, number: int) -> None:
        visit = Visit(app)
        visit.ask(page, **query(number))
        with suppress(TimeoutError):
            visit.wait(time.perf_counter(), patience=10)
        visit.close()
        if visit.errors:
            raise OSError(visit.errors[0])

    return attack


def long_sentences(app: App, number: int) -> None:
    """Ten megabytes in the box for one's own sentences on Heads, in one message."""
    visit = Visit(app)
    visit.open("heads", claim="any -> next")
    visit.type("Your own sentences, one a line", words(number, 1_000) * 10_000, "heads")
    with suppress(TimeoutError):
        visit.wait(time.perf_counter(), patience=10)
    visit.close()


TRANSLATORS = ["dot-lstm-en-fr", "bilstm-en-fr", "bahdanau-en-fr", "transformer-en-fr"]
# How many do it at once, and what.
ATTACKS: dict[str, tuple[int, Attack]] = {
    # A passage of 60,000 characters on Answer, whose tab is closed, or stays open.
    "closed": (8, closed),
    "held": (8, opening("answer", passage)),
    # A snake on Translate.
    "hiss": (8, opening("translate", lambda number: {"text": f"The snake {number} said hi{'s' * (13 + number % 90)}!"})),
    # A reference of 64,000 characters on Summarize.
    "reference": (4, opening("summarize", lambda at: {"text": words(at, 2_000), "reference": words(at + 1, 64_000)})),
    # A model of the hub whose download hangs.
    "downloads": (8, opening("encode", lambda number: {"model": f"nobody/has-{number}"})),
    # A text as long as the encoder reads.
    "full": (8, opening("encode", lambda number: {"text": words(number, 4_000)})),
    # The widest beam of all translators at once.
    "steered": (4, opening("translate", lambda at: {
        "text": words(at, 500), "models": TRANSLATORS, "decoding": "Beam", "width": "10",
    })),
    # A regular expression that expands to gigabytes, and sentences of ten megabytes, on Heads.
    "expression": (4, opening("heads", lambda at: {"claim": f"/(?:a{{{3000 + at % 97}}}){{3000}}/ -> head"})),
    "sentences": (2, long_sentences),
    # Every method of Matters, and every head of Ablate, on long texts.
    "matters": (8, opening("matters", lambda at: {"model": "minilm", "text": words(at, 6_000), "pair": words(at, 60)})),
    "whatif": (8, opening("whatif", lambda at: {"change": "head", "text": words(at, 2_000)})),
    # A file of 64 MB, and one of 200.
    "uploads": (2, uploads),
}  # fmt: skip


# What a visitor does on the pages that are attacked: what they load once, and keep, is no matter of an attack.
USED: dict[str, dict[str, str | list[str]]] = {
    "encode": {"text": "The cat sat."}, "answer": {"passage": "Anna lives in Rome.", "question": "Where does Anna live?"},
    "summarize": {"text": "The cat sat. It slept."}, "translate": {"text": "The cat sat.", "models": TRANSLATORS},
    "heads": {"claim": "any -> next"}, "matters": {"text": "The cat sat."}, "whatif": {"change": "head", "text": "A cat sat."},
}  # fmt: skip


def use_pages(app: App) -> None:
    """Opens each of these pages, so that the server has what they need."""
    visit = Visit(app)
    for page, query in USED.items():
        visit.open(page, **query)
    visit.close()


@contextmanager
def hanging() -> Iterator[int]:
    """A port where somebody listens who never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as server:
        yield server.getsockname()[1]


def attacked(app: App, threads: int, attack: Attack, seconds: float) -> tuple[list[float], list[str], float, Counter[str]]:
    """Seconds of others' Encodes meanwhile, errors on their pages, the server's megabytes at most, and how acts ended."""
    ends = time.monotonic() + seconds
    acts = Counter[str]()

    def again(first: int) -> None:
        number = first
        while time.monotonic() < ends:
            try:
                attack(app, number)
                acts["through"] += 1
            except (OSError, WebSocketException, http.client.HTTPException) as error:
                acts[re.sub(r"\W*\d.*", "", f"{type(error).__name__}: {error}")[:60]] += 1
            number += threads

    firsts = [first * 1_000 + random.randint(0, 10**9) for first in range(threads)]
    attackers = [threading.Thread(target=again, args=(first,), daemon=True) for first in firsts]
    for each in attackers:
        each.start()
    actual, errors, peak, draw = [], [], 0.0, random.Random()
    while not actual or time.monotonic() < ends:
        # A person who has just come, and whose sentence nobody has asked for: nothing of it is there yet.
        visit = Visit(app)
        actual.append(visit.open("encode", text=f"{sentence(draw)} {draw.random()}"))
        visit.close()
        errors += visit.errors
        peak = max(peak, app.megabytes())
        time.sleep(0.1)
    for each in attackers:
        each.join(timeout=60)
    if not acts:
        errors.append("no attack came to its end, so that nothing was measured")
    return actual, errors, peak, acts


def rows(given: Namespace) -> Iterator[Row]:
    """Each attack, then many visits at once, each on a page of its own."""
    with hanging() as port:
        public = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": f"http://127.0.0.1:{port}"}
        public["ATTNVIZ_MEMORY_MB"] = str(MEMORY_MB)
        with serving(given.server, command=PUBLIC, environment=public) as app:
            warm_up(app, BARS if given.lesson else ["encode"])
            if given.lesson:
                use_pages(app)
                # What that has left behind is given back.
                time.sleep(given.rest / 2)
            yield Row("memory before", f"{(before := app.megabytes()):,.0f} MB")
            for name in given.attacks:
                actual, errors, peak, acts = attacked(app, *ATTACKS[name], given.seconds)
                told = f" of {len(actual)} Encodes; acts: {dict(acts)}"
                yield at_most(f"{name}: all but one Encode in twenty", p95(actual), ENCODE_SECONDS, note=told)
                yield at_most(f"{name}: the slowest Encode", max(actual), MOST_SECONDS)
                yield at_most(f"{name}: memory at most", peak, PEAK_MB, "MB")
                yield none(f"{name}: errors on the others' pages", errors)
                time.sleep(given.rest)
                yield at_most(f"{name}: memory that stays {given.rest:.0f} s later", app.megabytes() - before, STAYS_MB, "MB")
            if given.lesson:
                yield from lesson_rows(app, given.visits, 10.0, given.lesson, BARS)


if __name__ == "__main__":
    sizes = {"seconds": (15.0, 0.5), "rest": (60.0, 0.5), "visits": (20, 1), "lesson": (60.0, 0.0)}
    run(rows, minutes=25, sizes={"attacks": ([*ATTACKS], ["closed"]), **sizes})
