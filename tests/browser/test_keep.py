"""What a person takes along from a page is what the page shows; what was taken along opens again."""

import csv
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

import attnviz
from tests.browser.pages import SENTENCE, open_page, save_download, settle


def open_keep(page: Page) -> None:
    summary = page.get_by_text("The picture in Python")
    # It stays open from run to run.
    if not summary.is_visible():
        page.get_by_role("button", name="Download", exact=True).click()
    expect(summary).to_be_visible()


def test_downloads_are_what_the_page_shows_and_the_trace_opens_again(page: Page, app_url: str, tmp_path: Path) -> None:
    open_page(page, app_url)
    open_keep(page)
    want = attnviz.load("minilm").trace(SENTENCE)
    table = save_download(page, "CSV", tmp_path)
    assert table.name == "minilm-L3H1.csv"
    rows = list(csv.DictReader(table.read_text(encoding="utf-8-sig").splitlines()))
    weights = np.array([row["weight"] for row in rows], dtype=np.float32).reshape(16, 16)
    np.testing.assert_allclose(weights, want.encoder.weights(3, 1), atol=1e-6)
    page.get_by_text("The picture in Python").click()
    expect(page.get_by_text("av.heatmap(trace, layer=3, head=1)")).to_be_visible()
    saved = save_download(page, "Trace file", tmp_path)
    opened = attnviz.open(saved)
    np.testing.assert_allclose(opened.encoder.weights(3, 1), want.encoder.weights(3, 1), atol=1e-3)

    # Files are opened in one place, on Home.
    expect(page.locator("input[type=file]")).to_have_count(0)
    open_page(page, app_url, "", text="Something else.")
    page.get_by_role("button", name="Open a trace file").click()
    page.locator("input[type=file]").set_input_files(saved)
    expect(page.get_by_text("Opened from minilm.attn")).to_be_visible()
    settle(page)
    expect(page.locator("textarea").first).to_have_value(SENTENCE)
    expect(page.locator(".story")).to_contain_text("L3·H1 sends “it” to “animal” with weight 68\xa0%")
    page.get_by_role("button", name="Close the file").click()
    expect(page.get_by_text("Opened from minilm.attn")).to_have_count(0)
