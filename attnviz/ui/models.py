"""Models and traces for the pages: found, loaded and computed once for everybody, with progress and clear errors."""

import time
from dataclasses import dataclass

import streamlit as st
from threadpoolctl import ThreadpoolController

from attnviz.errors import AttnvizError
from attnviz.models import catalog
from attnviz.models.protocol import AttentionModel, ModelCard, Progress
from attnviz.trace import AttentionTrace, Prompt
from attnviz.ui.jobs import Job
from attnviz.ui.settings import folders_allowed

# A head is a small product. Shared between threads it is no faster alone, and on a busy server it was 100 times slower: the
# threads wait for each other. PyTorch keeps its own threads.
ThreadpoolController().select(internal_api="openblas").limit(limits=1)

MODELS_KEPT = 3
TRACES_KEPT = 24


@dataclass(frozen=True)
class Traced:
    """A trace, the card of the model that made it, and how long the model took (seconds)."""

    trace: AttentionTrace
    card: ModelCard
    seconds: float


def trace(name: str, prompt: Prompt) -> Traced | None:
    """The trace of a prompt; None after the page has said why there is none."""
    place = st.empty()
    try:
        model = _load(name).result(place)
    except AttnvizError as error:
        # A failure is not kept: the next run tries again.
        _load.clear(name)
        place.error(str(error), icon=":material/error:")
        return None
    try:
        return _trace(name, prompt, model).result(place)
    except (AttnvizError, MemoryError) as error:
        _trace.clear(name, prompt)
        place.error(str(error) or "This needs more memory than there is: try a shorter text or a smaller model.")
        return None


@st.cache_resource(max_entries=MODELS_KEPT, show_spinner=False)
def _load(name: str) -> Job[AttentionModel]:
    allowed = folders_allowed()
    return Job(lambda progress: catalog.load(name, progress=progress, allow_folders=allowed))


@st.cache_resource(max_entries=TRACES_KEPT, show_spinner=False, hash_funcs={Prompt: repr})
def _trace(name: str, prompt: Prompt, _model: AttentionModel) -> Job[Traced]:
    def work(progress: Progress) -> Traced:
        card = _model.card
        progress(f"Computing the attention of {card.n_layers} × {card.n_heads} heads", None)
        start = time.perf_counter()
        traced = _model.trace(prompt)
        return Traced(traced, card, time.perf_counter() - start)

    return Job(work)
