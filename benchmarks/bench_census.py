"""Every architecture that the installed transformers registers, tiny and random: which attnviz shows, edits and explains.

The truth is each model's own eager attention, as it returns it; of a model that returns none, what its softmaxes give. Then
eight threads trace every recorded family of the tests at a time, each with other edits: they get what each gets alone.
`--output FILE` writes the table as Markdown, `--only "bert gpt2"` looks at some.
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
from attnviz import Edits, HeadSet, LinkCut, WordHidden
from attnviz.attribution.methods import METHODS
from attnviz.core.edits import NO_EDITS, Edit
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models.capabilities import bind_target
from attnviz.models.hub.hub_model import body_of, start_of
from benchmarks.census_models import REGISTRIES, Architecture, architectures, build
from benchmarks.harness import Row, none, run
from tests import tiny
from tests.together import wrong_together

TEXT = Prompt("the cat sat on the mat", pair="the dog ran", target="the dog")
QUESTION = Prompt("the cat sat on the mat", question="where was the cat")
EXACT, ROUNDED = 1e-5, 1e-3
ABOUT = """# Families of models

Every architecture that transformers {version} registers was built tiny and random, and held against its own eager attention:
*exact* is within 1e-5 of it, *rounded* within 1e-3. Edits: whether a head can be switched off. Methods: how many of the
{methods} attribution methods apply. A note says why something is refused, or how large the largest difference is. The table is
written by `python benchmarks/bench_census.py --output docs/models/families.md`.

| | {columns} |
|---|{rules}|
{counts}

"""
# Inputs beside a text: what a model of two senses reads.
OTHER_SENSES = ("pixel", "image", "audio", "video", "input_features", "input_values", "bbox")
OUTPUTS = {
    "attentions": "encoder",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}


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
    """Compare a trace with the model's own eager attention over the very tokens."""
    want = _truth(model, traced)
    far = 0.0
    for attention in trace.maps:
        numbers = [number for number in range(attention.n_layers) if attention.visible(number).any()]
        shape = (attention.n_heads, len(attention.queries))
        own = [layer for layer in want.get(attention.kind) or want["any"] if layer.shape[:2] == shape]
        if len(own) != len(numbers):
            return "wrong", f"{len(numbers)} layers of {len(own)} are shown ({attention.kind})"
        for layer, number in zip(own, numbers, strict=True):
            shown = attention.layer_weights(number)
            if (band := _spread(layer, shown.shape)) is not None:
                layer = band
            width = min(layer.shape[2], shown.shape[2])
            far = max(far, float(np.abs(shown[..., :width] - layer[..., :width]).max()))
    return ("exact" if far <= EXACT else "rounded" if far <= ROUNDED else "wrong"), f"{far:.1e}"


def _spread(band: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Lay a band of 2w + 1 keys around each query over all keys; None where it is none."""
    if band.shape[1] != shape[2] or band.shape[2] == shape[2] or shape[1] != shape[2]:
        return None
    side = band.shape[2] // 2
    padded = np.zeros((*shape[:2], shape[2] + 2 * side), np.float32)
    for query in range(shape[1]):
        padded[:, query, query : query + band.shape[2]] = band[:, query]
    return padded[..., side:-side]


def _truth(model: Any, traced: Any) -> dict[str, list[np.ndarray]]:
    """What the model gives as its attention, by kind; what all its softmaxes gave, under "any"."""
    pair = [TEXT.pair] if "pair" in traced.card.reads else []
    read = traced.encode([TEXT.text, *pair])
    inputs = traced.tensors(read)
    if model.config.is_encoder_decoder:
        written = traced.encode([TEXT.target], target=True) if "target" in traced.card.reads else read
        inputs["decoder_input_ids"] = torch.tensor([[start_of(traced.model), *written.inputs["input_ids"][:-1]]])
    with torch.no_grad(), Softmaxes() as softmaxes:
        outputs = _asked(body_of(model), inputs)
    given = {OUTPUTS.get(name): layers for name, layers in outputs.items()} if hasattr(outputs, "items") else {}
    if not model.config.is_encoder_decoder:
        given[traced.kind] = given.get("encoder")
    truth = {kind: [*_arrays(layers)] for kind, layers in given.items() if kind and layers}
    return {**truth, "any": [*_arrays(softmaxes.made)]}


def _arrays(layers: Iterable[Any]) -> Iterator[np.ndarray]:
    for layer in layers:
        if isinstance(layer, torch.Tensor) and layer.ndim == 4:
            yield layer[0].float().numpy()


def _asked(body: Any, inputs: dict[str, torch.Tensor]) -> Any:
    """Ask for the attention; some fail when they are. A cache may go without the mask that a whole text needs."""
    options = {"use_cache": False} if "use_cache" in inspect.signature(body.forward).parameters else {}
    try:
        return body(**inputs, **options, output_attentions=True)
    except (IndexError, TypeError, ValueError):
        return body(**inputs, **options)


def _edit(found: Finding, traced: Any) -> None:
    """Switch the first head of the first layer off, and see that it is, and that what stands above differs."""
    try:
        attention = traced.trace(TEXT).maps[0]
        layer = next(number for number in range(attention.n_layers) if attention.visible(number).any())
        edited = traced.trace(TEXT, Edits((HeadSet(attention.kind, layer, 0, "zero"),))).map(attention.kind)
    except AttnvizError as error:
        found.edits = str(error)
        return
    except Exception as error:
        found.edits = "foreign"
        found.foreign.append(f"{found.architecture.class_name}, edits: {type(error).__name__}: {error}")
        return
    off = not edited.layer_weights(layer)[0].any()
    others = np.allclose(edited.layer_weights(layer)[1:], attention.layer_weights(layer)[1:], atol=EXACT)
    found.edits = "yes" if off and others else "wrong"


def _explain(found: Finding, traced: Any) -> None:
    try:
        bound = bind_target(traced, QUESTION if "question" in traced.card.reads else TEXT)
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
    yield none(f"of {given.traces:,} traces by 8 threads, not what each gets alone", [*_together(given)])
    if given.output:
        Path(given.output).write_text(summary(everything) + table(everything), encoding="utf-8")


def _together(given: Namespace) -> Iterator[str]:
    """Trace the families that are recorded in eight threads, each with edits of its own; name those that come out otherwise."""
    families = [family for family in tiny.FAMILIES if family.recorded and (not given.only or family.name in given.only.split())]
    for family in families:
        traced = attnviz.wrap(family.model(), tiny.tokenizer(family.architecture))
        kind = traced.trace(TEXT).kinds[0]
        edits: tuple[Edit, ...] = (
            HeadSet(kind, 0, 0, "uniform"), HeadSet(kind, 0, 0), HeadSet(kind, 0, 1), HeadSet(kind, 0, 1, "mean"),
            LinkCut(kind, 0, 0, 2, 0), WordHidden(kind, 1),
        )  # fmt: skip
        other = Prompt("a dog ran because it was tired", pair="the cat", target="the mat")
        asked = [(TEXT, NO_EDITS), (other, NO_EDITS), *((TEXT, Edits((each,))) for each in edits)]
        yield from (
            f"{family}: {asked[at][1].text}" for at in wrong_together(traced, asked, -(-given.traces // 8 // len(families)))
        )


def _figures(registry: str, found: list[Finding]) -> Iterable[Row]:
    counts = Counter(each.trace for each in found)
    yield Row(f"{registry}: traced", ", ".join(f"{name} {number}" for name, number in counts.most_common()) or "none")
    yield Row(f"{registry}: edited", f"{sum(each.edits == 'yes' for each in found)} of {len(found)}")
    yield Row(f"{registry}: explained", f"{sum(each.methods > 0 for each in found)} of {len(found)}")
    yield Row(f"{registry}: seconds", f"{sum(each.seconds for each in found):.0f}")


def summary(found: list[Finding]) -> str:
    """Write what the table is, and how many architectures of each registry are traced in which way, edited and explained."""
    columns = ("traced exactly", "rounded", "refused", "edited", "explained", "all")
    lines = []
    for registry in REGISTRIES:
        own = [each for each in found if each.architecture.registry == registry]
        traced = Counter(each.trace for each in own)
        edited, explained = sum(each.edits == "yes" for each in own), sum(each.methods > 0 for each in own)
        numbers = (*(traced[name] for name in ("exact", "rounded", "refused")), edited, explained, len(own))
        lines.append(f"| {registry} | {' | '.join(map(str, numbers))} |")
    facts = {"version": hf.__version__, "methods": len(METHODS), "columns": " | ".join(columns), "counts": "\n".join(lines)}
    return ABOUT.format(**facts, rules="|".join(["---"] * len(columns)))


def table(found: list[Finding]) -> str:
    """Write a line for each architecture, in Markdown."""
    lines = ["| class | attention | edits | methods | note |", "|---|---|---|---|---|"]
    for each in found:
        note = "; ".join([each.note, *([each.edits] if each.edits not in ("yes", "") else []), *each.foreign])
        lines.append(
            f"| {each.architecture.class_name} | {each.trace} | {'yes' if each.edits == 'yes' else 'no'} | "
            f"{each.methods} | {note} |".replace("\n", " ")
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run(rows, minutes=20, sizes={"only": ("", "gpt2 bart"), "output": ("", ""), "traces": (1536, 16)})
