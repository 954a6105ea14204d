"""JavaScript modules joined into one: a Streamlit component takes one text, and a file opened from disk may import nothing."""

import re
from collections import Counter
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+\.js)";\n', re.M)
_DECLARATION = re.compile(r"^(export )?(?:const|let|class|function|async function) (\w+)", re.M)


def bundle(entry: Path, given: Mapping[str, str] | None = None) -> str:
    """Join a module and all that it imports, each after those it imports, into one module without imports.

    `given` has modules that are no files: their texts by name. An import reads `import { a, b } from "./file.js";`, an export
    stands before what it exports, and only `entry` has a default export.

    Raises:
        ValueError: an import that nobody exports, a name that two modules have, modules that import each other in a circle, or
            an import or export of another form.
    """
    texts = _texts(entry, given or {})
    declared = {name: _DECLARATION.findall(text) for name, text in texts.items()}
    for name, text in texts.items():
        for names, source in _IMPORT.findall(text):
            if missing := set(names.split(", ")) - {each for export, each in declared[source] if export}:
                raise ValueError(f"{name} imports {', '.join(sorted(missing))} from {source}, which does not export it")
    counts = Counter(name for declarations in declared.values() for _, name in declarations)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"{', '.join(twice)} is declared twice: rename one, for the modules become one text")
    return "\n".join(_plain(name, texts[name], is_entry=name == entry.name) for name in _order(texts))


def _texts(entry: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Read the module and all that it imports, by name."""
    texts: dict[str, str] = {}
    waiting = [entry.name]
    while waiting:
        name = waiting.pop()
        if name not in texts:
            texts[name] = given[name] if name in given else entry.with_name(name).read_text(encoding="utf-8")
            waiting += [source for _, source in _IMPORT.findall(texts[name])]
    return texts


def _order(texts: Mapping[str, str]) -> list[str]:
    graph = {name: [source for _, source in _IMPORT.findall(text)] for name, text in texts.items()}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise ValueError(f"modules import each other in a circle: {' → '.join(error.args[1])}") from error


def _plain(name: str, text: str, *, is_entry: bool) -> str:
    """Drop the imports, and the word export before declarations."""
    plain = _DECLARATION.sub(lambda match: match[0].removeprefix("export "), _IMPORT.sub("", text))
    allowed = "(?! default )" if is_entry else ""
    if odd := re.search(rf"^(?:import|export)\b{allowed}.*", plain, re.M):
        raise ValueError(f"{name}: write an import or export that bundle() can join instead of: {odd[0]}")
    return plain
