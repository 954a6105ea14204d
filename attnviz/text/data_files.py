"""Files of texts, packed by gzip or not: their lines, the format that their content has, and the prompts that it holds.

One line a word, ten columns parted by tabs, an empty line after every sentence. What is wrong with a file is said with the
number of the line. Only \n and \r\n end a line: a word or a note may hold any other space of Unicode.
"""

import csv
import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attnviz.core.errors import CorpusError, PromptError
from attnviz.core.trace import Prompt

# What a command that reads prompts says in its help.
FORMATS = (
    "FILE holds a text a line; or a text, a tab and what the model is to write; or a table whose first line names its columns\n"
    "(text, context, sentence, question, target, …), between commas, semicolons or tabs; or a JSON object a line with these\n"
    "names; or a JSON list of texts or such objects; or SQuAD's JSON. Its content decides, not its name, and what it was\n"
    "taken for is said. It may be packed by gzip."
)
# Names of columns and fields, in the order in which they are looked for.
TEXTS = ("text", "context", "passage", "sentence", "sentences", "sentence1", "source", "en")
TARGETS = ("target", "translation", "summary", "sentence2")
QUESTIONS = ("question",)
# What else tables have beside them: where the first line names nothing else, it is a heading.
OTHERS = ("id", "idx", "index", "label", "answer", "answers", "answer_start", "title", "score", "lang", "split")
# So many lines are looked at to know a format.
SNIFFED = 30
_TIME = re.compile(r"(\d+:)?\d\d:\d\d[.,]\d{3} --> ")
_HTML = re.compile(r"\s*<(!doctype html|html|head|body)\b", re.IGNORECASE)
_WORD_NUMBER = re.compile(r"\d+([-.]\d+)?")

# UTF-8, before which some editors write a mark.
ENCODING = "utf-8-sig"
# A device, or what is no text at all, may have no line end, and memory is taken for all of a line.
LONGEST_LINE = 10**7


def text_lines(path: Path) -> Iterator[str]:
    """Read a file of text line by line.

    Raises:
        CorpusError: it cannot be read, or is no text in UTF-8.
    """
    number = 0
    try:
        # Of Python's line ends only \n: a lone \r may stand within a field.
        options: dict[str, Any] = {"mode": "rt", "encoding": ENCODING, "newline": "\n"}
        with gzip.open(path, **options) if _is_packed(path) else open(path, **options) as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), ""), start=1):
                if len(line) > LONGEST_LINE:
                    raise CorpusError(f"Line {number:,} of {path.name} has more than {LONGEST_LINE:,} characters: break it up.")
                yield line
    except UnicodeDecodeError as error:
        after = f" after line {number:,}" if number else ""
        raise CorpusError(f"{path.name} is no text in UTF-8{after}: save it in UTF-8.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(
            f"{path} cannot be read ({getattr(error, 'strerror', None) or error}): choose another file."
        ) from error


def _is_packed(path: Path) -> bool:
    """Say whether a file is packed by gzip, by name or first two bytes; what is no file, such as a pipe, by its name."""
    if not path.is_file():
        return path.suffix == ".gz"
    with open(path, "rb") as file:
        return path.suffix == ".gz" or file.read(2) == b"\x1f\x8b"


def split_lines(text: str) -> list[str]:
    r"""Part a text at \n and \r\n alone: what else Python takes for a line's end (U+2028, a form feed) is data.

    >>> split_lines("a\u2028b\r\nc")
    ['a\u2028b', 'c']
    """
    return [line.removesuffix("\r") for line in text.split("\n")]


class FileFormat(NamedTuple):
    """What a file was taken for: `kind`, a sentence that says so, and of a table its delimiter, heading and columns."""

    kind: str
    description: str
    delimiter: str = "\t"
    heading: tuple[str, ...] = ()
    # The columns of the text and, or -1, of what the model is to write.
    columns: tuple[int, int] = (0, 1)


def find_format(path: Path) -> FileFormat:
    """Tell by its first lines what a file holds.

    Raises:
        CorpusError: it cannot be read, or is none of the formats; the message names the one that is.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        # What a pipe gives can be read once.
        return FileFormat("text", f"{path.name} is read as one text a line")
    lines = list(islice((line.rstrip("\r\n") for line in text_lines(path) if line.strip()), SNIFFED))
    if not lines:
        return FileFormat("text", f"{path.name} is empty")
    if any(_TIME.match(line.strip()) for line in lines):
        raise CorpusError(f"{path.name} has subtitles with their times: write one sentence a line, without times.")
    if _HTML.match(lines[0]):
        raise CorpusError(f"{path.name} is a page of HTML: save the text alone, a sentence a line.")
    if lines[0].lstrip()[:1] in ("{", "["):
        return _json_format(path, lines)
    words = [line for line in lines if not line.startswith("#")]
    if words and all(line.count("\t") == 9 and _WORD_NUMBER.fullmatch(line.split("\t")[0]) for line in words):
        return FileFormat("conllu", f"{path.name} is read as CoNLL-U, a word a line")
    return _table_format(path, lines) or FileFormat("text", f"{path.name} is read as one text a line")


def _json_format(path: Path, lines: Sequence[str]) -> FileFormat:
    objects = [_parsed(line) for line in lines]
    is_squad = isinstance(objects[0], dict) and isinstance(objects[0].get("data"), list)
    if not is_squad and (".jsonl" in path.suffixes or all(isinstance(each, dict) for each in objects)):
        return FileFormat("jsonl", f"{path.name} is read as one JSON object a line")
    whole = objects[0] if is_squad else _parsed("".join(text_lines(path)))
    if isinstance(whole, dict) and isinstance(whole.get("data"), list):
        return FileFormat("squad", f"{path.name} is read as SQuAD's JSON, a passage and a question each")
    if isinstance(whole, list) and whole and any(all(isinstance(each, kind) for each in whole) for kind in (str, dict)):
        return FileFormat(
            "json", f"{path.name} is read as a JSON list of {'texts' if isinstance(whole[0], str) else 'objects'}"
        )
    if all(isinstance(_parsed(line), str) for line in lines):
        return FileFormat("text", f"{path.name} is read as one text a line")
    if whole is None and path.suffix not in (".json", ".jsonl") and not any(isinstance(each, dict | list) for each in objects):
        # A line of prose may begin with a bracket.
        return FileFormat("text", f"{path.name} is read as one text a line")
    raise CorpusError(
        f"{path.name} is JSON, but neither one object a line (.jsonl), a list of texts or of objects, nor SQuAD's: write one "
        "object a line."
    )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _table_format(path: Path, lines: Sequence[str]) -> FileFormat | None:
    """Find the columns of a table: by its first line if that names them, else a text and a target between tabs."""
    known = {*TEXTS, *TARGETS, *QUESTIONS, *OTHERS}
    for delimiter, name in (("\t", "tabs"), (",", "commas"), (";", "semicolons")):
        # Names of columns stand between no quotes that a line ends in, and a lone \r is data.
        heading = tuple(cell.strip().strip('"').casefold() for cell in lines[0].split(delimiter))
        if set(heading) <= known and (len(heading) > 1 or heading[0] in TEXTS[:4]):
            if twice := next((each for each in heading if each and heading.count(each) > 1), ""):
                raise CorpusError(f"{path.name} has several columns “{twice}”: give each a name of its own.")
            text = next((heading.index(each) for each in TEXTS if each in heading), None)
            if text is None:
                raise CorpusError(
                    f"{path.name} is a table of {', '.join(heading)}: name the column of the texts “text” in its first line."
                )
            target = next((heading.index(each) for each in TARGETS if each in heading and heading.index(each) != text), -1)
            besides = f", and what to write from “{heading[target]}”" if target >= 0 else ""
            said = f"{path.name} is read as a table between {name}: texts from the column “{heading[text]}”{besides}"
            return FileFormat("table", said, delimiter, heading, (text, target))
    widths = {line.count("\t") for line in lines}
    is_table = min(widths) > 0 and len(widths) == 1 and len(lines) > 1
    if not is_table and ".tsv" not in path.suffixes:
        return None
    first = [line.split("\t")[0] for line in lines]
    if min(widths) > 1 and all(cell.strip().isdigit() for cell in first):
        return FileFormat("table", f"{path.name} is read as a number, a text and what to write, between tabs", columns=(1, 2))
    return FileFormat("table", f"{path.name} is read as a text, a tab, and what the model is to write")


def read_prompts(path: Path) -> Iterator[Prompt]:
    """Read the prompts of a file in one of the formats of `FORMATS`.

    Raises:
        CorpusError: the file cannot be read, or a line is none; the message has its number.
    """
    form = find_format(path)
    if form.kind == "conllu":
        raise CorpusError(f"{path.name} is CoNLL-U, a word a line: `attnviz claim --text` reads it; here, write a text a line.")
    if form.kind == "squad":
        yield from _squad_prompts(path)
        return
    if form.kind == "json":
        for number, each in enumerate(json.loads("".join(text_lines(path))), 1):
            yield _prompt(each, form, f"Entry {number} of {path.name}")
        return
    rows = _rows(path, form) if form.kind == "table" else enumerate(text_lines(path), 1)
    for number, row in rows:
        if "".join(row).strip():
            yield _prompt(row, form, f"Line {number} of {path.name}")


def _rows(path: Path, form: FileFormat) -> Iterator[tuple[int, list[str]]]:
    """Part a table into rows, each with the number of its last line.

    Under a heading, or where all quotes stand in pairs around fields, they are marks, in which a delimiter and a line's end are
    text (RFC 4180); else they are text, as translators' files have them.
    """
    fields = [field for line in islice(text_lines(path), SNIFFED) for field in line.rstrip("\r\n").split("\t")]
    quoted = [field for field in fields if field.startswith('"')]
    if not form.heading and not (quoted and all(len(field) > 1 and field.endswith('"') for field in quoted)):
        yield from ((number, line.rstrip("\r\n").split("\t")) for number, line in enumerate(text_lines(path), 1))
        return
    csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader(text_lines(path), delimiter=form.delimiter)
    try:
        # Blank lines may stand before the heading.
        filled = ((reader.line_num, row) for row in reader if "".join(row).strip())
        yield from islice(filled, 1 if form.heading else 0, None)
    except csv.Error as error:
        raise CorpusError(
            f"Line {reader.line_num} of {path.name} cannot be read ({error}): put the field between quotes."
        ) from error


def _squad_prompts(path: Path) -> Iterator[Prompt]:
    """Read the passages and questions of SQuAD's JSON (Rajpurkar et al. 2016, 2018)."""
    try:
        for article in json.loads("".join(text_lines(path)))["data"]:
            for paragraph in article["paragraphs"]:
                for each in paragraph["qas"]:
                    yield Prompt(paragraph["context"], question=each["question"])
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{path.name} is not as SQuAD's JSON is: data, paragraphs, context, qas, question.") from error


def _prompt(row: str | list[str] | dict[str, Any], form: FileFormat, where: str) -> Prompt:
    try:
        if form.kind == "jsonl" or isinstance(row, dict):
            record = row if isinstance(row, dict) else json.loads(str(row))
            if isinstance(record.get("messages"), list):
                raise PromptError("it is a conversation. Write what is to be read into a field “text”.")
            text, target = (next((record[name] for name in names if record.get(name)), None) for names in (TEXTS, TARGETS))
            if isinstance(text, list):
                text = " ".join(text)
            if text is None:
                raise KeyError("text")
            return Prompt(text, question=record.get("question"), target=target if isinstance(target, str) else None)
        if form.kind == "table":
            text, target = form.columns
            question = form.heading.index("question") if "question" in form.heading else -1
            cell = lambda place: row[place] if place >= 0 else None
            return Prompt(row[text], question=cell(question), target=cell(target))
        return Prompt(str(row).rstrip("\r\n"))
    except PromptError as error:
        raise CorpusError(f"{where} cannot be read: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, IndexError) as error:
        raise CorpusError(f"{where} is not as the lines before it, or has no text: see the command's --help.") from error


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

    @cached_property
    def forms(self) -> np.ndarray:
        """The words, whatever their case."""
        return np.array([word.text.casefold() for word in self.words], dtype=object)

    @cached_property
    def parts(self) -> np.ndarray:
        """The words' parts of speech."""
        return np.array([word.pos for word in self.words], dtype=object)

    @cached_property
    def heads(self) -> np.ndarray:
        """The place of each word's head; -1: it has none."""
        return np.array([-1 if word.head is None else word.head for word in self.words], dtype=int)

    def related(self, expected: str) -> np.ndarray:
        """Mark the words of a relation; one without a subtype stands for all of its subtypes.

        >>> words = ParsedWord("It", 0, 2, relation="nsubj:pass"), ParsedWord("ran", 3, 6, relation="root")
        >>> sentence = ParsedSentence("It ran", words)
        >>> sentence.related("nsubj").tolist(), sentence.related("nsubj:pass").tolist(), sentence.related("nsubj:x").tolist()
        ([True, False], [True, False], [False, False])
        """
        return (self._relations if ":" in expected else self._bare_relations) == expected

    @cached_property
    def _relations(self) -> np.ndarray:
        return np.array([word.relation for word in self.words], dtype=object)

    @cached_property
    def _bare_relations(self) -> np.ndarray:
        return np.array([word.relation.partition(":")[0] for word in self.words], dtype=object)


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
