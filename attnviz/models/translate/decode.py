"""One translation out of the many that a model could give: greedy or by a beam, begun by a person, or written by one."""

import math
from dataclasses import dataclass, replace

from attnviz.core.checks import described
from attnviz.core.errors import PromptError
from attnviz.core.trace import AttentionTrace, Prompt, Token
from attnviz.models.base import AttentionModel
from attnviz.models.task_prefix import TRANSLATE, instruction, untold
from attnviz.models.translate.base import Step, TranslatingModel, Translation, Tree
from attnviz.nn.decoding import Beam


@dataclass(frozen=True)
class Wish:
    """How to translate.

    width           hypotheses that the search keeps; 1 is greedy decoding
    length_penalty  α of ln p / length^α, by which a beam's translations are ranked
    begins          names of the pieces that the translation must begin with
    candidate       which of the translations found is looked at, 0 the best; what is too large is the last

    Raises:
        PromptError: one of them cannot be wished for.
    """

    width: int = 1
    length_penalty: float = 1.0
    begins: tuple[str, ...] = ()
    candidate: int = 0

    def __post_init__(self) -> None:
        for name, least in (("width", 1), ("candidate", 0)):
            if type(value := getattr(self, name)) is not int or value < least:
                raise PromptError(f"The {name} of a Wish is a whole number from {least} on, not {described(value)}.")
        if not isinstance(self.length_penalty, int | float) or not math.isfinite(self.length_penalty):
            raise PromptError(f"The length_penalty of a Wish is a number, such as 1.0, not {described(self.length_penalty)}.")
        if isinstance(self.begins, str) or not all(isinstance(name, str) for name in self.begins):
            raise PromptError(f"A Wish begins with a tuple of the names of pieces, not with {described(self.begins)}.")


@dataclass(frozen=True, eq=False)
class Draft:
    """A translation that is looked at, and what is known about it.

    steps            each token with its probability
    log_probability  ln p of the whole of it
    candidates       what the search found, best first; empty where the target was given
    chosen           which candidate it is
    own              the best that the model found by itself, where the target was given
    pieces           names of the pieces it is made of; empty where the target was given
    closed           names of the pieces that the model cannot be asked to write
    told             what the model was told in front of the text (`attnviz.models.task_prefix`)
    tree             what the search weighed after what it had to begin with; None where nothing was searched or it is not shown
    """

    trace: AttentionTrace
    steps: tuple[Step, ...]
    log_probability: float
    candidates: tuple[Translation, ...] = ()
    chosen: int = 0
    own: Translation | None = None
    pieces: tuple[str, ...] = ()
    closed: frozenset[str] = frozenset()
    told: str = ""
    tree: Tree | None = None

    @property
    def written(self) -> tuple[Token, ...]:
        """The token that each row of the attention across writes."""
        return tuple(step.token for step in self.steps)

    @property
    def reads_its_rows(self) -> bool:
        """Whether a row is named after the token that its step reads, and writes another: so in every Transformer."""
        return self.trace.cross.queries != self.written


def draft(model: AttentionModel, prompt: Prompt, wish: Wish) -> Draft:
    """The translation that was wished for; `prompt.target` stands above what else is wished.

    Raises:
        PromptError: the model cannot read the text, does not translate, or cannot write the target or what it must begin with.
    """
    if not isinstance(model, TranslatingModel):
        raise PromptError(f"{model.card.name} does not translate: choose an encoder-decoder, such as t5-small.")
    told = instruction(model, TRANSLATE)
    found = _drafted(model, replace(prompt, text=told + prompt.text), wish)
    return replace(found, trace=untold(found.trace, prompt, told), told=told)


def _drafted(model: TranslatingModel, prompt: Prompt, wish: Wish) -> Draft:
    if prompt.target:
        trace, steps = model.steps(prompt)
        (own,) = model.translate(prompt.text)
        return Draft(trace, steps, _total(steps), own=own)
    prefix = model.pieces(wish.begins)
    if model.ended(prefix):
        # A translation that a person has ended: there is nothing left to search.
        trace, steps = model.follow(prompt, prefix)
        found = (Translation(trace.output, prefix, _total(steps)),)
        return Draft(trace, steps, found[0].log_probability, found, pieces=model.names(prefix), closed=model.closed)
    found, tree = model.search(prompt.text, Beam(wish.width, wish.length_penalty), prefix)
    chosen = max(0, min(wish.candidate, len(found) - 1))
    best = found[chosen]
    trace, steps = model.follow(prompt, best.pieces)
    return Draft(
        trace, steps, best.log_probability, found, chosen, pieces=model.names(best.pieces), closed=model.closed, tree=tree
    )


def _total(steps: tuple[Step, ...]) -> float:
    """ln p of a whole translation: the sum over its tokens. A token that was given may have no probability at all."""
    return sum(math.log(step.probability) if step.probability > 0 else -math.inf for step in steps)
