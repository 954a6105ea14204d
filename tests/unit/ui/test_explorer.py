"""What the explorer computes on the page itself takes turns with everybody's work."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest

from attnviz.analysis.head_view import View
from attnviz.ui import explorer
from tests.factories import dot_product_map, numbered


def test_measuring_all_heads_is_expected_to_take_as_long_as_they_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = []

    @contextmanager
    def at_a_place(expected: float = 0.0) -> Iterator[None]:
        seconds.append(expected)
        yield

    monkeypatch.setattr(explorer, "at_a_place", at_a_place)
    attention = dot_product_map(numbered(7))
    monkeypatch.setattr(explorer, "LONG_SECONDS", 0)
    said: list[str] = []
    monkeypatch.setattr(explorer.st, "spinner", lambda sentence: nullcontext(said.append(sentence)))
    overviews = [explorer._overview(attention, View(), 1000) for _ in range(2)]
    assert said == [f"Measuring {attention.n_layers * attention.n_heads} heads over 7 tokens"]
    assert overviews[0] is overviews[1]
    assert seconds == [attention.n_layers * attention.n_heads * 7 * 7 / explorer.CELLS_A_SECOND]
