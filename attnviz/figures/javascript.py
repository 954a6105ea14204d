"""JavaScript modules joined into one: a Streamlit component takes one text, and a file opened from disk may import nothing."""

import re
from collections import Counter
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "((?:\.{1,2}/)+[\w/]+\.js)";\n', re.M)
# Types are read by tsc and by people: a page does without them.
_TYPES = re.compile(r"^ */\*\*(?:(?!\*/)(?:.|\n))*\*/\n", re.M)
_DECLARATION = re.compile(r"^(export )?(?:const|let|class|function|async function) (\w+)", re.M)


def bundle(entry: Path, given: Mapping[str, str] | None = None) -> str:
    """Join a module and all that it imports, each after those it imports, into one module without imports.

    `given` has modules that are no files: their texts by file name. An import reads `import { a, b } from "./file.js";`, an
    export stands before what it exports, and only `entry` has a default export.

    Raises:
        ValueError: an import that nobody exports, a name that two modules have, modules that import each other in a circle, or
            an import or export of another form.
    """
    texts = _texts(entry.resolve(), given or {})
    declared = {path: _DECLARATION.findall(text) for path, text in texts.items()}
    for path, text in texts.items():
        for wanted, source in _imports(path, text):
            if missing := set(wanted) - {each for export, each in declared[source] if export}:
                raise ValueError(
                    f"{path.name} imports {', '.join(sorted(missing))} from {source.name}, which does not export it"
                )
    counts = Counter(name for declarations in declared.values() for _, name in declarations)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"{', '.join(twice)} is declared twice: rename one, for the modules become one text")
    return "\n".join(_plain(path.name, texts[path], is_entry=path == entry.resolve()) for path in _order(texts))


def _imports(path: Path, text: str) -> list[tuple[list[str], Path]]:
    """List the names that a module imports, with the path of the module that each is from."""
    return [(names.split(", "), (path.parent / source).resolve()) for names, source in _IMPORT.findall(text)]


def _texts(entry: Path, given: Mapping[str, str]) -> dict[Path, str]:
    """Read the module and all that it imports, by path."""
    texts: dict[Path, str] = {}
    waiting = [entry]
    while waiting:
        path = waiting.pop()
        if path not in texts:
            texts[path] = given[path.name] if path.name in given else path.read_text(encoding="utf-8")
            waiting += [source for _, source in _imports(path, texts[path])]
    return texts


def _order(texts: Mapping[Path, str]) -> list[Path]:
    graph = {path: [source for _, source in _imports(path, text)] for path, text in texts.items()}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise ValueError(f"modules import each other in a circle: {' → '.join(path.name for path in error.args[1])}") from error


def _plain(name: str, text: str, *, is_entry: bool) -> str:
    """Drop the imports and the types, and the word export before declarations."""
    plain = _DECLARATION.sub(lambda match: match[0].removeprefix("export "), _TYPES.sub("", _IMPORT.sub("", text)))
    allowed = "(?! default )" if is_entry else ""
    if odd := re.search(rf"^(?:import|export)\b{allowed}.*", plain, re.M):
        raise ValueError(f"{name}: write an import or export that bundle() can join instead of: {odd[0]}")
    return plain
