"""Summarizing with any model, with the task prefix in front where the model wants one."""

from dataclasses import replace

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.task_prefix import SUMMARIZE, prefix_for, without_prefix


def summarize(model: AttentionModel, prompt: Prompt, edits: Edits = NO_EDITS) -> AttentionTrace:
    """Trace a text that is to be summarized, with the edits; of a model that writes, `output` is its summary.

    Raises:
        AttnvizError: the model cannot read the text.
    """
    prefix = prefix_for(model, SUMMARIZE)
    # No keyword where nothing is edited: a model of somebody's own need not know what edits are.
    options = {"edits": edits.after(prefix)} if edits else {}
    trace = without_prefix(model.trace(replace(prompt, text=prefix + prompt.text), **options), prompt, prefix)
    return replace(trace, edits=edits)
