"""A lesson is read as it is written; what is wrong with one is a sentence with its line."""

from pathlib import Path

import pytest

from attnviz.core.errors import LessonError
from attnviz.lessons.lesson_file import parse_lesson, prose_html, read_lesson
from attnviz.lessons.picture_link import PICTURED

FRONT = "---\ntitle: Two words\nminutes: 7\nmodels: [minilm]\n---\n\n"
LINK = "[open](/encode?text=The+cat+sat.&layer=3&head=1)"
STEP = f"{FRONT}## A step\n\nLook *here*.\n\n{LINK}\n\n"
QUESTION = "```question\nkind: token\nask: Where?\nfrom: cat\n```\n"


def parsed(text: str):
    return parse_lesson(text.encode(), "a.md")


def test_a_lesson_has_its_parts() -> None:
    lesson = parsed(f"{FRONT}Why.\n\n## One\n\nLook *here*.\n\n{LINK}\n\n{QUESTION}\nThen on.\n\n## Two\n\n- a\n- b\n")
    assert (lesson.title, lesson.minutes, lesson.models, lesson.intro) == ("Two words", 7, ("minilm",), "Why.")
    one, two = lesson.steps
    assert (one.title, one.prose, two.prose) == ("One", "Look *here*.\n\nThen on.", "- a\n- b")
    assert two.picture is None
    assert (one.picture.page, one.picture.prompt.text) == ("encode", "The cat sat.")
    assert [(number, each.kind, each.text("from"), each.line) for number, _, each in lesson.questions] == [
        ("1.1", "token", "cat", 15)
    ]


def test_a_link_without_its_first_slash_is_the_same() -> None:
    assert parsed(STEP.replace("](/", "](")).steps[0].picture == parsed(STEP).steps[0].picture


def test_words_that_yaml_takes_for_values_stay_words() -> None:
    (question,) = (
        parsed(STEP + "```question\nkind: order\nask: Rank\nwords: [no, 1.0, null]\nfrom: yes\n```").steps[0].questions
    )
    assert (question.texts("words"), question.text("from")) == (("no", "1.0", "null"), "yes")


def test_every_page_can_be_linked_to() -> None:
    pages = {path.stem for path in (Path(__file__).parents[3] / "pages").glob("*.py")}
    assert set(PICTURED) == pages - {"class", "lessons"}


BROKEN = {
    "nothing": ("", "line 1", "front matter"),
    "no front matter": ("## A step\n", "line 1", "front matter"),
    "front matter that never ends": ("---\ntitle: a\n## A step\n", "line 1", "front matter"),
    "no title": (STEP.replace("title: Two words\n", ""), "line 1", "title"),
    "no minutes": (STEP.replace("minutes: 7\n", ""), "line 1", "minutes"),
    "half a minute": (STEP.replace("7", "0.5"), "line 3", "minutes"),
    "models that are no names": (STEP.replace("[minilm]", "{a: b}"), "line 4", "models"),
    "a language of several": (STEP.replace("minutes: 7", "minutes: 7\nlanguage: [en, fr]"), "line 4", "language"),
    "minutes behind zeros": (STEP.replace("7", "0001000"), "line 3", "minutes"),
    "a host behind a backslash": (STEP + "[a](/%5Cexample.org/encode)\n", "line 13", "example.org"),
    "a page below another": (STEP + "[a](/elsewhere/encode?text=a)\n", "line 13", "elsewhere"),
    "minutes without end": (STEP.replace("7", "9" * 5000), "line 3", "minutes"),
    "an unknown field": (STEP.replace("title: Two words", "title: a\ncolour: red"), "line 3", "colour"),
    "half a reveal": (STEP.replace("minutes: 7", "minutes: 7\nreveal: later"), "line 4", "reveal"),
    "a title of several": (STEP.replace("Two words", "[a, b]"), "line 2", "title"),
    "front matter that is a list": ("---\n- a\n---\n## A step\n", "line 2", "front matter"),
    "front matter that is no YAML": ("---\ntitle: [a\n---\n## A step\n", "line", "front matter"),
    "a Python object": (STEP.replace("Two words", "!!python/object/apply:os.system [ls]"), "line 2", "title"),
    "no step": (FRONT + "Some prose.", "line", "step"),
    "a question before the first step": (FRONT + QUESTION + "\n## A step\n", "line 1", "##"),
    "a picture before the first step": (FRONT + LINK + "\n\n## A step\n", "line 1", "##"),
    "two pictures in a step": (f"{STEP}{LINK}\n", "line 13", "second"),
    "an image": (STEP + "![a](/b.png)\n", "line 13", "image"),
    "an image from elsewhere": (STEP + "![a](https://example.org/b.png)\n", "line 13", "image"),
    "a link to elsewhere": (STEP + "[a](https://example.org)\n", "line 13", "example.org"),
    "a link to elsewhere without a scheme": (STEP + "[a](//example.org/encode)\n", "line 13", "example.org"),
    "an address of this machine": (STEP + "[a](http://localhost:8501/encode?text=a)\n", "line 13", "without a host"),
    "a link that writes a letter": (STEP + "[a](mailto:a@example.org)\n", "line 13", "out of the app"),
    "an autolink": (STEP + "<https://example.org>\n", "line 13", "example.org"),
    "a page that is not there": (STEP + "[a](/encoder?text=a)\n", "line 13", "encoder"),
    "an address that is damaged": (STEP.replace("text=The+cat+sat.", "text=~z~nonsense"), "line 11", "text"),
    "an address without names": (STEP.replace("?text=", "?"), "line 11", "link"),
    "edits that are none": (STEP.replace("head=1", "head=1&edits=zzz"), "line 11", "edits"),
    "a question that is no YAML": (STEP + "```question\nkind: [token\n```\n", "line", "question"),
    "a question that is a text": (STEP + "```question\ntoken\n```\n", "line 14", "question"),
    "a question of nothing": (STEP + "```question\n```\n", "line 14", "question"),
    "a question without a kind": (STEP + "```question\nask: Where?\n```\n", "line 13", "kind"),
    "a question that asks nothing": (STEP + "```question\nkind: token\n```\n", "line 13", "ask"),
    "a field of fields": (STEP + "```question\nkind: token\nask: a\nfrom: {a: b}\n```\n", "line 16", "from"),
    "a list of lists": (STEP + "```question\nkind: token\nask: a\nfrom: [[a]]\n```\n", "line 16", "from"),
    "a kind of several": (STEP + "```question\nkind: [a]\nask: a\n```\n", "line 13", "kind"),
    "a question in a list": (STEP + "- ```question\n  kind: text\n  ask: a\n  ```\n", "line 13", "list"),
    "a question in a quote": (STEP + "> ```question\n> kind: text\n> ```\n", "line 13", "quote"),
    "a question by another name": (STEP + "a\n\n```Questions\nkind: text\n```\n", "line 15", "```question"),
    "two questions in a block": (STEP + "```question\nkind: text\nask: a\nkind: text\nask: b\n```\n", "line 16", "twice"),
    "a field that stands twice": (STEP.replace("minutes: 7", "minutes: 7\ntitle: b"), "line 4", "twice"),
    "a colon without quotes": (STEP + "```question\nkind: claim\nclaim: L2·H0: obj -> head\n```\n", "line 15", "in quotes"),
    "a NUL byte": (STEP + "a\x00b", "line 13", "NUL"),
    "half a character": (STEP + '```question\nkind: text\nask: a\nhint: "\\ud800"\n```\n', "line 16", "hint"),
    "a NUL byte in signs": (STEP + '```question\nkind: order\nask: a\nwords: [b, "\\0"]\n```\n', "line 16", "words"),
    "deep nesting": (STEP + "```question\nkind: " + "[" * 2000 + "\n```\n", "line", "question"),
    "a long question": (STEP + "```question\nkind: token\nask: " + "a" * 10_000 + "\n```\n", "line 14", "10000"),
    "deep lists": (STEP + "- " * 10 + "a\n", "line 13", "nested"),
    "deep quotes": (STEP + ">" * 13 + " a\n", "line 13", "nested"),
    "deep emphasis": (STEP + "*" * 30 + "a" + "*" * 30 + "\n", "line 13", "nested"),
    "emphasis deep in a list": (STEP + "- " * 4 + "*" * 10 + "a" + "*" * 10 + "\n", "line 13", "nested"),
    "a language in words": (FRONT.replace("minutes", "language: english\nminutes") + "## A step\n\na\n", "line", "such as en"),
    "spaces in an address": (STEP + "[a](/encode?text=The cat sat.&layer=3)\n", "line 13", "spaces"),
    "a parameter that is not there": (STEP.replace("layer=3", "layr=3"), "line 11", "did you mean layer?"),
    "a step without a name": (STEP + "##\n\na\n", "line 13", "no name"),
    "too many steps": (FRONT + "## A step\n\na\n\n" * 41, "line", "steps"),
    "too many questions": (STEP + QUESTION * 41, "line", "questions"),
}  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_what_is_wrong_is_one_sentence_with_its_line(broken: str) -> None:
    text, line, names = BROKEN[broken]
    with pytest.raises(LessonError) as raised:
        parsed(text)
    message = str(raised.value)
    assert message.startswith("a.md, line ")
    assert line == "line" or message.startswith(f"a.md, {line}:")
    assert names in message
    assert "\n" not in message
    assert len(message) < 400


def test_five_lists_and_emphasis_within_each_other_are_no_fault() -> None:
    assert "strong" in prose_html(parsed(STEP + "- " * 4 + "> **a**\n").steps[0].prose)


def test_html_is_text() -> None:
    lesson = parsed(STEP + "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n")
    assert "<script>" in lesson.steps[0].prose


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"\xff\xfe" + STEP.encode(), "UTF-8"),
        (STEP.encode() + b"a" * 60_000, r"^a\.md has more than 60 kB"),
        (STEP.encode("utf-16"), "UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_refused(data: bytes, names: str, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(data)
    with pytest.raises(LessonError, match=names):
        read_lesson(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LessonError, match=r"nowhere\.md"):
        read_lesson(tmp_path / "nowhere.md")
