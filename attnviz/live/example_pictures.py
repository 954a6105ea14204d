"""The pictures that come with a site: every example, computed by its models, as files that the explorer draws at once.

A picture is a JSON file that says what was read, what came out and which maps there are; and of each map a package as
`attnviz.figures.explorer.packages` writes it, its header with `places` besides: of each query and each key where it stands
(start, end, segment, word). Of a map too large for one package it has the small pictures and the first head, and its heads
are in one further file a layer.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from attnviz.analysis.first_word import first_link
from attnviz.analysis.head_view import View, head_matrix
from attnviz.analysis.word_links import WordLinks
from attnviz.analysis.wording import describe_head, describe_link, head_name
from attnviz.core.trace import AttentionMap, Prompt, Token
from attnviz.figures.explorer.overview import Overview, chunk_name, heads_package, overview
from attnviz.figures.explorer.packages import head_chunk, pack_chunks, unpack_chunks
from attnviz.live.answer import describe_answers
from attnviz.live.compute import compute_pictures
from attnviz.live.sentence_parts import Described, sentence_parts
from attnviz.live.summarize import describe_selection
from attnviz.live.translate import describe_translations
from attnviz.models.base import AttentionModel
from attnviz.models.catalog import Task
from attnviz.models.result import Result
from attnviz.models.run_task import run_task
from attnviz.paths import assets_folder

Load = Callable[[str], AttentionModel]
# A package that takes more is cut: what a visitor waits for is its first part.
WHOLE_BYTES = 100_000


@dataclass(frozen=True)
class PicturePage:
    """A page whose examples travel: its task, the section of examples.toml, and the models that it asks, side by side."""

    task: Task | Literal["compute"]
    examples: str
    models: tuple[str, ...]


@dataclass(frozen=True)
class SitePicture:
    """An example as it travels: what its JSON file says, and its packages by file name."""

    said: Mapping[str, Any]
    files: Mapping[str, bytes]


def picture_pages(models: tuple[str, ...]) -> tuple[PicturePage, ...]:
    """List the pages with the models of a site that they ask."""
    french = tuple(name for name in models if name.endswith("-en-fr"))
    german = tuple(name for name in models if name.endswith("-en-de"))
    pages = (
        PicturePage("encode", "encode", tuple(name for name in models if name == "minilm")),
        PicturePage("translate", "translate", french),
        PicturePage("translate", "translate-german", german),
        PicturePage("answer", "answer", tuple(name for name in models if name == "answer-en")),
        PicturePage("compute", "compute", tuple(name for name in models if name == "minilm")),
        PicturePage("summarize", "summarize", tuple(name for name in models if name == "summarize-en")),
    )
    return tuple(page for page in pages if page.models)


def examples_of(section: str) -> list[dict[str, Any]]:
    """Read a section of assets/examples.toml."""
    return tomllib.loads((assets_folder() / "examples.toml").read_text(encoding="utf-8"))[section]


def pictures(page: PicturePage, load: Load) -> Iterator[SitePicture]:
    """Compute every example of a page."""
    if page.task == "compute":
        said = enumerate(compute_pictures(load(page.models[0]), examples_of("encode")[0]))
        yield from (SitePicture({**_COMPUTED, "name": f"compute-{number}", **each}, {}) for number, each in said)
        return
    for number, example in enumerate(examples_of(page.examples)):
        given = {name: example.get(name) for name in ("pair", "question", "target")}
        results = [run_task(load(name), page.task, Prompt(example["text"], **given)) for name in page.models]
        yield _picture(f"{page.examples}-{number}", page.task, results, example)


def _picture(name: str, task: Task, results: Sequence[Result], example: Mapping[str, Any]) -> SitePicture:
    described, trace, maps = _DESCRIBE[task](results, example), results[0].trace, []
    files = {f"{name}.{end}": data for end, data in described.files.items()}
    for attention in trace.maps:
        opened = described.first.get(attention.kind, (attention.n_layers - 1, 0))
        found, packages = map_files(attention, opened, f"{name}-{attention.kind}")
        maps.append(found | {"first": opened, "shape": (attention.n_layers, attention.n_heads)})
        files |= packages
    said = {
        "name": name,
        "page": task,
        "models": tuple(result.card.name for result in results),
        "label": example["label"],
        "notice": example["notice"].replace("**", ""),
        "prompt": _prompt(trace.prompt),
        "output": trace.output,
        "shown": next(iter(described.first)),
        "story": [sentence_parts(each) for each in described.story],
        "maps": maps,
        **described.more,
    }
    return SitePicture(said, files)


def map_files(attention: AttentionMap, opened: tuple[int, int | None], name: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Pack a map: how it is found, and its files by name."""
    shown = overview(attention)
    if len(shown.data) <= WHOLE_BYTES:
        return {"kind": attention.kind, "file": f"{name}.pack"}, {f"{name}.pack": _placed(shown.data, attention)}
    shown = overview(attention, limit=0)
    matrix = head_matrix(attention, layer=opened[0], head=opened[1])
    first = {chunk_name(*opened): head_chunk(matrix)}
    files = {f"{name}.pack": _placed(shown.data, attention, first)}
    layers = [f"{name}-{layer}.heads" for layer in range(attention.n_layers)]
    return {"kind": attention.kind, "file": f"{name}.pack", "layers": layers}, files | {
        file: _layer(shown, attention, layer) for layer, file in enumerate(layers)
    }


def _layer(shown: Overview, attention: AttentionMap, layer: int) -> bytes:
    return heads_package(shown, attention, {(layer, head): None for head in (*range(attention.n_heads), None)})


def _placed(package: bytes, attention: AttentionMap, chunks: Mapping[str, bytes] | None = None) -> bytes:
    """Add to a package where its tokens stand, and chunks."""
    header, own = unpack_chunks(package)
    places = {"queries": [_place(each) for each in attention.queries], "keys": [_place(each) for each in attention.keys]}
    return pack_chunks({**header, "places": places, "causal": attention.causal}, {**own, **(chunks or {})})


def _place(token: Token) -> tuple[int, int, int, int | None]:
    return token.start, token.end, token.segment, token.word


def _prompt(prompt: Prompt) -> dict[str, str]:
    given = {name: getattr(prompt, name) for name in ("text", "pair", "question", "target")}
    return {name: text for name, text in given.items() if text}


def _describe_head(results: Sequence[Result], example: Mapping[str, Any]) -> Described:
    """Describe what an example of Encode opens: the link of its most telling word, and the sentences of that head."""
    attention = results[0].trace.encoder
    links = WordLinks(attention, View())
    link = first_link(links)
    matrix = head_matrix(attention, layer=link.layer, head=link.head, view=View())
    query = links.lens.row_parts[link.query][0]
    columns = range(len(matrix.keys)) if link.key is None else links.lens.column_parts[link.key]
    key = max(columns, key=lambda column: float(matrix.weights[query, column]))
    story = (describe_link(matrix, head_name(link.layer, link.head), (query, key)), describe_head(matrix))
    opened = {"layer": link.layer, "head": link.head, "query": query, "key": key, "isAsked": False, "isLink": False}
    opens = {name: example[name] for name in ("layer", "head", "query", "key")}
    return Described({"encoder": (opens["layer"], opens["head"])}, story, {"link": opened, "opens": opens})


# Steps have no map that the explorer draws.
_COMPUTED: Mapping[str, Any] = {"page": "compute", "output": "", "shown": "", "story": []}
_DESCRIBE: dict[Task, Callable[[Sequence[Result], Mapping[str, Any]], Described]] = {
    "encode": _describe_head,
    "translate": describe_translations,
    "answer": describe_answers,
    "summarize": describe_selection,
}
