"""Addresses of pages that have become part of another one."""

import re

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
