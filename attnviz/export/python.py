"""The lines of Python that make a picture again."""

from dataclasses import fields

from attnviz.analysis.view import View
from attnviz.export.picture import Picture
from attnviz.trace import AttentionTrace, Prompt


def lines(picture: Picture, *, made: str = "", imports: tuple[str, ...] = ()) -> str:
    """A script that draws this very picture; `made` is the expression of its trace, `imports` what that needs.

    Without `made`, the trace is that of the model, by its name, over the prompt.
    """
    options = {"kind": repr(picture.kind)} if len(picture.trace.maps) > 1 else {}
    options |= {"layer": str(picture.layer)} | ({} if picture.head is None else {"head": str(picture.head)})
    needed = ["import attnviz as av", *imports]
    if picture.view != View():
        needed.append("from attnviz.analysis.view import View")
        options["view"] = _told(picture.view)
    if not picture.full_scale:
        needed.append("from attnviz.figures.heatmap import Look")
        options["look"] = "Look(full_scale=False)"
    call = ", ".join(f"{name}={value}" for name, value in options.items())
    made = made or loaded(picture.trace)
    return "\n".join([*needed, "", f"trace = {made}", f"figure = trace.heatmap({call})", "figure.show()", ""])


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
