"""Mutants of a module: changes of one place each, which a test should notice. Cosmic Ray's operators make them."""

import ast
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[1]
Place = tuple[int, int]
_IDENTITY = re.compile(r"Operator_(Eq|NotEq|Lt|LtE|Gt|GtE)_Is|_Is(Not)?_(Eq|NotEq)$")


@dataclass(frozen=True)
class Mutant:
    """One change: the `occurrence`th of an operator in a file, at a place (line from 1, column from 0)."""

    path: Path
    source: str = field(repr=False)
    operator: str
    occurrence: int
    place: Place

    @property
    def name(self) -> str:
        """The file, from the root of the tree."""
        return str(self.path.relative_to(ROOT))

    @property
    def module(self) -> str:
        """Its name, as it is imported."""
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts)

    @property
    def code(self) -> str:
        """The whole module with the change."""
        code = mutate_code(self.source, get_operator(self.operator)(), self.occurrence)
        assert code is not None, self
        return code

    @property
    def can_be_read(self) -> bool:
        """Whether Python reads the module with the change: `**` of a dict makes none as `//`.

        Of an exception that is named with its module cosmic-ray knows no change, and raises.
        """
        with suppress(SyntaxError, AttributeError):
            return bool(compile(self.code, self.name, "exec"))
        return False

    @property
    def lines(self) -> range:
        """Those of the innermost statement that it changes; of one that holds others only its head, decorators included."""
        line, tree = self.place[0], ast.parse(self.source)
        statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
        innermost = max((node for node in statements if _first(node) <= line <= (node.end_lineno or 0)), key=_first)
        inside = getattr(innermost, "body", None)
        last = inside[0].lineno - 1 if isinstance(inside, list) and inside else innermost.end_lineno or line
        return range(_first(innermost), max(last, line) + 1)

    @property
    def change(self) -> str:
        """The line that differs, before and after."""
        before, after = (text.splitlines()[self.place[0] - 1].strip() for text in (self.source, self.code + "\n"))
        return f"{before}  →  {after}"


def sample(paths: list[Path], count: int, seed: int) -> list[Mutant]:
    """Mutants of so many places, all places alike: of one where several changes are possible, one of them."""
    draw = random.Random(seed)
    places: dict[tuple[Path, Place], list[Mutant]] = defaultdict(list)
    for path in paths:
        for mutant in mutants(path):
            places[path, mutant.place].append(mutant)
    chosen: list[Mutant] = []
    for place in draw.sample(sorted(places), len(places)):
        if len(chosen) < count:
            several = draw.sample(places[place], len(places[place]))
            chosen += next(([mutant] for mutant in several if mutant.can_be_read), [])
    return chosen


def mutants(path: Path) -> Iterator[Mutant]:
    """All changes of a module but those that change nothing that it computes.

    These are annotations, caches, `strict` of a `zip` (a check of what is always so), the `*` of a signature, and `is` in place
    of `==`, or the reverse: small numbers and names of Python are the same object wherever they are equal.
    """
    source = path.read_text(encoding="utf-8")
    nodes, silent = [*ast_nodes(get_ast(source))], [*_silent(ast.parse(source))]
    for operator in operator_names():
        kind = get_operator(operator)
        if kind.arguments() or _IDENTITY.search(operator):
            continue
        made = kind()
        starts = (start for node in nodes for start, _ in made.mutation_positions(node))
        for occurrence, start in enumerate(starts):
            if not any(first <= start < last for first, last in silent):
                yield Mutant(path, source, operator, occurrence, start)


def _silent(tree: ast.Module) -> Iterator[tuple[Place, Place]]:
    """From where to where each expression goes that is not mutated."""
    for node in ast.walk(tree):
        caches = [each for each in getattr(node, "decorator_list", []) if "cache" in ast.unparse(each)]
        strict = node.value if isinstance(node, ast.keyword) and node.arg == "strict" else None
        typing = node.test if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" else None
        for at in (getattr(node, "annotation", None), getattr(node, "returns", None), *caches, strict, typing):
            if isinstance(at, ast.expr) and at.end_lineno and at.end_col_offset:
                # A decorator begins with its @.
                yield (at.lineno, at.col_offset - (at in caches)), (at.end_lineno, at.end_col_offset)
        if isinstance(node, ast.arguments) and node.kwonlyargs and not node.vararg:
            before, first = (*node.posonlyargs, *node.args, *node.defaults), node.kwonlyargs[0]
            ends = [(each.end_lineno or 0, each.end_col_offset or 0) for each in before]
            yield max(ends, default=(first.lineno, 0)), (first.lineno, first.col_offset)


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
