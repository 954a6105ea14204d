"""Models and traces for the pages: found, loaded and computed once for everybody, with progress and clear errors."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from threadpoolctl import ThreadpoolController

from attnviz import memory
from attnviz.analysis.answer.question_attention import Side, StrongestHead, strongest_heads
from attnviz.analysis.quantity import WeighedTrace
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import AttnvizError, ModelTooLargeError
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models import catalog
from attnviz.models.answer.base import Answers, answers
from attnviz.models.base import AttentionModel, ModelCard, Progress
from attnviz.models.head_inputs import InspectedTrace, inspect_trace
from attnviz.models.translate.decode import DecodingOptions, Draft, draft
from attnviz.ui.background.jobs import Job, Result, shared
from attnviz.ui.background.lru_cache import LruCache
from attnviz.ui.background.slots import downloading, workers
from attnviz.ui.layout import escaped
from attnviz.ui.permissions import check_offered, folders_allowed, is_listed, pickles_allowed

# A head is a small product. Shared between threads it is no faster alone, and on a busy server it was 100 times slower: the
# threads wait for each other. PyTorch keeps its own threads.
ThreadpoolController().select(internal_api="openblas").limit(limits=1)

MODELS_KEPT = 5  # four stand side by side on Translate
# Each is a function: names that nobody has heard of must not take the place of a model that is used.
FETCHES_KEPT = 64
CHARACTERS_A_SECOND = 7_500  # what a small model reads on a small server
# A class has one or a few each, which are small: half a megabyte for a sentence. Pictures of long texts weigh as much again.
TRACES_KEPT, TRACES_BYTES = 192, 128 * 2**20


@dataclass(frozen=True)
class Traced:
    """A trace, the card of the model that made it, how long the model took (seconds), and the file it comes from, if any."""

    trace: AttentionTrace
    card: ModelCard
    seconds: float
    file: str = ""


@dataclass(frozen=True)
class Drafted:
    """A translation, the card of the model that made it, and how long the model took (seconds).

    weighed  what the numbers of its trace are, where they are not weights
    """

    draft: Draft
    card: ModelCard
    seconds: float
    weighed: WeighedTrace | None = field(default=None, kw_only=True)

    @property
    def trace(self) -> AttentionTrace:
        return self.draft.trace


@dataclass(frozen=True)
class Answered:
    """What a model makes of a question, the card of the model, and how long it took (seconds).

    weighed  what the numbers of its trace are, where they are not weights
    """

    answers: Answers
    card: ModelCard
    seconds: float
    weighed: WeighedTrace | None = None

    @property
    def trace(self) -> AttentionTrace:
        return self.answers.trace

    @property
    def place(self) -> tuple[int, int]:
        """Where the likeliest answer stands in the passage, in characters."""
        best, tokens = self.answers.result.spans[0], self.answers.tokens
        return tokens[best.start].start, tokens[best.end].end

    @cached_property
    def telling(self) -> dict[Side, StrongestHead]:
        """The heads that say most about the answer: found once, not at every click."""
        return strongest_heads(self.trace, *self.place)


@dataclass(frozen=True)
class Opened:
    """What is kept of a trace whose heads can be looked into: not the model, which may be large and has a shelf of its own."""

    trace: AttentionTrace
    pieces: tuple[int, ...]


def trace(name: str, prompt: Prompt, edits: Edits = NO_EDITS) -> Traced | None:
    """The trace of a prompt, with the edits; None after the page has said why there is none."""
    return computed(name, _trace, (prompt, edits))


def translate(name: str, prompt: Prompt, options: DecodingOptions) -> Drafted | None:
    """The translation of a prompt; None after the page has said why there is none."""
    return computed(name, _translate, (prompt, options))


def summarize(name: str, prompt: Prompt, edits: Edits = NO_EDITS) -> Traced | None:
    """The trace of a text that is to be summarized, with the edits; None after the page has said why there is none."""
    return computed(name, _summarize, (prompt, edits))


def answer(name: str, prompt: Prompt, edits: Edits = NO_EDITS) -> Answered | None:
    """What a model makes of a question, with the edits; None after the page has said why there is nothing."""
    return computed(name, _answer, (prompt, edits))


def opened(name: str, prompt: Prompt, begins: tuple[str, ...]) -> InspectedTrace | None:
    """A trace whose heads can be looked into; None after the page has said why there is none."""
    if (kept := computed(name, _open, (prompt, begins))) is None:
        return None
    return InspectedTrace(kept.trace, load_model(name, st.empty()), kept.pieces)


def computed(name: str, compute: Callable[..., Any], asked: tuple[Any, ...]) -> Any:
    """What `compute(model, progress, *asked)` gives, computed once for everybody who asks for the same."""
    place = st.empty()
    kept, key = traces_kept(), (compute, name, *asked)
    try:
        check_offered(name)
        model = load_model(name, place)
        _make_room()

        def work(progress: Progress) -> Any:
            result = compute(model, progress, *asked)
            # Weighed here, for whoever asked may have gone.
            kept.weigh(key, result.trace.nbytes if hasattr(result, "trace") else result.nbytes)
            return result

        return shared(kept, key, work, place, expected=len(asked[0].text) / CHARACTERS_A_SECOND)
    except (AttnvizError, MemoryError) as error:
        place.error(
            escaped(error) or "This needs more memory than there is: try a shorter text or a smaller model.",
            icon=":material/error:",
        )
        return None


@st.cache_resource(show_spinner=False)
def traces_kept() -> LruCache[Job[Any]]:
    """The traces of everybody, on their way or done."""
    return LruCache(TRACES_KEPT, TRACES_BYTES)


@st.cache_resource(show_spinner=False)
def models_kept() -> LruCache[Job[Any]]:
    """The models of everybody, on their way or done."""
    return LruCache(MODELS_KEPT, 0)


@st.cache_resource(show_spinner=False)
def _fetched() -> LruCache[Job[catalog.Build]]:
    """What builds a model whose files are here, or on their way."""
    return LruCache(FETCHES_KEPT, 0)


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
        traces_kept().clear()


def load_model(name: str, place: DeltaGenerator) -> AttentionModel:
    """The model of that name: its files are fetched where nothing is computed, then it is built."""
    folders, pickles = folders_allowed() or is_listed(name), pickles_allowed()

    def fetch(progress: Progress) -> catalog.Build:
        _check_room(name)
        # torch is imported here, in the background, where the page can say that it is waiting.
        return catalog.fetch(name, allow_folders=folders, allow_pickles=pickles, progress=progress)

    build = shared(_fetched(), name, fetch, place, downloading())

    def work(progress: Progress) -> AttentionModel:
        from attnviz.models import device

        _check_room(name)
        device.share_cores(workers())
        model = build(progress)
        memory.settle()
        return model

    return shared(models_kept(), name, work, place)


def _timed(made: Callable[..., Result], model: AttentionModel, compute: Callable[[], Any]) -> Result:
    """`made` of what is computed, the model's card, and how long it took (seconds)."""
    start = time.perf_counter()
    result = compute()
    return made(result, model.card, time.perf_counter() - start)


def _trace(model: AttentionModel, progress: Progress, prompt: Prompt, edits: Edits) -> Traced:
    progress(f"Computing the attention of {model.card.n_layers} × {model.card.n_heads} heads", None)
    # No keyword where nothing is edited: a model of somebody's own need not know what edits are.
    options = {"edits": edits} if edits else {}
    return _timed(Traced, model, lambda: model.trace(prompt, **options))


def _summarize(model: AttentionModel, progress: Progress, prompt: Prompt, edits: Edits) -> Traced:
    from attnviz.models.summarize import run as summaries

    progress(f"Reading with {model.card.name}", None)
    return _timed(Traced, model, lambda: summaries.summarize(model, prompt, edits))


def _translate(model: AttentionModel, progress: Progress, prompt: Prompt, options: DecodingOptions) -> Drafted:
    progress(f"Translating with {model.card.name}", None)
    return _timed(Drafted, model, lambda: draft(model, prompt, options))


def _answer(model: AttentionModel, progress: Progress, prompt: Prompt, edits: Edits) -> Answered:
    progress(f"Looking for the answer with {model.card.name}", None)
    return _timed(Answered, model, lambda: answers(model, prompt, edits))


def _open(model: AttentionModel, progress: Progress, prompt: Prompt, begins: tuple[str, ...]) -> Opened:
    progress(f"Computing the attention of {model.card.name}", None)
    inspected = inspect_trace(model, prompt, begins)
    return Opened(inspected.trace, inspected.pieces)
