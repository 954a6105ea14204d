"""Notices of what happened to a text before a model read it: cut, its second sentence left out, tokens unknown."""

from collections.abc import Iterator, Sequence

import streamlit as st

from attnviz.core.trace import AttentionTrace
from attnviz.models.result import Result
from attnviz.ui.escape_markdown import escaped


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
