"""Pictures made of HTML: documents of their own, tokens as labels, and the script and style that markup on a page shares."""

import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from unicodedata import bidirectional

from attnviz.analysis.wording import Part, Sentence
from attnviz.core.trace import Token
from attnviz.text.words import visible_text

SCRIPT = Path(__file__).with_name("markup.js").read_text(encoding="utf-8")
STYLE = Path(__file__).with_name("markup.css").read_text(encoding="utf-8")


def sentence_html(sentence: Sentence) -> str:
    """Write a sentence as HTML, its tokens quoted and strong.

    >>> from attnviz.analysis.wording import Part
    >>> sentence_html((Part("<s>", strong=True, quoted=True), Part(" looks away.")))
    '<strong>“<bdi>&lt;s&gt;</bdi>”</strong> looks away.'
    """
    return "".join(_part_html(part) for part in sentence)


def sentence_parts(sentence: Sentence) -> list[list[object]]:
    """Write a sentence for the script: of each part its text, and 1 where it is strong, 2 where it is quoted, too.

    >>> from attnviz.analysis.wording import Part, quoted
    >>> sentence_parts((Part("L0·H1", strong=True), Part(" looks at "), quoted("it")))
    [['L0·H1', 1], [' looks at ', 0], ['it', 2]]
    """
    return [[part.text, int(part.strong) + int(part.quoted)] for part in sentence]


def _part_html(part: Part) -> str:
    text = html.escape(part.text)
    if part.quoted:
        # Its marks stand outside: in a text from right to left they would change places.
        return f"<strong>“<bdi>{text}</bdi>”</strong>"
    if part.strong:
        return f'<strong dir="auto">{text}</strong>'
    return f'<span class="hint">{text}</span>' if part.hint else text


class Page(str):
    """An HTML document, as text, that shows itself where a notebook ends a cell with it.

    >>> Page("<!doctype html><p>hi</p>")._repr_html_().startswith("<iframe srcdoc=")
    True
    """

    height = 640

    def _repr_html_(self) -> str:
        # In a frame of its own the document's style and scripts cannot meet the notebook's.
        frame = 'title="Attention" style="width:100%;border:0;background:#fff" sandbox="allow-scripts"'
        return f'<iframe srcdoc="{html.escape(self, quote=True)}" height="{self.height}" {frame}></iframe>'


def label(token: Token) -> str:
    """Write a token as a label in HTML: as it is shown, escaped.

    >>> label(Token("<s>", 0, 0, special=True)), label(Token(" ", 3, 4))
    ('&lt;s&gt;', '␣')
    """
    return html.escape(visible_text(token.text), quote=False)


def direction(tokens: Sequence[Token]) -> str:
    """Tell which way a text is read, "ltr" or "rtl": by its first letter that has a direction (Unicode annex 9, rule P2).

    A special token such as [CLS] was not typed, and does not count.

    >>> direction([Token("[CLS]", 0, 0, special=True), Token("مرحبا", 0, 5)])
    'rtl'
    """
    return text_direction(token.text for token in tokens if not token.special)


def text_direction(words: Iterable[str]) -> str:
    """Tell which way words are read. Where they are drawn as `bdi`, `dir=auto` does not see their letters."""
    letters = (bidirectional(character) for word in words for character in word)
    return "rtl" if next((letter for letter in letters if letter in ("L", "R", "AL")), "L") != "L" else "ltr"


_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "((?:\.{1,2}/)+[\w/]+\.js)";\n', re.M)
# Types are read by tsc and by people, comments, blank lines and indents by people: a page does without them.
_TYPES = re.compile(r"^ */\*\*(?:(?!\*/)(?:.|\n))*\*/\n", re.M)
_COMMENTS, _INDENT = re.compile(r"^ *(?://.*)?\n|/\*\* @\w+ [^*]*\*/ ?", re.M), re.compile(r"^ +", re.M)
# A function, a class, or a function of one line, whole: nothing happens where it is declared.
_FUNCTION = re.compile(
    r"^(?:(?:async )?(?:function|class) (\w+)\b.*\{\n(?: .*\n)*\}\n"
    r"|const (\w+) = (?:\([^()\n]*\)|\w+) => .*;\n(?![ )}\]]))",
    re.M,
)
_DECLARATION = re.compile(r"^(export )?(?:const|let|class|function|async function) (\w+)", re.M)
# Of `const [a, b] = …` and `const { a, b: c } = …` the names that are declared: not those before a colon.
_SEVERAL = re.compile(r"^(?:const|let) ([\[{][^=]*[\]}]) = ", re.M)
_NAME = re.compile(r"\w+(?=[,\s]*(?:[,\]}]|$))")


def bundle(entry: Path, given: Mapping[str, str] | None = None) -> str:
    """Join a module and all that it imports, each after those it imports, into one module without imports.

    `given` has modules that are no files: their texts by file name. An import reads `import { a, b } from "./file.js";`, an
    export stands before what it exports, and only `entry` has a default export. Lines lose their indent, in a template, too.
    Functions that nothing names are left out.

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
    several = (name for text in texts.values() for names in _SEVERAL.findall(text) for name in _NAME.findall(names))
    counts = Counter([*(name for declarations in declared.values() for _, name in declarations), *several])
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"{', '.join(twice)} is declared twice: rename one, for the modules become one text")
    joined = "".join(_plain(path.name, texts[path], is_entry=path == entry.resolve()) for path in _order(texts))
    return _INDENT.sub("", _named(joined))


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
    """Drop the imports, what people alone read, and the word export before declarations."""
    plain = _DECLARATION.sub(lambda match: match[0].removeprefix("export "), _TYPES.sub("", _IMPORT.sub("", text)))
    allowed = "(?! default )" if is_entry else ""
    if odd := re.search(rf"^(?:import|export)\b{allowed}.*", plain, re.M):
        raise ValueError(f"{name}: write an import or export that bundle() can join instead of: {odd[0]}")
    return _COMMENTS.sub("", plain)


def _named(text: str) -> str:
    """Drop the functions and classes that nothing names, and then those that only they named."""
    counts = Counter(re.findall(r"\w+", text))
    lean = _FUNCTION.sub(lambda match: match[0] if counts[match[1] or match[2]] > 1 else "", text)
    return text if lean == text else _named(lean)
