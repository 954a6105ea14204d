"""A score taken apart sums to the score, and what a layer adds belongs to the tokens that gave it."""

from functools import cache

import numpy as np
import pytest
import torch
import transformers as hf
from torch.nn import functional as F

import attnviz
from attnviz.attribution import token_removal
from attnviz.attribution.token_removal import Cell, why
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models.capabilities import capabilities
from attnviz.models.head_inputs import inspect_result, run_inspectable
from tests import tiny

CAT = Prompt("The cat sat on the mat.")
FRANCE = Prompt("He has been to France.")
LOVELACE = Prompt("Ada Lovelace wrote the first program in 1843.", question="Who wrote the first program?")


@cache
def loaded(name):
    if name != "gpt2":
        return attnviz.load(name)
    torch.manual_seed(2)
    # Of each layer the scores are divided by its number, too.
    config = hf.GPT2Config(vocab_size=97, n_positions=61, n_embd=15, n_layer=2, n_head=3, scale_attn_by_inverse_layer_idx=True)
    return attnviz.wrap(hf.GPT2LMHeadModel(config), tiny.tokenizer(tiny.DECODER))


@pytest.mark.parametrize(
    ("name", "prompt", "cell"),
    [
        ("minilm", CAT, Cell("encoder", 5, 7, 1, 4)),
        ("gpt2", CAT, Cell("decoder", 1, 2, 5, 3)),
        pytest.param("answer-en", LOVELACE, Cell("encoder", 3, 1, 9, 2), marks=pytest.mark.gate),
        pytest.param("answer-en", LOVELACE, Cell("cross", 0, 4, 2, 1), marks=pytest.mark.gate),
        pytest.param("transformer-en-fr", FRANCE, Cell("encoder", 2, 1, 1, 4), marks=pytest.mark.gate),
        pytest.param("transformer-en-fr", FRANCE, Cell("cross", 1, 3, 2, 4), marks=pytest.mark.gate),
        pytest.param("transformer-en-fr", FRANCE, Cell("decoder", 0, 1, 2, 1), marks=pytest.mark.gate),
    ],
)
def test_the_pairs_of_a_score_sum_to_it(name, prompt, cell):
    model = loaded(name)
    got = why(model, prompt, cell)
    head = inspect_result(model, run_inspectable(model, prompt)).head(cell.kind, cell.layer, cell.head)
    want = head.scaling * float(head.query[cell.query].astype(float) @ head.key[cell.key].astype(float))
    assert got.score == pytest.approx(want, rel=1e-5, abs=1e-5)
    assert got.values.shape == (len(got.tokens) + 1, len(got.tokens) + 1)
    asking, offering = got.sides()
    assert asking.sum() == pytest.approx(got.score) == offering.sum()
    # What a translator has written is of no token that was typed, until it has looked at them.
    assert got.values[:-1, :-1].any() == (name == "gpt2" or cell.kind != "decoder")


def test_below_the_first_attention_a_query_is_its_own_tokens():
    got = why(loaded("minilm"), CAT, Cell("encoder", 0, 2, 3, 2))
    queries, keys = (np.flatnonzero(np.abs(got.values[:-1, :-1]).sum(axis=axis) > 1e-9).tolist() for axis in (1, 0))
    assert (queries, keys) == ([3], [2])


@pytest.mark.parametrize(
    ("name", "prompt", "cell", "says"),
    [
        ("minilm", CAT, Cell("encoder", 6, 0, 0, 0), "not known"),
        ("bahdanau-en-fr", FRANCE, Cell("cross", 0, 0, 0, 0), "not known"),
        ("answer-en-dual", LOVELACE, Cell("encoder", 0, 0, 0, 0), "each text on its own"),
        ("minilm", CAT, Cell("encoder", 0, 0, 9, 0), "each text on its own"),
        ("minilm", CAT, Cell("encoder", 0, 0, 2, 11), "each text on its own"),
        ("minilm", Prompt("word " * 200), Cell("encoder", 0, 0, 0, 0), "at most 128"),
    ],
)
def test_what_cannot_be_taken_apart_is_said_in_one_sentence(name, prompt, cell, says):
    with pytest.raises(ModelError, match=says):
        why(loaded(name), prompt, cell)


def test_below_the_first_attention_a_pair_is_the_product_of_two_embeddings_behind_a_fixed_norm():
    model, (query, key) = loaded("minilm"), (3, 2)
    embeddings, attention = model.model.embeddings, model.model.encoder.layer[0].attention.self
    ids = capabilities(model).bind_trace(CAT).ids
    with torch.no_grad():
        word = embeddings.word_embeddings(ids).double()
        positions, types = (each.weight.double() for each in (embeddings.position_embeddings, embeddings.token_type_embeddings))
        whole = word + positions[: len(ids)] + types[0]
        norm, own = embeddings.LayerNorm, slice(2 * 32, 3 * 32)
        spread = (whole.var(dim=1, correction=0, keepdim=True) + norm.eps).sqrt()
        given = norm.weight * (word - word.mean(dim=1, keepdim=True)) / spread
        read = norm(whole.float()).double()
        sides = []
        for layer, place in ((attention.query, query), (attention.key, key)):
            part = layer.weight[own].double() @ given[place]
            sides.append((part, layer.weight[own].double() @ read[place] + layer.bias[own] - part))
    want = [[float(one @ other) * 32**-0.5 for other in sides[1]] for one in sides[0]]
    got = why(model, CAT, Cell("encoder", 0, 2, query, key)).values
    np.testing.assert_allclose(got[np.ix_([query, -1], [key, -1])], want, rtol=1e-4, atol=1e-4)


def test_a_module_that_names_no_scale_divides_by_the_root_of_its_width(monkeypatch):
    model, cell, real = loaded("minilm"), Cell("encoder", 1, 3, 4, 2), token_removal._attended
    want = why(model, CAT, cell)

    def unscaled(*given):
        attended = real(*given)
        attended.attention.scaling = None
        return attended

    monkeypatch.setattr(token_removal, "_attended", unscaled)
    np.testing.assert_allclose(why(model, CAT, cell).values, want.values)


def test_a_vector_is_what_tokens_give_and_a_rest():
    vectors, matrices = torch.randn(1, 5, 3, requires_grad=True), torch.randn(5, 3, 2)
    bias = torch.nn.Parameter(torch.randn(2))
    made = torch.einsum("btd,tdo->o", vectors, matrices) + bias
    given = [(vectors[0, token] @ matrices[token]).tolist() for token in range(5)]
    np.testing.assert_allclose(token_removal._parts(made, vectors), [*given, bias.tolist()], rtol=1e-5, atol=1e-6)
    for alone in (bias * 2, bias.detach()):
        np.testing.assert_array_equal(token_removal._parts(alone, vectors), [*[[0, 0]] * 5, alone.tolist()])
    with pytest.raises(ModelError, match=r"cannot be held fixed \(Exp\)"):
        token_removal._parts(made.exp(), vectors)


def test_what_a_matrix_reads_is_recorded_alone_or_beside_others():
    # Four matrices in one storage; the second and third are asked for.
    whole = torch.randn(4 * 3, 5)
    matrices, states, flat = whole.split(3), torch.randn(1, 7, 5), torch.randn(2, 5)
    with token_removal._Inputs(tuple(matrices[1:3])) as inputs:
        for matrix in (*matrices, whole[:9], whole):
            F.linear(states, matrix)
        torch.addmm(torch.zeros(6), flat, whole[3:9].T)
    got = [[each.shape for each in read] for read in inputs.read]
    assert got == [[(1, 7, 5)] * 3 + [(1, 2, 5)]] * 2
    assert all(torch.equal(each.squeeze(0), flat if len(each[0]) == 2 else states[0]) for read in inputs.read for each in read)


@pytest.mark.parametrize(("layer", "head"), [(-1, 0), (0, -1), (0, 12), (0, 13), (7, 0)])
def test_a_head_that_is_not_there_is_not_known(layer, head):
    with pytest.raises(ModelError, match="not known"):
        why(loaded("minilm"), CAT, Cell("encoder", layer, head, 0, 0))
