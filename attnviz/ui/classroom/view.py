"""The page of a class: what stands on the wall, and what its teacher does."""

import html
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import segno
import streamlit as st
from streamlit.components.v2 import component

from attnviz.core.errors import AttnvizError
from attnviz.figures.javascript import bundle
from attnviz.lessons.classroom.class_values import ClassOverview, StartedClass
from attnviz.lessons.classroom.codes import read_code
from attnviz.lessons.classroom.from_lesson import class_question, next_question
from attnviz.lessons.classroom.report import class_report
from attnviz.lessons.classroom.wording import class_sentence
from attnviz.lessons.library import SENT
from attnviz.ui.address.address_sync import value, visit
from attnviz.ui.address.widgets import dropdown, sent
from attnviz.ui.classroom.ask import SpotQuestion
from attnviz.ui.classroom.phone_page import colours
from attnviz.ui.classroom.store import class_store
from attnviz.ui.classroom.teacher import forget_class, keep_taught, read_taught, start_class, taught_class
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.frame.qr_code import network_address
from attnviz.ui.layout import theme
from attnviz.ui.lessons.place import lesson_named, offered_lessons
from attnviz.ui.lessons.source import PageSource

_FOLDER = Path(__file__).parent
_KEYS = component("attnviz.class-keys", html="<div></div>", js=(_FOLDER / "clicker_keys.js").read_text(encoding="utf-8"))
_STYLE = "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("phone/phone.css", "projector_view/projector.css"))
_WALL = component(
    "attnviz.class-wall", html='<main id="phone"></main>', css=_STYLE, js=bundle(_FOLDER / "projector_view" / "projector.js")
)
# Seconds between two looks at who has answered.
LOOK = 1.0
NO_LESSON = "No lesson"


def show_start() -> None:
    """What a visitor sees who is in no class."""
    if refused := st.session_state.pop("class_refused", ""):
        st.error(escaped(refused), icon=":material/groups:")
    st.markdown(
        "Start a class, and a code appears for the wall. Students open **/join** on their phones and type it: no account, no "
        "name. Ask them what a head looks at, and their guesses come back onto the picture."
    )
    nicknames = st.checkbox("Ask for nicknames", key="class_nicknames")
    with st.container(horizontal=True):
        st.button("Start a class", key="class-start", type="primary", icon=":material/groups:",
                  on_click=start_class, kwargs={"nicknames": nicknames})  # fmt: skip
        st.html('<a class="class-join" href="./?join" target="_blank">Join a class</a>')


def class_here() -> tuple[str, StartedClass | None]:
    """The code of the class that the address names, else of the one taught here; and its teacher, if that is this visitor."""
    if (linked := read_taught(value("teach", ""))) and linked != taught_class():
        try:
            class_store().overview(linked.code, linked.secret)
        except AttnvizError as error:
            st.session_state.class_refused = str(error)
        else:
            st.session_state.taught_class = linked
    taught = taught_class()
    code = read_code(value("class", "")) or (taught.code if taught else "")
    return code, taught if taught and taught.code == code else None


def show_class(code: str, teacher: StartedClass | None) -> None:
    """The wall, and for its teacher what can be done next."""
    # Always there: where the wall stands must not hang on what a model says on its way, or it would stand there twice.
    with st.container(key="class-asking"):
        if teacher and (asked := st.session_state.pop("class_question", None)):
            _ask(teacher, asked)
    # Kept beside the wall, which is drawn anew every second: a visitor has to have the time to read it.
    st.session_state.wall_refused = st.session_state.pop("class_refused", "")
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
        overview = class_store().overview(code, teacher.secret if teacher else None)
    except AttnvizError as error:
        st.warning(escaped(error), icon=":material/groups:")
        if teacher:
            st.button("Start another class", key="class-again", on_click=start_class)
        return
    where, joins = _join_address(code, teacher)
    record = {
        "view": overview.for_phones(), "here": overview.here, "answered": overview.answered, "where": where,
        "qr": segno.make(joins, micro=False).svg_data_uri(border=2, light="#fff", omitsize=True),
        "sentence": class_sentence(overview), "scale": theme().scale,
    }  # fmt: skip
    st.html(f"<style>:root {{ {colours(theme())} }}</style>")
    _WALL(key="class-wall", data=[record], on_refused_change=_note_front)
    if teacher:
        _show_controls(overview, teacher)


def _note_front() -> None:
    """Takes down that phones do not reach /join from where the wall is; for a callback."""
    if sent("class-wall", "refused"):
        st.session_state.class_front_refuses = True


def _show_controls(overview: ClassOverview, teacher: StartedClass) -> None:
    """What the teacher does next; page down presses the first button that is there."""
    with st.container(key="class-controls", horizontal=True):
        if overview.state in ("open", "closed"):
            _do("Reveal", "reveal", teacher, icon=":material/visibility:", primary=True)
        if overview.state == "open":
            _do("Close answers", "close", teacher, icon=":material/lock:")
        if overview.state != "ended" and (upcoming := _next_of_lesson(teacher)):
            number, asked = upcoming
            kind = "secondary" if overview.state in ("open", "closed") else "primary"
            # The class does not read the next question before it is asked.
            st.button(f"Ask question {number}", key="class-next", type=kind, help=escaped(asked.question.ask),
                      on_click=_ask_later, args=(asked,))  # fmt: skip
        if overview.key and overview.key.link:
            st.button("Show the picture", key="class-picture", icon=":material/grid_on:", on_click=_open_picture,
                      args=(overview.key.link,))  # fmt: skip


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
    chosen = value("teaches", "")
    sent = (chosen,) if chosen.startswith(SENT) else ()
    options = (NO_LESSON, *offered_lessons(), *sent)
    dropdown(st.container(), "Ask the questions of a lesson", "teaches", options=options, format_func=_lesson_title)
    _show_written(teacher)
    with st.expander("This class", icon=":material/groups:"):
        st.markdown(
            "On any page, **Class** above the picture asks about that picture. Page down, on a keyboard or a clicker, reveals, "
            "and then asks the next question of the lesson."
        )
        st.code(f"{_origin()}/class?class={teacher.code}&teach={teacher.code}.{teacher.invite}.{teacher.secret}", language=None)
        st.caption("The teacher's link: it opens this class as its teacher on another machine. Keep it to yourself.")
        with st.container(horizontal=True):
            _do("End the class", "end", teacher, icon=":material/stop_circle:")
            _do("Delete all answers", "delete", teacher, icon=":material/delete:")
            st.button("Leave", key="class-leave", icon=":material/logout:", type="tertiary", on_click=forget_class)
        st.caption("A class ends by itself after a day, and is deleted with its answers.")


def _lesson_title(name: str) -> str:
    try:
        return name if name == NO_LESSON else lesson_named(name).title
    except AttnvizError:
        return name


def _show_written(teacher: StartedClass) -> None:
    """What the class has written in words: for its teacher alone, not for the wall."""
    try:
        overview = class_store().overview(teacher.code, teacher.secret)
    except AttnvizError:
        return
    if overview.question is None or overview.question.kind != "text" or not overview.results:
        return
    with st.expander("What was written", icon=":material/edit_note:"):
        st.html("".join(f'<p dir="auto">{html.escape(each.answer)}</p>' for each in overview.results))


def show_downloads(teacher: StartedClass) -> None:
    """The class as a table, and as a page that one can keep."""
    try:
        table = class_store().csv(teacher.code, teacher.secret)
        history = class_store().history(teacher.code, teacher.secret)
    except AttnvizError:
        return
    name = f"class-{teacher.code}"
    with st.popover("Download", icon=":material/download:", key="class-download"):
        st.download_button("Answers (CSV)", table, f"{name}.csv", "text/csv", key="class-csv", on_click="ignore")
        st.download_button("Report (HTML)", class_report(teacher.code, history), f"{name}.html", "text/html",
                           key="class-html", on_click="ignore")  # fmt: skip


def _next_of_lesson(teacher: StartedClass) -> tuple[str, SpotQuestion] | None:
    """The first question of the chosen lesson that the class has not been asked, with its number."""
    name = value("teaches", NO_LESSON)
    if name == NO_LESSON:
        return None
    try:
        lesson = lesson_named(name)
    except AttnvizError:
        return None
    asked = (each.question.ask for each in class_store().history(teacher.code, teacher.secret))
    upcoming = next_question(lesson, asked)
    return upcoming and (upcoming[0], SpotQuestion(upcoming[2], upcoming[1].picture))


def _ask_later(asked: SpotQuestion) -> None:
    """Asks in the run that follows, where a model may be loaded; for a callback."""
    st.session_state.class_question = asked


def _ask(teacher: StartedClass, asked: SpotQuestion) -> None:
    try:
        question, key = class_question(asked.question, asked.picture, PageSource())
        class_store().ask(teacher.code, teacher.secret, question, key)
    except AttnvizError as error:
        st.error(escaped(error), icon=":material/groups:")


def _open_picture(link: str) -> None:
    parts = urlsplit(link)
    written = parse_qs(parts.query, keep_blank_values=True)
    visit(parts.path.strip("/") or "home", **{name: each if len(each) > 1 else each[0] for name, each in written.items()})


def _origin() -> str:
    """Where phones reach this app, without a page; on this machine's own address, that of its network."""
    parts = urlsplit(st.context.url or "http://localhost")
    here = f"{parts.scheme}://{parts.netloc}"
    return network_address(here).rstrip("/") or here if parts.hostname in ("localhost", "127.0.0.1", "::1") else here


def _join_address(code: str, teacher: StartedClass | None) -> tuple[str, str]:
    """What is typed to join, and the address that the QR code holds: of the phones' own page, or of the app's."""
    origin = _origin()
    invited = f"&invite={teacher.invite}" if teacher else ""
    page, query = ("?join", "?join=") if "class_front_refuses" in st.session_state else ("join", "join?code=")
    return f"{urlsplit(origin).netloc}/{page}", f"{origin}/{query}{read_code(code)}{invited}"
