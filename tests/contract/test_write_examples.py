"""What the examples of Write tell to notice is what the model does."""

import pytest

import attnviz
from attnviz.ui.prompt_box import examples

SHARES = {"Who gets the drink?": (" Mary", 0.92), "A capital": (" Paris", 0.77), "It has seen this before": (" river", 0.76)}


@pytest.mark.parametrize("example", examples("write"), ids=lambda example: example.label)
def test_what_there_is_to_notice_is_there(example):
    result = attnviz.run(attnviz.load("smollm2"), "write", example.text, tokens=0)
    tokens, attention = result.trace.decoder.queries, result.trace.decoder
    if example.label in SHARES:
        first = result.continuation.next_tokens(len(tokens) - 1)[0]
        assert (first.text, round(first.probability, 2)) == SHARES[example.label]
    if example.has_link:
        assert example.query == len(tokens) - 1
        assert attention.weights(example.layer, example.head)[example.query, example.key] == pytest.approx(
            example.weight, abs=0.01
        )
        assert f"“{tokens[example.key].text}”" in example.notice
        assert f"L{example.layer}·H{example.head}" in example.notice
