"""Any Hugging Face model, by its id or its folder: no code but transformers' own is run, and it computes in float32.

A model is first fetched, which may take long and computes nothing, then built, which computes and needs no network.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from attnviz import settings
from attnviz.core.errors import ModelNotFoundError
from attnviz.models.base import Progress, silent
from attnviz.models.hub.checkpoint import Checkpoint
from attnviz.models.hub.download import fetch as download
from attnviz.models.hub.hub_model import TracedModel
from attnviz.models.hub.wrap_model import Facts, build

_ID = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)


Build = Callable[[Progress], TracedModel]


def fetch(name: str, progress: Progress, *, allow_folders: bool = True, allow_pickles: bool = True) -> Build:
    """Bring a model's files to this machine; what is returned builds the model.

    The name is a Hugging Face id, or a folder, which must look like one ("./here", "/there") or exist.

    Raises:
        ModelError: it cannot be found or downloaded; the message says why.
    """
    folder = local_folder(name) if allow_folders else None
    if is_path(name) or folder:
        if not allow_folders:
            raise ModelNotFoundError("Folders cannot be named here; name a model of the Hugging Face hub, such as gpt2.")
        if not folder:
            raise ModelNotFoundError(f"There is no folder {name}; check its path.")
        return lambda progress: load_folder(folder, Facts(name=name), progress, allow_pickles=allow_pickles)
    if not _ID.fullmatch(name) or ".." in name or "--" in name:
        raise ModelNotFoundError(f"{name!r} cannot be the name of a model; name one such as gpt2 or facebook/bart-base.")
    return fetch_from_hub(name, Facts(name=name, sources=(f"https://huggingface.co/{name}",)), progress, allow_pickles)


def load(name: str, *, allow_folders: bool = True, allow_pickles: bool = True, progress: Progress | None = None) -> TracedModel:
    """Load a model by its Hugging Face id or its folder: `fetch`, and what it returns.

    Raises:
        ModelError: it cannot be found, loaded or traced; the message says why.
    """
    progress = progress or silent
    return fetch(name, progress, allow_folders=allow_folders, allow_pickles=allow_pickles)(progress)


def is_path(name: str) -> bool:
    """Whether a name says by its form that it means a folder.

    >>> is_path("./model"), is_path("~/model"), is_path("facebook/bart-base")
    (True, True, False)
    """
    return name.startswith((".", "/", "~")) or "\\" in name or Path(name).is_absolute()


def local_folder(name: str) -> Path | None:
    """The folder of that name, if there is one."""
    try:
        folder = Path(name).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):
        return None  # too long for a path, or of a user who does not exist: no folder


def fetch_from_hub(repository: str, facts: Facts, progress: Progress, allow_pickles: bool = False) -> Build:
    """Bring the files of a model of the hub here, at the revision that `facts` name."""
    allow_pickles = allow_pickles and settings.yes("ATTNVIZ_ALLOW_PICKLES") is not False
    fetched = download(repository, facts.revision or None, progress, allow_pickles=allow_pickles)
    # The cache keeps a revision's files in a folder named after its commit.
    known = replace(facts, revision=facts.revision or fetched.folder.name, weights=fetched.weights)
    return lambda progress: load_folder(fetched.folder, known, progress, allow_pickles=allow_pickles)


def load_folder(folder: Path, facts: Facts, progress: Progress, *, allow_pickles: bool = False) -> TracedModel:
    """A model out of a folder."""
    progress(f"Loading {facts.name}", None)
    allow_pickles = allow_pickles and settings.yes("ATTNVIZ_ALLOW_PICKLES") is not False
    checkpoint = Checkpoint(facts.name, folder, allow_pickles)
    config = checkpoint.config()
    tokenizer = checkpoint.tokenizer()
    return build(checkpoint.model(config), tokenizer, replace(facts, weights=facts.weights or checkpoint.weights()))
