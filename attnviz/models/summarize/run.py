"""Summarizing with any model, with the task prefix in front where the model wants one."""

from dataclasses import replace

from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.task_prefix import SUMMARIZE, prefix_for, without_prefix


def summarize(model: AttentionModel, prompt: Prompt) -> AttentionTrace:
    """Trace a text that is to be summarized; of a model that writes, `output` is its summary.

    Raises:
        AttnvizError: the model cannot read the text.
    """
    prefix = prefix_for(model, SUMMARIZE)
    return without_prefix(model.trace(replace(prompt, text=prefix + prompt.text)), prompt, prefix)
