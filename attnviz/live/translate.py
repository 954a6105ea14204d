"""Translate's pictures: several translations and their alignments, as one package."""

from collections.abc import Mapping, Sequence
from typing import Any

from attnviz.analysis.translate.alignment import clearest_link, describe_alignment, origin_of, read_as, truer
from attnviz.analysis.translate.differences import differences
from attnviz.analysis.view import HeadMatrix, View, head_matrix
from attnviz.analysis.wording import head_of_model, head_place
from attnviz.figures.translate.alignments import Aligned, alignments
from attnviz.figures.translate.sentence_pair import LEAST_WEIGHT
from attnviz.live.story import Described
from attnviz.models.base import ModelCard
from attnviz.models.result import Result


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
    _, package = alignments(aligned, **settings)
    story = (describe_alignment(matrices[0]),)
    cards = [each.card for each in results]
    shape = max(card.n_layers for card in cards), max(card.n_heads for card in cards)
    return Described({"cross": first_head(cards[0])}, story, {"shape": shape}, {"align": package})


def first_head(card: ModelCard) -> tuple[int, int | None]:
    """Choose the head that is drawn unasked: the supervised one, else the mean of the last layer."""
    return card.supervised_head or (card.n_layers - 1, None)


def alignment(result: Result) -> HeadMatrix:
    """Make the matrix that is drawn unasked: whole words, in the reading of its rows that was measured to be truer."""
    (layer, head), attention = first_head(result.card), result.trace.cross
    if result.draft.reads_its_rows:
        attention = read_as(attention, result.draft.written, truer(result.card.metrics, layer, head))
    return head_matrix(attention, layer=layer, head=head, view=View(words=True))


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
        where=head_place(layer, head, card.n_layers * card.n_heads, trained=trained),
    )
