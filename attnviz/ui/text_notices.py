"""Notices of what happened to a text before a model read it: cut, its second sentence left out, tokens unknown."""

from collections.abc import Iterator, Sequence

import streamlit as st

from attnviz.analysis.wording import LONGEST_NAME, cut, join_names
from attnviz.core.trace import AttentionTrace
from attnviz.models.result import Result
from attnviz.text.english import seems_english
from attnviz.ui.escape_markdown import escaped

# What stands before the names of models, and what follows one name, or several.
_Notice = tuple[str, str, str]


def show_text_notices(*results: Result, more: Sequence[str] = ()) -> None:
    """What happened to the text before the models read it, and what `more` a page says of it, as one notice."""
    sentences = dict.fromkeys((*_joint_notices(results), *more))
    if sentences:
        is_cut = any(each.trace.cut is not None or each.trace.cut_pair is not None for each in results)
        icon = ":material/content_cut:" if is_cut else ":material/info:"
        (st.warning if is_cut else st.info)("  \n".join(sentences), icon=icon)


def _joint_notices(results: Sequence[Result]) -> Iterator[str]:
    """What models say of their texts; several that say the same say it together."""
    speakers: dict[_Notice, list[str]] = {}
    for each in results:
        for notice in _text_notices(each):
            speakers.setdefault(notice, []).append(each.card.name)
    for (before, one, several), names in speakers.items():
        names = list(dict.fromkeys(names))
        yield f"{before}{escaped(join_names(names))}{one if len(names) == 1 else several}"


def _text_notices(result: Result) -> Iterator[_Notice]:
    trace, card = result.trace, result.card
    if card.languages[:1] == ("en",) and not seems_english(trace.prompt.text):
        can = " can read: expect guesses."
        yield "This does not look like English, the only language that ", can, can
    for which, text, end in (("text", trace.prompt.text, trace.cut), ("second sentence", trace.prompt.pair, trace.cut_pair)):
        if text is not None and end is not None:
            most = f"{card.max_tokens:,} tokens at most: the {which} was cut after character {end:,} of {len(text):,}."
            yield "", f" reads {most}", f" read {most}"
    if trace.prompt.pair and "pair" not in card.reads:
        once = "one text at a time: the second sentence was not used."
        yield "", f" reads {once}", f" read {once}"
    for attention in trace.maps:
        if others := attention.without_attention:
            numbers = ", ".join(map(str, others[:8])) + (" and others" if len(others) > 8 else "")
            layers = f"{attention.n_layers} layers ({numbers}): the picture is empty there."
            parts = f"words without attention in {len(others)} of"
            yield "", f" mixes {parts} its {layers}", f" mix {parts} their {layers}"
    if unknown := escaped(_unknown(trace)):
        yield (
            "",
            f" does not know {unknown}: it reads a placeholder instead.",
            f" do not know {unknown}: they read a placeholder instead.",
        )


def _unknown(trace: AttentionTrace) -> str:
    """The typed tokens that the vocabulary has no piece for, named once each."""
    tokens = trace.maps[0].keys
    texts = dict.fromkeys(token.text for token in tokens if not token.special and token.piece in ("[UNK]", "<unk>"))
    names = [f"“{cut(text, LONGEST_NAME)}”" for text in texts]
    return ", ".join(names[:5]) + (" and others" if len(names) > 5 else "")
