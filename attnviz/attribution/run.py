"""Run a model on a prompt for a `Result`, in a notebook or a script."""

from typing import Any

from attnviz.attribution.quantity_maps import in_quantity
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import ArgumentError
from attnviz.core.quantity import Quantity
from attnviz.core.trace import Messages, Prompt
from attnviz.core.write import WritingOptions
from attnviz.models.base import AttentionModel
from attnviz.models.catalog import Task
from attnviz.models.result import Result
from attnviz.models.run_task import run_task, with_readings
from attnviz.models.translate.draft import GREEDY, DecodingOptions


def run(
    model: AttentionModel,
    task: Task,
    prompt: Prompt | str | Messages,
    *,
    edits: Edits | str = NO_EDITS,
    options: DecodingOptions = GREEDY,
    quantity: Quantity = "weights",
    **writing: Any,
) -> Result:
    """Run a model on a prompt: its trace, what the task is for, and the same without the edits where there are any.

    task      "encode", "translate", "answer", "summarize" or "write"
    options   how a translation is decoded
    quantity  of the maps: "weights", "norms" (each weight times the length of what it carries) or "mixing" (of a whole layer)
    writing   how a language model writes on, the fields of `WritingOptions`: tokens=20, temperature=0.8, top_p=0.9, seed=7

    Raises:
        PromptError, ModelError: the model cannot read the prompt, was not made for the task, or its quantity is not known.
        EditError: the model cannot be edited in this way.
        ArgumentError: the task takes no such option.

    >>> import attnviz as av
    >>> result = av.run(av.load("minilm"), "encode", "The cat sat.", edits="e3.1z")
    >>> result.before.trace.encoder.weights(3, 1).any(), result.trace.encoder.weights(3, 1).any()
    (np.True_, np.False_)
    """
    how = WritingOptions(**writing) if task == "write" else options
    if writing and task != "write":
        raise ArgumentError(f"{', '.join(writing)}: only the task “write” takes these, not “{task}”.")
    result = run_task(model, task, prompt, edits=edits, options=how)
    if task == "encode":
        result = with_readings(model, result)
    return in_quantity(model, result, quantity)
