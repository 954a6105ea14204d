"""The task prefix, such as `summarize: `, which some models must read before a text, and which is no part of what was typed."""

from dataclasses import replace
from typing import Any

from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, Token


def without_prefix(trace: AttentionTrace, prompt: Prompt, prefix: str) -> AttentionTrace:
    """Turn the trace of a task prefix and a text into one of the text alone, which is `prompt`.

    The tokens of the prefix become special; all others stand where they stand in the text.
    """
    if not prefix:
        return trace
    cut = None if trace.cut is None else max(trace.cut - len(prefix), 0)
    return replace(trace, prompt=prompt, maps=tuple(_without_prefix(each, len(prefix)) for each in trace.maps), cut=cut)


def _without_prefix(attention: AttentionMap, n_characters: int) -> AttentionMap:
    def moved(token: Token) -> Token:
        if token.special:
            return token
        if token.start < n_characters:
            return Token(token.text, 0, 0, special=True)
        return replace(token, start=token.start - n_characters, end=token.end - n_characters)

    source = {"encoder": ("queries", "keys"), "cross": ("keys",), "decoder": ()}[attention.kind]
    axes: dict[str, Any] = {axis: tuple(moved(token) for token in getattr(attention, axis)) for axis in source}
    return replace(attention, **axes)
