"""Atlases and tests of claims for the page Heads: read, or computed once for everybody, with progress and clear errors."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.heads.atlas import Atlas
from attnviz.analysis.heads.claim import Claim, parse
from attnviz.analysis.heads.verdict import ClaimResult
from attnviz.core.errors import AttnvizError
from attnviz.models.base import AttentionModel, Progress
from attnviz.survey.corpora import TREEBANK, WINOGENDER, plain, shipped
from attnviz.survey.shipped import available, shipped_atlas
from attnviz.text.conllu import ParsedSentence
from attnviz.ui.background.jobs import Job, at_a_place, shared
from attnviz.ui.background.lru_cache import LruCache
from attnviz.ui.background.results import load_model
from attnviz.ui.layout import escaped

if TYPE_CHECKING:
    from attnviz.survey.corpus_attention import CorpusAttention, FirstWords

# What a model looks at in 1,500 sentences takes 40 MB of a small model; what is left to others is most of the memory.
LOOKS_KEPT, LOOKS_BYTES, ATLASES_KEPT = 6, 192 * 2**20, 16
# An atlas that somebody waits for is made of the first sentences only.
WAITED_SENTENCES = 500
MOST_SENTENCES = 300
VERDICT_PIXELS = 240


@st.cache_resource(show_spinner=False)
def _looks_kept() -> LruCache[Job[Any]]:
    """Where models look in the sentences, and in their first words, on their way or done."""
    return LruCache(LOOKS_KEPT, LOOKS_BYTES)


@st.cache_resource(show_spinner=False)
def _atlases_kept() -> LruCache[Job[Atlas]]:
    """Atlases that somebody asked for."""
    return LruCache(ATLASES_KEPT, 0)


def has_atlas(model: str) -> bool:
    """Whether the atlas of a model travels with attnviz."""
    return model in available()


def atlas_of(model: str) -> Atlas | None:
    """The atlas of a model, shipped or computed now; None after the page has said why there is none."""
    if has_atlas(model):
        return _or_error(lambda _: shipped_atlas(model))

    def compute(place: DeltaGenerator) -> Atlas:
        loaded = load_model(model, place)

        def work(progress: Progress) -> Atlas:
            from attnviz.survey.atlas import make

            return make(loaded, most=WAITED_SENTENCES, progress=progress)

        return shared(_atlases_kept(), model, work, place, expected=60.0)

    return _or_error(compute)


def looks_of(model: str, corpus: str, own: str = "") -> "CorpusAttention | None":
    """Where a model looks in a corpus, or in sentences of one's own, one a line; None after the page has said why not."""

    def compute(place: DeltaGenerator) -> "CorpusAttention":
        sentences = own_sentences(own) if own else shipped(corpus)
        loaded, key, kept = load_model(model, place), (model, corpus, own), _looks_kept()

        def work(progress: Progress) -> "CorpusAttention":
            looks = _looked(loaded, sentences, progress)
            kept.weigh(key, looks.nbytes)
            return looks

        return shared(kept, key, work, place, expected=20.0, pixels=VERDICT_PIXELS)

    return _or_error(compute)


def first_words_of(model: str) -> "FirstWords | None":
    """What every head does among the first words of sentences, on average; None after the page has said why not."""

    def compute(place: DeltaGenerator) -> "FirstWords":
        loaded, key, kept = load_model(model, place), ("first words", model), _looks_kept()

        def work(progress: Progress) -> "FirstWords":
            from attnviz.survey.corpus_attention import first_words

            first = first_words(loaded, progress)
            kept.weigh(key, first.nbytes)
            return first

        return shared(kept, key, work, place, expected=10.0, pixels=VERDICT_PIXELS)

    return _or_error(compute)


def _looked(model: AttentionModel, sentences: tuple[ParsedSentence, ...], progress: Progress) -> "CorpusAttention":
    # torch is imported here, in the background, where the page can say that it is waiting.
    from attnviz.survey.corpus_attention import look

    return look(model, sentences, progress=progress)


def own_sentences(text: str) -> tuple[ParsedSentence, ...]:
    """Sentences that somebody typed, one a line.

    Raises:
        CorpusError: there is none, or too many.
    """
    sentences = plain(text.splitlines(), "Your text")
    if len(sentences) > MOST_SENTENCES:
        count = f"{len(sentences):,}"
        raise AttnvizError(f"These are {count} sentences, and at most {MOST_SENTENCES} are read here: leave some out.")
    return sentences


def try_claim(model: str, text: str, own: str = "") -> "tuple[ClaimResult, CorpusAttention] | None":
    """Test a claim that somebody typed; None after the page has said what is wrong with it."""
    claim = _or_error(lambda _: parse(text))
    if claim is None:
        return None
    looks = looks_of(model, WINOGENDER if claim.needs_antecedent else TREEBANK, own)
    if looks is None:
        return None
    tested = _or_error(lambda _: _tested(looks, claim))
    return (tested, looks) if tested else None


def _tested(looks: "CorpusAttention", claim: Claim) -> ClaimResult:
    with at_a_place():
        return looks.test([claim])[0]


def _or_error(compute: Callable[[DeltaGenerator], Any]) -> Any:
    """What is computed, or None after the page has said what is wrong."""
    place = st.empty()
    try:
        return compute(place)
    except AttnvizError as error:
        place.error(escaped(error), icon=":material/error:")
        return None
