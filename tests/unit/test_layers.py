"""The design, held: imports point down, each third-party package stays where it belongs, and nothing grows too long."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VALUES = {"cancellation", "checks", "errors", "ingredients", "softmax", "trace", "weights"}
BELOW_UI = VALUES | {
    "disk",
    "files",
    "arrays",
    "paths",
    "settings",
    "memory",
    "text",
    "nn",
    "models",
    "analysis",
    "figures",
    "export",
}
# Which parts of the package each part may import, itself aside. A part is a module or folder of attnviz/, or the app.
MAY_IMPORT = {
    "checks": set(),
    "disk": set(),
    "errors": set(),
    "cancellation": set(),
    "paths": set(),
    "settings": {"errors"},
    "memory": {"errors", "settings"},
    "softmax": set(),
    "weights": {"errors", "softmax"},
    "trace": {"checks", "errors", "weights", "methods"},
    "ingredients": {"errors", "weights"},
    # Conveniences of a trace: the one part whose imports point up, each inside of its method.
    "methods": {"errors", "trace", "files", "analysis", "figures"},
    "files": VALUES | {"disk"},
    "arrays": VALUES,
    "text": VALUES,
    "nn": {"cancellation", "errors"},
    "models": VALUES | {"disk", "paths", "settings", "memory", "text", "nn"},
    "analysis": VALUES | {"text"},
    "figures": VALUES | {"text", "analysis"},
    "export": VALUES | {"text", "analysis", "figures"},
    "training": VALUES | {"disk", "paths", "text", "nn", "models", "analysis"},
    "ui": BELOW_UI | {"training"},
    "cli": BELOW_UI | {"training"},
    "__init__": VALUES | {"files", "arrays", "models"},
    "app": BELOW_UI | {"ui"},
}
MODELLING = {"torch", "transformers", "tokenizers", "safetensors", "huggingface_hub"}
DRAWING = {"plotly", "streamlit", "bertviz", "matplotlib", "PIL"}
# Third-party packages that a part must not import, at the top of a file or inside a function.
MUST_NOT_IMPORT = {
    **dict.fromkeys(
        tuple(VALUES | {"disk", "paths", "settings", "memory", "methods", "arrays", "cli", "__init__"}),
        MODELLING | DRAWING,
    ),
    **dict.fromkeys(("text", "models", "training"), DRAWING),
    "files": DRAWING | MODELLING - {"safetensors"},
    "nn": DRAWING | {"transformers"},
    "analysis": DRAWING | MODELLING,
    "figures": MODELLING | {"streamlit"},
    "export": MODELLING | {"streamlit"},
    "ui": {"bertviz"},
    "app": MODELLING | {"plotly", "numpy", "bertviz"},
}
FILES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("**/*.py")), *sorted((ROOT / "attnviz").glob("**/*.py"))]
each_file = pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])


def part_of(path: Path) -> str:
    folder, *rest = path.relative_to(ROOT).with_suffix("").parts
    return rest[0] if folder == "attnviz" else "app"


def package_of(path: Path) -> tuple[str, ...]:
    """The package that relative imports of this file start from."""
    return path.relative_to(ROOT).parent.parts


def imported(source: str, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The dotted names a source imports anywhere in it, relative ones made absolute."""
    for node in ast.walk(ast.parse(source)):
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
        # `from attnviz import Token` names no part: the public names are for everyone above the values.
        if name[0] == "attnviz" and len(name) > 1 and name[1] in MAY_IMPORT and name[1] not in MAY_IMPORT[part] | {part}:
            wrong.add(".".join(name[:2]))
    return wrong


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function, its docstring not counted."""
    docstring = ast.get_docstring(function, clean=False)
    return (function.end_lineno or 0) - function.lineno + 1 - (docstring.count("\n") + 1 if docstring else 0)


@each_file
def test_imports_point_down(path):
    assert part_of(path) in MAY_IMPORT, "a new part of attnviz needs its place in this file's tables and in CONTRIBUTING.md"
    assert violations(path.read_text(encoding="utf-8"), part_of(path), package_of(path)) == set()


def test_the_methods_of_a_trace_import_nothing_from_above_until_they_are_called():
    top = ast.parse((ROOT / "attnviz" / "methods.py").read_text(encoding="utf-8")).body
    kept = ast.unparse([node for node in top if isinstance(node, ast.Import | ast.ImportFrom)])
    assert {name[0] for name in imported(kept, ("attnviz",))} <= {"os", "pathlib", "typing"}


@each_file
def test_size(path):
    source = path.read_text(encoding="utf-8")
    limit = 119 if part_of(path) == "app" else 300
    assert source.count("\n") <= limit
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert {function.name: code_lines(function) for function in functions if code_lines(function) > 40} == {}


@pytest.mark.parametrize(
    ("part", "source", "found"),
    [
        ("figures", "import torch.nn", {"torch"}),
        ("figures", "from attnviz.models.hub import load_folder", {"attnviz.models"}),
        ("figures", "from attnviz import models", {"attnviz.models"}),
        ("figures", "from ..models import hub", {"attnviz.models"}),
        ("figures", "from .theme import LIGHT", set()),
        ("models", "def draw():\n    import plotly.graph_objects as go", {"plotly"}),
        ("analysis", "import attnviz.figures.theme", {"attnviz.figures"}),
        ("analysis", "from attnviz.trace import Token", set()),
        ("app", "import numpy as np", {"numpy"}),
        ("nn", "if TYPE_CHECKING:\n    from attnviz.trace import AttentionMap", {"attnviz.trace"}),
    ],
)
def test_an_import_that_points_up_is_seen(part, source, found):
    assert violations(source, part, ("attnviz", part)) == found
