"""Check a lesson: every link, every question, every right answer; what is wrong is one sentence each, with its line."""

from functools import cache

from attnviz.analysis.heads.claim import parse
from attnviz.analysis.heads.verdict import ClaimResult
from attnviz.attribution.methods import attribute
from attnviz.attribution.quantity_maps import run
from attnviz.core.errors import AttnvizError, LessonError, nearest
from attnviz.core.trace import Shares
from attnviz.lessons.lesson_file import Lesson, LessonStep
from attnviz.lessons.picture_link import TASKS, LessonPicture, read_link
from attnviz.lessons.question_kinds import AnswerSource, Truth, truth_of
from attnviz.models import catalog
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.models.result import Result
from attnviz.survey.treebank_attention import CorpusAttention, look
from attnviz.text.corpora import TREEBANK, WINOGENDER, corpus


class ComputedSource:
    """Right answers computed here and now; every model is loaded once, and every picture and corpus read once."""

    def __init__(self, progress: Progress = silent) -> None:
        self.progress = progress
        self._model, self._looks, self._result = cache(self._load), cache(self._look), cache(self._run)
        self._shares = cache(self._attribute)

    def result(self, picture: LessonPicture) -> Result:
        return self._result(picture.address)

    def verdict(self, model: str, claim: str) -> ClaimResult:
        parsed = parse(claim)
        return self._looks(model, WINOGENDER if parsed.needs_antecedent else TREEBANK).test([parsed])[0]

    def shares(self, picture: LessonPicture, method: str) -> Shares:
        return self._shares(picture.address, method)

    def _load(self, name: str) -> AttentionModel:
        # A lesson may come from anywhere: it reads no folder, and no pickle.
        return catalog.load(name, allow_folders=False, allow_pickles=False, progress=self.progress)

    def _attribute(self, address: str, method: str) -> Shares:
        picture = read_link(address)
        return attribute(self._model(picture.model), picture.prompt, method)

    def _look(self, model: str, name: str) -> CorpusAttention:
        return look(self._model(model), corpus(name), progress=self.progress)

    def _run(self, address: str) -> Result:
        picture = read_link(address)
        model, task = self._model(picture.model), picture.task
        return run(model, task, picture.prompt, edits=picture.edits, quantity=picture.quantity, **picture.writing)


def truths(lesson: Lesson, source: AnswerSource) -> dict[str, Truth]:
    """Compute the right answer to every question of a lesson, by its number.

    Raises:
        LessonError: the first thing that is wrong with it, with its line.
    """
    right, wrong = examine(lesson, source)
    if wrong:
        raise LessonError(f"{lesson.name}.md, {wrong[0]}")
    return right


def examine(lesson: Lesson, source: AnswerSource) -> tuple[dict[str, Truth], list[str]]:
    """Compute the right answers of a lesson, by number, and say what is wrong with it: a sentence each, with its line."""
    right: dict[str, Truth] = {}
    if wrong := [f"line 1: {_unknown(name)}" for name in lesson.models if name not in catalog.CATALOG and "/" not in name]:
        return right, wrong
    broken = {step.line: why for step in lesson.steps if (why := _wrong_picture(lesson, step, source))}
    wrong += [f"line {line}: {why}" for line, why in broken.items()]
    for number, step, question in lesson.questions:
        try:
            if step.line in broken:
                continue
            if (model := question.text("model")) and model not in lesson.models:
                raise LessonError(_unnamed(f"the question is about {model}"))
            right[number] = truth_of(question, step.picture, source)
        except AttnvizError as error:
            wrong.append(f"line {question.line}: {error}")
    return right, wrong


def _unknown(name: str) -> str:
    meant = nearest(name, list(catalog.CATALOG), 1)
    return f"there is no model {name!r}: {f'did you mean {meant[0]}?' if meant else 'see `attnviz models`.'}"


def _unnamed(what: str) -> str:
    return f"{what}, which the front matter does not name: add it to models."


def _wrong_picture(lesson: Lesson, step: LessonStep, source: AnswerSource) -> str:
    """Say what is wrong with a step's picture; empty: nothing."""
    picture = step.picture
    if picture is None or picture.page not in TASKS:
        return ""
    if picture.model not in lesson.models:
        return _unnamed(f"the picture is of {picture.model}")
    try:
        source.result(picture)
    except AttnvizError as error:
        return str(error)
    return ""
