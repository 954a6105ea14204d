"""What the page Heads shows of many sentences: computed once for everybody, with progress and clear errors."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.heads.atlas import Atlas, shipped_atlas
from attnviz.analysis.heads.claim import Claim, parse
from attnviz.analysis.heads.verdict import ClaimReport, check_head
from attnviz.core.errors import AttnvizError
from attnviz.files.shipped import models_with_atlas
from attnviz.models.base import AttentionModel, Progress
from attnviz.text.corpora import TREEBANK, WINOGENDER, own_sentences, shipped
from attnviz.ui.background import results
from attnviz.ui.background.jobs import PICTURE_PIXELS, Job, LruCache, at_a_place, held_bytes, shared
from attnviz.ui.background.results import load_model
from attnviz.ui.layout import escaped

if TYPE_CHECKING:
    from attnviz.analysis.heads.roles import HeadRoles
    from attnviz.survey.treebank_attention import CorpusAttention, FirstWords

# The attention of a small model over 1,500 sentences takes 40 MB; most of the memory is left to others.
RESULTS_KEPT, RESULTS_BYTES = 16, 192 * 2**20
# An atlas that somebody waits for is made of the first sentences only.
WAITED_SENTENCES = 500
VERDICT_PIXELS = 240
# Words where a claim fails that are shown, and as many where it holds.
CASES = 3


@st.cache_resource(show_spinner=False)
def _results_kept() -> LruCache[Job[Any]]:
    """Return the cache of models' atlases, and of their attention over the sentences, on its way or done."""
    return LruCache(RESULTS_KEPT, RESULTS_BYTES)


def atlas_of(model: str) -> Atlas | None:
    """Return the atlas of a model, shipped or computed now; None after the page has said why there is none."""
    if model in models_with_atlas():
        return _or_error(lambda _: shipped_atlas(model))

    def compute(loaded: AttentionModel, progress: Progress) -> Atlas:
        from attnviz.survey.make_atlas import make

        return make(loaded, most=WAITED_SENTENCES, progress=progress)

    return _computed((model, "atlas"), compute, expected=60.0, pixels=PICTURE_PIXELS)


def corpus_attention(model: str, corpus: str, own: str = "", claim: Claim | None = None) -> "CorpusAttention | None":
    """Compute where a model looks in a corpus, or in sentences of one's own, one a line; None after the page has said why not.

    Nothing is read for a claim about a head that the model does not have.
    """
    sentences = _or_error(lambda _: own_sentences(own) if own else shipped(corpus))

    def compute(loaded: AttentionModel, progress: Progress) -> "CorpusAttention":
        # torch is imported here, in the background, where the page can say that it is waiting.
        from attnviz.survey.treebank_attention import look

        return look(loaded, sentences, progress=progress)

    def check(loaded: AttentionModel) -> None:
        if claim is not None:
            check_head(claim, loaded.card.n_layers, loaded.card.n_heads)

    return sentences and _computed((model, corpus, own), compute, check, expected=20.0)


def first_words_of(model: str) -> "FirstWords | None":
    """Compute what every head does among the first words of sentences, on average; None after the page has said why not."""

    def compute(loaded: AttentionModel, progress: Progress) -> "FirstWords":
        from attnviz.survey.treebank_attention import first_words

        return first_words(loaded, progress)

    return _computed((model, "first words"), compute, expected=10.0)


def roles_of(model: str) -> "HeadRoles | None":
    """Score what heads of a decoder are known to do; None after the page has said why not."""

    def compute(loaded: AttentionModel, progress: Progress) -> "HeadRoles":
        from attnviz.attribution.head_roles import head_roles

        return head_roles(loaded, progress)

    return _computed((model, "roles"), compute, expected=40.0, pixels=PICTURE_PIXELS)


def claim_verdict(model: str, text: str, own: str = "") -> ClaimReport | None:
    """Return the verdict on a typed claim, with cases of it; None after the page has said what is wrong with it."""
    claim = _or_error(lambda _: parse(text))
    if claim is None:
        return None
    if not own and (found := results.find_shipped("claim", model, (claim.text,))) is not None:
        return found
    attention = corpus_attention(model, WINOGENDER if claim.needs_antecedent else TREEBANK, own, claim)
    if attention is None:
        return None

    def test(_: DeltaGenerator) -> ClaimReport:
        with at_a_place():
            return attention.report(attention.test([claim])[0], CASES)

    report = _or_error(test)
    if report and not own:
        results.note_computed("claim", model, (claim.text,), report)
    return report


def _computed(
    key: tuple[str, ...],
    compute: Callable[[AttentionModel, Progress], Any],
    check: Callable[[AttentionModel], None] = lambda _: None,
    *,
    expected: float,
    pixels: int = VERDICT_PIXELS,
) -> Any:
    """Compute once for everybody with the model that the key begins with; None after the page has said why not."""

    def in_background(place: DeltaGenerator) -> Any:
        loaded = load_model(key[0], place)
        check(loaded)

        def work(progress: Progress) -> Any:
            result = compute(loaded, progress)
            _results_kept().weigh(key, held_bytes(result))
            return result

        return shared(_results_kept(), key, work, place, expected=expected, pixels=pixels)

    return _or_error(in_background)


def _or_error(compute: Callable[[DeltaGenerator], Any]) -> Any:
    """Compute, or return None after the page has said what is wrong."""
    place = st.empty()
    try:
        return compute(place)
    except AttnvizError as error:
        place.error(escaped(error), icon=":material/error:")
        return None
