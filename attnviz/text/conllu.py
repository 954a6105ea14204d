"""Sentences with their syntax, read from CoNLL-U, the format of Universal Dependencies (universaldependencies.org/format.html).

One line a word, ten columns parted by tabs, an empty line after every sentence. What is wrong with a file is said with the
number of the line. Only \\n and \\r\\n end a line: a word or a note may hold any other space of Unicode.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from attnviz.core.errors import CorpusError
from attnviz.text.data_files import split_lines

COLUMNS = 10
# https://universaldependencies.org/u/pos/ and https://universaldependencies.org/u/dep/
RELATIONS = (
    "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj", "cop", "csubj", "dep",
    "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj", "list", "mark", "nmod", "nsubj", "nummod",
    "obj", "obl", "orphan", "parataxis", "punct", "reparandum", "root", "vocative", "xcomp",
)  # fmt: skip

# What the relations and parts of speech of Universal Dependencies are called in a grammar lesson.
RELATION_NAMES = {
    "acl": "a clause on a noun", "advcl": "an adverbial clause", "advmod": "an adverb", "amod": "an adjective on a noun",
    "appos": "an apposition", "aux": "an auxiliary", "case": "a preposition", "cc": "a conjunction",
    "ccomp": "a clause as object", "compound": "part of a compound", "conj": "a conjunct", "cop": "a copula",
    "csubj": "a clause as subject", "det": "a determiner", "discourse": "an interjection", "expl": "an expletive",
    "fixed": "part of a fixed phrase", "flat": "part of a name", "iobj": "an indirect object", "list": "an item of a list",
    "mark": "a clause's marker", "nmod": "a noun on a noun", "nsubj": "a subject", "nummod": "a number on a noun",
    "obj": "an object", "obl": "an oblique noun", "parataxis": "a clause beside another", "punct": "punctuation",
    "root": "the root", "vocative": "a vocative", "xcomp": "an open complement", "acl:relcl": "a relative clause",
    "aux:pass": "a passive's auxiliary", "compound:prt": "a verb's particle", "nmod:poss": "a possessor",
    "nsubj:pass": "a passive's subject",
}  # fmt: skip
POS_NAMES = {
    "ADJ": "an adjective", "ADP": "a preposition", "ADV": "an adverb", "AUX": "an auxiliary", "CCONJ": "a conjunction",
    "DET": "a determiner", "INTJ": "an interjection", "NOUN": "a noun", "NUM": "a number", "PART": "a particle",
    "PRON": "a pronoun", "PROPN": "a name", "PUNCT": "punctuation", "SCONJ": "a subordinating conjunction",
    "SYM": "a symbol", "VERB": "a verb", "X": "some other word",
}  # fmt: skip
PARTS_OF_SPEECH = tuple(POS_NAMES)


@dataclass(frozen=True)
class ParsedWord:
    """One word of a treebank: where it stands in the text, its part of speech, its relation and its syntactic head.

    head  the place of its head among the sentence's words, from 0; None: it is the root, or nobody knows
    """

    text: str
    start: int
    end: int
    pos: str = "X"
    relation: str = "dep"
    head: int | None = None


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence and its words.

    pronoun, antecedent  places of a pronoun and of the word it stands for, where somebody has marked them
    """

    text: str
    words: tuple[ParsedWord, ...]
    name: str = ""
    pronoun: int | None = None
    antecedent: int | None = None


def read_conllu(text: str, name: str = "this file") -> tuple[ParsedSentence, ...]:
    """Read all sentences of a CoNLL-U text; empty nodes, features and enhanced relations are left out.

    Raises:
        CorpusError: a line is no CoNLL-U; the message has its number. Or there is no sentence at all.

    >>> lines = ["1 Stop stop VERB _ _ 0 root _ SpaceAfter=No", "2 ! ! PUNCT _ _ 1 punct _ _"]
    >>> sentence, = read_conllu("\\n".join(lines).replace(" ", "\\t"))
    >>> sentence.text, [(word.relation, word.head) for word in sentence.words]
    ('Stop!', [('root', None), ('punct', 0)])
    """
    sentences = tuple(_sentence(block, name) for block in _blocks(split_lines(text)))
    if not sentences:
        raise CorpusError(f"{name} holds no sentence: give CoNLL-U, ten columns a word and an empty line after every sentence.")
    return sentences


def _blocks(lines: Iterable[str]) -> Iterator[list[tuple[int, str]]]:
    """Gather the lines of each sentence, with their numbers."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


@dataclass(frozen=True)
class _Row:
    """One line of a word as it stands in the file; `head` from 1, 0 for the root."""

    number: int
    form: str
    pos: str
    relation: str
    head: int
    space_after: bool


def _sentence(block: list[tuple[int, str]], name: str) -> ParsedSentence:
    comments = dict(_comment(line) for _, line in block if line.startswith("#"))
    rows: list[_Row] = []
    surfaces: dict[int, tuple[int, str, bool]] = {}
    for number, line in block:
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != COLUMNS:
            raise CorpusError(
                f"{name}, line {number}: a word has {COLUMNS} columns parted by tabs, and here are {len(columns)}."
            )
        if "." in columns[0]:
            continue
        spaced = "SpaceAfter=No" not in columns[9].split("|")
        if "-" in columns[0]:
            first, last = _range(columns[0], number, name, len(rows) + 1)
            surfaces[first] = last, columns[1], spaced
            continue
        rows.append(_row(columns, number, name, len(rows) + 1, spaced))
    if not rows:
        raise CorpusError(f"{name}, line {block[0][0]}: a sentence without a word.")
    _check_tree(rows, name)
    text = comments.get("text") or _spelt(rows, surfaces)
    return ParsedSentence(text, tuple(_placed(rows, surfaces, text)), comments.get("sent_id", ""))


def _comment(line: str) -> tuple[str, str]:
    key, _, value = line[1:].partition("=")
    return key.strip(), value.strip(" \t")


def _range(written: str, number: int, name: str, expected: int) -> tuple[int, int]:
    """Read the words that one written word stands for, such as 3-4."""
    first, _, last = written.partition("-")
    if not (first.isdecimal() and last.isdecimal() and int(first) == expected and int(last) >= int(first)):
        raise CorpusError(f"{name}, line {number}: {written} is no range of words that begins at word {expected}.")
    return int(first), int(last)


def _row(columns: list[str], number: int, name: str, expected: int, spaced: bool) -> _Row:
    if columns[0] != str(expected):
        raise CorpusError(f"{name}, line {number}: this is word {expected} of its sentence, but its number is {columns[0]!r}.")
    if not columns[1].strip():
        raise CorpusError(f"{name}, line {number}: the word itself, the second column, is empty.")
    if not columns[6].isdecimal():
        raise CorpusError(
            f"{name}, line {number}: a head, the seventh column, is the number of a word or 0, not {columns[6]!r}."
        )
    if columns[7].partition(":")[0] not in RELATIONS:
        raise CorpusError(f"{name}, line {number}: {columns[7]!r} is no relation of Universal Dependencies.")
    if columns[3] not in PARTS_OF_SPEECH:
        raise CorpusError(f"{name}, line {number}: {columns[3]!r} is no part of speech of Universal Dependencies.")
    return _Row(number, columns[1], columns[3], columns[7], int(columns[6]), spaced)


def _check_tree(rows: list[_Row], name: str) -> None:
    for index, row in enumerate(rows, start=1):
        if row.head > len(rows) or row.head == index:
            what = "itself" if row.head == index else f"word {row.head}, and the sentence has {len(rows)} words"
            raise CorpusError(f"{name}, line {row.number}: the head of this word is {what}.")
    if not any(row.head == 0 for row in rows):
        raise CorpusError(f"{name}, line {rows[0].number}: this sentence has no root, a word whose head is 0.")
    below_root = {0}
    for index in range(1, len(rows) + 1):
        seen: list[int] = []
        while index not in below_root:
            if index in seen:
                circle = ", ".join(map(str, sorted(seen[seen.index(index) :])))
                raise CorpusError(
                    f"{name}, line {rows[index - 1].number}: the heads of words {circle} lead in a circle, to no root."
                )
            seen.append(index)
            index = rows[index - 1].head
        below_root.update(seen)


def _spelt(rows: list[_Row], surfaces: dict[int, tuple[int, str, bool]]) -> str:
    """Write a sentence without a `# text` as its words and their spaces spell it."""
    text, index = "", 1
    while index <= len(rows):
        last, form, spaced = surfaces.get(index, (index, rows[index - 1].form, rows[index - 1].space_after))
        text += form + " " * spaced
        index = last + 1
    return text.rstrip(" ")


def _placed(rows: list[_Row], surfaces: dict[int, tuple[int, str, bool]], text: str) -> Iterator[ParsedWord]:
    """Find each word in the text; the parts of a contraction that is written otherwise share its place."""
    end, whole, until = 0, (0, 0), 0
    for index, row in enumerate(rows, start=1):
        if surface := surfaces.get(index):
            start = max(text.find(surface[1], end), 0)
            whole, until = (start, start + len(surface[1])), surface[0]
        start = text.find(row.form, end)
        inside = start >= 0 and (index > until or start + len(row.form) <= whole[1])
        place = (start, start + len(row.form)) if inside else whole if index <= until else (end, end)
        end = max(end, place[1] if inside or index >= until else end)
        yield ParsedWord(row.form, *place, row.pos, row.relation, row.head - 1 if row.head else None)
