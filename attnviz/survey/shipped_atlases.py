"""The atlases that travel with attnviz: reading them needs no model."""

from functools import cache

from attnviz.analysis.heads.atlas import Atlas, from_json
from attnviz.core.errors import CorpusError
from attnviz.paths import assets_folder


def available() -> tuple[str, ...]:
    """Name the models whose atlas travels with attnviz."""
    return tuple(sorted(path.stem for path in (assets_folder() / "atlas").glob("*.json")))


@cache
def shipped_atlas(model: str) -> Atlas:
    """Read the atlas of a model that travels with attnviz.

    Raises:
        CorpusError: there is none.
    """
    path = assets_folder() / "atlas" / f"{model}.json"
    if model not in available():
        raise CorpusError(f"No atlas of {model} travels with attnviz: make one with `attnviz atlas {model} -o {model}.json`.")
    return from_json(path.read_text(encoding="utf-8"), path.name)
