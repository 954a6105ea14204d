"""Sentences about why a word is written say what the numbers say."""

import re

import numpy as np
import pytest

from attnviz.analysis.next_and_why import (
    describe_correlation,
    describe_direct,
    describe_effect,
    describe_lens,
    describe_patch,
    why_title,
)
from attnviz.analysis.wording import plain
from attnviz.core.errors import TraceError
from attnviz.core.trace import Token
from attnviz.core.why import ComparedWords, LogitLens, Parts, Patches
from attnviz.figures.why_lens_and_patches import lens_strip, lens_table, parts_grid, patches_grid, why_page

TOKENS = (Token("<Mary>", 0, 6), Token("to", 7, 9))


def parts(**changed) -> Parts:
    keys = np.array([[[2.0, 0.5], [-1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.001, 0.0], [0.0, -0.75]]])
    facts = {"embedding": 0.25, "heads": keys.sum(axis=2), "keys": keys, "mlps": np.array([1.0, -0.5]), "biases": {"b": 0.125}}
    facts |= {"logit": 1.626, "words": ComparedWords(" Mary", " John"), **changed}
    return Parts(model="tiny", place=2, tokens=TOKENS, **facts)


def test_a_sum_that_does_not_close_cannot_be():
    assert parts().total == pytest.approx(1.626)
    assert parts().strongest == (0, 0)
    with pytest.raises(TraceError, match=r"sum to 1\.6260, and the model says 1\.7000"):
        parts(logit=1.7)
    with pytest.raises(TraceError):
        parts(embedding=float("nan"))


def test_a_head_is_told_by_what_it_adds_and_by_what_is_lost_without_it():
    made = parts()
    assert plain(why_title(made)) == "Why “Mary” rather than “John”"
    assert (
        plain(describe_direct(made, 0, 0))
        == "L0·H0 itself adds 2.50: +2.00 from what it read at “<Mary>”, +0.50 from all other words."
    )
    assert plain(describe_direct(made, 1, 2)) == "L1·H2 itself takes 0.75 away: −0.75 from what it read at “to”."
    assert plain(describe_direct(made, 1, 1)) == "L1·H1 itself adds 0.00."
    lost = "With L0·H0 off, and all that reads it run again, the difference falls to 0.50 (−1.13)."
    assert plain(describe_effect(made, 0, 0, 0.5)) == lost
    alone = parts(words=ComparedWords(" Mary"))
    assert "the logit stays 1.63" in plain(describe_effect(alone, 0, 0, 1.627))


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ((9, 2, 1), "becomes the likeliest in the last layer alone"),
        ((9, 1, 1), "is the likeliest from L0 on"),
        ((1, 1, 1), "is the likeliest from the token's own vector on"),
        ((1, 2, 1), "becomes the likeliest in the last layer alone"),
    ],
)
def test_the_lens_says_from_where_on_the_word_stands(ranks, said):
    column = np.array(ranks)[:, None]
    likeliest = tuple((" <b>" if rank > 1 else " Mary",) for rank in ranks)
    share = np.full((3, 1), 0.5)
    lens = LogitLens("tiny", TOKENS[1:], (" Mary",), likeliest, share, np.log(share), column, share)
    assert plain(describe_lens(lens, 0)) == f"“Mary” {said} (50\xa0% in the end)"
    drawn = lens_strip(lens, 0)
    assert drawn.count('class="own"') == ranks.count(1)
    assert "<b>" not in drawn


def test_pictures_escape_what_they_name_and_mark_the_head():
    grid = parts_grid(parts(words=ComparedWords(" <i>", " John")), chosen=(0, 1))
    assert "&lt;i&gt;" in grid
    assert grid.count('aria-pressed="true"') == 1
    assert 'data-pick="1.2"' in grid
    change = np.array([[1.0, 2.0], [3.0, 0.0]])
    stream = Patches("tiny", "stream", ComparedWords("a", "b"), ("x", "y"), (TOKENS, TOKENS), 0.0, 3.0, change, change)
    drawn = patches_grid(stream, chosen=(1, 0))
    assert "&lt;Mary&gt;" in drawn
    assert drawn.count('aria-pressed="true"') == 1
    assert 'data-pick="1.0" aria-pressed="true" title="L0 at “&lt;Mary&gt;” changes it by +3.00"' in drawn
    assert stream.correlation == pytest.approx(1)
    assert stream.frame.share.tolist() == pytest.approx([1 / 3, 2 / 3, 1, 0])
    assert why_page(stream)._repr_html_().startswith("<iframe")


def patched(**changed) -> Patches:
    change = np.array([[-1.0, -2.0], [0.5, 0.0]])
    facts = {"what": "heads", "words": ComparedWords(" Mary", " John"), "patched": 4.0 + change, "estimate": 4.0 + change / 2}
    return Patches(model="tiny", texts=("x", "y"), tokens=(TOKENS, TOKENS), one=4.0, other=-4.0, **facts | changed)


def test_a_part_of_another_text_is_told_beside_random_ones():
    made = patched(random=4.0 + np.array([[-0.5, 0.25], [0.0, -1.5], [0.5, 0.0]]))
    assert made.strongest == ((0, 1), (0, 0), (1, 0))
    told, random = map(plain, describe_patch(made, 0, 1))
    assert told == (
        "The logit of “Mary”, which its probability is made of, less that of “John” is 4.00; "
        "with L0·H1 of the other text it is 2.00: "
        "25\xa0% of the way to the −4.00 of the other text."
    )
    assert random == "The same part of 2 random texts changes it by −0.50 to +0.25: this text does more than any of them."
    assert plain(describe_patch(made, 0, 0)[1]).endswith("changes it by −1.50 to +0.00: no more than chance.")
    # What was compared with no random text says nothing of them.
    assert len(describe_patch(made, 1, 1)) == len(describe_patch(patched(), 0, 1)) == 1
    assert "with L0·H1 of the other text it is about 3.00" in plain(describe_patch(patched(patched=None), 0, 1)[0])


def test_a_model_may_have_more_heads_than_a_text_has_tokens():
    change = np.arange(-3.0, 3.0).reshape(2, 3)
    made = patched(patched=4.0 + change, estimate=4.0 + change)
    assert made.frame[["layer", "head", "change"]].to_numpy().tolist() == [
        [layer, head, change[layer, head]] for layer, head in np.ndindex(2, 3)
    ]


def test_estimates_say_that_they_are():
    assert describe_correlation(patched(patched=None)).startswith("Estimated: ")
    assert describe_correlation(patched()).endswith("the quick estimate correlates with them by 1.00.")
    assert "estimate" not in describe_correlation(patched(patched=np.full((2, 2), 4.0)))


@pytest.mark.parametrize(
    ("number", "cells"),
    [
        ("probability", ["Mary", "to", "&lt;b&gt;", "␣"]), ("log p", ["−0.5", "−1.0", "−3.0", "−2.0"]),
        ("rank", ["1", "1", "1,500", "7"]), ("entropy", ["1.2", "2.0", "9.1", "3.0"]),
    ],
)  # fmt: skip
def test_the_table_of_the_lens_shows_the_last_layer_first(number, cells):
    likeliest = (("<b>", " "), (" Mary", " to"))
    arrays = np.array([[0.2, 0.3], [0.6, 0.4]]), np.array([[-3.0, -2.0], [-0.5, -1.0]]), np.array([[1500, 7], [1, 1]])
    lens = LogitLens("tiny", TOKENS, (" Mary", " to"), likeliest, *arrays, np.array([[9.1, 3.0], [1.2, 2.0]]))
    drawn = lens_table(lens, number, chosen=(1, 0))
    assert re.findall(r"<bdi>([^<]*)</bdi></button>", drawn) == cells
    assert re.findall(r'data-pick="([\d.]+)"', drawn) == ["1.0", "1.1", "0.0", "0.1"]
    assert 'class=own data-pick="1.0" aria-pressed="true" title="L0, behind “&lt;Mary&gt;”: “Mary” 60' in drawn
    assert drawn.count("class=own") == 2
    assert "“Mary” is number 1,500, ln p −3.00; entropy 9.10 bits" in drawn
