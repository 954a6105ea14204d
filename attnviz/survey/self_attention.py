"""How many texts look at themselves, one attention map a text."""

from collections.abc import Iterator, Sequence

from attnviz.core.errors import ModelError
from attnviz.core.trace import AttentionMap
from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import capabilities


def self_attention(model: AttentionModel, texts: Sequence[str]) -> Iterator[tuple[int, AttentionMap]]:
    """Read texts in batches where the model allows it: the place of each that can be read, and its attention to itself.

    Raises:
        ModelError: there is none: the model only looks at a text while it writes.
    """
    for index, trace in capabilities(model).trace_all(texts):
        first = trace.maps[0]
        if first.kind == "cross":
            raise ModelError(
                f"{trace.model} has no attention of a text to itself, which claims are about: choose an encoder, a "
                "decoder or a Transformer."
            )
        yield index, first
