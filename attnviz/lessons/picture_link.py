"""The picture that a link of a lesson opens: which model reads what, and which of its heads is drawn how."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from attnviz.analysis.head_view import BETWEEN, Between, HeadMatrix, View, default_map, head_matrix
from attnviz.analysis.translation_alignment import Reading, read_as, truer
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import AttnvizError, LessonError
from attnviz.core.trace import AttentionMap, Prompt
from attnviz.core.weights import QUANTITIES, Quantity
from attnviz.models.base import ModelCard
from attnviz.models.catalog import Task
from attnviz.models.result import Result
from attnviz.pages_and_addresses import PAGES, current_address, unpack

if TYPE_CHECKING:
    from attnviz.lessons.lesson_file import Lesson, LessonQuestion


MOST_QUESTIONS = 40
# Characters of an answer that is typed: those of a whole lesson stand in an address.
LONGEST_ANSWER = 400


@dataclass(frozen=True)
class GivenAnswer:
    """One answer. `text` is empty where somebody asked for the right one instead."""

    text: str
    seconds: int = 0


Answers = Mapping[str, GivenAnswer]


def open_question(lesson: "Lesson", step: int, answers: Answers) -> "tuple[str, LessonQuestion] | None":
    """Find the first question of a step, from 1, that has no answer yet, with its number."""
    numbered = ((f"{step}.{place}", each) for place, each in enumerate(lesson.steps[step - 1].questions, 1))
    return next((each for each in numbered if each[0] not in answers), None)


# "home" is the address / itself.
PICTURED = tuple(page.name for page in PAGES if page.name not in ("lessons", "class"))
# Pages on which a model reads a text, and what it is asked to do there.
TASKS: Mapping[str, Task] = {
    "home": "encode", "encode": "encode", "matters": "encode", "whatif": "encode", "translate": "translate",
    "answer": "answer", "summarize": "summarize", "write": "write",
}  # fmt: skip
_QUANTITIES: Mapping[str, Quantity] = {each: each for each in QUANTITIES}
_READINGS: Mapping[str, Reading] = {"Shifted": "shifted", "Naive": "naive"}
# What makes a translation another one than the model's first.
STEERED = ("decoding", "begins1", "candidate1", "hero")
_BETWEEN: Mapping[str, Between] = {each: each for each in BETWEEN}
# The model of a page whose link names none.
_USUAL = {"translate": "transformer-en-fr", "answer": "answer-en", "summarize": "summarize-en", "write": "smollm2"}


@dataclass(frozen=True)
class LessonPicture:
    """What a link opens.

    address     without a host, as it is written
    parameters  of the address, the first value of each
    """

    page: str
    address: str
    parameters: Mapping[str, str]

    @property
    def model(self) -> str:
        """The name of the model, of several the first."""
        return self.get("model") or self.get("models") or _USUAL.get(self.page, "minilm")

    @property
    def task(self) -> Task:
        return TASKS.get(self.page, "encode")

    @property
    def prompt(self) -> Prompt:
        """What the model reads.

        Raises:
            LessonError: the link names no text.
        """
        text = self.get("passage") if self.page == "answer" else self.get("text")
        if not text:
            name = "passage" if self.page == "answer" else "text"
            raise LessonError(f"The link to {self.page} has to name its {name}, so that it always opens the same picture.")
        # On Matters one box holds the second text, whatever the model takes it for.
        question = (self.get("pair") if self.page == "matters" else "") or self.get("question")
        language = self.get("language") or self.get("language1")
        return Prompt(text, self.get("pair") or None, question or None, self.get("target") or None, language=language or None)

    @property
    def writing(self) -> dict[str, Any]:
        """How a language model writes on, the fields of `WritingOptions`: what the link has, anew under edits; else nothing."""
        if self.task != "write":
            return {}
        return {"tokens": 0, "begins": tuple(self.get("written").split(" ")) if self.get("written") else (), "anew": True}

    @property
    def edits(self) -> Edits:
        """What is edited in the model's attention.

        Raises:
            EditError: this is no edit.
        """
        return Edits.parse(written) if (written := self.get("edits") or self.get("edits1")) else NO_EDITS

    @property
    def quantity(self) -> Quantity:
        """What the numbers of the picture are."""
        return _QUANTITIES.get(self.get("weighing"), "weights")

    def head(self, card: ModelCard) -> tuple[int, int | None]:
        """Name the layer and the head that are drawn of a model; None: the mean over the heads of the layer.

        Raises:
            LessonError: the link does not name them.
        """
        if card.n_layers == card.n_heads == 1:
            return 0, 0
        encodes = self.page in ("home", "encode")
        # On Translate a model without a supervised head begins with the mean.
        mean = self.flag("mean") if encodes else self.flag("all_heads", card.supervised_head is None)
        layer, head = self.get("layer"), self.get("head")
        if not re.fullmatch("[0-9]{1,4}", layer) or not (mean or re.fullmatch("[0-9]{1,4}", head)):
            raise LessonError("The link has to name the head that the question is about, such as &layer=3&head=1.")
        return int(layer), None if mean else int(head)

    @property
    def view(self) -> View:
        """Which tokens are drawn, and how."""
        between = _BETWEEN.get(self.get("between"), "all")
        words = self.flag("words") if self.page in ("home", "encode") else self.flag("whole_words", True)
        return View(words, self.flag("hide_special"), self.flag("renormalize"), between)

    def get(self, name: str) -> str:
        return self.parameters.get(name, "")

    def flag(self, name: str, default: bool = False) -> bool:
        return {"true": True, "false": False}.get(self.get(name).lower(), default)

    def attention(self, result: Result) -> AttentionMap:
        """Find the map that is drawn.

        Raises:
            LessonError: the page draws no head of one model.
            TraceError: there is no such map.
        """
        if self.page == "translate":
            reading = _READINGS.get(self.get("reading")) or truer(result.card.metrics, *self.head(result.card))
            return read_as(result.trace.cross, result.draft.written, reading)
        if self.page not in ("home", "encode"):
            raise LessonError("A question about words or heads needs a picture of Encode or Translate in its step.")
        return default_map(result.trace, self.get("attention") or None)

    def matrix(self, result: Result, layer: int | None = None, head: int | None = None) -> HeadMatrix:
        """Make the matrix that is drawn, or with a layer that of another head.

        Raises:
            LessonError, TraceError: the link names no head that there is.
        """
        attention = self.attention(result)
        if layer is None:
            layer, head = self.head(result.card)
        return head_matrix(attention, layer=layer, head=head, view=self.view)


def page_of(href: str) -> str | None:
    """Name the page that a link of the app opens; empty: it is no page of its own (#part); None: it leads out of the app.

    >>> page_of("/encode?text=a"), page_of("#below"), page_of("https://example.org/encode")
    ('encode', '', None)
    """
    try:
        parts = urlsplit(current_address(href))
    except ValueError:
        return None
    if parts.scheme or parts.netloc or href.startswith("//"):
        return None
    # Home stands at the root.
    return parts.path.strip("/") or ("home" if parts.path else "")


def read_link(href: str) -> LessonPicture:
    """Read an address of the app.

    Raises:
        LessonError: it holds what no address of the app does, or an edit that is none.

    >>> read_link("/encode?text=The+cat+sat.&layer=3&head=1").prompt.text
    'The cat sat.'
    """
    href = f"/{current_address(href).lstrip('/')}"
    parts = urlsplit(href)
    try:
        written = parse_qs(parts.query, keep_blank_values=True, max_num_fields=100, strict_parsing=bool(parts.query))
    except ValueError as error:
        raise LessonError("This link is damaged after its question mark: copy it from the app again.") from error
    parameters = {}
    for name, values in written.items():
        if (value := unpack(values[0])) is None:
            raise LessonError(f"The {name} of this link is damaged: copy the link from the app again.")
        parameters[name] = value
    picture = LessonPicture(page_of(href) or "", href, parameters)
    try:
        _ = picture.edits
    except AttnvizError as error:
        raise LessonError(f"The edits of this link cannot be read: {error}") from error
    return picture
