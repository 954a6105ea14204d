"""The answerer: what it weighs, what it cannot see, and that a batch, padding and all, is its texts one by one."""

import dataclasses

import pytest
import torch
from transformers import BertConfig, BertModel

from attnviz.core.errors import ModelError
from attnviz.nn.encoder import Answerer, AnswererConfig, BlockConfig

CLS, SEP = 2, 3
BLOCK = BlockConfig(dim=22, n_heads=2, hidden=13, norm="before", dropout=0.0)
JOINT = AnswererConfig(joint=True, n_layers=3, block=BLOCK, special=(CLS, SEP))
DUAL = dataclasses.replace(JOINT, joint=False, n_layers=2, mixing=True, depth=2, block=dataclasses.replace(BLOCK, norm="after"))
# Questions and passages of different lengths, without special ids.
TEXTS = [((11, 13, 17), (19, 23, 29, 31, 37, 41, 43)), ((47, 5, 7, 9, 11), (13, 17)), ((59,), (61, 67, 71, 73, 79))]


def encoder() -> BertModel:
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=97, hidden_size=22, num_hidden_layers=5, num_attention_heads=2, intermediate_size=31,
        max_position_embeddings=61, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False).eval()
    for parameter in model.parameters():
        # So large that every token matters.
        torch.nn.init.normal_(parameter, std=0.3)
    return model


@pytest.fixture(params=[JOINT, DUAL], ids=["joint", "dual"])
def model(request) -> Answerer:
    torch.manual_seed(5)
    actual = Answerer(request.param, encoder()).eval()
    for parameter in actual.blocks.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return actual


def ids(model: Answerer, question, context) -> tuple[list[int], list[int]]:
    return [CLS, *question, SEP], [*([] if model.config.joint else [CLS]), *context, SEP]


def call(model: Answerer, texts):
    sides = list(zip(*(ids(model, *pair) for pair in texts), strict=True))
    widths = [max(len(row) for row in side) for side in sides]
    padded = [torch.tensor([row + [0] * (width - len(row)) for row in side]) for side, width in zip(sides, widths, strict=True)]
    lengths = [torch.tensor([len(row) for row in side]) for side in sides]
    seen = [torch.arange(width)[None] < length[:, None] for width, length in zip(widths, lengths, strict=True)]
    with torch.no_grad():
        return model(*padded, question_visible=seen[0], context_visible=seen[1])


def test_a_batch_is_its_texts_one_by_one(model):
    start, end, weights = call(model, TEXTS)
    for row, pair in enumerate(TEXTS):
        own_start, own_end, own_weights = call(model, [pair])
        n_question, n_context = own_weights[0].shape[-1], own_start.shape[1]
        torch.testing.assert_close(start[row, :n_context], own_start[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(end[row, :n_context], own_end[0], atol=1e-5, rtol=1e-5)
        for layer, own in zip(weights, own_weights, strict=True):
            torch.testing.assert_close(layer[row, :, :n_context, :n_question], own[0], atol=1e-5, rtol=1e-5)


def test_rows_sum_to_one_over_the_question_and_padding_has_nothing(model):
    start, end, weights = call(model, TEXTS)
    assert len(weights) == model.config.n_layers
    for row, (question, context) in enumerate(TEXTS):
        n_question, n_context = (len(side) for side in ids(model, question, context))
        for layer in weights:
            sums = layer[row].sum(dim=-1)
            torch.testing.assert_close(sums[:, :n_context], torch.ones(2, n_context))
            assert not layer[row, :, n_context:].any()
            assert not layer[row, :, :, n_question:].any()
        for logits in (start, end):
            first = 0 if model.config.joint else 1
            may_answer = torch.zeros(start.shape[1], dtype=torch.bool)
            may_answer[first : first + len(context)] = True
            assert torch.equal(logits[row].isfinite(), may_answer)


def test_jointly_the_encoder_reads_the_pair_as_bert_does():
    """Padding between the two must not be seen, nor move the passage's positions."""
    model, (question, context) = Answerer(JOINT, encoder()).eval(), TEXTS[0]
    whole = torch.tensor([[CLS, *question, SEP, *context, SEP]])
    n_question = len(question) + 2
    segments = torch.tensor([[0] * n_question + [1] * (len(context) + 1)])
    with torch.no_grad():
        states = encoder()(input_ids=whole, token_type_ids=segments).last_hidden_state
        start, end, weights = model.read(states[:, :n_question], states[:, n_question:])
    got_start, got_end, got = call(model, TEXTS)
    torch.testing.assert_close(got_start[0, :-1], start[0, :-1], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(got_end[0, :-1], end[0, :-1], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(got[0][0, :, :, :n_question], weights[0][0], atol=1e-5, rtol=1e-5)


def test_separately_the_passage_learns_of_the_question_through_cross_attention_alone():
    model = Answerer(DUAL, encoder()).eval()
    asked = [(question, TEXTS[0][1]) for question, _ in TEXTS]
    one, other = call(model, asked[:1])[0], call(model, asked[1:2])[0]
    assert not torch.allclose(one, other)
    for block in model.blocks:
        torch.nn.init.zeros_(block.attention.output.weight)
        torch.nn.init.zeros_(block.attention.output.bias)
    assert torch.equal(call(model, asked[:1])[0], call(model, asked[1:2])[0])


def test_what_its_attentions_read_makes_its_weights(model):
    question, context = torch.randn(1, 5, 22), torch.randn(1, 7, 22)
    with torch.no_grad():
        _, _, weights = model.read(question, context)
        attended = model.attended(question, context)
    for wanted, layer in zip(weights, attended, strict=True):
        _, actual = layer.attention(layer.states, layer.memory)
        torch.testing.assert_close(actual, wanted)


def test_only_the_lowest_layers_are_kept():
    model = Answerer(DUAL, encoder())
    assert sum(name.endswith("output.LayerNorm.bias") and "attention" not in name for name in model.state_dict()) == DUAL.depth


def test_every_parameter_learns(model):
    model.train()
    start, end, _ = model.read(torch.randn(2, 5, 22), torch.randn(2, 7, 22))
    (start.sum() + end.square().sum()).backward()
    for part in (model.blocks, model.norm, model.output):
        # A key's bias moves all scores of a row alike.
        assert all(
            value.grad is not None and value.grad.any() for name, value in part.named_parameters() if "key.bias" not in name
        )


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(ModelError, match="5 heads"):
        Answerer(AnswererConfig(True, 1, BlockConfig(dim=22, n_heads=5, hidden=13)))
