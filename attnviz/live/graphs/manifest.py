"""Write a model of the catalog as files for a browser, and its manifest, which the runner in JavaScript reads."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attnviz.core import journal
from attnviz.core.errors import ModelError
from attnviz.live.graphs.graph import Files, digest, write, write_rows, write_weights
from attnviz.live.graphs.graph import export as export_graph
from attnviz.live.graphs.models import answer_files, encode_files, summarize_files, translate_files, write_files
from attnviz.models.base import AttentionModel, ModelCard, silent
from attnviz.models.catalog import CATALOG, Task, load
from attnviz.models.hub.smollm2 import published
from attnviz.settings import assets_folder

# How far a weight of attention may be from the app's own.
BOUND = 1e-3
MANIFEST = "model.json"


# What makes files of a model, by its task.
_WRITERS: dict[Task, Callable[[Any, Path], Files]] = {
    "encode": encode_files,
    "translate": translate_files,
    "answer": answer_files,
    "summarize": summarize_files,
    "write": write_files,
}
# It reads each text on its own.
_LEFT_OUT = ("answer-en-dual",)


def export(name: str, folder: Path) -> dict[str, Any]:
    """Write a model of the catalog into `folder`/`name`, and return its manifest, which stands there too.

    Raises:
        ModelError: it cannot be exported; the message says why.
        OSError: a file cannot be written.
    """
    if name not in exportable():
        raise ModelError(f"{name} cannot be exported for a browser: choose one of {', '.join(exportable())}.")
    task = CATALOG[name].task
    saved = published(silent) if task == "write" else assets_folder() / "models" / name
    return write_model(load(name), task, saved, folder)


def write_model(model: AttentionModel, task: Task, saved: Path, folder: Path) -> dict[str, Any]:
    """Write a model that has a task and was saved in a folder or file of its own, where the catalog does not have it."""
    name = model.card.name
    manifest = {
        "name": name,
        "task": task,
        "bound": BOUND,
        "card": _card(model),
        **_written(name, folder, _WRITERS[task](model, saved)),
    }
    manifest["version"] = digest(json.dumps(manifest, sort_keys=True).encode())[:16]
    journal.write(folder / name / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return manifest


def exportable() -> tuple[str, ...]:
    """List the models of the catalog that can be exported.

    >>> "minilm" in exportable()
    True
    """
    return tuple(name for name, entry in CATALOG.items() if entry.task in _WRITERS and name not in _LEFT_OUT)


def _card(model: AttentionModel) -> dict[str, Any]:
    card: ModelCard = model.card
    return {name: value for name, value in asdict(card).items() if name not in ("device", "weights")}


def _written(name: str, folder: Path, files: Files) -> dict[str, Any]:
    graphs = {}
    for key, graph in files.graphs.items():
        exported = export_graph(graph, files.weights)
        written = write(folder, f"{name}/{key}.onnx", exported.content, text=True)
        graphs[key] = {**written, "weights": {"size": exported.size, "offsets": dict(exported.offsets)}}
    # Named after their content: models that share one share its file.
    named = {key: (f"tokenizers/{digest(text)[:12]}.json", text) for key, text in files.tokenizers.items()}
    tokenizers = {key: write(folder, path, text, text=True) for key, (path, text) in named.items()}
    return {
        "graphs": graphs,
        "parts": [write_weights(folder, owner, part) for owner, part in files.parts],
        "rows": files.rows and write_rows(folder, *files.rows),
        "tokenizers": tokenizers,
        "options": dict(files.options),
    }
