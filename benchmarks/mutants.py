"""Mutants of a module: changes of one place each, which a test should notice. Cosmic Ray's operators make them."""

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

Place = tuple[int, int]


@dataclass(frozen=True)
class Mutant:
    """One change: the `occurrence`th of an operator in a file, at a place (line from 1, column from 0)."""

    path: Path
    source: str = field(repr=False)
    operator: str
    occurrence: int
    place: Place

    @property
    def code(self) -> str:
        """The whole module with the change."""
        code = mutate_code(self.source, get_operator(self.operator)(), self.occurrence)
        assert code is not None, self
        return code

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
    return [draw.choice(places[place]) for place in draw.sample(sorted(places), min(count, len(places)))]


def mutants(path: Path) -> Iterator[Mutant]:
    """All changes of a module but those of annotations and caches, which change nothing that it computes."""
    source = path.read_text(encoding="utf-8")
    nodes, silent = [*ast_nodes(get_ast(source))], [*_silent(ast.parse(source))]
    for operator in operator_names():
        kind = get_operator(operator)
        if kind.arguments():
            continue
        made = kind()
        starts = (start for node in nodes for start, _ in made.mutation_positions(node))
        for occurrence, start in enumerate(starts):
            if not any(first <= start < last for first, last in silent):
                yield Mutant(path, source, operator, occurrence, start)


def _silent(tree: ast.Module) -> Iterator[tuple[Place, Place]]:
    """From where to where each annotation goes, and each decorator that keeps results."""
    for node in ast.walk(tree):
        caches = [each for each in getattr(node, "decorator_list", []) if "cache" in ast.unparse(each)]
        for at in (getattr(node, "annotation", None), getattr(node, "returns", None), *caches):
            if isinstance(at, ast.expr) and at.end_lineno and at.end_col_offset:
                # A decorator begins with its @.
                yield (at.lineno, at.col_offset - (at in caches)), (at.end_lineno, at.end_col_offset)


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
