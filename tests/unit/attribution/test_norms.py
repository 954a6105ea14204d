"""Attention received, and the lengths of what weights carry, each against the weights of a trace."""

from functools import cache

import numpy as np
import pytest
import torch

import attnviz
from attnviz.attribution import attention, norms
from attnviz.attribution.methods import HeadMethod, method_named
from attnviz.attribution.passes.tape import Attention
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models.capabilities import bind_target
from attnviz.models.targets import BoundTarget

LIKE = Prompt("A man plays the guitar.", pair="Somebody makes music.")
LOVELACE = Prompt("Ada Lovelace wrote the first program in 1843.", question="Who wrote the first program?")
loaded = cache(attnviz.load)


def read(name: str, prompt: Prompt) -> BoundTarget:
    return bind_target(loaded(name), prompt)


def test_attention_received_is_the_mean_over_all_rows_that_could_look():
    bound = read("answer-en", LOVELACE)
    trace = loaded("answer-en").trace(LOVELACE)
    total, count, n_asking = np.zeros(len(bound.tokens)), np.zeros(len(bound.tokens)), len(trace.cross.keys)
    for layer in range(6):
        total += trace.encoder.layer_weights(layer).mean(axis=0).sum(axis=0)
        count += len(bound.tokens)
    total[:n_asking] += trace.cross.layer_weights(0).mean(axis=0).sum(axis=0)
    count[:n_asking] += len(trace.cross.queries)
    np.testing.assert_allclose(attention.received(bound), total / count, atol=1e-6)


def test_a_head_carries_its_values_times_its_own_columns_of_the_output_matrix():
    weights, value, output = torch.rand(1, 3, 4, 5), torch.randn(1, 3, 5, 2), torch.randn(7, 6)
    got = norms.carried(Attention(weights, value, weights, output))
    for head in range(3):
        torch.testing.assert_close(got[head], value[0, head] @ output[:, 2 * head : 2 * head + 2].T)
    with pytest.raises(ModelError, match="no output matrix"):
        norms.carried(Attention(weights, value, weights))


def test_value_norms_are_shares_of_each_row_that_the_output_reads():
    bound, rows = read("minilm", LIKE), []
    for site, recorded in zip(bound.sites, attention.recorded(bound), strict=True):
        parts = torch.einsum("hqk,hko->qko", recorded.weights[0], norms.carried(recorded)).norm(dim=-1)
        parts = parts.detach().double().numpy()
        for position, weight in bound.readout.items():
            if site.queries.start <= position < site.queries.stop:
                row = np.zeros(bound.n_positions)
                row[site.keys] = weight * parts[position - site.queries.start] / parts[position - site.queries.start].sum()
                rows.append((site.layer, site.keys.start, row))
    layers = {(layer, start) for layer, start, _ in rows if start < len(bound.tokens)}
    want = sum(row for layer, start, row in rows if (layer, start) in layers) / len(layers)
    np.testing.assert_allclose(norms.value_norms(bound), want[: len(bound.tokens)], atol=1e-5)


def test_a_head_is_a_method_of_its_kind_layer_and_number():
    head = method_named("head:cross:2:1")
    assert isinstance(head, HeadMethod)
    assert (head.kind, head.layer, head.head, head.signed) == ("cross", 2, 1, False)
