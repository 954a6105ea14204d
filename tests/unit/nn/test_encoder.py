import jaxtyping
import pytest
import torch
from torch import nn

from attnviz.core.errors import ModelError
from attnviz.nn.encoder import BlockConfig, Encoder, EncoderBlock, EncoderConfig
from tests import mechanisms

HEAD, DIM, HIDDEN, KEY = 2, 22, 13, 7
NORMS = ["off", "before", "after"]
norms = pytest.mark.parametrize("norm", NORMS)
padding = pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])


def make_block(norm, dropout=0.0):
    block = EncoderBlock(BlockConfig(DIM, HEAD, HIDDEN, norm, dropout))
    # Norms start as γ = 1, β = 0, at which a forgotten γ or β would go unseen.
    for parameter in block.parameters():
        nn.init.normal_(parameter, std=0.2)
    return block


def make_encoder(norm="after", positions="sinusoidal", dropout=0.0):
    block = BlockConfig(DIM, HEAD, HIDDEN, norm, dropout)
    return Encoder(EncoderConfig(vocabulary=17, n_layers=3, block=block, max_tokens=19, positions=positions))


@norms
@padding
def test_block_equals_the_oracle(norm, padded, visible, same, parameters):
    block, states = make_block(norm), torch.randn(3, KEY, DIM)
    got = block(states, visible=visible if padded else None)
    seen = visible.numpy() if padded else None
    want = mechanisms.encoder_block(states.numpy(), parameters(block), n_heads=HEAD, norm=norm, visible=seen)
    for mine, oracle in zip(got, want, strict=True):
        same(mine, oracle)


@pytest.fixture
def copy_block(copy_attention):
    """Copy our block into `nn.TransformerEncoderLayer`; returns the pairs that must have the same gradient."""

    def copy(block, twin):
        layers = [(block.expand, twin.linear1), (block.contract, twin.linear2)]
        layers += [(block.attention_norm, twin.norm1), (block.feed_forward_norm, twin.norm2)]
        for ours, theirs in layers:
            theirs.load_state_dict(ours.state_dict())
        own = [((getattr(a, name),), getattr(b, name)) for a, b in layers for name in ("weight", "bias")]
        return own + copy_attention(block.attention, twin.self_attn)

    return copy


def make_twin(norm):
    return nn.TransformerEncoderLayer(DIM, HEAD, HIDDEN, dropout=0.0, batch_first=True, norm_first=norm == "before")


@pytest.mark.parametrize("norm", ["before", "after"])
@padding
def test_block_equals_torch(norm, padded, visible, same, copy_block, same_gradients):
    block, twin = make_block(norm), make_twin(norm)
    pairs = copy_block(block, twin)
    states = torch.randn(2, KEY, DIM, requires_grad=True)
    seen = visible[:2] if padded else torch.ones(2, KEY, dtype=torch.bool)
    got, _ = block(states, visible=seen if padded else None)
    want = twin(states, src_key_padding_mask=~seen if padded else None)
    same(got[seen], want[seen])
    # What a block makes of a padding token is nobody's business: no gradient comes from there.
    pull = torch.randn_like(got) * seen[..., None]
    same_gradients((got * pull).sum(), (want * pull).sum(), [*pairs, ((states,), states)])


@pytest.mark.parametrize("norm", ["before", "after"])
@padding
def test_stack_equals_torch(norm, padded, visible, same, copy_block):
    encoder = make_encoder(norm)
    final = nn.LayerNorm(DIM) if norm == "before" else None
    twin = nn.TransformerEncoder(make_twin(norm), 3, norm=final, enable_nested_tensor=False)
    for block, layer in zip(encoder.blocks, twin.layers, strict=True):
        copy_block(block, layer)
    tokens, seen = torch.randint(17, (2, KEY)), visible[:2] if padded else torch.ones(2, KEY, dtype=torch.bool)
    got, _ = encoder(tokens, visible=seen if padded else None)
    embedded = encoder.positions(encoder.tokens(tokens) * DIM**0.5)
    same(got[seen], twin(embedded, src_key_padding_mask=~seen)[seen])


def test_an_encoder_reads_in_both_directions_and_knows_the_order():
    encoder, tokens = make_encoder(), torch.tensor([[2, 3, 5, 7, 11]])
    output, weights = encoder(tokens)
    assert (weights[0] > 0).all()
    # Without positions a reversed sentence would give the reversed output.
    assert not torch.allclose(encoder(tokens.flip(1))[0].flip(1), output, atol=1e-2)


def test_tokens_and_sinusoids_start_equally_large():
    encoder = Encoder(EncoderConfig(vocabulary=1009, n_layers=1, block=BlockConfig(dim=202, n_heads=2, hidden=13)))
    scaled = encoder.tokens.weight * 202**0.5
    assert scaled.std().item() == pytest.approx(1, abs=0.02)
    seen = []
    encoder.blocks[0].register_forward_pre_hook(lambda _, states: seen.append(states[0]))
    encoder.eval()(torch.tensor([[5]]))
    torch.testing.assert_close(seen[0][0, 0], scaled[5] + encoder.positions.table[0])


@norms
def test_dropout_is_for_training_only_and_spares_the_weights_returned(norm):
    block, states = make_block(norm, dropout=0.5), torch.randn(3, KEY, DIM)
    trained, evaluated = block(states), block.eval()(states)
    assert torch.equal(trained[1], evaluated[1])
    assert not torch.allclose(trained[0], evaluated[0])
    assert torch.equal(evaluated[0], block(states)[0])


def test_dropout_acts_on_attention_and_on_both_sublayers_and_on_the_embedding():
    """With a probability of 1 every change is dropped, so that only the residual path is left."""
    block, states = make_block("off", dropout=1.0), torch.randn(3, KEY, DIM)
    assert torch.equal(block(states)[0], states)
    assert not make_encoder("off", dropout=1.0)(torch.randint(17, (3, KEY)))[0].any()
    assert block.attention.dropout == 1.0
    block.dropout.p = 0.0
    attended = states + block.attention.output.bias
    torch.testing.assert_close(block(states)[0], attended + block.contract(block.expand(attended).relu()))


def test_no_dropout_acts_inside_the_feed_forward_network():
    """Vaswani et al. 2017, section 5.4: on the output of each sublayer, and on the embedded tokens; nowhere else."""
    block, seen = make_block("off", dropout=1.0), []
    block.contract.register_forward_pre_hook(lambda _, hidden: seen.append(hidden[0]))
    states = torch.randn(3, KEY, DIM)
    assert torch.equal(block.train()(states)[0], states)
    block.eval()(states)
    assert torch.equal(seen[0], block.expand(states).relu())
    assert [bool(hidden.any()) for hidden in seen] == [True, True]


@pytest.mark.parametrize(("norm", "count"), [("off", 0), ("before", 3 * 4 + 2), ("after", 3 * 4)])
def test_norms_are_where_they_are_asked_for(norm, count):
    """Weight and bias of two norms in each of three blocks; and of a last one, where no block ends with one."""
    assert sum("norm" in name for name in make_encoder(norm).state_dict()) == count


@pytest.mark.parametrize(("positions", "learned"), [("sinusoidal", False), ("learned", True)])
def test_positions_are_what_was_asked_for(positions, learned):
    assert ("positions.table" in make_encoder(positions=positions).state_dict()) == learned


def test_configs_refuse_what_they_do_not_know(monkeypatch):
    block = BlockConfig(DIM, HEAD, HIDDEN)
    # Outside the tests types are not checked, and a config is read from a file.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ModelError, match="norm is one of off, before, after, not 'none'"):
        BlockConfig(DIM, HEAD, HIDDEN, norm="none")
    with pytest.raises(ModelError, match="positions is one of sinusoidal, learned, not 'rotary'"):
        EncoderConfig(vocabulary=17, n_layers=3, block=block, positions="rotary")


def test_a_text_longer_than_the_positions_is_refused():
    with pytest.raises(ModelError, match="this model has 19"):
        make_encoder()(torch.zeros(1, 23, dtype=torch.long))
