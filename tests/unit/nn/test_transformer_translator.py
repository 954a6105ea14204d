"""The Transformer that translates, held to torch's own, to its cache, and to what each of its positions may see."""

from typing import Any

import pytest
import torch
from torch import nn

from attnviz.core.errors import ModelError
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.transformer_translator import DecoderBlock, Translator, TranslatorConfig

SOURCE, TARGET, DIM, HEADS, LAYERS, HIDDEN = 17, 19, 22, 2, 3, 13
NORMS = ["off", "before", "after"]


def build(norm: str = "before", *, scaled: bool = True) -> Translator:
    block = BlockConfig(dim=DIM, n_heads=HEADS, hidden=HIDDEN, norm=norm, scaled=scaled)
    return Translator(TranslatorConfig(SOURCE, TARGET, LAYERS, block, max_tokens=41)).eval()


def copy_feed_forward(block, twin) -> None:
    twin.linear1.load_state_dict(block.expand.state_dict())
    twin.linear2.load_state_dict(block.contract.state_dict())


@pytest.mark.parametrize("norm", ["before", "after"])
def test_it_computes_what_torchs_transformer_computes(norm, source, inputs, copy_attention, same):
    model = build(norm)
    twin = nn.Transformer(DIM, HEADS, LAYERS, LAYERS, HIDDEN, batch_first=True, norm_first=norm == "before", dropout=0.1).eval()
    if norm == "after":
        # As published, nothing stands after the last block; torch always adds a norm there.
        twin.encoder.norm = twin.decoder.norm = None
    for block, other in zip(model.encoder.blocks, twin.encoder.layers, strict=True):
        copy_attention(block.attention, other.self_attn)
        copy_feed_forward(block, other)
        other.norm1.load_state_dict(block.attention_norm.state_dict())
        other.norm2.load_state_dict(block.feed_forward_norm.state_dict())
    for block, other in zip(model.blocks, twin.decoder.layers, strict=True):
        copy_attention(block.attention, other.self_attn)
        copy_attention(block.cross, other.multihead_attn)
        copy_feed_forward(block, other)
        for mine, theirs in zip(("attention", "cross", "feed_forward"), (other.norm1, other.norm2, other.norm3), strict=True):
            theirs.load_state_dict(getattr(block, f"{mine}_norm").state_dict())
    padding = source == 0
    encoder = model.encoder
    states = twin(
        encoder.positions(encoder.tokens(source) * DIM**0.5),
        model.embed(inputs),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(inputs.shape[1]),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )
    same(model(source, inputs)[0], states @ model.tokens.weight.T)


@pytest.mark.parametrize("norm", NORMS)
def test_with_a_cache_as_without(norm, source, inputs, same):
    model = build(norm)
    want, _ = model(source, inputs)
    decoder, got = model.begin(source), []
    for tokens in inputs.unbind(1):
        scores, decoder = decoder.next(tokens)
        got.append(scores)
    same(torch.stack(got, 1), want)


def test_a_batch_of_different_lengths_is_each_sentence_alone(source, inputs, same):
    model = build()
    scores, weights = model(source, inputs)
    for row, length in enumerate((7, 5, 2)):
        alone, its = model(source[row : row + 1, :length], inputs[row : row + 1])
        same(scores[row], alone[0])
        for layer in range(LAYERS):
            same(weights.cross[layer][row, :, :, :length], its.cross[layer][0])
            same(weights.decoder[layer][row], its.decoder[layer][0])


@pytest.mark.parametrize("scaled", [True, False])
def test_what_its_attentions_read_makes_its_weights(scaled, inputs, same):
    source = torch.randint(1, SOURCE, (3, 7))
    model = build(scaled=scaled)
    _, weights = model(source, inputs)
    for kind, layers in model.attended(source, inputs).items():
        for actual, wanted in zip(layers, getattr(weights, kind), strict=True):
            # By hand, head by head: X W + b, the scores, their scale, and the mask where a token must not look ahead.
            attention: Any = actual.attention
            query, key = attention.query(actual.states), attention.key(actual.memory)
            for head, columns in enumerate(torch.arange(DIM).chunk(HEADS)):
                scores = query[..., columns] @ key[..., columns].transpose(1, 2)
                scores = scores / (DIM // HEADS) ** 0.5 if scaled else scores
                if kind == "decoder":
                    scores = scores.masked_fill(torch.ones(11, 11).triu(1).bool(), -torch.inf)
                same(scores.softmax(-1), wanted[:, head])


def test_a_block_without_norms_has_no_parameters_for_them():
    names = {name.split(".")[0] for name, _ in DecoderBlock(BlockConfig(DIM, HEADS, HIDDEN, norm="off")).named_parameters()}
    assert names == {"attention", "cross", "expand", "contract"}


def test_dropout_falls_in_training_only(source, inputs, same):
    model = build()
    same(model(source, inputs)[0], model(source, inputs)[0])
    model.train()
    assert not torch.allclose(model(source, inputs)[0], model(source, inputs)[0])


def test_there_is_no_other_teacher_forcing(source, inputs):
    with pytest.raises(ModelError, match="its teacher forcing is 1"):
        build()(source, inputs, 0.5)


def test_more_tokens_than_positions_are_refused(source):
    with pytest.raises(ModelError, match="Positions"):
        build()(source, torch.ones(3, 43, dtype=torch.long))
