"""What a person can take along from a page: the picture, its numbers, the trace, and the lines of Python that make it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.view import head_matrix
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, Prompt
from attnviz.export import FORMATS, Picture, export
from attnviz.export.python import lines, prompt_expression
from attnviz.figures.explorer import TooLargeError, check_size
from attnviz.files import to_bytes
from attnviz.models.translate.decode import DecodingOptions
from attnviz.ui.background.results import Traced
from attnviz.ui.layout import escaped
from attnviz.ui.sidebar import HeadChoice
from attnviz.ui.trace_file import file_box

_TABLES = ("csv", "npz", "json")


@dataclass(frozen=True)
class Kept:
    """A picture of the page, made only when somebody wants to keep it, and the Python that makes its trace again."""

    label: str
    picture: Callable[[], Picture]
    made: str
    imports: tuple[str, ...] = ()
    attention: str = ""


def kept_head(name: str, traced: Traced, attention: AttentionMap, choice: HeadChoice) -> Kept:
    """The head that Encode shows; `name` is what the model is called here."""

    def picture() -> Picture:
        matrix = head_matrix(attention, layer=choice.layer, head=choice.head, view=choice.view)
        return Picture(traced.trace, attention.kind, choice.layer, choice.head, matrix, choice.view, choice.full_scale)

    made = f"av.open({traced.file!r})" if traced.file else f"av.load({name!r}).trace({prompt_expression(traced.trace.prompt)})"
    return Kept(name, picture, made)


def kept_answer(name: str, picture: Callable[[], Picture], prompt: Prompt) -> Kept:
    """A head that Answer shows."""
    return Kept(name, picture, f"av.load({name!r}).trace({prompt_expression(prompt)})")


def kept_draft(
    name: str, picture: Callable[[], Picture], prompt: Prompt, options: DecodingOptions | None, *, naive: bool = False
) -> Kept:
    """A translation that Translate shows; `options` None: the one that the model gives when it is only asked for its trace.

    `naive` rows are named after the token that is written there (`attnviz.analysis.translate.alignment.read_as`).
    """
    if options is None and not naive:
        return Kept(name, picture, f"av.load({name!r}).trace({prompt_expression(prompt)})")
    target = f", target={prompt.target!r}" if prompt.target else ""
    made = f"draft(av.load({name!r}), av.Prompt({prompt.text!r}{target}), {options or DecodingOptions()!r})"
    imports = ("from attnviz.models.translate.decode import DecodingOptions, draft",)
    if not naive:
        return Kept(name, picture, f"{made}.trace", imports)
    imports = ("from attnviz.analysis.translate.alignment import read_as", *imports)
    return Kept(name, picture, made, imports, "read_as(result.trace.cross, result.written, 'naive')")


def take_along(shown: Sequence[Kept]) -> None:
    """A folded box; nothing in it is computed before it is opened, and no file before its button is pressed."""
    box = st.expander("Download · picture, numbers, trace file, Python", key="keep", on_change="rerun")
    if not box.open:
        return
    with box:
        left, right = st.columns(2, gap="large")
        if shown:
            _downloads(shown, left, right)
        with right:
            file_box()


def _downloads(shown: Sequence[Kept], left: DeltaGenerator, right: DeltaGenerator) -> None:
    kept = shown[0]
    with left:
        if len(shown) > 1:
            kept = shown[st.selectbox("Model", range(len(shown)), format_func=lambda index: shown[index].label, key="kept")]
        try:
            picture = kept.picture()
        except TraceError as error:
            st.info(escaped(error), icon=":material/visibility_off:")
            return
        name = re.sub(r"[^\w.-]+", "-", f"{kept.label}-{picture.name}".replace("·", "")).strip("-.")
        for caption, formats in ((f"{picture.name} as a picture, for a paper", ("svg", "png")), ("Its numbers", _TABLES)):
            st.caption(caption)
            with st.container(horizontal=True):
                for each in formats:
                    _button(each.upper(), f"{name}.{each}", FORMATS[each].media_type, lambda to=each: export(picture, to))
        st.caption("All its heads: a page to explore in any browser, and a trace file that attnviz opens again")
        with st.container(horizontal=True):
            _whole(picture, name)
    with right:
        st.caption("The picture in Python")
        st.code(
            lines(picture, made=kept.made, imports=kept.imports, attention=kept.attention), language="python", wrap_lines=True
        )


def _whole(picture: Picture, name: str) -> None:
    _button("Trace file", f"{name.rsplit('-', 1)[0]}.attn", "application/octet-stream", lambda: to_bytes(picture.trace))
    try:
        check_size(picture.trace)
    except TooLargeError as error:
        st.caption(escaped(error))
    else:
        _button("HTML", f"{name}.html", FORMATS["html"].media_type, lambda: export(picture, "html"))


def _button(label: str, file: str, media_type: str, data: Callable[[], bytes]) -> None:
    st.download_button(label, data, file, media_type, key=f"download_{file.rsplit('.', 1)[-1]}", on_click="ignore")
