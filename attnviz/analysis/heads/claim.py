"""A small language for what heads are said to do: `L2·H0: obj -> head`, "in layer 2 head 0 an object looks at its head".

    claim   [where :] source -> target
    where   L2·H0 | any | L2·mean            one head, whichever fits best, or the mean of a layer's heads
    source  a term, or several with | between
    target  a term that says where to look, or several with | between

Terms of either side: a relation of Universal Dependencies (obj, or nsubj:pass with its subtype), a part of speech (NOUN),
"words" in quotes, /a regular expression/, special, any, first, last. Of the source alone: pronoun. Of the target alone: head,
its obj (a word that depends on this one), previous, next, +2 or -3 (words further on), self, same (the same word earlier),
after same (what followed the same word earlier), antecedent.
"""

import math
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np
import regex
from jaxtyping import Bool

from attnviz.core.errors import ArgumentError, ClaimError, cancellation_point, described, nearest
from attnviz.text.data_files import PARTS_OF_SPEECH, POS_NAMES, RELATION_NAMES, RELATIONS, ParsedSentence

MOST_CHARACTERS = 400
# So many characters may a regular expression expand to: `{3000}` is compiled to as many copies, and once more within another.
MOST_EXPANDED = 50_000
FURTHEST = 20
NAMED = ("special", "any", "first", "last")
SOURCES = ("pronoun",)
TARGETS = ("head", "previous", "next", "self", "same", "after same", "antecedent")
# Of which a fixed offset is no rival, for it is the claim itself, or cannot look there.
_PLACES = {"offset", "first", "last", "self", "special"}
_QUOTED = r'"(?:[^"\\]|\\.)*"|/(?:[^/\\]|\\.)*/'
_TERM = re.compile(_QUOTED + r"|[^|]+?(?=\s*(?:\||$))")
_INVISIBLE = regex.compile(_QUOTED + r"|[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]")
_INVISIBLE_IN_WORDS = regex.compile(r"[[\p{Cc}\p{Cf}\p{Cs}]--[\u200c\u200d]]", regex.V1)
# As phones and word processors write quotes.
_CURLY = re.compile(_QUOTED + r"|[“„]([^“”]*)[”“]")
_ARROW = re.compile(r"->|→")
_REPEAT = re.compile(r"\{([0-9]*)(?:,([0-9]*))?\}")
# An expression that calls itself takes a gigabyte before it fails.
_CALL = re.compile(r"\(\?(?:R|&|P>|[+-]?[0-9])")
_HEAD = re.compile(r"l\s*(\d{1,4})\s*[·.,:]?\s*(?:h\s*(\d{1,4})|(mean))", re.IGNORECASE)


@dataclass(frozen=True)
class ClaimTerm:
    """One thing to look for: its kind, and what is looked for (a relation, a word, an offset written as a number)."""

    kind: str
    value: str = ""

    @property
    def offset(self) -> int:
        return int(self.value)


@dataclass(frozen=True)
class Where:
    """Whose attention is meant: head None is the mean of the layer's heads, layer None whichever head fits best."""

    layer: int | None = None
    head: int | None = None


@dataclass(frozen=True)
class Claim:
    """A claim as it was understood; `text` is how it is written."""

    source: tuple[ClaimTerm, ...]
    target: tuple[ClaimTerm, ...]
    where: Where
    text: str

    @property
    def is_place(self) -> bool:
        """Whether the target is a place in the text, not something about its words."""
        return all(term.kind in _PLACES for term in self.target)

    @property
    def among_all(self) -> bool:
        """Whether the word itself and special tokens are among what is looked at."""
        return any(term.kind in ("special", "self") for term in self.target)

    @property
    def needs_syntax(self) -> bool:
        return any(term.kind in ("relation", "pos", "head", "dependent") for term in self.source + self.target)

    @property
    def needs_antecedent(self) -> bool:
        return any(term.kind in ("pronoun", "antecedent") for term in self.source + self.target)


def parse(text: str) -> Claim:
    """Read a claim.

    Raises:
        ClaimError: it is none; the message says what is wrong with it, and what to write.
        ArgumentError: this is no text.

    >>> claim = parse("L2·H0: obj -> head")
    >>> claim.where, claim.source, claim.target
    (Where(layer=2, head=0), (ClaimTerm(kind='relation', value='obj'),), (ClaimTerm(kind='head', value=''),))
    """
    if not isinstance(text, str):
        raise ArgumentError(f"A claim is a text, not {described(text)}.")
    seen = " ".join(_visible(" ".join(text.split())).split())
    written = _CURLY.sub(lambda match: match[0] if match[1] is None else f'"{match[1]}"', seen)
    if not written:
        raise ClaimError('There is no claim yet: write one such as "L2·H0: obj -> head".')
    if len(written) > MOST_CHARACTERS:
        raise ClaimError(f"This claim has {len(written):,} characters, and at most {MOST_CHARACTERS} are read: shorten it.")
    # An arrow, a bar or a colon in quotes or slashes is part of a word.
    bare = re.sub(_QUOTED, lambda match: "\x00" * len(match[0]), written)
    arrows = list(_ARROW.finditer(bare))
    if len(arrows) != 1:
        many = "has no arrow" if not arrows else f"has {len(arrows)} arrows"
        raise ClaimError(f'A claim has one arrow, such as "obj -> head", and this one {many}: write source -> target.')
    (arrow,) = arrows
    begins = _end_of_where(bare[: arrow.start()])
    where = _where(written[:begins].rstrip(" :")) if begins else Where()
    source = _terms(written[begins : arrow.start()], "source")
    target = _terms(written[arrow.end() :], "target")
    return Claim(source, target, where, written)


def _visible(text: str) -> str:
    """Leave out what nobody sees, such as a joiner that was copied along; joiners in quotes belong to some scripts' words."""
    return _INVISIBLE.sub(lambda match: _INVISIBLE_IN_WORDS.sub("", match[0]) if match[0][0] in '"/' else "", text)


def _end_of_where(before: str) -> int:
    """Find where the source begins: after the colon that is followed by a space, or ends what names a head."""
    if match := re.match(r"[^:]*:\s+", before):
        return match.end()
    match = re.match(rf"(?:{_HEAD.pattern}|any)\s*:", before, re.IGNORECASE)
    return match.end() if match else 0


def _where(written: str) -> Where:
    if written.lower() in ("any", "any head"):
        return Where()
    if match := _HEAD.fullmatch(written):
        return Where(int(match[1]), None if match[3] else int(match[2]))
    raise ClaimError(f'"{written}" names no head: write L2·H0, L2·mean for the mean of a layer, or any.')


def _terms(written: str, side: str) -> tuple[ClaimTerm, ...]:
    written = written.strip()
    if not written:
        raise ClaimError(f'The {side} of this claim is missing: write what looks, an arrow, and where, such as "obj -> head".')
    terms, end = [], 0
    while end < len(written):
        match = _TERM.match(written, end)
        if match is None or ((after := written[match.end() :].lstrip()) and not after.startswith("|")):
            raise ClaimError(f'"{written[end:].strip()}" cannot be read: put a bar between terms, such as DET | "the".')
        terms.append(_term(match[0].strip(), side))
        end = len(written) - len(after.removeprefix("|").lstrip())
        if after == "|":
            raise ClaimError(f"A bar stands at the end of the {side}: write another term after it, or take it away.")
    return tuple(terms)


def _term(written: str, side: str) -> ClaimTerm:
    if written[:1] in ('"', "/"):
        return _quoted(written)
    if re.fullmatch(r"[+-]\d+", written):
        return _offset(written, side)
    named = written.lower()
    own, others = (SOURCES, TARGETS) if side == "source" else (TARGETS, SOURCES)
    if named in NAMED or named in own:
        return ClaimTerm("offset", "-1" if named == "previous" else "1") if named in ("previous", "next") else ClaimTerm(named)
    if named in others:
        other = "target" if side == "source" else "source"
        raise ClaimError(f'"{written}" can only be the {other} of a claim, not its {side}: swap the sides.')
    if side == "target" and named.startswith("its "):
        return ClaimTerm("dependent", _relation(written[4:].strip(), side))
    if written in PARTS_OF_SPEECH:
        return ClaimTerm("pos", written)
    return ClaimTerm("relation", _relation(written, side))


def _relation(written: str, side: str) -> str:
    if written.lower().partition(":")[0] in RELATIONS and re.fullmatch(r"[a-zA-Z]+(:[a-zA-Z]+)?", written):
        return written.lower()
    known = [*RELATIONS, *PARTS_OF_SPEECH, *NAMED, *(SOURCES if side == "source" else TARGETS)]
    names, meant = POS_NAMES | RELATION_NAMES, _bare_name(written)
    called = [name for name, grammar in names.items() if _bare_name(grammar) == meant]
    near = called or nearest(written, known) or ["obj", "NOUN", "any"]
    raise ClaimError(
        f'"{written}" is no relation, part of speech or place: write {", ".join(near)}, or a word in "double quotes".'
    )


def _bare_name(grammar: str) -> str:
    """Name a kind of word without its article, one for many.

    >>> _bare_name("an adverb"), _bare_name("Adverbs")
    ('adverb', 'adverb')
    """
    return re.sub(r"^(an?|the) |s$", "", grammar.lower())


def _offset(written: str, side: str) -> ClaimTerm:
    if side == "source":
        raise ClaimError(f'"{written}" is a distance, which only a target can be: write any -> {written}.')
    if not 1 <= abs(int(written)) <= FURTHEST:
        raise ClaimError(f'"{written}" is no distance: write one from -{FURTHEST} to +{FURTHEST} without 0, or self.')
    return ClaimTerm("offset", str(int(written)))


def _quoted(written: str) -> ClaimTerm:
    mark, inside = written[0], written[1:-1]
    if len(written) < 2 or written[-1] != mark:
        kind = "word in quotes" if mark == '"' else "regular expression"
        raise ClaimError(f"The {kind} {written} is not closed: write {mark} at its end, too.")
    if not inside.strip():
        raise ClaimError(f"There is nothing between {mark} and {mark}: write a word, or take the term away.")
    if mark == '"':
        return ClaimTerm("word", inside.replace('\\"', '"').casefold())
    compiled(inside)
    return ClaimTerm("regex", inside)


def compiled(expression: str) -> "regex.Pattern[str]":
    """Compile a regular expression, whose letters may be of either case. No cache keeps it.

    >>> compiled("ing$").search("Painting").span()
    (5, 8)

    Raises:
        ClaimError: it cannot be read, expands to too much, or calls itself.
    """
    # Where (?x) is written spaces are ignored, within a number, too.
    bare = "".join(expression.split())
    repeats = [max(int(count or 1) for count in repeat) for repeat in _REPEAT.findall(bare)]
    if len(bare) * math.prod(max(count, 1) for count in repeats) > MOST_EXPANDED:
        raise ClaimError(
            f"The regular expression /{expression}/ repeats too much: multiplied, its counts and its length may come to "
            f"{MOST_EXPANDED:,}, so write smaller counts, or + and *."
        )
    if _CALL.search(bare):
        raise ClaimError(f"The regular expression /{expression}/ calls a part of itself: write that part out.")
    try:
        return regex.compile(expression, regex.IGNORECASE, cache_pattern=False)
    except (regex.error, RecursionError, OverflowError, ValueError, MemoryError) as error:
        raise ClaimError(
            f"The regular expression /{expression}/ cannot be read ({error}): mend it, or write words in quotes."
        ) from error


# So many seconds of the processor a regular expression gets for one claim, and for one word: a bad one would never end. For the
# last of these no other thread of the server runs.
REGEX_SECONDS, WORD_SECONDS, ALONE_SECONDS = 2.0, 0.2, 0.005
# Terms that name another place for each word.
_RELATIVE = ("offset", "self", "head", "dependent", "same", "after same", "antecedent")
Cells = Bool[np.ndarray, "word unit"]


class Clock:
    """The regular expressions of one claim, what was found with them, and what is left of the time that they may take.

    The time is the processor's: on a server that many use, a simple expression waits long and computes little.
    """

    def __init__(self, seconds: float = REGEX_SECONDS) -> None:
        self.left = seconds
        self._compiled = cache(compiled)
        self._found: dict[tuple[str, str], bool] = {}

    def search(self, expression: str, text: str) -> bool:
        """Look for the expression in a word.

        Raises:
            ClaimError: the time is over.
        """
        if (found := self._found.get((expression, text))) is not None:
            return found
        cancellation_point()
        begun = time.thread_time()
        try:
            found = self._found[expression, text] = self._search(expression, text)
        except (TimeoutError, MemoryError):
            raise ClaimError(
                f"The regular expression /{expression}/ takes longer than {REGEX_SECONDS:g} seconds, or {WORD_SECONDS:g} for a "
                "single word: make it simpler, with fewer stars inside of stars."
            ) from None
        finally:
            self.left -= time.thread_time() - begun
        return found

    def _search(self, expression: str, text: str) -> bool:
        if self.left <= 0:
            raise TimeoutError
        search = self._compiled(expression).search
        # To let other threads run and to wait for one's turn again takes a thousand times as long as most searches.
        with suppress(TimeoutError):
            return search(text, timeout=ALONE_SECONDS, concurrent=False) is not None
        return search(text, timeout=min(self.left, WORD_SECONDS), concurrent=True) is not None


def sources(claim: Claim, sentence: ParsedSentence, n_units: int, clock: Clock) -> Bool[np.ndarray, " unit"]:
    """Mark the units whose attention the claim is about; special tokens stand after the words."""
    matching = np.zeros(n_units, dtype=bool)
    for term in claim.source:
        matching |= _members(term, sentence, n_units, clock)
    return matching


def targets(claim: Claim, sentence: ParsedSentence, n_units: int, clock: Clock) -> Bool[np.ndarray, "unit unit"]:
    """Mark for each unit where the claim says that it looks; itself never, unless the claim says so."""
    cells = np.zeros((n_units, n_units), dtype=bool)
    for term in claim.target:
        if term.kind in _RELATIVE:
            cells |= _cells(term, sentence, n_units)
        else:
            cells |= _members(term, sentence, n_units, clock)[None, :]
    if not any(term.kind == "self" for term in claim.target):
        np.fill_diagonal(cells, False)
    return cells


def _members(term: ClaimTerm, sentence: ParsedSentence, n_units: int, clock: Clock) -> Bool[np.ndarray, " unit"]:
    """Mark the units that are what a term names."""
    words, matching = sentence.words, np.zeros(n_units, dtype=bool)
    if term.kind == "special":
        matching[len(words) :] = True
    elif term.kind == "pronoun":
        matching[[] if sentence.pronoun is None else [sentence.pronoun]] = True
    elif term.kind in ("first", "last"):
        matching[:1] |= bool(words) and term.kind == "first"
        matching[len(words) - 1 : len(words)] |= term.kind == "last"
    elif term.kind == "regex":
        matching[: len(words)] = [clock.search(term.value, word.text) for word in words]
    elif term.kind == "any":
        matching[: len(words)] = True
    elif term.kind == "relation":
        matching[: len(words)] = sentence.related(term.value)
    else:
        matching[: len(words)] = (sentence.parts if term.kind == "pos" else sentence.forms) == term.value
    return matching


def _cells(term: ClaimTerm, sentence: ParsedSentence, n_units: int) -> Cells:
    """Mark where a term says that each unit looks, whose place depends on the unit."""
    n_words = len(sentence.words)
    cells = np.zeros((n_units, n_units), dtype=bool)
    among_words = cells[:n_words, :n_words]
    if term.kind == "self":
        np.fill_diagonal(cells, True)
    elif term.kind == "offset":
        among_words[:] = np.eye(n_words, k=term.offset, dtype=bool)
    elif term.kind in ("same", "after same"):
        forms = sentence.forms
        earlier = np.tri(n_words, k=-1, dtype=bool) & (forms[:, None] == forms[None, :])
        among_words[:] = earlier if term.kind == "same" else np.pad(earlier, ((0, 0), (1, 0)))[:, :n_words]
    elif term.kind == "antecedent":
        if sentence.pronoun is not None and sentence.antecedent is not None:
            cells[sentence.pronoun, sentence.antecedent] = True
    else:
        heads = sentence.heads
        dependents = np.flatnonzero((heads >= 0) & (term.kind == "head" or sentence.related(term.value)))
        looking = (dependents, heads[dependents])
        cells[looking if term.kind == "head" else looking[::-1]] = True
    return cells
