"""The catalog of models by name, and `load`, which finds every other model too."""

import importlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from attnviz.core.errors import ArgumentError, ModelNotFoundError, described, nearest
from attnviz.models.base import Architecture, AttentionModel, Progress, silent
from attnviz.settings import assets_folder

Task = Literal["encode", "translate", "answer", "summarize", "write"]


@dataclass(frozen=True)
class CatalogEntry:
    """What a model of the catalog does; `loader` is "module:function", called with a Progress, of one that is not our own.

    large  it takes as much memory as a model of the hub
    file   "module:function" that finds its file or brings it here, where it does not travel with attnviz
    """

    task: Task
    loader: str = ""
    large: bool = False
    file: str = ""

    @property
    def reading_task(self) -> Task:
        """What it does where a text is read, and not written on."""
        return "encode" if self.task == "write" else self.task


# Nothing is imported before it is asked for, so that listing the catalog costs nothing.
CATALOG = {
    "minilm": CatalogEntry("encode", "attnviz.models.hub.minilm:minilm"),
    "dot-lstm-en-fr": CatalogEntry("translate"),
    "bilstm-en-fr": CatalogEntry("translate"),
    "bahdanau-en-fr": CatalogEntry("translate"),
    "transformer-en-fr": CatalogEntry("translate"),
    "bahdanau-en-de": CatalogEntry("translate"),
    "transformer-en-de": CatalogEntry("translate"),
    "answer-en": CatalogEntry("answer"),
    "answer-en-dual": CatalogEntry("answer"),
    "summarize-en": CatalogEntry("summarize"),
    "smollm2": CatalogEntry(
        "write", "attnviz.models.hub.smollm2:smollm2", large=True, file="attnviz.models.hub.smollm2:published"
    ),
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


Build = Callable[[Progress], AttentionModel]


def fetch(
    name: str | os.PathLike[str], *, allow_folders: bool = True, allow_pickles: bool = True, progress: Progress | None = None
) -> Build:
    """Bring the files of a model to this machine: what may take long and computes nothing. What is returned loads the model.

    The name is one of the catalog, a Hugging Face id, or a folder; options are as of `load`.

    Raises:
        ArgumentError: the name is neither a str nor a path.
        ModelNotFoundError: there is no such model.
        ModelError: it cannot be downloaded; the message says why.
    """
    if not isinstance(path := os.fspath(name) if isinstance(name, os.PathLike) else name, str):
        raise ArgumentError(f"load takes the name of a model or the path of its folder, as a str, not {described(name)}.")
    name = path.strip()
    if name in CATALOG:
        return _listed(name)
    if allow_folders and (saved := _saved(name)):
        return saved
    from attnviz.models.hub import download as hub

    return hub.fetch(name, progress or silent, allow_folders=allow_folders, allow_pickles=allow_pickles)


def bring(name: str, progress: Progress | None = None) -> str:
    """Bring the files of a model to this machine, checked where what was published is known; the sentence says where they are.

    Raises:
        ModelNotFoundError, ModelError: as of `fetch`; the message says what to install where that helps.
    """
    entry = CATALOG.get(name := name.strip())
    if entry is None:
        fetch(name, progress=progress)
        return f"{name} is on this machine."
    return (
        f"{name} is on this machine: {_named(entry.file)(progress or silent)}" if entry.file else f"{name} comes with attnviz."
    )


def load(
    name: str | os.PathLike[str],
    *,
    revision: str | None = None,
    allow_folders: bool = True,
    allow_pickles: bool = True,
    progress: Progress | None = None,
) -> AttentionModel:
    """Load a model by its name in the catalog, its Hugging Face id, its folder, or its GGUF file.

    `revision` is a branch, tag or commit of the hub, such as step3000; `load("owner/model@step3000")` is the same.
    `allow_folders` and `allow_pickles` are for who serves strangers: they must not read the server's disk, nor choose what it
    unpickles, though no code in a pickle is run. `progress` is called as work goes on.

    Raises:
        ArgumentError: the name is neither a str nor a path.
        ModelNotFoundError: there is no such model; the message has the nearest names of the catalog.
        ModelError: it cannot be loaded or traced; the message says why.
    """
    if revision is not None:
        if str(name).strip() in CATALOG or "@" in str(name):
            raise ArgumentError(f"{name} has one revision here; name a model of the hub, such as EleutherAI/pythia-70m.")
        name = f"{os.fspath(name).strip()}@{revision}"
    try:
        build = fetch(name, allow_folders=allow_folders, allow_pickles=allow_pickles, progress=progress)
    except ModelNotFoundError as error:
        raise ModelNotFoundError(f"{error}{suggestion(str(name).strip())}") from error
    from attnviz.models.device import ordinary_tensors

    with ordinary_tensors():
        return build(progress or silent)


def wrap(model: Any, tokenizer: Any = None, target_tokenizer: Any = None) -> AttentionModel:
    """Make an `AttentionModel` of a Hugging Face model in hand, which stays as it is, settings and all.

    The model may be compiled, one of parallel training or of peft; a pipeline of transformers brings its tokenizer. Where an
    encoder-decoder has two vocabularies, such as BERT with GPT-2, `target_tokenizer` is that of the decoder.

    Raises:
        ArgumentError: it is no Hugging Face model, or its tokenizer is none.
        UnsupportedModelError: its attention cannot be shown.
    """
    from attnviz.models.hub.wrap_model import wrapped

    return wrapped(model, tokenizer, target_tokenizer)


def _saved(name: str) -> Build | None:
    """Find what loads a file or a folder that attnviz has saved, if the name is that of one."""
    from attnviz.models import shipped_models

    with suppress(OSError, RuntimeError, ValueError):  # too long for a path, or of a user who does not exist: nothing of ours
        path = Path(name).expanduser()
        # Beside a configuration it is the weights of another model.
        if name.endswith(TOY) and path.is_file() and not (path.parent / "config.json").is_file():
            return lambda progress: importlib.import_module("attnviz.models.toy_model").load_file(path)
        if shipped_models.kind_of(path):
            return lambda progress: shipped_models.load_trained(path, progress)
    return None


def _listed(name: str) -> Build:
    """Find what loads a model of the catalog; nothing is imported before it is called."""
    if not (loader := CATALOG[name].loader):
        folder = assets_folder() / "models" / name
        return lambda progress: importlib.import_module("attnviz.models.shipped_models").load_trained(folder, progress)
    return lambda progress: _named(loader)(progress)


def _named(place: str) -> Callable[[Progress], Any]:
    """Import the function of a "module:function"."""
    module, function = place.split(":")
    return getattr(importlib.import_module(module), function)


def suggestion(name: str, task: Task = "encode") -> str:
    """Suggest the models of a task that someone who wrote `name` may have meant; every model can encode.

    >>> suggestion("minilmm"), suggestion("minilmm", "translate")
    (' Did you mean minilm?', '')
    """
    if task == "encode":
        known = [*CATALOG, *(model for models in HUB.values() for model in models)]
    else:
        known = [*available_for(task), *(() if task == "answer" else HUB["encoder-decoder"])]
    written = name.casefold()
    parts = [each for each in known if each.casefold().startswith(written) or (each in CATALOG and each in written)]
    near = [] if name in known or not name else parts[:3] or nearest(name, known, n=3, cutoff=0.75)
    return f" Did you mean {' or '.join(near)}?" if near else ""
