"""The attention summarizer against the NumPy oracle and against loops; padding, specials and short texts."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.core.errors import ModelError
from attnviz.nn.encoder import BlockConfig, Summarizer, SummarizerConfig, keep, received
from tests import mechanisms

HEAD, DIM, HIDDEN, TOKEN, STATE, SENTENCES = 2, 22, 13, 7, 5, 3
LENGTHS = (7, 5, 3)
NUMBERS = torch.tensor([[0, 0, 1, 1, 2, 3, 4], [0, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0]])


def make(vocabulary=None, norm="before"):
    block = BlockConfig(DIM, HEAD, HIDDEN, norm=norm, dropout=0.0)
    config = SummarizerConfig(11, 2, block, vocabulary, STATE, SENTENCES, max_tokens=TOKEN)
    model = Summarizer(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


@pytest.fixture
def real():
    return torch.arange(TOKEN) < torch.tensor(LENGTHS)[:, None]


@pytest.fixture
def states():
    return torch.randn(len(LENGTHS), TOKEN, STATE)


@pytest.mark.parametrize("norm", ["before", "after", "off"])
def test_it_is_what_its_parts_are_in_numpy(states, real, same, parameters, norm):
    model = make(norm=norm)
    logits, weights = model(states, NUMBERS, visible=real)
    table = parameters(model)
    numbers = NUMBERS.numpy()
    from_end = numbers.max(axis=1, keepdims=True) - numbers
    inner = states.numpy() @ table["source.weight"].T + table["source.bias"] + table["positions.table"]
    inner = inner + table["from_start.weight"][np.minimum(numbers, 2)] + table["from_end.weight"][np.minimum(from_end, 2)]
    for layer, (block, mine) in enumerate(zip(model.blocks, weights, strict=True)):
        inner, oracle = mechanisms.encoder_block(inner, parameters(block), n_heads=HEAD, norm=norm, visible=real.numpy())
        same(mine, oracle)
        assert layer < 2
    same(logits, inner @ table["output.weight"].T + table["output.bias"])


def test_padding_is_exactly_zero_and_a_batch_is_one_by_one(states, real, same):
    model = make()
    logits, weights = model(states, NUMBERS, visible=real)
    for layer in weights:
        assert (layer[(~real)[:, None, None, :].expand_as(layer)] == 0).all()
        same(layer.sum(-1), torch.ones(len(LENGTHS), HEAD, TOKEN))
    for row, length in enumerate(LENGTHS):
        alone, own = model(states[row : row + 1, :length], NUMBERS[row : row + 1, :length])
        same(logits[row, :length], alone[0])
        for mine, theirs in zip(weights, own, strict=True):
            same(mine[row, :, :length, :length], theirs[0])
            both = received(mine, real)[row, :length], received(theirs, torch.ones(1, length, dtype=torch.bool))[0]
            same(*both)


def test_it_reads_tokens_too(real):
    model = make(vocabulary=17)
    logits, weights = model(torch.randint(17, (3, TOKEN)), NUMBERS, visible=real)
    assert logits.shape == (3, TOKEN, 11)
    assert len(weights) == 2


def test_what_its_attentions_read_makes_its_weights(states, same):
    model = make()
    _, weights = model(states, NUMBERS)
    for layer, wanted in zip(model.attended(states, NUMBERS), weights, strict=True):
        same(layer.attention(layer.states, layer.memory)[1], wanted)


def test_sentences_are_counted_from_both_ends(states):
    model = make()
    embedded = model.embed(states, NUMBERS) - model.positions(model.source(states))
    # The last sentence of each text ends it, whatever stands in the other rows of the batch.
    torch.testing.assert_close(embedded[0, 6], model.from_start.weight[2] + model.from_end.weight[0])
    torch.testing.assert_close(embedded[1, 1], model.from_start.weight[1] + model.from_end.weight[0])
    # More sentences than are told apart are all alike.
    torch.testing.assert_close(embedded[0, 0], model.from_start.weight[0] + model.from_end.weight[2])


def test_a_text_that_is_too_long_is_told():
    with pytest.raises(ModelError, match="Positions"):
        make()(torch.randn(1, TOKEN + 1, STATE), torch.zeros(1, TOKEN + 1, dtype=torch.long))


def test_attention_received_by_loops(real):
    weights = torch.rand(3, HEAD, TOKEN, TOKEN)
    got = received(weights, real)
    for row, length in enumerate(LENGTHS):
        for key in range(TOKEN):
            columns = [float(weights[row, head, query, key]) for head in range(HEAD) for query in range(length)]
            assert float(got[row, key]) == pytest.approx(sum(columns) / len(columns), abs=1e-6)


def test_nobody_asks_and_nothing_is_received():
    assert (received(torch.rand(1, 2, 3, 3), torch.zeros(1, 3, dtype=torch.bool)) == 0).all()


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=9),
    st.integers(-1, 12),
)
def test_what_is_kept_by_sorting(rows, k):
    scores = torch.tensor([[float(score) for score, _ in rows]])
    real = torch.tensor([[is_real for _, is_real in rows]])
    wanted = sorted((index for index, (_, is_real) in enumerate(rows) if is_real), key=lambda index: (-rows[index][0], index))
    kept = keep(scores, k, real)[0].nonzero()[:, 0].tolist()
    assert kept == sorted(wanted[: max(k, 0)])
