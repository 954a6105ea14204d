"""Small tasks whose right alignment is known exactly: sources, targets, and which source token each target token comes from.

Some links are sure and others only possible (Och & Ney 2003, section 3): of two equal digits either may be the one that is
written first, and any letter of a month's name may tell which month it is. A target token that comes from nowhere, such as the
dash of a date, has no link at all.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from attnviz.core.errors import PromptError

MARKS = ("<pad>", "<s>", "</s>", "<unk>")
# A longer text is beyond what a small model was trained on by so much that nothing can be learned from it.
MOST_TOKENS = 32
_NONE: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Solved:
    """A source, its target, and where each target token comes from: positions of the source, sure ones and possible ones.

    Every sure link is possible too.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: tuple[frozenset[int], ...]
    possible: tuple[frozenset[int], ...]


@dataclass(frozen=True)
class Toy:
    """A task: `draw` makes a random source text, `solve` computes its target and links.

    inputs, outputs  the vocabularies; `words`: the source is read word by word, else character by character
    reads            what may be typed, in words
    """

    name: str
    label: str
    about: str
    example: str
    reads: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    draw: Callable[[random.Random], str]
    _solve: Callable[[tuple[str, ...]], Solved]
    words: bool = False

    @cached_property
    def source(self) -> Tokenizer:
        """Reads a source text, one token a character or a word."""
        return _tokenizer(self.inputs, words=self.words)

    @cached_property
    def target(self) -> Tokenizer:
        """Reads and writes a target text, one token a character."""
        return _tokenizer(self.outputs)

    def read(self, text: str) -> tuple[str, ...]:
        """Split a source text into its tokens.

        Raises:
            PromptError: there are none, too many, or one that this task does not know.
        """
        encoding = self.source.encode(text)
        if not encoding.ids:
            raise PromptError(f"There is nothing to read yet: type {self.reads}.")
        if len(encoding.ids) > MOST_TOKENS:
            raise PromptError(f"This text has {len(encoding.ids)} tokens, and at most {MOST_TOKENS} are read: type less.")
        for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True):
            if token not in self.inputs:
                raise PromptError(f"This model has never seen “{text[start:end]}”: type {self.reads}.")
        return tuple(encoding.tokens)

    def solve(self, text: str) -> Solved:
        """Solve the task for a source text.

        Raises:
            PromptError: the text is no source of this task.

        >>> TOYS["reverse"].solve("abc").target
        ('c', 'b', 'a')
        """
        return self._solve(self.read(text))


def _tokenizer(vocabulary: tuple[str, ...], *, words: bool = False) -> Tokenizer:
    """Make a tokenizer of characters, or words; white space between letters is not read unless the vocabulary has it."""
    names = {name: index for index, name in enumerate((*MARKS, *vocabulary))}
    tokenizer = Tokenizer(models.WordLevel(names, unk_token=MARKS[3]))
    tokenizer.normalizer = normalizers.Lowercase()
    characters = pre_tokenizers.Split(Regex("."), "isolated")
    if words:
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s-]+"), "removed")
    elif " " in vocabulary:
        tokenizer.pre_tokenizer = characters
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), characters])
    tokenizer.decoder = decoders.Fuse()
    return tokenizer


def _placed(source: tuple[str, ...], order: list[int]) -> Solved:
    """Put the source in another order: every target token comes from one position."""
    links = tuple(frozenset({index}) for index in order)
    return Solved(source, tuple(source[index] for index in order), links, links)


def _copy(source: tuple[str, ...]) -> Solved:
    return _placed(source, list(range(len(source))))


def _reverse(source: tuple[str, ...]) -> Solved:
    return _placed(source, list(range(len(source)))[::-1])


def _sort(source: tuple[str, ...]) -> Solved:
    target = tuple(sorted(source))
    places = {digit: frozenset(index for index, each in enumerate(source) if each == digit) for digit in target}
    possible = tuple(places[digit] for digit in target)
    return Solved(source, target, tuple(links if len(links) == 1 else _NONE for links in possible), possible)


LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
DIGITS = tuple("0123456789")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DAY_FIRST = re.compile(rf"(?P<day>\d\d?) (?P<month>{'|'.join(MONTHS)}) (?P<year>\d{{4}})")
_MONTH_FIRST = re.compile(rf"(?P<month>{'|'.join(MONTHS)}) (?P<day>\d\d?), (?P<year>\d{{4}})")


def _draw_of(alphabet: tuple[str, ...]) -> Callable[[random.Random], str]:
    return lambda generator: "".join(generator.choices(alphabet, k=generator.randint(3, 8)))


def _draw_date(generator: random.Random) -> str:
    day, month, year = generator.randint(1, 31), generator.choice(MONTHS), generator.randint(1800, 2199)
    return f"{day} {month} {year}" if generator.random() < 0.5 else f"{month} {day}, {year}"


def _date(source: tuple[str, ...]) -> Solved:
    text = "".join(source)
    date = _DAY_FIRST.fullmatch(text) or _MONTH_FIRST.fullmatch(text)
    if not date:
        raise PromptError("This is no date as the model has seen them: type one such as 3 march 2019, or march 3, 2019.")
    day = f"{int(date['day']):02d}"
    target = f"{date['year']}-{MONTHS.index(date['month']) + 1:02d}-{day}"
    years = [frozenset({index}) for index in range(date.start("year"), date.end("year"))]
    month = frozenset(range(date.start("month"), date.end("month")))
    last = frozenset({date.end("day") - 1})
    # The 0 of a day that is typed as one digit comes from its being one: from the digit, if from anywhere.
    first = frozenset({date.start("day")})
    sure = (*years, _NONE, _NONE, _NONE, _NONE, first if first != last else _NONE, last)
    return Solved(source, tuple(target), sure, (*years, _NONE, month, month, _NONE, first, last))


_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = (*_UNITS[1:], *_TENS, "hundred", "thousand")


def spelt(number: int) -> str:
    """Spell a number from 1 to 9,999 in words.

    >>> spelt(4207), spelt(42)
    ('four thousand two hundred seven', 'forty two')
    """
    words = []
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            words += [_UNITS[number // size], name]
            number %= size
    if number >= 20:
        words.append(_TENS[number // 10 - 2])
        number %= 10
    return " ".join([*words, *([_UNITS[number]] if number else [])])


@cache
def _spelt_numbers() -> dict[tuple[str, ...], int]:
    return {tuple(spelt(number).split()): number for number in range(1, 10_000)}


def _draw_number(generator: random.Random) -> str:
    # Every length as often: of all numbers below 10,000 nine in ten have four digits.
    return spelt(generator.randrange(10 ** (digits := generator.randint(0, 3)), 10 ** (digits + 1)))


def _number(source: tuple[str, ...]) -> Solved:
    if (number := _spelt_numbers().get(source)) is None:
        raise PromptError("This is no number as the model has seen them: type one such as four thousand two hundred seven.")
    digits = str(number)
    sure, possible = [_NONE] * len(digits), [_NONE] * len(digits)
    for name, place in (("thousand", 3), ("hundred", 2)):
        if name in source:
            at = source.index(name)
            sure[-1 - place], possible[-1 - place] = frozenset({at - 1}), frozenset({at - 1, at})
    for at, word in enumerate(source):
        following = source[at + 1] if at + 1 < len(source) else ""
        if word in _TENS or (word in _UNITS[10:]):
            sure[-2] = possible[-2] = frozenset({at})
            # The last digit of "twelve" is in the word; that of "forty" is 0 because no other word follows.
            possible[-1] = frozenset({at})
            sure[-1] = frozenset({at}) if word in _UNITS else _NONE
        elif word in _UNITS and following not in ("hundred", "thousand"):
            sure[-1] = possible[-1] = frozenset({at})
    return Solved(source, tuple(digits), tuple(sure), tuple(possible))


_LETTERS_TYPED, _DIGITS_TYPED = "letters from a to z, such as hello", "digits, such as 31415"
TOYS = {
    toy.name: toy
    for toy in (
        Toy("reverse", "Reverse", "writes letters backwards", "network", _LETTERS_TYPED, LETTERS, LETTERS, _draw_of(LETTERS),
            _reverse),
        Toy("copy", "Copy", "writes letters once more", "network", _LETTERS_TYPED, LETTERS, LETTERS, _draw_of(LETTERS), _copy),
        Toy("sort", "Sort digits", "writes digits in order", "31415926", _DIGITS_TYPED, DIGITS, DIGITS, _draw_of(DIGITS),
            _sort),
        Toy("dates", "Dates", "rewrites dates as year-month-day", "3 march 2019", "a date, such as 3 march 2019",
            (*LETTERS, *DIGITS, " ", ","), (*DIGITS, "-"), _draw_date, _date),
        Toy("numbers", "Number words", "writes number words as digits", "four thousand two hundred seven",
            "a number in words, such as forty two", _NUMBERS, DIGITS, _draw_number, _number, words=True),
    )
}  # fmt: skip
