"""Texts in an address: long ones are compressed, so that browsers and proxies take them."""

import base64
import binascii
import re
import zlib
from urllib.parse import quote

# Pages that have become part of another: their addresses go on opening what they opened.
MOVED = {"ablate": "whatif?change=head", "compare": "whatif"}
_COMPARED = re.compile(r"(^|&)other=[^&]")


def current_address(address: str) -> str:
    """Rewrite the address of a page that has become part of another; any other stays as it is.

    >>> current_address("/ablate?text=a"), current_address("app/compare"), current_address("/encode?text=a")
    ('/whatif?change=head&text=a', 'app/whatif', '/encode?text=a')
    >>> current_address("/encode?text=a&other=b")
    '/whatif?text=a&other=b'
    """
    path, _, query = address.partition("?")
    above, slash, page = path.rpartition("/")
    # Two sentences were compared on Encode, too.
    moved_to = "whatif" if page == "encode" and _COMPARED.search(query) else MOVED.get(page)
    if moved_to is None:
        return address
    moved, _, chosen = moved_to.partition("?")
    parameters = "&".join(filter(None, (chosen, query)))
    return f"{above}{slash}{moved}{'?' if parameters else ''}{parameters}"


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
