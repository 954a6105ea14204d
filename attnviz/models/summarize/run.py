"""Summarizing with any model, told what to do where it wants to be."""

from dataclasses import replace

from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.task_prefix import SUMMARIZE, instruction, untold


def summarize(model: AttentionModel, prompt: Prompt) -> AttentionTrace:
    """The trace of a text that is to be summarized; of a model that writes, `output` is its summary.

    Raises:
        AttnvizError: the model cannot read the text.
    """
    told = instruction(model, SUMMARIZE)
    return untold(model.trace(replace(prompt, text=told + prompt.text)), prompt, told)
