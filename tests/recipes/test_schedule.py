"""The learning rate over a run, and which hardware computes in half precision."""

from contextlib import nullcontext

import pytest
import torch

from recipes.schedule import Schedule, learning_rate, lowered, precision


def test_the_learning_rate_rises_stays_and_falls():
    schedule = Schedule(learning_rate=2.0, warmup=10, decay=0.5)
    rates = [learning_rate(schedule, step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.2)
    assert rates[9:50] == [2.0] * 41
    assert rates[75] == pytest.approx(1.0)
    assert rates[99] == pytest.approx(2 / 50)


@pytest.mark.parametrize(
    ("kind", "asked", "capabilities", "expected"),
    [
        ("cuda", "bfloat16", {}, [("cuda", torch.bfloat16)]),
        ("cuda", "float32", {}, []),
        ("cpu", "bfloat16", {"avx512_f": True}, []),
        ("cpu", "bfloat16", {"avx512_f": True, "avx512_bf16": True}, [("cpu", torch.bfloat16)]),
        ("cpu", "float32", {"amx_bf16": True}, []),
    ],
)
def test_half_precision_is_for_hardware_made_for_it(kind, asked, capabilities, expected, monkeypatch):
    entered = []
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: capabilities)
    monkeypatch.setattr("torch.autocast", lambda kind, dtype: entered.append((kind, dtype)) or nullcontext())
    precision(Schedule(precision=asked), torch.device(kind))
    assert entered == expected


@pytest.mark.parametrize(
    ("asked", "capabilities", "expected"),
    [
        ("bfloat16", {"amx_bf16": True}, torch.bfloat16),
        ("bfloat16", {"avx512_bf16": True}, torch.float32),
        ("float32", {"amx_bf16": True}, torch.float32),
    ],
)
def test_all_is_in_half_precision_where_a_processor_multiplies_tiles(asked, capabilities, expected, monkeypatch):
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: capabilities)
    torch.manual_seed(5)
    model = torch.nn.Linear(7, 11)
    x = torch.randn(3, 7)
    actual = lowered(Schedule(precision=asked), model)(x.to(expected))
    assert actual.dtype == expected
    torch.testing.assert_close(actual.float(), model(x), atol=2e-2, rtol=2e-2)
    actual.float().sum().backward()
    assert model.weight.grad is not None
    assert model.weight.grad.dtype == torch.float32
    torch.testing.assert_close(model.weight.grad, x.sum(dim=0).expand(11, 7), atol=2e-2, rtol=2e-2)
