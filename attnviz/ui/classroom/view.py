"""The page of a class: what stands on the wall, and what its teacher does."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import segno
import streamlit as st
from streamlit.components.v2 import component

from attnviz import settings
from attnviz.analysis.head_view import HeadMatrix, word_at
from attnviz.analysis.wording import MOSTLY, counted
from attnviz.core.edits import Edits, HeadSet
from attnviz.core.errors import AttnvizError, BusyError, ClassError, LessonError
from attnviz.figures.html import bundle
from attnviz.figures.theme import css_variables
from attnviz.lessons.classroom.class_values import (
    AnswerKey,
    ClassOverview,
    ClassQuestion,
    QuestionPlace,
    StartedClass,
    class_comment,
    class_numbers,
    class_question,
    class_report,
    class_sentence,
    covered,
    made_up,
    next_question,
)
from attnviz.lessons.classroom.codes_and_nicknames import read_code
from attnviz.lessons.lesson_file import Lesson, LessonQuestion
from attnviz.lessons.library import SENT, ordered
from attnviz.lessons.picture_link import TASKS, LessonPicture, read_link
from attnviz.lessons.question_kinds import next_shares, truth_of
from attnviz.ui.address.address_sync import Going, fold, forget, link, pop_state, sent, value, visit
from attnviz.ui.classroom.phone_page import STYLE
from attnviz.ui.classroom.phone_requests import TOO_MANY, starts, wrong_codes
from attnviz.ui.classroom.running_class import class_store, store_place
from attnviz.ui.frame.toolbar import network_address, toolbar_place
from attnviz.ui.layout import escaped, theme
from attnviz.ui.lessons import PageSource, lesson_named, offered_lessons, place_of, show_cards

_COOKIE = "attnviz-class"
_TOKEN = re.compile(r"[\w-]{1,100}", re.ASCII)
_KEEP = component(
    "attnviz.class-cookie", html="<div></div>", js=Path(__file__).with_name("cookie.js").read_text(encoding="utf-8")
)


def taught_class() -> StartedClass | None:
    """Return the class that this visitor has started, or opened by the teacher's link; None: there is none."""
    state = st.session_state
    if "taught_class" not in state:
        written = dict(st.context.cookies).get(_COOKIE, "")
        state.taught_class = read_taught(written) if written else None
    return state.taught_class


def read_taught(written: str) -> StartedClass | None:
    """Read what the cookie or a teacher's link holds: the code, the invitation and the secret.

    >>> read_taught("KRTF.abc.def").code, read_taught("KRTF.abc")
    ('KRTF', None)
    """
    code, *tokens = written.split(".")
    if len(tokens) != 2 or not read_code(code) or not all(map(_TOKEN.fullmatch, tokens)):
        return None
    return StartedClass(read_code(code), *tokens)


def write_taught(taught: StartedClass) -> str:
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
    """Opens the page of the class that is taught here, with the lesson that runs now, or ran there before; for a callback."""
    if taught := taught_class():
        before = st.session_state.get("visits", {}).get("class", {})
        lesson = st.session_state.address.get("lesson") or before.get("teaches")
        visit("class", **{"class": taught.code, "teaches": lesson})


# What the address of a page leaves out where it is the page's own first example, or a choice that a model has made.
_TEXTS = ("text", "question", "passage", "pair")
_HEAD_PAGES = ("home", "encode", "translate")


@dataclass(frozen=True)
class SpotQuestion:
    """A question that can be asked now, with the picture that it is about.

    place  of one that a lesson asks
    after  the number of the class's question behind which alone it is asked; None: behind any
    """

    question: LessonQuestion
    picture: LessonPicture | None
    place: QuestionPlace | None = None
    after: int | None = None

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
    if st.session_state.page != "class":
        pop_state("class_question")
    if place is None or st.session_state.page not in ASKED:
        return
    with place.popover("Class", icon=":material/groups:", key="ask-class"):
        if taught_class() is None:
            st.caption("Your class guesses on phones, and the guesses come back onto the picture.")
            st.button("Start a class", key="start-class", icon=":material/groups:", on_click=start_class)
            st.html('<a class="class-join" href="./?join" target="_blank">Join a class</a>')
            return
        for number, each in enumerate(questions_here()):
            st.button(escaped(each.question.ask), key=f"ask-{number}", on_click=ask_class, args=(each,))
        st.button("Open the class", key="open-class", type="tertiary", icon=":material/groups:", on_click=open_class)


_FOLDER = Path(__file__).parent
_KEYS = component("attnviz.class-keys", html="<div></div>", js=(_FOLDER / "clicker_keys.js").read_text(encoding="utf-8"))
_STYLE = STYLE + (_FOLDER / "projector_view" / "projector.css").read_text(encoding="utf-8")
_WALL = component(
    "attnviz.class-wall", html='<main id="phone"></main>', css=_STYLE, js=bundle(_FOLDER / "projector_view" / "projector.js")
)
# Seconds between two looks at who has answered.
LOOK = 1.0
NO_LESSON = "No lesson"
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def show_start() -> None:
    """Show what a teacher sees before the class: whether phones get here, the lesson, what is kept, and the start."""
    if refused := pop_state("class_refused"):
        st.error(escaped(refused), icon=":material/groups:")
    st.markdown(
        "Your class guesses on phones what a head looks at, and the guesses come back onto the picture. Students need no "
        "account and no name: they scan a code on the wall, or open **/join** and type four letters."
    )
    _show_reach()
    if value("teaches"):
        _show_lesson_choice()
    nicknames = st.checkbox("Ask for nicknames", key="class_nicknames")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Start a class", key="class-start", type="primary", icon=":material/groups:",
                  on_click=start_class, kwargs={"nicknames": nicknames})  # fmt: skip
        st.html('<a class="class-join" href="./?join" target="_blank">Join a class</a>')
    if lesson := _chosen_lesson():
        show_plan(*lesson)
    else:
        st.markdown(
            "**Lessons for a class.** Choose one to see its questions, which you then ask one after the other. Without one you "
            "ask about any picture: press **Class** above it."
        )
        show_cards(lambda name, _: _choose_lesson(name))
    with st.expander("What is kept, and where", icon=":material/database:"):
        st.markdown(
            f"Of each student a number, the answers with the seconds that they took, and a nickname if you ask for one; of the "
            f"class its code and its questions. They are in {escaped(store_place())}, for 24 hours, or until you delete them. "
            "Phones keep their own answer. Nothing else leaves this server."
        )


def _show_reach() -> None:
    """Say whether phones reach this app; if not, how it has to be started."""
    origin = _origin()
    if urlsplit(origin).hostname in _THIS_MACHINE:
        st.warning(
            "**Phones do not reach this app by this address**: it leads to it on this machine only. Start it with "
            "`attnviz --host 0.0.0.0`, and open this page again; in a container, open it by the machine's address in the "
            "network. Phones have to be in the same network.",
            icon=":material/wifi_off:",
        )  # fmt: skip
    else:
        st.success(
            f"Phones open `{urlsplit(origin).netloc}/join`. Try it with your own before the class.", icon=":material/wifi:"
        )


def _show_lesson_choice() -> None:
    """Offer one lesson, whose questions are asked one after the other; or none, and questions about any picture."""
    chosen, listed = value("teaches", NO_LESSON), offered_lessons()
    names = ordered(listed) + ([chosen] if chosen.startswith(SENT) else [])
    with st.popover(f"Lesson: {escaped(_lesson_title(chosen))}", icon=":material/school:", key="class-lessons"):
        for name in (NO_LESSON, *names):
            title = escaped(_lesson_title(name))
            st.button(title, key=f"class-lesson-{name}", type="tertiary", on_click=_choose_lesson, args=(name,))


def _choose_lesson(name: str) -> None:
    """Makes a lesson the one that is asked; for a callback. The address holds it."""
    pop_state("class_preview")
    if name == NO_LESSON:
        st.session_state.address.pop("teaches", None)
    else:
        st.session_state.address["teaches"] = name


def _chosen_lesson() -> tuple[str, Lesson] | None:
    name = value("teaches", NO_LESSON)
    try:
        return None if name == NO_LESSON else (name, lesson_named(name))
    except AttnvizError as error:
        st.warning(escaped(error), icon=":material/school:")
        return None


def show_plan(name: str, lesson: Lesson) -> None:
    """Show a teacher a lesson before it begins: how long it takes, for whom, its questions with their answers."""
    with st.container(key="class-plan"):
        facts = [counted(lesson.minutes, "minute"), counted(len(class_numbers(lesson)), "question")]
        facts += [f"for {lesson.audience}"] if lesson.audience else []
        st.markdown(f"**{escaped(lesson.title)}** · {escaped(' · '.join(facts))}")
        st.caption(f"Pupils need to know: {escaped(lesson.needs or 'nothing')}.")
        if not lesson.reveals:
            st.caption(
                "Nobody is told what is right: the wall reveals nothing, and you find the answers in the table of the class."
            )
        folded = fold("Its questions, with their answers", "plan", ":material/key:")
        if folded.open:
            with folded:
                for number in class_numbers(lesson):
                    _show_planned(QuestionPlace(name, lesson, number))
        if number := st.session_state.get("class_preview"):
            _show_preview(QuestionPlace(name, lesson, number))


def _show_planned(place: QuestionPlace) -> None:
    try:
        truth = truth_of(place.question, place.step.picture, PageSource())
        answer = f"**{escaped(truth.in_words)}** {escaped(truth.sentence)}"
        said = answer if truth.answer else "Answered in words; nobody grades it."
    except AttnvizError as error:
        said = escaped(error)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{place.number} {escaped(place.question.ask)}  \n{said}")
        st.button("Preview the wall", key=f"class-preview-{place.number}", type="tertiary",
                  on_click=st.session_state.update, kwargs={"class_preview": place.number})  # fmt: skip


def _show_preview(place: QuestionPlace) -> None:
    """Draw the wall of a question, before or after its reveal, with guesses that are made up."""
    revealed = st.toggle(
        f"Wall of question {place.number}: after the reveal", key="class_preview_revealed", disabled=not place.lesson.reveals
    )
    try:
        question, key = _question_and_key(SpotQuestion.of(place))
    except AttnvizError as error:
        st.error(escaped(error), icon=":material/groups:")
        return
    with st.container(border=True, key="class-preview-wall"):
        _draw_wall("class-wall-preview", made_up(question, key, revealed=revealed), mark="Made-up guesses")


def class_here() -> tuple[str, StartedClass | None]:
    """Return the code of the class that the address names, else of the one taught here; and its teacher, if this visitor is."""
    if written := value("teach", ""):
        _take_secret(written)
    taught = taught_class()
    code = read_code(value("class", "")) or (taught.code if taught else "")
    return code, taught if taught and taught.code == code else None


def _take_secret(written: str) -> None:
    """Make this visitor the teacher that a link names, and open the page again without the secret in its address.

    A projected address bar, a copied link and the QR code of a link show what stands in the address.
    """
    if (linked := read_taught(written)) and linked != taught_class():
        try:
            class_store().overview(linked.code, linked.secret)
        except AttnvizError as error:
            st.session_state.class_refused = str(error)
        else:
            st.session_state.taught_class = linked
            note_trusted(linked.code)
    forget("teach")
    st.session_state.going = Going("class", link(), replace=True)
    st.rerun()


def show_class(code: str, teacher: StartedClass | None) -> None:
    """Show the wall, and for its teacher what can be done next."""
    # Always there: where the wall stands must not hang on what a model says on its way, or it would stand there twice.
    with st.container(key="class-asking"):
        if teacher and (asked := st.session_state.get("class_question")):
            try:
                _ask(teacher, asked)
            finally:
                # A run that is overtaken, such as by Present, ends at this line: the question stays, and the next run asks it.
                pop_state("class_question")
    # Kept beside the wall, which is drawn anew every second: a visitor has to have the time to read it.
    st.session_state.wall_refused = pop_state("class_refused")
    keep_taught()
    _KEYS(key="class-keys", data=[])
    _wall(code, teacher)


@st.fragment(run_every=LOOK)
def _wall(code: str, teacher: StartedClass | None) -> None:
    if any(name in st.session_state for name in ("going", "class_question", "class_refused")):
        st.rerun()
    if refused := st.session_state.wall_refused:
        st.error(escaped(refused), icon=":material/groups:")
    try:
        overview = _overview(code, teacher)
    except AttnvizError as error:
        st.warning(escaped(error), icon=":material/groups:")
        if teacher:
            _offer_another()
        return
    where, joins = _join_address(code, teacher)
    qr = segno.make(joins, micro=False).svg_data_uri(border=2, light="#fff", omitsize=True)
    upcoming = _next_of_lesson(teacher) if teacher and overview.state != "ended" else None
    _draw_wall("class-wall", overview, where=where, qr=qr, keys=_keys(overview, upcoming) if teacher else [])
    if teacher:
        _show_controls(overview, teacher, upcoming)


def _draw_wall(
    key: str, overview: ClassOverview, *, where: str = "", qr: str = "", keys: Sequence[str] = (), mark: str = ""
) -> None:
    """Draw what a class sees; of a lesson the step's text and its picture as well."""
    step, picture = overview.question.step if overview.question else None, overview.picture
    record = {
        "view": overview.for_phones(), "here": overview.here, "answered": overview.answered, "where": where, "qr": qr,
        "sentence": class_sentence(overview), "said": class_comment(overview), "scale": theme().scale, "keys": list(keys),
        "step": step and {name: getattr(step, name) for name in ("place", "title", "prose", "hint", "head")},
        "picture": picture and asdict(picture), "mark": mark,
    }  # fmt: skip
    st.html(f"<style>:root {{ {css_variables(theme())} }}</style>")
    _WALL(key=key, data=[record], on_refused_change=_note_front)


def _keys(overview: ClassOverview, upcoming: SpotQuestion | None) -> list[str]:
    """List what the teacher may press now."""
    can_reveal, hint = _can_reveal(overview), overview.question and overview.question.step.hint
    keys = {"Space: reveal": can_reveal, "H: a hint": hint and overview.state in ("open", "closed"), "→: next": upcoming}
    return [key for key, is_there in keys.items() if is_there]


def _can_reveal(overview: ClassOverview) -> bool:
    """Say whether there is an answer that the class may see: of a questionnaire only its teacher has them."""
    return overview.state in ("open", "closed") and overview.question is not None and overview.question.step.reveals


def _overview(code: str, teacher: StartedClass | None) -> ClassOverview:
    """Look at a class; whoever is not its teacher may try a wrong code as often as on a phone.

    Raises:
        AttnvizError: there is no such class, or too many wrong codes came from this address.
    """
    if teacher:
        return class_store().overview(code, teacher.secret)
    state, address = st.session_state, st.context.ip_address or ""
    if not wrong_codes.may_type(address, code):
        raise ClassError(TOO_MANY, "wait")
    try:
        return class_store().overview(code)
    except ClassError as error:
        # The wall looks every second: one code counts once.
        if error.reason == "unknown" and state.get("wrong_class") != code:
            state.wrong_class = code
            wrong_codes.count(address)
        raise


def _note_front() -> None:
    """Takes down that phones do not reach /join from where the wall is; for a callback."""
    if sent("class-wall", "refused"):
        st.session_state.class_front_refuses = True


def _show_controls(overview: ClassOverview, teacher: StartedClass, upcoming: SpotQuestion | None) -> None:
    """Show what the teacher can do next; page down presses the first button that is there."""
    with st.container(key="class-controls", horizontal=True):
        if can_reveal := _can_reveal(overview):
            _do("Reveal", "reveal", teacher, icon=":material/visibility:", primary=True)
        if overview.state == "open":
            _do("Close answers", "close", teacher, icon=":material/lock:")
        if upcoming and upcoming.place:
            number = upcoming.place.number
            # Each is a button of its own: a second press on one asks nothing more, and not the question behind it.
            with st.container(key="class-next", width="content"):
                # By its number alone, without a tooltip: the class does not read the next question before it is asked. It is
                # asked in the run that follows, where a model may be loaded.
                st.button(f"Ask question {number}", key=f"class-ask-{number}", type="secondary" if can_reveal else "primary",
                          on_click=st.session_state.update,
                          kwargs={"class_question": replace(upcoming, after=overview.number)})  # fmt: skip
        link = overview.key.link if overview.key else overview.question.step.link if overview.question else ""
        if overview.state == "ended":
            _offer_another()
        elif link:
            st.button("Show the picture", key="class-picture", icon=":material/grid_on:", on_click=_open_picture,
                      args=(link,))  # fmt: skip


def _offer_another() -> None:
    st.button("Start another class", key="class-again", icon=":material/groups:", on_click=start_class)


def _do(label: str, action: str, teacher: StartedClass, *, icon: str, primary: bool = False) -> None:
    def act() -> None:
        st.session_state.wall_refused = ""
        try:
            getattr(class_store(), action)(teacher.code, teacher.secret)
        except AttnvizError as error:
            st.session_state.wall_refused = str(error)

    st.button(label, key=f"class-{action}", icon=icon, type="primary" if primary else "secondary", on_click=act)


def show_management(teacher: StartedClass) -> None:
    """Below the wall: which lesson is asked, the teacher's link, what was answered, and the end."""
    _show_lesson_choice()
    _show_written(teacher)
    with st.expander("This class", icon=":material/groups:"):
        st.markdown(
            "On any page, **Class** above the picture asks about that picture. Page down, on a keyboard or a clicker, reveals, "
            "and then asks the next question of the lesson."
        )
        st.code(f"{_origin()}/class?class={teacher.code}&teach={write_taught(teacher)}", language=None)
        st.caption("The teacher's link: it opens this class as its teacher on another machine. Keep it to yourself.")
        with st.container(horizontal=True):
            if not _has_ended(teacher):
                _do("End the class", "end", teacher, icon=":material/stop_circle:")
            _do("Delete all answers", "delete", teacher, icon=":material/delete:")
            _do("Remove phones that never answered", "remove_silent", teacher, icon=":material/person_remove:")
            st.button("Leave", key="class-leave", icon=":material/logout:", type="tertiary",
                      on_click=st.session_state.update, kwargs={"taught_class": None})  # fmt: skip
        st.caption("A class ends by itself after a day, and is deleted with its answers.")


def _has_ended(teacher: StartedClass) -> bool:
    try:
        return class_store().overview(teacher.code, teacher.secret).state == "ended"
    except AttnvizError:
        return True


def _lesson_title(name: str) -> str:
    try:
        return name if name == NO_LESSON else lesson_named(name).title
    except AttnvizError:
        return name


@st.fragment(run_every=LOOK)
def _show_written(teacher: StartedClass) -> None:
    """Show what the class has written in words: for its teacher alone, not for the wall."""
    try:
        overview = class_store().overview(teacher.code, teacher.secret)
    except AttnvizError:
        return
    if overview.question is None or overview.question.kind != "text" or not overview.results:
        return
    with st.expander("What was written", icon=":material/edit_note:"):
        st.html("".join(f'<p dir="auto">{html.escape(each.answer)}</p>' for each in overview.results))


def show_downloads(teacher: StartedClass) -> None:
    """Offer the class as a table, and as a page that one can keep, with every answer that is there when they are asked for."""
    store, code, secret = class_store(), teacher.code, teacher.secret
    try:
        store.overview(code, secret)
    except AttnvizError:
        return
    with st.popover("Download", icon=":material/download:", key="class-download"):
        st.download_button("Answers (CSV)", lambda: store.csv(code, secret), f"class-{code}.csv", "text/csv",
                           key="class-csv", on_click="ignore")  # fmt: skip
        st.download_button("Report (HTML)", lambda: class_report(code, store.history(code, secret)), f"class-{code}.html",
                           "text/html", key="class-html", on_click="ignore")  # fmt: skip


def _next_of_lesson(teacher: StartedClass) -> SpotQuestion | None:
    """Find the first question of the chosen lesson that the class has not been asked."""
    name = value("teaches", NO_LESSON)
    if name == NO_LESSON:
        return None
    try:
        lesson = lesson_named(name)
        steps = [each.question.step for each in class_store().history(teacher.code, teacher.secret)]
    except AttnvizError:
        return None
    number = next_question(lesson, {step.number for step in steps if step.lesson == name})
    return SpotQuestion.of(QuestionPlace(name, lesson, number)) if number else None


def _question_and_key(spot: SpotQuestion) -> tuple[ClassQuestion, AnswerKey]:
    """Build a question for a class with its key, without the words that the school does not show."""
    question, key = class_question(spot.question, spot.picture, PageSource(), spot.place)
    return covered(question, key, settings.words("ATTNVIZ_BLOCKED_WORDS"))


def _ask(teacher: StartedClass, spot: SpotQuestion) -> None:
    try:
        if spot.after not in (None, class_store().overview(teacher.code, teacher.secret).number):
            return
        question, key = _question_and_key(spot)
        class_store().ask(teacher.code, teacher.secret, question, key)
    except AttnvizError as error:
        st.error(escaped(error), icon=":material/groups:")


def _open_picture(link: str) -> None:
    parts = urlsplit(link)
    written = parse_qs(parts.query, keep_blank_values=True)
    visit(parts.path.strip("/") or "home", **{name: each if len(each) > 1 else each[0] for name, each in written.items()})


def _origin() -> str:
    """Return the origin where phones reach this app: ATTNVIZ_ADDRESS, else the page's own, or for localhost the network's."""
    if known := settings.address():
        return known
    parts = urlsplit(st.context.url or "http://localhost")
    here = f"{parts.scheme}://{parts.netloc}"
    return network_address(here).rstrip("/") or here if parts.hostname in _THIS_MACHINE else here


def _join_address(code: str, teacher: StartedClass | None) -> tuple[str, str]:
    """Return what is typed to join, and the address that the QR code holds: of the phones' own page, or of the app's."""
    origin = _origin()
    invited = f"&invite={teacher.invite}" if teacher else ""
    page, query = ("?join", "?join=") if "class_front_refuses" in st.session_state else ("join", "join?code=")
    return f"{urlsplit(origin).netloc}/{page}", f"{origin}/{query}{read_code(code)}{invited}"
