"""Where question and passage meet, read both ways, and the table that an answer is found in: each against loops."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attnviz.analysis.answer_attention import (
    SIDES,
    QuestionAttention,
    Side,
    describe_answer,
    describe_confidence,
    describe_question_words,
    describe_word,
    head_shares,
    joint,
    question_attention,
    sides,
    strongest_heads,
)
from attnviz.analysis.head_view import View, head_matrix
from attnviz.analysis.wording import plain
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt, Token
from attnviz.models.span_decoding import best_spans
from attnviz.text.spans import Span
from tests.factories import given_map, make_map, pair, sentence, special, typed

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


def test_of_heads_that_are_alike_in_four_digits_the_first_says_most(trace):
    weights = np.zeros((1, 2, len(trace.cross.queries), len(trace.cross.keys)), np.float32)
    # "who", and for the rest the special token before it.
    weights[..., 1] = np.array([0.30001, 0.30004])[:, None]
    weights[..., 0] = 1 - weights[..., 1]
    cross = AttentionMap("cross", trace.cross.queries, trace.cross.keys, DenseWeights(tuple(weights)))
    shown = strongest_heads(replace(trace, maps=(cross,)), TEXT.index("cat"), TEXT.index(" all"))
    assert (shown["cross"].layer, shown["cross"].head) == (0, 0)


def test_cells_are_as_likely_as_the_spans_say():
    generator = np.random.default_rng(5)
    start, end = generator.normal(size=(2, 41)) * 3
    tokens = typed(" ".join(f"w{index}" for index in range(41)))
    spans = best_spans(start, end, limit=5, n=7, length_penalty=0.25, nothing=0.0)
    shown = joint(tokens, start, end, spans, limit=5, length_penalty=0.25)
    assert shown.probabilities.shape == (16, 16)
    for span, cell in zip(spans, shown.marks, strict=True):
        assert shown.probabilities[cell] == pytest.approx(span.probability)
        assert (shown.starts[cell[0]], shown.ends[cell[1]]) == (tokens[span.start], tokens[span.end])
    for row, first in enumerate(shown.starts):
        for column, last in enumerate(shown.ends):
            assert shown.legal[row, column] == (0 <= tokens.index(last) - tokens.index(first) <= 5)
    assert not shown.probabilities[~shown.legal].any()
    assert {tokens[place] for place in np.argsort(-start)[:9]} <= set(shown.starts)


def test_sentences_tell_the_numbers():
    spans = [Span(2, 2, 0.62), Span(0, 0, 0.002)]
    assert plain(describe_answer(["cat", "the"], spans, threshold=0.3)) == "The next best answer is “the” (under 1\xa0%)."
    message = plain(describe_answer(["cat"], spans[:1], nothing=0.38, threshold=0.3))
    expected = "“No answer” has 38\xa0%: the model declines above 30\xa0%. The likeliest answer would be “cat” (62\xa0%)."
    assert message == expected
    assert plain(describe_answer(["cat"], spans[:1], nothing=0.9)).startswith("“No answer” has 90\xa0%: more than any answer.")


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
    assert shown.around(999, 1000, most=1).queries == shown.passage[:1]
    first, last = shown.passage[1], shown.passage[3]
    assert shown.around(first.start, last.end, most=1).queries == (shown.passage[2],)
    assert len(asked_of([FIRM] * 17, "word " * 17).around(0, 1).queries) == 16


ASKING = (special("[CLS]"), *typed("who sang ? here"), special("[SEP]"))


def asked_of(rows: list[list[float]], passage: str, *, from_question: bool = False) -> QuestionAttention:
    """What words of a passage give to [CLS] who sang ? here [SEP]; from the question's side, get."""
    keys = typed(passage, segment=1)
    sides, weights = (keys, ASKING), np.array(rows, np.float32)
    if from_question:
        sides, weights = (ASKING, keys), weights.T
    whole = head_matrix(given_map(np.eye(*weights.shape), *sides), layer=0, head=0)
    return QuestionAttention(replace(whole, weights=weights), from_question)


SPECIAL, WORDS, AMONG = "its special tokens.", "Of the question's words,", "of the question's words most at"
PERCENT10, PERCENT40 = (f"{share} % goes to {SPECIAL}" for share in (10, 40))
FIRM, EVEN = [0.1, 0.5, 0.25, 0.1, 0.05, 0.0], [0.2, 0.4, 0.04, 0.0, 0.0, 0.36]


@pytest.mark.parametrize(
    ("row", "options", "says"),
    [
        (FIRM, {}, f"“cats” looks mostly at “who” (50 %), then at “sang” (25 %); 10 % goes to {SPECIAL}"),
        ([0.2, 0.4, 0.05, 0.15, 0, 0.2], {}, f"{WORDS} “cats” looks most at “who” (40 %), then at “sang” (5 %); {PERCENT40}"),
        (EVEN, {}, f"“cats” looks at no word of the question: 56 % goes to {SPECIAL}"),
        ([0.25, 0.5, 0.0, 0.0, 0, 0.25], {}, f"“cats” looks mostly at “who” (50 %); 50 % goes to {SPECIAL}"),
        ([0.24, 0.48, 0.02, 0.0, 0, 0.25], {}, f"{WORDS} “cats” looks most at “who” (48 %); 49 % goes to {SPECIAL}"),
        ([0.25, 0.0, 0.1, 0.4, 0, 0.2], {}, f"{WORDS} “cats” looks most at “sang” (10 %); 45 % goes to {SPECIAL}"),
        ([0.25, 0.09, 0.05, 0.4, 0, 0.2], {}, "“cats” looks at no word of the question in particular: at most “who” (9 %)."),
        ([0.5, 0, 0, 0.25, 0, 0.25], {}, "In this head nothing passes between “cats” and the words of the question."),
        (FIRM, {"number": "norm share"}, f"“cats” takes mostly from “who” (50 %), then from “sang” (25 %); {PERCENT10}"),
        (EVEN, {"number": "norm share"}, f"“cats” takes from no word of the question: 56 % goes to {SPECIAL}"),
        (FIRM, {"word": 1}, "“cats” looks at “who” with 50 % of its attention."),
        (FIRM, {"word": 4}, f"“cats” looks at “here” with 5 % of its attention, and {AMONG} “who” (50 %)."),
        (FIRM, {"word": 4, "asking": True}, "“here” looks at “cats” with 5 % of its attention."),
        (FIRM, {"asking": True}, "Of the question, “who” (50 %), then “sang” (25 %) look most at “cats”."),
        (EVEN, {"asking": True}, "Of the question, “who” (40 %) looks most at “cats”."),
        (EVEN, {"asking": True, "number": "norm share"}, "Of the question, “who” (40 %) takes most from “cats”."),
    ],
)  # fmt: skip
def test_what_an_answer_looks_at_is_said_by_how_much(row: list[float], options: dict[str, Any], says: str) -> None:
    rest = {name: value for name, value in options.items() if name != "asking"}
    shown = asked_of([row, [0, 1, 0, 0, 0, 0]], "cats run", from_question="asking" in options)
    assert plain(describe_question_words(shown, "cats", (0, 4), **rest)).replace("\xa0", " ") == says


@pytest.mark.parametrize(
    ("column", "asking", "says"),
    [
        ([0.1, 0.2, 0.3, 0.05], False, "In the passage, “of” (30 %), “run” (20 %) and “cats” (10 %) look most at “who”."),
        ([0.20001, 0.20004, 0.0, 0.0], False, "In the passage, “cats” (20 %) and “run” (20 %) look most at “who”."),
        ([0.0, 0.2, 0.3, 0.0], False, "In the passage, “of” (30 %) and “run” (20 %) look most at “who”."),
        ([0.0, 0.2, 0.0, 0.0], False, "In the passage, “run” (20 %) looks most at “who”."),
        ([0.0, 0.0, 0.0, 0.0], False, "In this head nothing passes between the passage and “who”."),
        ([0.1, 0.2, 0.3, 0.05], True, "In the passage, “who” looks most at “of” (30 %), “run” (20 %) and “cats” (10 %)."),
    ],
)
def test_who_looks_at_a_word_of_the_question(column: list[float], asking: bool, says: str) -> None:
    shown = asked_of([[0, weight, 0, 0, 0, 0] for weight in column], "cats run of .", from_question=asking)
    assert plain(describe_word(shown, 1)).replace("\xa0", " ") == says
    taken = says.replace("looks", "takes").replace("look ", "take ").replace("most at", "most from")
    assert plain(describe_word(shown, 1, "norm share")).replace("\xa0", " ") == taken


@pytest.mark.parametrize("n_spans", [1, 3, 20])
@pytest.mark.parametrize("n", [5, 41])
def test_the_table_has_the_best_spans_and_the_likeliest_others(n: int, n_spans: int) -> None:
    start, end = np.random.default_rng(n_spans).normal(size=(2, n))
    spans = best_spans(start, end, limit=n, n=min(n_spans, n), length_penalty=0.0, nothing=0.0)
    shown = joint(typed(" ".join(map(str, range(n)))), start, end, spans, limit=n)
    for got, logits, ends in (
        (shown.starts, start, [span.start for span in spans]),
        (shown.ends, end, [span.end for span in spans]),
    ):
        others = [at for at in np.argsort(-logits).tolist() if at not in ends]
        want = sorted({*ends, *others[: max(16 - len({*ends}), 0)]})
        assert [int(token.text) for token in got] == want
    assert [shown.probabilities[cell] for cell in shown.marks] == pytest.approx([span.probability for span in spans])


def test_a_map_without_the_answer_is_passed_over(trace: AttentionTrace) -> None:
    asking = make_map(sentence("who sang here"), layers=1)
    without, whole = replace(trace, maps=(asking, trace.cross)), strongest_heads(trace, 8, 11)
    assert strongest_heads(without, 8, 11) == {"cross": whole["cross"]}
    cells = head_shares(trace, "cross", View(words=True), (700, 701), 1)
    assert cells.shape == (trace.cross.n_layers, trace.cross.n_heads)
    assert not cells.any()


def test_long_texts_are_cut_in_a_sentence() -> None:
    texts, spans = ["a" * 61, "b" * 60], [Span(0, 0, 0.6), Span(1, 1, 0.2)]
    assert plain(describe_answer(texts, spans)) == f"The next best answer is “{'b' * 60}” (20\xa0%)."
    assert plain(describe_answer(texts[::-1], spans)) == f"The next best answer is “{'a' * 59}…” (20\xa0%)."
    assert plain(describe_answer(texts, spans[:1])) == "There is no other answer."
    shown = asked_of([FIRM], "cats")
    assert plain(describe_question_words(shown, "c" * 61, (0, 4))).startswith(f"“{'c' * 59}…” ")
    assert describe_confidence(0.814) == "about 81\xa0% of such answers are correct"


def test_a_token_has_the_weight_of_the_word_that_it_stands_in() -> None:
    shown = asked_of([FIRM, EVEN], "cats run")
    tokens = (Token("c", 0, 1), Token("ats", 1, 4), Token(" ", 4, 5), Token("run", 5, 8), Token("s", 8, 9), special("[SEP]"))
    assert shown.of_word(1, tokens).tolist() == pytest.approx([0.5, 0.5, 0, 0.4, 0, 0.5])
    later = tuple(replace(token, start=token.start + 3, end=token.end + 3) for token in shown.passage)
    moved = replace(shown, matrix=replace(shown.matrix, queries=later))
    assert moved.of_word(1, (Token("a", 0, 2), Token("b", 2, 3), Token("c", 3, 4))).tolist() == pytest.approx([0, 0, 0.5])
    np.testing.assert_allclose(shown.of_text(3, 6), np.mean([FIRM, EVEN], axis=0), atol=1e-6)
    np.testing.assert_allclose(shown.of_text(4, 5), 0)
    assert [token.text for token, _ in shown.lookers(1, n=1)] == ["cats"]
