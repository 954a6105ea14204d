"""Models from the Hugging Face hub: only the files that are needed, only after the configuration says that they fit.

Many older models have pickles on their main branch and nothing else, and a pull request of the hub's bot with the same
weights as safetensors. transformers takes these then, and so does attnviz: if the bot made the pull request, and if every
file in it that is read is the very one of the main branch.

A model is first fetched, which may take long and computes nothing, then built, which computes and needs no network.
"""

import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from huggingface_hub import HfApi, constants, get_session, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.file_download import repo_folder_name
from tqdm.auto import tqdm

from attnviz import settings
from attnviz.core.errors import ModelError, ModelNotFoundError, ModelTooLargeError, UnsupportedModelError, failing_as
from attnviz.models import device
from attnviz.models.base import Progress, silent
from attnviz.models.hub.checkpoint import (
    ADAPTER,
    ADAPTER_WEIGHTS,
    CONFIG,
    GGUF,
    NUMBERS,
    PICKLES,
    SAFETENSORS,
    Checkpoint,
    no_weights,
    only_pickles,
    read_config,
)
from attnviz.models.hub.hub_model import TracedModel
from attnviz.models.hub.wrap_model import Facts, build

# As in transformers/safetensors_conversion.py.
BOT, TITLE = "SFconvertbot", "Adding `safetensors` variant of this model"
# The name under which the cache remembers the commit that was checked.
REF = "attnviz/converted"


@dataclass(frozen=True)
class Blob:
    """One file of a commit: what it holds, by the hash that git has of it, and how many bytes."""

    identity: str | None
    size: int


@dataclass(frozen=True)
class Conversion:
    """A commit of the bot, and its files by name."""

    commit: str
    files: Mapping[str, Blob]

    def has(self, file: str, blob: Blob) -> bool:
        """Say whether it has this very file."""
        return blob.identity is not None and file in self.files and self.files[file].identity == blob.identity


def repository_files(name: str, revision: str) -> Mapping[str, Blob]:
    """List the files of a model of the hub."""
    return _contents(name, revision).files


def find_conversion(name: str, read: Mapping[str, Blob], pattern: str, wants: Callable[[str], bool]) -> Conversion | None:
    """Find the bot's conversion of exactly the files that would be read, with weights of that pattern, if there is one.

    `wants` tells which of its files are read: none of them may be new, but for the weights and their index.
    """
    try:
        requests = list(
            HfApi().get_repo_discussions(name, author=BOT, discussion_type="pull_request", discussion_status="open")
        )
    except HfHubHTTPError:
        return None  # an owner may switch pull requests off
    for request in requests:
        # The hub is asked for no others, and not believed.
        if request.author != BOT or request.title != TITLE or request.status != "open" or not request.is_pull_request:
            continue
        pull = _contents(name, f"refs/pr/{request.num}")
        weights = {file for file in pull.files if fnmatch(file, pattern)}
        own = weights | {f"{pattern.replace('*', '')}.index.json"}
        is_new = any(wants(file) and file not in own and file not in read for file in pull.files)
        if weights and not is_new and all(pull.has(file, blob) for file, blob in read.items()):
            return pull
    return None


def _contents(name: str, revision: str) -> Conversion:
    info = HfApi().model_info(name, revision=revision, files_metadata=True)
    siblings = info.siblings or ()
    return Conversion(info.sha or "", {each.rfilename: Blob(each.blob_id, each.size or 0) for each in siblings})


FILES = ["*.json", "*.txt", "*.model", "*.spm", "*.bpe"]
# Folders of a repository hold other formats of the same model.
NOT_FILES = ["*/*", "*.fp16.*", "*.bf16.*"]
REACH_SECONDS = 5
# A hub that is silent for so long in the middle of an answer has broken off. Its library would wait for ever.
PATIENCE_SECONDS = 10
# Weights in float64, and as much again for a tokenizer and for what a careless author left beside them.
BYTES_A_PARAMETER = 16


@dataclass(frozen=True)
class Fetched:
    """A model's folder on this machine.

    weights     in which format its weights are, and who made them so; empty where its file says it
    gguf        the GGUF file that holds everything, if it is one
    is_adapter  whether it is a LoRA adapter of another model
    """

    folder: Path
    weights: str
    gguf: str = ""
    is_adapter: bool = False


@dataclass(frozen=True)
class _Source:
    """Where a model's weights are on the hub: the commit, the pattern of their files, and what they are."""

    commit: str
    pattern: str
    weights: str

    @property
    def patterns(self) -> list[str]:
        return [*FILES, self.pattern]

    def wants(self, file: str) -> bool:
        """Say whether a file of the repository is one of the model's."""
        return any(fnmatch(file, kept) for kept in self.patterns) and not any(fnmatch(file, left) for left in NOT_FILES)


_SAFETENSORS = _Source("", SAFETENSORS, "safetensors")
_CONVERTED = _Source("", SAFETENSORS, f"safetensors, converted by {BOT} on the hub")
_PICKLE = _Source("", PICKLES, NUMBERS)


def fetch_files(name: str, revision: str | None, progress: Progress, *, allow_pickles: bool = True, file: str = "") -> Fetched:
    """Find the local folder of a model of the hub, or download it; `file` is a GGUF file of it.

    Raises:
        ModelNotFoundError: there is no such model, or no network to get it by.
        ModelTooLargeError: it has more parameters than this machine may load; nothing but its configuration was downloaded.
        UnsupportedModelError: it cannot be traced, or has no weights that may be opened.
        ModelError: it is gated, or the hub cannot be reached halfway.
    """
    with failing_as(ModelError, _broken_off(name)):
        try:
            if file:
                return _fetch_alone(name, revision, progress, file)
            return _cached(name, revision, allow_pickles) or _download(name, revision, progress, allow_pickles)
        except GatedRepoError as error:
            raise ModelError(
                f"{name} is gated: accept its licence at https://huggingface.co/{name}, "
                "log in with `hf auth login`, and run again."
            ) from error
        except RevisionNotFoundError as error:
            raise ModelNotFoundError(f"{name} has no revision {revision} on the Hugging Face hub; check its name.") from error
        except (RepositoryNotFoundError, HFValidationError) as error:
            raise ModelNotFoundError(
                f"There is no model {name} on the Hugging Face hub, or it is private; "
                "check its name, or log in with `hf auth login`."
            ) from error
        except LocalEntryNotFoundError as error:
            raise _out_of_reach(name) from error
        except EntryNotFoundError as error:
            return _fetch_other(name, revision, progress, error)


def _fetch_other(name: str, revision: str | None, progress: Progress, error: EntryNotFoundError) -> Fetched:
    """Fetch a repository without a configuration: a LoRA adapter, or one GGUF file.

    Raises:
        ModelNotFoundError: it is neither, or has several GGUF files.
    """
    try:
        files = repository_files(name, revision or "main")
    except (HfHubHTTPError, OSError):
        files = {}  # the hub has gone in the meantime
    if ADAPTER in files and ADAPTER_WEIGHTS in files:
        return _fetch_alone(name, revision, progress, ADAPTER_WEIGHTS)
    ggufs = sorted(file for file in files if file.endswith(GGUF) and "/" not in file)
    if len(ggufs) == 1:
        return _fetch_alone(name, revision, progress, ggufs[0])
    if ggufs:
        raise ModelNotFoundError(
            f"{name} has {len(ggufs)} GGUF files of one model, with more or fewer bits; name one, such as {name}/{ggufs[0]}."
        ) from error
    raise ModelNotFoundError(f"{name} on the Hugging Face hub has no {CONFIG}, so it is no model attnviz can load.") from error


def _fetch_alone(name: str, revision: str | None, progress: Progress, file: str) -> Fetched:
    """Fetch one file that needs no configuration, a GGUF file, or the weights of an adapter with what describes them."""
    is_adapter = file == ADAPTER_WEIGHTS
    patterns = [ADAPTER, ADAPTER_WEIGHTS, "tokenizer*", "special_tokens_map.json"] if is_adapter else [file]
    try:
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=patterns, local_files_only=True))
        if (folder / file).is_file():
            return Fetched(folder, "", "" if is_adapter else file, is_adapter)
    except (LocalEntryNotFoundError, RevisionNotFoundError):
        pass  # it is not here yet
    if settings.yes("HF_HUB_OFFLINE") or not _reachable():
        raise _out_of_reach(name)
    _end_waiting()
    files = repository_files(name, revision or "main")
    if file not in files:
        raise ModelNotFoundError(f"{name} on the Hugging Face hub has no file {file}; check its name.")
    # A GGUF file has at least a bit a parameter.
    if files[file].size * 8 > 32 * (limit := device.max_parameters(device.choose_dtype(None).itemsize)):
        raise ModelTooLargeError(
            f"{name} has a file of {files[file].size / 1e9:,.0f} GB, more than the {limit / 1e9:.3g} billion parameters that "
            "this machine loads; choose a smaller model."
        )
    bar = _bar(progress, f"Downloading {name}", files[file].size)
    folder = Path(snapshot_download(name, revision=revision, allow_patterns=patterns, tqdm_class=bar))
    if not (folder / file).is_file():
        raise ModelError(_broken_off(name))
    return Fetched(folder, "", "" if is_adapter else file, is_adapter)


def _cached(name: str, revision: str | None, allow_pickles: bool) -> Fetched | None:
    """Find the folder of an earlier download, if it is whole: then no network is needed."""
    sources = [(revision, _SAFETENSORS), (REF, _CONVERTED)] + [(revision, _PICKLE)] * allow_pickles
    for ref, source in sources:
        try:
            folder = Path(
                snapshot_download(
                    name, revision=ref, allow_patterns=source.patterns, ignore_patterns=NOT_FILES, local_files_only=True
                )
            )
        except (LocalEntryNotFoundError, RevisionNotFoundError):
            continue
        if any(folder.glob(source.pattern)) and (folder / CONFIG).is_file():
            return Fetched(folder, source.weights)
    return None


def _download(name: str, revision: str | None, progress: Progress, allow_pickles: bool) -> Fetched:
    progress(f"Looking up {name}", None)
    if settings.yes("HF_HUB_OFFLINE") or not _reachable():
        raise _out_of_reach(name)
    _end_waiting()
    config = Path(hf_hub_download(name, CONFIG, revision=revision))
    n_bytes = device.choose_dtype(Checkpoint(name, config.parent).config().dtype).itemsize
    # The cache keeps a revision's files in a folder named after its commit.
    source, sizes = _choose(name, config.parent.name, allow_pickles)
    folder = config.parents[1] / source.commit
    left = sum(size for file, size in sizes.items() if source.wants(file) and not (folder / file).exists())
    if left > BYTES_A_PARAMETER * (limit := device.max_parameters(n_bytes)):
        raise ModelTooLargeError(
            f"{name} has files of {left / 1e9:,.0f} GB, far more than the {limit / 1e9:.3g} billion parameters that this "
            "machine loads; choose a smaller model."
        )
    bar = _bar(progress, f"Downloading {name}", left)
    folder = Path(
        snapshot_download(
            name, revision=source.commit, allow_patterns=source.patterns, ignore_patterns=NOT_FILES, tqdm_class=bar
        )
    )
    # What is here is returned without a word where the hub has gone in the meantime.
    if not all((folder / file).is_file() for file in sizes if source.wants(file)):
        raise ModelError(_broken_off(name))
    if source.commit != config.parent.name:
        # So that it is found again without a network: the cache knows by names which commits it has.
        cached = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=name, repo_type="model")
        ref = cached / "refs" / REF
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(source.commit, encoding="utf-8")
    return Fetched(folder, source.weights)


def _choose(name: str, commit: str, allow_pickles: bool) -> tuple[_Source, dict[str, int]]:
    """Choose safetensors, else the bot's of them, else a pickle; with it comes the size of every file there.

    Raises:
        UnsupportedModelError: there are none that may be opened.
    """
    files = repository_files(name, commit)
    sizes = {file: blob.size for file, blob in files.items()}
    here = {pattern: any(fnmatch(file, pattern) for file in files) for pattern in (SAFETENSORS, PICKLES)}
    if here[SAFETENSORS]:
        return replace(_SAFETENSORS, commit=commit), sizes
    read = {file: blob for file, blob in files.items() if _PICKLE.wants(file)}
    if here[PICKLES] and (converted := find_conversion(name, read, SAFETENSORS, _CONVERTED.wants)):
        return replace(_CONVERTED, commit=converted.commit), {file: blob.size for file, blob in converted.files.items()}
    if here[PICKLES] and allow_pickles:
        return replace(_PICKLE, commit=commit), sizes
    raise only_pickles(name) if here[PICKLES] else no_weights(name)


def _broken_off(name: str) -> str:
    return f"The download of {name} broke off; check the network and the free disk space, and run again."


def _out_of_reach(name: str) -> ModelNotFoundError:
    where = "" if constants.ENDPOINT == "https://huggingface.co" else f" that HF_ENDPOINT names, {constants.ENDPOINT},"
    return ModelNotFoundError(
        f"{name} is not on this machine and the Hugging Face hub{where} cannot be reached; choose a model that comes with "
        "attnviz: they work without a network."
    )


def _reachable() -> bool:
    """Check once whether the hub answers at all: its own library would try six times, for over 20 seconds."""
    try:
        urlopen(Request(constants.ENDPOINT, method="HEAD"), timeout=REACH_SECONDS)
    except HTTPError:
        return True  # whatever it says, it is there
    except (OSError, HTTPException, ValueError):
        return False  # what HF_ENDPOINT says need not be an address
    return True


def _end_waiting() -> None:
    """Makes every request of the hub's library end, those that are given no time, too."""
    session = get_session()
    hooks = session.event_hooks
    if _limit not in hooks["request"]:
        session.event_hooks = {**hooks, "request": [*hooks["request"], _limit]}


def _limit(request: Any) -> None:
    given = request.extensions.get("timeout", {})
    request.extensions["timeout"] = {
        phase: PATIENCE_SECONDS if given.get(phase) is None else given[phase] for phase in ("connect", "read", "write", "pool")
    }


def _bar(progress: Progress, stage: str, total: int) -> type[tqdm]:
    """Make a progress bar that draws nothing and tells `progress` instead how much there is of `total` bytes."""
    most = 0.0

    class Bar(tqdm):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            options |= {"file": _Nowhere(), "disable": False}
            super().__init__(*arguments, **options)

        def update(self, n: int | float | None = 1) -> bool | None:
            nonlocal most
            drawn = super().update(n)
            # One bar counts files; of the two that count bytes, one may lag behind, and go back where a part comes again.
            if self.unit == "B" and total and self.n > most:
                most = self.n
                progress(stage, min(most / total, 1.0))
            return drawn

    return Bar


class _Nowhere:
    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None: ...


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
    if not (path / CONFIG).exists():
        if (path / ADAPTER).is_file():
            return _fetch_adapter(path, facts, progress, allow_pickles)
        if files := sorted(each.name for each in path.glob(f"*{GGUF}")):
            if len(files) > 1:
                raise ModelNotFoundError(f"{name} has {len(files)} GGUF files; name one, such as {path / files[0]}.")
            return lambda progress: load_folder(path, facts, progress, gguf=files[0])
        raise Checkpoint(name, path).no_config()
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
            fetched = fetch_files(base, config.get("revision"), progress, allow_pickles=allow_pickles)
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
    fetched = fetch_files(repository, facts.revision or None, progress, allow_pickles=allow_pickles, file=file)
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
