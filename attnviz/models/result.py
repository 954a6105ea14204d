"""The result of a model and a prompt, which pages hold, downloads write and sentences describe."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from attnviz.core.errors import TraceError
from attnviz.core.sampling import Continuation, WritingOptions
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.core.weights import Quantity
from attnviz.models.base import GREEDY, AttentionModel, DecodingOptions, Draft, EncoderReading, ModelCard
from attnviz.models.catalog import Task
from attnviz.models.span_decoding import Answers

# What a task gives besides its trace: a translation, an answer, what layers on top say of a text, what comes next.
Output = Draft | Answers | EncoderReading | Continuation
SomeOutput = TypeVar("SomeOutput", Draft, Answers, EncoderReading, Continuation)
Options = DecodingOptions | WritingOptions


@dataclass(frozen=True, eq=False)
class Result:
    """What a model made of a prompt.

    trace     the attention; its numbers are the `quantity`
    card      of the model
    seconds   how long the model took; 0: the result was computed beforehand, and travels with attnviz
    name      what the model is loaded by: a name of the catalog, an id of the hub, a folder
    task      what the model did
    output    of the task, besides the trace; None: there is none
    options   how a translation was decoded, or a text was written on
    before    the same without the edits; None: nothing is edited
    mixing    of each kind and layer the mixing ratio, where the quantity is not weights and the model tells it:
              ‖what comes from others‖ / (‖what stays‖ + ‖what comes from others‖), averaged over tokens, 0 to 1
    file      the trace file that it was read from; empty: a model ran
    model     that ran, where a program has it in hand; None: it is loaded again by its name
    """

    trace: AttentionTrace
    card: ModelCard
    seconds: float
    name: str = field(default="", kw_only=True)
    task: Task = field(default="encode", kw_only=True)
    output: Output | None = field(default=None, kw_only=True)
    options: Options = field(default=GREEDY, kw_only=True)
    before: "Result | None" = field(default=None, kw_only=True)
    quantity: Quantity = field(default="weights", kw_only=True)
    mixing: Mapping[tuple[str, int], float] = field(default_factory=dict, kw_only=True)
    file: str = field(default="", kw_only=True)
    model: AttentionModel | None = field(default=None, kw_only=True, repr=False)

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
            TraceError: this is the result of another task; so of the next three.
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
    def continuation(self) -> Continuation:
        """What comes next at every position, and what was written."""
        return self._output(Continuation)

    def without_durations(self) -> "Result":
        """Return it without how long it took, which means nothing on another machine."""
        return replace(self, seconds=0.0)

    @property
    def nbytes(self) -> int:
        """Bytes that it takes without what stands before the edits, roughly."""
        return self.trace.nbytes + (self.output.states.nbytes if isinstance(self.output, EncoderReading) else 0)

    def _output(self, kind: type[SomeOutput]) -> SomeOutput:
        if not isinstance(self.output, kind):
            raise TraceError(f"The result of {self.card.name} has no {kind.__name__}: its task was {self.task}.")
        return self.output
