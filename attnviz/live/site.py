"""A folder of static files that shows attnviz's pictures without a server: pages, scripts, pictures, and models as graphs."""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from attnviz.analysis.compute import ROUNDED
from attnviz.analysis.heads.atlas import shipped_atlas
from attnviz.analysis.heads.verdict import describe_label
from attnviz.analysis.summary_selection import ABOUT_BARS, ABOUT_SHARES
from attnviz.analysis.translation_alignment import SUPERVISED
from attnviz.analysis.wording import ABOUT
from attnviz.core.errors import AttnvizError
from attnviz.core.whole_files import failing_at
from attnviz.figures.answer_spans import STYLE as ANSWER_STYLE
from attnviz.figures.compute.steps import STYLE as STEPS_STYLE
from attnviz.figures.explorer.exported_file import STYLE as EXPLORER_STYLE
from attnviz.figures.explorer.exported_file import template, themes
from attnviz.figures.head_grid import STYLE as GRID_STYLE
from attnviz.figures.html import STYLE as MARKUP_STYLE
from attnviz.figures.html import bundle
from attnviz.figures.lessons.question import STYLE as QUESTION_STYLE
from attnviz.figures.summary_passage import STYLE as SUMMARY_STYLE
from attnviz.figures.translate.alignments import STYLE as ALIGNMENTS_STYLE
from attnviz.figures.written_text import STYLE as WRITE_STYLE
from attnviz.lessons.check_lesson import ComputedSource, truths
from attnviz.lessons.lesson_file import Lesson
from attnviz.live.block_pages import BLOCK_STYLE, STATES, WrittenPage, write_states
from attnviz.live.graphs import export
from attnviz.live.graphs.models import exportable
from attnviz.live.lessons import Why, absent_lessons, describe_lesson, later_files, lesson_html, lessons_for, why_missing
from attnviz.live.page_html import (
    APP_PAGES,
    FOLDED,
    SITE_PAGES,
    WEB,
    PageFrame,
    colours,
    copy_packages,
    site_parameters,
    write_block_page,
    write_lesson_page,
    write_lessons_page,
    write_page,
    write_stand_in,
)
from attnviz.live.pictures import AMOUNT, SitePicture, examples_of, measured_selectors, picture_pages, pictures
from attnviz.models.catalog import load
from attnviz.settings import assets_folder

Report = Callable[[str], None]
# What pictures of passages are drawn by, in their shadows; and what the pages are: none has a rule for what another draws.
STYLES = (MARKUP_STYLE, ANSWER_STYLE, SUMMARY_STYLE, GRID_STYLE, QUESTION_STYLE, (WEB / "site.css").read_text(encoding="utf-8"))
_PASSAGE = (WEB / "passage.css").read_text(encoding="utf-8")
# Each becomes one script, with the style of its picture in it.
SCRIPTS = {
    "site": ("site.js", "".join((*STYLES[:4], _PASSAGE))),
    "explorer": ("explorer_entry.js", EXPLORER_STYLE),
    "alignments": ("alignments_entry.js", ALIGNMENTS_STYLE),
    "worker": ("worker.js", ""),
    "steps": ("../../figures/compute/step_by_step.js", ""),
    "write": ("../../figures/write.js", ""),
    "write_panel": ("write_panel.js", ""),
}
SCRIPT_OF = {"translate": "alignments.js", "compute": "steps.js"}


def head_labels(model: str) -> list[list[str]]:
    """Say what each head of a model does over many sentences, by layers."""
    atlas = shipped_atlas(model)
    layers, heads = atlas.shape
    return [[describe_label(atlas, layer, head) for head in range(heads)] for layer in range(layers)]


# Pages whose models have another task than their name.
TASKS = {"compute": "encode"}
# What a page's script has to know besides.
OPTIONS: dict[str, dict[str, Any]] = {
    "encode": {"labels": head_labels("minilm")},
    "translate": {"supervised": SUPERVISED.replace("**", "")},
    "summarize": {
        "amount": asdict(AMOUNT),
        "measured": measured_selectors(),
        "about_bars": ABOUT_BARS,
        "about_shares": ABOUT_SHARES,
    },
    "compute": {
        "rounded": ROUNDED,
        "weights": {
            each["text"]: {name: each[name] for name in ("layer", "head", "query", "key")}
            for each in examples_of("encode")
            if "pair" not in each
        },
    },
}
# Read by a Space of Hugging Face; of no use elsewhere.
README = """---
title: attnviz
sdk: static
app_file: index.html
---

Written by `attnviz site`: type a sentence and see what every attention head of a real model does with it.
"""


@dataclass(frozen=True)
class Folders:
    """The folders of a site that are named by their content: scripts and pictures; and models with what runs them."""

    files: str
    models: str


class SiteError(AttnvizError, ValueError):
    """The folder cannot become a site."""


def build(folder: Path, models: Sequence[str], lessons: Sequence[Path] = (), report: Report = print) -> None:
    """Write a site into a folder, which is empty or holds an older one; without `lessons` with those that fit among ours.

    Raises:
        SiteError: the folder holds other files, or cannot be written.
        AttnvizError: a model cannot be loaded.
    """
    if folder.exists() and not folder.is_dir():
        raise SiteError(f"{folder} is a file: name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "service_worker.js").is_file():
        raise SiteError(f"{folder} holds other files: name an empty folder, or one that attnviz site wrote before.")
    # An older site stays until the new one is whole. Beside the real folder, also of “.” and of a link to it.
    target = folder.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        place = tempfile.TemporaryDirectory(prefix=".attnviz-site-", dir=target.parent)
    except OSError as error:
        raise SiteError(f"{folder} cannot be written ({error.strerror}): choose another place.") from error
    with place, failing_at(folder):
        made = Path(place.name) / "site"
        _write_site(made, models, lessons, report)
        shutil.rmtree(target, ignore_errors=True)
        made.replace(target)
    report(f"Wrote {folder}: {sum(path.stat().st_size for path in target.rglob('*')) / 1e6:.1f} MB")


def _write_site(folder: Path, models: Sequence[str], files: Sequence[Path], report: Report) -> None:
    lessons, source = lessons_for(files), ComputedSource()
    if files:
        # What is wrong with one of a teacher's own is said at once, and of which lesson it is said.
        for lesson in lessons.values():
            truths(lesson, source)
    _write(folder / "README.md", README)
    # GitHub Pages would leave out what begins with an underscore.
    _write(folder / ".nojekyll", "")
    copy_packages(folder / "models" / "vendor")
    shutil.copytree(WEB / "models", folder / "models" / "runner", ignore=shutil.ignore_patterns("*.ts"))
    exported = _write_models(folder / "models", models, report)
    shown = _write_files(folder / "files", models, report)
    pages = {picture.said["page"] for picture in shown}
    blocks = _write_block_pages(folder / "files", pages, models, lessons, report)
    why = partial(why_missing, pages=pages, models=models, written=blocks)
    # Those of a teacher's own are there in any case.
    absent = {} if files else absent_lessons(lessons, why)
    own = {name: lesson for name, lesson in lessons.items() if name not in absent}
    described = _write_answers(folder / "files" / "lessons", own, source, why)
    folders = Folders(*(_named_by_content(folder / name) for name in ("files", "models")))
    frame = PageFrame(_TO_ROOT, folders.files, pages | blocks.keys())
    needed = [
        *_write_pages(folder, folders, shown, exported, blocks),
        *_write_lessons(folder / "lessons", frame, lessons, absent, described, why, report),
    ]
    _write_service_worker(folder, folders.models, needed)


def _write_files(folder: Path, models: Sequence[str], report: Report) -> list[SitePicture]:
    """Write scripts, styles and pictures; return the pictures."""
    for name, text in scripts().items():
        _write(folder / f"{name}.js", text)
    _write(folder / "site.css", _plain_style(colours() + "".join(STYLES[4:])))
    _write(folder / "steps.css", _plain_style(STEPS_STYLE))
    _write(folder / "write.css", _plain_style(MARKUP_STYLE + WRITE_STYLE))
    _write(folder / "document.html", template())
    _write(folder / "start.js", bundle(WEB / "start.js"))
    shutil.copy(assets_folder() / "icon.svg", folder / "icon.svg")
    return _write_pictures(folder / "pictures", models, report)


def _write_block_pages(
    folder: Path, pages: Collection[str], models: Sequence[str], lessons: Mapping[str, Lesson], report: Report
) -> dict[str, WrittenPage]:
    """Write the pictures of the pages that run no model here, and their styles."""
    written = {}
    linked = [step.picture for lesson in lessons.values() for step in lesson.steps if step.picture]
    for name, states in STATES.items():
        page = states(models, [picture.parameters for picture in linked if picture.page == name])
        if not page.groups:
            continue
        written[name] = write_states(page, pages, models)
        _write(folder / f"{name}.css", _plain_style(BLOCK_STYLE + page.style))
        for number, data in enumerate(written[name].files):
            (folder / "pictures" / f"{name}-{number}.gz").write_bytes(data)
            report(f"{name}: {', '.join(map(str, page.groups[number].values.values()))}")
    return written


def _named_by_content(folder: Path) -> str:
    """Add to the name of a folder what its files make: no cache on the way can give out those of another version."""
    name = f"{folder.name}-{_digest(folder)}"
    folder.replace(folder.with_name(name))
    return name


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def scripts() -> dict[str, str]:
    """Join the modules of each script, by its name."""
    style = {name: f"export const STYLE = {json.dumps(_plain_style(own))};\n" for name, (_, own) in SCRIPTS.items()}
    return {name: bundle(WEB / entry, {"themes.js": themes(), "style.js": style[name]}) for name, (entry, _) in SCRIPTS.items()}


def _write_pictures(folder: Path, models: Sequence[str], report: Report) -> list[SitePicture]:
    folder.mkdir()
    opened, written = cache(load), []
    for page in picture_pages(tuple(models)):
        for picture in pictures(page, opened):
            name = picture.said["name"]
            _write(folder / f"{name}.json", json.dumps(picture.said, ensure_ascii=False, separators=(",", ":")))
            for file, data in picture.files.items():
                (folder / file).write_bytes(data)
            report(f"{name}: {picture.said['label']}")
            written.append(picture)
    return written


def _write_models(folder: Path, models: Sequence[str], report: Report) -> dict[str, Any]:
    """Write the models that run in a browser, and return their manifests."""
    manifests = {}
    for name in models:
        if name in exportable():
            manifests[name] = export(name, folder)
            report(f"{name}: a graph and its weights")
    return manifests


def _write_pages(
    folder: Path,
    folders: Folders,
    site_pictures: Sequence[SitePicture],
    models: Mapping[str, Any],
    block_pages: Mapping[str, WrittenPage],
) -> list[str]:
    """Write every page; list what a first visit needs."""
    styles = [f"{name}.css" for name in ("site", "steps", "write")]
    own_files = [*(f"{name}.js" for name in SCRIPTS), "start.js", *styles, "icon.svg", "document.html"]
    needed = [f"{folders.files}/{name}" for name in own_files]
    pages = {picture.said["page"] for picture in site_pictures} | block_pages.keys()
    # At the top of the site stands the first page that there is.
    top = next((page for page in SITE_PAGES if page.name in pages), SITE_PAGES[0])
    for page in (*SITE_PAGES, *APP_PAGES):
        config = {"page": page.name, **site_parameters(page), "modelsFolder": folders.models}
        own = [picture for picture in site_pictures if picture.said["page"] == page.name]
        write: Callable[[PageFrame], str] = partial(write_stand_in, page)
        if page.name in block_pages:
            write = partial(write_block_page, page, config=config | block_pages[page.name].config)
            needed.append(f"{folders.files}/{page.name}.css")
        elif own:
            files = [f"{folders.files}/pictures/{name}" for name in _first_files(own[0])]
            config |= {
                "fields": list(page.boxes),
                "examples": [_example(each.said) for each in own],
                "first": {each["kind"]: each["first"] for each in own[0].said["maps"]},
                "models": [name for name, manifest in models.items() if manifest["task"] == TASKS.get(page.name, page.name)],
                **OPTIONS.get(page.name, {}),
                "about": ABOUT,
                "runtimeBytes": (folder / folders.models / "vendor" / "onnxruntime-web" / "ort.wasm.gz").stat().st_size,
            }
            script = f"{folders.files}/{SCRIPT_OF.get(page.name, 'explorer.js')}"
            seen = files[:1] if page.name in FOLDED else [*files, script]
            write = partial(write_page, page, config=config, preload=seen, measured=own[0].said.get("measured", ""))
            needed += files
        for place in (page.name, "") if page is top else (page.name,):
            _write(folder / place / "index.html", write(PageFrame("../" if place else "", folders.files, pages)))
            needed.append(f"{place}/" if place else "./")
    return needed


# From the page of a lesson to the top of the site.
_TO_ROOT = "../../"


def _write_answers(folder: Path, lessons: Mapping[str, Lesson], source: ComputedSource, why: Why) -> dict[str, dict[str, Any]]:
    """Write what lessons fetch when questions were answered; return what their pages know at first.

    Raises:
        LessonError: something is wrong with a lesson; the message has the line.
    """
    described = {}
    for name, lesson in lessons.items():
        right = truths(lesson, source)
        for own, content in later_files(lesson, right, source, _TO_ROOT, why).items():
            _write(folder / name / f"{own}.json", json.dumps(content, ensure_ascii=False))
        described[name] = describe_lesson(lesson, right, source)
    return described


def _write_lessons(
    folder: Path,
    frame: PageFrame,
    lessons: Mapping[str, Lesson],
    absent: Mapping[str, str],
    described: Mapping[str, Mapping[str, Any]],
    why: Why,
    report: Report,
) -> list[str]:
    """Write a page for each lesson but those that are absent, and one that leads to all; list them."""
    cards = []
    for name, lesson in lessons.items():
        about = f"{lesson.facts}. {f'For {lesson.audience}.' if lesson.audience else ''}"
        if name in absent:
            cards.append(("", lesson.title, f"{about} In the app alone. {absent[name]}"))
            continue
        body = lesson_html(lesson, frame.root, why)
        _write(folder / name / "index.html", write_lesson_page(lesson.title, frame, body, described[name]))
        cards.append((name, lesson.title, about))
        report(f"lesson {name}: {lesson.title}")
    # What can be opened comes first.
    cards.sort(key=lambda card: not card[0])
    _write(folder / "index.html", write_lessons_page(cards, replace(frame, root="../")))
    return ["lessons/", *(f"lessons/{name}/" for name in described)]


def _first_files(picture: SitePicture) -> list[str]:
    """Name what is fetched before the first picture of a page is seen."""
    said = picture.said
    if said["page"] == "compute":
        return [f"{said['name']}.json"]
    if said["page"] == "translate":
        return [f"{said['name']}.json", f"{said['name']}.align"]
    return [f"{said['name']}.json", next(each["file"] for each in said["maps"] if each["kind"] == said["shown"])]


def _example(description: Mapping[str, Any]) -> dict[str, Any]:
    into = "German" if "-en-de" in "".join(description["models"]) else "French"
    return {
        **{
            name: description[name]
            for name in ("source", "place", "opens", "shapes", "remark", "model", "word")
            if name in description
        },
        "label": description["label"],
        "models": description["models"],
        "prompt": description["prompt"],
        "file": f"{description['name']}.json",
        "into": into,
    }


def _write_service_worker(folder: Path, models: str, first: Sequence[str]) -> None:
    """Write what keeps the site, with the version that all of its files make."""
    script = bundle(WEB / "service_worker.js")
    texts = {"site": _digest(folder), "models": models, "first": json.dumps(list(dict.fromkeys(first)))}
    for name, text in texts.items():
        script = script.replace(f"${name}", text)
    _write(folder / "service_worker.js", script)


def _plain_style(style: str) -> str:
    """Drop comments and indents, which people alone read."""
    return re.sub(r"/\*[^*]*\*/\n?|^ +", "", style, flags=re.M)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
