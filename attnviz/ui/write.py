"""What stands on the page Write: the text that a model writes on, what could come next, how it chooses, and why that word."""

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.next_and_why import (
    HOW_WRITTEN,
    bits_per_byte,
    candidate_labels,
    continuation_of,
    copied_link,
    describe_direct,
    describe_effect,
    describe_given,
    describe_lens,
    describe_next,
    text_written_on,
    why_title,
)
from attnviz.core.sampling import READING, Candidate, WritingOptions
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.core.why import LogitLens, Parts
from attnviz.figures import html as shared
from attnviz.figures.before_after import changed_text, ranked
from attnviz.figures.why_lens_and_patches import PARTS_STYLE, lens_strip, lens_table, parts_grid
from attnviz.figures.written_text import BARS, SCRIPT, STYLE, bars_at, coming_text, next_bars, written_text
from attnviz.models import catalog
from attnviz.models.base import AttentionModel, Progress
from attnviz.models.result import Result
from attnviz.pages_and_addresses import Number
from attnviz.ui.address.address_sync import (
    bounded,
    declared,
    dropdown,
    forget,
    forget_cell,
    picked_cell,
    pin,
    pop_state,
    publish,
    remember,
    remembered,
    segments,
    toggle,
    value,
)
from attnviz.ui.background.jobs import LruCache, stoppable
from attnviz.ui.background.results import computed
from attnviz.ui.edit_panel import show_changes
from attnviz.ui.frame.sidebar import one_model
from attnviz.ui.layout import Markup, escaped, story, theme
from attnviz.ui.prompt_box import Example, forget_typed

_markup = Markup("write", shared.STYLE + STYLE, SCRIPT)
# Candidates that are drawn, and those whose shares stand in the table of before and after.
COMPARED = 4
# Tokens on each side of the one that is looked at whose bars the browser has.
NEAR = 60


def writer_picker() -> str:
    """Offer the models that write: of the catalog, of the hub, or any id or folder that is typed."""
    return one_model(
        (
            *catalog.available_for("write"),
            *catalog.available_for("translate"),
            *catalog.HUB["decoder"],
            *catalog.HUB["encoder-decoder"],
        ),
        "smollm2 has 135 million weights of 4 bits, and these are what is drawn. Translators read your text and write another. "
        "Others come from the Hugging Face hub: choose one, or type any id of a model that writes, or a folder.",
    )


def forget_written() -> None:
    """Lets go of what was written and of what was looked at: it belonged to the text before."""
    forget("written", "held")
    forget_cell()


def chat_toggle(text: str, example: Example | None) -> None:
    """Where a person chooses whether the text is a message in a chat, which the model is to answer."""
    help = "The model reads your text as a message, between the marks of its chat template, and writes the answer."
    toggle(st.container(width="content"), "Chat", "chat", on_change=forget_written, help=help)


def in_chat(name: str, prompt: Prompt) -> Prompt | None:
    """The prompt as it is, or in a chat within the model's template; None after the page has said why there is none."""
    return _templated(name, prompt) if value("chat", False) else prompt


@computed
def _templated(model: AttentionModel, progress: Progress, prompt: Prompt) -> Prompt:
    from attnviz.models.capabilities import capabilities

    return capabilities(model).prompt([{"role": "user", "content": prompt.text}])


def written_pieces() -> tuple[str, ...]:
    """Return what was written behind the text: names of pieces, which the address holds."""
    written = remembered("written", "")
    remember("written", written, "")
    return tuple(written.split(" ")) if written else ()


def held_pieces(written: tuple[str, ...]) -> int:
    """Return how many of them stay under edits: those up to a word that was taken there."""
    held = min(value("held", 0), len(written))
    publish("held", held, 0)
    return held


@dataclass(frozen=True)
class Upcoming:
    """What is looked at: the place of a token in a trace, or of the one behind the last, and what could stand there."""

    trace: AttentionTrace
    place: int

    @staticmethod
    def of(trace: AttentionTrace) -> "Upcoming":
        """Return the token behind the one that was clicked in a picture of heads; unasked, the next one."""
        count = len(trace.maps[-1].queries)
        query = value("query")
        return Upcoming(trace, count if query is None or query >= count else query + 1)

    @property
    def is_next(self) -> bool:
        return self.place == len(self.trace.maps[-1].queries)

    @property
    def piece(self) -> str:
        """What stands there, or is likeliest to come."""
        continuation = continuation_of(self.trace)
        return continuation.next_tokens(self.place - 1)[0].piece if self.is_next else continuation.pieces[self.place]

    @property
    def link(self) -> tuple[int, int | None]:
        """The position that foretells it, and the last one before at which it stands already; of a source no word is named."""
        return copied_link(self.trace, self.place)

    @property
    def before(self) -> str:
        """The text before it."""
        tokens, text = self.trace.maps[-1].queries, text_written_on(self.trace)
        return text if self.is_next else text[: tokens[self.place].start]


def show_sentence(upcoming: Upcoming, place: DeltaGenerator) -> None:
    """Say what the model expects next, or what it expected where a token stands, and how likely that was."""
    continuation, at = continuation_of(upcoming.trace), upcoming.place
    candidates = continuation.next_tokens(at - 1)
    lines = [describe_next(candidates, upcoming.before, first=upcoming.is_next)]
    if not upcoming.is_next:
        ids = [each.piece for each in candidates]
        rank = ids.index(continuation.pieces[at]) if continuation.pieces[at] in ids else -1
        token = upcoming.trace.maps[-1].queries[at]
        lines.append(describe_given(token, math.exp(float(continuation.given[at])), rank))
    story(*lines, place=place)


def show_text(upcoming: Upcoming) -> DeltaGenerator:
    """Draw the text, what was written in it shaded by how likely it was; a click on a token shows what could stand there.

    It returns the text's place, in which it is drawn as it grows.
    """
    trace, continuation = upcoming.trace, continuation_of(upcoming.trace)
    count = len(trace.maps[-1].queries)
    name = candidate_labels(continuation.next_tokens(count - 1), text_written_on(trace))[0]

    def pick(picked: str) -> None:
        forget_cell()
        if picked.isdecimal() and 0 < int(picked) < count:
            st.session_state.query, key = Upcoming(trace, int(picked)).link
            if key is not None:
                st.session_state.key = key

    drawn = written_text(trace, chosen=upcoming.place, upcoming=name)
    with st.container(key="writing", gap=None):
        _markup("written-text", drawn | {"theme": asdict(theme())}, pick)
        # What grows stands in its stead (layout.css). In a place that is emptied the text is gone for a moment at each run.
        return st.empty()


def show_bars(upcoming: Upcoming, options: WritingOptions, *, edited: bool) -> None:
    """Draw what could stand at a place, as sampling weighs it; a click takes it, and what stood there and behind goes.

    Of a model that is edited what is taken stays, and what stands before it. The bars of places near by are there as well, so
    that a click on a token shows them at once.
    """
    trace, continuation = upcoming.trace, continuation_of(upcoming.trace)
    start, written, count = continuation.start, continuation.written, len(continuation.pieces)
    first, last = max(upcoming.place - NEAR, 1), min(upcoming.place + NEAR, count)
    # The marks of a chat's template are not typed, nor is what a decoder begins with.
    fixed = start if value("chat", False) or "cross" in trace.kinds else 0

    def candidates(place: int) -> tuple[Candidate, ...]:
        return continuation.next_tokens(place - 1, options if options.temperature else None)

    def bars(place: int) -> dict[str, Any]:
        there = Upcoming(trace, place)
        stands = "" if there.is_next else there.piece
        known = continuation.next_tokens(place - 1)
        return next_bars(candidates(place), there.before, known=known, stands=stands, clickable=place >= fixed)

    def pick(picked: str) -> None:
        at, row = (int(each) if each.isdecimal() else -1 for each in (*picked.split("."), "")[:2])
        if not 0 < at <= count or not 0 <= row < len(there := candidates(at)[:BARS]):
            return
        forget_cell()
        if at >= start:
            st.session_state.written = " ".join((*written[: at - start], there[row].piece))
            st.session_state.held = at - start + 1 if edited else 0
        elif at >= fixed:
            forget_typed()
            forget("written", "held")
            bare = there[row].text.lstrip(" ")
            gap = there[row].text[: len(there[row].text) - len(bare)]
            st.session_state.text = Upcoming(trace, at).before.rstrip(" ") + gap + bare

    drawn = bars_at(first, [bars(place) for place in range(first, last + 1)], upcoming.place)
    _markup("next-words", drawn | {"theme": asdict(theme())}, pick)


def sampling() -> WritingOptions:
    """Read from the page how the next word is chosen; nothing is written yet."""

    def number(name: str) -> Any:
        kind = declared(name, Number)
        return kind.bound(value(name, kind.default))

    if value("choose", "Likeliest") != "By chance":
        return READING
    return WritingOptions(
        0, round(number("temperature"), 1), int(number("top_k")), round(number("top_p"), 2), int(number("seed"))
    )


def sampling_picker() -> None:
    """Ask how the next word is chosen: the likeliest, or drawn by chance."""
    place = st.container()
    if segments(place, "Choose the next word", "choose") != "By chance":
        return
    left, right = place.columns(2)
    bounded(left, "Temperature", "temperature", slider=True, help="Below 1 likely words become likelier, above 1 less likely.")
    bounded(right, "Top-p", "top_p", slider=True, help="Only the likeliest words that have this share together.")
    bounded(left, "Top-k", "top_k", help="Only so many of the likeliest words; 0: all.")
    bounded(right, "Seed", "seed", help="The same seed draws the same words.")


def write_buttons(written: tuple[str, ...]) -> None:
    """Offer the ways to write on, and back to the text that was typed."""

    def write() -> None:
        st.session_state.writes = True
        forget_cell()

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("Write on", key="write-on", icon=":material/edit_note:", type="primary", on_click=write)
        bounded(st.container(width=110), "Tokens", "more")
        if written:
            st.button("Back to the text", key="unwrite", icon=":material/undo:", on_click=forget_written)


def keep_begun() -> None:
    """Keeps what was written by a run of this page that was left before it was done."""
    state = st.session_state
    begun = pop_state("begun")
    if begun and begun[0] == (state.get("model"), state.get("text"), state.get("written", "")) and (made := begun[1]):
        state.written = " ".join((*(state.get("written") or "").split(), *made))


def asked_to_write() -> bool:
    """Say whether somebody has pressed the button that writes on, once."""
    return bool(pop_state("writes"))


def write_on(name: str, prompt: Prompt, trace: AttentionTrace, place: DeltaGenerator) -> None:
    """Write on behind the text of a trace: the words stand in its place as they come, and stay if it is stopped."""
    state, shown = st.session_state, theme()
    options = replace(sampling(), tokens=int(value("more", 20)), begins=written_pieces())
    begun, before = _begun().get((name, prompt, options), Begun), text_written_on(trace)
    state.begun = (state.get("model"), state.get("text"), state.get("written", "")), begun.pieces

    def draw() -> None:
        whole = begun.text if "cross" in trace.kinds else prompt.text + begun.text
        place.html(coming_text(before, whole.removeprefix(before) if begun.text else "", theme=shown))

    with stoppable(lambda: None, draw):
        pieces = _written(name, prompt, options, begun=begun)
    pop_state("begun")
    if pieces == ():
        st.info(
            f"This text fills all that {escaped(name)} reads: shorten it, and the model can write on.", icon=":material/info:"
        )
    elif pieces:
        state.written = " ".join((*options.begins, *pieces))
        st.rerun()


@dataclass
class Begun:
    """What is written by now: its pieces, and the text of all that stands behind the one that was typed."""

    pieces: list[str] = field(default_factory=list)
    text: str = ""


@computed
def _written(
    model: AttentionModel, progress: Progress, prompt: Prompt, options: WritingOptions, *, begun: Begun
) -> tuple[str, ...]:
    from attnviz.models.capabilities import capabilities

    def report(pieces: tuple[str, ...], text: str) -> None:
        begun.pieces[:], begun.text = pieces, text
        progress(f"{len(pieces)} of {options.tokens} tokens", len(pieces) / options.tokens)

    return capabilities(model).write_pieces(prompt, options, report)[len(options.begins) :]


@st.cache_resource(show_spinner=False)
def _begun() -> LruCache[Begun]:
    """Return the cache of what is written by now, piece by piece."""
    return LruCache(256, 0)


def show_written_changes(result: Result) -> None:
    """Show what the model writes and says comes next, without edits and with them, where something is edited."""
    if result.before is None:
        return
    both = (result.before, result)
    rows = []
    if any(each.trace.output for each in both):
        rows.append(changed_text("Written", *(each.trace.output.strip() for each in both)))
    rows.append(ranked("Next word", *map(_next_shares, both)))
    show_changes(rows)


def _next_shares(result: Result) -> list[tuple[str, float]]:
    """List the likeliest next words, by their labels."""
    continuation = result.continuation
    candidates = continuation.next_tokens(len(continuation.pieces) - 1)
    labels = candidate_labels(candidates, text_written_on(result.trace))[:COMPARED]
    return [(label, each.probability) for label, each in zip(labels, candidates, strict=False)]


def explain_writing(result: Result) -> None:
    """Explain how a word comes about, and how well the model foretold this text."""
    title, how = HOW_WRITTEN
    with st.expander(title, icon=":material/function:"):
        st.markdown(how)
        if (bits := bits_per_byte(result.trace)) is not None:
            name = escaped(result.card.name)
            st.caption(f"{name} foretells this text with {bits:.2f} bits a byte; without any idea it would be 8.")


_why_markup = Markup("why", shared.STYLE + PARTS_STYLE)
# What a person chooses to hear of no other word.
NOTHING = "nothing else"
_LENS_LABELS = {"probability": "Likeliest", "log p": "ln p", "rank": "Rank", "entropy": "Entropy"}
_LENS_CAPTIONS = {
    "probability": "What each layer would have said behind each token: the likeliest, as strong as it is likely.",
    "log p": "ln p, in each layer, of the word that the model itself says in the end.",
    "rank": "The place among all tokens, in each layer, of the word that the model itself says in the end.",
    "entropy": "How undecided each layer would have been, in bits.",
}
_TRUST = """
A logit is what a model computes of each word before it makes probabilities of them. All that the layers add to one stream is
summed in it, so the parts above are exact: with the factor of the last norm held fixed, nothing is left over.

- **What a head adds is not what depends on it.** Other heads and MLPs read what it wrote: switched off, more is lost, or less.
- **Where MLPs add most**, they often read what heads have brought: a small number of a head does not say that it is idle.
- **What a layer would have said** reads its stream as if it were the last one's. Small models say nonsense until their last
  layers, since nothing has taught the layers below to speak the last one's language (nostalgebraist 2020).
"""


def show_why(upcoming: Upcoming, result: Result, place: tuple[int, int | None]) -> None:
    """Offer why a word is written: computed when somebody asks, for the model has to run."""
    row = st.container(horizontal=True, key="why-row")
    if not toggle(row.container(width="content"), "Why this word?", "why", on_change=lambda: forget("rather")):
        return
    if result.trace.edits:
        st.info("Why a word is written is computed without edits: remove them to see it.", icon=":material/info:")
        return
    rather = _rather_picker(row.container(width=280), upcoming)
    prompt, begins = result.prompt, continuation_of(upcoming.trace).written
    parts = _parts(result.name, prompt, begins, upcoming.place, rather, result=result)
    if parts is None:
        return
    layer, head = (place[0], place[1]) if place[1] is not None else parts.strongest

    def pick(picked: str) -> None:
        if head := picked_cell(picked):
            pin(*head)

    story(why_title(parts))
    left, right = st.columns([7, 5], gap="medium")
    with left:
        _why_markup("why-parts", parts_grid(parts, chosen=(layer, head), theme=theme()), pick)
        st.caption(
            "A logit is a word's score, which its probability is made of. Heads bring in other words; MLPs, the other half of "
            "each layer, work on each word alone. Click a head to see, below, where it looked."
        )
        lines = [describe_direct(parts, layer, head)]
        without = _without(result.name, prompt, begins, (upcoming.place, layer, head), rather, result=result)
        story(*lines, *([] if without is None else [describe_effect(parts, layer, head, without)]))
    with right:
        st.markdown("**What each layer would have said here**")
        lens = _lens(result.name, prompt, begins, upcoming.place, result=result)
        if lens is not None:
            _why_markup("why-lens", lens_strip(lens, 0, theme=theme()))
            story(describe_lens(lens, 0))
            st.caption(
                "Beside it, the word's place among all tokens there; ␣ is a space. Lower layers do not write as the last one "
                "does: what they seem to say proves little."
            )
    _show_lens_table(result, begins, layer)
    with st.expander("How far to trust this", icon=":material/function:"):
        st.markdown(_TRUST)


def _show_lens_table(result: Result, begins: tuple[str, ...], layer: int) -> None:
    """Draw, where somebody asks for it, what each layer would have said behind every token; a click opens what it looks at."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    if not toggle(row.container(width="content"), "At every position", "positions"):
        return
    number = segments(row.container(width="content"), "In the cells", "lens", format_func=_LENS_LABELS.__getitem__)
    lens = _lens_everywhere(result.name, result.prompt, begins, result=result)
    if lens is None:
        return
    query = value("query")
    chosen = (layer + 1, len(lens.tokens) - 1 if query is None else query)

    def pick(picked: str) -> None:
        if cell := picked_cell(picked):
            forget_cell()
            pin(max(cell[0] - 1, 0), value("head", 0))
            st.session_state.query = cell[1]

    _why_markup("why-lens-table", lens_table(lens, number, chosen=chosen, theme=theme()), pick)
    st.caption(
        _LENS_CAPTIONS[number]
        + " Outlined: the model's own next word is the likeliest. Click a cell to see, below, where it looks."
    )


def _rather_picker(place: DeltaGenerator, upcoming: Upcoming) -> Candidate | None:
    """Ask which word the word is compared with: unasked, the likeliest other one."""
    continuation = continuation_of(upcoming.trace)
    candidates = continuation.next_tokens(upcoming.place - 1)
    labels = candidate_labels(candidates, upcoming.before)[:BARS]
    known = {label: each for label, each in zip(labels, candidates, strict=False) if each.piece != upcoming.piece}
    options = [*known, NOTHING]
    chosen = dropdown(place, "Rather than", "rather", options=options, default=options[0])
    return known.get(chosen)


@computed
def _parts(
    model: AttentionModel, progress: Progress, prompt: Prompt, begins: tuple[str, ...], place: int, rather: Candidate | None,
    *, result: Result,
) -> Parts:  # fmt: skip
    from attnviz.attribution import parts_and_lens

    return parts_and_lens.parts(replace(result, model=model), rather_than=rather, position=place)


@computed
def _without(
    model: AttentionModel, progress: Progress, prompt: Prompt, begins: tuple[str, ...], at: tuple[int, int, int],
    rather: Candidate | None, *, result: Result,
) -> float:  # fmt: skip
    """Compute the score of the word without a head; `at` is the word's position, the head's layer and the head."""
    from attnviz.attribution import parts_and_lens

    position, layer, head = at
    same = replace(result, model=model)
    return parts_and_lens.without_head(same, layer=layer, head=head, rather_than=rather, position=position)


@computed
def _lens(
    model: AttentionModel, progress: Progress, prompt: Prompt, begins: tuple[str, ...], place: int, *, result: Result
) -> LogitLens:
    from attnviz.attribution import parts_and_lens

    return parts_and_lens.lens(replace(result, model=model), position=place)


@computed
def _lens_everywhere(
    model: AttentionModel, progress: Progress, prompt: Prompt, begins: tuple[str, ...], *, result: Result
) -> LogitLens:
    from attnviz.attribution import parts_and_lens

    progress(f"Reading every layer of {model.card.name}", None)
    return parts_and_lens.lens(replace(result, model=model))
