"""Worksheets: everything a lesson has stands on paper, as text, and nothing in it is markup."""

import io
import re
import sys
from dataclasses import replace
from pathlib import Path

import pypdf
import pytest
import typst
import zxingcpp
from PIL import Image

from attnviz.cli import main
from attnviz.core.errors import LessonError
from attnviz.lessons import worksheet as printing
from attnviz.lessons.check_lesson import truths
from attnviz.lessons.lesson_file import parse_lesson, read_lesson
from attnviz.lessons.library import shipped_lessons
from attnviz.lessons.worksheet import SheetStep, Worksheet, _with_questions_of_same_text, worksheet, worksheet_html
from attnviz.lessons.worksheet_pdf import worksheet_pdf
from tests.tiny import first_now
from tests.unit.lessons.test_question_kinds import Given

HOSTILE = r'<script>alert(1)</script> #panic("x") \ "quoted" $x$ @here'
LESSON = rf"""---
title: '{HOSTILE}'
minutes: 10
models: [minilm]
for: everybody
---

An introduction to {HOSTILE}.

## Which word?

Look at *one* head. {HOSTILE}

- first
- second

[Open](/encode?text=the+cat+saw+the+dog&layer=0&head=0)

```question
kind: token
ask: Which word does “cat” look at, {HOSTILE}?
from: cat
points: 2
```

## Which head?

[Open](/encode?text=the+cat+saw+the+dog&layer=0&head=0)

```question
kind: head
ask: Which head sends “saw” to “cat”?
from: saw
to: cat
```

## What does it say?

[Open](/translate?text=the+cat+%3Cb%3E&models=minilm)

```question
kind: output
ask: What does the model say?
choices: [le chat, le chien]
```

```question
kind: text
ask: Why?
```
"""


@pytest.fixture(scope="module")
def sheet():
    lesson, source = parse_lesson(LESSON.encode(), "mine.md"), Given()
    return worksheet(lesson, truths(lesson, source), source)


def test_html_has_every_question_before_the_answers_and_no_markup_of_the_lesson(sheet) -> None:
    page = worksheet_html(sheet, "Letter").decode()
    questions, answers = page.split('class="key"')
    assert "<script" not in page
    assert "size: Letter" in page
    # A grid of heads is an image of pixels, which the page itself has to allow.
    assert "img-src data:" in page
    assert "data:image/png" in questions
    assert [questions.count(part) for part in ("<svg", 'class="question"', 'class="box"')] == [2, 4, 2]
    # Two lines for none, one for a token and a head, four for a free answer; the translation is not drawn: it is the answer.
    assert questions.count('class="line"') == 1 + 1 + 4
    assert "the cat &lt;b&gt;" in questions
    assert "“cat” gives “dog” 20\N{NO-BREAK SPACE}%" in answers
    assert "L0·H0" in answers
    assert "“cat” gives" not in questions


def test_the_row_that_is_asked_about_is_not_on_paper(sheet) -> None:
    svg = sheet.steps[0].drawings[0].decode()
    rectangles = re.findall(r"<rect[^>]*data-query[^>]*>", svg)
    with_weight = {re.search(r'data-query="(\d)"', each)[1] for each in rectangles if "data-weight" in each}
    assert len(rectangles) == 49
    # “cat” is the third token; the next step, which is seen beside this one, asks about “saw”.
    assert with_weight == {"0", "1", "4", "5", "6"}
    assert "The rows of “cat”, “saw” are hidden." in sheet.steps[0].caption
    assert ">hidden</text>" in svg


@pytest.mark.parametrize(("paper", "size"), [("A4", (595, 842)), ("Letter", (612, 792))])
def test_pdf_has_the_same_as_text_on_its_paper(sheet, paper, size) -> None:
    pages = pypdf.PdfReader(io.BytesIO(worksheet_pdf(sheet, paper))).pages
    assert {(round(page.mediabox.width), round(page.mediabox.height)) for page in pages} == {size}
    texts = [page.extract_text() for page in pages]
    whole = " ".join(" ".join(texts).split())
    assert '<script>alert(1)</script> #panic("x")' in whole
    assert all(question.ask.split(",")[0] in whole for step in sheet.steps for question in step.questions)
    assert "L0·H0" in texts[-1]
    assert "L0·H0" not in " ".join(texts[:-1])
    assert "“cat” gives “dog” 20 %" in whole
    # Pictures are vectors: what they are named after can be selected.
    assert "[SEP]" in texts[0]


def test_a_share_stands_in_the_key_as_it_is_asked_for() -> None:
    text = LESSON.replace("kind: token", "kind: number").replace("from: cat", "from: cat\nto: dog")
    lesson, source = parse_lesson(text.encode(), "mine.md"), Given()
    assert worksheet(lesson, truths(lesson, source), source).key[0][2] == "20\N{NO-BREAK SPACE}%"


@pytest.mark.parametrize(("models", "said"), [("minilm", "model: minilm"), ("minilm, answer-en", "models: minilm, answer-en")])
def test_a_sheet_says_which_models_read(models: str, said: str) -> None:
    text = f"{LESSON.split('## Which')[0].replace('[minilm]', f'[{models}]')}## A step\n\nRead.\n"
    assert f" {said}" in worksheet(parse_lesson(text.encode(), "mine.md"), {}, Given()).facts


def test_right_to_left_and_chinese_letters_are_there(sheet) -> None:
    text = LESSON.replace("models: [minilm]", "models: [minilm]\nlanguage: ar").replace("Why?", "لماذا؟ 为什么")
    lesson, source = parse_lesson(text.encode(), "mine.md"), Given()
    arabic = worksheet(lesson, truths(lesson, source), source)
    written = worksheet_html(arabic).decode()
    assert 'dir="rtl"' in written
    # What is English stays in its order.
    assert '<span class="points" dir="ltr">(' in written
    assert f'<p class="facts" dir="auto">{arabic.points} point' in written
    text = "".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(worksheet_pdf(arabic))).pages)
    assert "为什么" in text
    assert "“cat” gives “dog” 20 %" in " ".join(text.split())
    assert set("لماذا") <= set(text)


@pytest.mark.gate
def test_whatever_a_lesson_may_nest_is_set_and_thousands_of_words_too(sheet) -> None:
    deepest = "\n\n".join((">" * 10 + " *deep*", "- " * 4 + "> ***list***", "*" * 22 + "a" + "*" * 22, "*word* " * 3000))
    text = f"{LESSON.split('## Which')[0]}## Deep\n\n{deepest}\n"
    lesson, source = parse_lesson(text.encode(), "mine.md"), Given()
    pages = pypdf.PdfReader(io.BytesIO(worksheet_pdf(worksheet(lesson, {}, source)))).pages
    whole = "".join(page.extract_text() for page in pages)
    assert "deep" in whole
    assert whole.count("word") == 3000


def test_a_list_is_counted_on_from_where_it_begins() -> None:
    text = f"{LESSON.split('## Which')[0]}## A step\n\n3. third\n4. fourth\n"
    lesson, source = parse_lesson(text.encode(), "mine.md"), Given()
    pages = pypdf.PdfReader(io.BytesIO(worksheet_pdf(worksheet(lesson, {}, source)))).pages
    assert "3. third 4. fourth" in " ".join("".join(page.extract_text() for page in pages).split())


def test_what_typst_refuses_is_one_sentence(sheet) -> None:
    with pytest.raises(LessonError, match=r"write \.html"):
        worksheet_pdf(replace(sheet, language="english"))


def codes_of(sheet: Worksheet, dpi: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], str]:
    """Set a sheet as PDF, and draw its pages, too: what their QR codes say, and the text."""
    pages: list[bytes] = []
    real = typst.compile

    def draw(files, format):
        pages.extend(real(files, format="png", ppi=dpi))
        return real(files, format=format)

    with monkeypatch.context() as patch:
        patch.setattr(typst, "compile", draw)
        text = "".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(worksheet_pdf(sheet))).pages)
    return [code.text for page in pages for code in zxingcpp.read_barcodes(Image.open(io.BytesIO(page)))], text


@pytest.mark.gate
@pytest.mark.parametrize("is_offered", [True, False])
@pytest.mark.parametrize("path", shipped_lessons().values(), ids=lambda path: path.stem)
def test_codes_of_all_lessons_are_read_at_80_dpi(path: Path, is_offered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson, host = read_lesson(path), "https://attnviz.school.example"
    monkeypatch.setattr(printing, "_step", lambda step, *_: SheetStep(step.title, step.prose, (), (), "", "", ()))
    steps = tuple(replace(step, questions=()) for step in lesson.steps if step.picture)
    sheet = worksheet(replace(lesson, steps=steps), {}, Given(), site=host, is_offered=is_offered)
    assert sorted(codes_of(sheet, 80, monkeypatch)[0]) == sorted(step.address for step in sheet.steps)


@pytest.mark.parametrize("is_offered", first_now([True, False]))
def test_every_code_of_a_printed_page_opens_its_step(is_offered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson, source = parse_lesson(LESSON.encode(), "mine.md"), Given()
    printed = worksheet(lesson, truths(lesson, source), source, site="https://attnviz.school.example", is_offered=is_offered)
    read, text = codes_of(printed, 110, monkeypatch)
    own = [f"https://attnviz.school.example{step.picture.address}" for step in lesson.steps]
    steps = [f"https://attnviz.school.example/lessons?lesson=mine&step={number}" for number in (1, 2, 3)]
    assert sorted(read) == sorted(steps if is_offered else own)
    assert not is_offered or all(address in "".join(text.split()) for address in steps)
    page = worksheet_html(printed).decode()
    assert all(step.code.decode().partition("?>")[2].strip() in page for step in printed.steps)


def test_without_a_host_there_is_no_code_and_a_long_address_has_none(sheet) -> None:
    assert [step.code for step in sheet.steps] == [b""] * 3
    assert sheet.steps[0].address.startswith("/encode?")
    text = LESSON.replace("the+cat+saw+the+dog", "the+cat+saw+the+dog&pair=" + "a" * 3000)
    lesson, source = parse_lesson(text.encode(), "mine.md"), Given()
    printed = worksheet(lesson, truths(lesson, source), source, site="https://attnviz.school.example")
    assert [bool(step.code) for step in printed.steps] == [False, False, True]


def test_a_picture_of_a_later_step_does_not_show_a_row_that_was_asked_about() -> None:
    text = (
        LESSON.split("## Which head?")[0]
        + """## Again

[Open](/encode?text=the+cat+saw+the+dog&layer=0&head=0)

```question
kind: text
ask: Why?
```
"""
    )
    lesson, source = parse_lesson(text.encode(), "mine.md"), Given()
    later = worksheet(lesson, truths(lesson, source), source).steps[1]
    rows = set(re.findall(r'data-query="(\d)"[^>]*data-weight', later.drawings[0].decode()))
    assert rows == {"0", "1", "3", "4", "5", "6"}
    assert "The row of “cat” is hidden." in later.caption
    other = text.replace("dog&layer", "dog&pair=a+cow&layer", 1).replace("from: cat", "from: cow").replace("“cat”", "“cow”")
    _, second = parse_lesson(other.encode(), "mine.md").steps
    assert _with_questions_of_same_text(second, parse_lesson(other.encode(), "mine.md")).questions == second.questions


METHODS = """---
title: What matters
minutes: 5
models: [minilm]
---

## Rank

[Open](/matters?text=the+cat+saw+the+dog)

```question
kind: order
ask: Rank by what leaving the word out costs.
words: [saw, cat]
by: leave-one-out
```

## See

[Open](/matters?text=the+cat+saw+the+dog)

```question
kind: text
ask: In which two rows do the methods disagree?
```

## Train

[Open](/train?task=sort)

```question
kind: text
ask: What changed?
```
"""


def test_methods_are_a_table_without_the_row_that_a_question_is_about() -> None:
    lesson, source = parse_lesson(METHODS.encode(), "mine.md"), Given()
    printed = worksheet(lesson, truths(lesson, source), source)
    for step in printed.steps[:2]:
        svg = step.drawings[0].decode()
        cells = re.findall(r'data-method="(\d)" data-word="(\d)"( data-share="[^"]*")?', svg)
        # Six methods and five words; [CLS] and [SEP] are no words.
        assert len(cells) == 6 * 5
        assert {method for method, _, share in cells if not share} == {"0"}
        assert "The row of “Leaving one word out” is hidden." in step.caption
        assert ">Attention rollout<" in svg
    share = dict(re.findall(r'data-method="1" data-word="(\d)" data-share="([^"]*)"', printed.steps[0].drawings[0].decode()))
    assert {place: float(each) for place, each in share.items()} == {"0": 0.2, "1": 1, "2": -0.4, "3": 0.2, "4": 0.6}


def test_a_step_that_no_sheet_can_show_says_that_it_needs_the_app() -> None:
    lesson, source = parse_lesson(METHODS.encode(), "mine.md"), Given()
    printed = worksheet(lesson, truths(lesson, source), source)
    assert [step.where.partition(":")[0] for step in printed.steps] == [
        "In the app",
        "In the app",
        "For this step you need the app",
    ]
    assert "For this step you need the app: /train?task=sort" in worksheet_html(printed).decode()


@pytest.mark.parametrize("name", ["sheet.pdf", "sheet.PDF"])
def test_without_typst_a_pdf_is_refused_before_a_model_is_loaded(name, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    assert main(["lesson", "print", "what-is-it", "-o", str(tmp_path / name)]) == 1
    assert capsys.readouterr().err == (
        "attnviz: A PDF needs Typst: install attnviz[print], or write .html and print it from a browser.\n"
    )
