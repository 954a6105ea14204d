"""Texts in an address: long ones are compressed, so that browsers and proxies take them."""

import base64
import binascii
import zlib
from urllib.parse import quote

MARK = "~z~"
# Shorter ones can be read, and changed, by a person.
READABLE = 300
# Bytes: no page puts more into its address, and a few bytes of it could stand for hours of work.
LARGEST = 16_000


def pack(text: str) -> str:
    """Write a text for an address: compressed (DEFLATE, RFC 1951, in URL-safe base64) where that is shorter.

    >>> pack("The cat sat.")
    'The cat sat.'
    >>> len(pack("The cat sat. " * 300)) < 100
    True
    """
    written = len(quote(text))
    if written <= READABLE and not text.startswith(MARK):
        return text
    compressor = zlib.compressobj(level=9, wbits=-15)
    data = compressor.compress(text.encode("utf-8", "surrogatepass")) + compressor.flush()
    packed = MARK + base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
    return packed if len(packed) < written or text.startswith(MARK) else text


def unpack(written: str) -> str | None:
    """Read the text that `pack` was given; None where it cannot be one.

    >>> unpack(pack("Le chat. " * 99)) == "Le chat. " * 99, unpack("The cat sat."), unpack("~z~nonsense")
    (True, 'The cat sat.', None)
    """
    if not written.startswith(MARK):
        return written
    data = written.removeprefix(MARK)
    try:
        compressed = base64.b64decode(data + "=" * (-len(data) % 4), altchars=b"-_", validate=True)
        # A few bytes can stand for gigabytes.
        opener = zlib.decompressobj(wbits=-15)
        text = opener.decompress(compressed, LARGEST)
        is_whole = opener.eof and not opener.unused_data
        return text.decode("utf-8", "surrogatepass") if is_whole else None
    except (binascii.Error, zlib.error, ValueError):
        return None
