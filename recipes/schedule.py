"""How weights are found: the one value that says it, and what follows from it at a step."""

import bisect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call


@dataclass(frozen=True)
class Schedule:
    """How the weights are found: Adam; a linear warmup, a plateau, a linear decay to 0.

    The plateau lets a run be made longer at any time before its decay begins, and be the same as if it had been planned so.
    What is kept is an exponential moving average of the weights.

    epochs           passes over the sentences; batch: sentences a step, or tokens where they are long
    learning_rate    on the plateau; warmup: steps until there
    decay            share of a cycle's steps, 0 to 1
    restarts         epochs after which a new cycle begins on the plateau, from the best weights (after Loshchilov & Hutter
                     2017, arXiv:1608.03983)
    kept             epochs the mean of whose weights is kept (Izmailov et al. 2018, arXiv:1803.05407), and a cycle begins with
                     those of the epoch before it; none: the best are those of the lowest development loss
    label_smoothing  probability given to all other tokens (Szegedy et al. 2016)
    teacher_forcing  share of the decoder's steps that read the true token
    patience         epochs without a better development loss after which training stops
    """

    epochs: int = 7
    batch: int = 128
    learning_rate: float = 2e-3
    warmup: int = 400
    decay: float = 0.4
    restarts: tuple[int, ...] = ()
    label_smoothing: float = 0.1
    clip: float = 1.0
    average: float = 0.998
    teacher_forcing: float = 1.0
    patience: int = 3
    kept: tuple[int, ...] = ()
    precision: Literal["float32", "bfloat16"] = "bfloat16"
    seed: int = 2014


def learning_rate(schedule: Schedule, step: int, n_steps: int) -> float:
    """Linear warmup, plateau, linear decay to 0 at the end of every cycle; `step` counts from 0.

    >>> schedule = Schedule(epochs=4, learning_rate=1.0, warmup=4, decay=0.5)
    >>> [learning_rate(schedule, step, 8) for step in (0, 3, 4, 7)]
    [0.25, 1.0, 1.0, 0.25]
    >>> schedule = Schedule(epochs=4, learning_rate=1.0, warmup=0, decay=0.5, restarts=(2,))
    >>> [learning_rate(schedule, step, 8) for step in (1, 3, 4, 7)]
    [1.0, 0.5, 1.0, 0.5]
    """
    turns = [n_steps * epoch // schedule.epochs for epoch in (0, *schedule.restarts, schedule.epochs)]
    cycle = bisect.bisect_right(turns, step, hi=len(turns) - 1)
    start, end = turns[cycle - 1], turns[cycle]
    length = schedule.decay * (end - start)
    falling = (end - step) / length if length else 1.0
    return schedule.learning_rate * min(1.0, (step + 1) / max(1, schedule.warmup), falling)


def precision(schedule: Schedule, device: torch.device) -> AbstractContextManager[Any]:
    """Mixed precision where the recipe asks for it and the hardware is made for it: products in bfloat16, weights and sums in
    float32.

    A step of transformer-en-fr takes 0.36 s in float32 and 0.24 s with products in bfloat16 on two cores that have
    instructions for them (AVX512-BF16); on two that have AVX-512 alone, 0.32 s and 0.49 s.
    """
    if schedule.precision == "bfloat16" and (device.type != "cpu" or _has("avx512_bf16", "amx_bf16")):
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()


def all_in_bfloat16(schedule: Schedule, device: torch.device) -> bool:
    """Whether a processor computes all in bfloat16, not its products alone: where it multiplies tiles (AMX-BF16).

    There a product takes a ninth of its time, and what is left is moving numbers about: half the bytes are half of that. An
    answerer learns from 41 questions a second instead of 30.
    """
    return schedule.precision == "bfloat16" and device.type == "cpu" and _has("amx_bf16")


def lowered(schedule: Schedule, model: nn.Module) -> Callable[..., Any]:
    """Compute a model in bfloat16 where `all_in_bfloat16` says so; gradients reach its weights in float32."""
    if not all_in_bfloat16(schedule, next(model.parameters()).device):
        return model
    return partial(_call, model, {name: value.to(torch.bfloat16) for name, value in model.named_parameters()})


def _call(model: nn.Module, weights: dict[str, Tensor], *args: Any, **options: Any) -> Any:
    with torch.autocast("cpu", enabled=False):
        return functional_call(model, weights, args, options)


def _has(*instructions: str) -> bool:
    # Releases of torch before 2.11 do not say what the processor can do.
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()
    return any(capabilities.get(name, False) for name in instructions)
