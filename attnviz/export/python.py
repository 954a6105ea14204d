"""The lines of Python that make a picture again."""

from dataclasses import dataclass, fields

from attnviz.analysis.head_view import View
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import Prompt
from attnviz.export.picture import Picture


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
