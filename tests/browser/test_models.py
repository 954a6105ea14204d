"""Another model on the Encode page: an encoder-decoder with its three maps, one of them masked."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

import attnviz
from attnviz.core.trace import Prompt
from tests.browser.pages import choose, head_weights, open_page
from tests.browser.test_encode import DIGITS
from tests.tiny import FAMILY

TEXT = "the cat sat on the mat because it was tired ."
TARGET = "the dog ran to the street ."


def test_an_encoder_decoder_shows_all_three_maps_of_a_given_target_and_masked_cells_are_not_zeros(
    page: Page, app_url: str, tmp_path: Path
) -> None:
    FAMILY["bart"].save(tmp_path)
    trace = attnviz.load(str(tmp_path)).trace(Prompt(TEXT, target=TARGET))
    open_page(page, app_url, model=str(tmp_path), text=TEXT, target=TARGET, view="matrix", layer=0, head=1)
    for kind in ("cross", "decoder", "encoder"):
        choose(page, kind)
        attention, shown = trace.map(kind), head_weights(page)
        visible = attention.visible(0)
        assert [[cell is not None for cell in row] for row in shown] == visible.tolist()
        weights = np.array(shown, dtype=float)
        assert weights[visible] == pytest.approx(attention.weights(0, 1)[visible], abs=DIGITS)
    assert not trace.decoder.visible(0).all()
