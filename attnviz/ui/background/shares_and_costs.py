"""What is measured of a model on a text, beside its own output: computed in the background, once for everybody who asks.

Each function takes the model's name, and what stands here behind the progress; it gives None after the page has said why there
is nothing (`attnviz.ui.background.results.computed`).
"""

from functools import partial

from attnviz.analysis.compute.score_pairs import PairShares
from attnviz.analysis.matters.faithfulness import AttributionReport, MaskedOutput, Removals
from attnviz.analysis.matters.word_removal import WordRemovals
from attnviz.core.edits import HeadValue
from attnviz.core.shares import HeadCosts, RemovalCurve, Shares
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel, Progress
from attnviz.ui.background.results import computed, is_known


def _matters(
    model: AttentionModel, progress: Progress, prompt: Prompt, target: str, methods: tuple[str, ...]
) -> AttributionReport:
    """What each word was worth to a target, by these methods."""
    from attnviz.attribution.token_removal import attribution_report

    return attribution_report(model, prompt, target, methods, progress)


# The methods of Matters that take few passes of the model, and those that take many.
matters, matters_slowly = computed(_matters, passes=15), computed(_matters, passes=45)


def matters_known(model: str, prompt: Prompt, target: str, methods: tuple[str, ...]) -> bool:
    """Whether these methods have been run over this text already."""
    return is_known(_matters, model, prompt, target, methods)


@partial(computed, passes=15)
def shares(model: AttentionModel, progress: Progress, prompt: Prompt, method: str) -> Shares:
    """What each word was worth to the output, by one method."""
    from attnviz.attribution.methods import attribute

    progress(f"Asking {model.card.name} what its words are worth", None)
    return attribute(model, prompt, method)


@partial(computed, passes=45)
def word_removals(model: AttentionModel, progress: Progress, prompt: Prompt, target: str) -> WordRemovals:
    """What becomes of the output without each word."""
    from attnviz.attribution.token_removal import word_removals

    return word_removals(model, prompt, target, progress)


@computed
def without(model: AttentionModel, progress: Progress, prompt: Prompt, target: str, removed: tuple[int, ...]) -> MaskedOutput:
    """What the model makes of the text without some words."""
    from attnviz.attribution.token_removal import without_words

    progress(f"Asking {model.card.name} again without {len(removed)} words", None)
    return without_words(model, prompt, target, removed)


@partial(computed, passes=5)
def deletion(
    model: AttentionModel, progress: Progress, prompt: Prompt, target: str, method: str, *, ranked: tuple[int, ...]
) -> Removals:
    """How p of the output falls as words go in the order of a method, which `ranked` has."""
    from attnviz.attribution.token_removal import deletion

    progress(f"Asking {model.card.name} while words go", None)
    return deletion(model, prompt, target, ranked)


@partial(computed, passes=10)
def head_costs(model: AttentionModel, progress: Progress, prompt: Prompt, to: HeadValue) -> HeadCosts:
    """What each head costs the output."""
    from attnviz.models.whatif import head_costs

    return head_costs.head_costs(model, prompt, to=to, progress=progress)


@partial(computed, passes=40)
def removal_curve(
    model: AttentionModel, progress: Progress, prompt: Prompt, to: HeadValue, *, costs: HeadCosts
) -> RemovalCurve:
    """How the output holds when many heads are off, in the order of what each costs."""
    from attnviz.models.whatif import head_costs

    return head_costs.removal_curve(model, prompt, costs, to=to, progress=progress)


@computed
def why(model: AttentionModel, progress: Progress, prompt: Prompt, cell: tuple[str, int, int, int, int]) -> PairShares:
    """The score of a cell (kind, layer, head, query, key) taken apart."""
    from attnviz.attribution import score_pairs

    progress(f"Taking a score of {model.card.name} apart", None)
    return score_pairs.why(model, prompt, score_pairs.Cell(*cell))
