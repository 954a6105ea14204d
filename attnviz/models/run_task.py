"""Run a model on a prompt: one function for every task, with edits or without, which gives a `Result`."""

import time
from dataclasses import replace

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import AttentionTrace, Messages, Prompt
from attnviz.core.write import READING, WritingOptions
from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import capabilities
from attnviz.models.catalog import Task
from attnviz.models.result import Options, Output, Result
from attnviz.models.tasks import answers, read, summarize, write
from attnviz.models.translate.decode import draft, log_probability
from attnviz.models.translate.draft import GREEDY, DecodingOptions, Draft


def run_task(
    model: AttentionModel,
    task: Task,
    prompt: Prompt | str | Messages,
    *,
    edits: Edits | str = NO_EDITS,
    options: Options = GREEDY,
    before: Result | None = None,
) -> Result:
    """Run a model on a prompt: its weights, and what the task is for. `before`: the result without edits, if it is known.

    Raises:
        PromptError, ModelError: the model cannot read the prompt, or was not made for the task.
        EditError: the model cannot be edited in this way.
    """
    prompt, edits = capabilities(model).prompt(prompt), Edits.of(edits)
    if edits and before is None:
        before = run_task(model, task, prompt, options=options)
    start = time.perf_counter()
    if task == "write":
        trace = write(model, prompt, options if isinstance(options, WritingOptions) else READING, edits)
        output: Output | None = trace.continuation
    else:
        trace, output = _run_once(model, task, prompt, edits, options if isinstance(options, DecodingOptions) else GREEDY)
    if edits and before and isinstance(output, Draft):
        original = output.log_probability if prompt.target else log_probability(model, prompt, before.draft, edits)
        output = replace(output, original=original)
    return Result(
        trace, model.card, time.perf_counter() - start, name=model.card.name, task=task, output=output, options=options,
        before=before if edits else None,
    )  # fmt: skip


def with_readings(model: AttentionModel, result: Result) -> Result:
    """Add what the model's own layers on top say of the text, without edits and with them; nothing of two stacks.

    Raises:
        EditError: the model cannot be edited in this way.
    """
    if not capabilities(model).can_read:
        return result
    before = result.before and replace(result.before, output=read(model, result.prompt))
    return replace(result, output=read(model, result.prompt, result.trace.edits), before=before)


def _run_once(
    model: AttentionModel, task: Task, prompt: Prompt, edits: Edits, options: DecodingOptions
) -> tuple[AttentionTrace, Output | None]:
    if task == "translate":
        written = draft(model, prompt, options, edits)
        return written.trace, written
    if task == "answer":
        found = answers(model, prompt, edits)
        return found.trace, found
    if task == "summarize":
        return summarize(model, prompt, edits), None
    # No keyword where nothing is edited: a model of somebody's own need not know what edits are.
    return (model.trace(prompt, edits=edits) if edits else model.trace(prompt)), None
