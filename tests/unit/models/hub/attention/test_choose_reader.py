"""The attention function is trusted only where what it records is what the model computes."""

import pytest

import attnviz
from attnviz.core.errors import UnsupportedModelError
from attnviz.models.hub.attention import choose_reader
from tests import tiny


def test_what_is_recorded_is_held_against_the_softmaxes_of_a_model_that_gives_no_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layers = choose_reader._near
    monkeypatch.setattr(choose_reader, "_near", lambda got, want: layers(got * 0.5, want))
    with pytest.raises(UnsupportedModelError):
        attnviz.wrap(tiny.hybrid(), tiny.tokenizer(tiny.DECODER))
