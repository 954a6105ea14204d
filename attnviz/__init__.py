"""attnviz: type a sentence, see what every attention head of a real model does with it."""

import importlib
from typing import TYPE_CHECKING

from attnviz.core.edits import Edits, HeadPatched, HeadSet, LinkCut, WeightSet, WordHidden
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, Token
from attnviz.core.why import LogitLens, Parts, Patches

if TYPE_CHECKING:
    from attnviz.analysis.head_ranking import rank_heads
    from attnviz.analysis.whatif_comparison import compare
    from attnviz.attribution.head_roles import head_roles
    from attnviz.attribution.methods import attribute
    from attnviz.attribution.parts_and_lens import lens, parts
    from attnviz.attribution.patching import estimate_patches, patch, patch_at_random, patch_together
    from attnviz.attribution.quantity_maps import run
    from attnviz.attribution.token_removal import attribution_report, without_words, word_removals
    from attnviz.core.trace import from_weights
    from attnviz.figures.notebook import alignment, bertviz, explore, grid, heatmap
    from attnviz.files.trace_file import open_trace as open
    from attnviz.files.trace_file import save
    from attnviz.models.catalog import available, load, wrap

__version__ = "0.1.0"
__all__ = [
    "AttentionMap", "AttentionTrace", "AttnvizError", "Edits", "HeadPatched", "HeadSet", "LinkCut", "Prompt", "Token",
    "WeightSet", "WordHidden", "alignment", "attribute", "attribution_report", "available", "bertviz", "compare",
    "estimate_patches", "explore", "from_weights", "grid", "head_roles", "heatmap", "lens", "load", "open", "parts", "patch",
    "patch_at_random", "patch_together", "rank_heads", "run", "save", "without_words", "word_removals", "wrap",
]  # fmt: skip
# name -> "module:function", imported when first used: models bring torch, figures Plotly, files safetensors.
_LAZY = {
    "compare": "attnviz.analysis.whatif_comparison:compare",
    "alignment": "attnviz.figures.notebook:alignment",
    "attribute": "attnviz.attribution.methods:attribute",
    "attribution_report": "attnviz.attribution.token_removal:attribution_report",
    "available": "attnviz.models.catalog:available",
    "bertviz": "attnviz.figures.notebook:bertviz",
    "estimate_patches": "attnviz.attribution.patching:estimate_patches",
    "explore": "attnviz.figures.notebook:explore",
    "from_weights": "attnviz.core.trace:from_weights",
    "grid": "attnviz.figures.notebook:grid",
    "head_roles": "attnviz.attribution.head_roles:head_roles",
    "heatmap": "attnviz.figures.notebook:heatmap",
    "lens": "attnviz.attribution.parts_and_lens:lens",
    "load": "attnviz.models.catalog:load",
    "open": "attnviz.files.trace_file:open_trace",
    "parts": "attnviz.attribution.parts_and_lens:parts",
    "patch": "attnviz.attribution.patching:patch",
    "patch_at_random": "attnviz.attribution.patching:patch_at_random",
    "patch_together": "attnviz.attribution.patching:patch_together",
    "rank_heads": "attnviz.analysis.head_ranking:rank_heads",
    "run": "attnviz.attribution.quantity_maps:run",
    "save": "attnviz.files.trace_file:save",
    "without_words": "attnviz.attribution.token_removal:without_words",
    "word_removals": "attnviz.attribution.token_removal:word_removals",
    "wrap": "attnviz.models.catalog:wrap",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'attnviz' has no attribute {name!r}")
    module, function = _LAZY[name].split(":")
    return getattr(importlib.import_module(module), function)


def __dir__() -> list[str]:
    """List what a shell or a notebook completes: the public names, those that are not imported yet too."""
    return [*__all__, "__version__"]


def _frame(trace: AttentionTrace) -> str:
    """Show the explorer where a notebook ends a cell with a trace."""
    from attnviz.figures.explorer import frame

    return frame(trace)


AttentionTrace._repr_html_ = _frame


def _picture(value: Parts | LogitLens | Patches) -> str:
    """Draw why a word is written where a notebook ends a cell with it."""
    from attnviz.figures.why_lens_and_patches import why_page

    return why_page(value)._repr_html_()


Parts._repr_html_ = LogitLens._repr_html_ = Patches._repr_html_ = _picture
