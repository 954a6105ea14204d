import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz import memory
from attnviz.attribution.methods import METHODS
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models import device
from attnviz.models.capabilities import bind_target
from tests import tiny


@pytest.mark.parametrize(
    ("cuda", "mps", "want"), [(True, True, "cuda:0"), (True, False, "cuda:0"), (False, True, "mps"), (False, False, "cpu")]
)
def test_cuda_comes_before_mps_before_the_cpu(cuda: bool, mps: bool, want: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTNVIZ_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    assert str(device.choose()) == want
    # cuDNN rounds an LSTM's factors to 10 bits unless it is told otherwise.
    assert torch.backends.cudnn.allow_tf32 == (want != "cuda:0")


def test_the_environment_overrides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("ATTNVIZ_DEVICE", "cpu")
    assert str(device.choose()) == "cpu"


@pytest.mark.parametrize("name", ["abacus", "cuda:99"])
def test_a_device_that_is_not_there_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_DEVICE", name)
    with pytest.raises(ModelError, match=f"ATTNVIZ_DEVICE names '{name}'"):
        device.choose()


def test_the_limit_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_DEVICE", "cpu")
    monkeypatch.delenv("ATTNVIZ_MAX_PARAMETERS", raising=False)
    monkeypatch.setattr(memory, "read", lambda: memory.Memory(2 * 2**30, 20 * 2**30))
    assert device.max_parameters() == 1_500_000_000
    # 0.7 of the 1,000 bytes that are left, four to a parameter.
    monkeypatch.setattr(memory, "read", lambda: memory.Memory(2**30 - 1000, 2**30))
    assert device.max_parameters() == 175
    monkeypatch.setenv("ATTNVIZ_MAX_PARAMETERS", "7e9")
    assert device.max_parameters() == 7_000_000_000


def test_the_limit_on_a_card_counts_what_is_free_there_and_the_bytes_of_a_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTNVIZ_MAX_PARAMETERS", raising=False)
    monkeypatch.setattr(device, "choose", lambda: torch.device("cuda:0"))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (4000, 80_000))
    assert (device.max_parameters(), device.max_parameters(2)) == (700, 1400)


@pytest.mark.parametrize(("cores", "workers", "threads"), [(8, 2, 4), (2, 2, 1), (1, 2, 1), (None, 3, 1)])
def test_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch, cores: int | None, workers: int, threads: int) -> None:
    set_to: list[int] = []
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    monkeypatch.setattr("torch.set_num_threads", set_to.append)
    device.share_cores(workers)
    assert set_to == [threads]


def numbers(encoder: hf.PreTrainedModel, writer: hf.PreTrainedModel) -> list[Any]:
    text, other = "the cat sat on the mat", "the dog sat on a mat"
    wrapped, bound = attnviz.wrap(encoder, tiny.tokenizer()), Prompt(text, pair="the dog")
    shares = METHODS["gradient-input"].compute(bind_target(wrapped, bound)).values
    writes = attnviz.wrap(writer, tiny.tokenizer(tiny.DECODER))
    result = attnviz.run(writes, "write", text, tokens=3)
    patches = attnviz.patch(writes, text, other, "mat", "dog", "stream")
    parts = attnviz.parts(attnviz.run(writes, "write", text, tokens=0), "mat", "dog")
    maps = (wrapped.trace(text).encoder, wrapped.trace(text, "e0.1z").encoder, result.trace.decoder)
    weights = [each.layer_weights(1) for each in maps]
    return [*weights, shares, result.continuation.given, parts.heads, patches.patched, patches.estimate]


AROUND: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "inference": torch.inference_mode,
    "no gradients": torch.no_grad,
    "device": lambda: torch.device("meta"),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=list(AROUND))
def test_what_a_user_has_put_around_a_model_changes_no_number(around: Callable[[], AbstractContextManager[object]]) -> None:
    torch.manual_seed(7)
    models = tiny.FAMILY["bert"].model(), hf.AutoModelForCausalLM.from_config(tiny.FAMILY["llama"].config()).eval()
    want = numbers(*models)
    with around():
        got = numbers(*models)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_what_a_seed_decides_no_other_thread_changes():
    def numbers() -> list[float]:
        with device.seeded(3):
            return torch.rand(2).tolist()

    alone, others = numbers(), []
    with device.seeded(3):
        other = threading.Thread(target=lambda: others.extend(numbers()))
        other.start()
        other.join(0.1)
        assert torch.rand(2).tolist() == alone
    other.join()
    assert others == alone
