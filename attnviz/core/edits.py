"""Several edits together, which travel with a prompt: a value that can be compared, hashed and written as a short text.

An edit acts on the weights of one head, or on one column of them, where the model computes them, after its softmax.

When several meet in one head: first its rows are replaced (`HeadSet`, `HeadPatched`), then links are cut and words hidden, then
weights are set.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any, Literal, get_args
from urllib.parse import quote, unquote

from attnviz.core.errors import EditError, described, is_unicode, shortened
from attnviz.core.weights import KINDS, Kind, layers_of_heads

HeadValue = Literal["zero", "mean", "uniform"]
HEAD_VALUES: tuple[HeadValue, ...] = get_args(HeadValue)
LARGEST_NUMBER = 99_999


@dataclass(frozen=True)
class HeadSet:
    """Set all of a head's output to something that says nothing about this text.

    zero     the head adds nothing: the same as its columns of W_O at zero; its weights are shown as 0
    mean     every row is the mean of the rows of this text, so that the output is the mean of the head's outputs over its
             tokens (mean ablation). Padding is not counted; where attention is causal, and in a decoder that writes, the
             mean is that of the row and those before it; a key that a row may not see gets nothing
    uniform  every row gives the same weight to each key that it may see
    """

    kind: Kind
    layer: int
    head: int
    to: HeadValue = "zero"


@dataclass(frozen=True)
class HeadPatched:
    """Take a head's rows over from the same model reading another text of the same length.

    A decoder that writes takes over row after row, as long as the other text's output has one.
    """

    kind: Kind
    layer: int
    head: int
    text: str


@dataclass(frozen=True)
class LinkCut:
    """Let a query look at all but one key: as if -inf were added to that score before the softmax."""

    kind: Kind
    layer: int
    head: int
    query: int
    key: int


@dataclass(frozen=True)
class WordHidden:
    """Let nobody look at a key: every head of a layer, or of all layers where `layer` is None, has the link to it cut."""

    kind: Kind
    key: int
    layer: int | None = None


@dataclass(frozen=True)
class WeightSet:
    """Set one weight, 0 to 1; the rest of its row keeps its proportions and shares what is left."""

    kind: Kind
    layer: int
    head: int
    query: int
    key: int
    weight: float


Edit = HeadSet | HeadPatched | LinkCut | WordHidden | WeightSet
EDITS: tuple[type[Edit], ...] = get_args(Edit)


def check(edit: Edit) -> None:
    """Check that an edit can be, of some model over some text.

    Raises:
        EditError: it cannot; the message says why.
    """
    if not isinstance(edit, EDITS):
        raise EditError(f"An edit is one of {', '.join(kind.__name__ for kind in EDITS)}, not {described(edit)}.")
    if edit.kind not in KINDS:
        raise EditError(f"The attention that is edited is of kind {', '.join(KINDS)}, not {described(edit.kind)}.")
    for name in ("layer", "head", "query", "key"):
        value = getattr(edit, name, 0)
        if value is None and isinstance(edit, WordHidden):
            continue
        if type(value) is not int or not 0 <= value <= LARGEST_NUMBER:
            raise EditError(f"The {name} of an edit is a whole number from 0 on, not {described(value)}.")
    if isinstance(edit, HeadSet) and edit.to not in HEAD_VALUES:
        raise EditError(f"A head is set to {', '.join(HEAD_VALUES)}, not to {described(edit.to)}.")
    if isinstance(edit, HeadPatched) and not (is_unicode(edit.text) and edit.text.strip() and "\x00" not in edit.text):
        raise EditError(f"A head is patched from a text that can be read, not from {described(edit.text)}.")
    if isinstance(edit, WeightSet):
        weight = edit.weight
        if type(weight) not in (int, float) or not (math.isfinite(weight) and 0 <= weight <= 1):
            raise EditError(f"A weight is a number from 0 to 1, not {described(weight)}.")
        object.__setattr__(edit, "weight", abs(float(weight)))  # 1 is 1.0, and -0.0 is 0.0: they are written alike


# More than the heads of any model of the hub's usual sizes; and what an address can carry beside a text.
MOST, LONGEST = 1024, 8000
_LETTER: dict[Kind, str] = {"encoder": "e", "decoder": "d", "cross": "c"}
_VALUE: dict[HeadValue, str] = {"zero": "z", "mean": "m", "uniform": "u"}
_KIND: dict[str, Kind] = {letter: kind for kind, letter in _LETTER.items()}
_READERS: dict[str, Callable[[str], Any]] = {
    "to": {letter: value for value, letter in _VALUE.items()}.__getitem__,
    "text": lambda quoted: unquote(quoted, errors="strict"),
    "weight": float,
}
_NUMBER = r"(\d{1,5})"
_HEAD = rf"([edc]){_NUMBER}\.{_NUMBER}"


@dataclass(frozen=True)
class Edits:
    """Some edits, in one order whatever order they were given in: equal ones are equal, and can be hashed and written.

    Raises:
        EditError: one of them cannot be, two contradict each other, or there are more than an address can carry.

    >>> Edits((HeadSet("encoder", 3, 1), LinkCut("encoder", 0, 2, query=4, key=7))).text
    'e3.1z,e0.2c4.7'
    >>> Edits.parse("e0.2c4.7,e3.1z") == Edits.parse("e3.1z,e0.2c4.7")
    True
    """

    each: tuple[Edit, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.each, tuple | list):
            raise EditError(
                f"Edits are a tuple of edits, and Edits.parse reads a text such as e3.1z; not {described(self.each)}."
            )
        if len(self.each) > MOST:
            raise EditError(f"There are {len(self.each):,} edits, and at most {MOST:,} go together: make fewer.")
        for edit in self.each:
            check(edit)
        object.__setattr__(self, "each", tuple(sorted(dict.fromkeys(self.each), key=_order)))
        _check_together(self.each)
        if len(self.text) > LONGEST:
            raise EditError(f"These edits are longer than an address can carry ({LONGEST:,} characters): make fewer.")

    def __bool__(self) -> bool:
        return bool(self.each)

    def __or__(self, others: "Edits") -> "Edits":
        return Edits((*self.each, *others.each))

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """The edits as a short text of plain characters, which `parse` reads: "" for none."""
        return ",".join(map(_written, self.each))

    @property
    def texts(self) -> tuple[str, ...]:
        """The other texts that heads are patched from."""
        return tuple(dict.fromkeys(edit.text for edit in self.each if isinstance(edit, HeadPatched)))

    @property
    def by_position(self) -> bool:
        """Whether an edit names a query or a key by its place, so that it means something in one text only."""
        return any(not isinstance(edit, HeadSet) for edit in self.each)

    @staticmethod
    def parse(text: str) -> "Edits":
        """Read what `text` writes.

        e, d or c is the kind of attention (encoder, decoder, cross); then come layer.head and what is done:
        z, m, u (set to zero, mean, uniform), c4.7 (cut the link of query 4 to key 7), w4.7-0.25 (set its weight),
        p and a percent-encoded text (patched from it). e3k7 hides key 7 in layer 3, ek7 in all layers. Between two edits
        stands a comma, or a semicolon where a page's address says that both were made at once.

        Raises:
            EditError: it is no such text, or its edits cannot be.
        """
        if not isinstance(text, str):
            raise EditError(f"Edits are written as a str, such as e3.1z, not as {described(text)}.")
        if len(text) > LONGEST:
            raise EditError(f"These edits are longer than an address can carry ({LONGEST:,} characters): make fewer.")
        return Edits(tuple(_read(part) for part in re.split("[,;]", text))) if text else Edits()

    @staticmethod
    def of(given: object) -> "Edits":
        """Read edits given as `Edits`, as text, or one by one: what `trace` of every model takes.

        Raises:
            EditError: it is none of these.

        >>> Edits.of("e3.1z") == Edits.of(HeadSet("encoder", 3, 1)) == Edits.of([HeadSet("encoder", 3, 1)])
        True
        """
        if isinstance(given, Edits):
            return given
        if given is None or isinstance(given, str):
            return Edits.parse(given or "")
        if isinstance(given, EDITS):
            return Edits((given,))
        if not isinstance(given, Iterable):
            raise EditError(f"Edits are a str such as e3.1z, an Edits, or a list of edits, not {described(given)}.")
        return Edits(tuple(given))

    def check_heads(self, sizes: Mapping[Kind, tuple[int, int]], name: str) -> None:
        """Check that the model of that name, with so many layers and heads of each kind, has what is edited.

        Raises:
            EditError: it has not; the message says what it has.
        """
        for edit in self.each:
            if edit.kind not in sizes:
                raise EditError(f"{name} has no {edit.kind} attention to edit; it has {', '.join(sizes)}.")
            layers, heads = sizes[edit.kind]
            head = getattr(edit, "head", 0)
            if (edit.layer or 0) >= layers or head >= heads:
                place = f"L{edit.layer}·H{head}" if hasattr(edit, "head") else f"L{edit.layer}"
                raise EditError(
                    f"{name} has {layers_of_heads(layers, heads)} in its {edit.kind} attention, each counted from 0, and there "
                    f"is no {place}: edit one that there is."
                )

    def check_tokens(self, sizes: Mapping[Kind, tuple[int, int]]) -> None:
        """Check that there are the queries and keys that are edited, of so many of each kind; others are not checked.

        Raises:
            EditError: there are not; the message says how many there are.
        """
        for edit in self.each:
            for axis, size in zip(("query", "key"), sizes.get(edit.kind, ()), strict=False):
                if getattr(edit, axis, 0) >= size:
                    raise EditError(
                        f"There is no {axis} {getattr(edit, axis)} in the {edit.kind} attention over this text: it has {size}, "
                        "counted from 0."
                    )

    def after(self, prefix: str) -> "Edits":
        """Write a task prefix in front of the texts that heads are patched from, as the model reads it in front of its own."""
        return Edits(
            tuple(
                HeadPatched(edit.kind, edit.layer, edit.head, prefix + edit.text) if isinstance(edit, HeadPatched) else edit
                for edit in self.each
            )
        )


def _order(edit: Edit) -> tuple:
    values = ((-1 if value is None else value) for value in astuple(edit))
    return (EDITS.index(type(edit)), *values)


def _check_together(edits: tuple[Edit, ...]) -> None:
    heads = Counter((edit.kind, edit.layer, edit.head) for edit in edits if isinstance(edit, HeadSet | HeadPatched))
    if twice := next((head for head, count in heads.items() if count > 1), None):
        raise EditError(f"L{twice[1]}·H{twice[2]} is set to two things at once: choose one of them.")
    rows: dict[tuple, dict[int, float]] = {}
    for edit in edits:
        if isinstance(edit, WeightSet):
            row = rows.setdefault((edit.kind, edit.layer, edit.head, edit.query), {})
            if edit.key in row:
                raise EditError(f"One weight of L{edit.layer}·H{edit.head} is set to two numbers at once: choose one of them.")
            row[edit.key] = edit.weight
    for (_, layer, head, query), row in rows.items():
        if (total := sum(row.values())) > 1 + 1e-6:
            raise EditError(f"The weights set in row {query} of L{layer}·H{head} sum to {total:.2f}: a row has 1 to give.")


def _written(edit: Edit) -> str:
    if isinstance(edit, WordHidden):
        return f"{_LETTER[edit.kind]}{'' if edit.layer is None else edit.layer}k{edit.key}"
    head = f"{_LETTER[edit.kind]}{edit.layer}.{edit.head}"
    if isinstance(edit, HeadSet):
        return head + _VALUE[edit.to]
    if isinstance(edit, HeadPatched):
        return f"{head}p{quote(edit.text, safe='')}"
    link = f"{edit.query}.{edit.key}"
    return f"{head}c{link}" if isinstance(edit, LinkCut) else f"{head}w{link}-{edit.weight!r}"


# One pattern a type of edit; what it captures are the fields of that type, in their order.
_PATTERNS: dict[type[Edit], re.Pattern[str]] = {
    HeadSet: re.compile(rf"{_HEAD}([zmu])", re.ASCII),
    HeadPatched: re.compile(rf"{_HEAD}p(.+)", re.ASCII),
    LinkCut: re.compile(rf"{_HEAD}c{_NUMBER}\.{_NUMBER}", re.ASCII),
    WordHidden: re.compile(rf"([edc]){_NUMBER}?k{_NUMBER}", re.ASCII),
    WeightSet: re.compile(rf"{_HEAD}w{_NUMBER}\.{_NUMBER}-(\d[\d.e-]*)", re.ASCII),
}


def _read(part: str) -> Edit:
    for kind, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(part):
            letter, *rest = match.groups()
            if kind is WordHidden:
                layer, key = rest
                return WordHidden(_KIND[letter], int(key), None if layer is None else int(layer))
            named = zip((each.name for each in fields(kind)[1:]), rest, strict=True)
            try:
                given: dict[str, Any] = {name: _READERS.get(name, int)(value) for name, value in named}
            except ValueError:
                break
            return kind(_KIND[letter], **given)
    raise EditError(f"{shortened(part)} is no edit: write one as e3.1z (a head off) or e3.1c4.7 (a link cut).")


NO_EDITS = Edits()

__all__ = [
    "LONGEST", "MOST", "NO_EDITS", "Edit", "Edits", "HeadPatched", "HeadSet", "HeadValue", "LinkCut", "WeightSet", "WordHidden",
]  # fmt: skip
