"""The table of ways, and the heads' shares."""

import re

import numpy as np

from attnviz.analysis.summary_selection import Rouge
from attnviz.figures.summary_passage import Row, heads_agreement, selectors_table
from attnviz.figures.theme import DARK


def test_a_row_is_a_way_that_can_be_chosen_and_the_chosen_one_is_marked():
    rows = [Row("first", "First", "A <b>.", "A مرحبا"), Row("random", "Random & co", "C.", "C")]
    table = selectors_table(rows, chosen="first")
    assert re.findall(r'<button data-pick="(\w+)" aria-pressed="(\w+)">([^<]*)<', table) == [
        ("first", "true", "First"), ("random", "false", "Random &amp; co"),
    ]  # fmt: skip
    assert "A &lt;b&gt;." in table
    assert re.findall(r'<tr data-pick="(\w+)" class=chosen>', table) == ["first"]


def test_other_rows_say_where_they_differ_from_the_one_shown_large():
    kept = [("a", "S.", "x y"), ("b", "S.", "x z y"), ("c", "T.", "x"), ("d", "S.", "y x")]
    rows = [Row(key, key, sentences, words) for key, sentences, words in kept]
    lines = re.findall(r'<p dir="auto" title="([^"]*)">([^<]*)</p>', selectors_table(rows, chosen="a"))
    assert [title for title, _ in lines] == [text for _, *texts in kept for text in texts]
    said = [line for _, line in lines]
    assert said == ["S.", "x y", "The same sentences", "Also: z", "T.", "Without: y", "The same sentences", "The same words"]


def figures(table):
    return re.findall(r'<td class="(figure(?: best)?)">([\d.–]+)<', table)


def test_without_a_reference_the_figures_are_the_measured_ones():
    table = selectors_table(
        [Row("a", "a", "", "", measured=39.81), Row("b", "b", "", ""), Row("c", "c", "", "", measured=28.06)]
    )
    assert re.findall(r"<th class=figure>([^<]*)", table) == ["ROUGE-1"]
    assert figures(table) == [("figure best", "39.8"), ("figure", "–"), ("figure", "28.1")]
    assert figures(selectors_table([Row("a", "a", "", "")])) == []


def test_the_best_of_every_column_stands_out():
    rows = [Row("a", "a", "", "", Rouge(0.5, 0.0, 0.125), measured=1.0), Row("b", "b", "", "", Rouge(0.25, 0.0, 0.5))]
    assert figures(selectors_table(rows)) == [
        ("figure best", "50.0"), ("figure", "0.0"), ("figure", "12.5"), ("figure", "25.0"), ("figure", "0.0"),
        ("figure best", "50.0"),
    ]  # fmt: skip


def test_every_head_has_its_share_and_a_place_to_click():
    shares = np.linspace(0, 1, 15).reshape(3, 5)
    drawn = heads_agreement(shares, selected=(2, 1), theme=DARK)
    cells = re.findall(r'data-pick="(\d)\.(\d)" aria-pressed="(\w+)" title="([^"]*)".*?background:(#\w+).*?<span>(\d+)<', drawn)
    assert [(int(layer), int(head)) for layer, head, *_ in cells] == [*np.ndindex(3, 5)]
    for layer, head, pressed, title, colour, figure in cells:
        share = shares[int(layer), int(head)]
        assert title == f"L{layer}·H{head}: {100 * share:.1f}\xa0% to kept words"
        assert (figure, colour) == (f"{100 * share:.0f}", DARK.colour(share))
        assert pressed == str((layer, head) == ("2", "1")).lower()
    # Of the mean of a layer, all of its heads.
    assert re.findall(r'data-pick="([^"]*)" aria-pressed="true"', heads_agreement(shares, selected=(0, None))) == [
        f"0.{head}" for head in range(5)
    ]
