"""Under the picture: how its number comes about, how much to trust this, and the ways to downloads and to other pages."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import streamlit as st

from attnviz.analysis.compute.dot_product import score
from attnviz.analysis.view import HeadMatrix, HeadView
from attnviz.core.trace import AttentionMap, AttentionTrace, QueryKeyWeights
from attnviz.models.result import Result
from attnviz.ui.address.parameters import Written
from attnviz.ui.address.state import value, visit
from attnviz.ui.download import Download, download_button
from attnviz.ui.frame.toolbar import fill_toolbar
from attnviz.ui.layout import escaped

_HOW = """
Every token has a **query** (what it looks for) and a **key** (what it offers). A head compares each query with all keys by
their dot product, and a softmax turns each row of scores into shares that sum to 1
(Vaswani et al. 2017, *Attention Is All You Need*, section 3.2.1).
"""
_HOW_OF_ITS_OWN = """
Every query is scored against every key, and a softmax turns each row of scores into shares that sum to 1. This model computes
its scores in a way of its own, and its weights are shown as it gives them.
"""
_BELIEVE = """
- The numbers are the model's own: they come from its forward pass over this very text, and attnviz's tests compare them with
  the model's own report of its attention to five digits.
- A large weight says where a head **looked**, not what the model **concluded** from it: values, other heads and later layers
  decide what becomes of it (Jain & Wallace 2019, *Attention is not Explanation*; Wiegreffe & Pinter 2019, *Attention is not
  not Explanation*).
- Much attention on [CLS], [SEP] or the first token usually means that a head found nothing to do (Clark et al. 2019).
- One sentence is an anecdote. Change a word and see whether the pattern stays.
"""

# The pages that read a text.
READERS = {"encode": "grid_on", "translate": "translate", "answer": "quiz", "summarize": "short_text", "compute": "calculate"}
SENTENCE_READERS = ("encode", "translate")
# Whose output has a number that heads can cost.
MODEL_PAGES = ("encode", "translate", "answer", "summarize")


def explain_button(
    attention: AttentionMap,
    place: dict[str, str | int],
    *,
    label: str = "Explain this cell",
    slot: str = "",
    begins: Sequence[str] = (),
) -> None:
    """The way from a heatmap into Compute: `place` has the model, the layer, the head, the query and the key.

    `slot` tells several pictures of a page apart; `begins` names the pieces of a translation that a search has found.
    """
    state = st.session_state
    address: dict[str, object] = {
        "source": "model",
        "text": state.get("text"),
        "pair": state.get("pair"),
        "target": state.get("target"),
    }
    address |= {"attention": attention.kind, **place, "begins": " ".join(begins)}
    st.button(
        label, key=f"explain{slot}", icon=":material/calculate:", help="Opens it in Compute, step by step.",
        on_click=visit, args=("compute",), kwargs=address,
    )  # fmt: skip


def explain_weight(attention: AttentionMap, matrix: HeadMatrix, looked_at: HeadView, cell: tuple[int, int]) -> None:
    """The formula, with the numbers of the chosen cell; for a model that keeps its queries and keys to itself, in words."""
    if looked_at.head is not None:
        place = {"model": st.session_state.model, "layer": looked_at.layer, "head": looked_at.head}
        place |= {
            "query": matrix.rows[cell[0]],
            "key": matrix.columns[cell[1]],
            "words": "true" if looked_at.view.words else "",
        }
        explain_button(attention, place)
    if not isinstance(attention.store, QueryKeyWeights):
        st.expander("How this number comes about").markdown(_HOW_OF_ITS_OWN)
        return
    with st.expander("How this number comes about · softmax(q·k / √d)"):
        st.markdown(_HOW)
        st.latex(r"\mathrm{weight}(q, k) = \frac{e^{\,q \cdot k / \sqrt{d}}}{\sum_{j} e^{\,q \cdot k_j / \sqrt{d}}}")
        if looked_at.head is None or looked_at.view.words:
            st.caption("Choose one head, without merging subwords, to see the numbers of a link here.")
            return
        if not matrix.visible[cell]:
            st.caption("This cell is masked: its score counts as minus infinity, so its weight is exactly 0.")
            return
        query, key = matrix.rows[cell[0]], matrix.columns[cell[1]]
        parts = score(attention, layer=looked_at.layer, head=looked_at.head, query=query, key=key)
        if parts is None:
            st.caption("This model adds terms of its own to its scores; its weights are shown as it gives them.")
            return
        st.latex(
            rf"q \cdot k = {parts.product:.2f}, \qquad {parts.product:.2f} \times {parts.scaling:.4f} = {parts.scaled:.2f}, "
            rf"\qquad \mathrm{{softmax}} \to {parts.weight:.4f} \qquad (d = {parts.dim})"
        )


def explain_trust() -> None:
    """What attention shows, and what it does not."""
    with st.expander("How much to trust this"):
        st.markdown(_BELIEVE)


def show_text_notices(*results: Result, more: Sequence[str] = ()) -> None:
    """What happened to the text before the models read it, and what `more` a page says of it, as one notice."""
    sentences = dict.fromkeys((*more, *(sentence for each in results for sentence in _text_notices(each))))
    if sentences:
        is_cut = any(each.trace.cut is not None or each.trace.cut_pair is not None for each in results)
        icon = ":material/content_cut:" if is_cut else ":material/info:"
        (st.warning if is_cut else st.info)("  \n".join(sentences), icon=icon)


def _text_notices(result: Result) -> Iterator[str]:
    trace, card = result.trace, result.card
    for which, text, cut in (("text", trace.prompt.text, trace.cut), ("second sentence", trace.prompt.pair, trace.cut_pair)):
        if text is not None and cut is not None:
            yield (
                f"{escaped(card.name)} reads {card.max_tokens:,} tokens at most: the {which} was cut after character {cut:,} "
                f"of {len(text):,}."
            )
    if trace.prompt.pair and "pair" not in card.reads:
        yield f"{escaped(card.name)} reads one text at a time: the second sentence was not used."
    for attention in trace.maps:
        if others := attention.without_attention:
            numbers = ", ".join(map(str, others[:8])) + (" and others" if len(others) > 8 else "")
            yield (
                f"{escaped(card.name)} mixes words without attention in {len(others)} of its {attention.n_layers} layers "
                f"({numbers}): the picture is empty there."
            )
    if unknown := escaped(_unknown(trace)):
        yield f"{escaped(card.name)} does not know {unknown}: it reads a placeholder instead."


def _unknown(trace: AttentionTrace) -> str:
    """The typed tokens that the vocabulary has no piece for, named once each."""
    tokens = trace.maps[0].keys
    texts = dict.fromkeys(token.text for token in tokens if not token.special and token.piece in ("[UNK]", "<unk>"))
    names = [f"“{text}”" for text in texts]
    return ", ".join(names[:5]) + (" and others" if len(names) > 5 else "")


def show_toolbar(
    shown: Sequence[Download] = (), opens: str = "Opens this very picture", own: Callable[[], None] = lambda: None
) -> None:
    """Fills the toolbar at the picture with downloads and more, and draws here the ways to other pages.

    `opens` says what the link opens: exactly this picture again, unless the page says another thing. `own` draws the download
    buttons of a page whose picture is no head.
    """
    _keep_for_home()
    with fill_toolbar(opens):
        download_button(shown, own)
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.session_state.page in MODEL_PAGES:
            _ablate_button()
            _matters_button()
        reader_buttons()


def _ablate_button() -> None:
    """The way to what each head costs this output; from Translate, that of the model in the large picture."""
    given = {name: value(name) for name in ("text", "pair", "question", "passage", "target")}
    st.button(
        "Which heads matter here?", key="to-whatif", icon=":material/tune:", help="Switches every head off in turn.",
        on_click=visit, args=("whatif",), kwargs={"change": "head", "model": _large_model(), **given},
    )  # fmt: skip


def _matters_button() -> None:
    """The way to what each word is worth to the output that stands here; from Encode, with the head that is looked at."""
    given = {"text": value("passage") or value("text"), "pair": value("question") or value("target") or value("pair")}
    if st.session_state.page == "encode" and not value("mean", False):
        given["seen"] = f"head:{value('attention', 'encoder')}:{value('layer', 0)}:{value('head', 0)}"
    st.button(
        "Does this matter?", key="to-matters", icon=":material/balance:",
        help="Which words the output depends on, asked in many ways.",
        on_click=visit, args=("matters",), kwargs={"model": _large_model(), **given},
    )  # fmt: skip


def _large_model() -> str | None:
    """The model of the page; of several, that in the large picture."""
    models = st.session_state.get("models") or [st.session_state.get("model")]
    return models[min(value("hero", 1), len(models)) - 1]


def _keep_for_home() -> None:
    """What was typed last on a page that reads a sentence is what Home shows."""
    state = st.session_state
    if state.page in SENTENCE_READERS and (text := state.address.get("text")):
        state.visits["home"] = {"text": text}


def reader_buttons(shown: Mapping[str, Written] | None = None) -> None:
    """The ways to what other pages make of the text that was run here, with the models that were chosen there.

    `shown`: what of this page's address Encode understands as well.
    """
    state = st.session_state
    if not (text := state.get("passage") or state.get("text")):
        return
    st.caption("This text on", width="content")
    for page, icon in READERS.items():
        if page != state.page:
            there = {name: value for name, value in state.visits.get(page, {}).items() if name in ("model", "models")}
            given = (
                {"source": "model", "text": text} if page == "compute" else {"passage" if page == "answer" else "text": text}
            )
            given |= dict(shown or {}) if page == "encode" else {}
            st.button(
                page.title(), key=f"to-{page}", type="tertiary", icon=f":material/{icon}:",
                on_click=visit, args=(page,), kwargs=there | given,
            )  # fmt: skip
