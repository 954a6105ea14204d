"""The result of a model and a prompt, which pages hold, downloads write and sentences describe."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import TraceError
from attnviz.core.quantity import Quantity
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models.answer.base import Answers
from attnviz.models.base import AttentionModel, ModelCard
from attnviz.models.capabilities import capabilities
from attnviz.models.catalog import Task
from attnviz.models.reading import EncoderReading
from attnviz.models.tasks import answers, read, summarize
from attnviz.models.translate.decode import GREEDY, DecodingOptions, Draft, draft, log_probability

# What a task gives besides its trace: a translation, an answer, or what the model's own layers on top say of a text.
Output = Draft | Answers | EncoderReading
SomeOutput = TypeVar("SomeOutput", Draft, Answers, EncoderReading)


@dataclass(frozen=True, eq=False)
class Result:
    """What a model made of a prompt.

    trace     the attention; its numbers are the `quantity`
    card      of the model
    seconds   how long the model took
    name      what the model is loaded by: a name of the catalog, an id of the hub, a folder
    task      what the model did
    output    of the task, besides the trace; None: there is none
    options   how a translation was decoded
    before    the same without the edits; None: nothing is edited
    mixing    of each kind and layer the mixing ratio, where the quantity is not weights and the model tells it:
              ‖what comes from others‖ / (‖what stays‖ + ‖what comes from others‖), averaged over tokens, 0 to 1
    file      the trace file that it was read from; empty: a model ran
    """

    trace: AttentionTrace
    card: ModelCard
    seconds: float
    name: str = field(default="", kw_only=True)
    task: Task = field(default="encode", kw_only=True)
    output: Output | None = field(default=None, kw_only=True)
    options: DecodingOptions = field(default=GREEDY, kw_only=True)
    before: "Result | None" = field(default=None, kw_only=True)
    quantity: Quantity = field(default="weights", kw_only=True)
    mixing: Mapping[tuple[str, int], float] = field(default_factory=dict, kw_only=True)
    file: str = field(default="", kw_only=True)

    @property
    def prompt(self) -> Prompt:
        return self.trace.prompt

    @property
    def unedited(self) -> "Result":
        """The result without edits: this one, where nothing is edited."""
        return self.before or self

    @property
    def draft(self) -> Draft:
        """The translation.

        Raises:
            TraceError: this is the result of another task; so of the next two.
        """
        return self._output(Draft)

    @property
    def answers(self) -> Answers:
        """The answer's spans."""
        return self._output(Answers)

    @property
    def reading(self) -> EncoderReading:
        """What the model's own layers on top say of the text."""
        return self._output(EncoderReading)

    @property
    def nbytes(self) -> int:
        """Bytes that it takes without what stands before the edits, roughly."""
        return self.trace.nbytes + (self.output.states.nbytes if isinstance(self.output, EncoderReading) else 0)

    def _output(self, kind: type[SomeOutput]) -> SomeOutput:
        if not isinstance(self.output, kind):
            raise TraceError(f"The result of {self.card.name} has no {kind.__name__}: its task was {self.task}.")
        return self.output


def run_task(
    model: AttentionModel,
    task: Task,
    prompt: Prompt | str,
    *,
    edits: Edits | str = NO_EDITS,
    options: DecodingOptions = GREEDY,
    before: Result | None = None,
) -> Result:
    """Run a model on a prompt: its weights, and what the task is for. `before`: the result without edits, if it is known.

    Raises:
        PromptError, ModelError: the model cannot read the prompt, or was not made for the task.
        EditError: the model cannot be edited in this way.
    """
    prompt, edits = Prompt.of(prompt), Edits.of(edits)
    if edits and before is None:
        before = run_task(model, task, prompt, options=options)
    start = time.perf_counter()
    trace, output = _run_once(model, task, prompt, edits, options)
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
