"""Text that is not attnviz's own, shown as it stands where Streamlit reads Markdown."""

import re

# What CommonMark, its extensions for tables, links and formulas, and Streamlit's `:red[…]` and `:material/…:` begin with.
_SIGNS = re.compile(r"[\\`*\[\]{<&~$]|(?<![^\W_])_|_(?![^\W_])|:(?=\S)|^[#+\->=|]")
_ORDERED = re.compile(r"^(\d+)(?=[.)])")
# Addresses, arrows, dashes and `:streamlit:` are found after backslashes are gone: an empty small text parts them, of which
# nothing is copied.
_REPLACED = re.compile(r"(?<=[:@])(?=\S)|(?<=www)(?=\.)|(?<=[<>~=-])(?=[<>=-])", re.IGNORECASE)
_JOINER, _NOTHING = "\u2060", ":small[]"


def escaped(text: object) -> str:
    r"""A text, or what an error says, as one line that Streamlit shows as it stands wherever it reads Markdown.

    Everything goes through here that is not attnviz's own: typed, from a link, out of a file, the name of a model.

    >>> print(escaped("_a_b [c]"), escaped("![x](http://x.org/y.png)") == "!\\[x\\](http\\::small[]//x.org/y.png)")
    \_a_b \[c\] True
    """
    line = _REPLACED.sub(_JOINER, " ".join(str(text).split()))
    return _ORDERED.sub(r"\1\\", _SIGNS.sub(r"\\\g<0>", line)).replace(_JOINER, _NOTHING)
