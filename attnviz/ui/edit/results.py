"""What a model says with edits, computed once for everybody who asks for the same."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel, Progress
from attnviz.models.translate.decode import DecodingOptions, Draft, draft
from attnviz.ui.background import results
from attnviz.ui.background.results import Drafted

if TYPE_CHECKING:
    # It imports torch, which a page waits for in the background.
    from attnviz.models.edit.before_after import ReadingEffect


@dataclass(frozen=True)
class Redrafted(Drafted):
    """A translation with edits; `original` is ln p of the translation without them, when the edited model has to write it."""

    original: float


def read(name: str, prompt: Prompt, edits: Edits = NO_EDITS) -> "ReadingEffect | None":
    """What a model of one stack says of a text, without edits and with them; None after the page has said why not."""
    return results.computed(name, _read, (prompt, edits))


def retranslate(name: str, prompt: Prompt, options: DecodingOptions, before: Draft, edits: Edits) -> Redrafted | None:
    """The translation with edits, and what they make of the one `before`; None after the page has said why there is none."""
    return results.computed(name, _retranslate, (prompt, options, before, edits))


def _read(model: AttentionModel, progress: Progress, prompt: Prompt, edits: Edits) -> "ReadingEffect":
    from attnviz.models.edit import before_after

    progress(f"Reading with {model.card.name}", None)
    return before_after.say(model, prompt, edits)


def _retranslate(
    model: AttentionModel, progress: Progress, prompt: Prompt, options: DecodingOptions, before: Draft, edits: Edits
) -> Redrafted:
    from attnviz.models.edit.before_after import log_probability

    progress(f"Translating with {model.card.name}, edited", None)
    start = time.perf_counter()
    after = draft(model, prompt, options, edits)
    original = after.log_probability if prompt.target else log_probability(model, prompt, before, edits)
    return Redrafted(after, model.card, time.perf_counter() - start, original)
