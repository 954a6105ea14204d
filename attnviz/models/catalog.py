"""The catalog of models by name, and `load`, which finds every other model too."""

import difflib
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from attnviz.core.errors import ModelNotFoundError
from attnviz.models.base import Architecture, AttentionModel, Progress, silent

Task = Literal["encode", "translate", "answer", "summarize"]


@dataclass(frozen=True)
class CatalogEntry:
    """What a model of the catalog does; `loader` is "module:function", called with a Progress, of one that is not our own."""

    task: Task
    loader: str = ""


# Nothing is imported before it is asked for, so that listing the catalog costs nothing.
CATALOG = {
    "minilm": CatalogEntry("encode", "attnviz.models.hub.minilm:minilm"),
    "dot-lstm-en-fr": CatalogEntry("translate"),
    "bilstm-en-fr": CatalogEntry("translate"),
    "bahdanau-en-fr": CatalogEntry("translate"),
    "transformer-en-fr": CatalogEntry("translate"),
    "answer-en": CatalogEntry("answer"),
    "answer-en-dual": CatalogEntry("answer"),
    "summarize-en": CatalogEntry("summarize"),
}
# One file is a toy, such as the page Train saves.
TOY = ".safetensors"
# Models of the hub that are worth a look, small ones first; each has safetensors and fits in a laptop's memory.
HUB: dict[Architecture, tuple[str, ...]] = {
    "encoder": (
        "distilbert-base-uncased",
        "bert-base-uncased",
        "bert-base-multilingual-cased",
        "roberta-base",
        "xlm-roberta-base",
        "answerdotai/ModernBERT-base",
    ),
    "decoder": (
        "distilgpt2",
        "gpt2",
        "EleutherAI/pythia-160m",
        "HuggingFaceTB/SmolLM2-135M",
        "facebook/opt-125m",
        "Qwen/Qwen3-0.6B",
    ),
    "encoder-decoder": (
        "t5-small",
        "Helsinki-NLP/opus-mt-en-fr",
        "facebook/bart-base",
        "google/flan-t5-small",
        "facebook/m2m100_418M",
    ),
}


def available() -> tuple[str, ...]:
    """List the names of the catalog.

    >>> "minilm" in available()
    True
    """
    return tuple(CATALOG)


def available_for(task: Task) -> tuple[str, ...]:
    """List the names of the catalog that do a task.

    >>> available_for("encode")
    ('minilm',)
    """
    return tuple(name for name, entry in CATALOG.items() if entry.task == task)


def load(name: str, *, allow_folders: bool = True, progress: Progress | None = None) -> AttentionModel:
    """Load a model by its name in the catalog, its Hugging Face id, or its folder.

    `allow_folders` is for who serves strangers: they must not read the server's disk. `progress` is called as work goes on.

    Raises:
        ModelNotFoundError: there is no such model; the message has the nearest names of the catalog.
        ModelError: it cannot be loaded or traced; the message says why.
    """
    name, progress = name.strip(), progress or silent
    from attnviz.models import shipped

    if name in CATALOG:
        if not (loader := CATALOG[name].loader):
            return shipped.load_shipped(name, progress)
        module, function = loader.split(":")
        return getattr(importlib.import_module(module), function)(progress)
    path = _path(name) if allow_folders else None
    if path and name.endswith(TOY) and path.is_file():
        from attnviz.models.translate import toy as toys

        return toys.load_file(path)
    if path and shipped.kind_of(path):
        return shipped.load_trained(path, progress)
    from attnviz.models.hub import load as hub

    try:
        return hub.load(name, allow_folders=allow_folders, progress=progress)
    except ModelNotFoundError as error:
        raise ModelNotFoundError(f"{error}{_nearest(name)}") from error


def wrap(model: Any, tokenizer: Any) -> AttentionModel:
    """Make an `AttentionModel` of a Hugging Face model in hand, which stays as it is, settings and all.

    Raises:
        UnsupportedModelError: it is no Hugging Face model, or its attention cannot be shown.
    """
    from attnviz.models.hub.wrap import wrapped

    return wrapped(model, tokenizer)


def _path(name: str) -> Path | None:
    """Read a name as a path; None where it is of a user who does not exist."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return None


def _nearest(name: str) -> str:
    """Suggest the names that someone who wrote `name` may have meant.

    >>> _nearest("minilmm")
    ' Did you mean minilm?'
    """
    known = [*CATALOG, *(model for models in HUB.values() for model in models)]
    by_case = {model.casefold(): model for model in known}
    near = difflib.get_close_matches(name.casefold(), by_case, n=3, cutoff=0.75)
    return f" Did you mean {' or '.join(by_case[model] for model in near)}?" if near and name not in known else ""
