"""Decoding: one translation out of the many that a model could give, greedy or by a beam, begun or written by a person."""

import math
from dataclasses import dataclass, replace

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import PromptError, described
from attnviz.core.trace import AttentionTrace, Prompt, Token
from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import capabilities
from attnviz.models.edit.points import edited
from attnviz.models.tasks import without_prefix
from attnviz.models.translate.base import TRANSLATE, DecodingStep, SearchTree, TranslatingModel, Translation
from attnviz.nn.decoding import Beam

# Hypotheses that a search may keep at once: each is decoded, and more are hardly better.
WIDEST = 10


@dataclass(frozen=True)
class DecodingOptions:
    """How a translation is decoded, and which of those found is looked at.

    width           hypotheses that the search keeps, at most `WIDEST`; 1 is greedy decoding
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
        if type(self.width) is not int or not 1 <= self.width <= WIDEST:
            raise PromptError(
                f"The width of DecodingOptions is a whole number from 1 to {WIDEST}, not {described(self.width)}."
            )
        if type(self.candidate) is not int or self.candidate < 0:
            raise PromptError(f"The candidate of DecodingOptions is a whole number from 0 on, not {described(self.candidate)}.")
        if not isinstance(self.length_penalty, int | float) or not math.isfinite(self.length_penalty):
            raise PromptError(
                f"The length_penalty of DecodingOptions is a number, such as 1.0, not {described(self.length_penalty)}."
            )
        if isinstance(self.begins, str) or not all(isinstance(name, str) for name in self.begins):
            raise PromptError(f"DecodingOptions begin with a tuple of the names of pieces, not with {described(self.begins)}.")


GREEDY = DecodingOptions()


@dataclass(frozen=True, eq=False)
class Draft:
    """A translation that is looked at, with its trace and its probabilities.

    steps            each token with its probability
    log_probability  ln p of the whole of it
    candidates       what the search found, best first; empty where the target was given
    chosen           which candidate it is
    own              the best that the model found by itself, where the target was given
    pieces           names of the pieces it is made of; empty where the target was given
    closed           names of the pieces that the model cannot be asked to write
    task_prefix      what the model read in front of the text (`attnviz.models.tasks`)
    tree             what the search weighed after what it had to begin with; None where nothing was searched or it is not shown
    original         ln p, with the edits, of what the model writes without them; None: nothing is edited
    """

    trace: AttentionTrace
    steps: tuple[DecodingStep, ...]
    log_probability: float
    candidates: tuple[Translation, ...] = ()
    chosen: int = 0
    own: Translation | None = None
    pieces: tuple[str, ...] = ()
    closed: frozenset[str] = frozenset()
    task_prefix: str = ""
    tree: SearchTree | None = None
    original: float | None = None

    @property
    def written(self) -> tuple[Token, ...]:
        """The token that each row of the cross-attention writes."""
        return tuple(step.token for step in self.steps)

    @property
    def reads_its_rows(self) -> bool:
        """Whether a row is named after the token that its step reads, and writes another: so in every Transformer."""
        return self.trace.cross.queries != self.written


def draft(model: AttentionModel, prompt: Prompt, options: DecodingOptions, edits: Edits = NO_EDITS) -> Draft:
    """Translate as the options say, with the edits; where `prompt.target` is given, it is what the model is made to write.

    Raises:
        EditError: the model cannot be edited in this way.
        PromptError: the model cannot read the text, does not translate, or cannot write the target or what it must begin with.
    """
    declared = capabilities(model)
    translator, prefix = declared.translator(), declared.task_prefix(TRANSLATE)
    whole = replace(prompt, text=prefix + prompt.text)
    with edited(declared, whole, edits.after(prefix)):
        prefixed = _drafted(translator, whole, options)
    trace = replace(without_prefix(prefixed.trace, prompt, prefix), edits=edits)
    return replace(prefixed, trace=trace, task_prefix=prefix)


def _drafted(model: TranslatingModel, prompt: Prompt, options: DecodingOptions) -> Draft:
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
    declared = capabilities(model)
    translator, whole = declared.translator(), replace(prompt, text=written.task_prefix + prompt.text)
    with edited(declared, whole, edits.after(written.task_prefix)):
        return total(translator.follow(whole, translator.pieces(written.pieces))[1])


def total(steps: tuple[DecodingStep, ...]) -> float:
    """ln p of a whole translation: the sum over its tokens. A token that was given may have no probability at all."""
    return sum(math.log(step.probability) if step.probability > 0 else -math.inf for step in steps)
