"""The cell of a head that is looked at until another one is clicked."""

from attnviz.analysis.head_metrics import strongest_link
from attnviz.analysis.head_view import HeadMatrix


def first_cell(matrix: HeadMatrix) -> tuple[int, int]:
    """Choose the cell to look at first: the strongest link between words, else the first typed token's largest weight."""
    if link := strongest_link(matrix):
        return link.query, link.key
    row = next((index for index, token in enumerate(matrix.queries) if not token.special), 0)
    return row, int(matrix.weights[row].argmax())
