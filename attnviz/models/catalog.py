"""The models that attnviz knows by name, and the way to every other one."""

import difflib
import importlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from attnviz.core.checks import described
from attnviz.core.errors import ArgumentError, ModelNotFoundError
from attnviz.models.base import Architecture, AttentionModel, Progress, silent

# name -> "module:function", called with a Progress; imported when asked for, so that listing the catalog costs nothing.
CATALOG = {
    "minilm": "attnviz.models.hub.minilm:minilm",
    "dot-lstm-en-fr": "attnviz.models.translate.shipped:dot_lstm",
    "bilstm-en-fr": "attnviz.models.translate.shipped:bilstm",
    "bahdanau-en-fr": "attnviz.models.translate.shipped:bahdanau",
    "transformer-en-fr": "attnviz.models.translate.shipped:transformer",
    "answer-en": "attnviz.models.answer.shipped:answer_en",
    "answer-en-dual": "attnviz.models.answer.shipped:answer_en_dual",
    "summarize-en": "attnviz.models.summarize.own:summarize_en",
}
# One file is a toy, such as the page Train saves.
TOY = ".safetensors"
_TRANSLATORS = "attnviz.models.translate.shipped:"
_ANSWERERS = "attnviz.models.answer.shipped:"
# The kind that a folder's config.json names -> "module:function", called with the folder and a Progress.
_FOLDERS = {
    "seq2seq": "attnviz.models.translate.shipped:load_folder",
    "transformer": "attnviz.models.translate.shipped:load_folder",
    "answerer": "attnviz.models.answer.shipped:load_folder",
    "summarizer": "attnviz.models.summarize.own:load_folder",
}
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
    """The names of the catalog.

    >>> "minilm" in available()
    True
    """
    return tuple(CATALOG)


def translators() -> tuple[str, ...]:
    """The names of the catalog that translate.

    >>> "minilm" in translators()
    False
    """
    return tuple(name for name, entry in CATALOG.items() if entry.startswith(_TRANSLATORS))


def answerers() -> tuple[str, ...]:
    """The names of the catalog that answer questions.

    >>> "minilm" in answerers()
    False
    """
    return tuple(name for name, entry in CATALOG.items() if entry.startswith(_ANSWERERS))


Build = Callable[[Progress], AttentionModel]


def fetch(
    name: str | os.PathLike[str], *, allow_folders: bool = True, allow_pickles: bool = True, progress: Progress | None = None
) -> Build:
    """Brings the files of a model to this machine: what may take long and computes nothing. What is returned loads the model.

    The name is one of the catalog, a Hugging Face id, or a folder; options are as of `load`.

    Raises:
        ArgumentError: the name is neither a str nor a path.
        ModelNotFoundError: there is no such model; the message has the nearest names of the catalog.
        ModelError: it cannot be downloaded; the message says why.
    """
    if not isinstance(path := os.fspath(name) if isinstance(name, os.PathLike) else name, str):
        raise ArgumentError(f"load takes the name of a model or the path of its folder, as a str, not {described(name)}.")
    name = path.strip()
    if name in CATALOG:
        return _entry(CATALOG[name])
    if allow_folders and (ours := _ours(name)):
        return ours
    from attnviz.models.hub import load as hub

    try:
        return hub.fetch(name, progress or silent, allow_folders=allow_folders, allow_pickles=allow_pickles)
    except ModelNotFoundError as error:
        raise ModelNotFoundError(f"{error}{_nearest(name)}") from error


def load(
    name: str | os.PathLike[str], *, allow_folders: bool = True, allow_pickles: bool = True, progress: Progress | None = None
) -> AttentionModel:
    """A model whose attention can be traced: a name of the catalog, a Hugging Face id, or a folder.

    `allow_folders` and `allow_pickles` are for who serves strangers: they must not read the server's disk, nor choose what it
    unpickles, though no code in a pickle is run. `progress` is told what is being done.

    Raises:
        ArgumentError: the name is neither a str nor a path.
        ModelNotFoundError: there is no such model; the message has the nearest names of the catalog.
        ModelError: it cannot be loaded or traced; the message says why.
    """
    build = fetch(name, allow_folders=allow_folders, allow_pickles=allow_pickles, progress=progress)
    try:
        return build(progress or silent)
    except ModelNotFoundError as error:
        raise ModelNotFoundError(f"{error}{_nearest(str(name).strip())}") from error


def wrap(model: Any, tokenizer: Any) -> AttentionModel:
    """An `AttentionModel` of a Hugging Face model in hand, which stays as it is, settings and all.

    Raises:
        ArgumentError: it is no Hugging Face model, or its tokenizer is none.
        UnsupportedModelError: its attention cannot be shown.
    """
    from attnviz.models.hub.wrap import wrapped

    return wrapped(model, tokenizer)


def _ours(name: str) -> Build | None:
    """What loads a file or a folder that attnviz has saved, if the name is that of one."""
    path = Path(name)
    with suppress(OSError, RuntimeError, ValueError):  # too long for a path, or of a user who does not exist: nothing of ours
        path = path.expanduser()
        if name.endswith(TOY) and path.is_file():
            return lambda progress: importlib.import_module("attnviz.models.translate.toy").load_file(path)
    if not (entry := _FOLDERS.get(kind_of(name))):
        return None
    load_folder = _entry(entry)
    return lambda progress: load_folder(path, progress)


def _entry(name: str) -> Callable[..., AttentionModel]:
    """The function "module:function", imported when it is called."""
    module, function = name.split(":")
    return lambda *arguments: getattr(importlib.import_module(module), function)(*arguments)


def kind_of(name: str | Path) -> str:
    """The kind of a model that `attnviz train` saved in a folder of that name; "" for any other folder, and for none."""
    try:
        folder = Path(name).expanduser()
        # Only a translator of ours has the subwords of a source language, however damaged the rest of it is.
        if (folder / "source.json").is_file():
            return "seq2seq"
        kind = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("kind")
        return kind if isinstance(kind, str) else ""
    except (OSError, RuntimeError, ValueError, AttributeError):
        return ""  # too long for a path, or of a user who does not exist: no folder


def _nearest(name: str) -> str:
    """The catalog's names that someone who wrote `name` may have meant.

    >>> _nearest("minilmm")
    ' Did you mean minilm?'
    """
    known = [*CATALOG, *(model for models in HUB.values() for model in models)]
    by_case = {model.casefold(): model for model in known}
    near = difflib.get_close_matches(name.casefold(), by_case, n=3, cutoff=0.75)
    return f" Did you mean {' or '.join(by_case[model] for model in near)}?" if near and name not in known else ""
