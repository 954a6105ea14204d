"""The design, held: imports point down and run in no circle, and every class name stands once."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BELOW_UI = {
    "core",
    "files",
    "settings",
    "memory",
    "text",
    "nn",
    "models",
    "analysis",
    "attribution",
    "figures",
    "export",
    "pages_and_addresses",
}
# Which parts of the package each part may import, itself aside. A part is a module or folder of attnviz/, a module of core/, or
# the app; "core" as what may be imported is all of core/.
MAY_IMPORT = {
    "core": set(),
    "core.errors": set(),
    "core.journal": {"core.errors", "core.whole_files"},
    "core.whole_files": {"core.errors"},
    "core.weights": {"core.errors"},
    "core.edits": {"core.errors", "core.weights"},
    "core.sampling": {"core.errors", "core.weights"},
    "core.trace": {"core.edits", "core.errors", "core.weights", "core.sampling"},
    "core.head_inputs": {"core.errors", "core.weights"},
    "core.why": {"core.errors", "core.trace"},
    "settings": {"core.errors"},
    "pages_and_addresses": set(),
    "memory": {"core.errors", "settings"},
    "files": {"core", "settings"},
    "text": {"core", "settings"},
    "nn": {"core.edits", "core.errors", "core.weights"},
    "models": {"core", "settings", "memory", "text", "nn"},
    "analysis": {"core", "settings", "text"},
    "attribution": {"core", "text", "nn", "models", "analysis"},
    "figures": {"core", "text", "analysis"},
    "export": {"core", "text", "analysis", "figures"},
    "training": {"core", "settings", "text", "nn", "models", "analysis"},
    # Many texts through a model, and what its heads do over all of them.
    "survey": {"core", "settings", "memory", "text", "nn", "models", "analysis"},
    "lessons": BELOW_UI - {"files", "memory", "nn"} | {"survey"},
    "live": BELOW_UI | {"lessons"},
    "ui": BELOW_UI | {"training", "survey", "lessons"},
    "cli": BELOW_UI | {"training", "survey", "lessons", "live"},
    "__init__": {"core", "files", "models", "analysis", "attribution", "figures"},
    "__main__": {"cli"},
    "app": BELOW_UI | {"ui", "survey"},
    # What trained the shipped models uses the package, and nothing of the package uses it.
    "recipes": {"core", "settings", "text", "nn", "models", "analysis", "attribution", "training"},
    "recipes.__main__": {"cli"},
    "recipes.first_results": {"core", "settings", "files", "figures", "lessons", "ui"},
}
# A feature is named as its page is, in every layer; what several pages share stands above their folders, or in edit/.
TASKS = {path.stem for path in (ROOT / "pages").glob("*.py")}
MODELLING = {"torch", "transformers", "tokenizers", "safetensors", "huggingface_hub"}
DRAWING = {"plotly", "streamlit", "bertviz", "matplotlib", "PIL"}
# Third-party packages that a part must not import, at the top of a file or inside a function.
MUST_NOT_IMPORT = {
    **{part: MODELLING | DRAWING for part in MAY_IMPORT if part.startswith("core")},
    **dict.fromkeys(("pages_and_addresses", "settings", "memory", "cli", "__init__", "__main__"), MODELLING | DRAWING),
    **dict.fromkeys(("text", "models", "attribution", "training", "survey", "lessons", "live"), DRAWING),
    "files": DRAWING | MODELLING - {"safetensors"},
    "nn": DRAWING | {"transformers"},
    "analysis": DRAWING | MODELLING,
    "figures": MODELLING | {"streamlit"},
    "export": MODELLING | {"streamlit"},
    "ui": {"bertviz"},
    "app": MODELLING | {"plotly", "numpy", "bertviz"},
    "recipes": DRAWING,
    "recipes.__main__": MODELLING | DRAWING,
    "recipes.first_results": MODELLING | DRAWING - {"streamlit"},
}
FILES = [
    ROOT / "app.py",
    *(path for folder in ("pages", "attnviz", "recipes") for path in sorted((ROOT / folder).glob("**/*.py"))),
]
SOURCES = {path: path.read_text(encoding="utf-8") for path in FILES}
parsed = cache(ast.parse)


def part_of(path: Path) -> str:
    folder, *rest = path.relative_to(ROOT).with_suffix("").parts
    if folder == "recipes":
        own = f"recipes.{rest[-1]}"
        return own if own in MAY_IMPORT else "recipes"
    if folder != "attnviz":
        return "app"
    return ".".join(rest).removesuffix(".__init__") if rest[0] == "core" else rest[0]


def package_of(path: Path) -> tuple[str, ...]:
    """The package that relative imports of this file start from."""
    return path.relative_to(ROOT).parent.parts


@cache
def imported(source: str, package: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The dotted names a source imports anywhere in it, relative ones made absolute."""
    return tuple(names_of(ast.walk(parsed(source)), package))


def at_import(source: str, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The dotted names that are imported as soon as a source is: not within functions, not for a type checker alone."""
    nodes: list[ast.AST] = [parsed(source)]
    for node in nodes:  # grows
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if not is_for_types and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            nodes += ast.iter_child_nodes(node)
    yield from names_of(nodes, package)


def names_of(nodes: Iterable[ast.AST], package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            named = tuple(node.module.split(".")) if node.module else ()
            yield from ((*above, *named, alias.name) for alias in node.names)


def violations(source: str, part: str, package: tuple[str, ...]) -> set[str]:
    """What a file of that part imports and should not."""
    wrong = set()
    for name in imported(source, package):
        if name[0] in MUST_NOT_IMPORT[part]:
            wrong.add(name[0])
        if name[0] == "recipes" and not part.startswith("recipes"):
            wrong.add("recipes")
        # `from attnviz import Token` names no part: the public names are for everyone above the values.
        if name[0] != "attnviz" or len(name) < 2 or name[1] not in MAY_IMPORT:
            continue
        target = ".".join(name[1:3] if name[1] == "core" else name[1:2])
        if not {name[1], target} & (MAY_IMPORT[part] | {part}):
            wrong.add(f"attnviz.{target}")
    return wrong


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def task_of(names: tuple[str, ...]) -> str | None:
    """The task whose folder a dotted name or a path leads through: the third of its names, in recipes the second."""
    place = 1 if names[:1] == ("recipes",) else 2
    return next((name for name in names[place : place + 1] if name in TASKS), None)


def circle_of(sources: dict[str, tuple[str, tuple[str, ...]]]) -> list[str]:
    """Modules that import each other in a circle, lazily or not; `sources` has of each module its source and its package."""
    graph: dict[str, set[str]] = {}
    for module, (source, package) in sources.items():
        prefixes = ((".".join(name[:end]) for end in range(len(name), 0, -1)) for name in imported(run_time(source), package))
        targets = {next((prefix for prefix in each if prefix in sources), module) for each in prefixes}
        graph[module] = targets - {module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def run_time(source: str) -> str:
    """A source without what only a type checker reads."""
    if "TYPE_CHECKING" not in source:
        return source
    run = ast.parse(source)
    for block in [node for node in ast.walk(run) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]:
        block.body = [ast.Pass()]
    return ast.unparse(run)


def test_imports_point_down():
    homeless = [path for path in FILES if part_of(path) not in MAY_IMPORT]
    assert not homeless, "a new part of attnviz needs its place in this file's tables and in CONTRIBUTING.md"
    gone = [part for part in MAY_IMPORT if part.startswith("core.") and part not in map(part_of, FILES)]
    assert not gone, "a part that is gone needs no place in this file's tables"
    wrong = {path: violations(source, part_of(path), package_of(path)) for path, source in SOURCES.items()}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_tasks_do_not_import_each_other():
    wrong = {}
    for path, source in SOURCES.items():
        if task := task_of(path.relative_to(ROOT).parent.parts):
            own = {task_of(name) for name in imported(source, package_of(path)) if part_of(path) in name[:2]}
            wrong[path] = own - {None, task}
    assert {path: tasks for path, tasks in wrong.items() if tasks} == {}
    assert wrong


def test_no_imports_run_in_a_circle():
    sources = {module_of(path): (source, package_of(path)) for path, source in SOURCES.items()}
    assert circle_of(sources) == []


def test_every_public_class_name_stands_once():
    names = Counter(node.name for source in SOURCES.values() for node in parsed(source).body if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1 and not name.startswith("_")] == []


def test_no_test_outside_the_gate_imports_playwright():
    """A machine with a card, or without a browser, runs them without it: `make test DEVICE=cuda`, `make test`."""
    begun = [path for path in (ROOT / "tests").rglob("*.py") if path.parts[len(ROOT.parts) + 1] not in ("browser", "recipes")]
    via = dict.fromkeys(begun, "a test")
    for path in begun:  # grows
        for name in at_import(path.read_text(encoding="utf-8"), package_of(path)):
            assert name[0] != "playwright", f"{path} imports Playwright: {via[path]} imports it"
            targets = [ROOT.joinpath(*name[:end]).with_suffix(".py") for end in (len(name), len(name) - 1) if end]
            for target in [each for each in targets if each.is_file() and each not in via]:
                via[target] = str(path)
                begun.append(target)
    assert ROOT / "benchmarks" / "harness.py" in via


@pytest.mark.parametrize(
    ("part", "source", "expected"),
    [
        ("figures", "import torch.nn", {"torch"}),
        ("figures", "from attnviz.models.hub.download import load_folder", {"attnviz.models"}),
        ("figures", "from attnviz import models", {"attnviz.models"}),
        ("figures", "from ..models import hub", {"attnviz.models"}),
        ("figures", "from .theme import LIGHT", set()),
        ("models", "def draw():\n    import plotly.graph_objects as go", {"plotly"}),
        ("analysis", "import attnviz.figures.theme", {"attnviz.figures"}),
        ("analysis", "from attnviz.core.trace import Token", set()),
        ("app", "import numpy as np", {"numpy"}),
        ("training", "def train():\n    from recipes import commands", {"recipes"}),
        ("recipes", "from recipes.loop import Run\nfrom attnviz.ui import state", {"attnviz.ui"}),
        ("nn", "if TYPE_CHECKING:\n    from attnviz.core.trace import AttentionMap", {"attnviz.core.trace"}),
    ],
)
def test_an_import_that_points_up_is_seen(part, source, expected):
    assert violations(source, part, ("attnviz", part)) == expected


def test_a_circle_is_seen_also_where_an_import_is_lazy_but_not_where_only_a_type_checker_reads_it():
    lazy = {"a": ("import b", ()), "b": ("def run():\n    from c import d", ()), "c": ("import a", ())}
    assert set(circle_of(lazy)) == {"a", "b", "c"}
    assert circle_of(lazy | {"c": ("if TYPE_CHECKING:\n    import a", ())}) == []


def test_a_test_is_named_for_what_it_tests() -> None:
    """It stands in the folder of its module and begins with its name, or its package's: `test_site_style` is of site.py."""
    # What runs both languages, or all that ships, is of no one module.
    across = {
        "live": {"address", "described", "lessons", "picture", "steps", "algorithms", "models"},
        "lessons": {"shipped_lessons"},
    }
    wrong = []
    for path in [path for kind in ("test_*.py", "*.test.js") for path in (ROOT / "tests" / "unit").glob(f"*/**/{kind}")]:
        parts = path.parent.relative_to(ROOT / "tests" / "unit").parts
        name = path.stem.removeprefix("test_").removesuffix(".test")
        modules = (
            {each.stem for each in ROOT.joinpath("attnviz", *parts).glob("*.*")} | {parts[-1]} | across.get(parts[0], set())
        )
        if not any(f"{name}_".startswith(f"{module}_") for module in modules):
            wrong.append(path)
    assert wrong == []
