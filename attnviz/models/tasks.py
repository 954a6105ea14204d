"""Summarize, answer or read with any model, under edits; and the task prefix, which some models must read before a text."""

from dataclasses import replace
from typing import Any

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, Token
from attnviz.models.answer.answers import Answers
from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import capabilities
from attnviz.models.edit.points import edited
from attnviz.models.reading import EncoderReading

# As models' configurations name the task: T5 reads "summarize: " in front of a text.
SUMMARIZE = "summarization"


def answers(model: AttentionModel, prompt: Prompt, edits: Edits = NO_EDITS) -> Answers:
    """Answer a question with any model, with the edits.

    Raises:
        ModelError: it was not trained to answer.
        PromptError: there is no question, nothing can be read, or there is too much of either; the message says which.
        EditError: the model cannot be edited in this way.
    """
    answerer = capabilities(model)
    with edited(answerer, prompt, edits):
        return answerer.answers(prompt)


def summarize(model: AttentionModel, prompt: Prompt, edits: Edits = NO_EDITS) -> AttentionTrace:
    """Trace a text that is to be summarized, with the edits; of a model that writes, `output` is its summary.

    Raises:
        AttnvizError: the model cannot read the text.
    """
    declared = capabilities(model)
    prefix = declared.task_prefix(SUMMARIZE)
    trace = declared.trace(replace(prompt, text=prefix + prompt.text), edits.after(prefix))
    return replace(without_prefix(trace, prompt, prefix), edits=edits)


def read(model: AttentionModel, prompt: Prompt, edits: Edits = NO_EDITS) -> EncoderReading:
    """Read a text, or a pair of them, with the edits.

    Raises:
        ModelError: the model is not one of a single stack of attention.
        PromptError: the tokenizer finds nothing in the text.
        EditError: the model cannot be edited in this way.
    """
    declared = capabilities(model)
    with edited(declared, prompt, edits):
        reading = declared.reading(prompt)
    edits.check_tokens(dict.fromkeys(("encoder", "decoder"), (len(reading.tokens), len(reading.tokens))))
    return reading


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
