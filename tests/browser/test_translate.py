"""The Translate page as a person uses it, with translators that the tests make."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import attnviz
from attnviz.analysis.head_view import View, head_matrix
from attnviz.analysis.translation_alignment import clearest_link
from attnviz.core.trace import Prompt
from attnviz.models.base import DecodingOptions, Draft
from attnviz.models.tasks import draft
from tests.browser.pages import DESK, HOSTILE, open_page, parameters, press, refuse_hostile, run, serious, settle
from tests.translators import tiny_translator

TEXT = "The red car is not Tom's."
TARGET = "La voiture n'est pas rouge."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_translator(tmp_path_factory.mktemp("translator"))


def drafted(folder: Path, options: DecodingOptions, target: str | None = None) -> Draft:
    return draft(attnviz.load(str(folder)), Prompt(TEXT, target=target), options)


def links(page: Page) -> dict[tuple[int, int], float]:
    actual = page.locator(".pair path").evaluate_all(
        "paths => paths.map(({dataset}) => [dataset.row, dataset.column, dataset.weight].map(Number))"
    )
    return {(int(row), int(column)): weight for row, column, weight in actual}


def drawn_weights(page: Page) -> list[list[float]]:
    """The weights of the large picture, as its script has unpacked them."""
    return page.locator(".alignment[data-hero]").evaluate(
        """({ alignment: { state: { model } } }) => {
          const row = (query) => model.keys.map((_, key) => model.weight(query, key));
          return model.queries.map((_, query) => row(query));
        }"""
    )


def cell_at(page: Page, query: int, key: int) -> tuple[float, float]:
    """The middle of a cell of the large picture."""
    x, y = page.locator(".alignment[data-hero]").evaluate(
        """({ alignment: { large } }, [query, key]) => {
          const { left, top, cell } = large.size;
          const box = large.canvas.getBoundingClientRect();
          return [box.x + left + (key + 0.5) * cell, box.y + top + (query + 0.5) * cell];
        }""",
        [query, key],
    )
    return x, y


def test_matrix_and_links_are_the_traces_weights_a_cell_is_chosen_by_pointer_and_by_keys_and_hostile_text_runs_nothing(
    page: Page, app_url: str, folder: Path
) -> None:
    page.set_viewport_size(DESK)
    open_page(page, app_url, "translate", models=str(folder), text=TEXT, target=TARGET)
    stands_above_the_fold(page, count=1, cell=28)
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
    expect(page.locator(".words .headline")).to_contain_text(wanted.queries[link.query].text)
    expect(page.locator(".pair .target .word bdi")).to_have_text([token.text for token in wanted.queries])
    page.mouse.click(*cell_at(page, 2, 1))
    settle(page)
    assert (parameters(page)["query1"], parameters(page)["key1"]) == (str(wanted.rows[2]), str(wanted.columns[1]))
    expect(page.locator(".words .headline")).to_contain_text(wanted.queries[2].text)
    page.mouse.move(0, 0)
    page.locator("canvas.cells").focus()
    press(page, "ArrowDown", "ArrowRight", "Enter")
    settle(page)
    assert (parameters(page)["query1"], parameters(page)["key1"]) == (str(wanted.rows[3]), str(wanted.columns[2]))
    page.get_by_label("Target text").fill(HOSTILE)
    run(page, HOSTILE)
    assert page.locator("textarea").first.input_value() == HOSTILE
    expect(page.locator(".answer bdi")).to_have_text(HOSTILE)
    assert "😀" in page.locator(".pair .source").inner_text()
    refuse_hostile(page, ".alignment")


def test_a_click_on_an_alternative_decodes_on_from_it_and_the_link_reopens_it(page: Page, app_url: str, folder: Path) -> None:
    open_page(page, app_url, "translate", models=str(folder), text=TEXT, whole_words="false")
    own = drafted(folder, DecodingOptions())
    place = next(place for place, (name, _) in enumerate(own.steps[1].alternatives) if name not in (own.pieces[1], "<unk>"))
    begins = (own.pieces[0], own.steps[1].alternatives[place][0])
    # The choices are reached and left with the keyboard.
    word, choices = page.locator('.target [data-pick="1"]'), page.locator(".choices .alternative")
    word.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(word).to_have_attribute("aria-expanded", "true")
    expect(choices.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(choices.nth(1)).to_be_focused()
    settle(page)
    # It stays while Python answers.
    expect(choices.nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(word).to_be_focused()
    settle(page)
    assert "alternatives" not in parameters(page)
    word.click()
    page.locator("h1").click()
    expect(page.locator(".choices")).to_be_hidden()
    page.locator('.pair [data-pick="1"]').click()
    page.locator(f'.choices [data-choice="1:{place}"]').press("Enter")
    steered = drafted(folder, DecodingOptions(begins=begins))
    expect(page.locator(".answer")).to_contain_text(steered.trace.output[:60])
    settle(page)
    expect(word).to_be_focused()
    assert parameters(page)["begins1"] == " ".join(begins)
    wanted = steered.trace.cross.weights(0, 0)
    assert drawn_weights(page)[1] == pytest.approx(wanted[1].tolist(), abs=1e-6)
    page.locator('.pair [data-pick="2"]').click()
    expect(page.locator(".pair .target .chosen")).to_have_attribute("data-row", "2")
    page.wait_for_url("**alternatives=open*")
    settle(page)
    weights, answer, alternatives = (
        drawn_weights(page), page.locator(".answer").inner_text(), page.locator(".choices").inner_text()
    )  # fmt: skip
    page.reload()
    settle(page)
    assert drawn_weights(page) == weights
    expect(page.locator(".answer")).to_have_text(answer, use_inner_text=True)
    expect(page.locator(".pair .target .chosen")).to_have_attribute("data-row", "2")
    assert page.locator(".choices").inner_text() == alternatives


def test_candidates_and_the_tree_of_the_beam_show_their_alignments_and_a_typed_target_its_own(
    page: Page, app_url: str, folder: Path
) -> None:
    address = {"models": str(folder), "text": TEXT, "decoding": "Beam", "width": 3, "hard": "Strongest"}
    open_page(page, app_url, "translate", **address, whole_words="false")
    expect(page.locator(".candidate")).to_have_count(3)
    page.locator('.candidate[data-pick="1"]').click()
    expect(page.locator('.candidate[data-pick="1"]')).to_have_class("candidate chosen")
    settle(page)
    wanted = drafted(folder, DecodingOptions(3, 1.0, candidate=1)).trace.cross.weights(0, 0)
    assert drawn_weights(page)[4] == pytest.approx(wanted[4].tolist(), abs=1e-6)
    assert parameters(page)["candidate1"] == "1"
    page.get_by_text("The tree of the beam", exact=True).click()
    expect(page.locator(".tree svg")).to_be_visible()
    assert page.locator(".tree .twig[data-pick]").count() == 3
    sizes = page.locator(".tree text, .tree tspan").evaluate_all(
        "all => all.map((each) => parseFloat(getComputedStyle(each).fontSize))"
    )
    assert min(sizes) >= 14
    settle(page)
    page.locator('.tree .twig[data-pick="2"] .rank').click()
    expect(page.locator('.tree .twig[data-pick="2"]')).to_have_class("twig chosen")
    expect(page.locator(".answer bdi")).to_have_text(drafted(folder, DecodingOptions(3, 1.0, candidate=2)).trace.output)
    settle(page)
    assert parameters(page)["candidate1"] == "2"
    page.get_by_text("Force the target", exact=True).click()
    page.get_by_label("Target text").fill(TARGET)
    page.get_by_label("Target text").press("Enter")
    expect(page.locator(".answer", has_text=TARGET)).to_be_visible()
    settle(page)
    assert parameters(page)["target"] == TARGET
    forced = drafted(folder, DecodingOptions(), TARGET).trace.cross.weights(0, 0)
    assert hard_links(page) == forced[:-1].argmax(axis=1).tolist()


def test_a_word_a_link_and_a_chosen_head_are_steps_of_the_history(page: Page, app_url: str, tmp_path: Path) -> None:
    made = tiny_translator(tmp_path, "transformer", supervised_head=(0, 1))
    open_page(page, app_url, "translate", models=str(made), text=TEXT, target=TARGET)

    def shown() -> tuple[str, str, list[str]]:
        return page.url, page.locator(".alignment .top").inner_text(), page.locator(".pair .target .word").all_inner_texts()

    steps = [shown()]
    for act in (
        page.locator('.words [data-axis="queries"]').nth(3),
        page.locator('.words [data-axis="keys"]').nth(2),
        page.locator(".first-heads button").nth(2),
        page.locator('.words [data-axis="queries"]').nth(4),
        page.get_by_role("button", name="Show the strongest head for each word"),
    ):
        act.click()
        settle(page)
        steps.append(shown())
    assert len({url for url, *_ in steps}) == len(steps)
    for step in steps[-2:-4:-1]:
        page.go_back()
        settle(page)
        assert shown() == step


@pytest.fixture(scope="module")
def folders(folder: Path) -> list[str]:
    """Four translators that write different words."""
    others = [tiny_translator(folder.parent / str(seed), seed=seed) for seed in (3, 5)]
    return [str(folder), *map(str, others), str(tiny_translator(folder.parent, "transformer"))]


def test_all_heads_of_the_large_model_open_below_and_a_click_draws_one(page: Page, app_url: str, tmp_path: Path) -> None:
    folders = [tiny_translator(tmp_path / name, "transformer") for name in ("one", "two")]
    open_page(page, app_url, "translate", models=list(map(str, folders)), text=TEXT, hero=2, all2="open")
    page.locator("canvas.heads").first.focus()
    press(page, "ArrowUp", "ArrowLeft", "ArrowLeft", "ArrowRight", "Enter")
    page.locator(".explorer[data-head='0:1']").wait_for()
    expect(page.locator(".alignment .picture-row .caption")).to_contain_text("L0·H1")
    settle(page)
    wanted = {"layer": "0", "head": "1", "all_heads": "false", "all2": "open", "hero": "2"}
    assert {name: parameters(page).get(name) for name in wanted} == wanted


def test_a_word_lights_up_in_every_picture_and_a_click_makes_another_model_the_large_one_which_its_link_reopens(
    page: Page, app_url: str, folders: list[str]
) -> None:
    page.set_viewport_size(DESK)
    open_page(page, app_url, "translate", models=folders, text=TEXT, target=TARGET)
    stands_above_the_fold(page, count=4, cell=20)
    expect(page.locator("table .answer")).to_have_count(4)
    expect(page.locator(".small button")).to_have_count(3)
    address, thumbs = page.url, page.locator("canvas.thumb")
    pixels = "all => all.map((each) => each.toDataURL())"
    before = thumbs.evaluate_all(pixels)
    page.locator('.source .word[data-column="2"]').hover()
    expect(page.locator('.source .word[data-column="2"]')).to_have_class("word lit")
    assert {
        path for path in page.locator(".pair path.lit").evaluate_all("all => all.map(({ dataset }) => dataset.column)")
    } <= {"2"}
    after = thumbs.evaluate_all(pixels)
    assert all(one != other for one, other in zip(before, after, strict=True))
    # A written word: the same one in every row of the table.
    page.locator('tbody tr:nth-child(2) [data-row="1"]').hover()
    lit = page.locator("tbody .lit")
    expect(lit).to_have_count(4)
    assert len(set(lit.all_inner_texts())) == 1
    expect(page.locator(".target .word.lit")).to_have_count(1)
    page.mouse.move(0, 0)
    expect(page.locator(".pair path.lit")).to_have_count(0)
    assert page.url == address
    page.locator(".small button").nth(1).click()
    # Drawn by the script alone: settle waits for what Python says.
    expect(page.locator(".alignment")).to_have_attribute("data-hero", "3")
    settle(page)
    wanted = head_matrix(
        drafted(Path(folders[2]), DecodingOptions(), TARGET).trace.cross, layer=0, head=0, view=View(words=True)
    )
    for row, expected in zip(drawn_weights(page), wanted.weights, strict=True):
        assert row == pytest.approx(expected.tolist(), abs=1e-6)
    assert parameters(page)["hero"] == "3"
    page.reload()
    settle(page)
    expect(page.locator(".alignment")).to_have_attribute("data-hero", "3")
    page.locator("tbody tr").nth(0).locator("button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr.chosen")).to_have_attribute("data-slot", "1")


def stands_above_the_fold(page: Page, *, count: int, cell: int) -> None:
    """The picture, in cells that can be seen, below what is typed and written."""
    expect(page.locator(".alignment .answer")).to_have_count(count)
    assert page.locator(".alignment[data-hero]").evaluate("({ alignment }) => alignment.large.size.cell") >= cell
    for above in ("textarea", ".words .headline", ".alignment .answer >> nth=-1"):
        box = page.locator(above).first.bounding_box()
        assert box
        assert box["y"] + box["height"] <= DESK["height"]
    words, picture = page.locator(".alignment .words").bounding_box(), page.locator(".picture").bounding_box()
    assert words
    assert picture
    assert (DESK["height"] - words["y"]) / (picture["y"] + picture["height"] - words["y"]) >= 0.7
    assert page.get_by_test_id("stMain").evaluate("({ scrollHeight }) => scrollHeight") <= 1600


def test_four_models_fit_any_window_and_axe_finds_nothing(page: Page, app_url: str, folders: list[str]) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    open_page(page, app_url, "translate", models=folders, text=TEXT, target=TARGET, alternatives="open")
    expect(page.locator(".choices")).to_be_visible()
    assert_fits(page)
    assert serious(page) == []
    page.emulate_media(color_scheme="dark")
    settle(page)
    assert serious(page, "dark") == []
    page.set_viewport_size({"width": 390, "height": 900})
    settle(page)
    assert_fits(page)
    # With its choices open or not: words of 14 px or more.
    sizes = page.locator(".alignment :is(bdi, em, small, th, td, span, p)").evaluate_all(
        "all => all.map((each) => parseFloat(getComputedStyle(each).fontSize))"
    )
    assert min(sizes) >= 14


def test_a_matrix_of_many_columns_ends_before_the_words_beside_it(page: Page, app_url: str, folders: list[str]) -> None:
    page.set_viewport_size({"width": 1400, "height": 1000})
    open_page(page, app_url, "translate", models=folders[:1], text=" ".join([TEXT] * 3), target=TARGET)
    assert page.locator(".alignment .matrix").evaluate("(matrix) => matrix.scrollWidth - matrix.clientWidth") <= 1


def test_long_words_and_their_weights_are_whole_beside_other_models(page: Page, app_url: str, folders: list[str]) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    target = "L'environnement international."
    open_page(page, app_url, "translate", models=folders, text="The international environment.", target=target)
    cut = page.locator(".pair").evaluate(
        """pair => {
          const { right } = pair.parentElement.getBoundingClientRect();
          const isCut = each => each.scrollWidth > each.clientWidth || each.getBoundingClientRect().right > right;
          return [...pair.querySelectorAll("bdi, em")].filter(isCut).map(each => each.textContent);
        }"""
    )
    assert cut == []


def assert_fits(page: Page) -> None:
    """No part of the picture is wider than its frame."""
    frame = page.locator(".alignment").bounding_box()
    assert frame
    for part in (".translations", ".matrix", ".pair", ".small", ".choices"):
        box = page.locator(f".alignment {part}").bounding_box()
        assert box
        assert box["x"] >= frame["x"] - 1, part
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1, part


def hard_links(page: Page) -> list[int]:
    """The column of the dot in each row of the matrix."""
    links = "({ alignment: { state } }) => state.model.links.map(([, key]) => key)"
    return page.locator(".alignment[data-hero]").evaluate(links)
