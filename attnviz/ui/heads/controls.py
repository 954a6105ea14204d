"""What is chosen and typed on the page Heads: the model, a claim, sentences of one's own, a claim to find heads by, a head."""

import streamlit as st

from attnviz.analysis.heads.atlas import Atlas
from attnviz.analysis.heads.wording import short_claim
from attnviz.models import catalog
from attnviz.survey.shipped_atlases import available
from attnviz.ui.address.widgets import dropdown, text_field, toggle
from attnviz.ui.frame.sidebar import head_steppers, one_model
from attnviz.ui.text_boxes import TextBox, forget_typed, long_notice, run_texts, unrun_notice

# Claims, and what their chips say.
EXAMPLES = {
    "L2·H0: obj -> head": "L2·H0: object → its verb",
    "any: det -> head": "determiner → its noun",
    "any: compound -> head": "compound → its noun",
    "L1·H9: any -> previous": "L1·H9: word → the one before",
    'any: "he" | "she" -> PROPN': "“he” or “she” → a name",
    "any: pronoun -> antecedent": "pronoun → what it stands for",
}
_ANY = "What each head does best"


def model_picker() -> str:
    """The model whose heads are looked at: those first whose atlas travels with attnviz."""
    ready = [name for name in catalog.available() if name in available()]
    hub = [name for kind in ("encoder", "decoder") for name in catalog.HUB[kind]]
    return one_model(
        [*ready, *hub], "The first models come with their atlas. For any other it is computed now, which takes minutes."
    )


def claim_box() -> str:
    """Where a person types a claim, with examples as chips; what was run last."""
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
        set_claim(chosen)


def set_claim(text: str) -> None:
    """Makes a claim the one that is tested; for a callback."""
    forget_typed("typed_claim")
    st.session_state.update(claim=text)


def own_sentences_box() -> str:
    """Where a person puts sentences of their own, one a line; empty: the treebank."""
    sentences = text_field(
        st.text_area, "Your own sentences, one a line", "sentences", height="content",
        help="Claims about words and positions are then tested on these. Syntax is known only for the treebank.",
    )  # fmt: skip
    long_notice("sentences", sentences)
    return sentences.strip()


def claim_filter(atlas: Atlas) -> int | None:
    """Choose a claim to find heads by; None: every head shows what it does best."""
    by_text = {claim.text: number for number, claim in enumerate(atlas.claims)}
    options = ["", *sorted(by_text, key=lambda text: (-len(atlas.holding(by_text[text])), text))]

    def label(text: str) -> str:
        return f"{short_claim(text)} · {len(atlas.holding(by_text[text]))} heads" if text else _ANY

    return by_text.get(dropdown(st.sidebar, "Find heads by claim", "find", options=options, format_func=label))


def draws_pattern() -> bool:
    """Whether heads are looked for by a drawing."""
    help_ = "Draw a pattern, and see how similar each head is to it."
    return toggle(st.sidebar, "Find heads by a drawing", "drawing", help=help_)


def head_choice(atlas: Atlas) -> tuple[int, int]:
    """The head that is looked at: of a first visit, the one whose claim about syntax is furthest above its rivals."""
    places = [
        (float(atlas.ahead[number, layer, head]), layer, head)
        for number, claim in enumerate(atlas.claims)
        if claim.text.endswith("-> head")
        for layer, head in atlas.holding(number)
    ]
    _, layer, head = max(places, default=(0.0, 0, 0))
    return head_steppers(st.sidebar, (layer, head), atlas.shape)
