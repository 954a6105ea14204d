"""What a trace does for a person at a prompt: it saves itself, and shows itself.

The one module whose imports point up, and therefore each inside of its method: importing the values imports nothing above them.
"""

import os
from pathlib import Path
from typing import Any, Literal


class TraceMethods:
    """Conveniences of an `AttentionTrace`. Each only calls the function that does it, in the layer where that belongs."""

    def save(self: Any, path: str | os.PathLike[str], *, exact: bool = False) -> Path:
        """Writes the trace to a file that `attnviz.open` reads; see `attnviz.files.save`.

        Raises:
            TraceError: the file cannot be written.
        """
        from attnviz.files import save

        return save(self, path, exact=exact)

    def heatmap(
        self: Any,
        *,
        layer: int | None = None,
        head: int | None = None,
        kind: str | None = None,
        view: Any = None,
        look: Any = None,
    ) -> Any:
        """One head as a `plotly.graph_objects.Figure`, which shows itself in a notebook.

        Where nothing is said: the last map (the attention across, if there is one), its last layer, the mean over its heads.
        `view` is an `attnviz.analysis.view.View`, `look` an `attnviz.figures.heatmap.Look`.

        Raises:
            TraceError: there is no such map, layer or head, or the view leaves no token.
        """
        from attnviz.figures.heatmap import heatmap

        attention = self.map(kind) if kind else self.maps[-1]
        chosen = attention.n_layers - 1 if layer is None else layer
        return heatmap(attention, layer=chosen, head=head, view=view, look=look)

    def alignment(self: Any, *, layer: int | None = None, head: int | None = None, words: bool = True) -> Any:
        """Two texts as two columns of words with links between them, as an HTML page that shows itself in a notebook.

        Where nothing is said: the last layer of the attention across, and the mean over its heads.

        Raises:
            TraceError: the trace has no attention across, or no such layer or head.
        """
        from attnviz.analysis.view import View, head_matrix
        from attnviz.figures.translate.sentence_pair import pair_page

        attention = self.cross
        chosen = attention.n_layers - 1 if layer is None else layer
        return pair_page(head_matrix(attention, layer=chosen, head=head, view=View(words=words)))

    def to_bertviz(self: Any, view: Literal["head", "model"] = "head", *, kind: str | None = None) -> Any:
        """BertViz's head view or model view of a map, as an HTML page that shows itself in a notebook.

        Raises:
            TooManyTokensError: there is more than BertViz can draw.
        """
        from attnviz.figures.bertviz import views as bertviz
        from attnviz.figures.html import Page

        attention = self.map(kind) if kind else self.maps[-1]
        return Page(bertviz.head_view(attention) if view == "head" else bertviz.model_view(attention))

    def explore(self: Any, *, view: Any = None) -> Any:
        """Every head, to be explored, as an HTML page that opens from disk and shows itself in a notebook.

        `view` is an `attnviz.analysis.view.View`.

        Raises:
            TooLargeError: there are more weights than a file can hold.
        """
        from attnviz.figures.explorer import page

        return page(self, view=view)

    def grid(self: Any, *, kind: str | None = None, view: Any = None) -> Any:
        """All heads of one map, each a small picture, the one that is clicked at full size, as an HTML page.

        Where no `kind` is said: the last map, which is the attention across, if there is one.

        Raises:
            TraceError: there is no such map, or the view leaves no token.
            TooLargeError: there are more weights than a file can hold.
        """
        from dataclasses import replace

        from attnviz.figures.explorer import page

        attention = self.map(kind) if kind else self.maps[-1]
        return page(replace(self, maps=(attention,)), view=view, opens=(attention.kind, 0, 0))

    def _repr_html_(self: Any) -> str:
        """What a notebook shows of a trace: the explorer, in a frame of its own."""
        from attnviz.figures.explorer import frame

        return frame(self)
