"""How often one network may do what could keep others out: type wrong codes, start classes, join them.

Addresses are never written down, and stand here only under a hash that changes with each start of the app.
"""

import hashlib
import ipaddress
import secrets
import threading
import time

# Wrong codes that a network may type at once, and the seconds after which it may type one more: some 300 a day, of 116,000.
BURST, REFILL = 30, 300.0
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
        """Whether the network of this address has some left."""
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
        named = "\0".join([_network(network), *rest])
        return hashlib.blake2b(named.encode("utf-8", "replace"), key=self._salt, digest_size=12).digest()


class WrongCodes(Allowance):
    """Counts wrong codes. Where a class is taught or somebody has joined it, its code is trusted, whoever types wrong ones.

    So a pupil who guesses locks nobody out of the class in the same school, and learns no code that the school does not see.
    """

    def __init__(self) -> None:
        super().__init__(BURST, REFILL)
        self._trusted: dict[bytes, None] = {}

    def may_type(self, address: str, code: str) -> bool:
        """Whether this code may be tried from this address."""
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


def _network(address: str) -> str:
    """Name who one address belongs to: a house has 2^64 addresses of IPv6.

    >>> _network("2001:db8:1:2:3:4:5:6"), _network("192.0.2.7"), _network("::ffff:192.0.2.7")
    ('2001:db8:1:2::/64', '192.0.2.7', '192.0.2.7')
    """
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(number, ipaddress.IPv4Address):
        return address
    return str(number.ipv4_mapped or ipaddress.ip_network((number, 64), strict=False))
