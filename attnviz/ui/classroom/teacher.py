"""The class that this visitor teaches, kept in a cookie of this browser, and what can be asked of it on a page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st
from streamlit.components.v2 import component

from attnviz.analysis.head_view import HeadMatrix, word_at
from attnviz.analysis.wording import MOSTLY
from attnviz.core.edits import Edits, HeadSet
from attnviz.core.errors import AttnvizError, BusyError, LessonError
from attnviz.lessons.classroom.class_values import read_code
from attnviz.lessons.classroom.from_lesson import QuestionPlace
from attnviz.lessons.lesson_file import LessonQuestion
from attnviz.lessons.picture_link import TASKS, LessonPicture, read_link
from attnviz.lessons.question_kinds import next_shares, truth_of
from attnviz.ui.address.address_sync import visit
from attnviz.ui.classroom.hub import class_store
from attnviz.ui.classroom.phone_requests import starts, wrong_codes
from attnviz.ui.frame.toolbar import toolbar_place
from attnviz.ui.lessons import PageSource, place_of

if TYPE_CHECKING:
    from attnviz.lessons.classroom.class_values import StartedClass


_COOKIE = "attnviz-class"
_TOKEN = re.compile(r"[\w-]{1,100}", re.ASCII)
_KEEP = component(
    "attnviz.class-cookie", html="<div></div>", js=Path(__file__).with_name("cookie.js").read_text(encoding="utf-8")
)


def taught_class() -> "StartedClass | None":
    """Return the class that this visitor has started, or opened by the teacher's link; None: there is none."""
    state = st.session_state
    if "taught_class" not in state:
        written = dict(st.context.cookies).get(_COOKIE, "")
        state.taught_class = read_taught(written) if written else None
    return state.taught_class


def read_taught(written: str) -> "StartedClass | None":
    """Read what the cookie or a teacher's link holds: the code, the invitation and the secret.

    >>> read_taught("KRTF.abc.def").code, read_taught("KRTF.abc")
    ('KRTF', None)
    """
    # Imported here: most visits teach no class.
    from attnviz.lessons.classroom.class_values import StartedClass

    code, *tokens = written.split(".")
    if len(tokens) != 2 or not read_code(code) or not all(map(_TOKEN.fullmatch, tokens)):
        return None
    return StartedClass(read_code(code), *tokens)


def write_taught(taught: "StartedClass") -> str:
    """Write what `read_taught` reads."""
    return f"{taught.code}.{taught.invite}.{taught.secret}"


def keep_taught() -> None:
    """Lets the browser keep whose teacher this is, for as long as a class lives."""
    taught = taught_class()
    _KEEP(key="class-cookie", data=[_COOKIE, write_taught(taught) if taught else ""])


def start_class(*, nicknames: bool = False) -> None:
    """Starts a class, and opens its page; for a callback."""
    try:
        if not starts.take(st.context.ip_address or ""):
            raise BusyError("Many classes were started from this network: try again in a few minutes.")
        st.session_state.taught_class = class_store().start(nicknames=nicknames)
    except AttnvizError as error:
        st.session_state.class_refused = str(error)
        return
    note_trusted(st.session_state.taught_class.code)
    open_class()


def note_trusted(code: str) -> None:
    """Trust the teacher's network with the code of the class: others' wrong codes lock nobody there out."""
    wrong_codes.trust(st.context.ip_address or "", code)


def open_class() -> None:
    """Opens the page of the class that is taught here, with the lesson that runs now; for a callback."""
    if taught := taught_class():
        address = st.session_state.address
        visit("class", **{"class": taught.code, "teaches": address.get("lesson") or address.get("teaches")})


def forget_class() -> None:
    """Makes this visitor a teacher no more; for a callback."""
    st.session_state.taught_class = None


# What the address of a page leaves out where it is the page's own first example, or a choice that a model has made.
_TEXTS = ("text", "question", "passage", "pair")
_HEAD_PAGES = ("home", "encode", "translate")


@dataclass(frozen=True)
class SpotQuestion:
    """A question that can be asked now, with the picture that it is about; `place`: of one that a lesson asks."""

    question: LessonQuestion
    picture: LessonPicture | None
    place: QuestionPlace | None = None

    @classmethod
    def of(cls, place: QuestionPlace) -> "SpotQuestion":
        """Take a question of a lesson."""
        return cls(place.question, place.step.picture, place)


def ask_class(spot: SpotQuestion) -> None:
    """Asks the class, on the page of the class; for a callback."""
    st.session_state.class_question = spot
    open_class()


def questions_here() -> list[SpotQuestion]:
    """List what can be asked here: the questions of the lesson's step, and those about the picture of the page."""
    try:
        place = place_of(st.session_state.page) if "lesson" in st.session_state.address else None
        if place is not None and not place.is_end:
            numbers = [f"{place.number}.{at}" for at, _ in enumerate(place.step.questions, 1)]
            return [SpotQuestion.of(QuestionPlace(place.name, place.lesson, number)) for number in numbers]
        picture = picture_here()
        return list(_questions(picture)) if picture else []
    except AttnvizError:
        # What is wrong is said where the picture stands.
        return []


def picture_here() -> LessonPicture | None:
    """Return the picture of this page as a lesson would link to it, with all that its address leaves out."""
    state = st.session_state
    if state.page not in TASKS:
        return None
    named = {name: state.get(name) for name in (*_TEXTS, "model") if state.get(name) not in (None, "")}
    written = {**named, **state.address, **(_current_cell()[0] if state.page in _HEAD_PAGES else {})}
    try:
        return read_link(f"/{'' if state.page == 'home' else state.page}?{urlencode(written, doseq=True)}")
    except AttnvizError:
        return None


def _current_cell() -> tuple[dict[str, str], tuple[str, str]]:
    """Return the head and cell that the page shows, as its address would name them, and the two words; empty: it shows none."""
    page, place, names = st.session_state.get("shown_picture", ("", {}, ("", "")))
    return (place, names) if page == st.session_state.page else ({}, ("", ""))


def _questions(picture: LessonPicture) -> Iterator[SpotQuestion]:
    source = PageSource()
    if picture.page in _HEAD_PAGES:
        result = source.result(picture)
        layer, head = picture.head(result.card)
        only = result.card.n_layers == result.card.n_heads == 1
        name = "this model" if only else f"head {head} of layer {layer}" if head is not None else f"layer {layer}"
        yield from _of_words(picture, picture.matrix(result), name, only)
        if picture.page == "translate" and head is not None and not only and not picture.edits:
            off = Edits((HeadSet("cross", layer, head, "zero"),))
            without = read_link(f"{picture.address}&{urlencode({'edits1': off.text})}")
            yield _spot("output", f"What does the model write without {name}?", without)
    if picture.page == "write":
        shares = next_shares(LessonQuestion("next", "", {}, 0), source.result(picture))
        which = _spot("next", "Which word comes next?", picture, choices=tuple(sorted(shares[0][:4], key=str.casefold)))
        if _has_answer(which):
            yield which
    if TASKS[picture.page] in ("translate", "answer"):
        verb = "write" if picture.page == "translate" else "answer"
        yield _spot("output", f"What does the model {verb}?", picture)


def _of_words(picture: LessonPicture, matrix: HeadMatrix, name: str, only: bool) -> Iterator[SpotQuestion]:
    """Questions about the word that looks, and the one that it looks at, as the page shows them."""
    one, other = _current_cell()[1]
    row, column = word_at(one, matrix.queries), word_at(other, matrix.keys)
    yield _spot("token", f"Which word does “{one}” look at most, in {name}?", picture, **{"from": one})
    yield _spot("number", f"How much does “{one}” look at “{other}”, in {name}?", picture, **{"from": one, "to": other})
    if not only:
        which = _spot("head", f"Which head sends “{one}” mostly to “{other}”?", picture, **{"from": one, "to": other})
        if _has_answer(which):
            yield which
    yield _spot(
        "choice", f"True or false: in {name}, “{one}” looks mostly at “{other}”.", picture, choices=("true", "false"),
        answer="true" if matrix.weights[row, column] >= MOSTLY else "false", **{"from": one, "to": other},
    )  # fmt: skip


def _has_answer(spot: SpotQuestion) -> bool:
    """Tell whether some head does what is asked, and not most of them."""
    try:
        truth_of(spot.question, spot.picture, PageSource())
    except LessonError:
        return False
    return True


def _spot(kind: str, ask: str, picture: LessonPicture, **fields: str | tuple[str, ...]) -> SpotQuestion:
    return SpotQuestion(LessonQuestion(kind, ask, fields, 0), picture)


# Pages whose picture a class can be asked about, or from which it begins.
ASKED = ("home", "encode", "translate", "answer", "summarize", "write", "lessons")


def ask_popover() -> None:
    """Draws at the end of the toolbar the way to a class, with what it can be asked about this picture."""
    place = toolbar_place()
    if place is None or st.session_state.page not in ASKED:
        return
    with place.popover("Class", icon=":material/groups:", key="ask-class"):
        if taught_class() is None:
            st.caption("Your class guesses on phones, and the guesses come back onto the picture.")
            st.button("Start a class", key="start-class", icon=":material/groups:", on_click=start_class)
            st.html('<a class="class-join" href="./?join" target="_blank">Join a class</a>')
            return
        # Imported here: most visits teach no class.

        for number, each in enumerate(questions_here()):
            st.button(each.question.ask, key=f"ask-{number}", on_click=ask_class, args=(each,))
        st.button("Open the class", key="open-class", type="tertiary", icon=":material/groups:", on_click=open_class)
