"""A lesson is a Markdown file: front matter, a `##` heading a step, prose, a link to a picture a step, and questions.

A question is a fenced block named `question` that holds YAML, so that every Markdown reader shows it. The file holds text and
nothing else: no HTML, no image, no link to another host.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

from attnviz.analysis.wording import counted
from attnviz.core.errors import LessonError, is_unicode, nearest
from attnviz.lessons.picture_link import MOST_QUESTIONS, PICTURED, LessonPicture, page_of, read_link
from attnviz.pages_and_addresses import MOST_STEPS, PARAMETERS, renamed

# Bytes of a file: the longest lesson that is shipped has 3,535. The slowest text of this size (rows of a table, brackets that
# nothing closes) is read in two seconds.
LARGEST = 60_000
# Of a question's YAML, or the front matter's, which is read more slowly than all else.
LARGEST_BLOCK = 10_000
# Lists, quotes and emphasis within each other: paper takes 15 of them.
_DEEPEST = 12
# A link whose address has spaces is none for Markdown: the step would have no picture.
_NO_LINK = re.compile(r"\]\((/[^()]*\s[^()]*)\)")
_LANGUAGE = re.compile("[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
_FRONT = {"title": True, "minutes": True, "language": False, "models": False, "for": False, "needs": False, "reveal": False}
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").use(front_matter_plugin)
Fields = Mapping[str, str | tuple[str, ...]]


# How a lesson goes, in Markdown.
HOW_IT_GOES = (
    "Each step shows a picture and asks about it. The picture stays hidden until you have answered: click a word, a cell or a "
    "head, or set a number. Right answers are computed by the model, so they are those of the picture."
)
HANDED_IN = (
    "At the end you can hand in a small file with your answers; `attnviz grade` checks the files of a class. A lesson is one "
    "Markdown file: `attnviz lesson new NAME` writes one to start from."
)


@dataclass(frozen=True)
class LessonQuestion:
    """A question as it is written.

    kind    a name of `attnviz.lessons.question_kinds.KINDS`
    fields  what else the block says, by name: a text, or several
    line    of the file, from 1
    """

    kind: str
    ask: str
    fields: Fields
    line: int

    def text(self, name: str) -> str:
        """Read a field that holds one text; empty: it is not there."""
        value = self.fields.get(name, "")
        return value if isinstance(value, str) else ", ".join(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """Read a field that holds several texts."""
        value = self.fields.get(name, ())
        return (value,) if isinstance(value, str) else value


@dataclass(frozen=True)
class LessonStep:
    """One step: its heading, its prose as Markdown without the questions, the picture that its link opens, its questions."""

    title: str
    prose: str
    picture: LessonPicture | None
    questions: tuple[LessonQuestion, ...]
    line: int


@dataclass(frozen=True)
class Lesson:
    """A lesson as it is written.

    audience  the front matter's `for`, and `needs` what pupils have to know
    reveals   students see how their answers were
    """

    name: str
    title: str
    minutes: int
    models: tuple[str, ...]
    steps: tuple[LessonStep, ...]
    language: str = "en"
    audience: str = ""
    needs: str = ""
    intro: str = ""
    reveals: bool = True

    @property
    def facts(self) -> str:
        """Say how long it takes, in how many steps, and which models read."""
        about = counted(self.minutes, "minute"), counted(len(self.steps), "step"), ", ".join(self.models)
        return " · ".join(filter(None, about))

    @property
    def questions(self) -> Iterator[tuple[str, LessonStep, LessonQuestion]]:
        """All questions with their steps, each under its number, such as "2.1": the first of the second step."""
        for number, step in enumerate(self.steps, 1):
            for place, question in enumerate(step.questions, 1):
                yield f"{number}.{place}", step, question


def read_lesson(path: Path) -> Lesson:
    """Read a lesson's file.

    Raises:
        LessonError: it cannot be read, or is no lesson; the message has the line and says what to do.
    """
    try:
        with path.open("rb") as file:
            # No more than tells that it is too long: a device has no end.
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise LessonError(f"{path} cannot be read ({why}): choose another file.") from error
    return parse_lesson(data, path.name)


def parse_lesson(data: bytes, name: str) -> Lesson:
    """Read a lesson from the bytes of its file.

    Raises:
        LessonError: as of `read_lesson`.
    """
    if len(data) > LARGEST:
        raise LessonError(f"{name} has more than {LARGEST // 1000} kB: a lesson is text alone, make two of it.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise LessonError(f"{name}, line {line}: this is no text in UTF-8: save the file in UTF-8.") from error
    if "\x00" in text:
        raise LessonError(f"{name}, line {text[: text.index(chr(0))].count(chr(10)) + 1}: a NUL byte is no text: delete it.")
    return _Reader(name, text.replace("\r\n", "\n")).lesson()


@dataclass
class _Draft:
    """A step while it is read: where its prose stands (lines of the file), and what was found in it."""

    title: str
    line: int
    prose: list[str] = field(default_factory=list)
    pictures: list[LessonPicture] = field(default_factory=list)
    questions: list[LessonQuestion] = field(default_factory=list)

    def step(self) -> LessonStep:
        picture = next(iter(self.pictures), None)
        return LessonStep(self.title, "\n\n".join(self.prose), picture, tuple(self.questions), self.line)


class _Reader:
    """One pass over a file's blocks."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.lines = name, text.split("\n")
        tokens = MARKDOWN.parse(text)
        for token in tokens:
            if token.level + max((each.level for each in token.children or ()), default=0) > _DEEPEST:
                self.fail(token.map[0] + 1 if token.map else 1, "this is nested too deeply: write plain paragraphs and lists.")
        self.blocks = _top_level(tokens)

    def fail(self, line: int, sentence: str) -> NoReturn:
        raise LessonError(f"{self.name}, line {line}: {sentence}")

    def lesson(self) -> Lesson:
        front = self._front_matter()
        drafts = [_Draft("", 1)]
        for block in self.blocks[1:]:
            self._take(block, drafts)
        intro, *steps = drafts
        if not steps:
            self.fail(len(self.lines), "there is no step: begin each with a heading such as “## The first step”.")
        if len(steps) > MOST_STEPS:
            self.fail(steps[MOST_STEPS].line, f"a lesson has at most {MOST_STEPS} steps: make two lessons of it.")
        if intro.questions or intro.pictures:
            self.fail(1, "a question or a picture stands before the first “##” heading: move it into a step.")
        return Lesson(
            name=self.name.removesuffix(".md"),
            title=front["title"],
            minutes=self._minutes(front["minutes"]),
            models=front["models"],
            steps=tuple(each.step() for each in steps),
            language=front.get("language") or "en",
            audience=front.get("for", ""),
            needs=front.get("needs", ""),
            intro="\n\n".join(intro.prose),
            reveals=front.get("reveal") != "no",
        )

    def _front_matter(self) -> dict[str, Any]:
        first = self.blocks[0] if self.blocks else None
        if first is None or first[0].type != "front_matter":
            self.fail(1, "the front matter is missing: begin with ---, title and minutes, and --- again.")
        front = self._fields(first[0].content, 2, "the front matter")
        for name, required in _FRONT.items():
            if required and not front.get(name):
                self.fail(1, f"the front matter has no {name}: add a line “{name}: …”.")
        if unknown := next((name for name in front if name not in _FRONT), None):
            self.fail(self._line_of(unknown, 1), f"the front matter has no field {unknown!r}: it takes {', '.join(_FRONT)}.")
        if several := next((name for name, value in front.items() if name != "models" and not isinstance(value, str)), None):
            self.fail(self._line_of(several, 1), f"the {several} is one text: put it between quotes.")
        if not _LANGUAGE.fullmatch(str(front.get("language") or "en")):
            self.fail(self._line_of("language", 1), "language is a code of two or three letters, such as en or de.")
        if front.get("reveal", "yes") not in ("yes", "no"):
            self.fail(self._line_of("reveal", 1), "reveal is yes or no: whether a student sees how an answer was.")
        models = front.get("models") or ()
        return {**front, "models": (models,) if isinstance(models, str) else models}

    def _minutes(self, written: str) -> int:
        if not re.fullmatch("[0-9]{1,3}", written) or not 1 <= int(written) <= 600:
            self.fail(self._line_of("minutes", 1), "minutes is a whole number from 1 to 600.")
        return int(written)

    def _take(self, tokens: Sequence[Token], drafts: list[_Draft]) -> None:
        first = tokens[0]
        begin, end = first.map or (0, 0)
        if first.type == "heading_open" and first.tag == "h2":
            if not tokens[1].content:
                self.fail(begin + 1, "this step has no name: write it behind the ##.")
            drafts.append(_Draft(tokens[1].content, begin + 1))
        elif first.type == "fence" and first.info.strip() == "question":
            drafts[-1].questions.append(self._question(first, begin + 1))
            if len(drafts[-1].questions) > MOST_QUESTIONS:
                self.fail(begin + 1, f"a step has at most {MOST_QUESTIONS} questions: make two steps of it.")
        else:
            if astray := next((each for each in tokens if each.info.strip().lower().startswith("question")), None):
                at = astray.map[0] + 1 if astray.map else begin + 1
                self.fail(at, "a question stands in no list or quote, and begins with a line ```question: write it so.")
            pictures = list(self._pictures(tokens))
            drafts[-1].pictures += pictures
            if len(drafts[-1].pictures) > 1:
                self.fail(begin + 1, "a step has one link to a picture, and this is the second: make two steps of it.")
            # The line that is nothing but the link is for other readers: the app shows the picture itself.
            if not (pictures and _is_link_alone(tokens)):
                drafts[-1].prose.append("\n".join(self.lines[begin:end]).rstrip())

    def _pictures(self, tokens: Sequence[Token]) -> Iterator[LessonPicture]:
        line = 1
        for block in tokens:
            line = block.map[0] + 1 if block.map else line
            if block.type == "inline" and (lost := _NO_LINK.search(block.content)):
                self.fail(line, f"{lost[1][:60]} has spaces, and is no link: write + for each, or press Copy link in the app.")
            for inline in block.children or ():
                if inline.type == "image":
                    self.fail(line, "a lesson loads no image: link to a picture of the app instead.")
                if inline.type == "link_open" and (picture := self._picture(str(inline.attrGet("href") or ""), line)):
                    yield picture

    def _picture(self, href: str, line: int) -> LessonPicture | None:
        page = page_of(href)
        if page is None:
            self.fail(line, f"{href[:60]} leads out of the app: write an address without a host, such as /encode?text=…")
        if not page:
            return None
        if page not in PICTURED:
            self.fail(line, f"the app has no page {page[:40]!r}: it has {', '.join(PICTURED)}.")
        try:
            picture = read_link(href)
        except LessonError as error:
            self.fail(line, str(error))
        known = PARAMETERS[page]
        if unknown := next((each for each in picture.parameters if each not in (*known, *renamed(page, [each]))), None):
            meant = nearest(unknown, list(known), 1)
            hint = f"did you mean {meant[0]}?" if meant else "copy the link from the app again."
            self.fail(line, f"the address of {page} has no {unknown[:40]!r}: {hint}")
        return picture

    def _question(self, fence: Token, line: int) -> LessonQuestion:
        fields = self._fields(fence.content, line + 1, "a question")
        kind, ask = fields.pop("kind", ""), fields.pop("ask", "")
        if not isinstance(kind, str) or not kind:
            self.fail(line, "this question has no kind: add a line “kind: token”, or another kind.")
        if not isinstance(ask, str) or not ask.strip():
            self.fail(line, "this question asks nothing: add a line “ask: …”.")
        return LessonQuestion(kind, ask, fields, line)

    def _fields(self, text: str, line: int, name: str) -> dict[str, str | tuple[str, ...]]:
        """Read YAML whose fields are texts, or lists of texts."""
        if len(text) > LARGEST_BLOCK:
            self.fail(line, f"{name} has more than {LARGEST_BLOCK} characters: shorten it.")
        try:
            # Nothing but texts, lists and pairs: “no” stays a word, and no tag makes an object.
            written = yaml.load(text, Loader=yaml.BaseLoader)
            pairs = yaml.compose(text, Loader=yaml.BaseLoader)
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            mark = getattr(error, "problem_mark", None)
            at = line + (mark.line if mark else 0)
            self.fail(at, f"{name} cannot be read: write lines such as “name: text”, and a text that has a colon in quotes.")
        if not isinstance(written, dict) or not all(isinstance(key, str) for key in written):
            self.fail(line, f"{name} cannot be read: write lines such as “name: text”.")
        keys = [key for key, _ in pairs.value]
        for at, key in enumerate(keys):
            if key.value in [each.value for each in keys[:at]]:
                self.fail(line + key.start_mark.line, f"{name} has the line “{key.value}: …” twice: leave one of them.")
        for field_name, value in written.items():
            texts = value if isinstance(value, list) else [value]
            # YAML has signs for half of a character, and for none.
            if not all(isinstance(each, str) and is_unicode(each) and "\x00" not in each for each in texts):
                at = self._line_of(field_name, line)
                self.fail(at, f"{field_name} is a text, or a list of texts such as [one, two].")
            if texts is value:
                written[field_name] = tuple(texts)
        return written

    def _line_of(self, name: str, line: int) -> int:
        """Find the line, from `line` on, that begins with a name."""
        return next((at for at, text in enumerate(self.lines[line - 1 :], line) if text.startswith(f"{name}:")), line)


def prose_html(prose: str) -> str:
    """Write a lesson's prose as HTML. Its links are plain words: the app itself shows the picture.

    >>> prose_html("*a* <b> [c](/encode?text=a)")
    '<p><em>a</em> &lt;b&gt; c</p>\\n'
    """
    tokens = MARKDOWN.parse(prose)
    for block in tokens:
        block.children = [each for each in block.children or () if each.type not in ("link_open", "link_close", "image")]
    return MARKDOWN.renderer.render(tokens, MARKDOWN.options, {})


def _top_level(tokens: Sequence[Token]) -> list[list[Token]]:
    """Group a document's tokens by the blocks that stand in it side by side."""
    groups: list[list[Token]] = []
    for token in tokens:
        if token.level == 0 and token.nesting >= 0:
            groups.append([token])
        else:
            groups[-1].append(token)
    return groups


def _is_link_alone(tokens: Sequence[Token]) -> bool:
    if tokens[0].type != "paragraph_open":
        return False
    children = tokens[1].children or []
    return children[0].type == "link_open" and children[-1].type == "link_close"
