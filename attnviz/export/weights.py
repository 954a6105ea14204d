"""Weights as tables: CSV in long form, NPZ for NumPy, JSON for everything else. All hold what the pictures show."""

import io
import json as json_format
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from attnviz.export.csv_table import csv_table
from attnviz.export.picture import Picture

COLUMNS = ("layer", "head", "query", "key", "weight", "masked", "query_token", "key_token")


def csv(pictures: Sequence[Picture]) -> bytes:
    """Write a row for every cell: layer, head (empty: the mean), query, key, weight, whether masked, the tokens; and the edits,
    where the model was edited.

    A token that a spreadsheet would take for a formula has an apostrophe before it; NPZ and JSON have every token as it is.
    """
    edits = (text,) if (text := pictures[0].trace.edits.text) else ()
    rows = ((*row, *edits) for picture in pictures for row in _rows(picture))
    return csv_table((*COLUMNS, "edits") if edits else COLUMNS, rows)


def _rows(picture: Picture) -> Iterator[tuple[object, ...]]:
    matrix, head = picture.matrix, "" if picture.head is None else picture.head
    rows = zip(matrix.queries, matrix.weights.tolist(), matrix.visible.tolist(), strict=True)
    for query, (query_token, weights, visible) in enumerate(rows):
        for key, (key_token, weight, seen) in enumerate(zip(matrix.keys, weights, visible, strict=True)):
            yield (picture.layer, head, query, key, weight, not seen, query_token.text, key_token.text)


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
