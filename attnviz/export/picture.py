"""The matrix to export, as it is shown, with its trace; and the lines of Python that make it again."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

import numpy as np

from attnviz.analysis.head_view import HeadMatrix, View, colour_limit, default_layer, default_map, head_matrix
from attnviz.analysis.wording import head_name
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import AttentionTrace, Kind, Prompt


@dataclass(frozen=True, eq=False)
class Picture:
    """One matrix of a trace as it is shown.

    head        None: the mean over the heads of the layer
    view        which tokens the matrix shows, and how
    full_scale  colours run from 0 to 1; False: to the largest weight shown
    limit       the weight from which on a part of a long text has the strongest colour, as the whole has; None: see `end`
    masked      what cells without a weight are
    """

    trace: AttentionTrace
    kind: Kind
    layer: int
    head: int | None
    matrix: HeadMatrix
    view: View = field(default_factory=View)
    full_scale: bool = True
    limit: float | None = None
    masked: str = "masked"

    @property
    def name(self) -> str:
        """Such as "L3·H1"."""
        return head_name(self.layer, self.head)

    @property
    def model(self) -> str:
        """The model's name, and what was edited in it."""
        return f"{self.trace.model}{f', edited {self.trace.edits.text}' if self.trace.edits else ''}"

    @property
    def highest(self) -> float:
        """What colours could run to: 1, or the largest weight."""
        return 1.0 if self.full_scale else max(float(self.matrix.weights.max()), 1e-9)

    @property
    def end(self) -> float:
        """The weight of the strongest colour; in a long text larger ones have it as well (`colour_limit`)."""
        limit = colour_limit(self.matrix) if self.limit is None else self.limit
        return self.highest if limit is None else min(self.highest, limit)


# Tokens of a long text that are seen at once.
PART = 60


def other_head(picture: Picture, layer: int, head: int | None) -> Picture:
    """Make the picture of another head of the same map, under the same view."""
    attention = picture.trace.map(picture.kind)
    return replace(picture, layer=layer, head=head, matrix=head_matrix(attention, layer=layer, head=head, view=picture.view))


def is_whole(picture: Picture) -> bool:
    """Tell whether the matrix is all of the head, with its own tokens and weights."""
    again = other_head(picture, picture.layer, picture.head).matrix
    return (again.queries, again.keys) == (picture.matrix.queries, picture.matrix.keys) and np.array_equal(
        again.weights, picture.matrix.weights
    )


def parts(picture: Picture) -> list[range]:
    """Cut a long text into parts of up to 60 tokens, whose labels can be read."""
    count = max(picture.matrix.weights.shape)
    return [range(start, min(start + PART, count)) for start in range(0, count, PART)]


def part_of(picture: Picture, part: range) -> Picture:
    """Cut a picture to the queries and the keys of a part; of a text that ends before it, to its last ones."""
    matrix = picture.matrix
    starts = (min(part.start, max(count - PART, 0)) for count in matrix.weights.shape)
    rows, columns = (range(start, min(part.stop, count)) for start, count in zip(starts, matrix.weights.shape, strict=True))
    return replace(picture, matrix=matrix.part(rows, columns), limit=picture.limit or colour_limit(matrix))


def picture(
    trace: AttentionTrace,
    *,
    kind: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    view: View | None = None,
) -> Picture:
    """Make the picture of one head of a trace. Defaults: the last map (cross-attention, if there is one), its last layer, the
    mean over the heads of that layer.

    Raises:
        TraceError: there is no such map, layer or head, or the view leaves no token.
    """
    attention = default_map(trace, kind)
    layer = default_layer(attention, layer)
    view = view or View()
    return Picture(trace, attention.kind, layer, head, head_matrix(attention, layer=layer, head=head, view=view), view)


def pictures(
    trace: AttentionTrace,
    *,
    kind: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    view: View | None = None,
) -> Iterator[Picture]:
    """Make a picture of every head of a map, or of one layer, or of that head in every layer; one at a time, to save memory.

    Raises:
        TraceError: as of `picture`.
    """
    attention = default_map(trace, kind)
    for each in range(attention.n_layers) if layer is None else (layer,):
        for one in range(attention.n_heads) if head is None else (head,):
            yield picture(trace, kind=attention.kind, layer=each, head=one, view=view)


@dataclass(frozen=True)
class Source:
    """The Python expressions that a picture comes from.

    made       the expression of the trace
    imports    what that needs, besides `import attnviz as av`
    attention  where it is not the map of a trace that is drawn: the expression of the map, in which `made` is called `result`
    """

    made: str
    imports: tuple[str, ...] = ()
    attention: str = ""


def lines(picture: Picture, source: Source | None = None) -> str:
    """Write a script that draws this very picture. Without a source, its trace is that of the model over the prompt."""
    trace = picture.trace
    source = source or Source(trace_expression(trace.model, trace.prompt, trace.edits))
    made, attention = source.made, source.attention
    options = {"kind": repr(picture.kind)} if len(picture.trace.maps) > 1 and not attention else {}
    options |= {"layer": str(picture.layer)}
    # For a trace the mean is the default; for a map the head is always named.
    options |= {"head": str(picture.head)} if picture.head is not None or attention else {}
    needed = ["import attnviz as av", *source.imports]
    if picture.view != View():
        needed.append("from attnviz.analysis.head_view import View")
        options["view"] = view_expression(picture.view)
    figure_names = (["heatmap"] if attention else []) + ([] if picture.full_scale else ["Look"])
    if figure_names:
        needed.append(f"from attnviz.figures.heatmap import {', '.join(sorted(figure_names))}")
    if not picture.full_scale:
        options["look"] = "Look(full_scale=False)"
    arguments = ", ".join(f"{name}={value}" for name, value in options.items())
    steps = [f"trace = {made}", f"figure = av.heatmap(trace, {arguments})"]
    if attention:
        steps = [f"result = {made}", f"attention = {attention}", f"figure = heatmap(attention, {arguments})"]
    return "\n".join([*needed, "", *steps, "figure.show()", ""])


def trace_expression(model: str, prompt: Prompt, edits: Edits = NO_EDITS) -> str:
    """Write the expression that traces a prompt with the model of that name, and the edits.

    >>> trace_expression("minilm", Prompt("a"), Edits.parse("e3.1z"))
    "av.load('minilm').trace('a', edits='e3.1z')"
    """
    edited = f", edits={edits.text!r}" if edits else ""
    return f"av.load({model!r}).trace({prompt_expression(prompt)}{edited})"


def prompt_expression(prompt: Prompt) -> str:
    """Write a prompt as Python: its text alone, where it has no other field.

    >>> prompt_expression(Prompt("It's.")), prompt_expression(Prompt("a", pair="b"))
    ('"It\\'s."', "av.Prompt('a', pair='b')")
    """
    others = {each.name: value for each in fields(prompt)[1:] if (value := getattr(prompt, each.name)) is not None}
    if not others:
        return repr(prompt.text)
    return f"av.Prompt({', '.join([repr(prompt.text), *(f'{name}={value!r}' for name, value in others.items())])})"


def view_expression(view: View) -> str:
    """Write a view as Python, with the options that differ from the default."""
    changed = {each.name: value for each in fields(view) if (value := getattr(view, each.name)) != each.default}
    return f"View({', '.join(f'{name}={value!r}' for name, value in changed.items())})"
