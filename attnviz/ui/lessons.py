"""A lesson beside a page: the visitor's place and answers in the address, the panel, the hidden picture, what is handed in."""

import html
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import streamlit as st
from streamlit.components.v2 import component

from attnviz import settings
from attnviz.analysis.head_view import HeadView, word_at, word_names
from attnviz.analysis.wording import counted, head_name
from attnviz.core.errors import AttnvizError, LessonError
from attnviz.core.sampling import WritingOptions
from attnviz.core.trace import AttentionMap, Prompt, Shares
from attnviz.figures.lessons.question import SCRIPT, STYLE
from attnviz.lessons.hand_in import LONGEST_NAME, HandIn, file_name, read_answers, write_answers, write_hand_in
from attnviz.lessons.lesson_file import HANDED_IN, HOW_IT_GOES, LARGEST, Lesson, LessonQuestion, LessonStep, prose_html
from attnviz.lessons.library import SENT, lessons_of, ordered, read_named, read_sent
from attnviz.lessons.picture_link import LONGEST_ANSWER, GivenAnswer, LessonPicture, open_question
from attnviz.lessons.question_kinds import (
    KINDS,
    QuestionForm,
    Truth,
    about,
    as_sentence,
    hidden_map,
    is_hidden,
    plain,
    points_of,
    question_form,
    truth_of,
)
from attnviz.models.base import GREEDY, AttentionModel, Progress
from attnviz.models.result import Options, Result
from attnviz.pages_and_addresses import LESSON, Written, read_parameter, renamed, write_parameter
from attnviz.ui.address.address_sync import Going, finish, peek, query_of, sent
from attnviz.ui.background.results import computed, in_quantity, run
from attnviz.ui.frame.toolbar import fill_toolbar
from attnviz.ui.layout import checked, escaped, file_uploader, header, hero

if TYPE_CHECKING:
    from attnviz.analysis.heads.verdict import ClaimResult

# Of all visitors together; a lesson is small.
LESSONS_KEPT = 64
_GONE = "This lesson was opened from a file, and is not kept here any more: open the file again on the page Lessons."


@dataclass(frozen=True)
class LessonPlace:
    """A lesson under its name in an address, a step of it from 1 (one more than there are: its end), and the answers so far."""

    name: str
    lesson: Lesson
    number: int
    answers: dict[str, GivenAnswer]

    @property
    def is_end(self) -> bool:
        return self.number > len(self.lesson.steps)

    @property
    def step(self) -> LessonStep:
        return self.lesson.steps[self.number - 1]

    @property
    def page(self) -> str:
        """The page that the step is about: that of its picture, else Lessons itself."""
        return "lessons" if self.is_end or self.step.picture is None else self.step.picture.page

    @property
    def hides(self) -> bool:
        """Whether the picture has to wait for an answer."""
        return not self.is_end and is_hidden(self.lesson, self.number, self.answers)


class SentLessons:
    """Lessons that teachers have sent, by their names, at most `most`.

    Where there are more, whoever sent the most loses the one that was opened longest ago: nobody's files push out another's.
    """

    def __init__(self, most: int = LESSONS_KEPT) -> None:
        self._most, self._lock = most, Lock()
        self._lessons: dict[str, tuple[Lesson, str, str]] = {}

    def keep(self, name: str, lesson: Lesson, address: str, visit: str) -> None:
        """Keep a lesson that a visit sent from an address of the network."""
        with self._lock:
            self._lessons.setdefault(name, (lesson, address, visit))
            if len(self._lessons) > self._most:
                addresses = Counter(each[1] for each in self._lessons.values())
                visits = Counter(each[1:] for each in self._lessons.values())
                # Of equal ones the first, which was opened longest ago.
                most = max(self._lessons, key=lambda each: (addresses[self._lessons[each][1]], visits[self._lessons[each][1:]]))
                del self._lessons[most]

    def find(self, name: str) -> Lesson | None:
        """Find a lesson; None: it is not kept, or not any more."""
        with self._lock:
            if (entry := self._lessons.pop(name, None)) is None:
                return None
            self._lessons[name] = entry
            return entry[0]


@st.cache_resource(show_spinner=False)
def _sent_lessons() -> SentLessons:
    return SentLessons()


def keep_sent(data: bytes, name: str) -> str:
    """Keep a lesson that a teacher sends; returns its name in an address.

    Raises:
        LessonError: something is wrong with it.
    """
    key, lesson = read_sent(data, name)
    visit = st.session_state.setdefault("lesson_sender", token_hex(8))
    _sent_lessons().keep(key, lesson, str(st.context.ip_address or ""), visit)
    return key


def offered_lessons() -> dict[str, Path]:
    """List the lessons that can be opened here by name: shipped ones, and those of the folder that ATTNVIZ_LESSONS names."""
    folder = settings.text("ATTNVIZ_LESSONS")
    return lessons_of(Path(folder) if folder else None)


def lesson_named(name: str) -> Lesson:
    """Find a lesson by its name in an address.

    Raises:
        LessonError: there is none, or something is wrong with it.
    """
    if not name.startswith(SENT):
        return read_named(name, offered_lessons())
    if (lesson := _sent_lessons().find(name)) is None:
        raise LessonError(_GONE)
    return lesson


def place_of(page: str) -> LessonPlace | None:
    """Find where the address of a page stands in a lesson, before the page is run; None: in none.

    Raises:
        LessonError: there is no such lesson.
    """
    written = peek(page)
    name, step, answers = (read_parameter(page, each, written.get(each)) for each in LESSON)
    if not name:
        return None
    lesson = lesson_named(name)
    given = read_answers(answers or "", lesson)
    _journal(name).update(given)
    return LessonPlace(name, lesson, min(step or 1, len(lesson.steps) + 1), given)


def _journal(name: str) -> dict[str, GivenAnswer]:
    """Return all answers that this visitor has given to a lesson: back and forward of the browser must lose none."""
    return st.session_state.setdefault("lesson_journal", {}).setdefault(name, {})


def address_of(place: LessonPlace, step: int) -> tuple[str, dict[str, Written]]:
    """Return the page and the address of a step, with every answer that was given."""
    there = LessonPlace(place.name, place.lesson, step, {**_journal(place.name), **place.answers})
    own: dict[str, Written] = {}
    if not there.is_end and (picture := there.step.picture):
        own = dict(parse_qs(urlsplit(picture.address).query, keep_blank_values=True))
        new = renamed(picture.page, list(own))
        own = {new.get(name, name): value for name, value in own.items()}
    lesson = {"lesson": place.name, "step": str(step)}
    if there.answers:
        lesson["answers"] = str(write_parameter(write_answers(there.answers)))
    if st.session_state.get("address", {}).get("present"):
        lesson["present"] = "true"
    return there.page, {**own, **lesson}


def go_to(place: LessonPlace, step: int, *, replace: bool = False) -> None:
    """Opens a step of the lesson; for a callback."""
    page, address = address_of(place, step)
    st.session_state.going = Going(page, query_of(address), replace)


def leave() -> None:
    """Ends the lesson: the page stays as it is; for a callback."""
    for name in LESSON:
        st.session_state.address.pop(name, None)


def give_answer(place: LessonPlace, number: str, text: str) -> None:
    """Takes an answer, or with an empty one asks for the right one; for a callback."""
    seconds = round(time.monotonic() - st.session_state.get("lesson_begun", {}).get((place.name, number), time.monotonic()))
    given = {**place.answers, number: GivenAnswer(text, seconds)}
    st.session_state.address.update(lesson=place.name, step=str(place.number), answers=write_parameter(write_answers(given)))


def begin(place: LessonPlace, number: str) -> None:
    """Notes when a question was first shown."""
    st.session_state.setdefault("lesson_begun", {}).setdefault((place.name, number), time.monotonic())


# What exactly is wrong stands above it.
_NOTHING = "The answer to this question cannot be computed here."


class PageSource:
    """Results that pages keep; what cannot be computed is said where it is asked for."""

    def result(self, picture: LessonPicture) -> Result:
        options: Options = WritingOptions(**picture.writing) if picture.writing else GREEDY
        result = run(picture.model, picture.task, picture.prompt, edits=picture.edits, options=options)
        if result is None:
            raise LessonError(_NOTHING)
        return in_quantity(result, picture.quantity)

    def verdict(self, model: str, claim: str) -> "ClaimResult":
        from attnviz.ui.background.corpus_results import claim_verdict

        if (tested := claim_verdict(model, claim)) is None:
            raise LessonError(_NOTHING)
        return tested.result

    def shares(self, picture: LessonPicture, method: str) -> Shares:
        if (computed := shares(picture.model, picture.prompt, method)) is None:
            raise LessonError(_NOTHING)
        return computed


def truth_at(place: LessonPlace, number: str) -> Truth:
    """Compute the right answer to a question that was answered, once in a visit.

    Raises:
        AttnvizError: it has none that can be taught, or cannot be computed here.
    """
    known: dict[tuple[str, str], Truth] = st.session_state.setdefault("lesson_truths", {})
    key = place.name, number
    if key not in known:
        _, step, question = next(each for each in place.lesson.questions if each[0] == number)
        known[key] = truth_of(question, step.picture, PageSource())
    return known[key]


def picked_answer(place: LessonPlace, number: str) -> str:
    """Return the word or the head that was clicked in the picture for this question; empty: none."""
    name, asked, answer = st.session_state.get("lesson_picked", ("", "", ""))
    return answer if (name, asked) == (place.name, number) else ""


def show_hidden_picture(place: LessonPlace, number: str, question: LessonQuestion, form: QuestionForm) -> None:
    """Draws what the picture shows besides the answer, where there is anything."""
    from attnviz.ui.explorer import show_heads

    picture = place.step.picture
    try:
        attention = _hidden(place)
    except AttnvizError:
        # The question has said it.
        return
    if picture is None or attention is None:
        return

    def pick(answer: str) -> None:
        st.session_state.lesson_picked = (place.name, number, answer)

    slot = "1" if place.page == "translate" else ""
    with st.container(key="lesson-hidden"):
        st.caption(f"This is the picture. The row of “{escaped(question.text('from'))}” is hidden until you have answered.")
        if about(question) == "heads":
            head = HeadView(0, 0, picture.view, True)
            show_heads(attention, head, lambda layer, chosen: pick(head_name(layer, chosen)), slot=slot)
        else:
            _show_rest(attention, picture, (question, form), pick, slot)


def _show_rest(
    attention: AttentionMap,
    picture: LessonPicture,
    asked: tuple[LessonQuestion, QuestionForm],
    pick: Callable[[str], None],
    slot: str,
) -> None:
    """Draw the head of the link, whose other rows show what it does."""
    from attnviz.ui.explorer import ShownHead, show_matrix

    question, form = asked
    result = PageSource().result(picture)
    layer, number = picture.head(result.card)
    head = HeadView(layer, number, picture.view, True)
    matrix = head.matrix(attention)
    row, names = word_at(question.text("from"), matrix.queries), word_names(matrix.keys)

    def on_cell(query: int, key: int) -> None:
        if query == row and form.kind == "token":
            pick(names[key])

    hidden = [at for at, seen in enumerate(matrix.visible) if not seen.any()]
    show_matrix(ShownHead(attention, head, matrix, (row, matrix.own[row] or 0)), on_cell, hidden_rows=hidden, slot=slot)


def _hidden(place: LessonPlace) -> AttentionMap | None:
    """Return the map of the step, the same in every run: what is drawn of it is kept as long as it is."""
    key = place.name, place.number
    known = st.session_state.get("lesson_hidden")
    if known is None or known[0] != key:
        known = st.session_state.lesson_hidden = (key, hidden_map(place.step, PageSource()))
    return known[1]


def answered_html(question: LessonQuestion, given: str, unanswered: str = "Not answered.") -> str:
    """Write a question with the answer that was given, and nothing that says whether it is right.

    >>> answered_html(LessonQuestion("token", "Which?", {}, 1), "a<b")
    '<div class="lesson-answer"><p dir="auto">Which?</p><p>You said “a&lt;b”.</p></div>'
    """
    said = html.escape(as_sentence(f"You said “{given}”")) if given else unanswered
    return f'<div class="lesson-answer"><p dir="auto">{html.escape(question.ask)}</p><p>{said}</p></div>'


def verdict_html(question: LessonQuestion, given: str, truth: Truth) -> str:
    """Write a question with its right answer, and how the one that was given was."""
    is_right = bool(given) and truth.accepts(given)
    right = truth.in_words
    answer = f"<strong>{html.escape(right)}</strong>{as_sentence(right)[len(right) :]}"
    said = f"The answer is {answer}"
    if is_right:
        is_same = plain(given) == plain(right)
        said = f"Right: {answer}" if is_same else f"Right: you said “{html.escape(given)}”, and it is {answer}"
    elif given:
        said = f"{html.escape(as_sentence(f'You said “{given}”'))} {said}"
    comment = question.text("right" if is_right else "wrong")
    parts = [f'<p dir="auto">{html.escape(question.ask)}</p>', f'<p class="said">{said}</p>']
    parts += [f'<p dir="auto">{html.escape(comment)}</p>'] * bool(comment)
    # It is English, whichever word it begins with.
    parts += [f"<p>{html.escape(truth.sentence)}</p>"] * bool(truth.sentence)
    kind = "right" if is_right else "wrong" if given else "shown"
    return f'<div class="lesson-answer {kind}">{"".join(parts)}</div>'


def show_end(place: LessonPlace) -> None:
    """Show the points, every answer, and the file with them."""
    summary = st.container()
    student = st.text_input("Your name, if your teacher wants it", key="lesson-student", max_chars=LONGEST_NAME)
    answers = {number: given.text for number, given in place.answers.items() if given.text}
    seconds = {number: float(given.seconds) for number, given in place.answers.items()}
    student = student.strip()[:LONGEST_NAME]
    data = write_hand_in(HandIn(place.lesson.name, answers, seconds, student))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button("Hand in", data, file_name(place.lesson.name, student), "application/json", key="lesson-hand-in",
                           icon=":material/download:", type="primary", on_click="ignore")  # fmt: skip
        st.caption("A small file with your answers. Give it to your teacher, or copy the same text from here:")
    with st.expander("As text", icon=":material/content_copy:"):
        st.code(data.decode("utf-8"), language=None)
    with summary:
        if place.lesson.reveals:
            _show_points(place)
        else:
            _show_answers(place)


def _show_points(place: LessonPlace) -> None:
    """Show how many points the answers make, and how each of them was; nothing of what was not answered."""
    made, most, parts = 0, 0, []
    for number, _, question in place.lesson.questions:
        if KINDS[question.kind].is_graded:
            most += points_of(question)
        if number not in place.answers:
            continue
        given = place.answers[number].text
        try:
            truth = truth_at(place, number)
        except AttnvizError as error:
            st.warning(escaped(error), icon=":material/school:")
            continue
        made += points_of(question) if given and truth.answer and truth.accepts(given) else 0
        parts.append(verdict_html(question, given, truth) if truth.answer else answered_html(question, given))
    _show_summary(place, f"{made} of {counted(most, 'point')}.", parts)


def _show_answers(place: LessonPlace) -> None:
    """Show what was answered, but not whether it was right."""
    given = [
        (question, place.answers[number].text) for number, _, question in place.lesson.questions if number in place.answers
    ]
    _show_summary(place, "Your teacher has the right answers.", [answered_html(question, text) for question, text in given])


def _show_summary(place: LessonPlace, sentence: str, answers: list[str]) -> None:
    left = sum(number not in place.answers for number, _, _ in place.lesson.questions)
    more = f" {counted(left, 'question is', 'questions are')} still open." if left else ""
    st.html(f'<p class="lesson-points">{sentence}{more}</p><div class="lesson-all">{"".join(answers)}</div>')


_SCRIPT = Path(__file__).with_name("lesson_keys_and_answers.js")
_KEYS = component("attnviz.lesson-keys", html="<div></div>", js=_SCRIPT.read_text(encoding="utf-8"))
_GUESS = component("attnviz.guess", html='<div class="guess"></div>', css=STYLE, js=SCRIPT)
_GUESS_FIRST = "Guess first: the picture comes when you have answered."


def run_in_lesson(page: str, title: str, run: Callable[[], None]) -> None:
    """Runs a page beside the step of its lesson; in its place draws what is guessed on, until that is answered."""
    try:
        place = None if "going" in st.session_state else place_of(page)
    except LessonError as error:
        st.error(escaped(error), icon=":material/school:")
        st.button("Leave the lesson", key="lesson-leave", on_click=leave)
        place = None
    if place is None:
        run()
    elif page == "lessons" != place.page:
        # A link that names only the lesson and its step.
        go_to(place, place.number, replace=True)
        run()
    else:
        _show_panel(place)
        if place.hides or page == "lessons":
            _show_step(place, page, title)
        else:
            run()


def _show_panel(place: LessonPlace) -> None:
    """Draw what stands beside the picture."""
    with st.container(key="lesson"):
        count = len(place.lesson.steps)
        where = "The end" if place.is_end else f"Step {place.number} of {count}"
        heading = "Hand in" if place.is_end else place.step.title
        intro = place.lesson.intro if place.number == 1 else ""
        prose = "" if place.is_end else prose_html("\n\n".join(filter(None, (intro, place.step.prose))))
        lang = html.escape(place.lesson.language, quote=True)
        title = html.escape(place.lesson.title)
        st.html(
            f'<div class="lesson-text" lang="{lang}" dir="auto"><p class="lesson-place">{title} · {where}</p>'
            f"<h2>{html.escape(heading)}</h2>{prose}</div>"
        )
        questions = st.container(key="lesson-questions")
        with st.container(key="lesson-steps", horizontal=True):
            st.button("Back", key="lesson-back", icon=":material/arrow_back:", disabled=place.number == 1,
                      on_click=go_to, args=(place, place.number - 1))  # fmt: skip
            if not place.is_end:
                st.button("Finish" if place.number == count else "Next", key="lesson-next", icon=":material/arrow_forward:",
                          type="secondary" if open_question(place.lesson, place.number, place.answers) else "primary",
                          on_click=go_to, args=(place, place.number + 1))  # fmt: skip
            st.button("Leave", key="lesson-leave", icon=":material/close:", type="tertiary", on_click=leave)
        with questions:
            _show_questions(place)
        # Last, when the step and how it was answered are there; answers to later steps go with it.
        data = [place.name, place.number, len(place.answers), write_answers(_journal(place.name))]
        _KEYS(key="lesson-keys", data=data, on_kept_change=lambda: _restore(place))


def _restore(place: LessonPlace) -> None:
    """Takes the answers that the tab has kept from before a reload; for a callback.

    They stand in the addresses of the steps from the next one on.
    """
    match sent("lesson-keys", "kept"):
        case [str(name), str(kept)] if name == place.name:
            journal = _journal(name)
            for number, answer in read_answers(kept, place.lesson).items():
                journal.setdefault(number, answer)


def _show_questions(place: LessonPlace) -> None:
    """Show how the answers of this step were; and ask the next question, unless it is asked in the picture's place."""
    if place.is_end:
        return
    for at, question in enumerate(place.step.questions, 1):
        number = f"{place.number}.{at}"
        if number not in place.answers:
            if not place.hides and place.page != "lessons":
                _ask(place, number, question)
            return
        given = place.answers[number].text
        is_secret = not place.lesson.reveals or (place.hides and bool(about(question)))
        if is_secret or not KINDS[question.kind].is_graded:
            waits = is_secret and place.lesson.reveals
            st.html(answered_html(question, given, "The answer comes with the picture." if waits else "Not answered."))
            continue
        try:
            st.html(verdict_html(question, given, truth_at(place, number)))
        except AttnvizError as error:
            st.html(answered_html(question, given))
            st.warning(escaped(error), icon=":material/school:")


def _ask(place: LessonPlace, number: str, question: LessonQuestion) -> None:
    """Show the question, its hint, and what it is answered with."""
    begin(place, number)
    hint = question.text("hint")
    folded = f'<details><summary>Hint</summary><div dir="auto">{html.escape(hint)}</div></details>' if hint else ""
    st.html(f'<div class="lesson-ask"><p dir="auto">{html.escape(question.ask)}</p>{folded}</div>')

    def given() -> None:
        match sent("lesson-guess", "given"):
            # A click that comes late may answer the question before.
            case [asked, str(text)] if asked == f"{place.name} {number}" and text.strip():
                give_answer(place, number, text.strip()[:LONGEST_ANSWER])

    form = checked(lambda: question_form(question, place.step.picture, PageSource()), icon="school")
    if form is not None:
        data = [f"{place.name} {number}", asdict(form), picked_answer(place, number), LONGEST_ANSWER]
        _GUESS(key="lesson-guess", data=data, on_given_change=given)
    is_told = place.lesson.reveals and KINDS[question.kind].is_graded
    label = "Show the answer" if is_told else "Go on without an answer"
    st.button(label, key="lesson-skip", type="tertiary", on_click=give_answer, args=(place, number, ""))
    if place.hides and form:
        show_hidden_picture(place, number, question, form)


def _show_step(place: LessonPlace, page: str, title: str) -> None:
    """Show in the picture's place the open question of the step; at the end of the lesson what is handed in."""
    header(page, title, "What you have answered." if place.is_end else _GUESS_FIRST if place.hides else "")
    with hero():
        if place.is_end:
            show_end(place)
        elif asked := open_question(place.lesson, place.number, place.answers):
            _ask(place, *asked)
        else:
            button = "Finish" if place.number == len(place.lesson.steps) else "Next"
            st.html(f'<p class="lesson-done">Every question of this step is answered: go on with {button}.</p>')
    fill_toolbar("Opens this step of the lesson, with your answers")
    finish()


_KEPT = (
    "Its links work as long as this app keeps the file: on this server, until it is started again. For links that last, "
    "put the file into the folder that `ATTNVIZ_LESSONS` names."
)


def _begin(name: str, lesson: Lesson) -> None:
    """Opens the first step of a lesson, or the one that this visitor has come to; for a callback."""
    go_to(LessonPlace(name, lesson, 1, {}), 1)


def show_cards(on_click: Callable[[str, Lesson], None] = _begin) -> None:
    """Draw a card for each lesson; a click gives it to `on_click`, with its name."""
    listed = offered_lessons()
    names = ordered(listed)
    wrong: list[str] = []
    with st.container(key="cards-lessons"):
        for name in names:
            try:
                lesson = _lesson(name, listed[name], listed[name].stat().st_mtime_ns)
            except (AttnvizError, OSError) as error:
                wrong.append(str(error))
            else:
                _card(name, lesson, on_click)
    for sentence in wrong:
        st.warning(escaped(sentence), icon=":material/school:")


@cache
def _lesson(name: str, path: Path, changed: int) -> Lesson:
    """Read a lesson, and again when its file has changed."""
    return read_named(name, {name: path})


def _card(name: str, lesson: Lesson, on_click: Callable[[str, Lesson], None]) -> None:
    with st.container(border=True, gap=None, key=f"card-lesson-{name}"):
        st.button(f"**{escaped(lesson.title)}**", key=f"open-lesson-{name}", type="tertiary", on_click=on_click,
                  args=(name, lesson))  # fmt: skip
        if lesson.audience:
            st.caption(f"For {escaped(lesson.audience)}.")
        st.caption(f":material/schedule: {escaped(lesson.facts)}")


def explain_lessons() -> None:
    """Explain how a lesson goes."""
    with st.expander("How a lesson goes", icon=":material/help:"):
        keys = "**Page down** and **page up** lead through the steps, as a clicker does."
        st.markdown(f"{HOW_IT_GOES} {keys} {HANDED_IN}")


def show_upload() -> None:
    """Draw a box for a lesson of one's own; what is wrong with it is one sentence with its line."""
    file_uploader("Open a lesson of your own (Markdown)", "md", "lesson-file", _take, "school", max_upload_size=1, help=_KEPT)


def _take(chosen: Any) -> None:
    """Reads the file, and opens its first step."""
    if chosen.size > LARGEST:
        raise LessonError(f"{chosen.name} has more than {LARGEST // 1000} kB: a lesson is text alone.")
    name = keep_sent(chosen.getvalue(), chosen.name)
    go_to(LessonPlace(name, lesson_named(name), 1, {}), 1)


@partial(computed, passes=15)
def shares(model: AttentionModel, progress: Progress, prompt: Prompt, method: str) -> Shares:
    """Measure what each word was worth to the output, by one method."""
    from attnviz.attribution.methods import attribute

    progress(f"Asking {model.card.name} what its words are worth", None)
    return attribute(model, prompt, method)
