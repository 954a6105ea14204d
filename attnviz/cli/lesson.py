"""`attnviz lesson` and `attnviz grade`: write and check lessons, print worksheets, grade what a class hands in."""

import argparse
import re
from pathlib import Path
from typing import Any

from attnviz import settings
from attnviz.analysis.wording import counted
from attnviz.cli.arguments import EXIT_CODES, PLAIN, add_command, output_path
from attnviz.cli.progress_line import progress_line
from attnviz.core import whole_files
from attnviz.core.errors import LessonError

_LESSON = """examples:
  attnviz lesson new pronouns              writes pronouns.md, a lesson to start from
  attnviz lesson check pronouns.md         what is wrong, with its line; recomputes every right answer
  attnviz lesson print pronouns.md -o pronouns.pdf
                                           a worksheet, its answers on a sheet of their own; .html too

docs/lessons.md has the format and all kinds of questions."""
_GRADE = """examples:
  attnviz grade handed-in -o grades.csv
  attnviz grade handed-in -o grades.csv --lesson pronouns.md

A row a student, and of each question the answer and its points. Right answers are computed anew; nothing that a file says of
itself is trusted. A file that cannot be read is named in its row."""
TEMPLATE = """---
title: {title}
minutes: 10
language: en
models: [minilm]
for: people who have never seen attention
---

What the lesson is about, in two sentences.

## Every row is a token that looks

One head of the 72 sends *it* to *animal*. Click another row: where does it look?

[Open the picture](/encode?text=The+animal+didn%27t+cross+the+street+because+it+was+too+tired.&layer=3&head=1)

```question
kind: token
ask: Which word does this head send “it” to?
from: it
hint: Find the row of “it”, and its strongest cell.
right: Yes.
wrong: Look along the row, not down the column.
```

```question
kind: number
ask: How much of its attention goes there?
from: it
to: animal
tolerance: 0.1
```

## What it does not say

```question
kind: text
ask: Write one sentence that begins with “This picture does not show”.
```
"""


def add_lesson_commands(commands: Any) -> None:
    """Add the two commands."""
    lesson = commands.add_parser(
        "lesson", help="write and check a lesson", epilog=f"{_LESSON}\n\n{EXIT_CODES}", formatter_class=PLAIN
    )
    actions = lesson.add_subparsers(title="actions", metavar="action", required=True)
    new = add_command(actions, new_lesson, "new", "write a lesson to start from")
    new.add_argument("name", help="such as pronouns: the file is pronouns.md")
    check = add_command(actions, check_lessons, "check", "say what is wrong with lessons")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE", help="lessons, as Markdown")
    paper = add_command(actions, print_lesson, "print", "make a worksheet")
    paper.add_argument("file", type=Path, metavar="FILE", help="a lesson, or the name of one that travels with attnviz")
    paper.add_argument("-o", "--out", type=output_path, required=True, metavar="SHEET", help="the .html or .pdf to write")
    paper.add_argument("--paper", choices=("A4", "Letter"), default="A4", help="A4, unless you say otherwise")
    grade = add_command(commands, grade_folder, "grade", "grade what a class hands in", _GRADE)
    grade.add_argument("folder", type=Path, metavar="FOLDER", help="the files that were handed in")
    grade.add_argument("-o", "--out", type=output_path, required=True, metavar="CSV", help="the table to write")
    grade.add_argument(
        "--lesson", nargs="+", type=Path, default=[], metavar="FILE", help="lessons of your own that were answered"
    )


def new_lesson(arguments: argparse.Namespace) -> int:
    """Write a lesson to start from, unless the file is there already."""
    name = arguments.name.removesuffix(".md")
    if not re.fullmatch(r"[\w-]{1,60}", name):
        raise LessonError(f"{name[:60]!r} cannot name a lesson: use letters, digits and hyphens, such as pronouns.")
    path = Path(f"{name}.md")
    if path.exists():
        raise LessonError(f"{path} is there already: choose another name, or remove it first.")
    whole_files.write(path, TEMPLATE.format(title=name.replace("-", " ").capitalize()))
    print(f"Saved {path}. Change it, then say: attnviz lesson check {path}")
    return 0


def check_lessons(arguments: argparse.Namespace) -> int:
    """Print what is wrong with each lesson, or its right answers; 1 where anything is wrong."""
    # Imported here: the command's help must not wait for torch.
    from attnviz.lessons.check_lesson import ComputedSource, examine
    from attnviz.lessons.lesson_file import read_lesson

    source, status = ComputedSource(progress_line), 0
    for path in arguments.files:
        try:
            lesson = read_lesson(path)
            answers, wrong = examine(lesson, source)
            if wrong:
                raise LessonError("\n".join(f"{path.name}, {each}" for each in wrong))
        except LessonError as error:
            print(error)
            status = 1
            continue
        parts = f"{counted(len(lesson.steps), 'step')}, {counted(len(answers), 'question')}"
        print(f"{path.name}: “{lesson.title}”, {parts}. Right answers:")
        for number, _, question in lesson.questions:
            print(f"  {number} {question.ask}  {answers[number].in_words or '(not graded)'}")
    return status


def print_lesson(arguments: argparse.Namespace) -> int:
    """Write a lesson as a worksheet, in the format that the file's ending names."""
    # Imported here: the command's help must not wait for torch.
    from attnviz.lessons.check_lesson import ComputedSource, truths
    from attnviz.lessons.lesson_file import read_lesson
    from attnviz.lessons.library import lessons_of
    from attnviz.lessons.worksheet import worksheet, worksheet_html
    from attnviz.lessons.worksheet_pdf import import_typst, worksheet_pdf

    write = {".html": worksheet_html, ".pdf": worksheet_pdf}.get(arguments.out.suffix.lower())
    if write is None:
        raise LessonError(f"A worksheet is an .html or a .pdf, and {arguments.out.name} is neither: choose another ending.")
    if write is worksheet_pdf:
        import_typst()
    path: Path = arguments.file
    folder = settings.text("ATTNVIZ_LESSONS")
    offered = lessons_of(Path(folder) if folder else None)
    path = offered.get(str(path), path)
    lesson = read_lesson(path)
    source, is_offered = ComputedSource(progress_line), path.resolve() == offered.get(lesson.name, Path()).resolve()
    sheet = worksheet(lesson, truths(lesson, source), source, site=settings.address(), is_offered=is_offered)
    whole_files.write(arguments.out, write(sheet, arguments.paper))
    progress_line(f"Saved {arguments.out}", None)
    return 0


def grade_folder(arguments: argparse.Namespace) -> int:
    """Grade every file of the folder, and say how many could not be read."""
    # Imported here: the command's help must not wait for torch.
    from attnviz.lessons.check_lesson import ComputedSource, truths
    from attnviz.lessons.hand_in import HandIn, grades_csv, read_folder
    from attnviz.lessons.lesson_file import read_lesson
    from attnviz.lessons.library import shipped_lessons

    files = read_folder(arguments.folder)
    needed = {each.lesson for each in files.values() if isinstance(each, HandIn)}
    paths = [path for name, path in shipped_lessons().items() if name in needed] + arguments.lesson
    lessons = {lesson.name: lesson for lesson in map(read_lesson, paths)}
    source = ComputedSource(progress_line)
    right = {name: truths(lesson, source) for name, lesson in lessons.items() if name in needed}
    whole_files.write(arguments.out, grades_csv(files, {name: lessons[name] for name in right}, right))
    wrong = sum(not isinstance(each, HandIn) or each.lesson not in right for each in files.values())
    progress_line(f"Saved {arguments.out}: {len(files) - wrong} graded{f', {wrong} not: see the table' if wrong else ''}", None)
    return 0
