"""What a model can do besides a trace, declared by each kind of model."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import ArgumentError, EditError, ModelError, PromptError, cancellation_point, described
from attnviz.core.sampling import WritingOptions
from attnviz.core.trace import AttentionTrace, Kind, Prompt
from attnviz.models import device
from attnviz.models.base import AttentionModel, EncoderReading, ModelCard
from attnviz.models.edit import EditPoints, Scorer
from attnviz.models.span_decoding import Answers
from attnviz.models.targets import TARGETS, BoundTarget, Target, no_such_output, target_labels
from attnviz.nn.attention import Attended

if TYPE_CHECKING:
    from attnviz.models.hub.single_stack import Writer
    from attnviz.models.write_on import WritesFromSource

# What a model that writes is given where only its reading counts: it need not search.
SHORT_TARGET = "."


def writes_nothing(name: str) -> ModelError:
    """Say that the model of that name does not write on from a text."""
    return ModelError(f"{name} does not write on from a text: choose a decoder, such as smollm2 or gpt2.")


def no_languages(name: str, language: str) -> PromptError:
    """Say that the model of that name does not write several languages."""
    return PromptError(f"{name} writes no languages to choose from: leave out {language!r}.")


class Capabilities:
    """What a model declares. Its kinds inherit from this and replace what they can do; all else says why it cannot be done.

    What is raised is said here, once: those that replace a method raise the same.

    Tasks          `prompt`, `in_language`, `translator`, `answers`, `task_prefix`, `can_read`, `says_more`, `reading`, `write`,
                   `writer`
    Edits          `edit_points`, `scorer`
    Attribution    `default_target`, `targets`, `bind_target`, `bind_trace`
    Head inputs    `attended`, `shows_writing`
    Many texts     `trace_all`, `untrained`
    """

    if TYPE_CHECKING:
        # Read alone: a frozen field of a model is one, too.
        @property
        def card(self) -> ModelCard: ...

    # Whether `reading` knows last states: of a model of a single stack of attention.
    can_read = False
    # Whether `attended` shows what attention reads while the model writes.
    shows_writing = False

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Trace a prompt, as of every `AttentionModel`."""
        raise NotImplementedError

    def prompt(self, given: object) -> Prompt:
        """Make a prompt of what a model is given, as `Prompt.of` does.

        Raises:
            PromptError: it is nothing that this model reads, or in a language that it does not write.
        """
        return self._checked(Prompt.of(given))

    def _checked(self, prompt: Prompt) -> Prompt:
        self.in_language(prompt.language)
        return prompt

    def in_language(self, language: str | None) -> "Capabilities":
        """Return the same model as it writes that language, one of `card.writes`; None: the one that it writes by itself.

        Raises:
            PromptError: it does not write it.
        """
        if language is not None:
            raise no_languages(self.card.name, language)
        return self

    def translator(self) -> "WritesFromSource":
        """Return what translates: the model itself, where it does.

        Raises:
            PromptError: it does not translate.
        """
        raise PromptError(f"{self.card.name} does not translate: choose an encoder-decoder, such as t5-small.")

    def answers(self, prompt: Prompt, n_best: int = 5) -> Answers:
        """Find the best spans, and trace the window that holds the best one.

        Raises:
            ModelError: the model was not trained to answer.
            PromptError: there is no question, nothing can be read, or there is too much of either; the message says which.
        """
        raise ModelError(
            f"{self.card.name} was not trained to answer questions: choose an encoder that was, such as answer-en, or "
            "distilbert-base-cased-distilled-squad from the hub."
        )

    def task_prefix(self, task: str) -> str:
        """Return what must stand before a text for that task; empty where nothing must."""
        return ""

    def says_more(self, prompt: Prompt) -> bool:
        """Say whether `reading` adds to what the trace of a text says: how alike a pair is, or what layers on top find."""
        return bool(prompt.pair)

    def reading(self, prompt: Prompt) -> EncoderReading:
        """Read a text, or a pair of them: last states, and what layers on top find likeliest.

        Raises:
            ModelError: the model is not one of a single stack of attention.
            PromptError: the tokenizer finds nothing in the text.
        """
        raise ModelError(f"{self.card.name} is no encoder and no decoder by itself: choose one, such as minilm.")

    def writer(self) -> "Writer":
        """Return what knows the model's pieces and reads what it is to write on from.

        Raises:
            ModelError: the model does not write on from a text.
        """
        raise writes_nothing(self.card.name)

    def write(self, prompt: Prompt, options: WritingOptions) -> AttentionTrace:
        """Write on from a text, token by token, and trace all of it.

        Raises:
            ModelError: the model does not write on from a text.
            PromptError: nothing in the text can be read, or what it begins with is another model's.
        """
        raise writes_nothing(self.card.name)

    def write_pieces(
        self, prompt: Prompt, options: WritingOptions, report: Callable[[tuple[str, ...], str], None]
    ) -> tuple[str, ...]:
        """Do as `write`, for the pieces alone; `report` is called with those written so far, and the text that they are.

        Raises:
            ModelError, PromptError: as of `write`.
        """
        raise writes_nothing(self.card.name)

    def edit_points(self) -> EditPoints:
        """Say which attentions can be edited.

        Raises:
            EditError: none can.
        """
        raise EditError(f"{self.card.name} cannot be edited: choose a model that attnviz runs itself, such as minilm.")

    def scorer(self, prompt: Prompt) -> Scorer:
        """Prepare to score what the model makes of a prompt; of one that writes, `prompt.target` or what it writes by itself.

        Raises:
            PromptError: the model cannot read the prompt.
            EditError: the model cannot be edited, or its output is no number.
        """
        self.edit_points()
        raise EditError(
            f"What {self.card.name} says is no number that edits could change: choose minilm, or a model that writes."
        )

    def default_target(self, prompt: Prompt) -> Target:
        """Choose what is explained where nobody says it: what the model is there for."""
        # Without a question either, binding says that one is missing.
        if "question" in self.card.reads and (prompt.question or not prompt.pair):
            return Target("answer")
        if self.card.selects is not None:
            return Target("sentence")
        return Target({"encoder": "similarity", "decoder": "next", "encoder-decoder": "translation"}[self.card.architecture])

    def targets(self, prompt: Prompt) -> dict[str, str]:
        """List what can be explained, each target with a label, what the model is there for first.

        Raises:
            PromptError: the model cannot read the prompt.
        """
        return target_labels(self.default_target(prompt).kind)

    def bind_target(self, prompt: Prompt, target: Target) -> BoundTarget:
        """Bind the model and a prompt to what is explained of its output.

        Raises:
            ModelError: the model has no such output.
            PromptError: it cannot read the prompt.
        """
        raise no_such_output(self.card.name, TARGETS[target.kind][0])

    def bind_trace(self, prompt: Prompt, pieces: Sequence[int] = ()) -> BoundTarget:
        """Bind the model to the very pass that its trace shows, whatever is explained; `pieces` are those that it writes there.

        Raises:
            ModelError: it is not known how this model computes.
            PromptError: it cannot read the prompt.
        """
        raise ModelError(f"How {self.card.name} computes is not known here: look at its weights, or choose another model.")

    def attended(self, prompt: Prompt, pieces: Sequence[int] = ()) -> Mapping[Kind, Sequence[Attended]]:
        """Return what each attention of a trace reads, by kind, lowest layer first; a kind may be missing.

        Raises:
            PromptError: as of `trace`.
        """
        return {}

    def trace_all(self, texts: Sequence[str]) -> Iterator[tuple[int, AttentionTrace]]:
        """Trace many texts as they are read, in any order, each with its place; those that cannot be read are left out."""
        target = SHORT_TARGET if "target" in self.card.reads else None
        for index, text in enumerate(texts):
            cancellation_point()
            try:
                yield index, self.trace(Prompt(text, target=target))
            except PromptError:
                continue

    def untrained(self, seed: int) -> AttentionModel | None:
        """Make the same model with fresh random weights; None where it is unknown how its weights begin."""
        return None


@dataclass(frozen=True, eq=False)
class UndeclaredModel(Capabilities):
    """A model of somebody's own, of which only a card and a trace are known."""

    card: ModelCard
    model: AttentionModel

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Trace a prompt; such a model need not know of edits.

        Raises:
            EditError: it does not, and something is edited.
        """
        if edits and "edits" not in inspect.signature(self.model.trace).parameters:
            self.edit_points()
        return self.model.trace(prompt, edits) if edits else self.model.trace(prompt)


def capabilities(model: AttentionModel) -> Capabilities:
    """Return what a model declares; one of somebody's own that inherits nothing declares nothing.

    Raises:
        ArgumentError: this is no model.
    """
    if not hasattr(model, "card"):
        raise ArgumentError(f"A model comes from attnviz.load, by its name, or from attnviz.wrap; this is {described(model)}.")
    return model if isinstance(model, Capabilities) else UndeclaredModel(model.card, model)


@device.ordinary_tensors()
def bind_target(model: AttentionModel, prompt: Prompt | str, target: Target | str | None = None) -> BoundTarget:
    """Bind a model and a prompt to what is explained of its output; without a target, or with an empty one, to the default.

    Raises:
        ModelError: this model has no such output.
        PromptError: it cannot read the prompt.
    """
    declared, prompt = capabilities(model), Prompt.of(prompt)
    if not isinstance(target, Target | None) and target != "":
        target = Target.of(target)
    return declared.bind_target(prompt, target or declared.default_target(prompt))
