"""Models and results for the pages: found, loaded and computed once for everybody, with progress and clear errors.

Each function takes the model's name, and what stands here behind the progress; it gives None after the page has said why there
is nothing (`attnviz.ui.background.results.computed`).

What every page shows at first was computed beforehand: it travels in assets/examples/, so that no model is needed to show it.
Each file is named after what was asked: of which model, and with which weights. So no file is read once a model was trained
again; `python -m recipes examples` makes them anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from threadpoolctl import ThreadpoolController

from attnviz import memory
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import AttnvizError, EditError, ModelNotFoundError
from attnviz.core.sampling import WritingOptions
from attnviz.core.trace import Prompt
from attnviz.core.weights import Quantity
from attnviz.files.shipped import find_example, shipped_path
from attnviz.models import catalog
from attnviz.models.base import GREEDY, AttentionModel, ModelCard, Progress
from attnviz.models.catalog import CATALOG, Task
from attnviz.models.result import Options, Result
from attnviz.ui.background import jobs
from attnviz.ui.background.jobs import Job, LruCache, check_room, downloading, held_bytes, make_room, shared, workers
from attnviz.ui.layout import escaped
from attnviz.ui.visitor_limits import check_offered, folders_allowed, is_listed, pickles_allowed

# What is computed while `python -m recipes examples` records all of it, by its file; None: nothing is recorded.
recorded: dict[Path, Any] | None = None


def find_shipped(work: str, name: str, arguments: tuple[Any, ...]) -> Any:
    """Read the shipped result of a piece of work for a model and these arguments; None: it does not travel."""
    is_recorded, is_others = recorded is not None, name and name not in CATALOG
    return None if is_recorded or is_others else find_example(work, name, *arguments)


def note_computed(work: str, name: str, arguments: tuple[Any, ...], result: Any) -> None:
    """Takes down what was computed, if all of it is recorded. How long that took elsewhere is of no interest here."""
    if recorded is not None and (path := shipped_path(work, name, arguments)) is not None:
        recorded[path] = getattr(result, "without_durations", lambda: result)()


Made = TypeVar("Made")
Asked = ParamSpec("Asked")
# A head is a small product. Shared between threads it is no faster alone, and on a busy server it was 100 times slower: the
# threads wait for each other. PyTorch keeps its own threads.
ThreadpoolController().select(internal_api="openblas").limit(limits=1)

MODELS_KEPT = 5  # four stand side by side on Translate
# Loaders are tiny; unknown ids must not evict models in use.
FETCHES_KEPT = 64
CHARACTERS_A_SECOND = 7_500  # what a small model reads on a small server
# A class has one or a few each, which are small: half a megabyte for a sentence, 13.5 for 512 tokens; pictures weigh as much
# again. So few bytes that a server has its memory back soon after many long texts.
TRACES_KEPT, TRACES_BYTES = 192, 64 * 2**20


def computed(
    work: Callable[Concatenate[AttentionModel, Progress, Asked], Made], passes: int = 1
) -> Callable[Concatenate[str, Asked], Made | None]:
    """Makes a function of a model one of the model's name, which is done once for everybody who asks for the same.

    It gives None after the page has said why there is nothing. What it is asked for stands in its places, the prompt first;
    what is given by name is only used, since it follows from those. `passes`: how many passes of the model it takes about.
    """

    @wraps(work)
    def once(name: str, *asked: Asked.args, **given: Asked.kwargs) -> Made | None:
        return compute_once(work, name, asked, given, passes=passes)

    return once


def compute_once(
    work: Callable[..., Any],
    name: str,
    arguments: tuple[Any, ...],
    given: Mapping[str, Any],
    passed: tuple[type[AttnvizError], ...] = (),
    passes: int = 1,
    travels: bool = True,
) -> Any:
    """Return what `work` gives for the model of that name; None after the page has said why there is nothing.

    What was computed beforehand is taken, where it travels with attnviz and `travels` is true. Errors of a type in `passed` are
    not said here: the caller has them.
    """
    place = st.empty()
    cache, key = traces_kept(), (work, name, *arguments)
    try:
        check_offered(name)
        if travels and (shipped := find_shipped(work.__name__, name, arguments)) is not None:
            return shipped
        model = load_model(name, place)
        make_room(traces_kept())

        def once(progress: Progress) -> Any:
            result = work(model, progress, *arguments, **given)
            # Weighed here, for whoever asked may have gone.
            cache.weigh(key, held_bytes(result))
            return result

        result = shared(cache, key, once, place, expected=passes * len(arguments[0].text) / CHARACTERS_A_SECOND)
        note_computed(work.__name__, name, arguments, result)
        return result
    except passed:
        raise
    except (AttnvizError, MemoryError) as error:
        place.error(
            escaped(error) or "This needs more memory than there is: try a shorter text or a smaller model.",
            icon=":material/error:",
        )
        return None


def is_known(work: Callable[..., Any], name: str, *arguments: Any) -> bool:
    """Say whether what `computed(work)` gives is there already, so that nobody waits for it."""
    job = traces_kept().peek((work, name, *arguments))
    return (job is not None and job.is_done) or find_shipped(work.__name__, name, arguments) is not None


def run(name: str, task: Task, prompt: Prompt, *, edits: Edits = NO_EDITS, options: Options = GREEDY) -> Result | None:
    """Run the model of that name over a prompt, with the edits; None after the page has said why there is no result.

    Raises:
        EditError: the edits cannot be made in this model, or over this text.
    """
    unedited = options.unedited if isinstance(options, WritingOptions) else options
    # What is compared with edits is computed by the same processor, so that what they left alone differs by nothing.
    plain = compute_once(_run, name, (prompt, task, NO_EDITS, unedited), {}, travels=not edits)
    if plain is None:
        return None
    plain = replace(plain, name=name)
    if not edits:
        return plain
    # What is kept of an edited text holds no other trace, whose bytes nobody would count.
    after = compute_once(_run, name, (prompt, task, edits, options), {"before": plain}, (EditError,))
    return replace(after, name=name, before=plain) if after else None


def in_quantity(result: Result, quantity: Quantity) -> Result:
    """Return the result with that quantity in its maps; as it is, where no other is known, after the page has said why."""
    if quantity == result.quantity:
        return result
    moving = _in_quantity(result.name, result.prompt, result.task, result.options, quantity, result=result)
    return replace(moving, name=result.name, output=result.output) if moving else result


@st.cache_resource(show_spinner=False)
def traces_kept() -> LruCache[Job[Any]]:
    """Return the cache of everybody's traces, on their way or done."""
    return LruCache(TRACES_KEPT, TRACES_BYTES)


@st.cache_resource(show_spinner=False)
def models_kept() -> LruCache[Job[Any]]:
    """Return the cache of everybody's models, on their way or done."""
    return LruCache(MODELS_KEPT, 0)


@st.cache_resource(show_spinner=False)
def _fetched() -> LruCache[Job[catalog.Build]]:
    """Return the cache of what builds a model whose files are here, or on their way."""
    return LruCache(FETCHES_KEPT, 0)


def load_model(name: str, place: DeltaGenerator) -> AttentionModel:
    """Load the model of that name: its files are fetched where nothing is computed, then it is built."""
    folders, pickles = folders_allowed() or is_listed(name), pickles_allowed()

    def fetch(progress: Progress) -> catalog.Build:
        check_room(name)
        # torch is imported here, in the background, where the page can say that it is waiting.
        jobs.finish()
        return catalog.fetch(name, allow_folders=folders, allow_pickles=pickles, progress=progress)

    try:
        build = shared(_fetched(), name, fetch, place, downloading())
    except ModelNotFoundError as error:
        page = st.session_state.page
        task = page if page in get_args(Task) else "encode"
        raise ModelNotFoundError(f"{error}{catalog.suggestion(name, task)}") from error

    def work(progress: Progress) -> AttentionModel:
        from attnviz.models import device

        check_room(name)
        device.share_cores(workers())
        model = build(progress)
        memory.settle()
        return model

    return shared(models_kept(), name, work, place)


def _run(
    model: AttentionModel,
    progress: Progress,
    prompt: Prompt,
    task: Task,
    edits: Edits,
    options: Options,
    *,
    before: Result | None = None,
) -> Result:
    from attnviz.models.tasks import run_task

    card = model.card
    doing = {
        "encode": f"Computing the attention of {card.n_layers} × {card.n_heads} heads",
        "translate": f"Translating with {card.name}{', edited' if edits else ''}",
        "answer": f"Looking for the answer with {card.name}",
        "summarize": f"Reading with {card.name}",
        "write": f"Reading with {card.name}",
    }
    progress(doing[task], None)
    return replace(run_task(model, task, prompt, edits=edits, options=options, before=before), before=None)


@computed
def _in_quantity(
    model: AttentionModel,
    progress: Progress,
    prompt: Prompt,
    task: Task,
    options: Options,
    quantity: Quantity,
    *,
    result: Result,
) -> Result:
    from attnviz.attribution.quantity_maps import in_quantity

    progress(f"Computing what the attention of {model.card.name} moves", None)
    return replace(in_quantity(model, result, quantity), output=None)


@computed
def card(model: AttentionModel, progress: Progress, prompt: Prompt) -> ModelCard:
    """Return what is known of a model that reads this prompt."""
    progress(f"Reading with {model.card.name}", None)
    return model.card
