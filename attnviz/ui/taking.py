"""What a person can take along from a page: the picture, its numbers, the trace, and the lines of Python that make it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from attnviz.analysis.view import head_matrix
from attnviz.errors import TraceError
from attnviz.export import FORMATS, Picture, export
from attnviz.export.python import lines, told_prompt
from attnviz.files import to_bytes
from attnviz.models.drafts import Wish
from attnviz.trace import AttentionMap, Prompt
from attnviz.ui.controls import Choice
from attnviz.ui.models import Traced
from attnviz.ui.opened import file_box


@dataclass(frozen=True)
class Kept:
    """A picture of the page, made only when somebody wants to keep it, and the Python that makes its trace again."""

    label: str
    picture: Callable[[], Picture]
    made: str
    imports: tuple[str, ...] = ()


def kept_head(name: str, traced: Traced, attention: AttentionMap, choice: Choice) -> Kept:
    """The head that Encode shows; `name` is what the model is called here."""

    def picture() -> Picture:
        matrix = head_matrix(attention, layer=choice.layer, head=choice.head, view=choice.view)
        return Picture(traced.trace, attention.kind, choice.layer, choice.head, matrix, choice.view, choice.full_scale)

    made = f"av.open({traced.file!r})" if traced.file else f"av.load({name!r}).trace({told_prompt(traced.trace.prompt)})"
    return Kept(name, picture, made)


def kept_draft(name: str, picture: Callable[[], Picture], prompt: Prompt, wish: Wish | None) -> Kept:
    """A translation that Translate shows; `wish` None: the one that the model gives when it is only asked for its trace."""
    if wish is None:
        return Kept(name, picture, f"av.load({name!r}).trace({told_prompt(prompt)})")
    made = f"draft(av.load({name!r}), av.Prompt({prompt.text!r}), {wish!r}).trace"
    return Kept(name, picture, made, ("from attnviz.models.drafts import Wish, draft",))


def take_along(shown: Sequence[Kept]) -> None:
    """A popover; nothing in it is computed before it is opened, and no file before its button is pressed."""
    with st.popover("Keep it", icon=":material/download:", key="keep", on_change="rerun") as popover:
        if not popover.open:
            return
        if shown:
            _downloads(shown)
        file_box()


def _downloads(shown: Sequence[Kept]) -> None:
    kept = shown[0]
    if len(shown) > 1:
        kept = shown[st.selectbox("Model", range(len(shown)), format_func=lambda index: shown[index].label, key="kept")]
    try:
        picture = kept.picture()
    except TraceError as error:
        st.info(str(error), icon=":material/visibility_off:")
        return
    name = re.sub(r"[^\w.-]+", "-", f"{kept.label}-{picture.name}".replace("·", "")).strip("-.")
    for caption, formats in (("The picture, for a paper", ("svg", "png")), ("Its numbers", ("csv", "npz", "json"))):
        st.caption(caption)
        with st.container(horizontal=True):
            for each in formats:
                _button(each.upper(), f"{name}.{each}", FORMATS[each].media_type, lambda to=each: export(picture, to))
    st.caption("The whole trace, every head of it; attnviz opens it again")
    _button("Trace file", f"{name.rsplit('-', 1)[0]}.attn", "application/octet-stream", lambda: to_bytes(picture.trace))
    st.caption("In Python")
    st.code(lines(picture, made=kept.made, imports=kept.imports), language="python", wrap_lines=True)


def _button(label: str, file: str, media_type: str, data: Callable[[], bytes]) -> None:
    st.download_button(label, data, file, media_type, key=f"download_{file.rsplit('.', 1)[-1]}", on_click="ignore")
