"""Any Hugging Face model, by its id or its folder: no code but transformers' own is run.

A model is first fetched, which may take long and computes nothing, then built, which computes and needs no network.
"""

import importlib.util
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from attnviz import settings
from attnviz.core.errors import ModelNotFoundError, UnsupportedModelError
from attnviz.models.base import Progress, silent
from attnviz.models.hub.checkpoint import ADAPTER, CONFIG, GGUF, Checkpoint, read_config
from attnviz.models.hub.download import fetch as download
from attnviz.models.hub.hub_model import TracedModel
from attnviz.models.hub.wrap_model import Facts, build

# An id of the hub, after which a file and a revision may be named: owner/model/model.gguf@main.
_ID = re.compile(r"(?P<id>[\w.-]+(?:/[\w.-]+)?)(?:/(?P<file>[\w.-]+\.gguf))?(?:@(?P<revision>[\w./-]+))?", re.ASCII)
_HUB = re.compile(
    r"(?:https?://(?:www\.)?(?:huggingface\.co|hf\.co)/(?P<id>[\w.-]+(?:/[\w.-]+)?)|(?P<bare>[\w.-]+/[\w.-]+)(?=/tree/))"
    r"(?:/(?:tree|blob|resolve)/(?P<revision>[\w.-]+)(?:/(?P<file>.*))?)?/?(?:\?.*)?"
)


Build = Callable[[Progress], TracedModel]


def fetch(name: str, progress: Progress, *, allow_folders: bool = True, allow_pickles: bool = True) -> Build:
    """Bring a model's files to this machine; what is returned builds the model.

    The name is a Hugging Face id, after which `@` may name a revision and `/` a GGUF file, or its address on the hub; or a
    folder or GGUF file, which must look like one ("./here", "/there") or exist.

    Raises:
        ModelError: it cannot be found or downloaded; the message says why.
    """
    if url := _HUB.fullmatch(name):
        file = f"/{url['file']}" if (url["file"] or "").endswith(GGUF) else ""
        name = (url["id"] or url["bare"]) + file + (f"@{url['revision']}" if url["revision"] not in (None, "main") else "")
    elif "://" in name:
        raise ModelNotFoundError(f"{name} is no address of a model; name a folder, or a model such as gpt2.")
    path = local_path(name) if allow_folders else None
    if is_path(name) or path:
        if not allow_folders:
            raise ModelNotFoundError("Folders cannot be named here; name a model of the Hugging Face hub, such as gpt2.")
        if not path:
            raise ModelNotFoundError(f"There is no folder {name}; check its path.")
        return _fetch_folder(name, path, progress, allow_pickles)
    known = _ID.fullmatch(name)
    if not known or ".." in name or "--" in name:
        if re.fullmatch(r"[\w.-]+/[\w.-]+:[\w.-]+", name):
            raise ModelNotFoundError(f"A revision is named after @: write {name.replace(':', '@')}.")
        if "/" in name:
            raise ModelNotFoundError(f"There is no folder {name}, and no model of the hub has such a name; check its path.")
        raise ModelNotFoundError(f"{name!r} cannot be the name of a model; name one such as gpt2 or facebook/bart-base.")
    facts = Facts(name=name, sources=(f"https://huggingface.co/{known['id']}",), revision=known["revision"] or "")
    return fetch_from_hub(known["id"], facts, progress, allow_pickles, file=known["file"] or "")


def _fetch_folder(name: str, path: Path, progress: Progress, allow_pickles: bool) -> Build:
    """Find what loads a folder, one of an adapter or of a GGUF file among them, or such a file itself.

    Raises:
        ModelError: the path is that of another file, or the model that an adapter changes cannot be had.
    """
    facts = Facts(name=name)
    if path.is_file():
        if path.suffix in (".zip", ".tar", ".tgz", ".gz"):
            raise ModelNotFoundError(f"{name} is an archive: unpack it, and name the folder that it holds.")
        if path.suffix != GGUF:
            raise ModelNotFoundError(f"{name} is one file of a model; name its folder, {path.parent}.")
        return lambda progress: load_folder(path.parent, facts, progress, gguf=path.name)
    if not (path / CONFIG).is_file():
        if (path / ADAPTER).is_file():
            return _fetch_adapter(path, facts, progress, allow_pickles)
        if files := sorted(each.name for each in path.glob(f"*{GGUF}")):
            if len(files) > 1:
                raise ModelNotFoundError(f"{name} has {len(files)} GGUF files; name one, such as {path / files[0]}.")
            return lambda progress: load_folder(path, facts, progress, gguf=files[0])
    return lambda progress: load_folder(path, facts, progress, allow_pickles=allow_pickles)


def _fetch_adapter(adapter: Path, facts: Facts, progress: Progress, allow_pickles: bool) -> Build:
    """Bring the model here that a LoRA adapter changes; what is returned builds it with the adapter's changes."""
    config = read_config(facts.name, adapter / ADAPTER)
    base, kind = config.get("base_model_name_or_path"), config.get("peft_type")
    if kind != "LORA" or not isinstance(base, str) or not base:
        raise UnsupportedModelError(
            f"{facts.name} is an adapter of the kind {kind} for {base}; only LoRA adapters that name their model are read."
        )
    weights = ""
    # An adapter of the hub must not read the disk of the one who opens it.
    folder = None if facts.revision else local_path(base)
    if folder is None or not folder.is_dir():
        try:
            fetched = download(base, config.get("revision"), progress, allow_pickles=allow_pickles)
        except ModelNotFoundError as error:
            raise ModelNotFoundError(f"{facts.name} is a LoRA adapter of {base}, which is needed with it: {error}") from error
        folder, weights = fetched.folder, fetched.weights
    known = replace(facts, weights=f"{weights or 'safetensors'} of {base}, changed by a LoRA adapter")
    return lambda progress: load_folder(folder, known, progress, allow_pickles=allow_pickles, adapter=adapter)


def load(name: str, *, allow_folders: bool = True, allow_pickles: bool = True, progress: Progress | None = None) -> TracedModel:
    """Load a model by its Hugging Face id or its folder: `fetch`, and what it returns.

    Raises:
        ModelError: it cannot be found, loaded or traced; the message says why.
    """
    progress = progress or silent
    return fetch(name, progress, allow_folders=allow_folders, allow_pickles=allow_pickles)(progress)


def is_path(name: str) -> bool:
    """Say whether a name has the form of a path to a folder.

    >>> is_path("./model"), is_path("~/model"), is_path("facebook/bart-base")
    (True, True, False)
    """
    return name.startswith((".", "/", "~")) or "\\" in name or Path(name).is_absolute()


def local_path(name: str) -> Path | None:
    """Find the folder or file of that name, if there is one."""
    try:
        path = Path(name).expanduser()
        return path if name and (path.is_dir() or path.is_file()) else None
    except (OSError, RuntimeError, ValueError):
        return None  # too long for a path, or of a user who does not exist: no folder


def fetch_from_hub(repository: str, facts: Facts, progress: Progress, allow_pickles: bool = False, *, file: str = "") -> Build:
    """Bring the files of a model of the hub here, at the revision that `facts` name; `file` is one in the GGUF format."""
    allow_pickles = allow_pickles and settings.yes("ATTNVIZ_ALLOW_PICKLES") is not False
    fetched = download(repository, facts.revision or None, progress, allow_pickles=allow_pickles, file=file)
    # The cache keeps a revision's files in a folder named after its commit.
    known = replace(facts, revision=fetched.folder.name, weights=fetched.weights)
    if fetched.is_adapter:
        return _fetch_adapter(fetched.folder, known, progress, allow_pickles)
    return lambda progress: load_folder(fetched.folder, known, progress, allow_pickles=allow_pickles, gguf=fetched.gguf)


def load_folder(
    folder: Path, facts: Facts, progress: Progress, *, allow_pickles: bool = False, gguf: str = "", adapter: Path | None = None
) -> TracedModel:
    """Load a model out of a folder: of its GGUF file if one is named, and with the changes of an adapter."""
    progress(f"Loading {facts.name}", None)
    allow_pickles = allow_pickles and settings.yes("ATTNVIZ_ALLOW_PICKLES") is not False
    checkpoint = Checkpoint(facts.name, folder, allow_pickles, gguf, adapter)
    config = checkpoint.config()
    tokenizer = checkpoint.tokenizer()
    return build(checkpoint.model(config), tokenizer, replace(facts, weights=facts.weights or checkpoint.weights()))


def find_in_package(package: str, name: str) -> Path | None:
    """Find a file or folder inside an installed package, without importing that package's code; None: it is not there."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / name
    return path if path.exists() else None
