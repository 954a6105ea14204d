"""Run a model on a prompt for a `Result`, in a notebook or a script."""

from attnviz.attribution.quantity_maps import in_quantity
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.quantity import Quantity
from attnviz.core.trace import Messages, Prompt
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
) -> Result:
    """Run a model on a prompt: its trace, what the task is for, and the same without the edits where there are any.

    task      "encode", "translate", "answer" or "summarize"
    options   how a translation is decoded
    quantity  of the maps: "weights", "norms" (each weight times the length of what it carries) or "mixing" (of a whole layer)

    Raises:
        PromptError, ModelError: the model cannot read the prompt, was not made for the task, or its quantity is not known.
        EditError: the model cannot be edited in this way.

    >>> import attnviz as av
    >>> result = av.run(av.load("minilm"), "encode", "The cat sat.", edits="e3.1z")
    >>> result.before.trace.encoder.weights(3, 1).any(), result.trace.encoder.weights(3, 1).any()
    (np.True_, np.False_)
    """
    result = run_task(model, task, prompt, edits=edits, options=options)
    if task == "encode":
        result = with_readings(model, result)
    return in_quantity(model, result, quantity)
