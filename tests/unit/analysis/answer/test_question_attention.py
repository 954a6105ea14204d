"""Where question and passage meet, read both ways, and the table that an answer is found in: each against loops."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.answer.question_attention import (
    DRAWN,
    SIDES,
    QuestionAttention,
    Side,
    describe_answer,
    describe_question_words,
    describe_word,
    head_shares,
    joint,
    question_attention,
    sides,
    strongest_heads,
)
from attnviz.analysis.view import View, head_matrix
from attnviz.analysis.wording import percent, plain
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.text.spans import Span, best_spans
from tests.factories import given_map, make_map, pair, special, typed

QUESTION, PASSAGE = "who sang|s here", "the old cat sing|s all day ."
TEXT = PASSAGE.replace("|", "")


@pytest.fixture
def trace() -> AttentionTrace:
    """Three layers, two heads; the question has 6 tokens, the passage 10."""
    encoder = make_map(pair(QUESTION, PASSAGE), layers=3, heads=2)
    asking = (special("[CLS]"), *typed(QUESTION), special("[SEP]"))
    cross = make_map((*typed(PASSAGE, segment=1), special("[SEP]", segment=1)), asking, layers=3, heads=2)
    return AttentionTrace("it", Prompt(TEXT, question="who sings here"), (encoder, cross))


def test_across_the_passage_asks(trace):
    shown = question_attention(trace, "cross", layer=2, head=1, view=View())
    np.testing.assert_array_equal(shown.weights, trace.cross.weights(2, 1))
    assert sides(trace) == ("cross", "passage", "question")
    assert sides(AttentionTrace("it", trace.prompt, (trace.encoder,))) == ("passage", "question")


@pytest.mark.parametrize(("side", "asking"), [("passage", False), ("question", True)])
def test_blocks_of_an_encoder_are_cut_out_by_segment(trace, side, asking):
    shown = question_attention(trace, side, layer=1, head=0, view=View())
    whole = trace.encoder.weights(1, 0)
    first = [index for index, token in enumerate(trace.encoder.keys) if token.segment == 0]
    second = [index for index, token in enumerate(trace.encoder.keys) if token.segment == 1]
    for row, passage in enumerate(second):
        for column, question in enumerate(first):
            assert shown.weights[row, column] == (whole[question, passage] if asking else whole[passage, question])
    assert shown.from_question is asking


def test_a_word_is_read_the_other_way_and_the_answer_is_a_mean_of_its_words(trace):
    words = question_attention(trace, "cross", layer=0, head=None, view=View(words=True))
    mean = trace.cross.layer_weights(0).mean(axis=0)
    tokens = typed(PASSAGE, segment=1)
    # "sangs" is two tokens of the question: what it receives is their sum. "sings" gives the mean over its own.
    sings = (mean[3, 2] + mean[3, 3] + mean[4, 2] + mean[4, 3]) / 2
    values = words.of_word(2, tokens)
    assert values[3] == values[4] == pytest.approx(sings)
    assert values[0] == pytest.approx(mean[0, 2] + mean[0, 3])
    best = max((float(mean[row, 2] + mean[row, 3]), row) for row in (0, 1, 2, 5, 6))
    assert words.lookers(2, n=1)[0][1] == pytest.approx(max(best[0], sings))
    start, end = TEXT.index("cat"), TEXT.index(" all")
    np.testing.assert_allclose(words.of_text(start, end), words.weights[2:4].mean(axis=0))
    assert not words.of_text(len(TEXT) + 1, len(TEXT) + 2).any()
    assert not words.of_word(1, typed("one two three four five six seven eight nine ten eleven"))[-1:].any()


def test_the_part_around_the_answer_keeps_its_places(trace):
    shown = question_attention(trace, "question", layer=0, head=1, view=View())
    near = shown.around(TEXT.index("cat"), TEXT.index("cat") + 3, most=3)
    assert [token.text for token in near.keys] == ["old", "cat", "sing"]
    whole = trace.encoder.weights(0, 1)
    np.testing.assert_array_equal(near.weights, whole[np.ix_(near.rows, near.columns)])


def test_a_telling_head_looks_most_firmly_at_one_word(trace):
    start, end = TEXT.index("cat"), TEXT.index(" all")
    shown = strongest_heads(trace, start, end)
    # Of the whole text the question has tokens 1 to 4, and the answer 8 to 10: [CLS] who sang s here [SEP] the old cat sing s …
    answer, words = (8, 9, 10), (1, 2, 3, 4)
    for side, layers, firmness in (
        ("cross", trace.cross, lambda weights: max(weights[2:5, word].mean() for word in words)),
        ("passage", trace.encoder, lambda weights: max(np.mean([weights[row, word] for row in answer]) for word in words)),
        ("question", trace.encoder, lambda weights: max(sum(weights[word, row] for row in answer) for word in words)),
    ):
        shares = {(layer, head): firmness(layers.weights(layer, head)) for layer in range(3) for head in range(2)}
        best = max(shares, key=lambda place: shares[place])
        assert (shown[side].layer, shown[side].head) == best
        assert shown[side].share == pytest.approx(shares[best])
    assert strongest_heads(trace, 700, 701) == {}


def test_cells_are_as_likely_as_the_spans_say():
    generator = np.random.default_rng(5)
    start, end = generator.normal(size=(2, 41)) * 3
    tokens = typed(" ".join(f"w{index}" for index in range(41)))
    spans = best_spans(start, end, limit=5, n=7, length_penalty=0.25, nothing=0.0)
    shown = joint(tokens, start, end, spans, limit=5, length_penalty=0.25)
    assert shown.probabilities.shape == (DRAWN, DRAWN)
    for span, cell in zip(spans, shown.marks, strict=True):
        assert shown.probabilities[cell] == pytest.approx(span.probability)
        assert (shown.starts[cell[0]], shown.ends[cell[1]]) == (tokens[span.start], tokens[span.end])
    for row, first in enumerate(shown.starts):
        for column, last in enumerate(shown.ends):
            assert shown.legal[row, column] == (0 <= tokens.index(last) - tokens.index(first) <= 5)
    assert not shown.probabilities[~shown.legal].any()
    assert {tokens[place] for place in np.argsort(-start)[:9]} <= set(shown.starts)


def test_sentences_tell_the_numbers(trace):
    spans = [Span(2, 2, 0.62), Span(0, 0, 0.002)]
    assert (
        plain(describe_answer(["cat", "the"], spans, threshold=0.3))
        == "Best answer “cat” (62\xa0%); next best “the” (under 1\xa0%)."
    )
    message = plain(describe_answer(["cat"], spans[:1], nothing=0.38, threshold=0.3))
    assert message == "No answer has 38\xa0%: it declines above 30\xa0%. The likeliest answer would be “cat” (62\xa0%)."
    assert plain(describe_answer(["cat"], spans[:1], nothing=0.9)).startswith("No answer has 90\xa0%: more than any answer.")
    shown = question_attention(trace, "cross", layer=2, head=1, view=View(words=True))
    shares = shown.of_text(8, 11)
    best = max((1, 2, 3), key=lambda place: shares[place])
    message = plain(describe_question_words(shown, "cat", (8, 11)))
    assert f" at “{shown.question[best].text}” ({percent(float(shares[best]))})" in message
    assert message.startswith("“cat” looks ")
    told = ", ".join(f"“{token.text}” ({percent(weight)})" for token, weight in shown.lookers(1)[:-1])
    assert plain(describe_word(shown, 1)).startswith(f"In the passage, {told} and ")
    asking = question_attention(trace, "question", layer=2, head=1, view=View(words=True))
    told = ", ".join(f"“{token.text}” ({percent(weight)})" for token, weight in asking.lookers(1)[:-1])
    assert f"“who” looks most at {told} and" in plain(describe_word(asking, 1))
    matrix = shown.matrix
    one = replace(shown, matrix=replace(matrix, weights=matrix.weights * (np.arange(len(matrix.weights)) == 2)[:, None]))
    assert f"“{one.passage[2].text}” ({percent(float(one.weights[2, 1]))}) looks most at “who”" in plain(describe_word(one, 1))
    none = replace(shown, matrix=replace(matrix, weights=matrix.weights * 0))
    assert "nothing passes between the passage and “who”" in plain(describe_word(none, 1))
    assert "“cat” takes " in plain(describe_question_words(shown, "cat", (8, 11), "norm share"))
    assert plain(describe_word(shown, 1, "norm share")).endswith("take most from “who”.")


@pytest.mark.parametrize("side", SIDES)
def test_heads_are_ranked_by_what_an_answer_and_a_word_pass_on(trace: AttentionTrace, side: Side):
    attention = trace.cross if side == "cross" else trace.encoder
    shares = head_shares(trace, side, View(words=True), (8, 11), 1)
    for layer, head in np.ndindex(shares.shape):
        shown = question_attention(trace, side, layer=layer, head=head, view=View(words=True))
        assert shares[layer, head] == pytest.approx(float(shown.of_text(8, 11)[1]), abs=1e-6)
    assert shares.shape == (attention.n_layers, attention.n_heads)


@pytest.mark.parametrize("most", [1, 2, 4, 5, 9, 20])
def test_the_part_around_an_answer_has_its_middle_in_the_middle(trace, most):
    shown = question_attention(trace, "passage", layer=0, head=1, view=View())
    n = len(shown.passage)
    for at, token in enumerate(shown.passage):
        if token.special:
            continue
        kept = shown.around(token.start, token.end, most=most).queries
        first = next(place for place in range(n) if shown.passage[place] is kept[0])
        assert len(kept) == min(most, n)
        assert first == min(max(at - most // 2, 0), max(n - most, 0))
    assert shown.around(999, 1000, most=2).queries == shown.passage[:2]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ([0.3, 0.3, 0.1, 0.3], "at no word of the question: 60\xa0% goes to its special tokens"),
        ([0.2, 0.6, 0.04, 0.16], "looks mostly at “who” (60\xa0%)."),
        ([0.25, 0.5, 0.0, 0.25], "looks mostly at “who” (50\xa0%)."),
        ([0.2, 0.4, 0.2, 0.2], "looks most at “who” (40\xa0%), then at “sang” (20\xa0%)."),
        ([0.45, 0.05, 0.05, 0.0], "in particular: at most “who” (5\xa0%)."),
        ([0.5, 0.0, 0.0, 0.5], "nothing passes"),
    ],
)
def test_what_an_answer_looks_at_is_said_by_how_much(row, says):
    asking = (special("[CLS]"), *typed("who sang"), special("[SEP]"))
    matrix = head_matrix(given_map([row], typed("cats", segment=1), asking), layer=0, head=0) if sum(row) == 1 else None
    if matrix is None:
        whole = head_matrix(given_map([[0.5, 0.0, 0.0, 0.5]], typed("cats", segment=1), asking), layer=0, head=0)
        matrix = replace(whole, weights=np.array([row], np.float32))
    assert says in plain(describe_question_words(QuestionAttention(matrix, False), "cats", (0, 4)))
