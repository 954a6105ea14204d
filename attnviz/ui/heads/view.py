"""The pictures of the page Heads: every head, the evidence of one, the verdict on a claim, and heads by a drawn pattern."""

from collections.abc import Callable

import numpy as np
import streamlit as st
from jaxtyping import Float
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.heads.atlas import Atlas
from attnviz.analysis.heads.claim import parse
from attnviz.analysis.heads.pattern import PATTERNS, WORDS, Drawn, likeness, pattern_text, read_pattern
from attnviz.analysis.heads.verdict import ClaimReport
from attnviz.analysis.heads.wording import claim_sides, describe_question, describe_verdict
from attnviz.analysis.wording import Part, Sentence, head_name, head_words, signed, whole_percent
from attnviz.figures import html as shared
from attnviz.figures.heads.evidence import case_list, claims_table, distance_bars, rivals_table, suitable
from attnviz.figures.heads.grid import STYLE, heads_grid
from attnviz.figures.heads.pattern import board, likeness_grid
from attnviz.survey.corpora import TREEBANK, shipped
from attnviz.text.conllu import ParsedSentence
from attnviz.ui.address.address_sync import publish, restore, visit
from attnviz.ui.background.corpus_results import first_words_of
from attnviz.ui.head_picker import pick_head
from attnviz.ui.heads.controls import set_claim
from attnviz.ui.layout import story, theme
from attnviz.ui.markup import Markup

_markup = Markup("heads", shared.STYLE + STYLE)
_FIRST_PATTERN = PATTERNS["Previous word"]
_HOW = """
- A word counts as correct where the head's largest weight goes where the claim says. Subwords are merged; unless the claim is
  about them, the word itself and special tokens are left out.
- Every second sentence chooses the head (where you write *any*) and the best fixed offset; the others are reported.
- A claim **holds** where it beats chance, the best fixed offset ("always the word before") and the best head of the same model
  untrained: by 5 points or more, and in a test corrected for multiple tests (Holm 1979).
- The interval is a bootstrap over sentences, 1,000 draws (Efron 1979). The method is that of
  Clark et al. 2019, *What Does BERT Look At?*, section 4, with intervals, an untrained model and held-out sentences added.
- The sentences are 1,500 of Universal Dependencies English EWT (CC BY-SA 4.0), and Winogender (MIT) for pronouns.
"""
_BELIEVE = """
- A claim that holds says where a head looks, not whether the model needs it: What if shows that.
- A head may do several things; its cell shows the one that is furthest ahead of the best simple rule.
- "Nothing found" means: none of the claims that were tried holds. What the head does may have no name in this list.
"""


def verdict_sentences(atlas: Atlas, chosen: tuple[int, int]) -> tuple[Sentence, Sentence]:
    """Two sentences: what the chosen head does, and for how many heads a claim holds."""
    layer, head = chosen
    best, name = atlas.best(layer, head), head_words(layer, head)
    n_layers, n_heads = atlas.shape
    doing = sum(atlas.best(*place) is not None for place in np.ndindex(n_layers, n_heads))
    found = f"For {doing} of {n_layers * n_heads} heads we found something they do."
    if best is None:
        return (Part(name, True), Part(f": none of the {len(atlas.claims)} habits that were tried.")), (Part(found),)
    facts = atlas.claims[best]
    rate, rival = whole_percent(atlas.rates[best, layer, head]), whole_percent(facts.strongest_rival)
    source, target = claim_sides(parse(facts.text))
    return (
        Part(f"{source[0].upper()}{source[1:]} looks at {target}", strong=True),
        Part(f" {rate} of the time in {name}; the best simple rule, {rival}."),
    ), (Part(found),)


def show_grid(atlas: Atlas, chosen: tuple[int, int], find: int | None) -> None:
    """Every head; a click chooses one."""
    _markup("atlas", heads_grid(atlas, chosen=chosen, find=find, theme=theme()), pick_head)


def show_evidence(atlas: Atlas, chosen: tuple[int, int], model: str) -> None:
    """The claims of a head with their rivals, and how far it looks."""
    layer, head = chosen
    name = head_name(layer, head)
    st.subheader(f"What {name} does, and how sure that is", anchor=False)

    def pick(picked: str) -> None:
        kind, _, value = picked.partition(":")
        if kind == "claim":
            set_claim(f"{name}: {value}")

    _markup("evidence", claims_table(atlas, layer, head, theme=theme()), pick)
    st.caption("The orange line is what the best simple rule gets. Click one to test it again, with its sentences.")
    st.markdown(f"**How far {name} looks**, in tokens")
    _markup("distances", distance_bars(atlas.histogram[layer, head], theme=theme()))


def show_sentences(atlas: Atlas, chosen: tuple[int, int], model: str) -> None:
    """Sentences in which the head does what it is said to do, then those in which it does not; each opens on Encode."""
    layer, head = chosen
    if examples := atlas.examples.get(f"{layer}.{head}", ()):
        sentences = shipped(TREEBANK)
        drawn = case_list(sentences, suitable(sentences, examples), theme=theme())
        _markup("examples", drawn, _open_sentence(sentences, model, layer, head))


def _open_sentence(sentences: tuple[ParsedSentence, ...], model: str, layer: int, head: int | None) -> Callable[[str], None]:
    """What opens a sentence on Encode, at the head, when it is clicked."""

    def pick(picked: str) -> None:
        kind, _, number = picked.partition(":")
        if kind == "open" and number.isdecimal() and int(number) < len(sentences):
            text = sentences[int(number)].text
            visit("encode", model=model, text=text, layer=layer, head=head, mean=head is None or None, words=True)

    return pick


def show_verdict(report: ClaimReport, model: str, *, own: bool = False) -> None:
    """The verdict in words that can be handed in, its rivals, and sentences, those where the claim holds first."""
    tested = report.result
    # What somebody has typed is shown, whatever it says.
    cases = report.cases if own else suitable(report.sentences, report.cases)
    left, right = st.columns([3, 2], gap="large")
    with left:
        story((Part(describe_question(tested), True),), (Part(describe_verdict(tested)),))
        _markup(
            "cases",
            case_list(report.sentences, cases, theme=theme()),
            _open_sentence(report.sentences, model, tested.layer, tested.head),
        )
    with right:
        _markup("rivals", rivals_table(tested, theme=theme()))


def show_likeness(model: str, chosen: tuple[int, int], heading: DeltaGenerator) -> Float[np.ndarray, "layer head"] | None:
    """The board, and how similar each head is to what is drawn on it, which is returned; a click on a head chooses it."""
    pattern = _pattern_board()
    if (first := first_words_of(model)) is None:
        return None
    alike = likeness(first.means, pattern)
    story(*_pattern_sentences(alike, pattern, first.sentences), place=heading)
    _markup("likeness", likeness_grid(alike, chosen=chosen, theme=theme()), pick_head)
    return alike


def _pattern_board() -> Drawn:
    """The board with what is drawn, and patterns to begin with beside it; a click on a cell fills or empties it."""
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
    return (
        Part(head_name(layer, head), True),
        Part(" is most similar to this: correlation "),
        most,
        Part("."),
    ), about


def explain_claims() -> None:
    """How a claim is tested, and how much to trust that."""
    with st.expander("How a claim is tested"):
        st.markdown(_HOW)
    with st.expander("How much to trust this"):
        st.markdown(_BELIEVE)
