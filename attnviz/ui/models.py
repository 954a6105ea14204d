"""Models and traces for the pages: found, loaded and computed once for everybody, with progress and clear errors."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st
from threadpoolctl import ThreadpoolController

from attnviz import memory
from attnviz.errors import AttnvizError, ModelTooLargeError
from attnviz.models import catalog
from attnviz.models.answering import Answers, answers
from attnviz.models.drafts import Draft, Wish, draft
from attnviz.models.inside import Opened, open_trace
from attnviz.models.protocol import AttentionModel, ModelCard, Progress
from attnviz.trace import AttentionTrace, Prompt
from attnviz.ui.jobs import Job, Result, workers
from attnviz.ui.settings import check_offered, folders_allowed, is_listed

# A head is a small product. Shared between threads it is no faster alone, and on a busy server it was 100 times slower: the
# threads wait for each other. PyTorch keeps its own threads.
ThreadpoolController().select(internal_api="openblas").limit(limits=1)

# Four stand side by side on Translate.
MODELS_KEPT = 5
TRACES_KEPT = 24


@dataclass(frozen=True)
class Traced:
    """A trace, the card of the model that made it, how long the model took (seconds), and the file it comes from, if any."""

    trace: AttentionTrace
    card: ModelCard
    seconds: float
    file: str = ""


@dataclass(frozen=True)
class Drafted:
    """A translation, the card of the model that made it, and how long the model took (seconds)."""

    draft: Draft
    card: ModelCard
    seconds: float

    @property
    def trace(self) -> AttentionTrace:
        return self.draft.trace


@dataclass(frozen=True)
class Answered:
    """What a model makes of a question, the card of the model, and how long it took (seconds)."""

    answers: Answers
    card: ModelCard
    seconds: float

    @property
    def trace(self) -> AttentionTrace:
        return self.answers.trace


def trace(name: str, prompt: Prompt) -> Traced | None:
    """The trace of a prompt; None after the page has said why there is none."""
    return _result(name, _trace, (name, prompt))


def translate(name: str, prompt: Prompt, wish: Wish) -> Drafted | None:
    """The translation of a prompt; None after the page has said why there is none."""
    return _result(name, _translate, (name, prompt, wish))


def summarize(name: str, prompt: Prompt) -> Traced | None:
    """The trace of a text that is to be summarized; None after the page has said why there is none."""
    return _result(name, _summarize, (name, prompt))


def answer(name: str, prompt: Prompt) -> Answered | None:
    """What a model makes of a question; None after the page has said why there is nothing."""
    return _result(name, _answer, (name, prompt))


def opened(name: str, prompt: Prompt, begins: tuple[str, ...]) -> Opened | None:
    """A trace whose heads can be looked into; None after the page has said why there is none."""
    return _result(name, _open, (name, prompt, begins))


def _result(name: str, compute: Any, arguments: tuple[Any, ...]) -> Any:
    place = st.empty()
    try:
        check_offered(name)
        model = _load(name).result(place)
    except AttnvizError as error:
        # A failure is not kept: the next run tries again.
        _load.clear(name)
        place.error(str(error), icon=":material/error:")
        return None
    _make_room()
    try:
        return compute(*arguments, model).result(place)
    except (AttnvizError, MemoryError) as error:
        compute.clear(*arguments)
        place.error(str(error) or "This needs more memory than there is: try a shorter text or a smaller model.")
        return None


def _check_room(name: str) -> None:
    """Stops at a further model of the hub where memory is nearly full; those of the catalog are small.

    Raises:
        ModelTooLargeError: it is.
    """
    if name not in catalog.CATALOG and (held := memory.read()) and held.is_tight:
        raise ModelTooLargeError(
            f"There is no memory left for {name}: choose a model that travels with attnviz, or come back later."
        )


def _make_room() -> None:
    """Lets go of every trace that is kept where memory is nearly full: each is computed again when it is asked for."""
    if (held := memory.read()) and held.is_tight:
        for kept in (_trace, _answer, _summarize, _translate, _open):
            kept.clear()


@st.cache_resource(max_entries=MODELS_KEPT, show_spinner=False)
def _load(name: str) -> Job[AttentionModel]:
    allowed = folders_allowed() or is_listed(name)
    _check_room(name)

    def work(progress: Progress) -> AttentionModel:
        # torch is imported here, in the background, where the page can say that it is waiting.
        from attnviz.models import device

        device.share_cores(workers())
        return catalog.load(name, progress=progress, allow_folders=allowed)

    return Job(work)


def _timed(made: Callable[..., Result], stage: str, model: AttentionModel, compute: Callable[[], Any]) -> Job[Result]:
    """A job whose result is `made` of what it computes, the model's card, and how long it took (seconds)."""

    def work(progress: Progress) -> Result:
        progress(stage, None)
        start = time.perf_counter()
        found = compute()
        return made(found, model.card, time.perf_counter() - start)

    return Job(work)


@st.cache_resource(max_entries=TRACES_KEPT, show_spinner=False, hash_funcs={Prompt: repr})
def _trace(name: str, prompt: Prompt, _model: AttentionModel) -> Job[Traced]:
    stage = f"Computing the attention of {_model.card.n_layers} × {_model.card.n_heads} heads"
    return _timed(Traced, stage, _model, lambda: _model.trace(prompt))


@st.cache_resource(max_entries=TRACES_KEPT, show_spinner=False, hash_funcs={Prompt: repr})
def _summarize(name: str, prompt: Prompt, _model: AttentionModel) -> Job[Traced]:
    from attnviz.models import summaries

    return _timed(Traced, f"Reading with {_model.card.name}", _model, lambda: summaries.summarize(_model, prompt))


@st.cache_resource(max_entries=TRACES_KEPT * 4, show_spinner=False, hash_funcs={Prompt: repr, Wish: repr})
def _translate(name: str, prompt: Prompt, wish: Wish, _model: AttentionModel) -> Job[Drafted]:
    return _timed(Drafted, f"Translating with {_model.card.name}", _model, lambda: draft(_model, prompt, wish))


@st.cache_resource(max_entries=TRACES_KEPT, show_spinner=False, hash_funcs={Prompt: repr})
def _answer(name: str, prompt: Prompt, _model: AttentionModel) -> Job[Answered]:
    return _timed(Answered, f"Looking for the answer with {_model.card.name}", _model, lambda: answers(_model, prompt))


@st.cache_resource(max_entries=TRACES_KEPT, show_spinner=False, hash_funcs={Prompt: repr})
def _open(name: str, prompt: Prompt, begins: tuple[str, ...], _model: AttentionModel) -> Job[Opened]:
    def work(progress: Progress) -> Opened:
        progress(f"Computing the attention of {_model.card.name}", None)
        return open_trace(_model, prompt, begins)

    return Job(work)
