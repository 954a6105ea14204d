"""BertViz's views in a browser with no network: the lines are the weights, and tokens are text."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

from attnviz import AttentionMap, Token
from attnviz.core.trace import DenseWeights, Kind
from attnviz.figures.bertviz_views import head_view, model_view
from attnviz.figures.theme import DARK

HOSTILE = (
    "<script>window.hacked=1</script>", "</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>",
    "<svg onload=window.hacked=1>", "a&b", "&lt;", '"', "مرحبا", "🙂", "中文", "\u2028",
)  # fmt: skip
LAYERS, HEADS = 2, 3
OPACITIES = "lines => lines.map(line => +line.getAttribute('stroke-opacity'))"


def make(kind: Kind, queries: tuple[str, ...], keys: tuple[str, ...], second: int | None = None) -> AttentionMap:
    shape = (LAYERS, HEADS, len(queries), len(keys))
    weights = np.random.default_rng(11).random(shape) * (np.tri(*shape[2:]) if kind == "decoder" else 1)
    weights /= weights.sum(axis=-1, keepdims=True)

    def row(texts: tuple[str, ...]) -> tuple[Token, ...]:
        return tuple(Token(text, 0, 1, segment=int(second is not None and at >= second)) for at, text in enumerate(texts))

    return AttentionMap(kind, row(queries), row(keys), DenseWeights(tuple(weights)), causal=kind == "decoder")


def show(page: Page, folder: Path, document: str) -> None:
    path = folder / "view.html"
    path.write_text(document, encoding="utf-8")
    page.goto(path.as_uri())


def texts(page: Page, selector: str) -> list[str]:
    return page.locator(selector).evaluate_all("found => found.map(element => element.textContent)")


WORDS = ("the", "cat", "the", "mat", "sat")
KINDS = pytest.mark.parametrize(("kind", "keys"), [("encoder", WORDS), ("decoder", WORDS), ("cross", ("le", "chat", "est"))])


@KINDS
def test_head_view_draws_every_weight(page, tmp_path, kind, keys):
    attention = make(kind, WORDS, keys)
    show(page, tmp_path, head_view(attention, layer=1))
    drawn = page.locator("#attention line").evaluate_all(OPACITIES)
    expected = attention.layer_weights(1).reshape(-1) / HEADS
    np.testing.assert_allclose(drawn, expected, atol=2e-5, rtol=0)
    assert texts(page, "#left text") == list(WORDS)
    assert texts(page, "#right text") == list(keys)


@KINDS
def test_model_view_draws_every_weight(page, tmp_path, kind, keys):
    attention = make(kind, WORDS, keys)
    show(page, tmp_path, model_view(attention))
    expected = np.concatenate([attention.layer_weights(layer).reshape(-1) for layer in range(LAYERS)])
    np.testing.assert_allclose(page.locator("line").evaluate_all(OPACITIES), expected, atol=6e-5, rtol=0)


def test_another_layer_is_drawn_when_it_is_chosen(page, tmp_path):
    attention = make("encoder", WORDS, WORDS)
    show(page, tmp_path, head_view(attention, layer=1))
    assert page.get_by_label("Layer").input_value() == "1"
    page.get_by_label("Layer").select_option("0")
    drawn = page.locator("#attention line").evaluate_all(OPACITIES)
    np.testing.assert_allclose(drawn, attention.layer_weights(0).reshape(-1) / HEADS, atol=2e-5, rtol=0)


def test_a_click_on_a_colour_switches_its_head_off(page, tmp_path):
    attention = make("encoder", WORDS, WORDS)
    show(page, tmp_path, head_view(attention))
    page.locator("svg > g:last-child > rect").nth(1).click()
    drawn = np.reshape(page.locator("#attention line").evaluate_all(OPACITIES), (HEADS, len(WORDS), len(WORDS)))
    np.testing.assert_allclose(drawn[[0, 2]], attention.layer_weights(0)[[0, 2]] / 2, atol=3e-5, rtol=0)
    assert not drawn[1].any()


@pytest.mark.parametrize("view", [head_view, model_view])
def test_the_menu_chooses_between_sentences(page, tmp_path, view):
    attention = make("encoder", WORDS, WORDS, second=3)
    show(page, tmp_path, view(attention))
    page.get_by_label("Sentences").select_option("First to second")
    drawn = page.locator("line").evaluate_all(OPACITIES)
    scale, layers = (HEADS, [0]) if view is head_view else (1, range(LAYERS))
    expected = np.concatenate([attention.layer_weights(layer)[:, :3, 3:].reshape(-1) for layer in layers]) / scale
    np.testing.assert_allclose(drawn, expected, atol=6e-5, rtol=0)


def test_hostile_tokens_show_as_typed_and_run_nothing(page, tmp_path):
    attention = make("encoder", HOSTILE, HOSTILE)
    show(page, tmp_path, head_view(attention))
    page.locator("#left text").nth(2).hover()
    assert texts(page, "#left text") == list(HOSTILE)
    check_nothing_ran(page)

    show(page, tmp_path, model_view(attention))
    page.mouse.click(*centre(page, "#attn_background_1_2"))
    assert texts(page, "text.token") == [*HOSTILE, *HOSTILE]
    assert "Layer 1, Head 2" in texts(page, "text.detail")
    check_nothing_ran(page)


def centre(page: Page, selector: str) -> tuple[float, float]:
    box = page.locator(selector).bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def check_nothing_ran(page: Page) -> None:
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 5


@pytest.mark.parametrize("view", [head_view, model_view])
def test_text_is_read_on_a_dark_background(page, tmp_path, view):
    show(page, tmp_path, view(make("encoder", WORDS, WORDS), theme=DARK))
    colours = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('text')).fill]"
    )
    assert colours == [as_rgb(DARK.background), as_rgb(DARK.text)]


def as_rgb(colour: str) -> str:
    return f"rgb({int(colour[1:3], 16)}, {int(colour[3:5], 16)}, {int(colour[5:7], 16)})"
