"""The tables of Heads, read back: every number in its cell, each beside what it is of, and no text that is markup."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.heads.atlas import Atlas, AtlasExample, ClaimFacts, HeadLink
from attnviz.analysis.heads.claim import parse
from attnviz.analysis.heads.measures import FURTHEST, MEASURES, NAMES, Statistics
from attnviz.analysis.heads.verdict import ClaimResult, Rival
from attnviz.figures.head_claims import (
    NONE,
    board,
    case_list,
    claims_table,
    distance_bars,
    heads_grid,
    likeness_grid,
    link_list,
    measure_grid,
    measures_table,
    rivals_table,
    suitable,
)
from attnviz.text.data_files import ParsedSentence, ParsedWord

# Two layers of three heads: head (1, 2) has two claims that hold, head (0, 1) one that is parked, all others none.
CLAIMS = (
    ClaimFacts("obj -> head", 1234, 0.125, -1, 0.375, place=False, untrained=0.25),
    ClaimFacts("any -> special", 2000, 0.0625, 1, 0.9, place=True),
    ClaimFacts('"<b>" -> previous', 99, 0.01, -1, 0.5, place=True, untrained=0.02),
)


@pytest.fixture
def atlas() -> Atlas:
    rates = np.arange(18, dtype=float).reshape(3, 2, 3) / 100
    supported = np.zeros((3, 2, 3), dtype=bool)
    for claim, head, rate in ((0, (1, 2), 0.75), (2, (1, 2), 0.35), (1, (0, 1), 0.95)):
        rates[claim][head], supported[claim][head] = rate, True
    return Atlas(
        "mine", "ewt", 1500, "attnviz atlas mine", CLAIMS, rates, rates - 0.01, rates + 0.02, supported,
        np.zeros((len(MEASURES), 2, 3)), np.zeros((2, 3, 2 * FURTHEST + 1)), {}, {},
    )  # fmt: skip


def buttons(drawn: str) -> dict[str, str]:
    """Each button by what a click picks."""
    return {re.findall(r'data-pick="([^"]*)"', button)[0]: button for button in re.findall(r"<button.*?</button>", drawn)}


def rows(drawn: str) -> list[list[str]]:
    """The cells of a table's rows without their markup, bars as nothing."""
    lines = re.findall(r"<tr.*?</tr>", re.search(r"<tbody>(.*)</tbody>", drawn)[1])
    return [[re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td.*?</td>", line)] for line in lines]


def measures(drawn: str) -> list[dict[str, str]]:
    """Of each bar its length, where its interval begins and how wide it is, and where its rival stands, in percent."""
    parts = {"rate": r'<i style="width:([\d.]+)%', "low": r'<b style="inset-inline-start:([\d.]+)%',
             "width": r"%;width:([\d.]+)%", "rival": r'<u style="inset-inline-start:([\d.]+)%'}  # fmt: skip
    bars = re.findall(r'<span class="measure">.*?</span>', drawn)
    return [{name: match[1] for name, part in parts.items() if (match := re.search(part, bar))} for bar in bars]


def test_a_cell_has_its_heads_best_claim_its_rate_and_how_far_it_is_ahead(atlas):
    drawn = heads_grid(atlas, chosen=(1, 2))
    cells = buttons(drawn)
    assert list(cells) == [f"{layer}.{head}" for layer in range(2) for head in range(3)]
    best = cells["1.2"]
    assert 'class="head holds"' in best
    assert 'aria-pressed="true"' in best
    assert "object → its verb" in best
    # 0.75 is 0.375 above the best offset, which is its best simple rule; 0.6 is full strength.
    assert "--strength:0.62" in best
    assert 'title="L1·H2: object → its verb 75\xa0%; best simple rule 38\xa0%"' in best
    assert "→ special tokens" in cells["0.1"]
    assert "95\xa0%" in cells["0.1"]
    assert [NONE in cells[place] for place in ("0.0", "0.1", "1.1", "1.2")] == [True, False, True, False]
    assert drawn.count('aria-pressed="true"') == 1


def test_a_claim_that_is_looked_for_stands_in_every_cell(atlas):
    drawn = heads_grid(atlas, chosen=(0, 0), find=2)
    cells = buttons(drawn)
    assert 'class="atlas finding"' in drawn
    assert "35\xa0%" in cells["1.2"]
    assert "--strength:0.00" in cells["0.0"]
    assert "12\xa0%" in cells["0.0"]
    assert "&lt;b&gt;" in drawn
    assert "<b>" not in drawn


def test_the_claims_of_a_head_stand_with_their_rivals_its_best_first(atlas):
    drawn = claims_table(atlas, 1, 2)
    assert rows(drawn) == [
        [
            "object → its verb",
            "",
            "75\xa0%",
            "74\xa0% to 77\xa0%",
            "13\xa0%",
            "38\xa0% (the word before)",
            "25\xa0%",
            "1,234",
            "holds",
        ],
        ["“&lt;b&gt;” → previous word", "", "35\xa0%", "34\xa0% to 37\xa0%", "1\xa0%", "–", "2\xa0%", "99", "holds"],
        ["→ special tokens", "", "11\xa0%", "10\xa0% to 13\xa0%", "6\xa0%", "–", "", "2,000", "no"],
    ]
    assert measures(drawn)[0] == {"rate": "75.0", "low": "74.0", "width": "3.0", "rival": "37.5"}
    assert list(buttons(drawn))[1] == "claim:&quot;&lt;b&gt;&quot; -&gt; previous"
    assert len(rows(claims_table(atlas, 1, 2, most=1))) == 1


def test_a_tested_claim_stands_above_its_rivals():
    rivals = (Rival("chance", 0.125), Rival("offset -1", 0.25), Rival("untrained", 0.3), Rival("shuffled", 0.2, counts=False))
    tested = ClaimResult(parse("obj -> head"), 1, 2, 0.6, 0.5, 0.75, 0.6, 99, 50, rivals, 0.001, holds=True)
    drawn = rivals_table(tested)
    assert [(name, rate) for name, _, rate in rows(drawn)] == [
        ("The claim", "60\xa0%"), ("Chance", "13\xa0%"), ("The rule “always the word before”", "25\xa0%"),
        ("The best head of an untrained model", "30\xa0%"), ("This head with the words shuffled", "20\xa0%"),
    ]  # fmt: skip
    assert measures(drawn)[:2] == [{"rate": "60.0", "low": "50.0", "width": "25.0"}, {"rate": "12.5"}]
    assert re.findall(r'<tr class="(\w+)"', drawn) == ["holds", *["fails"] * 4]
    assert 'class="holds"' not in rivals_table(replace(tested, holds=False))


def test_distances_stand_from_back_to_on_and_the_farthest_is_named():
    shares = np.zeros(2 * FURTHEST + 1)
    shares[FURTHEST - 1], shares[FURTHEST], shares[FURTHEST + 3] = 0.5, 0.25, 0.125
    drawn = distance_bars(shares)
    bars = re.findall(r'<i( class=own)? style="height:([\d.]+)%" title="([+−]\d+): ([\d.]+)\xa0%"', drawn)
    assert [step for _, _, step, _ in bars] == [f"{step:+d}".replace("-", "−") for step in range(-FURTHEST, FURTHEST + 1)]
    assert {step: (height, share) for _, height, step, share in bars if float(share)} == {
        "−1": ("100.0", "50.0"), "+0": ("50.0", "25.0"), "+3": ("25.0", "12.5"),
    }  # fmt: skip
    assert [step for own, _, step, _ in bars if own] == ["+0"]
    assert "most, 50\xa0%, goes −1 tokens" in drawn


def test_cases_that_hold_come_first_with_the_words_that_look_and_are_looked_at():
    words = tuple(ParsedWord(text, start, start + len(text)) for text, start in (("a<b", 0), ("sees", 4), ("it", 9)))
    sentence = ParsedSentence("a<b sees it.", words)
    drawn = case_list([sentence], [AtlasExample(0, 2, 1, True), AtlasExample(0, 1, 0, False), AtlasExample(0, 1, 3, False)])
    cases = re.findall(r"<button.*?</button>", drawn)
    assert drawn.index("it holds") < drawn.index(cases[0]) < drawn.index("it fails") < drawn.index(cases[1])
    assert "a&lt;b <mark>sees</mark> <b>it</b>." in cases[0]
    assert "<s>a&lt;b</s> <b>sees</b> it." in cases[1]
    assert "special token" not in cases[1]
    assert "a&lt;b <b>sees</b> it. <em>→ a special token</em>" in cases[2]
    assert ["wrong" in case for case in cases] == [False, True, True]
    assert all('data-pick="open:0"' in case for case in cases)


def test_sentences_in_which_a_head_acts_have_both_words_and_the_weight():
    words = tuple(ParsedWord(text, start, start + len(text)) for text, start in (("a<b", 0), ("sees", 4), ("it", 9)))
    drawn = link_list([ParsedSentence("", ()), ParsedSentence("a<b sees it.", words)], [HeadLink(1, 2, 0, 0.876)])
    assert "<mark>a&lt;b</mark> sees <b>it</b>. <em>88\xa0%</em>" in drawn
    assert 'data-pick="open:1"' in drawn


def test_sentences_that_a_school_would_not_project_are_left_out():
    texts = ("They hide a covert nuclear weapons program.", "I can abuse it.", "Try googling it.", "The skill of a warm hello.")
    sentences = [ParsedSentence(text, ()) for text in texts]
    examples = [AtlasExample(place, 0, 0, place % 2 == 0) for place in range(4)]
    assert [example.sentence for example in suitable(sentences, examples)] == [2, 3]
    assert suitable(sentences, [HeadLink(place, 0, 0, 0.5) for place in range(4)])[0] == HeadLink(2, 0, 0, 0.5)


@pytest.mark.parametrize(
    ("draw", "texts", "strengths"),
    [
        (lambda each: measure_grid(each, "entropy", chosen=(1, 0)), ["2.00 bits", "1.00 bits", "–", "0.50 bits"],
         ["1.00", "0.50", "0.00", "0.25"]),
        (lambda each: likeness_grid(np.where(np.isnan(each), -0.125, each / 2), chosen=(1, 0)),
         ["1.00", "0.50", "−0.12", "0.25"], ["1.00", "0.50", "0.00", "0.25"]),
    ],
    ids=["measure", "likeness"],
)  # fmt: skip
def test_a_grid_has_each_heads_number_where_the_head_stands(draw, texts, strengths):
    drawn = draw(np.array([[2.0, 1.0], [np.nan, 0.5]]))
    cells = buttons(drawn)
    assert list(cells) == ["0.0", "0.1", "1.0", "1.1"]
    assert re.findall(r'class="rate">([^<]*)<', drawn) == texts
    assert re.findall(r"--strength:([\d.]+)", drawn) == strengths
    assert re.findall(r'class="where">([^<]*)<', drawn) == ["L0·H0", "L0·H1", "L1·H0", "L1·H1"]
    assert [place for place, cell in cells.items() if 'aria-pressed="true"' in cell] == ["1.0"]


def test_the_measures_of_a_head_are_its_own_and_what_was_not_measured_is_said():
    empty = Statistics.empty(2, 3)
    counts, sums = empty.rows.copy(), empty.sums.copy()
    place = NAMES.index("distance")
    counts[place], sums[place, 1, 2], sums[place, 0, 0] = 2000, 3000.0, 9000.0
    statistics = replace(empty, rows=counts, sums=sums, texts=np.sign(counts) * 2)
    drawn = measures_table(statistics, 1, 2, chosen="distance")
    table = dict(zip(NAMES, rows(drawn), strict=True))
    assert table["distance"] == ["Distance", "1.50 tokens", "1.50 tokens to 1.50 tokens", "2,000"]
    # One text tells no interval.
    one = rows(measures_table(replace(statistics, texts=np.sign(counts)), 1, 2, chosen="distance"))
    assert one[place] == ["Distance", "1.50 tokens", "–", "2,000"]
    assert table["entropy"] == ["Entropy", "–", "not measured", "0"]
    assert [name for name, button in buttons(drawn).items() if 'aria-pressed="true"' in button] == ["distance"]


def test_a_cell_of_the_board_is_named_by_its_row_and_column():
    drawn = np.zeros((8, 8), dtype=bool)
    drawn[2, 5] = True
    cells = buttons(board(drawn))
    assert [place for place, cell in cells.items() if 'aria-pressed="true"' in cell] == [f"cell:{2 * 8 + 5}"]
    assert 'aria-label="word 3 looks at word 6"' in cells["cell:21"]
