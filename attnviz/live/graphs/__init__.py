"""Models as files for a browser: graphs of their passes, the very weights that ship, tokenizers, and a manifest of them all."""

from attnviz.live.graphs.models import export

__all__ = ["export"]
