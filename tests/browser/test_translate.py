"""The Translate page as a person uses it, with translators that the tests make."""

import shutil
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

import attnviz
from attnviz.analysis.translate.alignment import clearest_link
from attnviz.analysis.view import View, head_matrix
from attnviz.core.trace import Prompt
from attnviz.models.translate.decode import DecodingOptions, Draft, draft
from tests.browser.test_encode import HOSTILE, PICTURE, choose, drawn_weights, open_page, parameters, run, settle
from tests.translators import tiny_translator

TEXT = "The red car is not Tom's."
TARGET = "La voiture n'est pas rouge."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_translator(tmp_path_factory.mktemp("translator"))


def drafted(folder: Path, options: DecodingOptions, target: str | None = None) -> Draft:
    return draft(attnviz.load(str(folder)), Prompt(TEXT, target=target), options)


def links(page: Page) -> dict[tuple[int, int], float]:
    found = page.locator(".pair path").evaluate_all(
        "paths => paths.map(({dataset}) => [dataset.row, dataset.column, dataset.weight].map(Number))"
    )
    return {(int(row), int(column)): weight for row, column, weight in found}


def test_matrix_and_links_are_the_traces_weights(page: Page, app_url: str, folder: Path) -> None:
    open_page(page, app_url, "translate", models=str(folder), text=TEXT, target=TARGET)
    attention = drafted(folder, DecodingOptions(), TARGET).trace.cross
    wanted = head_matrix(attention, layer=0, head=0, view=View(words=True))
    for row, expected in zip(drawn_weights(page), wanted.weights, strict=True):
        assert row == pytest.approx(expected.tolist(), abs=1e-6)
    shown = links(page)
    assert shown
    for cell, weight in shown.items():
        assert weight == pytest.approx(float(wanted.weights[cell]), abs=6e-5)
    link = clearest_link(wanted)
    assert link
    expect(page.locator(".story")).to_contain_text(wanted.queries[link.query].text)
    expect(page.locator(".pair .target .word bdi")).to_have_text([token.text for token in wanted.queries])


def test_a_click_on_an_alternative_decodes_on_from_it_and_the_link_reopens_it(
    context: BrowserContext, app_url: str, folder: Path
) -> None:
    page = context.new_page()
    open_page(page, app_url, "translate", models=str(folder), text=TEXT, whole_words="false")
    own = drafted(folder, DecodingOptions())
    place = next(place for place, (name, _) in enumerate(own.steps[1].alternatives) if name not in (own.pieces[1], "<unk>"))
    begins = (own.pieces[0], own.steps[1].alternatives[place][0])
    page.locator(f'.ladder [data-pick="1:{place}"]').click()
    steered = drafted(folder, DecodingOptions(begins=begins))
    expect(page.locator(".answer")).to_contain_text(steered.trace.output[:60], timeout=PICTURE)
    settle(page)
    assert parameters(page)["begins1"] == " ".join(begins)
    wanted = steered.trace.cross.weights(0, 0)
    assert drawn_weights(page)[1] == pytest.approx(wanted[1].tolist(), abs=1e-6)
    page.locator('.pair [data-pick="2"]').click()
    expect(page.locator(".pair .target .chosen")).to_have_attribute("data-row", "2", timeout=PICTURE)
    settle(page)
    second = context.new_page()
    second.goto(page.url)
    settle(second)
    assert drawn_weights(second) == drawn_weights(page)
    assert second.locator(".answer").inner_text() == page.locator(".answer").inner_text()
    expect(second.locator(".pair .target .chosen")).to_have_attribute("data-row", "2")


def test_a_candidate_shows_its_alignment_and_a_typed_target_its_own(page: Page, app_url: str, folder: Path) -> None:
    address = {"models": str(folder), "text": TEXT, "decoding": "Beam", "width": 3, "hard": "Strongest"}
    open_page(page, app_url, "translate", **address, whole_words="false")
    expect(page.locator(".candidate")).to_have_count(3)
    page.locator('.candidate[data-pick="2"]').click()
    expect(page.locator('.candidate[data-pick="2"]')).to_have_class("candidate chosen", timeout=PICTURE)
    settle(page)
    wanted = drafted(folder, DecodingOptions(3, 1.0, candidate=2)).trace.cross.weights(0, 0)
    assert drawn_weights(page)[4] == pytest.approx(wanted[4].tolist(), abs=1e-6)
    assert parameters(page)["candidate1"] == "2"
    page.get_by_text("Force the target", exact=True).click()
    page.get_by_label("Target text").fill(TARGET)
    page.get_by_label("Target text").press("Enter")
    expect(page.locator(".answer")).to_contain_text(TARGET, timeout=PICTURE)
    settle(page)
    assert parameters(page)["target"] == TARGET
    forced = drafted(folder, DecodingOptions(), TARGET).trace.cross.weights(0, 0)
    assert hard_links(page) == forced[:-1].argmax(axis=1).tolist()


def test_the_tree_of_the_beam_opens_the_translation_of_a_leaf(page: Page, app_url: str, folder: Path) -> None:
    open_page(page, app_url, "translate", models=str(folder), text=TEXT, decoding="Beam", width=3)
    page.get_by_text("The tree of the beam", exact=True).click()
    expect(page.locator(".tree svg")).to_be_visible(timeout=PICTURE)
    assert page.locator(".tree .twig[data-pick]").count() == 3
    sizes = page.locator(".tree text, .tree tspan").evaluate_all(
        "all => all.map((each) => parseFloat(getComputedStyle(each).fontSize))"
    )
    assert min(sizes) >= 14
    page.locator('.tree .twig[data-pick="2"] .rank').click()
    expect(page.locator('.tree .twig[data-pick="2"]')).to_have_class("twig chosen", timeout=PICTURE)
    expect(page.locator(".answer bdi")).to_have_text(drafted(folder, DecodingOptions(3, 1.0, candidate=2)).trace.output)
    settle(page)
    assert parameters(page)["candidate1"] == "2"


def test_a_transformers_rows_are_read_both_ways_and_its_told_head_is_marked(page: Page, app_url: str, tmp_path: Path) -> None:
    told = tiny_translator(tmp_path, "transformer", supervised_head=(0, 1))
    open_page(page, app_url, "translate", models=str(told), text=TEXT, target=TARGET, whole_words="false")
    draft = drafted(told, DecodingOptions(), TARGET)
    wanted = draft.trace.cross.weights(0, 1)
    expect(page.locator(".answer small")).to_contain_text("L0·H1 — supervised")
    expect(page.get_by_text("was told where to look")).to_be_visible()
    words = page.locator(".pair .target .word bdi")
    expect(words).to_have_text(["<s>", *(step.token.text for step in draft.steps[:-1])])
    for row, expected in zip(drawn_weights(page), wanted, strict=True):
        assert row == pytest.approx(expected.tolist(), abs=1e-6)
    choose(page, "Naive")
    expect(words).to_have_text([step.token.text for step in draft.steps])
    assert drawn_weights(page)[0] == pytest.approx(wanted[0].tolist(), abs=1e-6)
    assert parameters(page)["reading"] == "Naive"
    page.get_by_label("Head", exact=True).fill("0")
    page.get_by_label("Head", exact=True).press("Enter")
    expect(page.locator(".answer small")).to_contain_text("L0·H0", timeout=PICTURE)
    expect(page.get_by_text("was told where to look")).to_have_count(0)
    settle(page)
    assert drawn_weights(page)[1] == pytest.approx(draft.trace.cross.weights(0, 0)[1].tolist(), abs=1e-6)


def test_four_models_stand_two_by_two_or_in_a_row_where_there_is_room(page: Page, app_url: str, folder: Path) -> None:
    others = [shutil.copytree(folder, folder.parent / f"{folder.name}-{number}", dirs_exist_ok=True) for number in (2, 3, 4)]
    open_page(page, app_url, "translate", models=[str(folder), *map(str, others)], text=TEXT, target=TARGET)
    expect(page.locator(".answer")).to_have_count(4, timeout=PICTURE)
    for width, columns in ((1400, 2), (1900, 4), (390, 1)):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(300)
        left = page.locator(".answer").evaluate_all("all => all.map((each) => Math.round(each.getBoundingClientRect().left))")
        assert len(set(left)) == columns


def test_all_heads_of_each_model_open_below_and_a_click_draws_one_above(page: Page, app_url: str, tmp_path: Path) -> None:
    folders = [tiny_translator(tmp_path / name, "transformer") for name in ("one", "two")]
    address = urlencode({"models": [str(folder) for folder in folders], "text": TEXT, "all2": "open"}, doseq=True)
    page.goto(f"{app_url}/translate?{address}")
    settle(page)
    tops = page.locator(".js-plotly-plot").evaluate_all("plots => plots.map((plot) => plot.getBoundingClientRect().top)")
    assert tops[0] == tops[1]
    page.locator("canvas.heads").focus()
    for key in ("ArrowUp", "ArrowLeft", "ArrowLeft", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.locator(".explorer[data-head='0:1']").wait_for(timeout=PICTURE)
    expect(page.locator(".answer small").nth(1)).to_contain_text("L0·H1", timeout=PICTURE)
    settle(page)
    wanted = {"layer": "0", "head": "1", "all_heads": "false", "all2": "open"}
    assert {name: parameters(page).get(name) for name in wanted} == wanted


def hard_links(page: Page) -> list[int]:
    """The column of the dot in each row of the matrix."""
    return page.evaluate(
        """() => {
          const dots = document.querySelector(".js-plotly-plot")._fullData.find((trace) => trace.name === "hard links");
          return Array.from(dots.x);
        }"""
    )


def test_hostile_text_shows_as_typed_and_runs_nothing(page: Page, app_url: str, folder: Path) -> None:
    open_page(page, app_url, "translate", models=str(folder), text=HOSTILE, target=HOSTILE)
    assert page.locator("textarea").first.input_value() == HOSTILE
    expect(page.locator(".answer bdi")).to_have_text(HOSTILE)
    assert "😀" in page.locator(".pair .source").inner_text()
    assert page.locator(".markup img, .markup script").count() == 0
    assert page.evaluate("window.hacked") is None
    run(page, TEXT)
    expect(page.locator(".answer bdi")).to_have_text(HOSTILE)
