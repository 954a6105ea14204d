"""The kinds of questions: how each is answered, and its right answer, computed from the model that the step's picture shows.

A new kind is its line in `KINDS`, with a function of its right answer and one of its form. An answer is a text, as a student
gives it and a hand-in holds it.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.head_view import HeadMatrix, word_at, word_names
from attnviz.analysis.wording import MOSTLY, head_name, isolated, percent, whole_percent
from attnviz.core.errors import LessonError, nearest
from attnviz.core.trace import AttentionMap, Shares, Token
from attnviz.core.weights import DerivedWeights, LayerWeights, Weights
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep
from attnviz.lessons.picture_link import STEERED, TASKS, Answers, LessonPicture
from attnviz.models.result import Result
from attnviz.text.words import visible

if TYPE_CHECKING:
    from attnviz.analysis.heads.verdict import ClaimResult


def same_answer(one: str, other: str) -> bool:
    """Say whether two answers are the same but for case, spaces, what is invisible, and a full stop or quotes around them.

    >>> same_answer("l’eau", "L'eau."), same_answer("Groß", "GROSS"), same_answer("« chat »", "„chat“")
    (True, True, True)
    """
    return plain(one) == plain(other)


def plain(text: str) -> str:
    """Write an answer as it is compared; one that is nothing but a mark stays. Phones write an apostrophe as ’."""
    composed = unicodedata.normalize("NFC", text).replace("’", "'")
    words = visible(" ".join(composed.casefold().split()))
    return words.strip(" .!\"'“”„‟‘‚‛«»‹›「」『』") or words


def read_number(written: str) -> float | None:
    """Read a share as a student types it; None where it is no number.

    >>> read_number("57 %"), read_number(",57"), read_number("0.57"), read_number("half")
    (0.57, 0.57, 0.57, None)
    """
    match = re.fullmatch(r"\s*([0-9]{0,6}[.,]?[0-9]{1,9})\s*(%?)\s*", written)
    return float(match[1].replace(",", ".")) / (100 if match[2] else 1) if match else None


def as_sentence(text: str) -> str:
    """End a text with a full stop, unless it has an end of its own, within quotes or without.

    >>> as_sentence("The answer is red"), as_sentence("It says “Why?”")
    ('The answer is red.', 'It says “Why?”')
    """
    return text if text.rstrip("”\"'»").endswith((".", "!", "?", "…", "。")) else f"{text}."


# Two weights nearer than this look alike on the screen: which is larger cannot be taught.
LEAST_MARGIN = 0.03


def clear_first(weights: Sequence[float] | Float[np.ndarray, " _"], names: Sequence[str]) -> int:
    """Find the largest weight, which has to stand clear of the next."""
    first, *others = (int(at) for at in np.argsort(weights)[::-1])
    if others and weights[first] - weights[others[0]] < LEAST_MARGIN:
        one, other = (f"“{isolated(names[at])}” ({whole_percent(float(weights[at]))})" for at in (first, others[0]))
        raise LessonError(f"{one} and {other} are too near to each other to be taught: ask about another word or head.")
    return first


def words_only(weights: np.ndarray, tokens: Sequence[Token], axis: int) -> np.ndarray:
    """Leave out special tokens, unless there is nothing else: a question asks about words."""
    special = np.array([token.special for token in tokens])
    if special.all():
        return weights
    return np.where(special if axis else special[:, None], -np.inf, weights)


def words_with_percents(names: Iterable[str], weights: Iterable[float]) -> str:
    return ", ".join(f"“{isolated(name)}” {percent(weight)}" for name, weight in zip(names, weights, strict=True))


@runtime_checkable
class AnswerSource(Protocol):
    """What a right answer is computed from: results of models, which the app keeps and a shell computes."""

    def result(self, picture: LessonPicture) -> Result:
        """Run the picture's model on its text, with its edits."""
        ...

    def verdict(self, model: str, claim: str) -> "ClaimResult":
        """Test a claim about heads over the corpus."""
        ...

    def shares(self, picture: LessonPicture, method: str) -> Shares:
        """Compute by one attribution method what each token was worth to the output."""
        ...


@dataclass(frozen=True)
class Truth:
    """The right answer to a question.

    answer     as a student would write it, the best where several are right; empty: nothing is graded
    sentence   what is said when it is revealed, made of numbers
    accepts    whether an answer is right
    weights    of the words of the question's form, or of the cells of its grid, row by row, or of its choices
    value      the share that is asked for, and how far an answer may be off it
    """

    answer: str
    sentence: str
    accepts: Callable[[str], bool]
    weights: Float[np.ndarray, " _"] | tuple[float, ...] = ()
    value: float | None = None
    tolerance: float | None = None

    @property
    def in_words(self) -> str:
        """The answer as it is said: a share in percent, as it is given."""
        return self.answer if self.value is None else whole_percent(self.value)


TOLERANCE = 0.1
LEAST_SAID = 0.005
ARROW = "→"
# What an answerer says that finds none in the passage.
NO_ANSWER = "no answer"

# How a question is answered: choose a word, a cell or a head, give a share, choose one of several, put some in order, write.
AnswerKind = Literal["token", "cell", "head", "number", "choice", "order", "text"]


@dataclass(frozen=True)
class QuestionForm:
    """What is asked, what is read meanwhile and how it is answered, wherever a question stands. No weight is in it.

    words    of the picture, by names that each stand once, such as "the(2)"
    marked   places of the words that the question is about
    choices  answers to choose from; of kind token those of the words that can be chosen, of kind order what is put in order
    rows     of a grid of cells or heads, with its columns: an answer is "row → column" there, or "L3·H1"
    other    words of the other text of a picture between two, with `other_marked`
    texts    what the model reads, where its words are no answer
    """

    kind: AnswerKind
    ask: str
    words: tuple[str, ...] = ()
    marked: tuple[int, ...] = ()
    choices: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    other_marked: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def answers(self) -> tuple[str, ...]:
        """Every answer that can be chosen; none where it is put together or typed."""
        between = "·" if self.kind == "head" else f" {ARROW} "
        if self.kind in ("cell", "head"):
            return tuple(f"{row}{between}{column}" for row in self.rows for column in self.columns)
        return self.choices if self.kind in ("token", "choice") else ()

    def read(self, given: str) -> str:
        """Read an answer as it is compared with those of others; empty: it is none that this question takes."""
        answer = " ".join(given.split())
        if self.kind == "number":
            value = read_number(answer)
            return f"{value:g}" if value is not None and value <= 1 else ""
        if self.kind == "order":
            return answer if sorted(answer.split(" > ")) == sorted(" ".join(each.split()) for each in self.choices) else ""
        return answer if self.kind == "text" else next((each for each in (given, answer) if each in self.answers), "")


# What shows the right answer: a row of one head, or of every head, a whole head, what the model says, or finds likely next, a
# corpus; empty: nothing on the page.
About = Literal["row", "heads", "matrix", "output", "next", "corpus", ""]


@dataclass(frozen=True)
class QuestionKind:
    """One kind of question, as every host reads it.

    truth    computes its right answer
    form     makes what it is answered with
    about    what shows the answer: a picture waits, or hides that of it, until the question is answered
    required, optional  fields that a question must have, and those that it may have; of `either` it has exactly one
    lines    to write an answer on, on paper, where nothing is chosen
    """

    truth: Callable[[LessonQuestion, LessonPicture | None, AnswerSource], Truth]
    form: Callable[[LessonQuestion, LessonPicture | None, AnswerSource], QuestionForm]
    about: About
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    either: tuple[str, ...] = ()
    lines: int = 1
    is_graded: bool = True


# What any question may say besides what its kind needs.
COMMON = ("hint", "right", "wrong", "points")


def truth_of(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Compute the right answer to a question of a step that shows `picture`.

    Raises:
        LessonError: the question lacks what its kind needs, or its right answer is too near to a wrong one to be taught.
        AttnvizError: the model cannot be loaded, or cannot read the text.
    """
    check_fields(question)
    return KINDS[question.kind].truth(question, picture, source)


def question_form(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> QuestionForm:
    """Make what a question is answered with.

    Raises:
        AttnvizError: the model cannot be loaded, cannot read the text, or there is no such word in it.
    """
    return KINDS[question.kind].form(question, picture, source)


def about(question: LessonQuestion) -> About:
    """Say what shows the right answer to a question."""
    return KINDS[question.kind].about


def is_hidden(lesson: Lesson, step: int, answers: Answers) -> bool:
    """Say whether the picture of a step, from 1, has to wait: it shows the answer to a question that is still open."""
    questions = enumerate(lesson.steps[step - 1].questions, 1)
    return any(about(each) and f"{step}.{place}" not in answers for place, each in questions)


def check_fields(question: LessonQuestion) -> None:
    """Check what can be checked without a model.

    Raises:
        LessonError: the kind is unknown, or a field is missing, unknown or no number.
    """
    kind = KINDS.get(question.kind)
    if kind is None:
        raise LessonError(f"There is no question of kind {question.kind!r}: choose one of {', '.join(KINDS)}.")
    for name in kind.required:
        if not question.fields.get(name):
            raise LessonError(f"A question of kind {question.kind} needs a line “{name}: …”.")
    if kind.either and sum(name in question.fields for name in kind.either) != 1:
        raise LessonError(f"A question of kind {question.kind} needs one of {' and '.join(kind.either)}, and not more.")
    known = (*kind.required, *kind.optional, *kind.either, *COMMON)
    if unknown := next((name for name in question.fields if name not in known), None):
        meant = nearest(unknown, known, 1)
        raise LessonError(f"A question of kind {question.kind} has no field {unknown!r}: it takes {', '.join(meant or known)}.")
    if "choices" in question.fields:
        choices = [plain(each) for each in question.texts("choices")]
        if len(choices) < 2 or not all(choices) or len(set(choices)) < len(choices):
            raise LessonError("choices are two or more texts that differ, such as choices: [one, two].")
    points_of(question)


def points_of(question: LessonQuestion) -> int:
    """Read how many points a right answer gives, 1 unless the question says otherwise.

    Raises:
        LessonError: it is no number from 0 to 100.
    """
    written = question.text("points") or "1"
    if not re.fullmatch("[0-9]{1,3}", written) or int(written) > 100:
        raise LessonError("points is a whole number from 0 to 100.")
    return int(written)


def _needs(picture: LessonPicture | None) -> LessonPicture:
    if picture is None:
        raise LessonError("This question is about a picture, and its step links to none: add a link such as /encode?text=….")
    if picture.page not in TASKS:
        raise LessonError(f"This question is about a model's text, and the page {picture.page} has none: link to another page.")
    if steered := next((name for name in STEERED if picture.get(name)), None):
        raise LessonError(f"A question is about a model's own first translation: leave {steered} out of the link.")
    return picture


def _is(answer: str) -> Callable[[str], bool]:
    return lambda given: same_answer(given, answer)


def _token(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Find the word that gets most of `from`, or that sends most to `to`."""
    picture = _needs(picture)
    matrix = picture.matrix(source.result(picture))
    sends = "to" in question.fields
    tokens = matrix.queries if sends else matrix.keys
    asked = question.text("to" if sends else "from")
    place, asked = word_at(asked, matrix.keys if sends else matrix.queries), isolated(asked)
    column = matrix.weights[:, place, None] if sends else matrix.weights[None, place]
    weights = words_only(column, tokens, axis=int(not sends)).ravel()
    names = word_names(tokens)
    best = clear_first(weights, names)
    # What rounds to nothing says nothing.
    others = [at for at in np.argsort(weights)[::-1][:3] if weights[at] >= LEAST_SAID or at == best]
    first = words_with_percents([names[at] for at in others], [float(weights[at]) for at in others])
    sentence = f"To “{asked}” look {first}." if sends else f"“{asked}” gives {first}."
    if (most := int(column.argmax())) != best:
        share, verb = whole_percent(float(column.ravel()[most])), "comes from" if sends else "goes to"
        sentence += f" Most {verb} “{isolated(names[most])}” ({share}), which is no word of the text."
    return Truth(names[best], sentence, _is(names[best]), column.ravel())


def _weight(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Find a weight; an answer within the tolerance is right."""
    picture = _needs(picture)
    matrix = picture.matrix(source.result(picture))
    row = matrix.weights[word_at(question.text("from"), matrix.queries)]
    weight = float(row[word_at(question.text("to"), matrix.keys)])
    tolerance = read_number(question.text("tolerance") or str(TOLERANCE))
    if tolerance is None or not 0 < tolerance <= 0.5:
        raise LessonError("tolerance is a number from 0.01 to 0.5.")

    def accepts(given: str) -> bool:
        value = read_number(given)
        return value is not None and abs(value - weight) <= tolerance + 1e-6

    sentence = f"“{isolated(question.text('from'))}” gives “{isolated(question.text('to'))}” {percent(weight)}."
    return Truth(f"{weight:.2f}", sentence, accepts, row, weight, tolerance)


def _head(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Find the heads that send `from` mostly to `to`: all in which it gets at least half, `besides` those that are known."""
    picture = _needs(picture)
    result = source.result(picture)
    attention = picture.attention(result)
    weights: dict[str, float] = {}
    for layer, head in np.ndindex(attention.n_layers, attention.n_heads):
        matrix = picture.matrix(result, int(layer), int(head))
        row = matrix.weights[word_at(question.text("from"), matrix.queries)]
        weights[head_name(int(layer), int(head))] = float(row[word_at(question.text("to"), matrix.keys)])
    found = {name: weight for name, weight in weights.items() if weight >= MOSTLY}
    for known in question.texts("besides"):
        if found.pop(known, None) is None:
            raise LessonError(f"{known} does not send “{question.text('from')}” mostly there: besides names heads that do.")
    names = sorted(found, key=found.__getitem__, reverse=True)
    if not names:
        which = "no further head sends" if question.texts("besides") else "no head sends"
        raise LessonError(f"{which} “{question.text('from')}” mostly to “{question.text('to')}”: ask about another link.")
    total = attention.n_layers * attention.n_heads
    if len(names) > total / 2:
        raise LessonError(f"{len(names)} of {total} heads are right: ask about a link that fewer heads show.")
    first = ", ".join(f"{name} ({whole_percent(found[name])})" for name in names[:3])
    besides = f"Besides {' and '.join(question.texts('besides'))}, " if question.texts("besides") else ""
    one, other = (isolated(question.text(name)) for name in ("from", "to"))
    link = f"{'sends' if len(names) == 1 else 'send'} “{one}” mostly to “{other}”"
    sentence = f"{besides}{len(names)} of {total} heads {link}{':' if len(names) == 1 else ', first'} {first}."
    right = {tuple(re.findall(r"\d+", name)) for name in names}
    accepts = lambda given: tuple(str(int(each)) for each in re.findall(r"\d{1,4}", given)) in right
    return Truth(names[0], sentence, accepts, tuple(weights.values()))


def _cell(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Find the strongest cell of the picture, between two words."""
    picture = _needs(picture)
    matrix = picture.matrix(source.result(picture))
    weights = words_only(words_only(matrix.weights, matrix.keys, axis=1), matrix.queries, axis=0)
    rows, columns = word_names(matrix.queries), word_names(matrix.keys)
    names = [f"{row} {ARROW} {column}" for row in rows for column in columns]
    best = clear_first(weights.ravel().tolist(), names)
    sentence = f"The strongest link is {names[best]}, with {whole_percent(float(weights.ravel()[best]))}."
    words = matrix.weights[np.ix_(_places(matrix.queries), _places(matrix.keys))].ravel()
    return Truth(names[best], sentence, lambda given: same_answer(given.replace("->", ARROW), names[best]), words)


def _output(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Find what the model says: the translation, the answer or the summary, with the edits of the link."""
    result = source.result(_needs(picture))
    output = result.trace.output or (NO_ANSWER if result.task == "answer" else "")
    if not output:
        raise LessonError("This model says nothing of its own: ask about a picture of Translate, Answer or Summarize.")
    if (choices := question.texts("choices")) and not any(same_answer(each, output) for each in choices):
        raise LessonError(f"The model says “{output[:80]}”, which is none of the choices: add it to them.")
    before = result.unedited.trace.output
    edited = as_sentence(f" Without the edit it says “{before}”") if result.before and before else ""
    return Truth(output, as_sentence(f"The model says “{output}”") + edited, _is(output))


# Words that are said of a next word that nobody chose from.
LIKELIEST = 3


def next_shares(question: LessonQuestion, result: Result) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Give the words that could come behind the text, each with p of it: the question's choices, else the likeliest first.

    A choice that is none of the model's candidates has next to nothing, but not 0: less than each of them.

    Raises:
        TraceError: the model says nothing of what comes next.
        LessonError: a choice's own probability is not known: it begins with a piece that is likely, or none is.
    """
    from attnviz.analysis.next_and_why import candidate_labels, continuation_of

    continuation = continuation_of(result.trace)
    candidates = continuation.next_tokens(len(continuation.pieces) - 1)
    known: dict[str, float] = {}
    for label, each in zip(candidate_labels(candidates, result.prompt.text), candidates, strict=True):
        known.setdefault(plain(label), each.probability)
    names = question.texts("choices") or tuple(known)
    # What is not listed is less likely than all that is.
    most = min(candidates[-1].probability, 1 - sum(each.probability for each in candidates))
    for name in names:
        begun = [
            each for each, share in known.items() if len(each) > 1 and plain(name).startswith(each) and share >= LEAST_SAID
        ]
        if begun and plain(name) not in known:
            raise LessonError(
                f"For this model “{name}” may be several pieces, the first “{max(begun, key=len)}”: take another choice."
            )
        if plain(name) not in known and most >= 0.01:
            raise LessonError(f"For this model “{name}” is none of the {len(known)} likeliest words: take another choice.")
    return names, tuple(known.get(plain(name), float(np.finfo(float).tiny)) for name in names)


def _next(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Find the word that a language model finds likeliest behind the text: of the choices, else of all."""
    picture = _needs(picture)
    if picture.flag("chat"):
        raise LessonError("A question about the next word is about a text as it stands: leave chat out of the link.")
    result = source.result(picture)
    names, now = next_shares(question, result)
    best = clear_first(now, names)
    ranked = np.argsort(now)[::-1][: len(question.texts("choices")) or LIKELIEST]
    sentence = f"The model gives {words_with_percents([names[at] for at in ranked], [now[at] for at in ranked])}."
    if result.before:
        before, shares = next_shares(question, result.before)
        first = int(np.argmax(shares))
        sentence += f" Without the edit it gives “{isolated(before[first])}” {whole_percent(shares[first])}."
    return Truth(names[best], sentence, _is(names[best]), now if question.texts("choices") else ())


def _claim(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Say whether a claim about heads holds, tested over the corpus."""
    from attnviz.analysis.heads.verdict import describe_verdict

    verdict = source.verdict(question.text("model") or (picture.model if picture else "minilm"), question.text("claim"))
    if verdict.is_small:
        raise LessonError("The corpus has too few cases of this claim to say whether it holds: ask about another one.")
    words = ("true", "yes", "it holds") if verdict.holds else ("false", "no", "it does not hold")
    return Truth(words[0], describe_verdict(verdict), lambda given: plain(given) in words)


def _order(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Rank some words by the weight that `from` gives them, or by what an attribution method says they are worth."""
    picture, words = _needs(picture), question.texts("words")
    if not 2 <= len(words) <= 8:
        raise LessonError("A question of kind order ranks two to eight words, such as words: [cat, mat, sat].")
    if "by" in question.fields:
        shares = source.shares(picture, question.text("by"))
        values = shares.values / max(float(np.abs(shares.values).sum()), 1e-12)
        weights = [float(values[word_at(word, shares.tokens)]) for word in words]
    else:
        matrix = picture.matrix(source.result(picture))
        row = matrix.weights[word_at(question.text("from"), matrix.queries)]
        weights = [float(row[word_at(word, matrix.keys)]) for word in words]
    order = [int(at) for at in np.argsort(weights)[::-1]]
    for after, place in enumerate(order[:-1], 1):
        clear_first([weights[place], weights[order[after]]], [words[place], words[order[after]]])
    answer = " > ".join(words[at] for at in order)
    ranked = words_with_percents([words[at] for at in order], [weights[at] for at in order])
    return Truth(answer, f"In order: {ranked}.", lambda given: same_answer(given.replace(">", " > "), answer))


def _choice(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Take the teacher's answer, one of the choices; with `from`, and `to`, the model's numbers are said with it."""
    choices, answer = question.texts("choices"), question.text("answer")
    if not any(same_answer(each, answer) for each in choices):
        raise LessonError("The answer has to be one of the choices.")
    return Truth(answer, _link_in_words(question, picture, source) if "from" in question.fields else "", _is(answer))


def _link_in_words(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> str:
    """Say how much `from` gives `to`, and what gets most of it."""
    picture = _needs(picture)
    matrix = picture.matrix(source.result(picture))
    names, row = word_names(matrix.keys), word_at(question.text("from"), matrix.queries)
    best = int(words_only(matrix.weights[None, row], matrix.keys, axis=1).argmax())
    places = dict.fromkeys((word_at(question.text("to"), matrix.keys), best) if question.text("to") else (best,))
    gives = words_with_percents([names[at] for at in places], [float(matrix.weights[row, at]) for at in places])
    return f"“{isolated(question.text('from'))}” gives {gives}."


def _free(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Free text, which nobody grades."""
    return Truth("", "", lambda given: False)


def _places(tokens: Sequence[Token]) -> tuple[int, ...]:
    """List the places of words; those of special tokens only where there are no words."""
    return tuple(at for at, token in enumerate(tokens) if not token.special) or tuple(range(len(tokens)))


def _lines(question: LessonQuestion, matrix: HeadMatrix) -> dict[str, Any]:
    """Name the words of a picture, those marked that the question is about; where there are two texts, one is the other one."""
    row, column = question.text("from"), question.text("to")
    looks = tuple(word_names(matrix.queries)), (word_at(row, matrix.queries),) if row else ()
    seen = tuple(word_names(matrix.keys)), (word_at(column, matrix.keys),) if column else ()
    if matrix.queries == matrix.keys:
        return {"words": seen[0], "marked": looks[1] + seen[1]}
    (words, marked), (other, other_marked) = (seen, looks) if row else (looks, seen)
    return {"words": words, "marked": marked, "other": other, "other_marked": other_marked}


def _token_form(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> QuestionForm:
    picture = _needs(picture)
    matrix = picture.matrix(source.result(picture))
    lines = _lines(question, matrix)
    tokens = matrix.queries if question.text("to") else matrix.keys
    return QuestionForm("token", question.ask, **lines, choices=tuple(lines["words"][at] for at in _places(tokens)))


def _number_form(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> QuestionForm:
    picture = _needs(picture)
    return QuestionForm("number", question.ask, **_lines(question, picture.matrix(source.result(picture))))


def _head_form(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> QuestionForm:
    picture = _needs(picture)
    result = source.result(picture)
    attention = picture.attention(result)
    rows = tuple(head_name(layer, None) for layer in range(attention.n_layers))
    columns = tuple(f"H{head}" for head in range(attention.n_heads))
    return QuestionForm("head", question.ask, **_lines(question, picture.matrix(result, 0, 0)), rows=rows, columns=columns)


def _cell_form(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> QuestionForm:
    picture = _needs(picture)
    matrix = picture.matrix(source.result(picture))
    rows, columns = (tuple(word_names(each)[at] for at in _places(each)) for each in (matrix.queries, matrix.keys))
    return QuestionForm("cell", question.ask, rows=rows, columns=columns)


def _order_form(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> QuestionForm:
    # By the alphabet: as a lesson writes them they may stand in the right order.
    words = tuple(sorted(question.texts("words"), key=str.casefold))
    if "by" in question.fields:
        return QuestionForm("order", question.ask, choices=words, texts=_read_texts(picture))
    picture = _needs(picture)
    return QuestionForm("order", question.ask, **_lines(question, picture.matrix(source.result(picture))), choices=words)


def _claim_form(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> QuestionForm:
    return QuestionForm("choice", question.ask, choices=("true", "false"))


def _output_form(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> QuestionForm:
    return replace(_typed_form(question, picture, source), texts=_read_texts(picture))


def _next_form(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> QuestionForm:
    # What was written is a part of it.
    return replace(_typed_form(question, picture, source), texts=(source.result(_needs(picture)).prompt.text,))


def _typed_form(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> QuestionForm:
    choices = question.texts("choices")
    return QuestionForm("choice" if choices else "text", question.ask, choices=choices)


def _read_texts(picture: LessonPicture | None) -> tuple[str, ...]:
    """List the texts that the model of a picture reads."""
    prompt = _needs(picture).prompt
    # On What matters one box is both.
    return tuple(dict.fromkeys(filter(None, (prompt.text, prompt.pair, prompt.question))))


KINDS = {
    "token": QuestionKind(_token, _token_form, "row", either=("from", "to")),
    "number": QuestionKind(_weight, _number_form, "row", ("from", "to"), ("tolerance",)),
    "head": QuestionKind(_head, _head_form, "heads", ("from", "to"), ("besides",)),
    "cell": QuestionKind(_cell, _cell_form, "matrix"),
    "output": QuestionKind(_output, _output_form, "output", optional=("choices",), lines=2),
    "next": QuestionKind(_next, _next_form, "next", optional=("choices",)),
    "claim": QuestionKind(_claim, _claim_form, "corpus", ("claim",), ("model",)),
    "order": QuestionKind(_order, _order_form, "row", ("words",), either=("from", "by")),
    "choice": QuestionKind(_choice, _typed_form, "", ("choices", "answer"), ("from", "to")),
    "text": QuestionKind(_free, _typed_form, "", lines=4, is_graded=False),
}


# Of these the answer stands in the row of the word that the question calls `from`.
OF_A_ROW = ("row", "heads")
# Methods that a wall or a sheet of paper has room for, of those that the page What matters tests.
_METHODS = ("leave-one-out", "gradient-input", "frozen-gradient", "attention", "rollout", "received")


@dataclass(frozen=True, eq=False)
class HiddenRows(DerivedWeights):
    """Weights of which some rows are masked: nothing of them leaves this value, nor their entropy, which would tell of them."""

    hidden: tuple[int, ...]

    def head(self, layer: int, head: int) -> Weights:
        weights = self.store.head(layer, head).copy()
        weights[list(self.hidden)] = 0
        return weights

    def layer(self, layer: int) -> LayerWeights:
        weights = self.store.layer(layer).copy()
        weights[:, list(self.hidden)] = 0
        return weights

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        seen = self.store.visible(layer)
        seen = np.ones(self.shape, dtype=bool) if seen is None else seen.copy()
        seen[list(self.hidden)] = False
        return seen


def hidden_map(step: LessonStep, source: AnswerSource) -> AttentionMap | None:
    """Make the map of a step's picture without the rows that answer its questions; None where nothing would be left to look at.

    Raises:
        AttnvizError: the model cannot be loaded, cannot read the text, or there is no such word in it.
    """
    picture, asked = step.picture, [each for each in step.questions if about(each)]
    words = {each.text("from") for each in asked if about(each) in OF_A_ROW}
    if picture is None or not words or "" in words or any(about(each) not in OF_A_ROW for each in asked):
        return None
    result = source.result(picture)
    attention, matrix = picture.attention(result), picture.matrix(result, 0, 0)
    hidden = [matrix.queries[word_at(word, matrix.queries)] for word in words]
    rows = tuple(at for at, token in enumerate(attention.queries) if any(_is_part(token, word) for word in hidden))
    return replace(attention, store=HiddenRows(attention.store, rows))


def _is_part(token: Token, word: Token) -> bool:
    is_inside = token.segment == word.segment and word.start <= token.start and token.end <= word.end
    return is_inside and token.special == word.special


@dataclass(frozen=True, eq=False)
class MethodTable:
    """What each word is worth to the output, a row for each method; `hidden` are the rows that answer a question.

    values  shares of the largest of the row, -1 to 1
    """

    titles: tuple[str, ...]
    words: tuple[str, ...]
    values: Float[np.ndarray, "method word"]
    hidden: tuple[int, ...]


def method_table(questions: Iterable[LessonQuestion], picture: LessonPicture, source: AnswerSource) -> MethodTable:
    """Make the table that the page What matters draws, without the rows of the methods that questions are about.

    Raises:
        AttnvizError: the model cannot be loaded, or cannot read the text.
    """
    from attnviz.attribution.methods import titles_of

    asked = dict.fromkeys(filter(None, (each.text("by") for each in questions)))
    titles = titles_of((*asked, *(name for name in _METHODS if name not in asked)))
    shares = [source.shares(picture, name) for name in titles]
    tokens = shares[0].tokens
    # As on the page: what a method gives to [CLS] would leave the words pale.
    places = [place for place, token in enumerate(tokens) if not token.special]
    values = np.stack([each.values[places] for each in shares])
    values /= np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-12)
    names = word_names(tokens)
    return MethodTable(tuple(titles.values()), tuple(names[place] for place in places), values, tuple(range(len(asked))))
