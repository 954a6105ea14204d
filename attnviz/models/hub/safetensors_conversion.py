"""Weights that the hub's own bot converted to safetensors, in a pull request that nobody merged.

Many older models have pickles on their main branch and nothing else. transformers takes the bot's weights then, and so does
attnviz: if the bot made the pull request, and if every file in it that is read is the very one of the main branch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

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
        """Whether it has this very file."""
        return blob.identity is not None and file in self.files and self.files[file].identity == blob.identity


def files(name: str, revision: str) -> Mapping[str, Blob]:
    """The files of a model of the hub."""
    return _contents(name, revision).files


def find(name: str, read: Mapping[str, Blob], pattern: str, wants: Callable[[str], bool]) -> Conversion | None:
    """The bot's conversion of exactly the files that would be read, with weights of that pattern, if there is one.

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
