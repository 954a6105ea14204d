"""The HTML of every page of a site: the frame that all share, what is typed on each, and what its scripts are made of."""

import gzip
import html
import json
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from attnviz.analysis.answer_attention import HOW_ANSWERED, TRUST_ANSWERS
from attnviz.analysis.next_and_why import HOW_WRITTEN
from attnviz.analysis.summary_selection import HOW_CHOSEN, TRUST_SUMMARIES
from attnviz.analysis.translation_alignment import CLICK_TRANSLATION, HOW_ALIGNED, HOW_LIKELY, HOW_SCORED, TRUST_ALIGNMENTS
from attnviz.analysis.wording import CLICK_WORDS, HOW_WEIGHTS, TRUST_WEIGHTS
from attnviz.core.errors import AttnvizError
from attnviz.figures.theme import DARK, FONT, LIGHT, css_variables
from attnviz.lessons.lesson_file import HANDED_IN, HOW_IT_GOES
from attnviz.live.block_pages import MARKDOWN
from attnviz.live.pictures import KEYS, notice_on_site
from attnviz.pages_and_addresses import (
    LESSON,
    NAME,
    PAGES,
    PARAMETERS,
    SLOTS,
    AppPage,
    Choice,
    Flag,
    Names,
    Number,
    Type,
    renamed,
)
from attnviz.settings import app_folder


class PackageError(AttnvizError, ValueError):
    """A package of npm is not here."""


@dataclass(frozen=True)
class NpmPackage:
    """A package, and which of its files the site gives out, by their new names; `holder`: of the rights, where no file says."""

    name: str
    files: dict[str, str]
    holder: str = ""


PACKAGES = (
    NpmPackage(
        "onnxruntime-web",
        {"dist/ort.wasm.bundle.min.mjs": "ort.js", "dist/ort-wasm-simd-threaded.wasm": "ort.wasm.gz"},
        "Microsoft Corporation",
    ),
    NpmPackage("@huggingface/tokenizers", {"dist/tokenizers.min.mjs": "tokenizers.js"}),
    NpmPackage("sentencex-wasm", {"sentencex_wasm.js": "sentencex.js", "sentencex_wasm_bg.wasm": "sentencex.wasm.gz"}),
    NpmPackage("uqr", {"dist/index.mjs": "index.js"}),
)
# That of packages without a file for it.
_MIT = """
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions: The above copyright notice and
this permission notice shall be included in all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED
"AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT
HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def _licence(source: Path, target: Path, holder: str) -> str:
    """Copy a package's licence, and write which it is."""
    about = json.loads((source / "package.json").read_text(encoding="utf-8"))
    files = sorted(source.glob("LICEN[CS]E*"))
    for licence in files:
        shutil.copy(licence, target / licence.name)
    line = f"{about['name']} {about['version']}, licence {about['license']}, {about.get('homepage', '')}"
    return line if files else f"{line}\nCopyright (c) {holder}\n{_MIT}"


def copy_packages(folder: Path) -> None:
    """Copy what the site needs of each package into a folder of its name, and list all with their versions and licences.

    Raises:
        PackageError: one of them is not installed.
    """
    lines = ["Third-party JavaScript in this site:", ""]
    for package in PACKAGES:
        source = app_folder() / "node_modules" / package.name
        if not (source / "package.json").is_file():
            raise PackageError(f"The npm package {package.name} is not here: run `make site` in a checkout of attnviz.")
        target = folder / package.name.split("/")[-1]
        target.mkdir(parents=True)
        for path, name in package.files.items():
            content = (source / path).read_bytes()
            (target / name).write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
        lines.append(_licence(source, target, package.holder))
    (folder / "LICENCES.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


WEB = Path(__file__).parent / "web"
_TEMPLATE = Template((WEB / "index.html").read_text(encoding="utf-8"))
# A page runs the scripts of its own folder alone, and asks nobody else for anything; WebAssembly is compiled, nothing else is.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"
)


# The pages that the site has, where it has a model for them, and those that it cannot have.
SITE_PAGES = tuple(page for page in PAGES if page.on_site)
APP_PAGES = tuple(page for page in PAGES if page.in_app and not page.on_site)
# What an address asks of the app alone; what else a page does not read changes no picture of it.
_APP_ONLY = {
    *("edits", "renormalize", "between", "penalty", "weighing", "other", "reading", "hard", "punctuation", "reference"),
    *("tokens", "numbers", "mask", "own", "padded", "divide", "seed", "predict", "chat", "why"),
    *(f"{name}{slot}" for name in ("edits", "begins", "candidate") for slot in range(1, SLOTS + 1)),
}
# The site has some of the choices; and the explorer below a summary, which the app fits to its head, a scale.
_VIEW, _SCALE = Choice(("grid", "matrix", "arcs", "text")), PARAMETERS["encode"]["scale"]
_OWN: dict[str, Type] = {"view": _VIEW, "view1": _VIEW, "way": Choice(KEYS), "scale": _SCALE}


def site_parameters(page: AppPage) -> dict[str, Any]:
    """Write what a page reads of an address, as its script knows the types; what of it only the app can do; and other names."""
    of_app = PARAMETERS[page.name]
    read = {name: _type(_OWN.get(name) or of_app[name]) for name in page.on_site.split()}
    # Of a page that is written whole, all that it does not read is the app's.
    app_only = _APP_ONLY if page.boxes else of_app.keys() - LESSON.keys()
    # Of what it reads, a choice that only the app has.
    choices = [(name, kind.options) for name, kind in of_app.items() if name in read and isinstance(kind, Choice)]
    further = [f"{name}={option}" for name, options in choices for option in options if option and option not in read[name]]
    names = sorted({name for parameters in PARAMETERS.values() for name in parameters} - LESSON.keys())
    new = {old: own for name in names for old, own in renamed(page.name, [name]).items() if own in read}
    return {"parameters": read, "renamed": new, "appOnly": sorted([*(app_only - read.keys()), *further])}


def _type(kind: Type) -> Any:
    if isinstance(kind, Flag):
        return "switch" if kind.default else "flag"
    if isinstance(kind, Choice):
        return [each for each in kind.options if each]
    if isinstance(kind, Number):
        step = {} if isinstance(kind.least, int) else {"step": kind.step}
        return {"least": kind.least, "most": kind.most, **step}
    return {"longest": NAME.most, "several": kind.most} if isinstance(kind, Names) else {"longest": kind.most}


# Of these the main picture is the text, and all heads are folded below it, as in the app.
FOLDED = ("answer", "summarize")
GET_THE_APP = "pip install attnviz"


@dataclass(frozen=True)
class PageFrame:
    """Where a page stands: `root` leads from it to the top of the site, where `files` is the folder of scripts and styles.

    pages  those that the site has a picture for
    """

    root: str
    files: str
    pages: Collection[str]


def write_page(
    page: AppPage, frame: PageFrame, *, config: Mapping[str, Any], preload: Sequence[str], measured: str = ""
) -> str:
    """Write a page with a picture; `preload` are files that its picture needs, `measured` says how good its model is."""
    is_only = len([name for name in page.boxes if name != "pair"]) == 1
    boxes = "\n".join(_box(name, label, is_only) for name, label in page.boxes.items())
    # The words say it first; what the head says of itself comes after the picture.
    is_below = page.name == "encode"
    inside, after = ('<div id="picture"></div>\n', "") if page.name not in FOLDED else ("", _FOLD)
    if page.name == "write":
        inside += '<div id="said"></div>\n'
    click = f'<p class="click">{_CLICK[page.name]}</p>\n' if page.name in _CLICK else ""
    body = f"""<form id="typed">
{boxes}
<button type="submit">Run</button>
</form>
<div id="chips" role="group" aria-label="Examples"></div>
<p id="notice" class="notice" role="status" hidden></p>
<div id="busy" role="status" hidden></div>
<section id="hero" aria-label="Picture">
<div id="toolbar"></div>
<p id="answer" dir="auto"></p>
{click}{"" if is_below else _STORY}<div id="passage"></div>
{inside}{_STORY if is_below else ""}<p id="hidden"></p>
</section>
<p id="hint"></p>
{after}{_explained(page.name, measured)}<footer>{_FOOTER}</footer>
<script type="application/json" id="config">{_data(config)}</script>"""
    links = "\n".join(_preload(frame.root, file) for file in preload)
    return _fill(page.title, page.promise, frame, page.name, body, links)


def write_block_page(page: AppPage, frame: PageFrame, config: Mapping[str, Any]) -> str:
    """Write a page of parts that were written when the site was built: its script shows those that the address asks for."""
    body = f"""<div id="chips"></div>
<p id="notice" class="notice" role="status" hidden></p>
<div id="above"></div>
<section id="hero" aria-label="Picture"><div id="toolbar"></div><div id="picture"></div></section>
<div id="below"></div>
<p id="hint">{html.escape(page.in_app)} <code>{GET_THE_APP}</code></p>
<footer>All that stands here was computed when this site was built, by the app itself.</footer>
<script type="application/json" id="config">{_data(config)}</script>"""
    return _fill(page.title, page.promise, frame, page.name, body, "")


def _box(name: str, label: str, is_only: bool) -> str:
    """Write a box to type in; a second text, which few type, is folded until there is one."""
    named = ' aria-labelledby="label-pair"' if name == "pair" else ""
    area = f'<textarea id="box-{name}" name="{name}"{named} rows="1" spellcheck="false" enterkeyhint="go"></textarea>'
    if name == "pair":
        return f'<details><summary id="label-pair">{label}</summary>{area}</details>'
    return f'<div><label{" class=only" if is_only else ""} for="box-{name}">{label}</label>{area}</div>'


# How much to trust a page.
_TRUST = {"encode": TRUST_WEIGHTS, "translate": TRUST_ALIGNMENTS, "answer": TRUST_ANSWERS, "summarize": TRUST_SUMMARIES}


# How what is shown there comes about, and what to do first.
_HOW = {
    "encode": HOW_WEIGHTS,
    "translate": (HOW_ALIGNED[0], HOW_ALIGNED[1] + HOW_SCORED + f"\n{HOW_LIKELY}\n"),
    "answer": HOW_ANSWERED,
    "summarize": HOW_CHOSEN,
    "write": HOW_WRITTEN,
}
_CLICK = {"encode": CLICK_WORDS, "translate": CLICK_TRANSLATION}


def _explained(page: str, measured: str) -> str:
    """Write how what is shown comes about, and how much to trust it, each folded."""
    trust = _TRUST.get(page, "") + (f"- {measured}\n" if measured else "")
    folds = {"how": _HOW.get(page, ("", "")), "trust": ("How much to trust this", trust)}
    return "".join(_fold(name, title, notice_on_site(text)) for name, (title, text) in folds.items() if text)


def _fold(name: str, title: str, text: str) -> str:
    return f'<details id="{name}"><summary>{html.escape(title)}</summary>{MARKDOWN.render(text)}</details>\n'


_FOLD = '<details id="all"><summary>All heads, any of them at full size</summary><div id="picture"></div></details>\n'
_STORY = '<div id="story" aria-live="polite"></div>\n'


def _preload(root: str, file: str) -> str:
    kind = 'modulepreload"' if file.endswith(".js") else 'preload" as="fetch" crossorigin'
    return f'<link rel="{kind} href="{root}{file}">'


_LESSONS = next(page for page in PAGES if page.name == "lessons")


def write_lessons_page(cards: Sequence[tuple[str, str, str]], frame: PageFrame) -> str:
    """Write the page of all lessons; a card is a lesson's name (empty: the app alone has it), title and what it is for."""
    shown = "".join(
        f'<li{"" if name else " class=absent"}>{_title(name, title)}<p class="about">{html.escape(about)}</p></li>'
        for name, title, about in cards
    )
    how = _fold("how", "How a lesson goes", f"{HOW_IT_GOES} {HANDED_IN}")
    body = f'<ul id="lessons">{shown}</ul>\n{how}<footer>{_FOOTER}</footer>'
    return _fill("Lessons", _LESSONS.promise, frame, "lessons", body, "")


def write_lesson_page(title: str, frame: PageFrame, body: str, config: Mapping[str, Any]) -> str:
    """Write the page of a lesson, whose steps are HTML already."""
    data = f'<script type="application/json" id="config">{_data({"lesson": config})}</script>'
    return _fill(html.escape(title), "A lesson", frame, "lessons", f"{body}\n<footer>{_FOOTER}</footer>\n{data}", "")


def _title(name: str, title: str) -> str:
    return f'<a href="{name}/" dir="auto">{html.escape(title)}</a>' if name else f'<b dir="auto">{html.escape(title)}</b>'


_FOOTER = (
    "Everything here is computed in this browser; nothing that is typed leaves it. The models are those of the app: in tests "
    "no weight differed from the app's by more than 0.001. The app itself also opens any model of the Hugging Face hub: "
    f"<code>{GET_THE_APP}</code>."
)


def write_stand_in(page: AppPage, frame: PageFrame) -> str:
    """Write the page that stands for one that only the app has, or that none of the site's models is for."""
    of_the_app = f"This page is part of the app, and not of this site. {html.escape(page.in_app)}"
    notice = "This site was made without a model for this page." if page.on_site else of_the_app
    body = f"""<section id="elsewhere">
<p class="notice">{notice}</p>
<p>Get the app, which needs Python 3.11 or newer, and open the same page there:</p>
<pre><code>{GET_THE_APP}
attnviz</code></pre>
</section>"""
    return _fill(page.title, "In the app only", frame, page.name, body, "")


def _fill(title: str, promise: str, frame: PageFrame, current: str, body: str, preload: str) -> str:
    root = frame.root
    return _TEMPLATE.substitute(
        title=title, promise=promise, root=root or "./", files=f"{root}{frame.files}/", page=current, nav=_nav(frame, current),
        body=body, preload=preload, policy=POLICY,
    )  # fmt: skip


def _nav(frame: PageFrame, current: str) -> str:
    def link(name: str, title: str, kind: str = "") -> str:
        here = ' aria-current="page"' if name == current else ""
        return f'<a href="{frame.root}{name}/"{kind}{here}>{title}</a>'

    pages = (*SITE_PAGES, *APP_PAGES)
    own = [*(link(page.name, page.title) for page in pages if page.name in frame.pages), link("lessons", "Lessons")]
    app = [link(page.name, page.title, ' class="elsewhere"') for page in pages if page.name not in frame.pages]
    return "\n".join([*own, "<span>In the app</span>", *app])


def _data(value: Mapping[str, Any]) -> str:
    """Write data that no browser takes for markup."""
    return re.sub("[<>&\u2028\u2029]", lambda sign: f"\\u{ord(sign[0]):04x}", json.dumps(value, ensure_ascii=False))


def colours() -> str:
    """Write the colours of the site, which follow the reader's system, as CSS."""
    dark = f"@media(prefers-color-scheme:dark){{:root{{{css_variables(DARK)}}}}}"
    return f":root{{color-scheme:light dark;--font:{FONT};{css_variables(LIGHT)}}}\n{dark}\n"
