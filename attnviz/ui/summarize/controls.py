"""What a person chooses on Summarize: the model, what is kept by which selector, a summary of their own."""

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.head_view import HeadView, View
from attnviz.analysis.summarize.selection import Amount
from attnviz.core.trace import AttentionMap
from attnviz.ui.address.address_sync import forget, value
from attnviz.ui.address.widgets import bounded, dropdown, segments, text_field, toggle
from attnviz.ui.explorer import open_head
from attnviz.ui.frame.sidebar import one_model, stepper
from attnviz.ui.summarize.notices import OWN
from attnviz.ui.text_boxes import long_notice

# Two pages: more is no summary.
MOST_REFERENCE = 5_000
# Models of the hub that write summaries, and encoders to compare with.
HUB = ("sshleifer/distilbart-cnn-6-6", "facebook/bart-large-cnn", "t5-small", "google/pegasus-xsum", "bert-base-uncased")
# What the address calls the selectors, whose names tell numbers that a person chooses.
SELECTORS = {"trained": "Trained selector", "last": "last layer", "mean": "mean of all", "head": "chosen",
        "rollout": "rollout", "first": "First", "random": "Random"}  # fmt: skip


@dataclass(frozen=True)
class SummaryView(HeadView):
    """Which head is looked at, by which selector and how much of the text is kept, and whether punctuation may be."""

    selector: str
    amount: Amount
    punctuation: bool

    def of(self, attention: AttentionMap) -> "SummaryView":
        """The same for a map that may have fewer heads, such as one in which they are mixed: there, their mean."""
        return self.within(attention, mean=self.head is not None and self.head >= attention.n_heads)


def summarizer_picker() -> str:
    """The model that reads the text: of the catalog, of the hub, or any id or folder that is typed."""
    return one_model(
        [OWN, "minilm", *HUB],
        "summarize-en and minilm are on this machine and choose from the text. Others come from the Hugging Face hub: "
        "BART, T5 and Pegasus write a summary of their own; or type any model's id, or a folder.",
    )


def summary_view_picker(attention: AttentionMap, selects: tuple[int, int] | None, sidebar: DeltaGenerator) -> SummaryView:
    """The selector, how much to keep, layer and head; all of it in the address."""
    names = [name for name in SELECTORS if selects or name != "trained"]
    selector = dropdown(sidebar, "Choose by", "way", options=names, format_func=_selector_label)
    left, right = sidebar.columns(2)
    with left:
        layer = stepper("Layer", "layer", selects[0] if selects else attention.n_layers - 1, attention.n_layers)
    with right:
        head = stepper("Head", "head", 0, attention.n_heads, disabled=value("all_heads", True))
    mean = toggle(sidebar, "Mean over heads", "all_heads")
    unit = segments(sidebar, "Words to keep", "unit")
    if unit == "Count":
        words = bounded(sidebar, "How many words", "words_kept", slider=True)
    else:
        words = bounded(sidebar, "How many percent of the words", "share_kept", slider=True)
    sentences = bounded(sidebar, "Sentences to keep", "sentences_kept", slider=True)
    merged = toggle(sidebar, "Merge subwords to words", "whole_words")
    punctuation = toggle(sidebar, "Punctuation may be kept", "punctuation")
    amount = Amount(words, sentences, unit == "Share")
    return SummaryView(layer, None if mean else head, View(words=merged), False, selector, amount, punctuation)


def _selector_label(name: str) -> str:
    kind = {"last": "Attention, ", "mean": "Attention, ", "head": "Attention, ", "rollout": "Attention "}.get(name, "")
    more = {"mean": " layers", "head": " head or layer", "first": " words and sentence", "random": " words and sentence"}.get(
        name, ""
    )
    return f"{kind}{SELECTORS[name]}{more}"


def reference_summary() -> str:
    """The summary that a person wrote in `reference_box`, to compare with; none where it is too long."""
    written = value("reference", "")
    return written.strip() if len(written) <= MOST_REFERENCE else ""


def reference_box() -> None:
    """Where a person writes what the summary should be."""
    written = text_field(
        st.text_area,
        "A summary of your own",
        "reference",
        height="content",
        placeholder="Write what you would keep: every selector is then compared with it (ROUGE)",
    )
    long_notice("summary", written)
    if len(written) > MOST_REFERENCE:
        st.error(
            f"This summary has {len(written):,} characters and at most {MOST_REFERENCE:,} are compared: shorten it.",
            icon=":material/edit:",
        )


def forget_word() -> None:
    """Lets go of the chosen word of a summary: it belonged to the text before."""
    forget("word")


def choose_head(layer: int, head: int | None) -> None:
    """Makes a head, or with None the mean of its layer, the selector; for a callback."""
    open_head(layer, head)
    st.session_state.update(way="head", all_heads=head is None)
