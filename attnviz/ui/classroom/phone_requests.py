"""What a phone asks for, what it is told, and how often, by whichever way: routes of the server, or Streamlit's messages.

Nothing here does what only the teacher may do. Addresses are never written down, and stand here only under a hash that changes
with each start of the app.
"""

import hashlib
import ipaddress
import secrets
import threading
import time
from typing import Any

from attnviz.core.errors import AttnvizError, ClassError
from attnviz.ui.classroom.running_class import class_store

# Networks that are remembered: who knocks from more of them is forgotten sooner.
MOST = 20_000


class Allowance:
    """Counts what each network does, in the memory of this process; each has `burst` at once, and one more every `refill` s."""

    def __init__(self, burst: int, refill: float) -> None:
        self._burst, self._refill = burst, refill
        self._salt = secrets.token_bytes(16)
        self._used: dict[bytes, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def has_some(self, address: str) -> bool:
        """Say whether the network of this address has some left."""
        with self._lock:
            return self._now_used(self._key(address)) <= self._burst - 1

    def take(self, address: str) -> bool:
        """Take one, and tell whether there was one."""
        key = self._key(address)
        with self._lock:
            used = self._now_used(key)
            if used > self._burst - 1:
                return False
            self._used.pop(key, None)
            if len(self._used) >= MOST:
                self._used.pop(next(iter(self._used)))
            self._used[key] = used + 1, time.monotonic()
        return True

    def _now_used(self, key: bytes) -> float:
        used, since = self._used.get(key, (0.0, 0.0))
        return max(used - (time.monotonic() - since) / self._refill, 0.0)

    def _key(self, *parts: str) -> bytes:
        network, *rest = parts
        named = "\0".join([network_of(network), *rest])
        return hashlib.blake2b(named.encode("utf-8", "replace"), key=self._salt, digest_size=12).digest()


class WrongCodes(Allowance):
    """Counts wrong codes. Where a class is taught or somebody has joined it, its code is trusted, whoever types wrong ones.

    So a pupil who guesses locks nobody out of the class in the same school, and learns no code that the school does not see.
    """

    def __init__(self, burst: int, refill: float) -> None:
        super().__init__(burst, refill)
        self._trusted: dict[bytes, None] = {}

    def may_type(self, address: str, code: str) -> bool:
        """Say whether this code may be tried from this address."""
        return self._key(address, code) in self._trusted or self.has_some(address)

    def count(self, address: str) -> None:
        """Note a wrong code."""
        self.take(address)

    def trust(self, address: str, code: str) -> None:
        """Note that this class is one of this network's."""
        with self._lock:
            self._trusted.pop(key := self._key(address, code), None)
            if len(self._trusted) >= MOST:
                self._trusted.pop(next(iter(self._trusted)))
            self._trusted[key] = None


def network_of(address: str) -> str:
    """Name who one address belongs to: a house has 2^64 addresses of IPv6.

    >>> network_of("2001:db8:1:2:3:4:5:6"), network_of("192.0.2.7"), network_of("::ffff:192.0.2.7")
    ('2001:db8:1:2::/64', '192.0.2.7', '192.0.2.7')
    """
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(number, ipaddress.IPv4Address):
        return address
    return str(number.ipv4_mapped or ipaddress.ip_network((number, 64), strict=False))


# Wrong codes that a network may type at once, and the seconds after which it may type one more: some 300 a day, of 116,000.
BURST, REFILL = 30, 300.0
wrong_codes = WrongCodes(BURST, REFILL)
# Of one network: classes that are started, and phones that join. A school has one address: 30 teachers, 300 phones at once.
starts, joins = Allowance(burst=30, refill=120.0), Allowance(burst=300, refill=2.0)
TOO_MANY = "Too many wrong codes were typed here: scan the QR code of the class, or wait five minutes."


def first_view(code: str, address: str) -> dict[str, Any] | None:
    """Return what a phone draws before it joins; None: there is no such class, codes are tried, or a nickname comes first."""
    if not wrong_codes.may_type(address, code):
        return None
    try:
        view = class_store().overview(code).for_phones()
    except ClassError:
        wrong_codes.count(address)
        return None
    except AttnvizError:
        return None
    return None if view["nicknames"] else view


def join(code: str, sent: dict[str, Any], address: str) -> dict[str, Any]:
    """Join a class; where it has nicknames and none is sent, nobody joins yet, and the phone asks for one.

    Raises:
        AttnvizError: there is no such class, it takes nobody, or too many wrong codes came from this address.
    """
    store, invite = class_store(), _text(sent, "invite")
    if not wrong_codes.may_type(address, code) and not (invite and store.is_invited(code, invite)):
        raise ClassError(TOO_MANY, "wait")
    try:
        view = store.overview(code).for_phones()
        if view["nicknames"] and "nickname" not in sent and view["state"] != "ended":
            return {"view": view, "wants": "nickname"}
        if not joins.take(address):
            raise ClassError("Many phones joined from this network: try again in a minute.", "wait")
        token = store.join(code, _text(sent, "nickname"))
        wrong_codes.trust(address, code)
    except ClassError as error:
        if error.reason == "unknown":
            wrong_codes.count(address)
        raise
    return {"token": token, "view": view, "own": _own(code, token)}


def state(code: str, token: str) -> dict[str, Any]:
    """Tell a phone all that it may see now.

    Raises:
        AttnvizError: it is in no such class.
    """
    try:
        own = _own(code, token)
        return {"view": class_store().overview(code).for_phones(), "own": own}
    except ClassError as error:
        raise _hidden(error) from error


def answer(code: str, token: str, sent: dict[str, Any]) -> dict[str, Any]:
    """Keep a student's answer.

    Raises:
        AttnvizError: nobody of the class holds this token, or this is no answer to the open question.
    """
    if not isinstance(sent.get("number"), int):
        raise ClassError("This is no answer to this question.")
    try:
        return {"answer": class_store().answer(code, token, sent["number"], _text(sent, "answer"))}
    except ClassError as error:
        raise _hidden(error) from error


def refusal(error: AttnvizError) -> dict[str, str]:
    """Write an error of ours as a phone reads it: one sentence, and its reason."""
    return {"error": str(error), "reason": error.reason if isinstance(error, ClassError) else "busy"}


def _own(code: str, token: str) -> dict[str, Any]:
    student = class_store().student(code, token)
    own = {"id": student.id, "student": student.number, "nickname": student.nickname}
    return {**own, "number": student.round, "answer": student.answer}


def _hidden(error: ClassError) -> ClassError:
    """Say the same of a class that is not there and of one that this phone is not in: codes cannot be tried here."""
    if error.reason not in ("unknown", "forbidden"):
        return error
    return ClassError("This phone has not joined the class: type its code again.", "forbidden")


def _text(sent: dict[str, Any], name: str) -> str:
    value = sent.get(name, "")
    if not isinstance(value, str):
        raise ClassError("This request cannot be read: reload the page.")
    return value
