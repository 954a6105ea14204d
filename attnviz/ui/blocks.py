"""Parts of a page (`attnviz.figures.blocks`), drawn with Streamlit."""

from collections.abc import Mapping
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.figures.blocks import Blocks, ColumnsBlock, FoldBlock, Pick, PictureBlock, SentencesBlock
from attnviz.ui.address.address_sync import visit
from attnviz.ui.layout import Markup, answer, escaped, story
from attnviz.ui.prompt_box import forget_typed


def show_blocks(
    blocks: Blocks, markup: Markup | Mapping[str, Markup] | None = None, place: DeltaGenerator | None = None
) -> None:
    """Draw parts one below the other, their sentences in `place`; `markup` mounts all pictures, or each by its key."""
    for block in blocks:
        if isinstance(block, SentencesBlock):
            story(*block.sentences, place=place)
        elif isinstance(block, PictureBlock):
            mount = markup if isinstance(markup, Markup) else (markup or {})[block.key]
            mount(block.key, block.body, on_pick=partial(_pick, block.picks) if block.picks else None)
        elif isinstance(block, ColumnsBlock):
            shares = [share for share, _ in block.columns]
            place_of_columns = st.container(key=block.key) if block.key else st
            for column, (_, parts) in zip(place_of_columns.columns(shares, gap="large"), block.columns, strict=True):
                with column:
                    show_blocks(parts, markup)
        elif isinstance(block, FoldBlock):
            with st.expander(block.title):
                show_blocks(block.parts, markup)
        elif block.kind == "heading":
            st.subheader(block.text, anchor=False)
        elif block.kind == "output":
            answer(block.text)
        elif block.kind == "notice":
            (place or st).info(escaped(block.text), icon=":material/info:")
        else:
            icon = f":material/{block.icon}: " if block.icon else ""
            (st.caption if block.kind == "caption" else st.markdown)(icon + block.text + block.hint)


def _pick(picks: Mapping[str, Pick], picked: str) -> None:
    """Go where a click leads; for a callback. A browser may send anything: what is no click changes nothing."""
    if (pick := picks.get(picked)) is None:
        return
    if pick.page:
        visit(pick.page, **pick.values)
        return
    # What was typed into a box and not run gives way to what was clicked.
    forget_typed(*(f"typed_{name}" for name in pick.values))
    st.session_state.update(pick.values)
