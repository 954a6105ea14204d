"""Every architecture that the installed transformers registers, tiny and random: which attnviz shows as it is, edits and explains.

The truth is each model's own eager attention, as it returns it; of a model that returns none, its softmaxes. `--output FILE` writes
the table as Markdown, `--only bert gpt2` looks at some.
"""

import inspect
import logging
import time
import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

import attnviz
from attnviz.attribution.methods import METHODS
from attnviz.attribution.targets import bind_target
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionTrace, Prompt
from benchmarks.census_models import REGISTRIES, Architecture, architectures, build
from benchmarks.harness import Row, none, run
from tests import tiny

TEXT = Prompt("the cat sat on the mat", pair="the dog ran", target="the dog")
EXACT, ROUNDED = 1e-5, 1e-3
# Inputs beside a text: what a model of two senses reads.
OTHER_SENSES = ("pixel", "image", "audio", "video", "input_features", "input_values", "bbox")
OUTPUTS = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")


@dataclass
class Finding:
    """What became of one architecture; `edits` and `attribution` are how many heads and methods worked, or a sentence.

    trace  "exact", "rounded", "wrong", "refused", "foreign"
    """

    architecture: Architecture
    trace: str = ""
    note: str = ""
    edits: str = ""
    methods: int = 0
    foreign: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Softmaxes(TorchFunctionMode):
    """Within this context, what every softmax over keys gave: batch, head, query, key."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[torch.Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func in (F.softmax, torch.softmax, torch.Tensor.softmax) and made.ndim == 4:
            self.made.append(made)
        return made


def examine(architecture: Architecture) -> Finding | None:
    """Try all that a person does; None where no tiny one can be built."""
    began = time.perf_counter()
    try:
        if "input_ids" not in inspect.signature(getattr(hf, architecture.class_name).forward).parameters:
            return None
        model = build(architecture)
    except Exception:  # what its authors ask for is not here, or small numbers do not fit each other
        return None
    found = Finding(architecture)
    try:
        traced = attnviz.wrap(model, tiny.tokenizer(architecture.shape))
        trace = traced.trace(TEXT)
        found.trace, found.note = _compared(model, traced, trace)
        _edit(found, traced)
        _explain(found, traced)
    except AttnvizError as error:
        found.trace, found.note = "refused", str(error)
    except Exception as error:
        found.trace, found.note = "foreign", f"{type(error).__name__}: {error}"
        found.foreign.append(f"{architecture.class_name}: {found.note}")
    found.seconds = time.perf_counter() - began
    return found


def _compared(model: Any, traced: Any, trace: AttentionTrace) -> tuple[str, str]:
    """Compare a trace with the model's own eager attention on the very tokens."""
    encoded = traced.encode_prompt(TEXT) if hasattr(traced, "encode_prompt") else traced.encode([TEXT.text])
    inputs = traced.tensors(encoded)
    if model.config.is_encoder_decoder:
        rows = traced.encode([TEXT.target], target=True).inputs["input_ids"]
        inputs["decoder_input_ids"] = torch.tensor([[traced._start, *rows[:-1]]])
    body = model if model.config.is_encoder_decoder else model.base_model
    with torch.no_grad(), Softmaxes() as softmaxes:
        outputs = _asked(body, inputs)
    layers = [layer for name in OUTPUTS for layer in getattr(outputs, name, None) or () if isinstance(layer, torch.Tensor) and layer.ndim == 4]
    layers = layers or softmaxes.made
    shown = [attention.layer_weights(number) for attention in trace.maps for number in range(attention.n_layers)]
    if len(layers) != len(shown):
        return "wrong", f"{len(shown)} layers of {len(layers)} are shown"
    far = 0.0
    for want, got in zip(layers, shown, strict=True):
        if tuple(want.shape[1:3]) != got.shape[:2]:
            return "wrong", f"shape {got.shape} is shown of {tuple(want.shape[1:])}"
        far = max(far, float(np.abs(got[..., : want.shape[-1]] - want[0].float().numpy()).max()))
    return ("exact" if far <= EXACT else "rounded" if far <= ROUNDED else "wrong"), f"{far:.1e}"


def _asked(body: Any, inputs: dict[str, torch.Tensor]) -> Any:
    """Ask for the attention; some fail when they are."""
    try:
        return body(**inputs, output_attentions=True)
    except (IndexError, TypeError, ValueError):
        return body(**inputs)


def _edit(found: Finding, traced: Any) -> None:
    """Switch the first head of the first layer off, and see that it is, and that what stands above differs."""
    try:
        attention = traced.trace(TEXT).maps[0]
        letter, layer = attention.kind[0] if attention.kind != "cross" else "x", getattr(attention, "numbers", (0,))[0]
        edited = traced.trace(TEXT, f"{letter}{layer}.0z").maps[0]
    except AttnvizError as error:
        found.edits = str(error)
        return
    except Exception as error:
        found.edits = "foreign"
        found.foreign.append(f"{found.architecture.class_name}, edits: {type(error).__name__}: {error}")
        return
    off = not edited.layer_weights(0)[0].any()
    others = np.allclose(edited.layer_weights(0)[1:], attention.layer_weights(0)[1:], atol=EXACT)
    found.edits = "yes" if off and others else "wrong"


def _explain(found: Finding, traced: Any) -> None:
    try:
        bound = bind_target(traced, TEXT)
    except AttnvizError as error:
        found.refusals.append(str(error))
        return
    except Exception as error:
        found.foreign.append(f"{found.architecture.class_name}, target: {type(error).__name__}: {error}")
        return
    for method in METHODS.values():
        try:
            found.methods += bool(np.isfinite(method.compute(bound).values).all())
        except AttnvizError as error:
            found.refusals.append(str(error))
        except Exception as error:
            found.foreign.append(f"{found.architecture.class_name}, {method.name}: {type(error).__name__}: {error}")


def is_text(architecture: Architecture) -> bool:
    """Whether a model reads texts and nothing else."""
    names = inspect.signature(getattr(hf, architecture.class_name).forward).parameters
    return not any(sense in name for name in names for sense in OTHER_SENSES)


def rows(given: Namespace) -> Iterator[Row]:
    """Walk the registries; a row for each figure."""
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    everything: list[Finding] = []
    for registry in REGISTRIES:
        chosen = [each for each in architectures(registry) if not given.only or each.model_type in given.only.split()]
        found = [finding for each in chosen if (finding := examine(each)) is not None]
        everything += found
        alone = [each for each in found if is_text(each.architecture)]
        yield from _figures(registry, alone)
        if len(alone) < len(found):
            yield from _figures(f"{registry} and other senses", [each for each in found if each not in alone])
    yield none("wrong", [f"{each.architecture.class_name}: {each.note}" for each in everything if each.trace == "wrong"])
    yield none("exceptions that are not attnviz's own", [each for finding in everything for each in finding.foreign])
    if given.output:
        Path(given.output).write_text(table(everything), encoding="utf-8")


def _figures(registry: str, found: list[Finding]) -> Iterable[Row]:
    counts = Counter(each.trace for each in found)
    yield Row(f"{registry}: traced", ", ".join(f"{name} {number}" for name, number in counts.most_common()) or "none")
    yield Row(f"{registry}: edited", f"{sum(each.edits == 'yes' for each in found)} of {len(found)}")
    yield Row(f"{registry}: explained", f"{sum(each.methods > 0 for each in found)} of {len(found)}")
    yield Row(f"{registry}: seconds", f"{sum(each.seconds for each in found):.0f}")


def table(found: list[Finding]) -> str:
    """Write a line for each architecture, in Markdown."""
    lines = ["| class | attention | edits | methods | note |", "|---|---|---|---|---|"]
    for each in found:
        note = each.note if each.edits in ("yes", "") else f"{each.note}; {each.edits}"
        lines.append(f"| {each.architecture.class_name} | {each.trace} | {'yes' if each.edits == 'yes' else 'no'} | "
                     f"{each.methods} | {note} |".replace("\n", " "))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run(rows, minutes=20, sizes={"only": ("", "bert gpt2 bart"), "output": ("", "")})
