"""A document as a browser reads it."""

from dataclasses import dataclass
from html.parser import HTMLParser


@dataclass
class Element:
    """An element, and the text between its beginning and that of the next."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        if self.elements:
            self.elements[-1].text += data


def elements(document: str) -> list[Element]:
    """All elements in their order."""
    reader = _Reader()
    reader.feed(document)
    return reader.elements
