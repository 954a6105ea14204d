"""What is said of a translation: what its text does to a model, how an alignment is computed, and how much to trust it."""

from collections.abc import Iterable, Iterator, Sequence

import streamlit as st

from attnviz.analysis.translate.alignment import Reading
from attnviz.analysis.translate.spelling import spelled_out
from attnviz.analysis.wording import LONGEST_NAME, cut, head_name, join_names
from attnviz.models import catalog
from attnviz.models.result import Result
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.translate.alignment_view import AlignmentView

# The recipes leave out longer pairs (recipes.translate.recipe.Corpus).
TRAINED_TOKENS = 40
_CHOOSE = "Choose a translator in the sidebar: up to four stand side by side."
_NO_MODEL = (
    "Choose a translator in the sidebar. None travels with this copy of attnviz yet: train one with "
    "`python -m recipes bahdanau-en-fr --data FOLDER`, or name an encoder-decoder of the hub, such as "
    "Helsinki-NLP/opus-mt-en-fr."
)
_HOW = """
Before it writes token *i*, the decoder compares its state with every source token *j*. The softmax of these scores is the
alignment: a row that sums to 1. The weighted mean of the source is what the decoder reads next
(Bahdanau, Cho & Bengio 2014, *Neural Machine Translation by Jointly Learning to Align and Translate*, section 3.1).
"""
_HOW_SCORED = """
The generations differ in the score. Bahdanau's is a small network; Luong et al. 2015 made it a dot product of query and key,
which Vaswani et al. 2017 divide by √d; a Transformer computes it in every head of every layer.
"""
_HOW_LIKELY = "*log p* is the sum of the logarithms of the tokens' probabilities: 0 would be certainty."
_BELIEVE = """
- The weights are the model's own, from the very pass that wrote the translation.
- A weight says where the decoder **looked**, not that the words mean the same: to write *ne* it must know of *not*, and may
  have read that at the verb.
- Each source token's vector has already seen its neighbours, so a link may be off by one and still be used rightly.
- A Transformer's step reads one word and writes the next, so a word has two rows. By the time it is **read** it is known, and
  its row is the better alignment; the row that **writes** it is what the model had to go by.
- Subwords merged to words: a word receives the sum over its pieces, and gives their mean.
"""


_ROWS: dict[Reading, str] = {
    "shifted": "The row of a word is the step that **reads** it, just after it was written (shifted: Chen et al. 2020).",
    "naive": "The row of a word is the step that **writes** it, while the decoder reads the word before (naive).",
}
_SUPERVISED = (
    "**{} was told where to look.** Beside translating, it was trained to agree with the links that a statistical aligner "
    "found in the training pairs (Garg et al. 2019). This picture is taught, not discovered; the other heads found their own."
)


def ask_for_translator() -> None:
    """What to do where no translator is chosen."""
    st.info(_CHOOSE if catalog.available_for("translate") else _NO_MODEL, icon=":material/school:")


def length_notices(results: Iterable[Result]) -> Iterator[str]:
    """Says when a text or a translation is longer than translators of ours can do well."""
    own = [each for each in results if each.card.languages[:1] == ("en",)]
    longest = max((len(each.trace.cross.keys) for each in own), default=0)
    if longest > TRAINED_TOKENS:
        names = join_names([each.card.name for each in own])
        more = "more than " * any(each.trace.cut is not None for each in own)
        yield (
            f"This text has {more}{longest} tokens, and {escaped(names)} learned from {TRAINED_TOKENS} at most: "
            "expect its end to suffer."
        )
    for each in own:
        written = each.draft.written
        if not each.trace.prompt.target and not written[-1].special:
            yield f"{escaped(each.card.name)} had not ended its translation after {len(written)} tokens: it was stopped there."


def spelling_notices(results: Iterable[Result]) -> Iterator[str]:
    """Says which words a model does not know, and had to read letter by letter; models that spell the same say it together."""
    readers: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for each in results:
        if words := spelled_out(each.trace.cross.keys):
            readers.setdefault(words, []).append(each.card.name)
    for words, models in readers.items():
        names = join_names([_spelling(pieces) for pieces in words[:3]] + ["others"] * (len(words) > 3))
        whose = "their" if len(models) > 1 else "its"
        yield (
            f"{escaped(join_names(models))} spelled out {escaped(names)}, which {whose} vocabulary does not have: "
            "expect guesses there."
        )


def _spelling(pieces: Sequence[str]) -> str:
    return f"“{cut(''.join(pieces), LONGEST_NAME)}” ({cut('·'.join(pieces), LONGEST_NAME)})"


def show_rows_notice(result: Result, view: AlignmentView) -> None:
    """Which row was taken for a word, where there are two; and of a supervised head, by whom."""
    own = view.of(result)
    if result.draft.reads_its_rows and own.reading:
        st.caption(_ROWS[own.reading])
    if (own.layer, own.head) == result.card.supervised_head and result.quantity == "weights":
        st.info(_SUPERVISED.format(head_name(own.layer, own.head)), icon=":material/school:")


def explain_alignments() -> None:
    """How an alignment is computed."""
    with st.expander("How these numbers come about", icon=":material/function:"):
        st.markdown(_HOW)
        st.latex(r"\alpha_{ij} = \frac{e^{e_{ij}}}{\sum_k e^{e_{ik}}}, \qquad c_i = \sum_j \alpha_{ij} h_j")
        st.markdown(_HOW_SCORED)
        st.latex(r"e_{ij} = v^\top \tanh(W s_{i-1} + U h_j)")
        st.latex(r"\text{or} \qquad e_{ij} = q_i \cdot k_j \;/\; \sqrt{d}")
        st.markdown(_HOW_LIKELY)


def explain_trust_in_alignments() -> None:
    """How much an alignment says."""
    with st.expander("How much to trust this", icon=":material/balance:"):
        st.markdown(_BELIEVE)
