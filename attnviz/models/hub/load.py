"""Any Hugging Face model, by its id or its folder: safetensors only, no code but transformers' own, in float32."""

import re
from dataclasses import replace
from pathlib import Path

from attnviz.core.errors import ModelNotFoundError
from attnviz.models.base import Progress, silent
from attnviz.models.hub.adapt import Facts, build
from attnviz.models.hub.checkpoint import Checkpoint
from attnviz.models.hub.download import fetch
from attnviz.models.hub.encoder import TracedModel

_ID = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)


def load(name: str, *, allow_folders: bool = True, progress: Progress | None = None) -> TracedModel:
    """A model by its Hugging Face id or its folder; a folder must be looked like one ("./here", "/there") or exist.

    Raises:
        ModelError: it cannot be found, loaded or traced; the message says why.
    """
    progress = progress or silent
    if is_path(name) or (allow_folders and Path(name).is_dir()):
        if not allow_folders:
            raise ModelNotFoundError("Folders cannot be named here; name a model of the Hugging Face hub, such as gpt2.")
        folder = Path(name).expanduser()
        if not folder.is_dir():
            raise ModelNotFoundError(f"There is no folder {name}; check its path.")
        return load_folder(folder, Facts(name=name), progress)
    if not _ID.fullmatch(name) or ".." in name or "--" in name:
        raise ModelNotFoundError(f"{name!r} cannot be the name of a model; name one such as gpt2 or facebook/bart-base.")
    return load_from_hub(name, Facts(name=name, sources=(f"https://huggingface.co/{name}",)), progress)


def is_path(name: str) -> bool:
    """Whether a name says by its form that it means a folder.

    >>> is_path("./model"), is_path("~/model"), is_path("facebook/bart-base")
    (True, True, False)
    """
    return name.startswith((".", "/", "~")) or "\\" in name or Path(name).is_absolute()


def load_from_hub(repository: str, facts: Facts, progress: Progress) -> TracedModel:
    """A model of the hub, at the revision that `facts` name."""
    folder = fetch(repository, facts.revision or None, progress)
    # The cache keeps a revision's files in a folder named after its commit.
    return load_folder(folder, replace(facts, revision=facts.revision or folder.name), progress)


def load_folder(folder: Path, facts: Facts, progress: Progress) -> TracedModel:
    """A model out of a folder."""
    progress(f"Loading {facts.name}", None)
    checkpoint = Checkpoint(facts.name, folder)
    config = checkpoint.config()
    tokenizer = checkpoint.tokenizer()
    return build(checkpoint.model(config), tokenizer, facts)
