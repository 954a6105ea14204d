"""Summarizing with any model: what a model that writes wants to be told first, and its trace."""

from dataclasses import replace
from typing import Any

from attnviz.models.protocol import AttentionModel
from attnviz.models.traced import TracedModel
from attnviz.trace import AttentionMap, AttentionTrace, Prompt, Token


def summarize(model: AttentionModel, prompt: Prompt) -> AttentionTrace:
    """The trace of a text that is to be summarized; of a model that writes, `output` is its summary.

    Some models are told what to do in front of the text (T5's "summarize: "). These words were not typed by the person: in the
    trace they are special tokens, and all others stand where they stand in the text.

    Raises:
        AttnvizError: the model cannot read the text.
    """
    told = task_prefix(model)
    if not told:
        return model.trace(prompt)
    trace = model.trace(replace(prompt, text=told + prompt.text))
    cut = None if trace.cut is None else max(trace.cut - len(told), 0)
    return replace(trace, prompt=prompt, maps=tuple(_untold(each, len(told)) for each in trace.maps), cut=cut)


def task_prefix(model: AttentionModel) -> str:
    """What a model's configuration says must stand before a text that it should summarize; empty where it says nothing."""
    if not isinstance(model, TracedModel) or model.card.architecture != "encoder-decoder":
        return ""
    tasks: dict[str, Any] = getattr(model.model.config, "task_specific_params", None) or {}
    return str(tasks.get("summarization", {}).get("prefix", ""))


def _untold(attention: AttentionMap, n_characters: int) -> AttentionMap:
    def own(token: Token) -> Token:
        if token.special:
            return token
        if token.start < n_characters:
            return Token(token.text, 0, 0, special=True)
        return replace(token, start=token.start - n_characters, end=token.end - n_characters)

    source = {"encoder": ("queries", "keys"), "cross": ("keys",), "decoder": ()}[attention.kind]
    return replace(attention, **{axis: tuple(own(token) for token in getattr(attention, axis)) for axis in source})
