"""The experiment as HTML: every word once and escaped, bars as long as their numbers, and a click that names a word."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.matters import AttributionReport, Faithfulness, MaskedOutput, WordRemovals
from attnviz.figures import matters_text as figure
from attnviz.figures.matters_text import WordMarks, removals_figure, shaded_text
from attnviz.figures.theme import DARK

WORDS = ("<script>", "a&b", '"', "مرحبا", "😀", "中文", "</script>")
SHARES = {"attention": np.arange(7.0), "random": np.arange(7.0)}
FIGURES = {"attention": Faithfulness(0.1, 0.1), "random": Faithfulness(0.2, 0.1)}
REPORT = AttributionReport("the answer “<b>”", 0.8, WORDS, frozenset({2}), SHARES, FIGURES, {})
REMOVALS = WordRemovals(
    "answer", MaskedOutput(0.8, "<b>"), np.array([0.4, 0.8, 0.8, 0.9, 0.2, 0.8, 0.79]), (4, 0), ("<i>", "<b>"),
    (0, 0, 0, 1, 1, 1, 1),
)  # fmt: skip
LOOKED = ("attention", "Where <it> looked")


def test_words_are_escaped_shaded_by_what_is_lost_and_named_in_the_bars() -> None:
    drawn = removals_figure(REPORT, REMOVALS, looked=LOOKED)
    assert not re.findall(r"<(?:script|i>|b>|it)", drawn.replace('<b class="number">', "").replace("<bdi>", ""))
    text, rest = drawn.split('class="beside"')
    assert re.findall(r'data-pick="(\d+)"', text) == ["0", "1", "3", "4", "5", "6"]
    # The passage begins on a line of its own, with the fourth word.
    assert text.index("<br>") < text.index("مرحبا") < text.index("中文")
    assert text.count("<br>") == 1
    (named,) = re.findall(r'<button class="named" data-pick="(\d+)"[^>]*title="without it: 20\xa0%"', text)
    assert named == "4"
    # The one without which it is surer is blue, as strong as its part of the largest change.
    colours = dict(re.findall(r'data-pick="(\d+)"[^>]*background:(#\w+)', text))
    assert (colours["4"], colours["1"]) == ("#d55e00", "#ffffff")
    assert int(colours["3"][5:], 16) > int(colours["3"][1:3], 16)
    bars = re.findall(r'<i style="width:([\d.]+)%"></i></span><b class="number">(\d+)\xa0%</b>', rest)
    assert bars == [("80.0", "80"), ("20.0", "20"), ("40.0", "40")]
    assert re.findall(r'class="bar[^"]*" data-pick="(\d+)"', rest) == ["4", "0"]
    assert "Where &lt;it&gt; looked" in rest
    assert "data-pick" not in rest.split("looked")[1]


def test_the_removed_words_are_named_and_have_a_bar_of_their_own() -> None:
    drawn = removals_figure(REPORT, REMOVALS, (0, 3), MaskedOutput(0.5, "no"), looked=LOOKED, theme=DARK)
    assert re.findall(r'<button class="taken named" data-pick="(\d+)" aria-pressed="true"', drawn) == ["0", "3"]
    (bar,) = re.findall(r'<div class="bar named">.*?width:([\d.]+)%', drawn)
    assert bar == "50.0"


@pytest.mark.parametrize("kind", ["similarity", "sentence", "translation"])
def test_other_outputs_have_bars_of_their_own_scale(kind: str) -> None:
    drawn = removals_figure(REPORT, replace(REMOVALS, kind=kind), looked=LOOKED)
    widths = [float(each) for each in re.findall(r'<i style="width:([\d.]+)%', drawn)]
    # Shares of a sentence are small: the largest of all fills its bar.
    top = 0.9 if kind == "sentence" else 1.0
    assert widths == pytest.approx([100 * p / top for p in (0.8, 0.2, 0.4)], abs=0.06)
    assert ("0.20" in drawn) == (kind == "similarity")


def test_of_a_long_text_the_words_scroll_and_where_attention_does_not_apply_its_reason_stands(monkeypatch) -> None:
    monkeypatch.setattr(figure, "MANY", 6)
    drawn = removals_figure(REPORT, REMOVALS, looked=LOOKED)
    assert drawn.count("class=long") + drawn.count('class="long"') == 2
    refused = replace(REPORT, shares={"random": SHARES["random"]}, refused={"attention": "No <attention>."})
    assert "<p>No &lt;attention&gt;.</p>" in removals_figure(refused, REMOVALS, looked=LOOKED)


def test_a_text_that_cannot_be_clicked_has_no_button() -> None:
    drawn = shaded_text(WORDS, SHARES["attention"], WordMarks({2}), clickable=False)
    assert "<button" not in drawn
    assert drawn.count('class="word"') == len(WORDS) - 1
