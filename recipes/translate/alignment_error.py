"""How well attention aligns words: forced alignments against links that people, or a statistical aligner, drew.

A file of links has one pair a line, `source TAB target TAB links`, both sides cut into words by spaces, links as `e-f` (sure)
or `epf` (possible), counted from 1, source first: the format of the 2003 shared task. A fourth and fifth column may hold the
texts as they are written; without them they are put together from the words.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from recipes.data import DataError, read_lines

Link = tuple[int, int]


@dataclass(frozen=True)
class LinkedPair:
    """A pair of sentences as words and as text, and its links as (source word, target word), counted from 0."""

    words: tuple[tuple[str, ...], tuple[str, ...]]
    texts: tuple[str, str]
    sure: frozenset[Link]
    possible: frozenset[Link]


def read_links(path: Path) -> list[LinkedPair]:
    """Read the pairs of a file of links.

    Raises:
        DataError: a line does not have the form that a line has.
    """
    return [_pair(line, where) for line, where in read_lines(path)]


def _pair(line: str, where: str) -> LinkedPair:
    columns = line.split("\t")
    matches = [re.fullmatch(r"(\d+)([-p])(\d+)", link) for link in columns[2].split()] if len(columns) in (3, 5) else [None]
    links = [(int(match[1]) - 1, int(match[3]) - 1, match[2]) for match in matches if match]
    if len(links) < len(matches):
        raise DataError(f"{where} is not two texts and their links with tabs between them")
    source, target = (tuple(text.split(" ")) for text in columns[:2])
    texts = (columns[3], columns[4]) if len(columns) == 5 else (joined(source, "en"), joined(target, "fr"))
    possible = frozenset((i, j) for i, j, _ in links)
    return LinkedPair((source, target), texts, frozenset((i, j) for i, j, kind in links if kind == "-"), possible)


def joined(words: Sequence[str], language: str) -> str:
    """Words as they are written: no space before a comma, none after an elision; French has one before ! ? : and ;.

    >>> joined(["oui", ",", "l'", "eau", "!"], "fr"), joined(["Tom", "'s", "dog", "!"], "en")
    ("oui, l'eau !", "Tom's dog!")
    """
    text = " ".join(words)
    text = re.sub(r" ([,.)%]|\.\.\.)" if language == "fr" else r" ([,.)%!?:;]|\.\.\.|'(?:s|m|re|ve|ll|d)\b)", r"\1", text)
    return re.sub(r"(\() | - (?=\w)|(?<=\w') (?=\w)" if language == "fr" else r"(\() ", lambda m: m[1] or m[0].strip(), text)


def spans(words: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Find where each word stands in the text, from left to right."""
    places, end = [], 0
    for word in words:
        start = text.find(word, end)
        start = end if start < 0 else start
        end = start + len(word)
        places.append((start, end))
    return places


def by_word(pieces: Sequence[tuple[int, int]], words: Sequence[tuple[int, int]]) -> Float[np.ndarray, "piece word"]:
    """Compute the share of every piece's characters that lies in each word.

    >>> by_word([(0, 2), (2, 3)], [(0, 3)])
    array([[1.],
           [1.]])
    """
    starts, ends = (np.array([piece[side] for piece in pieces])[:, None] for side in (0, 1))
    lows, highs = (np.array([word[side] for word in words])[None] for side in (0, 1))
    overlap = np.clip(np.minimum(ends, highs) - np.maximum(starts, lows), 0, None).astype(float)
    return overlap / np.maximum(overlap.sum(axis=1, keepdims=True), 1)


def by_words(
    weights: Float[np.ndarray, "query key"], target: Float[np.ndarray, "query word"], source: Float[np.ndarray, "key other"]
) -> Float[np.ndarray, "word other"]:
    """Merge pieces into words: the rows of a target word's pieces are averaged, a source word's columns added."""
    shares = target.sum(axis=0, keepdims=True)
    return (target / np.maximum(shares, 1e-9)).T @ weights @ source


def hard_links(merged: Float[np.ndarray, "word other"]) -> frozenset[Link]:
    """Link each target word to the source word that it attends to most."""
    return frozenset((int(row.argmax()), index) for index, row in enumerate(merged) if row.any())


def alignment_error_rate(alignments: Sequence[frozenset[Link]], gold: Sequence[LinkedPair]) -> float:
    """AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), over all pairs together: Och & Ney 2003, section 4.2.

    >>> pair = LinkedPair((("a",), ("b", "c")), ("a", "b c"), frozenset({(0, 0)}), frozenset({(0, 0), (0, 1)}))
    >>> alignment_error_rate([frozenset({(0, 0), (0, 1)})], [pair])
    0.0
    """
    hits = sum(len(links & pair.sure) + len(links & pair.possible) for links, pair in zip(alignments, gold, strict=True))
    total = sum(len(links) + len(pair.sure) for links, pair in zip(alignments, gold, strict=True))
    return 1 - hits / total if total else 0.0
