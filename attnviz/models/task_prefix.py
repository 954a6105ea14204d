"""The task prefix: what some models must read in front of a text, such as T5's "summarize: ", and no person typed."""

from dataclasses import replace
from typing import Any

from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, Token
from attnviz.models.base import AttentionModel
from attnviz.models.hub.encoder import TracedModel

SUMMARIZE, TRANSLATE = "summarization", "translation_en_to_fr"


def prefix_for(model: AttentionModel, task: str) -> str:
    """Return what a model's configuration says must stand before a text for that task; empty where it says nothing."""
    if not isinstance(model, TracedModel) or model.card.architecture != "encoder-decoder":
        return ""
    tasks: dict[str, Any] = getattr(model.model.config, "task_specific_params", None) or {}
    return str(tasks.get(task, {}).get("prefix", ""))


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
    return replace(attention, **{axis: tuple(moved(token) for token in getattr(attention, axis)) for axis in source})
