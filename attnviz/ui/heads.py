"""What stands on the page What heads do: the model, a claim to test, a head with its sentences, a survey, and the downloads."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import streamlit as st
from jaxtyping import Float
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.heads.atlas import PATTERNS, WORDS, Atlas, Drawn, likeness, pattern_text, read_pattern
from attnviz.analysis.heads.measures import NAMES
from attnviz.analysis.heads.roles import ROLE_LABELS, ROLES, HeadRoles, describe_holders, describe_role
from attnviz.analysis.heads.verdict import MEASURE_LABELS, ClaimReport, measure_text, short_claim
from attnviz.analysis.wording import Part, Sentence, counted, head_name, signed, whole_percent
from attnviz.core.errors import AttnvizError, CorpusError
from attnviz.export.head_claims import atlas_csv, claims_csv, draw_atlas, draw_measure, draw_verdict, measure_csv, roles_csv
from attnviz.figures import html as shared
from attnviz.figures.head_claims import (
    EXAMPLES,
    STYLE,
    atlas_blocks,
    board,
    distance_bars,
    evidence_blocks,
    first_head,
    likeness_grid,
    measure_grid,
    measures_table,
    verdict_blocks,
)
from attnviz.figures.head_grid import measured_grid
from attnviz.files.shipped import models_with_atlas
from attnviz.models import catalog
from attnviz.survey.corpus_survey import State, opened
from attnviz.text.corpora import TREEBANK, shipped
from attnviz.ui.address.address_sync import dropdown, publish, restore, text_field, toggle, value
from attnviz.ui.background.corpus_results import claim_verdict, first_words_of
from attnviz.ui.blocks import show_blocks
from attnviz.ui.download import drawing_buttons, file_button
from attnviz.ui.explorer import pick_head
from attnviz.ui.frame.sidebar import head_steppers, one_model
from attnviz.ui.layout import Markup, escaped, hero, story, theme
from attnviz.ui.prompt_box import TextBox, forget_typed, long_notice, run_texts, unrun_notice
from attnviz.ui.visitor_limits import folders_allowed

_ANY = "What each head does best"


def model_picker() -> str:
    """Offer the models whose heads can be looked at, those first whose atlas travels with attnviz."""
    ready = [name for name in catalog.available() if name in models_with_atlas()]
    hub = [name for kind in ("encoder", "decoder") for name in catalog.HUB[kind]]
    return one_model(
        [*ready, *hub], "The first models come with their atlas. For any other it is computed now, which takes minutes."
    )


def claim_box() -> str:
    """Draw the box for a claim, with examples as chips; return what was run last."""
    box = TextBox("claim", "A claim about heads", "Test your own claim; click an example below to see how to write one")
    claim = run_texts([box])["claim"]
    with st.container(horizontal=True, vertical_alignment="center"):
        current = claim if claim in EXAMPLES else None
        st.session_state.example_claim = current
        st.pills(
            "Examples", EXAMPLES, key="example_claim", format_func=EXAMPLES.__getitem__, on_change=_choose_example,
            label_visibility="collapsed",
        )  # fmt: skip
        unrun_notice()
    return claim.strip()


def _choose_example() -> None:
    if chosen := st.session_state.example_claim:
        forget_typed("typed_claim")
        st.session_state.claim = chosen


def own_sentences_box() -> str:
    """Draw the box for sentences of one's own, one a line; empty: the treebank."""
    sentences = text_field(
        st.text_area, "Your own sentences, one a line", "sentences", height="content",
        help="Claims about words and positions are then tested on these. Syntax is known only for the treebank.",
    )  # fmt: skip
    long_notice(sentences=sentences)
    return sentences.strip()


def claim_filter(atlas: Atlas) -> int | None:
    """Choose a claim to find heads by; None: every head shows what it does best."""
    by_text = {claim.text: number for number, claim in enumerate(atlas.claims)}
    options = ["", *sorted(by_text, key=lambda text: (-len(atlas.holding(by_text[text])), text))]

    def label(text: str) -> str:
        return f"{short_claim(text)} · {counted(len(atlas.holding(by_text[text])), 'head')}" if text else _ANY

    return by_text.get(dropdown(st.sidebar, "Find heads by claim", "find", options=options, format_func=label))


def draws_pattern() -> bool:
    """Ask whether heads are looked for by a drawing."""
    help_ = "Draw a pattern, and see how similar each head is to it."
    return toggle(st.sidebar, "Find heads by a drawing", "drawing", help=help_)


def head_choice(atlas: Atlas) -> tuple[int, int]:
    """Offer the head to look at: at first the one whose claim about syntax is furthest above its rivals."""
    return head_steppers(st.sidebar, first_head(atlas), atlas.shape)


_survey_markup = Markup("survey", shared.STYLE + STYLE)


def opened_survey() -> State | None:
    """Open the survey whose folder is asked for; None where none is, and after the page has said what is wrong with it."""
    restore("survey", "")
    folder = st.session_state.survey.strip()
    if not folder:
        return None
    try:
        if not folders_allowed():
            raise CorpusError("Surveys are not opened on this server: start attnviz on your own machine, where the folder is.")
        return opened(Path(folder))
    except AttnvizError as error:
        st.error(escaped(error), icon=":material/folder_off:")
        return None


def survey_box() -> None:
    """Draw the box for the folder of a survey, for those at the machine."""
    folder = st.session_state.survey
    if folders_allowed():
        folder = st.text_input(
            "Measurements over a corpus (a folder)", key="survey", placeholder="survey", max_chars=400,
            help="What `attnviz survey MODEL --text FILES -o FOLDER` wrote: all heads, measured over a corpus of any size.",
        )  # fmt: skip
    publish("survey", folder, "")


def shows_roles(model: str) -> bool:
    """Ask, of a model that may be a decoder, whether its heads are scored in the roles that papers name."""
    others = [name for name in catalog.available() if name not in catalog.available_for("write")]
    others += [name for kind, names in catalog.HUB.items() if kind != "decoder" for name in names]
    help_ = "Previous token, duplicate token, induction, name mover, sink: scored as in the papers."
    return model not in others and toggle(st.sidebar, "Known roles of heads", "roles", help=help_)


def show_roles(roles: HeadRoles) -> None:
    """Show one role of every head, its verdict for the chosen one, and what that one scores in all roles."""
    role = dropdown(st.sidebar, "Role", "role", options=ROLES, default="induction", format_func=ROLE_LABELS.__getitem__)
    means = roles.means[ROLES.index(role)]
    layer, head = _head_choice(means)
    with hero() as heading:
        story(describe_role(roles, role, layer, head), describe_holders(roles), place=heading)
        grid = measured_grid(means, whole_percent, strength=float, chosen=(layer, head), theme=theme())
        _markup("role-grid", grid, pick_head)
    st.subheader(f"What {head_name(layer, head)} scores in every role", anchor=False)
    story(*(describe_role(roles, each, layer, head) for each in ROLES if each != role))
    st.expander("How heads are scored").markdown(_ROLES)


def roles_buttons(roles: HeadRoles) -> None:
    """Offer the scores of all heads in a role as a drawing, and all roles as a table."""
    role = value("role", "induction")
    means = roles.means[ROLES.index(role)]
    title = f"{roles.model}: {ROLE_LABELS[role].lower()}, score of each head"
    file = f"{_file_name(roles.model)}-roles"
    _buttons(file, lambda: draw_measure(means, whole_percent, title), lambda: roles_csv(roles))


def show_survey(survey: State) -> None:
    """Show one measure of every head, then all measures of the chosen one."""
    statistics = survey.statistics
    labels = MEASURE_LABELS.__getitem__
    measure = dropdown(st.sidebar, "Measure", "measure", options=NAMES, default="previous", format_func=labels)
    number = NAMES.index(measure)
    layer, head = _head_choice(np.nan_to_num(statistics.means[number], nan=-1.0))
    with hero() as heading:
        story(*_survey_sentences(survey, measure, (layer, head)), place=heading)
        grid = measure_grid(statistics.means[number], measure, chosen=(layer, head), theme=theme())
        _survey_markup("measured", grid, pick_head)
    name = head_name(layer, head)
    st.subheader(f"What {name} does over this corpus", anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _survey_markup("measures", measures_table(statistics, layer, head, chosen=measure, theme=theme()), _pick_measure)
    with right:
        st.markdown(f"**How far {name} looks**, in tokens")
        histogram = statistics.histogram[layer, head]
        _survey_markup("survey_distances", distance_bars(histogram / max(histogram.sum(), 1e-12), theme=theme()))


def _head_choice(means: Float[np.ndarray, "layer head"]) -> tuple[int, int]:
    """Offer the head to look at: at first the one with the largest mean."""
    layer, head = (int(place) for place in np.unravel_index(means.argmax(), means.shape))
    return head_steppers(st.sidebar, (layer, head), means.shape)


def _survey_sentences(survey: State, measure: str, chosen: tuple[int, int]) -> tuple[Sentence, Sentence]:
    statistics, number = survey.statistics, NAMES.index(measure)
    ends = [float(end[number][chosen]) for end in statistics.intervals]
    low, high = (measure_text(measure, end) for end in ends)
    corpus = f"A survey of {survey.model} over {counted(statistics.read, 'text')} with {counted(statistics.tokens, 'token')}."
    if len(others := np.flatnonzero(~statistics.attending)):
        corpus += f" Without attention, and left out: layer {', '.join(map(str, others))}."
    mean = measure_text(measure, value := float(statistics.means[number][chosen]))
    interval = f" on average (95 % interval {low} to {high})." if not np.isnan(ends).any() else " on average, in one text."
    interval = ": not measured." if np.isnan(value) else interval
    label = f"{head_name(*chosen)}: {MEASURE_LABELS[measure].lower()} "
    return (Part(label), Part(mean, strong=True), Part(interval)), (Part(corpus),)


def _pick_measure(picked: str) -> None:
    if picked in NAMES:
        st.session_state.measure = picked


_markup = Markup("heads", shared.STYLE + STYLE)
_FIRST_PATTERN = PATTERNS["Previous word"]
_ROLES = """
- **Previous token, duplicate token, induction**: 25 random tokens that stand twice, eight times; the mean weight that goes to
  the token before, to the same token where it stood first, and to what followed it then (prefix matching; Olsson et al. 2022,
  Wang et al. 2023).
- **Name mover**: 20 sentences that ask for a name. The weight of the last word on that name counts where the head copies it:
  what it would write of the name, taken from the stream behind the first layer, has the name among the five likeliest (Wang et
  al. 2023, section 3.1).
- **Sink**: the weight on the first token (Xiao et al. 2023). Such a head often has nothing to do.
- A role **holds** where the score is above 30 %, and by five points above the best head of the same model untrained, in a test
  corrected for all heads and roles (Holm 1979). The interval is a bootstrap over sequences or sentences.
"""


def show_atlas(atlas: Atlas, chosen: tuple[int, int], find: int | None, heading: DeltaGenerator) -> None:
    """Show what the chosen head does, and every head; a click chooses one."""
    show_blocks(atlas_blocks(atlas, chosen, shipped(TREEBANK), find=find, theme=theme()), _markup, heading)


def show_evidence(atlas: Atlas, chosen: tuple[int, int]) -> None:
    """Show the claims of a head with their rivals, and how far it looks."""
    show_blocks(evidence_blocks(atlas, chosen, shipped(TREEBANK), theme=theme()), _markup)


def show_verdict(report: ClaimReport, model: str, *, own: bool = False) -> None:
    """Show the verdict on a claim."""
    show_blocks(verdict_blocks(report, model, own=own, theme=theme()), _markup)


def show_likeness(model: str, chosen: tuple[int, int], heading: DeltaGenerator) -> Float[np.ndarray, "layer head"] | None:
    """Show the board, and how similar each head is to what is drawn on it, which is returned; a click on a head chooses it."""
    pattern = _pattern_board()
    if (first := first_words_of(model)) is None:
        return None
    alike = likeness(first.means, pattern)
    story(*_pattern_sentences(alike, pattern, first.sentences), place=heading)
    _markup("likeness", likeness_grid(alike, chosen=chosen, theme=theme()), pick_head)
    return alike


def _pattern_board() -> Drawn:
    """Draw the board with its pattern, and patterns to begin with beside it; a click on a cell fills or empties it."""
    restore("drawn", pattern_text(_FIRST_PATTERN))
    drawn = read_pattern(st.session_state.drawn)
    pattern = _FIRST_PATTERN if drawn is None else drawn

    def pick(picked: str) -> None:
        kind, _, number = picked.partition(":")
        if kind == "cell" and number.isdecimal() and int(number) < WORDS**2:
            changed = pattern.copy()
            changed.flat[int(number)] ^= True
            st.session_state.drawn = pattern_text(changed)

    left, right = st.columns([2, 5], gap="large", vertical_alignment="center")
    with left:
        _markup("board", board(pattern, theme=theme()), pick)
    with right:
        st.session_state.pattern = next((name for name, each in PATTERNS.items() if (each == pattern).all()), None)
        st.pills("Patterns to begin with", list(PATTERNS), key="pattern", on_change=_choose_pattern)
        st.caption(
            f":material/touch_app: Rows look at columns: the first {WORDS} words of a sentence. Click cells, or go from one to "
            "the next with the arrow keys and press Enter."
        )
    publish("drawn", pattern_text(pattern), pattern_text(_FIRST_PATTERN))
    return pattern


def _choose_pattern() -> None:
    if chosen := st.session_state.pattern:
        st.session_state.drawn = pattern_text(PATTERNS[chosen])


def _pattern_sentences(alike: Float[np.ndarray, "layer head"], pattern: Drawn, sentences: int) -> tuple[Sentence, Sentence]:
    """Say which head is most similar to the drawing, and what was compared."""
    about = (Part(f"Means over the first {WORDS} words of {sentences} sentences; 0 is a head that looks evenly."),)
    if pattern.all() or not pattern.any():
        return (Part("Draw where a word should look: some cells, not all."),), about
    layer, head = (int(place) for place in np.unravel_index(int(alike.argmax()), alike.shape))
    most = Part(signed(alike[layer, head]), True)
    return (Part(head_name(layer, head), True), Part(" is most similar to this: correlation "), most, Part(".")), about


def claim_buttons(model: str, claim: str, own: str) -> None:
    """Offer the verdict on a claim, as a drawing and as a table; nothing where there is none."""
    if claim and (report := claim_verdict(model, claim, own)):
        tested = report.result
        st.caption("The verdict")
        with st.container(horizontal=True):
            drawing_buttons("claim", lambda: draw_verdict(tested, model), "download_claim")
            file_button("claim.csv", lambda: claims_csv([claim], [tested]), key="download_claim_csv")
        st.caption("All heads")


def atlas_buttons(atlas: Atlas, find: int | None) -> None:
    """Offer the grid of an atlas as a drawing, and every claim of every head as a table."""
    file = f"{_file_name(atlas.model)}-heads"
    _buttons(file, lambda: draw_atlas(atlas, find), lambda: atlas_csv(atlas))


def likeness_buttons(model: str, alike: Float[np.ndarray, "layer head"]) -> None:
    """Offer how similar every head is to what is drawn, as a drawing and as a table."""
    title = f"{model}: correlation of each head with the drawing"
    _buttons(
        f"{_file_name(model)}-likeness",
        lambda: draw_measure(alike, lambda each: f"{each:.2f}", title),
        lambda: measure_csv(alike, "correlation"),
    )


def survey_buttons(survey: State) -> None:
    """Offer one measure of every head over a corpus, as a drawing and as a table."""
    measure = value("measure", "previous")
    means = survey.statistics.means[NAMES.index(measure)]
    title = f"{survey.model}, {counted(survey.statistics.read, 'text')}: {MEASURE_LABELS[measure].lower()}"
    _buttons(
        f"{_file_name(survey.model)}-{_file_name(measure)}",
        lambda: draw_measure(means, lambda mean: measure_text(measure, mean), title),
        lambda: measure_csv(means, measure),
    )


def _buttons(file: str, sheet: Callable, table: Callable[[], bytes]) -> None:
    with st.container(horizontal=True):
        drawing_buttons(file, sheet)
        file_button(f"{file}.csv", table)


def _file_name(text: str) -> str:
    return text.replace("/", "-").replace(" ", "-")
