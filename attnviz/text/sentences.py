"""Where the sentences of a text stand, in characters; and which may stand on a school's projector."""

import bisect
import itertools
import re
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


# Words of sentences that a school would not project: the treebank's come from blogs, mail and the news.
_UNSUITABLE = re.compile(
    r"\b(?:abus\w*|alcohol\w*|assault\w*|attack\w*|bastard\w*|beer|behead\w*|bitch\w*|bomb\w*|crap\w*|damn\w*|dead|death\w*|"
    r"die[ds]?|drug\w*|drunk\w*|enemy|explosi\w*|fuck\w*|gun\w*|hell|idiot\w*|insurgen\w*|jail\w*|kill\w*|milita\w*|missile\w*|"
    r"murder\w*|nazi\w*|nuclear|porn\w*|prison\w*|rap(?:e|ed|es|ist)|sex\w*|shit\w*|shoot\w*|shot|slaughter\w*|stupid\w*|"
    r"suck\w*|suicid\w*|terror\w*|tortur\w*|troops|victim\w*|violen\w*|wars?|weapon\w*|liberal revisionist)\b",
    re.IGNORECASE,
)


def is_suitable(text: str) -> bool:
    """Say whether a sentence may stand on a school's projector: it has none of a short list of words.

    >>> is_suitable("Try googling it for more info."), is_suitable("They call it a covert nuclear weapons program.")
    (True, False)
    """
    return not _UNSUITABLE.search(text)
