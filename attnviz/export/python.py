"""The lines of Python that make a picture again."""

from dataclasses import fields

from attnviz.analysis.view import View
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.export.picture import Picture


def lines(picture: Picture, *, made: str = "", imports: tuple[str, ...] = (), attention: str = "") -> str:
    """A script that draws this very picture; `made` is the expression of its trace, `imports` what that needs.

    Without `made`, the trace is that of the model, by its name, over the prompt. With `attention`, `made` is called `found`,
    and `attention` is the expression of the map that is drawn of it.
    """
    options = {"kind": repr(picture.kind)} if len(picture.trace.maps) > 1 and not attention else {}
    options |= {"layer": str(picture.layer)}
    # A trace draws the mean where no head is named; a map is always told.
    options |= {"head": str(picture.head)} if picture.head is not None or attention else {}
    needed = ["import attnviz as av", *imports]
    if picture.view != View():
        needed.append("from attnviz.analysis.view import View")
        options["view"] = _told(picture.view)
    drawn = (["heatmap"] if attention else []) + ([] if picture.full_scale else ["Look"])
    if drawn:
        needed.append(f"from attnviz.figures.heatmap import {', '.join(sorted(drawn))}")
    if not picture.full_scale:
        options["look"] = "Look(full_scale=False)"
    told = ", ".join(f"{name}={value}" for name, value in options.items())
    steps = [f"trace = {made or loaded(picture.trace)}", f"figure = trace.heatmap({told})"]
    if attention:
        steps = [f"found = {made}", f"attention = {attention}", f"figure = heatmap(attention, {told})"]
    return "\n".join([*needed, "", *steps, "figure.show()", ""])


def loaded(trace: AttentionTrace) -> str:
    """The expression that traces the prompt again with the model of that name."""
    return f"av.load({trace.model!r}).trace({told_prompt(trace.prompt)})"


def told_prompt(prompt: Prompt) -> str:
    """A prompt as Python: its text alone, where that is all.

    >>> told_prompt(Prompt("It's.")), told_prompt(Prompt("a", pair="b"))
    ('"It\\'s."', "av.Prompt('a', pair='b')")
    """
    given = {each.name: value for each in fields(prompt)[1:] if (value := getattr(prompt, each.name)) is not None}
    if not given:
        return repr(prompt.text)
    return f"av.Prompt({', '.join([repr(prompt.text), *(f'{name}={value!r}' for name, value in given.items())])})"


def _told(view: View) -> str:
    """A view as Python, with what is not as usual."""
    changed = {each.name: value for each in fields(view) if (value := getattr(view, each.name)) != each.default}
    return f"View({', '.join(f'{name}={value!r}' for name, value in changed.items())})"
