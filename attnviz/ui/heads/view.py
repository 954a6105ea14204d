"""What stands on the page Heads: the box for a claim, the grid, the evidence of a head, and the verdict."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.analysis.heads.atlas import Atlas
from attnviz.analysis.heads.claim import parse
from attnviz.analysis.heads.counts import examples_of
from attnviz.analysis.heads.verdict import ClaimResult
from attnviz.analysis.heads.wording import describe_claim, describe_verdict, short_claim
from attnviz.analysis.wording import Part, Sentence, head_name
from attnviz.figures import html as shared
from attnviz.figures.heads.evidence import case_list, claims_table, distance_bars, rivals_table
from attnviz.figures.heads.grid import STYLE, heads_grid
from attnviz.models import catalog
from attnviz.survey.corpora import TREEBANK, shipped
from attnviz.survey.shipped import available
from attnviz.text.conllu import ParsedSentence
from attnviz.ui.address.state import remember, remembered, value, visit
from attnviz.ui.address.widgets import dropdown, text_field
from attnviz.ui.boxes import Box, forget_typed, run_boxes, tell_unrun
from attnviz.ui.layout import escaped, theme
from attnviz.ui.markup import Markup
from attnviz.ui.prompt import long_notice
from attnviz.ui.sidebar import one_model, stepper

if TYPE_CHECKING:
    from attnviz.survey.corpus_attention import CorpusAttention

_markup = Markup("heads", shared.STYLE + STYLE)
EXAMPLES = (
    "L2·H0: obj -> head", "any: det -> head", "any: compound -> head", "L1·H9: any -> previous", 'any: "he" | "she" -> PROPN',
    "any: pronoun -> antecedent",
)  # fmt: skip
_ANY = "What each head does best"
_HOW = """
- A word of a sentence counts as right where the head's largest weight goes where the claim says. Subwords are merged; unless
  the claim is about them, the word itself and special tokens are left out.
- Every second sentence chooses the head (where you write *any*) and the best fixed offset; the others are reported.
- A claim **holds** where it beats chance, the best fixed offset ("always the word before") and the best head of the same model
  untrained: by 5 points or more, and by a test that bears with how many heads and claims are tried (Holm 1979).
- The interval is from drawing sentences again, 1,000 times (Efron 1979). The method is that of
  Clark et al. 2019, *What Does BERT Look At?*, section 4, with intervals, an untrained model and held-out sentences added.
- The sentences are 1,500 of Universal Dependencies English EWT (CC BY-SA 4.0), and Winogender (MIT) for pronouns.
"""
_BELIEVE = """
- A claim that holds says where a head looks, not what for: whether the model needs it is another question.
- A head may do several things; its cell shows the one that is furthest above its rivals.
- "No claim holds" means: none of the claims that were tried. What the head does may have no name in this list.
"""


def heads_model() -> str:
    """The model whose heads are looked at: those first whose atlas travels with attnviz."""
    ready = [name for name in catalog.available() if name in available()]
    hub = [name for kind in ("encoder", "decoder") for name in catalog.HUB[kind]]
    return one_model(
        [*ready, *hub], "The first ones have their atlas here. Of another model it is computed when you ask for it, in minutes."
    )


def claim_box() -> str:
    """Where a person types a claim, with examples as chips; what was run last."""
    run = {"typed_claim": remembered("claim", "")}
    box = Box("typed_claim", "A claim about heads", 'Such as L2·H0: obj -> head, or any: "he" -> antecedent')
    if typed := run_boxes([box], run):
        run = typed
    with st.container(horizontal=True, vertical_alignment="center"):
        current = run["typed_claim"] if run["typed_claim"] in EXAMPLES else None
        st.session_state.example_claim = current
        st.pills("Examples", EXAMPLES, key="example_claim", on_change=_choose, label_visibility="collapsed")
        tell_unrun()
    remember("claim", run["typed_claim"], "")
    return run["typed_claim"].strip()


def _choose() -> None:
    if chosen := st.session_state.example_claim:
        set_claim(chosen)


def set_claim(text: str) -> None:
    """Makes a claim the one that is tested; for a callback."""
    forget_typed("typed_claim")
    st.session_state.update(claim=text)


def own_box() -> str:
    """Where a person puts sentences of their own, one a line; empty: the treebank."""
    with st.sidebar.expander("Your own sentences", expanded=bool(value("sentences", ""))):
        sentences = text_field(
            st.text_area, "One sentence a line", "sentences", height="content",
            help="Claims about words and places are then tested on these. Syntax is known of the treebank only.",
        )  # fmt: skip
    long_notice("sentences", sentences)
    return sentences.strip()


def find_box(atlas: Atlas) -> int | None:
    """Choose a claim to find heads by; None: every head shows what it does best."""
    by_text = {claim.text: number for number, claim in enumerate(atlas.claims)}
    options = ["", *sorted(by_text, key=lambda text: (-len(atlas.holding(by_text[text])), text))]

    def label(text: str) -> str:
        return f"{short_claim(text)} · {len(atlas.holding(by_text[text]))} heads" if text else _ANY

    return by_text.get(dropdown(st.sidebar, "Find heads by claim", "find", options=options, format_func=label))


def head_choice(atlas: Atlas) -> tuple[int, int]:
    """The head that is looked at: of a first visit, the one with the best claim about syntax."""
    layer, head = telling_head(atlas)
    left, right = st.sidebar.columns(2)
    with left:
        chosen = stepper("Layer", "layer", layer, atlas.shape[0])
    with right:
        return chosen, stepper("Head", "head", head, atlas.shape[1])


def telling_head(atlas: Atlas) -> tuple[int, int]:
    """Find the head whose claim about a relation is furthest above its rivals."""
    places = [
        (float(atlas.ahead[number, layer, head]), layer, head)
        for number, claim in enumerate(atlas.claims)
        if claim.text.endswith("-> head")
        for layer, head in atlas.holding(number)
    ]
    return max(places, default=(0.0, 0, 0))[1:]


def show_grid(atlas: Atlas, chosen: tuple[int, int], find: int | None) -> None:
    """Every head; a click chooses one."""
    _markup("atlas", heads_grid(atlas, chosen=chosen, find=find, theme=theme()), pick_head)


def pick_head(picked: str) -> None:
    """Chooses the head of a cell that was clicked; for a callback."""
    if match := re.fullmatch(r"(\d{1,4})\.(\d{1,4})", picked):
        st.session_state.update(layer=int(match[1]), head=int(match[2]))


def headline(atlas: Atlas, chosen: tuple[int, int]) -> tuple[Sentence, Sentence]:
    """Two sentences: what the chosen head does, and what all of them do."""
    layer, head = chosen
    best, name = atlas.best(layer, head), head_name(layer, head)
    doing = sum(atlas.best(*place) is not None for place in _places(atlas))
    total = atlas.shape[0] * atlas.shape[1]
    second = (Part(f"A claim holds of {doing} of the {total} heads of {atlas.model}, over {atlas.sentences:,} sentences."),)
    if best is None:
        return (Part(f"{name}: none of the {len(atlas.claims)} claims that were tried holds."),), second
    facts = atlas.claims[best]
    return (
        Part(f"{name}: "),
        Part(describe_claim(parse(facts.text)), strong=True),
        Part(f" in {atlas.rates[best, layer, head]:.0%} of cases; its strongest rival has {facts.strongest_rival:.0%}."),
    ), second


def _places(atlas: Atlas) -> list[tuple[int, int]]:
    return [(layer, head) for layer in range(atlas.shape[0]) for head in range(atlas.shape[1])]


def show_evidence(atlas: Atlas, chosen: tuple[int, int], model: str) -> None:
    """The claims of a head with their rivals, how far it looks, and sentences that open on Encode."""
    layer, head = chosen
    name = head_name(layer, head)
    st.subheader(f"What {name} does, and how sure that is", anchor=False)

    def pick(picked: str) -> None:
        kind, _, value = picked.partition(":")
        if kind == "claim":
            set_claim(f"{name}: {value}")

    _markup("evidence", claims_table(atlas, layer, head, theme=theme()), pick)
    st.caption("The orange line is the strongest rival. Click a claim to test it again, with its sentences.")
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.markdown(f"**How far {name} looks**, in tokens")
        _markup("distances", distance_bars(atlas.histogram[layer, head], theme=theme()))
    with right:
        if examples := atlas.examples.get(f"{layer}.{head}", ()):
            sentences = shipped(TREEBANK)
            _markup("examples", case_list(sentences, examples, theme=theme()), _opening(sentences, model, layer, head))


def _opening(sentences: tuple[ParsedSentence, ...], model: str, layer: int, head: int | None) -> Callable[[str], None]:
    """What opens a sentence on Encode, at the head."""

    def pick(picked: str) -> None:
        kind, _, number = picked.partition(":")
        if kind == "open" and number.isdecimal() and int(number) < len(sentences):
            text = sentences[int(number)].text
            visit("encode", model=model, text=text, layer=layer, head=head, mean=head is None or None, words=True)

    return pick


def show_test(tested: ClaimResult, looks: "CorpusAttention", model: str) -> None:
    """The verdict in words that can be handed in, its rivals, and sentences, those where the claim fails first."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        icon = ":material/check_circle:" if tested.holds else ":material/cancel:"
        st.markdown(f"{icon} {escaped(describe_verdict(tested))}")
        head = looks.model[0].top.shape[1] - 1 if tested.head is None else tested.head
        examples = examples_of(tested.claim, looks.sentences, looks.model, (tested.layer, head), most=3)
        _markup(
            "cases",
            case_list(looks.sentences, examples, theme=theme()),
            _opening(looks.sentences, model, tested.layer, tested.head),
        )
    with right:
        _markup("rivals", rivals_table(tested, theme=theme()))


def explained() -> None:
    """How a claim is tested, and how much to trust that."""
    with st.expander("How a claim is tested"):
        st.markdown(_HOW)
    with st.expander("How much to trust this"):
        st.markdown(_BELIEVE)
