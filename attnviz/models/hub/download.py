"""Models from the Hugging Face hub: only the files that are needed, only after the configuration says that they fit."""

from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from huggingface_hub import HfApi, constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from tqdm.auto import tqdm

from attnviz import settings
from attnviz.core.errors import ModelError, ModelNotFoundError, UnsupportedModelError
from attnviz.models.base import Progress
from attnviz.models.hub.checkpoint import CONFIG, Checkpoint

FILES = ["*.json", "*.txt", "*.model", "*.spm", "*.bpe", "model*.safetensors"]
# Folders of a repository hold other formats of the same model.
NOT_FILES = ["*/*", "*.fp16.*", "*.bf16.*"]
REACH_SECONDS = 5


def fetch(name: str, revision: str | None, progress: Progress) -> Path:
    """The local folder of a model of the hub, downloaded where it is not there yet.

    Raises:
        ModelNotFoundError: there is no such model, or no network to get it by.
        ModelTooLargeError: it has more parameters than this machine may load; nothing but its configuration was downloaded.
        UnsupportedModelError: it cannot be traced, or has no safetensors.
        ModelError: it is gated, or the hub cannot be reached halfway.
    """
    try:
        return _cached(name, revision) or _download(name, revision, progress)
    except GatedRepoError as error:
        raise ModelError(
            f"{name} is gated: accept its licence at https://huggingface.co/{name}, log in with `hf auth login`, and run again."
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
        raise ModelNotFoundError(
            f"{name} on the Hugging Face hub has no {CONFIG}, so it is no model attnviz can load."
        ) from error
    except (HfHubHTTPError, OSError) as error:
        raise ModelError(
            f"The download of {name} broke off; check the network and the free disk space, and run again."
        ) from error


def _cached(name: str, revision: str | None) -> Path | None:
    """The folder of an earlier download, if it is whole: then no network is needed."""
    try:
        folder = Path(snapshot_download(name, revision=revision, local_files_only=True))
    except (LocalEntryNotFoundError, RevisionNotFoundError):
        return None
    return folder if any(folder.glob("*.safetensors")) and any(folder.glob(CONFIG)) else None


def _download(name: str, revision: str | None, progress: Progress) -> Path:
    progress(f"Looking up {name}", None)
    if not settings.yes("HF_HUB_OFFLINE") and not _reachable():
        raise _out_of_reach(name)
    config = Path(hf_hub_download(name, CONFIG, revision=revision))
    Checkpoint(name, config.parent).config()
    if not settings.yes("HF_HUB_OFFLINE") and not any(_weights(name, revision)):
        raise UnsupportedModelError(
            f"{name} has no safetensors, only formats that can run code when opened; choose a model that has them."
        )
    bar = _bar(progress, f"Downloading {name}")
    folder = snapshot_download(name, revision=revision, allow_patterns=FILES, ignore_patterns=NOT_FILES, tqdm_class=bar)
    return Path(folder)


def _out_of_reach(name: str) -> ModelNotFoundError:
    return ModelNotFoundError(
        f"{name} is not on this machine and the Hugging Face hub cannot be reached; minilm works without a network."
    )


def _reachable() -> bool:
    """Whether the hub answers at all, asked once: its own library would try six times, for over 20 seconds."""
    try:
        urlopen(Request(constants.ENDPOINT, method="HEAD"), timeout=REACH_SECONDS)
    except HTTPError:
        return True  # whatever it says, it is there
    except OSError:
        return False
    return True


def _weights(name: str, revision: str | None) -> list[str]:
    return [file for file in HfApi().list_repo_files(name, revision=revision) if file.endswith(".safetensors")]


def _bar(progress: Progress, stage: str) -> type[tqdm]:
    """A progress bar that draws nothing and tells `progress` instead."""

    class Bar(tqdm):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            options.pop("name", None)
            super().__init__(*arguments, **{**options, "file": _Nowhere(), "disable": False})

        def update(self, n: int | float | None = 1) -> bool | None:
            drawn = super().update(n)
            # The bars that count files say little: one file is nearly all of a model.
            if self.unit == "B" and self.total:
                progress(stage, min(self.n / self.total, 1.0))
            return drawn

    return Bar


class _Nowhere:
    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None: ...
