"""What words give to words, and where they look most, against loops over the tokens."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.heads.atlas import WordAttention, strongest, strongest_links, unit_of, word_attention
from attnviz.core.trace import Token
from attnviz.text.data_files import ParsedSentence, ParsedWord
from tests.factories import make_map, special

TEXT = "un do it , twice"
WORDS = tuple(ParsedWord(TEXT[start:end], start, end) for start, end in ((0, 5), (6, 8), (9, 10), (11, 16)))
SENTENCE = ParsedSentence(TEXT, WORDS)
# The space is part of no word, the last token begins behind the text, and one word was not read at all.
TOKENS = (
    special("[CLS]"), Token("un", 0, 2), Token("do", 3, 5), Token(" ", 5, 6), Token("it", 6, 8), special("[MID]"),
    Token("tw", 11, 13), Token("ice", 13, 16), Token("?", 99, 100), special("[SEP]"),
)  # fmt: skip
UNITS = [4, 0, 0, -1, 1, 5, 3, 3, -1, 6]


def test_words_give_the_mean_of_their_tokens_and_get_the_sum() -> None:
    attention = make_map(TOKENS, layers=2, heads=3)
    assert unit_of(TOKENS, SENTENCE).tolist() == UNITS
    actual = word_attention(attention, SENTENCE)
    assert (actual.n_words, actual.weights.shape) == (4, (2, 4, 7, 7))
    for layer, head, row, column in np.ndindex(actual.weights.shape):
        rows, columns = ([at for at, unit in enumerate(UNITS) if unit == each] for each in (row, column))
        heads = attention.layer_weights(layer)[[head] if head < 3 else [0, 1, 2]]
        want = np.mean([[each[query, columns].sum() for query in rows] for each in heads]) if rows else 0
        assert actual.weights[layer, head, row, column] == pytest.approx(want, abs=1e-6)


def test_a_word_looks_most_at_another_or_at_any_unit_or_at_nothing() -> None:
    weights = np.random.default_rng(5).random((2, 3, 7, 7)).astype(np.float32)
    weights[0, 1, 2] = 0
    weights[1, 0, 3] = np.eye(7)[3]
    found = strongest(WordAttention(weights, 4))
    for layer, head, row in np.ndindex(2, 3, 7):
        whole = weights[layer, head, row]
        others = [0 if at in (row, 4, 5, 6) else weight for at, weight in enumerate(whole)]
        for values, place, weight in ((whole, found.top, found.top_weight), (others, found.other, found.other_weight)):
            best = max(values)
            assert place[layer, head, row] == (list(values).index(best) if best else -1)
            assert weight[layer, head, row] == pytest.approx(best, rel=1e-3)
    assert found.n_words == 4
    none = strongest(WordAttention(np.ones((1, 1, 2, 2), np.float32), 0))
    assert (none.other.tolist(), none.other_weight.tolist()) == ([[[-1, -1]]], [[[0, 0]]])


def test_a_head_acts_where_one_word_gives_another_most() -> None:
    weights = np.random.default_rng(7).random((2, 4, 7, 7)).astype(np.float32)
    words, found = strongest_links(WordAttention(weights, 5, parks=(0, 3)))
    for layer, head in np.ndindex(2, 3):
        cells = {(row, key): weights[layer, head, row, key] for row in range(5) for key in (1, 2, 4) if row != key}
        assert tuple(words[layer, head].tolist()) == max(cells, key=cells.__getitem__)
        assert found[layer, head] == max(cells.values())
    words, found = strongest_links(WordAttention(np.ones((1, 3, 2, 2), np.float32), 0))
    assert (words.shape, found.tolist()) == ((1, 2, 2), [[0, 0]])


def test_heads_park_at_punctuation_and_a_decoder_s_at_its_first_word() -> None:
    assert word_attention(make_map(TOKENS), SENTENCE).parks == (2,)
    tokens = tuple(token for token in TOKENS if not token.special)
    # A word is the first where nothing special stands before it.
    for read, parks in ((tokens, (0, 2)), ((special("<s>"), *tokens), (2,))):
        assert word_attention(make_map(read, causal=True), SENTENCE).parks == parks
    # Weights with a sink behind all tokens are not known to look back alone (GPT-OSS, many texts at once).
    beside = make_map(tokens, (*tokens, special("sink")))
    assert word_attention(replace(beside, kind="decoder"), SENTENCE).parks == (0, 2)
