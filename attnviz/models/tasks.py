"""Summarize, answer, read or write with any model, under edits."""

from dataclasses import replace

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.core.write import WritingOptions
from attnviz.models.answer.answers import Answers
from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import capabilities
from attnviz.models.edit.edit_points import edited
from attnviz.models.reading import EncoderReading
from attnviz.models.task_prefix import without_prefix

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


def write(model: AttentionModel, prompt: Prompt, options: WritingOptions, edits: Edits = NO_EDITS) -> AttentionTrace:
    """Write on from a text, with the edits, and trace all of it.

    Raises:
        ModelError: the model does not write on from a text.
        PromptError: nothing in the text can be read, or what it begins with is another model's.
        EditError: the model cannot be edited in this way.
    """
    declared = capabilities(model)
    with edited(declared, prompt, edits, writes=True):
        return declared.write(prompt, options.edited if edits else options.unedited)
