"""How often one address may type a wrong code. Addresses are never written down, and here only under a hash that changes."""

import hashlib
import ipaddress
import secrets
import threading
import time

# Wrong codes that an address may type at once, and the seconds after which it may type one more: some 300 a day, of 116,000.
BURST, REFILL = 30, 300
# Addresses that are remembered: who knocks from more of them is forgotten sooner.
MOST = 20_000


class WrongCodes:
    """Counts wrong codes by address, in the memory of this process."""

    def __init__(self) -> None:
        self._salt = secrets.token_bytes(16)
        self._used: dict[bytes, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def may_type(self, address: str) -> bool:
        """Whether this address may type a code at all."""
        with self._lock:
            return self._now_used(self._key(address)) <= BURST - 1

    def count(self, address: str) -> None:
        """Note a wrong code."""
        key = self._key(address)
        with self._lock:
            used = self._now_used(key) + 1
            self._used.pop(key, None)
            if len(self._used) >= MOST:
                self._used.pop(next(iter(self._used)))
            self._used[key] = used, time.monotonic()

    def _now_used(self, key: bytes) -> float:
        used, since = self._used.get(key, (0.0, 0.0))
        return max(used - (time.monotonic() - since) / REFILL, 0.0)

    def _key(self, address: str) -> bytes:
        return hashlib.blake2b(_network(address).encode("utf-8", "replace"), key=self._salt, digest_size=12).digest()


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
