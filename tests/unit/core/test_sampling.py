"""What comes next, as a value: it is checked when it is built."""

import itertools

import numpy as np
import pytest

from attnviz.core.errors import PromptError, TraceError
from attnviz.core.sampling import TEMPERATURES, Continuation, WritingOptions, draw


def parts(**changes) -> dict:
    """Two tokens, each with two candidates of a half and a quarter, and a quarter for all others."""
    logs = np.log(np.array([[0.5, 0.25], [0.5, 0.25]], np.float32))
    rest = np.log(np.full((2, len(TEMPERATURES)), 0.25, np.float32))
    made = {"candidates": np.array([[3, 1], [1, 3]], np.int32), "log_probabilities": logs, "rest": rest}
    vocabulary = {1: ("Ġa", " a"), 3: ("b", "b")}
    return {
        "start": 1,
        "pieces": ("x", "y"),
        **made,
        "given": np.array([0, -1], np.float32),
        "vocabulary": vocabulary,
    } | changes


@pytest.mark.parametrize("options", [{"temperature": 0.05}, {"temperature": 2.5}, {"temperature": 1, "top_k": 3}], ids=str)
def test_where_the_mass_of_the_rest_is_not_known_no_share_is_told(options):
    with pytest.raises(PromptError, match=r"temperatures 0.1 to 2.0, and of a top-k up to 2 at any"):
        Continuation(**parts()).next_tokens(0, WritingOptions(**options))
    # Of a vocabulary of two there is no rest.
    logs = np.log(np.array([[0.75, 0.25]] * 2, np.float32))
    whole = Continuation(**parts(log_probabilities=logs, rest=np.full((2, len(TEMPERATURES)), -np.inf, np.float32)))
    actual = [each.probability for each in whole.next_tokens(0, WritingOptions(**options))]
    scores = logs[0] / options["temperature"]
    assert actual == pytest.approx((np.exp(scores) / np.exp(scores).sum()).tolist())


def test_it_names_what_could_come():
    made = Continuation(**parts())
    assert [(each.text, each.probability) for each in made.next_tokens(1)] == [(" a", 0.5), ("b", 0.25)]
    assert made.written == ("y",)


@pytest.mark.parametrize(("position", "named"), [(2, "2"), (-3, "-3"), ("1", "str '1'"), (1.0, "float 1.0")])
def test_a_position_that_is_none_is_one_sentence(position, named, unchecked):
    with pytest.raises(PromptError, match=f"positions 0 to 1, not {named}"):
        Continuation(**parts()).next_tokens(position)


@pytest.mark.parametrize(
    "changes",
    [
        {"start": 0}, {"start": 3}, {"pieces": ("x",)}, {"given": np.zeros(3, np.float32)}, {"vocabulary": {1: ("a", "a")}},
        {"vocabulary": {1: ("a", "a"), 3: ("b", chr(0xD83D))}}, {"pieces": ("x", chr(0xD83D))},
        {"candidates": np.zeros((2, 3), np.int32)}, {"rest": np.zeros((2, 3), np.float32)},
        {"log_probabilities": np.log(np.array([[0.5, 0.4], [0.5, 0.4]], np.float32))},
        {"log_probabilities": np.log(np.array([[0.25, 0.5], [0.5, 0.25]], np.float32))},
        {"log_probabilities": np.full((2, 2), np.nan, np.float32)}, {"given": np.array([0, np.nan], np.float32)},
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(changes, unchecked):
    with pytest.raises(TraceError):
        Continuation(**parts(**changes))


@pytest.mark.parametrize(
    "options",
    [
        {"tokens": -1},
        {"tokens": 2000},
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"top_p": 1.1},
        {"top_k": -1},
        {"seed": -1},
    ],
)
def test_options_have_their_ranges(options):
    with pytest.raises(PromptError, match=next(iter(options))):
        WritingOptions(**options)


def test_each_step_draws_anew_with_the_shares_and_the_same_seed_draws_the_same():
    shares, options = np.array([0.5, 0.3, 0.0, 0.2]), WritingOptions(temperature=1, seed=7)
    drawn = [draw(shares, options, step) for step in range(4000)]
    # Four standard deviations of a share of 4,000 draws are at most 4 · √(.25 / 4000).
    assert np.bincount(drawn, minlength=4) / 4000 == pytest.approx(shares, abs=0.032)
    assert drawn.count(2) == 0
    # What a step draws tells nothing of the next one.
    assert np.mean([one == other for one, other in itertools.pairwise(drawn)]) == pytest.approx(0.38, abs=0.032)
    assert drawn[10:20] == [draw(shares, options, step) for step in range(10, 20)]
