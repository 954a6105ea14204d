"""Bind a model, a prompt and a target: which kind of model has which kind of target."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.bound_target import BoundTarget


@dataclass(frozen=True)
class Target:
    """What about an output is asked: its `kind`, and `place`, the token or sentence that is meant, where there are several.

    >>> Target.of("token:3")
    Target(kind='token', place=3)
    """

    kind: str
    place: int | None = None

    @staticmethod
    def of(text: str) -> "Target":
        """Read a target as it is written in an address or a shell.

        Raises:
            ModelError: there is no such target.
        """
        kind, _, place = text.partition(":")
        if kind not in READERS or (place and not (place.isascii() and place.isdigit() and len(place) < 6)):
            raise ModelError(f"{text!r} is nothing that can be asked about: choose one of {', '.join(READERS)}.")
        return Target(kind, int(place) if place else None)

    def __str__(self) -> str:
        return self.kind if self.place is None else f"{self.kind}:{self.place}"


# What can be asked about -> "module:function" of attnviz.attribution.targets, called with model, prompt and place.
READERS = {
    "answer": "answers:answer",
    "token": "translations:token",
    "translation": "translations:translation",
    "similarity": "texts:similarity",
    "next": "texts:next_token",
    "masked": "texts:masked_token",
    "label": "texts:label",
    "sentence": "summaries:sentence",
}


def bind_target(model: AttentionModel, prompt: Prompt, target: Target | None = None) -> BoundTarget:
    """Bind a model and a prompt to what is asked about its output; without a target, to what the model is there for.

    Raises:
        ModelError: this model has no such output.
        PromptError: it cannot read the prompt.
    """
    target = target or default_target(model, prompt)
    return _reader(READERS[target.kind])(model, prompt, target.place)


def bind_pass(model: AttentionModel, prompt: Prompt) -> BoundTarget:
    """Bind a model to the very pass that its trace shows, whatever could be asked about its output.

    Raises:
        ModelError: it is not known how this model computes.
        PromptError: it cannot read the prompt.
    """
    plain = model.card.architecture != "encoder-decoder" and not prompt.question and model.card.selects is None
    return _reader("texts:text")(model, prompt, None) if plain else bind_target(model, prompt)


def _reader(name: str) -> Callable[[AttentionModel, Prompt, int | None], BoundTarget]:
    module, function = name.split(":")
    return getattr(importlib.import_module(f"attnviz.attribution.targets.{module}"), function)


def default_target(model: AttentionModel, prompt: Prompt) -> Target:
    """Choose what is asked about where nobody says it: what the model is there for."""
    if prompt.question and "question" in model.card.reads:
        return Target("answer")
    if model.card.selects is not None:
        return Target("sentence")
    if model.card.architecture == "encoder-decoder":
        return Target("translation")
    if model.card.architecture == "decoder":
        return Target("next")
    inner = getattr(model, "model", None)
    if "ForSequenceClassification" in type(inner).__name__:
        return Target("label")
    if "ForMaskedLM" in type(inner).__name__:
        return Target("masked")
    return Target("similarity")


def no_such_output(model: AttentionModel, what: str) -> ModelError:
    """Say that a model has no output of that kind."""
    return ModelError(f"{model.card.name} has no {what} to ask about: choose another target, or another model.")
