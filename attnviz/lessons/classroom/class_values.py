"""The values of a class: its codes and nicknames, its questions and answers, what is said of them, and the teacher's report."""

import hashlib
import hmac
import html
import re
import secrets
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from statistics import median
from typing import Any, Literal, get_args

from attnviz.analysis.wording import cut, whole_percent
from attnviz.core.errors import ClassError, is_unicode
from attnviz.figures.theme import LIGHT
from attnviz.lessons.question_kinds import AnswerKind, QuestionForm, read_number, same_answer
from attnviz.text.words import visible

# Consonants: hardly a word can be made of them, and none looks like another letter or a digit.
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
LENGTH = 4
# What is an abbreviation of a rude word, or of a cruel group, without its vowels.
_RUDE_CODES = ("CNT", "DCK", "FCK", "FGT", "KCK", "NGR", "NZS", "PRN", "SHT", "TWT", "WTF")


def new_code() -> str:
    """Draw the code of a class: four different letters, one of some 116,000.

    >>> len(set(new_code()))
    4
    """
    while True:
        code = "".join(secrets.SystemRandom().sample(LETTERS, LENGTH))
        if not any(word in code for word in _RUDE_CODES):
            return code


def read_code(typed: str) -> str:
    r"""Read a code as it was typed: small letters, spaces, hyphens and what is invisible do not matter; empty: it is none.

    >>> read_code(" kr-tf\u200b"), read_code("it's")
    ('KRTF', '')
    """
    letters = re.sub(r"[\s-]", "", visible(typed)).upper() if len(typed) <= 40 else ""
    return letters if len(letters) == LENGTH and set(letters) <= set(LETTERS) else ""


def new_token() -> str:
    """Draw a secret of 144 bits that can stand in an address."""
    return secrets.token_urlsafe(18)


def token_hash(token: str) -> str:
    """Hash a secret as the store keeps it: who reads the store cannot act as anybody."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def is_token(token: str, stored_hash: str) -> bool:
    """Compare a secret with a kept hash, in a time that tells nothing."""
    return hmac.compare_digest(token_hash(token), stored_hash)


LONGEST_NICKNAME = 20
# Parts of names that nobody should read on a projector; letters that stand twice are one here, digits are the letters that they
# are written for.
_RUDE_NAMES = (
    "adolf", "arsch", "bastard", "bitch", "cock", "connard", "cunt", "dick", "fag", "fick", "fotze", "fuck", "gestapo",
    "hentai", "hitler", "hure", "kike", "masturb", "merde", "mierda", "milf", "nazi", "niga", "niger", "nute", "orgasm",
    "pedo", "penis", "pimel", "porn", "pusy", "puta", "putain", "rapist", "retard", "salope", "scheise", "schlampe", "sex",
    "shit", "slut", "twat", "vagina", "wank", "whore", "wichs",
)  # fmt: skip
_DIGITS = str.maketrans("013457@$!", "oleastasi")


def read_nickname(typed: str) -> str:
    """Read a nickname as it may be shown; empty: none was typed.

    Raises:
        ClassError: it holds what is no text, or what nobody should read on a projector.

    >>> read_nickname("  Ada   L. ")
    'Ada L.'
    """
    if not is_unicode(typed):
        raise ClassError("A nickname is made of letters: choose another one.")
    visible = "".join(each for each in typed[:200] if each.isspace() or unicodedata.category(each)[0] != "C")
    name = " ".join(visible.split())
    if len(name) > LONGEST_NICKNAME:
        raise ClassError(f"A nickname has at most {LONGEST_NICKNAME} characters: choose a shorter one.")
    letters = unicodedata.normalize("NFKD", name).casefold().translate(_DIGITS)
    bare = re.sub(r"(.)\1+", r"\1", re.sub(r"[^a-z]", "", letters))
    if any(word in bare for word in _RUDE_NAMES):
        raise ClassError("Choose another nickname.")
    return name


# Characters of a written answer, of a question and of one word; words of a text; cells or heads of a grid.
LONGEST_ANSWER, LONGEST_ASK, LONGEST_WORD, MOST_WORDS, MOST_CELLS = 200, 500, 200, 400, 3_200
# What a lesson or a program has written, and no model.
_AS_WRITTEN = ("kind", "lesson", "number", "prose", "text", "link", "cells")
_COVERED = "“…” stands for a word that is not shown here."
# Cells of a picture on the wall, of all heads together.
MOST_PICTURE_CELLS = 60_000


@dataclass(frozen=True)
class WallPicture:
    """A matrix, or every head small, as a wall draws it. Nothing of what is hidden is in its cells.

    caption  names the head
    cells    bytes in base64, a head after the other, row by row: 0 to 255 for weights 0 to 1
    heads    layers, and heads of a layer: (1, 1) is one matrix
    marked   rows that the question is about
    hidden_rows, hidden_columns  what waits for the reveal
    """

    caption: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: str
    heads: tuple[int, int] = (1, 1)
    marked: tuple[int, ...] = ()
    hidden_rows: tuple[int, ...] = ()
    hidden_columns: tuple[int, ...] = ()


@dataclass(frozen=True)
class ClassStep:
    """Where a question stands, and what is said and shown there before its answer.

    lesson   its name in an address, and `number` the question's in it, such as "2.1"; empty: asked about a picture
    place    such as "What is “it”? · step 2 of 5 · question 1 of 2"
    title    of the step, with its prose: as HTML, and as plain `text`
    head     that the question is about, such as "head 1 of layer 3"; empty: about none
    link     of a page that does not show the answer; empty: it waits for the reveal
    reveals  False: nobody is told what is right
    """

    lesson: str = ""
    number: str = ""
    place: str = ""
    title: str = ""
    prose: str = ""
    text: str = ""
    hint: str = ""
    head: str = ""
    link: str = ""
    reveals: bool = True
    picture: WallPicture | None = None


@dataclass(frozen=True)
class ClassQuestion(QuestionForm):
    """All that a phone receives before the reveal; `step`: what the wall shows besides."""

    step: ClassStep = ClassStep()

    def __post_init__(self) -> None:
        lines = self.words, self.other, self.texts, self.choices
        texts = (self.ask, *self.rows, *self.columns, *(text for line in lines for text in line))
        if not all(is_unicode(text) and "\x00" not in text for text in texts) or self.kind not in get_args(AnswerKind):
            raise ClassError("This question cannot be asked: it holds what is no text.")
        if max(map(len, lines)) > MOST_WORDS or len(self.rows) * len(self.columns) > MOST_CELLS:
            raise ClassError("This picture has too many words for a phone: ask about a shorter text.")
        if max(map(len, texts)) > LONGEST_ASK:
            raise ClassError(f"A question for a class has at most {LONGEST_ASK} characters: shorten it.")

    def read_answer(self, given: str) -> str:
        """Read an answer as it is kept.

        Raises:
            ClassError: it is none that this question takes.
        """
        fits = is_unicode(given) and "\x00" not in given and len(given) <= LONGEST_ANSWER + LONGEST_ASK * len(self.choices)
        answer = self.read(given) if fits else ""
        if not answer or (self.kind == "text" and len(answer) > LONGEST_ANSWER):
            raise ClassError("This is no answer to this question.")
        return answer


@dataclass(frozen=True)
class AnswerKey:
    """What stays on the server until the reveal.

    right      every right answer; none: nothing is graded. Of a number, its value
    tolerance  how far a number may be off
    sentence   what is said at the reveal, with its numbers
    if_right, if_wrong  what a lesson says besides to a right and to a wrong answer
    weights    0 to 1, of the picture's words, or of the cells of the grid, row by row: how dark each is drawn; of a next
               word the model's share of each choice
    link       the address of the picture in the app
    picture    what the wall draws now; None: what it drew before
    """

    right: tuple[str, ...] = ()
    tolerance: float | None = None
    sentence: str = ""
    weights: tuple[float, ...] = ()
    link: str = ""
    if_right: str = ""
    if_wrong: str = ""
    picture: WallPicture | None = None

    def accepts(self, answer: str, kind: AnswerKind) -> bool | None:
        """Say whether an answer to a question of that kind is right; None: nobody grades it."""
        if not self.right:
            return None
        if self.tolerance is not None:
            value, true = read_number(answer), float(self.right[0])
            return value is not None and abs(value - true) <= self.tolerance + 1e-6
        # What is tapped is one of several, of which `right` has all that a lesson accepts.
        return answer in self.right or (kind == "text" and any(same_answer(answer, each) for each in self.right))


def covered(question: ClassQuestion, key: AnswerKey, blocked: Collection[str]) -> tuple[ClassQuestion, AnswerKey]:
    """Write “…” in place of every blocked word, whole and in any case, and say so; a second word is “…2”.

    >>> asked = ClassQuestion("token", "Which?", ("Merde", "merdes"), choices=("Merde", "merdes"))
    >>> shown, told = covered(asked, AnswerKey(("Merde",)), ["merde"])
    >>> shown.choices, told.right, shown.ask
    (('…', 'merdes'), ('…',), 'Which? “…” stands for a word that is not shown here.')
    """
    if not blocked:
        return question, key
    # Capitals of a letter may be two letters, as of ß.
    spellings = {spelling for word in blocked for spelling in (word, word.casefold(), word.upper())}
    listed = "|".join(map(re.escape, sorted(spellings, key=len, reverse=True)))
    pattern, stands = re.compile(rf"(?<!\w)(?:{listed})(?!\w)", re.IGNORECASE), {}

    def cover(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(
                lambda word: stands.setdefault(word[0].casefold(), f"…{len(stands) + 1 if stands else ''}"), value
            )
        if isinstance(value, tuple):
            return tuple(map(cover, value))
        if not is_dataclass(value):
            return value
        changed = {each.name: cover(getattr(value, each.name)) for each in fields(value) if each.name not in _AS_WRITTEN}
        return replace(value, **changed)

    asked, told = cover(question), cover(key)
    if asked != question:
        asked = replace(asked, ask=f"{cut(asked.ask, LONGEST_ASK - len(_COVERED) - 1)} {_COVERED}")
    if told != key:
        told = replace(told, sentence=f"{told.sentence} {_COVERED}".strip())
    return asked, told


def to_record(value: ClassQuestion | AnswerKey) -> dict[str, Any]:
    """Write a question or a key as JSON can hold it."""
    return asdict(value)


def from_record(record: dict[str, Any]) -> dict[str, Any]:
    """Read what `to_record` wrote, as the arguments of its class."""
    return {name: _from_json(name, value) for name, value in record.items()}


def _from_json(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return (ClassStep if name == "step" else WallPicture)(**from_record(value))
    return tuple(value) if isinstance(value, list) else value


# waiting: nothing has been asked yet; closed: answered no more, and not revealed.
ClassState = Literal["waiting", "open", "closed", "revealed", "ended"]


@dataclass(frozen=True)
class StartedClass:
    """What the teacher holds.

    invite  stands in the QR code: who has it joins, however many wrong codes were typed in the same network
    secret  opens the class as its teacher, from any machine
    """

    code: str
    invite: str
    secret: str


@dataclass(frozen=True)
class Guess:
    """One answer that was given, how often, and whether it is right (None: nobody grades it)."""

    answer: str
    count: int
    is_right: bool | None


@dataclass(frozen=True)
class ClassOverview:
    """What a projector may show. `results`, the most frequent first, and `key` are there once the question is revealed.

    version   grows with all that the phones have to know
    number    of the question, from 1; 0: nothing has been asked
    here      students whose phone was heard of within the last minute
    joined    students at all
    answered  answers to this question
    """

    code: str
    version: int
    state: ClassState
    nicknames: bool
    number: int = 0
    question: ClassQuestion | None = None
    here: int = 0
    joined: int = 0
    answered: int = 0
    results: tuple[Guess, ...] = ()
    key: AnswerKey | None = None

    def for_phones(self) -> dict[str, Any]:
        """Write what every phone of the class receives. What was written in words stays with the teacher."""
        phones: dict[str, Any] = {"code": self.code, "version": self.version, "state": self.state, "number": self.number}
        phones["nicknames"] = self.nicknames
        if self.question is not None and self.state != "ended":
            record = to_record(self.question)
            # A phone has no room for the picture, and 500 phones receive this.
            record["step"] = {name: record["step"][name] for name in ("place", "title", "text", "head", "reveals")}
            phones["question"] = record
        if self.key is not None and self.state == "revealed":
            is_open = self.question is not None and self.question.kind == "text"
            guesses = [] if is_open else [[each.answer, each.count, each.is_right] for each in self.results]
            truth = to_record(self.key)
            del truth["picture"]
            phones["truth"] = {**truth, "answered": self.answered, "guesses": guesses}
        return phones

    @property
    def picture(self) -> WallPicture | None:
        """What a wall draws beside the question: with what was hidden, once that is revealed."""
        if self.question is None or self.state == "ended":
            return None
        revealed = self.key.picture if self.key is not None and self.state == "revealed" else None
        return revealed or self.question.step.picture


@dataclass(frozen=True)
class ClassRound:
    """One question that was asked. `key` and `results` are there once it is revealed, or the class has ended."""

    number: int
    question: ClassQuestion
    state: ClassState
    answered: int
    results: tuple[Guess, ...] = ()
    key: AnswerKey | None = None


@dataclass(frozen=True)
class ClassStudent:
    """One phone of a class.

    round   the number of the present question, 0: nothing has been asked
    answer  what this student has answered to it; None: nothing
    """

    id: int
    number: int
    nickname: str
    round: int = 0
    answer: str | None = None


def guesses_of(answers: Iterable[tuple[str, bool | None]]) -> tuple[Guess, ...]:
    """Count equal answers, the most frequent first.

    >>> guesses_of([("it", False), ("cat", True), ("cat", True)])[0]
    Guess(answer='cat', count=2, is_right=True)
    """
    counted = Counter(answers)
    return tuple(Guess(answer, count, right) for (answer, right), count in counted.most_common())


def class_sentence(overview: ClassOverview) -> str:
    """Say how the guesses of a class compare with the model; empty: nothing is revealed, or nobody has answered.

    >>> from attnviz.lessons.classroom.class_values import AnswerKey, ClassQuestion
    >>> from attnviz.lessons.classroom.class_values import Guess
    >>> question, key = ClassQuestion("token", "Which?", ("it", "cat")), AnswerKey(("cat",), sentence="…", weights=(0.3, 0.57))
    >>> guesses = Guess("cat", 2, True), Guess("it", 1, False)
    >>> common = {"code": "KRTF", "version": 2, "state": "revealed", "nicknames": False}
    >>> class_sentence(ClassOverview(**common, question=question, answered=3, results=guesses, key=key))
    '2 of 3 chose “cat”, and so does the head: 57\\xa0%. …'
    """
    question, key, results = overview.question, overview.key, overview.results
    if question is None or key is None:
        return ""
    if not results:
        return key.sentence
    if question.kind == "number" and key.tolerance is not None:
        values = [value for each in results for value in [read_number(each.answer)] * each.count if value is not None]
        near = sum(each.count for each in results if each.is_right)
        guessed = f"Half of the class guessed {whole_percent(median(values))} or less"
        return f"{guessed}; {near} of {len(values)} came near. {key.sentence}"
    first = results[0]
    chosen = f"{first.count} of {overview.answered}"
    if question.kind == "text" or first.is_right is None:
        return key.sentence
    right = sum(each.count for each in results if each.is_right)
    if question.kind not in ("token", "cell", "head"):
        return f"{right} of {overview.answered} are right. {key.sentence}".strip()
    if first.is_right:
        same = {"token": "so does the head", "cell": "it is the strongest", "head": "this head does it"}[question.kind]
        places = question.words if question.kind == "token" else question.answers
        weight = dict(zip(places, key.weights, strict=False)).get(first.answer)
        number = "" if weight is None else f": {whole_percent(weight)}"
        return f"{chosen} chose “{first.answer}”, and {same}{number}. {key.sentence}".strip()
    found = f"“{key.right[0]}”" if len(key.right) == 1 else f"one of {len(key.right)} that are right"
    return f"{chosen} chose “{first.answer}”; {right} found {found}. {key.sentence}".strip()


def class_comment(overview: ClassOverview) -> str:
    """Say what the lesson says to a right answer where most of the class were right, else what it says to a wrong one."""
    if overview.key is None or overview.state != "revealed":
        return ""
    right = sum(each.count for each in overview.results if each.is_right)
    return overview.key.if_right if 2 * right > overview.answered else overview.key.if_wrong


_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = f"""
:root {{ font: 16px/1.5 "Source Sans 3", system-ui, sans-serif; color: {LIGHT.text}; background: {LIGHT.background}; }}
body {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }}
section {{ break-inside: avoid; margin: 2rem 0; border-top: 1px solid {LIGHT.border}; }}
.word {{ display: inline-block; padding: .2em .5em; margin: .15em; border-radius: .3em; text-align: center; }}
.word small {{ display: block; }}
table {{ border-collapse: collapse; width: 100%; }} td {{ padding: .2em .8em .2em 0; vertical-align: middle; }}
td:last-child {{ width: 40%; }} i {{ display: block; height: .8em; border-radius: .2em; background: #b85c00; }}
"""


def class_report(code: str, rounds: Sequence[ClassRound]) -> bytes:
    """Write the questions of a class as one HTML file that fetches nothing; what is not revealed has no answers in it."""
    title = f"Class {html.escape(code)}"
    lines = [
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>',
        *(part for each in rounds for part in _round(each)),
        "</body>\n</html>\n",
    ]
    return "\n".join(lines).encode("utf-8")


def _round(class_round: ClassRound) -> Iterator[str]:
    question, key = class_round.question, class_round.key
    yield f'<section>\n<h2 dir="auto">{class_round.number}. {html.escape(question.ask)}</h2>'
    if key is None:
        yield f"<p>{class_round.answered} answered; not revealed.</p>\n</section>"
        return
    if len(key.weights) == len(question.words):
        yield f"<p>{''.join(map(_word, question.words, key.weights))}</p>"
    right = f"Right: {', '.join(key.right[:5])}. " if key.right and key.tolerance is None else ""
    yield f'<p dir="auto">{html.escape(right + key.sentence)}</p>\n<table>'
    for guess in class_round.results:
        mark = {True: "right", False: "wrong", None: ""}[guess.is_right]
        bar = f'<i style="width:{100 * guess.count / class_round.answered:.0f}%"></i>'
        yield f'<tr><td dir="auto">{html.escape(guess.answer)}</td><td>{guess.count}</td><td>{mark}</td><td>{bar}</td></tr>'
    yield "</table>\n</section>"


def _word(name: str, weight: float) -> str:
    place = min(int(weight * len(LIGHT.scale)), len(LIGHT.scale) - 1)
    colour = "#fff" if place > len(LIGHT.scale) / 2 else "#000"
    shown = html.escape(name)
    return (
        f'<span class="word" style="background:{LIGHT.scale[place]};color:{colour}"><bdi>{shown}</bdi>'
        f"<small>{whole_percent(weight)}</small></span>"
    )
