"""What is measured of a model on a text, beside its own output: computed in the background, once for everybody who asks."""

from attnviz.analysis.compute.score_pairs import PairShares
from attnviz.analysis.matters.faithfulness import AttributionReport, Removals, Without
from attnviz.analysis.quantity import WeighedTrace, Weighing
from attnviz.core.edits import HeadValue
from attnviz.core.shares import HeadCosts, RemovalCurve
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel, Progress
from attnviz.models.translate.decode import Draft
from attnviz.ui.background import results


def matters(name: str, prompt: Prompt, target: str, ways: tuple[str, ...]) -> AttributionReport | None:
    """What each word was worth to a target, by these ways; None after the page has said why there is nothing."""
    return results.computed(name, _matters, (prompt, target, ways))


def without(name: str, prompt: Prompt, target: str, taken: tuple[int, ...]) -> Without | None:
    """What the model makes of the text without some words; None after the page has said why there is nothing."""
    return results.computed(name, _without, (prompt, target, taken))


def deletion(name: str, prompt: Prompt, target: str, ranked: tuple[int, ...]) -> Removals | None:
    """How p of the output falls as words go in this order; None after the page has said why there is nothing."""
    return results.computed(name, _deletion, (prompt, target, ranked))


def head_costs(name: str, prompt: Prompt, to: HeadValue) -> HeadCosts | None:
    """What each head costs the output; None after the page has said why there is nothing."""
    return results.computed(name, _head_costs, (prompt, to))


def removal_curve(name: str, prompt: Prompt, to: HeadValue, costs: HeadCosts) -> RemovalCurve | None:
    """How the output holds when many heads are off; None after the page has said why there is nothing."""
    return results.computed(name, _removal_curve, (prompt, to, costs))


def weighed(name: str, prompt: Prompt, by: Weighing) -> WeighedTrace | None:
    """What every head, or layer, moves; None after the page has said why that is not known."""
    return results.computed(name, _weigh, (prompt, by))


def weighed_draft(name: str, draft: Draft, by: Weighing) -> WeighedTrace | None:
    """What every head, or layer, moved while this was written; None after the page has said why that is not known."""
    return results.computed(name, _weigh_draft, (draft.trace.prompt, draft, by))


def why(name: str, prompt: Prompt, cell: tuple[str, int, int, int, int]) -> PairShares | None:
    """The score of a cell (kind, layer, head, query, key) taken apart; None after the page has said why that cannot be."""
    return results.computed(name, _why, (prompt, cell))


def _matters(
    model: AttentionModel, progress: Progress, prompt: Prompt, target: str, ways: tuple[str, ...]
) -> AttributionReport:
    from attnviz.attribution.token_removal import attribution_report

    return attribution_report(model, prompt, target, ways, progress)


def _without(model: AttentionModel, progress: Progress, prompt: Prompt, target: str, taken: tuple[int, ...]) -> Without:
    from attnviz.attribution.token_removal import without_words

    progress(f"Asking {model.card.name} again without {len(taken)} words", None)
    return without_words(model, prompt, target, taken)


def _deletion(model: AttentionModel, progress: Progress, prompt: Prompt, target: str, ranked: tuple[int, ...]) -> Removals:
    from attnviz.attribution.token_removal import deletion

    progress(f"Asking {model.card.name} while words go", None)
    return deletion(model, prompt, target, ranked)


def _head_costs(model: AttentionModel, progress: Progress, prompt: Prompt, to: HeadValue) -> HeadCosts:
    from attnviz.models.ablate import head_costs

    return head_costs.head_costs(model, prompt, to=to, progress=progress)


def _removal_curve(model: AttentionModel, progress: Progress, prompt: Prompt, to: HeadValue, costs: HeadCosts) -> RemovalCurve:
    from attnviz.models.ablate import head_costs

    return head_costs.removal_curve(model, prompt, costs, to=to, progress=progress)


def _weigh(model: AttentionModel, progress: Progress, prompt: Prompt, by: Weighing) -> WeighedTrace:
    from attnviz.attribution.quantity import weighed_trace

    progress(f"Computing what the attention of {model.card.name} moves", None)
    return weighed_trace(model, prompt, by)


def _weigh_draft(model: AttentionModel, progress: Progress, prompt: Prompt, draft: Draft, by: Weighing) -> WeighedTrace:
    from attnviz.attribution.quantity import weighed_draft

    progress(f"Computing what the attention of {model.card.name} moves", None)
    return weighed_draft(model, draft, by)


def _why(model: AttentionModel, progress: Progress, prompt: Prompt, cell: tuple[str, int, int, int, int]) -> PairShares:
    from attnviz.attribution import score_pairs

    progress(f"Taking a score of {model.card.name} apart", None)
    return score_pairs.why(model, prompt, score_pairs.Cell(*cell))
