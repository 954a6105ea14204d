"""Weights as tables: CSV in long form, NPZ for NumPy, JSON for everything else. All hold what the pictures show."""

import csv as csv_format
import io
import json as json_format
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from attnviz.export.picture import Picture

COLUMNS = ("layer", "head", "query", "key", "weight", "masked", "query_token", "key_token")

# How a cell begins that a spreadsheet runs as a formula, tabs and line breaks before it left out.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv(pictures: Sequence[Picture]) -> bytes:
    """Write a row for every cell: layer, head (empty: the mean), query, key, weight, whether masked, the tokens; and the edits,
    where the model was edited.

    A token that a spreadsheet would take for a formula has an apostrophe before it; NPZ and JSON have every token as it is.
    """
    buffer = io.StringIO()
    writer = csv_format.writer(buffer, lineterminator="\n")
    edits = (text,) if (text := pictures[0].trace.edits.text) else ()
    writer.writerow((*COLUMNS, "edits") if edits else COLUMNS)
    for picture in pictures:
        writer.writerows((*row, *edits) for row in _rows(picture))
    return buffer.getvalue().encode("utf-8")


def _rows(picture: Picture) -> Iterator[tuple[object, ...]]:
    matrix, head = picture.matrix, "" if picture.head is None else picture.head
    rows = zip(matrix.queries, matrix.weights.tolist(), matrix.visible.tolist(), strict=True)
    asked = [harmless(token.text) for token in matrix.keys]
    for query, (query_token, weights, visible) in enumerate(rows):
        asking = harmless(query_token.text)
        for key, (key_text, weight, seen) in enumerate(zip(asked, weights, visible, strict=True)):
            # float32 is told in full by nine digits.
            yield (picture.layer, head, query, key, f"{weight:.9g}", int(not seen), asking, key_text)


def harmless(cell: str) -> str:
    """Write a text as one that no spreadsheet computes.

    >>> harmless("=1+1"), harmless("-"), harmless("a=b")
    ("'=1+1", "'-", 'a=b')
    """
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def npz(pictures: Sequence[Picture]) -> bytes:
    """Store `weights` (picture, query, key) in float32, `visible` alike, `layers` and `heads` (-1: the mean), and tokens."""
    matrices = [picture.matrix for picture in pictures]
    first = pictures[0]
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        weights=np.stack([matrix.weights for matrix in matrices]),
        visible=np.stack([matrix.visible for matrix in matrices]),
        layers=np.array([picture.layer for picture in pictures]),
        heads=np.array([-1 if picture.head is None else picture.head for picture in pictures]),
        queries=np.array([token.text for token in first.matrix.queries]),
        keys=np.array([token.text for token in first.matrix.keys]),
        kind=np.array(first.kind),
        model=np.array(first.trace.model),
        text=np.array(first.trace.prompt.text),
        output=np.array(first.trace.output),
        edits=np.array(first.trace.edits.text),
    )
    return buffer.getvalue()


def json(pictures: Sequence[Picture]) -> bytes:
    """Write the prompt, the tokens with their offsets, and the weights of each head as rows; a masked cell is null."""
    first = pictures[0]
    content = {
        "model": first.trace.model,
        "revision": first.trace.revision,
        "prompt": asdict(first.trace.prompt),
        "output": first.trace.output,
        "edits": first.trace.edits.text,
        "kind": first.kind,
        "queries": [asdict(token) for token in first.matrix.queries],
        "keys": [asdict(token) for token in first.matrix.keys],
        "heads": [{"layer": each.layer, "head": each.head, "weights": _weights(each)} for each in pictures],
    }
    return (json_format.dumps(content, ensure_ascii=False) + "\n").encode("utf-8")


def _weights(picture: Picture) -> list[list[float | None]]:
    rows = zip(picture.matrix.weights.tolist(), picture.matrix.visible.tolist(), strict=True)
    return [
        [float(f"{weight:.9g}") if seen else None for weight, seen in zip(row, visible, strict=True)] for row, visible in rows
    ]
