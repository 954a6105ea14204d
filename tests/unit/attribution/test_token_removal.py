"""Faithfulness by hand: a model whose output is a product over its tokens, so that every text without some is known."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

import attnviz
from attnviz.analysis.matters import PARTS, MaskedOutput, kendall_tau
from attnviz.attribution import token_removal
from attnviz.attribution.methods import METHODS, USUAL
from attnviz.attribution.token_removal import (
    MethodShares,
    attribution_report,
    deletion_curve,
    faithfulness,
    outcomes,
    removable_words,
    shares_by_method,
    without_words,
    word_removals,
    words,
)
from attnviz.core.errors import ArgumentError, ModelError, PromptError
from attnviz.core.trace import Prompt, Shares, Token
from attnviz.models.capabilities import capabilities
from attnviz.models.targets import BoundTarget, Outcome
from tests.factories import special

GONE = 99
# ln p(output) falls by so much when the token in this place goes; the last belongs to the output, and never goes.
COST = torch.tensor([0.5, 0.0625, 0.25, 1.0, 8.0], dtype=torch.float64)
TOKENS = tuple(Token(text, 2 * place, 2 * place + 1, word=place) for place, text in enumerate("abcde"))


def bound_of(tokens: tuple[Token, ...] = TOKENS, fixed: frozenset[int] = frozenset({4})) -> BoundTarget:
    def run(ids: torch.Tensor) -> Outcome:
        log = -((ids == GONE) * COST).sum(dim=1)
        return Outcome(log, log)

    return BoundTarget("it", tokens, torch.arange(5), torch.eye(5), GONE, fixed, {4: 1.0}, run, (), 5)


def p(*gone: int) -> float:
    return float(torch.exp(-COST[list(gone)].sum()))


def shares_of(values: list[float]) -> MethodShares:
    return MethodShares({"rollout": Shares("rollout", "it", TOKENS, np.array(values))}, {"rollout": 7.0}, {})


def test_comprehensiveness_takes_the_most_important_words_and_sufficiency_leaves_only_them():
    # Of four words 1, 5, 10 and 20 % are one word, and 50 % are two; the order of these shares is 3, 0, 2, 1.
    (figures,) = faithfulness(bound_of(), shares_of([0.6, 0.1, 0.2, 0.9, 5.0])).values()
    n = len(PARTS)
    assert figures.comprehensiveness == pytest.approx(1 - ((n - 1) * p(3) + p(3, 0)) / n)
    assert figures.sufficiency == pytest.approx(1 - ((n - 1) * p(0, 1, 2) + p(1, 2)) / n)
    assert (figures.tau, figures.milliseconds) == (None, 7.0)


def test_agreement_with_leaving_one_word_out_is_kendalls():
    bound = bound_of()
    made = shares_by_method(bound, [METHODS["leave-one-out"], METHODS["random"]])
    np.testing.assert_allclose(made.shares["leave-one-out"].values, [*COST[:4].tolist(), 0.0])
    figures = faithfulness(bound, made)
    assert figures["leave-one-out"].tau == pytest.approx(1)
    order, other = COST[:4].numpy(), made.shares["random"].values[:4]
    pairs = [np.sign((order[i] - order[j]) * (other[i] - other[j])) for i in range(4) for j in range(i)]
    assert figures["random"].tau == pytest.approx(np.mean(pairs))


def test_words_that_are_tied_in_one_order_count_as_in_kendalls_tau_b():
    one, other = np.array([3.0, 1.0, 1.0, 2.0, 7.0]), np.array([2.0, 2.0, 2.0, 5.0, 4.0])
    assert kendall_tau(one, other) == pytest.approx(kendalltau(one, other).statistic)
    assert kendall_tau(one, np.zeros(5)) == kendall_tau(one[:1], other[:1]) == 0


def test_a_curve_takes_words_in_an_order_and_in_its_reverse():
    words = tuple((place,) for place in range(4))
    curve = deletion_curve(bound_of(), words, [3, 0, 2, 1])
    assert curve.gone == (0, 1, 2, 3, 4)
    assert curve.most_first == pytest.approx((1, p(3), p(3, 0), p(3, 0, 2), p(3, 0, 2, 1)))
    assert curve.least_first == pytest.approx((1, p(1), p(1, 2), p(1, 2, 0), p(3, 0, 2, 1)))


def test_leaving_a_word_out_leaves_all_its_pieces_out_and_each_has_its_part():
    split = (Token("a", 0, 1, word=0), Token("b", 1, 2, word=0), *TOKENS[2:])
    np.testing.assert_allclose(token_removal.leave_one_out(bound_of(split)), [0.28125, 0.28125, 0.25, 1.0, 0.0])


def test_words_are_taken_whole_and_what_is_fixed_stays():
    tokens = (
        Token("un", 0, 2, word=0),
        Token("do", 2, 4, word=0),
        Token("it", 5, 7, word=1),
        Token("[SEP]", 0, 0, special=True),
    )
    assert token_removal.words(tokens, frozenset({3})) == ((0, 1), (2,))
    assert token_removal.words(tokens, frozenset({1, 3})) == ((2,),)
    with pytest.raises(ModelError, match="no word besides the output's own"):
        faithfulness(bound_of(fixed=frozenset(range(5))), shares_of([0.0] * 5))


def test_a_text_without_some_words_is_run_as_it_is_left(monkeypatch):
    tokens = (*TOKENS[:2], replace(TOKENS[2], word=1), *TOKENS[3:])
    bound = replace(bound_of(tokens), output_text=lambda ids: "".join("abcde_"[min(at, 5)] for at in ids[0].tolist()))
    monkeypatch.setattr(token_removal, "bind_target", lambda *_: bound)
    model, prompt, cases = attnviz.load("minilm"), Prompt("a b c d e"), (((), (), "abcde"), ((1,), (1, 2), "a__de"))
    for removed, gone, text in (*cases, ((0, 2), (0, 3), "_bc_e"), ((3,), (), "abcde")):
        masked = without_words(model, prompt, "it", removed)
        assert (masked.probability, masked.text) == (pytest.approx(p(*gone)), text)
    monkeypatch.setattr(token_removal, "bind_target", lambda *_: bound_of())
    assert without_words(model, prompt, "it", (0,)).text is None


def test_the_model_is_run_without_each_word_and_says_what_it_says_without_the_strongest(monkeypatch):
    tokens = (
        special("[CLS]"),
        Token("un", 0, 2, word=0),
        Token("do", 2, 4, word=0),
        *(replace(each, segment=1) for each in TOKENS[3:]),
    )
    bound = bound_of(tokens, frozenset({0, 4}))
    said = replace(bound, output_text=lambda ids: "".join("abcde_"[min(at, 5)] for at in ids[0].tolist()))
    monkeypatch.setattr(token_removal, "bind_target", lambda *_: said)
    model, prompt = attnviz.load("minilm"), Prompt("undo d e", pair="it")
    removals = word_removals(model, prompt)
    # "undo" has two tokens; "e" is the output's own, and stays.
    np.testing.assert_allclose(removals.without, [p(1, 2), p(3), 1.0])
    assert (removals.kind, removals.before) == ("similarity", MaskedOutput(1.0, "abcde"))
    assert (removals.strongest, removals.outputs, removals.segments) == ((1, 0), ("abc_e", "a__de"), (0, 1, 1))
    assert removals.output(0) == MaskedOutput(removals.without[0], "a__de")
    assert removals.output(2) is None
    # A translation that was typed is no output of the model's.
    typed = word_removals(model, replace(prompt, target="ça"))
    assert (typed.before.text, typed.outputs) == (None, (None, None))
    assert without_words(model, replace(prompt, target="ça"), "", (0,)).text is None
    monkeypatch.setattr(token_removal, "bind_target", lambda *_: bound_of(fixed=frozenset(range(5))))
    with pytest.raises(ModelError, match="type a longer text"):
        word_removals(model, prompt)


def test_an_answer_that_covers_a_masked_word_has_a_gap_there():
    """The model has read no “whereas”, and points at where it was."""
    passage = "The function parse_row() returns None on failure, whereas load_table() raises KeyError without a header."
    model, prompt = attnviz.load("answer-en"), Prompt(passage, question="Which function raises KeyError?")
    outputs = word_removals(model, prompt).outputs
    assert "… load_table()" in outputs
    assert "parse_row() returns None on failure, whereas load_table" in outputs


@pytest.mark.parametrize("batch", [1, 7, 2048])
def test_texts_go_through_the_model_a_few_at_a_time_and_say_how_far_they_are(batch, monkeypatch):
    monkeypatch.setattr(token_removal, "BATCH_TOKENS", batch)
    removed = np.random.default_rng(1).random((11, 5)) < 0.5
    told, bound = [], bound_of()
    scores, logs = outcomes(replace(bound, progress=told.append), removed)
    np.testing.assert_allclose(scores, [-float(COST[row].sum()) for row in removed])
    np.testing.assert_array_equal(scores, logs)
    assert told == ([0.0] if batch == 2048 else [at / 11 for at in range(11)])


def test_of_one_text_all_words_may_be_its_own():
    with pytest.raises(ModelError, match="type a longer text"):
        removable_words(bound_of(fixed=frozenset(range(5))))
    assert words(tuple(replace(token, word=None) for token in TOKENS)) == ((0,), (1,), (2,), (3,), (4,))


def test_a_token_of_no_word_is_not_one_with_a_word_of_that_number():
    tokens = (Token("a", 0, 1, segment=1, word=1), Token("b", 2, 3, segment=1), Token("c", 4, 5, segment=1, word=1))
    assert words(tokens) == ((0, 2), (1,))


def test_a_report_has_the_shares_of_words_and_how_faithful_each_method_is(monkeypatch):
    # A character that two tokens cover stands in the word once.
    tokens = (special("[CLS]"), Token("un", 0, 2, word=0), Token("ndo", 1, 4, word=0), *TOKENS[3:])
    bound, told = bound_of(tokens, frozenset({0, 4})), list[tuple[str, float]]()
    targets = list[str]()
    monkeypatch.setattr(token_removal, "bind_target", lambda *given: targets.append(given[2]) or bound)
    model, prompt = attnviz.load("minilm"), Prompt("undo d e", pair="it")
    report = attribution_report(
        model, prompt, "", ["random", "last-layer"], lambda stage, share: told.append((stage, -1 if share is None else share))
    )
    assert (report.target, report.words, report.own) == ("it", ("undo", "d", "e"), frozenset({2}))
    values = token_removal.random_shares(bound)
    np.testing.assert_allclose(report.shares["random"], [values[1] + values[2], values[3], values[4]])
    (figures,) = report.figures.values()
    want = faithfulness(bound, shares_by_method(bound, [METHODS["random"]]))["random"]
    assert (figures.comprehensiveness, figures.sufficiency) == (want.comprehensiveness, want.sufficiency)
    assert (report.probability, [*report.refused]) == (1, ["last-layer"])
    stages = ["Running “Chance”", "Running “Attention, last layer”", "Testing 1 methods by masking words"]
    # The last is told again when its first texts go through the model.
    assert told == [(stage, 0.0) for stage in (*stages, stages[-1])]
    assert report.targets == capabilities(model).targets(prompt)
    attribution_report(model, prompt, "another", ["random"])
    assert targets == [next(iter(report.targets)), "another"]


def test_milliseconds_are_those_that_a_method_takes(monkeypatch):
    ticks = iter([1.0, 1.25, 2.0, 2.5])
    monkeypatch.setattr(token_removal.time, "perf_counter", lambda: next(ticks))
    made = shares_by_method(bound_of(), [METHODS["random"], METHODS["last-layer"]])
    assert made.milliseconds == {"random": 250, "last-layer": 500}
    assert [*made.shares] == ["random"]


def test_a_report_says_what_of_a_text_was_not_read() -> None:
    translator = attnviz.load("dot-lstm-en-fr")
    text = "The cat sat. " * 40
    cut = translator.trace(text).cut
    said = f"dot-lstm-en-fr reads 128 tokens at most: the text was cut after character {cut} of 520."
    assert attribution_report(translator, Prompt(text), "", ["attention"]).part == said
    assert attribution_report(translator, Prompt("The cat sat."), "", ["attention"]).part == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The 猫 sat.", "dot-lstm-en-fr does not know “猫”: it reads a placeholder instead."),
        ("Je suis ici.", "This does not look like English, the only language that dot-lstm-en-fr can read: expect guesses."),
    ],
)
def test_a_report_says_what_the_model_does_not_know_of_a_text(text: str, said: str) -> None:
    translator = attnviz.load("dot-lstm-en-fr")
    assert attribution_report(translator, Prompt(text), "", ["attention"]).part.endswith(said)


@pytest.mark.usefixtures("unchecked")
def test_the_public_functions_take_a_text_as_it_is() -> None:
    model, text = attnviz.load("dot-lstm-en-fr"), "The cat sat."
    of_text, of_prompt = (attnviz.attribution_report(model, given, "", ["random"]) for given in (text, Prompt(text)))
    assert (of_text.words, of_text.probability) == (of_prompt.words, of_prompt.probability)
    usual = attnviz.attribution_report(model, text)
    assert {*usual.shares, *usual.refused} == {method.name for method in USUAL}
    one: Any = "random"
    with pytest.raises(ArgumentError, match="a list of the names of methods"):
        attnviz.attribution_report(model, text, names=one)
    removals = attnviz.word_removals(model, text)
    np.testing.assert_array_equal(removals.without, attnviz.word_removals(model, Prompt(text)).without)
    place = of_text.words.index("cat")
    np.testing.assert_allclose(attnviz.without_words(model, text, "", [place]).probability, removals.without[place], rtol=1e-5)
    for wrong in (4, -1):
        with pytest.raises(PromptError, match=r"have the places 0 to 3: .* is none of them"):
            attnviz.without_words(model, text, "", [wrong])
