"""What heads carry, and what a norm makes of its parts, head by head and by PyTorch itself."""

from typing import Any

import pytest
import torch
import transformers as hf
from torch.nn import functional as F

import attnviz
from attnviz.attribution import attention_methods
from attnviz.attribution.methods import attribute
from attnviz.attribution.recorded_pass import Attention, Norm
from attnviz.core.errors import ModelError
from tests import tiny


def test_a_head_carries_its_values_times_its_own_columns_of_the_output_matrix() -> None:
    weights, value, output = torch.rand(1, 3, 4, 5), torch.randn(1, 3, 5, 2), torch.randn(7, 6)
    got = attention_methods.carried(Attention(weights, value, weights, output))
    for head in range(3):
        torch.testing.assert_close(got[head], value[0, head] @ output[:, 2 * head : 2 * head + 2].T)
    with pytest.raises(ModelError, match="no output matrix"):
        attention_methods.carried(Attention(weights, value, weights))


@pytest.mark.parametrize(("slab", "sizes"), [(1, [1] * 4), (69, [1] * 4), (70, [2, 2]), (105, [3, 1]), (10**6, [4])])
def test_what_heads_carry_is_computed_for_some_queries_at_a_time(
    slab: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_methods, "SLAB", slab)
    weights, value, output = torch.rand(1, 3, 4, 5), torch.randn(1, 3, 5, 2), torch.randn(7, 6)
    made = [*attention_methods._parts(Attention(weights, value, weights, output))]
    assert [rows.tolist() for rows, _ in made] == [each.tolist() for each in torch.arange(4).split(sizes)]
    vectors = [value[0, head] @ output[:, 2 * head : 2 * head + 2].T for head in range(3)]
    want = sum(weights[0, head, :, :, None] * vectors[head] for head in range(3))
    torch.testing.assert_close(torch.cat([parts for _, parts in made]), want)


def test_only_the_queries_that_are_read_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    computed, parts = [], attention_methods._parts

    def counted(*given: Any) -> Any:
        computed.extend(made := list(parts(*given)))
        return made

    monkeypatch.setattr(attention_methods, "_parts", counted)
    wrapped = attnviz.wrap(hf.AutoModelForCausalLM.from_config(tiny.FAMILY["llama"].config()), tiny.tokenizer(tiny.DECODER))
    attribute(wrapped, "the cat sat on the mat", "value-norms")
    assert [rows.tolist() for rows, _ in computed] == [[5]] * 2


@pytest.mark.parametrize("centred", [True, False], ids=["LayerNorm", "root mean square"])
@pytest.mark.parametrize("weight", [None, torch.linspace(-1, 2, 7)], ids=["plain", "weighted"])
def test_parts_behind_a_norm_add_up_to_what_it_gives(centred: bool, weight: torch.Tensor | None) -> None:
    parts = torch.randn(3, 5, 7) + 1
    read = parts.sum(dim=1)
    made = F.layer_norm(read, (7,), weight, None, 0.5) if centred else F.rms_norm(read, (7,), weight, 0.5)
    got = attention_methods._scaled(parts, read, Norm(read, made, weight, 0.5, centred))
    torch.testing.assert_close(got.sum(dim=1), made)


def test_a_position_that_is_made_of_nothing_mixes_nothing() -> None:
    nothing = torch.zeros(1, 4, 7)
    norm = Norm(nothing, nothing, None, 0.5, True)
    around = {"stream": nothing, "before": (norm,)}
    weights, value, output = torch.rand(1, 3, 4, 4), torch.randn(1, 3, 4, 2), torch.zeros(7, 6)
    made = attention_methods.composition(Attention(weights, value, weights, output, nothing, **around), of_itself=True)
    assert made.mixing.tolist() == made.own.tolist() == [0.0] * 4
    assert not made.norms.any()
