"""Where the sentences of a text stand, in characters."""

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import regex
import sentencex

# A paragraph with the blank lines after it: together they are the whole text.
_PARAGRAPH = regex.compile(r".+?(?:\R[^\S\r\n]*\R\s*|\Z)", regex.DOTALL)
# English words that sentencex takes for the end of a sentence, and those that it takes for an abbreviation.
_ABBREVIATED = regex.compile(r"\b(?:Dr|Mrs?|Ms|Mx|Prof|approx|est|vol)\.\s*\Z")
_WHOLE_WORD = regex.compile(r"\b(?:May|me|no|ok|OK|art|ill|miss|ore|min|sec)\.\s+(?=\p{Lu})")


@dataclass(frozen=True)
class Sentences:
    """Where the sentences of a text start and end, in the order of the text; spaces between them belong to none.

    >>> text = "It rained, e.g. on Monday. We stayed in!"
    >>> [text[start:end] for start, end in Sentences.of(text).spans]
    ['It rained, e.g. on Monday.', 'We stayed in!']
    """

    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str, language: str = "en") -> "Sentences":
        """Cut a text; `language` decides what an abbreviation is. A line ends no sentence, a blank line does.

        >>> len(Sentences.of("I met Ms. Smith in May. She told me. Then Dr. No left.").spans)
        3
        """
        spans, at = [], 0
        # sentencex ends a sentence with every line, but a text that was pasted has its lines broken anywhere.
        for paragraph in _PARAGRAPH.findall(text):
            flat = paragraph.replace("\r", " ").replace("\n", " ")
            rows = sentencex.get_sentence_boundaries(language, flat)  # pyrefly: ignore[missing-attribute]
            ends = {row["end_index"] for row in rows if not _ABBREVIATED.search(row["text"])} | {len(flat)}
            ends.update(match.end() for match in _WHOLE_WORD.finditer(flat))
            bounds = itertools.pairwise([0, *sorted(ends - {0})])
            spans += [_stripped(flat, at, start, end) for start, end in bounds if flat[start:end].strip()]
            at += len(paragraph)
        return cls(tuple(spans))

    @classmethod
    def joined(cls, sentences: Sequence[str]) -> "Sentences":
        """Place the sentences of a text that was put together from them, with one space between two.

        >>> Sentences.joined(["Oh.", "No!"]).spans
        ((0, 3), (4, 7))
        """
        spans, at = [], 0
        for sentence in sentences:
            spans.append(_stripped(sentence, at, 0, len(sentence)))
            at += len(sentence) + 1
        return cls(tuple(spans))

    def at(self, position: int) -> int:
        """Find the number of the sentence that holds the character at `position`, or the one before it; 0 where there is none.

        >>> Sentences(((0, 3), (4, 7))).at(5)
        1
        """
        return max(bisect.bisect_right(self.spans, (position, float("inf"))) - 1, 0)


def _stripped(text: str, at: int, start: int, end: int) -> tuple[int, int]:
    """Strip text[start:end] of the space around it, as it stands in a text in which `text` begins at `at`."""
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    return at + start + left, at + start + max(left, len(part.rstrip()))
