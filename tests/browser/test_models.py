"""Other models on the Encode page: a decoder, and an encoder-decoder with its three maps."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

import attnviz
from attnviz.core.trace import Prompt
from tests.browser.pages import choose, head_weights, open_page
from tests.browser.test_encode import DIGITS
from tests.tiny import FAMILIES

TEXT = "the cat sat on the mat because it was tired ."
TARGET = "the dog ran to the street ."


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for family in FAMILIES:
        if family.name in ("mistral", "bart"):
            made[family.name] = tmp_path_factory.mktemp(family.name)
            family.save(made[family.name])
    return made


def test_a_decoders_masked_cells_are_not_zeros(page: Page, app_url: str, folders: dict[str, Path]) -> None:
    open_page(page, app_url, model=str(folders["mistral"]), text=TEXT, view="matrix", layer=1, head=1)
    attention = attnviz.load(str(folders["mistral"])).trace(TEXT).decoder
    shown = head_weights(page)
    for query, row in enumerate(attention.weights(1, 1)):
        visible = attention.visible(1)[query]
        assert [cell is not None for cell in shown[query]] == visible.tolist()
        assert [cell for cell in shown[query] if cell is not None] == pytest.approx(row[visible].tolist(), abs=DIGITS)


def test_an_encoder_decoder_shows_all_three_maps_of_a_given_target(page: Page, app_url: str, folders: dict[str, Path]) -> None:
    trace = attnviz.load(str(folders["bart"])).trace(Prompt(TEXT, target=TARGET))
    open_page(page, app_url, model=str(folders["bart"]), text=TEXT, target=TARGET, view="matrix", layer=0, head=1)
    for kind in ("cross", "decoder", "encoder"):
        choose(page, kind)
        wanted = trace.map(kind).weights(0, 1)
        shown = head_weights(page)
        assert (len(shown), len(shown[0])) == wanted.shape
        assert shown[-1] == pytest.approx(wanted[-1].tolist(), abs=DIGITS)
