"""The LSTM encoder-decoders: the published step, true lengths, every layer's states, and what a decoder may know."""

from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch
from torch import nn

from attnviz.core.errors import ModelError
from attnviz.nn.lstm_translator import RecurrentConfig, Seq2Seq, Seq2SeqConfig
from tests import mechanisms

KINDS = ["dot", "scaled", "additive"]
LAYERS = [1, 2, 3]
SOURCE, TARGET = 17, 19


def build(kind: str, *, n_layers: int = 2, bidirectional: bool = True) -> Seq2Seq:
    size = RecurrentConfig(dim=5, hidden=7, n_layers=n_layers, bidirectional=bidirectional, dropout=0.3)
    return Seq2Seq(Seq2SeqConfig(SOURCE, TARGET, kind, size)).eval()


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_different_lengths_is_each_sentence_alone(kind, bidirectional, source, inputs, same):
    model = build(kind, bidirectional=bidirectional)
    scores, alignment = model(source, inputs)
    for row, length in enumerate((7, 5, 2)):
        alone = model(source[row : row + 1, :length], inputs[row : row + 1])
        same(scores[row], alone[0][0])
        same(alignment[row, :, :length], alone[1][0])


def test_one_step_is_bahdanaus(source, same):
    """e_ij = vᵀ tanh(W s_{i-1} + U h_j), c_i = Σ α_ij h_j, s_i from [E y_{i-1}; c_i] and s_{i-1}; all from the oracle."""
    model = build("additive", n_layers=1)
    read = model.read(source)
    embedded = model.tokens(torch.tensor([3, 5, 11]))
    seen, state, alignment = model.step(embedded, read.state, read)
    parameters = {name: value.detach().numpy() for name, value in model.attention.state_dict().items()}
    query = read.state.hidden[-1][:, None].detach().numpy()
    memory = read.annotations.value.detach().numpy()
    context, weights = mechanisms.additive_attention(query, memory, parameters, visible=(source != 0).numpy())
    same(alignment, weights[:, 0])
    cell: Any = model.cells[0]
    gates = np.concatenate([embedded.detach().numpy(), context[:, 0]], -1) @ cell.weight_ih.detach().numpy().T
    gates = gates + query[:, 0] @ cell.weight_hh.detach().numpy().T + (cell.bias_ih + cell.bias_hh).detach().numpy()
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    enter, forget, new, leave = np.split(gates, 4, axis=-1)
    kept = sigmoid(forget) * read.state.cell[0].detach().numpy() + sigmoid(enter) * np.tanh(new)
    same(state.cell[0], kept)
    same(state.hidden[0], sigmoid(leave) * np.tanh(kept))
    same(seen, torch.cat([state.hidden[0], embedded, torch.tensor(context[:, 0], dtype=torch.float32)], -1))


@pytest.mark.parametrize("n_layers", LAYERS)
def test_every_layer_starts_from_its_own_encoder_layer(n_layers, same):
    """The states of torch's LSTM, picked by hand: layer l forward is 2l, backward 2l + 1."""
    model = build("additive", n_layers=n_layers)
    source = torch.randint(1, SOURCE, (3, 5))
    _, (hidden, cell) = model.encoder.lstm(model.encoder.tokens(source))
    state = model.read(source).state
    for layer in range(n_layers):
        both = torch.cat([hidden[2 * layer], hidden[2 * layer + 1]], -1)
        same(state.hidden[layer], model.hidden_bridge(both).tanh())
        both = torch.cat([cell[2 * layer], cell[2 * layer + 1]], -1)
        same(state.cell[layer], model.cell_bridge(both))


def test_an_lstm_from_left_to_right_has_no_idea_of_what_follows(source, same):
    one, both = build("dot", bidirectional=False), build("dot")
    whole = torch.randint(1, SOURCE, (1, 7))
    other = whole.clone()
    other[0, 6] = (other[0, 6] % (SOURCE - 1)) + 1
    same(one.encoder(whole)[0][:, :6], one.encoder(other)[0][:, :6])
    assert not torch.allclose(both.encoder(whole)[0][:, :6], both.encoder(other)[0][:, :6])


@pytest.mark.parametrize("kind", KINDS)
def test_scaling_is_the_only_difference_between_dot_and_scaled(kind):
    assert getattr(build(kind).attention, "scaling", None) == {"dot": 1.0, "scaled": 7**-0.5, "additive": None}[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_without_teacher_forcing_the_model_reads_what_it_would_write(kind, source, inputs, same):
    model = build(kind)
    free, _ = model(source, inputs, 0.0)
    tokens, decoder, rows = inputs[:, 0], model.begin(source), []
    for _ in range(inputs.shape[1]):
        scores, decoder = decoder.next(tokens)
        tokens = scores.argmax(-1)
        rows.append(scores)
    same(free, torch.stack(rows, 1))
    assert not torch.allclose(free, model(source, inputs)[0])


def test_half_teacher_forcing_mixes_both(source, inputs):
    model = build("additive")
    torch.manual_seed(1)
    mixed = [model(source, inputs, 0.5)[0] for _ in range(2)]
    assert not torch.allclose(mixed[0], mixed[1])


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_trained(kind, source, inputs):
    model = build(kind).train()
    scores, _ = model(source, inputs)
    nn.functional.cross_entropy(scores.flatten(0, 1), inputs.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # A bias of the keys moves all scores of a row alike, and the softmax does not see it.
        assert parameter.grad.abs().max() > 0 or name == "attention.key.bias", name


def test_an_unknown_attention_is_refused(monkeypatch):
    # Outside the tests types are not checked, and a config is read from a file.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ModelError, match="dot, scaled, additive, not 'concat'"):
        Seq2SeqConfig(SOURCE, TARGET, "concat", RecurrentConfig(dim=5, hidden=7))
