"""Bind a model and a prompt to what is explained of its output: each model declares which targets it has."""

from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import capabilities
from attnviz.models.targets import BoundTarget, Target


def bind_target(model: AttentionModel, prompt: Prompt, target: Target | None = None) -> BoundTarget:
    """Bind a model and a prompt to a target; without one, to what the model is there for.

    Raises:
        ModelError: this model has no such output.
        PromptError: it cannot read the prompt.
    """
    declared = capabilities(model)
    return declared.bind_target(prompt, target or declared.default_target(prompt))


def targets(model: AttentionModel, prompt: Prompt) -> dict[str, str]:
    """List what can be explained, by the names of `Target` with a label for each, what the model is there for first.

    Raises:
        PromptError: the model cannot read the prompt.
    """
    return capabilities(model).targets(prompt)
