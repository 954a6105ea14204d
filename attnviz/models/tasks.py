"""Run a model on a prompt, with edits or without: one function for all tasks, which gives a `Result`, and one for each."""

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import PromptError
from attnviz.core.sampling import READING, WritingOptions
from attnviz.core.trace import AttentionTrace, Messages, Prompt
from attnviz.models.base import (
    GREEDY,
    AttentionModel,
    DecodingOptions,
    DecodingStep,
    Draft,
    EncoderReading,
    Translation,
    without_prefix,
)
from attnviz.models.capabilities import capabilities
from attnviz.models.catalog import Task
from attnviz.models.edit import edited
from attnviz.models.result import Options, Output, Result
from attnviz.models.span_decoding import Answers

if TYPE_CHECKING:
    from attnviz.models.write_on import WritesFromSource

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


def draft(model: AttentionModel, prompt: Prompt | str, options: DecodingOptions, edits: Edits = NO_EDITS) -> Draft:
    """Translate as the options say, with the edits; where `prompt.target` is given, it is what the model is made to write.

    Raises:
        EditError: the model cannot be edited in this way.
        PromptError: the model cannot read the text, does not translate, or cannot write the target or what it must begin with.
    """
    from attnviz.models.translation import TRANSLATE

    prompt = Prompt.of(prompt)
    declared = capabilities(model).in_language(prompt.language)
    translator, prefix = declared.translator(), declared.task_prefix(TRANSLATE)
    whole = replace(prompt, text=prefix + prompt.text)
    with edited(declared, whole, edits.after(prefix)):
        prefixed = _drafted(translator, whole, options)
    trace = replace(without_prefix(prefixed.trace, prompt, prefix), edits=edits)
    return replace(prefixed, trace=trace, task_prefix=prefix)


def _drafted(model: "WritesFromSource", prompt: Prompt, options: DecodingOptions) -> Draft:
    from attnviz.nn.decoding import Beam

    if prompt.target:
        trace, steps = model.steps(prompt)
        (own,) = model.translate(prompt.text)
        return Draft(trace, steps, total(steps), own=own)
    prefix = model.pieces(options.begins)
    if model.ended(prefix):
        # A translation that a person has ended: there is nothing left to search.
        trace, steps = model.follow(prompt, prefix)
        ended = Translation(trace.output, prefix, total(steps))
        return Draft(trace, steps, ended.log_probability, (ended,), pieces=model.names(prefix), closed=model.closed)
    candidates, tree = model.search(prompt.text, Beam(options.width, options.length_penalty), prefix)
    chosen = max(0, min(options.candidate, len(candidates) - 1))
    best = candidates[chosen]
    trace, steps = model.follow(prompt, best.pieces)
    return Draft(
        trace, steps, best.log_probability, candidates, chosen, pieces=model.names(best.pieces), closed=model.closed, tree=tree
    )


def log_probability(model: AttentionModel, prompt: Prompt, written: Draft, edits: Edits) -> float:
    """Compute ln p of the pieces of a draft, written with the edits.

    Raises:
        EditError: the model cannot be edited in this way.
    """
    declared = capabilities(model).in_language(prompt.language)
    translator, whole = declared.translator(), replace(prompt, text=written.task_prefix + prompt.text)
    with edited(declared, whole, edits.after(written.task_prefix)):
        return total(translator.follow(whole, translator.known_pieces(written.pieces))[1])


def total(steps: tuple[DecodingStep, ...]) -> float:
    """ln p of a whole translation: the sum over its tokens. A token that was given may have no probability at all."""
    return sum(math.log(step.probability) if step.probability > 0 else -math.inf for step in steps)


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
        PromptError, ModelError: the model cannot read the prompt, or was not made for the task; there is no such task.
        EditError: the model cannot be edited in this way.
    """
    if task not in (tasks := get_args(Task)):
        raise PromptError(f"There is no task {task!r}: choose {', '.join(tasks[:-1])} or {tasks[-1]}.")
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
