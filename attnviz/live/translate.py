"""Translate's pictures: several translations and their alignments, as one package."""

from collections.abc import Mapping, Sequence
from typing import Any

from attnviz.analysis.head_ranking import strongest_places
from attnviz.analysis.head_view import HeadMatrix, View, head_matrix
from attnviz.analysis.translate.alignment import (
    Reading,
    clearest_link,
    describe_alignment,
    origin_of,
    ranked_step,
    read_as,
    truer,
    word_weights,
)
from attnviz.analysis.translate.differences import differences
from attnviz.analysis.wording import head_of_model, head_place
from attnviz.core.trace import AttentionMap
from attnviz.figures.translate.alignments import Aligned, alignments
from attnviz.figures.translate.sentence_pair import LEAST_WEIGHT
from attnviz.live.sentence_parts import Described
from attnviz.models.base import ModelCard
from attnviz.models.result import Result

VIEW = View(words=True)


def describe_translations(results: Sequence[Result], example: Mapping[str, Any]) -> Described:
    """Describe the translations of a text, the first of them large."""
    unlike = differences([each.trace.output for each in results])
    matrices = [alignment(each) for each in results]
    cells = [_cell(matrix, example.get("word", "")) for matrix in matrices]
    aligned = [
        _aligned(slot, result, matrix, cell, marked)
        for slot, (result, matrix, cell, marked) in enumerate(zip(results, matrices, cells, unlike, strict=True), 1)
    ]
    settings = {"seq": 0, "hero": 1, "open": False, "least": LEAST_WEIGHT, "theme": "auto", "fullScale": True}
    first_rows = [first_row(each, *first_head(each.card)) for each in results]
    positions = [matrix.rows[cell[0]] + first for matrix, cell, first in zip(matrices, cells, first_rows, strict=True)]
    ranked = [rank_for_cell(*each) for each in zip(results, positions, cells, strict=True)]
    _, package = alignments(aligned, **settings, ranked=_by_slot(ranked), firstRows=_by_slot(first_rows))
    story = (describe_alignment(matrices[0]),)
    shapes = [(each.card.n_layers, each.card.n_heads) for each in results]
    return Described({"cross": first_head(results[0].card)}, story, {"shapes": shapes}, {"align": package})


def _by_slot(values: Sequence[Any]) -> dict[int, Any]:
    return {slot: value for slot, value in enumerate(values, 1) if value is not None}


def first_head(card: ModelCard) -> tuple[int, int | None]:
    """Choose the head that is drawn unasked: the supervised one, else the mean of the last layer."""
    return card.supervised_head or (card.n_layers - 1, None)


def alignment(result: Result) -> HeadMatrix:
    """Make the matrix that is drawn unasked: whole words, in the reading of its rows that was measured to be truer."""
    (layer, head), reading = first_head(result.card), truer(result.card.metrics, *first_head(result.card))
    return head_matrix(_read(result, reading), layer=layer, head=head, view=VIEW)


def _read(result: Result, reading: Reading) -> AttentionMap:
    """Name the rows after what is read there or written, where a model has both."""
    draft, cross = result.draft, result.trace.cross
    return read_as(cross, draft.written, reading) if draft.reads_its_rows else cross


def first_row(result: Result, layer: int, head: int | None) -> int:
    """Number the first row of a head as an address does: a word keeps its own in both readings, the start mark has 0."""
    return int(result.draft.reads_its_rows and truer(result.card.metrics, layer, head) == "naive")


def rank_for_cell(result: Result, position: int, cell: tuple[int, int]) -> dict[str, object] | None:
    """Rank the heads by what they give to a cell, as `attnviz.rank_heads` does; None where there is but one.

    position  of the row, as an address numbers it
    """
    cross, draft, card = result.trace.cross, result.draft, result.card
    if cross.n_layers * cross.n_heads == 1:
        return None
    weights = word_weights(cross, draft.written, VIEW, position)[..., cell[1]]
    listed = [{"layer": at[0], "head": at[1], "weight": float(weights[at])} for at in strongest_places(weights)]
    drawn = truer(card.metrics, *first_head(card))
    step = ranked_step(position, len(cross.queries), "writes", drawn) if draft.reads_its_rows else ""
    return {"cell": cell, "mean": float(weights.mean()), "first": listed, "step": step}


def _cell(matrix: HeadMatrix, word: str) -> tuple[int, int]:
    link = origin_of(matrix, word) or clearest_link(matrix)
    return (link.query, link.key) if link else (0, int(matrix.weights[0].argmax()))


def _aligned(
    slot: int, result: Result, matrix: HeadMatrix, cell: tuple[int, int], unlike: tuple[tuple[int, int], ...]
) -> Aligned:
    card, (layer, head) = result.card, first_head(result.card)
    shape, trained = (card.n_layers, card.n_heads), (layer, head) == card.supervised_head
    name = head_of_model(layer, head, shape, trained=trained)
    return Aligned(
        slot=slot,
        name=card.name,
        head=" · ".join(filter(None, (name, "target given" if result.prompt.target else ""))),
        translation=result.trace.output,
        matrix=matrix,
        choices=((),) * len(matrix.rows),
        cell=cell,
        unlike=unlike,
        place=(layer, head),
        shape=shape,
        where=head_place(layer, head, card.n_layers * card.n_heads, trained=trained),
    )
