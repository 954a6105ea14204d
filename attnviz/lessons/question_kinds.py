"""The kinds of questions, each with its right answer computed from the model that the step's picture shows.

A new kind is a function here and its line in `KINDS`. An answer is a text, as a student gives it and a hand-in holds it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attnviz.analysis.heads.wording import describe_verdict
from attnviz.analysis.word_names import word_at, word_names
from attnviz.analysis.wording import MOSTLY, head_name, whole_percent
from attnviz.core.errors import LessonError, nearest
from attnviz.lessons.answer_text import as_sentence, plain, read_number, same_answer
from attnviz.lessons.least_margin import clear_first, words_only, words_with_percents
from attnviz.lessons.lesson_file import LessonQuestion
from attnviz.lessons.picture_link import STEERED, LessonPicture
from attnviz.lessons.right_answer import AnswerSource, Truth

TOLERANCE = 0.1
LEAST_SAID = 0.005
ARROW = "→"
# What an answerer says that finds none in the passage.
NO_ANSWER = "no answer"


@dataclass(frozen=True)
class QuestionKind:
    """One kind of question: the fields it must have, those it may have, and the function of its right answer."""

    truth: Callable[[LessonQuestion, LessonPicture | None, AnswerSource], Truth]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    # Fields of which exactly one must be there.
    either: tuple[str, ...] = ()


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


def check_fields(question: LessonQuestion) -> None:
    """Check what can be checked without a model.

    Raises:
        LessonError: the kind is unknown, or a field is missing, unknown or no number.
    """
    kind = KINDS.get(question.kind)
    if kind is None:
        raise LessonError(f"there is no question of kind {question.kind!r}: choose one of {', '.join(KINDS)}.")
    for name in kind.required:
        if not question.fields.get(name):
            raise LessonError(f"a question of kind {question.kind} needs a line “{name}: …”.")
    if kind.either and sum(name in question.fields for name in kind.either) != 1:
        raise LessonError(f"a question of kind {question.kind} needs one of {' and '.join(kind.either)}, and not more.")
    known = (*kind.required, *kind.optional, *kind.either, *COMMON)
    if unknown := next((name for name in question.fields if name not in known), None):
        meant = nearest(unknown, known, 1)
        raise LessonError(f"a question of kind {question.kind} has no field {unknown!r}: it takes {', '.join(meant or known)}.")
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
        raise LessonError("this question is about a picture, and its step links to none: add a link such as /encode?text=….")
    if steered := next((name for name in STEERED if picture.get(name)), None):
        raise LessonError(f"a question is about a model's own first translation: leave {steered} out of the link.")
    return picture


def _is(answer: str) -> Callable[[str], bool]:
    return lambda given: same_answer(given, answer)


def _token(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Which word gets most of `from`, or which sends most to `to`."""
    picture = _needs(picture)
    matrix = picture.matrix(source.result(picture))
    sends = "to" in question.fields
    tokens = matrix.queries if sends else matrix.keys
    place = word_at(question.text("to" if sends else "from"), matrix.keys if sends else matrix.queries)
    column = matrix.weights[:, place, None] if sends else matrix.weights[None, place]
    weights = words_only(column, tokens, axis=int(not sends)).ravel()
    names = word_names(tokens)
    best = clear_first(weights, names)
    # What rounds to nothing says nothing.
    others = [at for at in np.argsort(weights)[::-1][:3] if weights[at] >= LEAST_SAID or at == best]
    first = words_with_percents([names[at] for at in others], [float(weights[at]) for at in others])
    sentence = f"To “{question.text('to')}” look {first}." if sends else f"“{question.text('from')}” gives {first}."
    if (most := int(column.argmax())) != best:
        share, verb = whole_percent(float(column.ravel()[most])), "comes from" if sends else "goes to"
        sentence += f" Most {verb} “{names[most]}” ({share}), which is no word of the text."
    return Truth(names[best], sentence, _is(names[best]))


def _weight(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """How large a weight is, within a tolerance."""
    picture = _needs(picture)
    matrix = picture.matrix(source.result(picture))
    weight = float(matrix.weights[word_at(question.text("from"), matrix.queries), word_at(question.text("to"), matrix.keys)])
    tolerance = read_number(question.text("tolerance") or str(TOLERANCE))
    if tolerance is None or not 0 < tolerance <= 0.5:
        raise LessonError("tolerance is a number from 0.01 to 0.5.")

    def accepts(given: str) -> bool:
        value = read_number(given)
        return value is not None and abs(value - weight) <= tolerance + 1e-6

    return Truth(f"{weight:.2f}", f"“{question.text('from')}” gives “{question.text('to')}” {whole_percent(weight)}.", accepts)


def _head(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Which head sends `from` mostly to `to`: any in which it gets at least half, `besides` those that are known."""
    picture = _needs(picture)
    result = source.result(picture)
    attention = picture.attention(result)
    found: dict[str, float] = {}
    for layer, head in np.ndindex(attention.n_layers, attention.n_heads):
        matrix = picture.matrix(result, int(layer), int(head))
        row = matrix.weights[word_at(question.text("from"), matrix.queries)]
        key = word_at(question.text("to"), matrix.keys)
        if row[key] >= MOSTLY:
            found[head_name(int(layer), int(head))] = float(row[key])
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
    link = f"{'sends' if len(names) == 1 else 'send'} “{question.text('from')}” mostly to “{question.text('to')}”"
    sentence = f"{besides}{len(names)} of {total} heads {link}{':' if len(names) == 1 else ', first'} {first}."
    right = {tuple(re.findall(r"\d+", name)) for name in names}
    return Truth(names[0], sentence, lambda given: tuple(str(int(each)) for each in re.findall(r"\d{1,4}", given)) in right)


def _cell(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Which cell of the picture is the strongest, between two words."""
    picture = _needs(picture)
    matrix = picture.matrix(source.result(picture))
    weights = words_only(words_only(matrix.weights, matrix.keys, axis=1), matrix.queries, axis=0)
    rows, columns = word_names(matrix.queries), word_names(matrix.keys)
    names = [f"{row} {ARROW} {column}" for row in rows for column in columns]
    best = clear_first(weights.ravel().tolist(), names)
    sentence = f"The strongest link is {names[best]}, with {whole_percent(float(weights.ravel()[best]))}."
    return Truth(names[best], sentence, lambda given: same_answer(given.replace("->", ARROW), names[best]))


def _output(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """What the model says: the translation, the answer or the summary, with the edits of the link."""
    result = source.result(_needs(picture))
    output = result.trace.output or (NO_ANSWER if result.task == "answer" else "")
    if not output:
        raise LessonError("this model says nothing of its own: ask about a picture of Translate, Answer or Summarize.")
    if (choices := question.texts("choices")) and not any(same_answer(each, output) for each in choices):
        raise LessonError(f"the model says “{output[:80]}”, which is none of the choices: add it to them.")
    before = result.unedited.trace.output
    edited = as_sentence(f" Without the edit it says “{before}”") if result.before and before else ""
    return Truth(output, as_sentence(f"The model says “{output}”") + edited, _is(output))


def _claim(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Whether a claim about heads holds, tested over the corpus."""
    verdict = source.verdict(question.text("model") or (picture.model if picture else "minilm"), question.text("claim"))
    if verdict.is_small:
        raise LessonError("the corpus has too few cases of this claim to say whether it holds: ask about another one.")
    words = ("true", "yes", "it holds") if verdict.holds else ("false", "no", "it does not hold")
    return Truth(words[0], describe_verdict(verdict), lambda given: plain(given) in words)


def _order(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Some words, ranked by the weight that `from` gives them, or by what an attribution method says they are worth."""
    picture, words = _needs(picture), question.texts("words")
    if not 2 <= len(words) <= 8:
        raise LessonError("a question of kind order ranks two to eight words, such as words: [cat, mat, sat].")
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
    """One of several that the teacher has typed; with `from`, and `to`, the model's numbers are said with the answer."""
    choices, answer = question.texts("choices"), question.text("answer")
    if sum(same_answer(each, answer) for each in choices) != 1 or len(choices) < 2:
        raise LessonError("the answer has to be one of the choices, and stand there once.")
    return Truth(answer, _link_in_words(question, picture, source) if "from" in question.fields else "", _is(answer))


def _link_in_words(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> str:
    """Say how much `from` gives `to`, and what gets most of it."""
    picture = _needs(picture)
    matrix = picture.matrix(source.result(picture))
    names, row = word_names(matrix.keys), word_at(question.text("from"), matrix.queries)
    best = int(words_only(matrix.weights[None, row], matrix.keys, axis=1).argmax())
    places = dict.fromkeys((word_at(question.text("to"), matrix.keys), best) if question.text("to") else (best,))
    gives = words_with_percents([names[at] for at in places], [float(matrix.weights[row, at]) for at in places])
    return f"“{question.text('from')}” gives {gives}."


def _free(question: LessonQuestion, picture: LessonPicture | None, source: AnswerSource) -> Truth:
    """Free text, which nobody grades."""
    return Truth("", "", lambda given: False)


KINDS = {
    "token": QuestionKind(_token, either=("from", "to")),
    "number": QuestionKind(_weight, ("from", "to"), ("tolerance",)),
    "head": QuestionKind(_head, ("from", "to"), ("besides",)),
    "cell": QuestionKind(_cell),
    "output": QuestionKind(_output, optional=("choices",)),
    "claim": QuestionKind(_claim, ("claim",), ("model",)),
    "order": QuestionKind(_order, ("words",), either=("from", "by")),
    "choice": QuestionKind(_choice, ("choices", "answer"), ("from", "to")),
    "text": QuestionKind(_free),
}
