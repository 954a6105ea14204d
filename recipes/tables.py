"""Tables of a card, in Markdown."""

from collections.abc import Sequence
from typing import Any


def figures(values: dict[str, Any]) -> str:
    """Write a table of two columns without a heading: names and figures."""
    return table([("", ""), *((name, shown(value)) for name, value in values.items())])


def table(rows: Sequence[Sequence[str]]) -> str:
    """Write rows as a table in Markdown, the first as its heading.

    >>> print(table([("way", "ROUGE"), ("first|last", "20.1")]).replace(chr(92), "/"))
    | way | ROUGE |
    |---|---|
    | first/|last | 20.1 |
    """
    # A signature has bars of its own, which would end its cell.
    head, *body = (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def shown(value: Any) -> str:
    """Write a figure with two digits; anything else as it is.

    >>> shown(20.126), shown(3)
    ('20.13', '3')
    """
    return f"{value:.2f}" if isinstance(value, float) else str(value)
