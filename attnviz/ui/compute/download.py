"""What Compute shows, to take along."""

import numpy as np

from attnviz.analysis.view import View
from attnviz.core.from_weights import from_weights
from attnviz.core.head_inputs import Computed, Tables
from attnviz.core.trace import AttentionMap, AttentionTrace
from attnviz.ui.download import Kept, head_picture, traced_in_python

# Digits of a weight that is written into Python: its rows still sum to 1.
_DIGITS = 8


def kept_weight(name: str, trace: AttentionTrace, attention: AttentionMap, place: tuple[int, int], *, words: bool) -> Kept:
    """The head of a model whose weight is explained."""
    return Kept(name, head_picture(trace, attention, place, View(words=words)), traced_in_python(name, trace.prompt))


def kept_example(tables: Tables, computed: Computed, head: int) -> Kept:
    """The weights of the example that is worked out, as a trace like any other."""
    trace = from_weights(computed.weights, tables.tokens, model="worked example")
    rounded = np.round(computed.weights, _DIGITS).tolist()
    made = f"av.from_weights({rounded}, {list(tables.tokens)}, model='worked example')"
    return Kept("worked example", head_picture(trace, trace.maps[0], (0, head), View()), made)
