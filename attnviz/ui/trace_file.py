"""Trace files that a person opens: shown like a trace that was computed here, until something else is asked for."""

import html
from dataclasses import dataclass

import streamlit as st

from attnviz import settings
from attnviz.core.errors import PromptError, TraceError
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.files import open_trace
from attnviz.models.base import Architecture, ModelCard
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import visit
from attnviz.ui.background.jobs import at_a_place
from attnviz.ui.background.uploads import check_file
from attnviz.ui.escape_markdown import escaped

# What is larger than this was not made to be looked at, and would take a server's memory.
MOST_TOKENS, MOST_HEADS = 2_048, 4_096


@dataclass(frozen=True)
class _Opened:
    """A trace out of a file, and what the page asks for as long as it is looked at."""

    trace: AttentionTrace
    file: str
    asked: tuple[str, Prompt]


def file_box() -> None:
    """Where a person chooses a trace file; what is wrong with it is said below."""
    st.file_uploader(
        "Open a trace file",
        type=["attn"],
        key="trace_file",
        on_change=_receive,
        max_upload_size=settings.limit("ATTNVIZ_FILE_MB"),
        help="A file saved here, or by `attnviz.save` in Python. It is shown on Encode; no model runs for it.",
    )
    if refused := st.session_state.get("refused"):
        st.error(escaped(refused), icon=":material/draft:")


def _receive() -> None:
    """Reads the file and makes it what the page shows."""
    st.session_state.refused = ""
    if (chosen := st.session_state.trace_file) is None:
        return
    try:
        check_file(chosen, settings.limit("ATTNVIZ_FILE_MB") * 2**20)
        with at_a_place():
            trace = open_trace(chosen)
        _check_size(trace, chosen.name)
    except (TraceError, PromptError) as error:
        st.session_state.refused = str(error)
        return
    prompt = trace.prompt
    asked = trace.model, Prompt(prompt.text, pair=prompt.pair, target=prompt.target)
    st.session_state.update(opened=_Opened(trace, chosen.name, asked), keep=False)
    visit("encode", model=trace.model, text=prompt.text, pair=prompt.pair, target=prompt.target)


def _check_size(trace: AttentionTrace, name: str) -> None:
    for attention in trace.maps:
        tokens = max(len(attention.queries), len(attention.keys))
        if tokens > MOST_TOKENS or attention.n_layers * attention.n_heads > MOST_HEADS:
            raise TraceError(
                f"{name} has {tokens:,} tokens and {attention.n_layers * attention.n_heads:,} heads; at most {MOST_TOKENS:,} "
                f"and {MOST_HEADS:,} are shown here: open it in Python, with attnviz.open."
            )


def opened_file(model: str, prompt: Prompt | None) -> Result | None:
    """The result that a file which is open holds; None once another model or text is asked for, which closes it."""
    held: _Opened | None = st.session_state.get("opened")
    if held is None:
        return None
    if (model, prompt) != held.asked:
        close()
        return None
    trace = held.trace
    facts = [f"Opened from {held.file}", *(f"{name} {version}" for name, version in trace.versions)]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(f'<p class="machine">{html.escape(" · ".join(facts))}</p>')
        st.button("Close the file", key="close_file", icon=":material/close:", type="tertiary", on_click=close)
    return Result(trace, _card(trace), 0.0, name=model, file=held.file)


def close() -> None:
    """The page computes for itself again; for a callback, too."""
    st.session_state.pop("opened", None)


def _card(trace: AttentionTrace) -> ModelCard:
    """What a trace tells of its model."""
    attention = trace.maps[-1]
    architecture: Architecture = "encoder-decoder" if "cross" in trace.kinds else "decoder" if attention.causal else "encoder"
    reads = ("pair",) if any(token.segment for token in trace.maps[0].keys) else ()
    return ModelCard(
        name=trace.model,
        task="",
        architecture=architecture,
        n_layers=attention.n_layers,
        n_heads=attention.n_heads,
        parameters=0,
        # If it was cut, it was cut here.
        max_tokens=len(trace.maps[0].keys),
        device="",
        revision=trace.revision,
        reads=reads,
    )
