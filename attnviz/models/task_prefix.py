"""What some models are told in front of a text, such as T5's "summarize: ": read with it, and not typed by the person."""

from dataclasses import replace
from typing import Any

from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, Token
from attnviz.models.base import AttentionModel
from attnviz.models.hub.encoder import TracedModel

SUMMARIZE, TRANSLATE = "summarization", "translation_en_to_fr"


def instruction(model: AttentionModel, task: str) -> str:
    """What a model's configuration says must stand before a text for that task; empty where it says nothing."""
    if not isinstance(model, TracedModel) or model.card.architecture != "encoder-decoder":
        return ""
    tasks: dict[str, Any] = getattr(model.model.config, "task_specific_params", None) or {}
    return str(tasks.get(task, {}).get("prefix", ""))


def untold(trace: AttentionTrace, prompt: Prompt, told: str) -> AttentionTrace:
    """The trace of an instruction and a text, as that of the text alone.

    The tokens of the instruction are special; all others stand where they stand in the text.
    """
    if not told:
        return trace
    cut = None if trace.cut is None else max(trace.cut - len(told), 0)
    return replace(trace, prompt=prompt, maps=tuple(_untold(each, len(told)) for each in trace.maps), cut=cut)


def _untold(attention: AttentionMap, n_characters: int) -> AttentionMap:
    def own(token: Token) -> Token:
        if token.special:
            return token
        if token.start < n_characters:
            return Token(token.text, 0, 0, special=True)
        return replace(token, start=token.start - n_characters, end=token.end - n_characters)

    source = {"encoder": ("queries", "keys"), "cross": ("keys",), "decoder": ()}[attention.kind]
    return replace(attention, **{axis: tuple(own(token) for token in getattr(attention, axis)) for axis in source})
