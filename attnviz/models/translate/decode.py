"""Decoding: one translation out of the many that a model could give, greedy or by a beam, begun or written by a person."""

import math
from dataclasses import replace

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import capabilities
from attnviz.models.edit.edit_points import edited
from attnviz.models.task_prefix import without_prefix
from attnviz.models.translate.draft import DecodingOptions, DecodingStep, Draft, Translation
from attnviz.models.translate.translator_interface import TRANSLATE, TranslatingModel
from attnviz.nn.decoding import Beam


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
