"""How large a model is, told by its configuration before anything of it is built."""

import base64
import json
import math
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from attnviz.core.errors import ModelError, ModelTooLargeError
from attnviz.models import device

CONFIG_BYTES = 8 * 2**20
# The deepest language models have some 130 layers. Modules are made one by one even where they take no memory.
MOST_LAYERS, MOST_EXPERTS, MOST_HEADS, MOST_LABELS, MOST_TENSORS = 256, 1024, 1024, 2**16, 8_000
# More than anybody's context window.
MOST_POSITIONS = 2**24
_BOUNDS = {
    r"_?num_labels": MOST_LABELS,
    r"(?:(?:num|n)_.*(?:layers?|blocks?|groups?|stages?|predict\w*)|(?:\w+_)?layers|inner_group_num|depth)": MOST_LAYERS,
    r"(?:num|n)_.*experts?": MOST_EXPERTS,
    r"(?:num|n)_.*heads?|\w+_heads": MOST_HEADS,
    r"\w*(?:position|seq_len|ctx|window|block_size|chunk|bucket)\w*": MOST_POSITIONS,
}
# These compute a table of sines number by number, a microsecond each; others do where they are told to.
_SINES, _SINES_ASKED = {"marian", "pegasus", "roformer"}, ("sinusoidal_pos_embds", "sinusoidal_embeddings")
_WIDTHS = ("d_model", "dim", "emb_dim", "hidden_size")
MOST_SINES = 2**22
# transformers makes models under settings that hold for the whole process: of two threads that make one, one gets a part of the
# other's, and tied tensors are missing in both. Whoever makes or loads a model holds this meanwhile.
BUILDING = threading.RLock()
# So many characters may a tokenizer make of one: those of known models make 36 at most.
MOST_GROWTH = 100
# One character, or one of a class, at least once.
_CONSUMING = re.compile(r"(?:\\[snrtdw]|\[[^]\\]+\]|[^][\\(){}.*+?|^$])(?:\+|\{[1-9]\d*(?:,\d*)?\})?")


def read_config(name: str, path: Path) -> dict[str, Any]:
    """What stands in a configuration, every number of it small enough for a model that can be loaded.

    Raises:
        ModelTooLargeError: a number is not; the message says which.
        ModelError: it cannot be read.
    """
    try:
        if path.stat().st_size > CONFIG_BYTES:
            raise ValueError("too long")
        config = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("no table of values")
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"The {path.name} of {name} is damaged and cannot be read; get the model again.") from error
    check_numbers(name, path.name, config)
    return config


def check_growth(name: str, path: Path) -> None:
    """Refuse a tokenizer whose steps, one after the other, would make a text very much longer before it is cut.

    Raises:
        ModelTooLargeError: one character can become more than `MOST_GROWTH`.
    """
    try:
        steps = json.loads(path.read_text(encoding="utf-8"))
        grown = math.prod(_growth(steps.get(part)) for part in ("normalizer", "pre_tokenizer", "post_processor"))
        grown = max(grown, _growth(steps.get("decoder")))
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return  # transformers says what is damaged
    if grown > MOST_GROWTH:
        raise ModelTooLargeError(
            f"The {path.name} of {name} makes more than {MOST_GROWTH} characters of one, which no known tokenizer does: "
            "its texts would fill the memory; use another model."
        )


def _growth(step: Any) -> float:
    """Bound how many characters a step of a tokenizer, and all steps inside of it, make of one."""
    match step:
        case {"type": "Replace", "pattern": {"String": pattern}, "content": content}:
            return float(max(1, len(content) / max(len(pattern), 1)))
        case {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}:
            # Other expressions may match between all characters, and add to each.
            return float(max(1, len(content) + (not _CONSUMING.fullmatch(pattern))))
        case {"type": "ByteLevel"}:
            return 4.0
        case {"type": "BertNormalizer"}:
            return 3.0
        case {"type": "Metaspace"}:
            return 2.0
        case {"type": "Precompiled", "precompiled_charsmap": written}:
            # The length of a table, the table, and then all that it leads to, each with a zero at its end.
            charsmap = base64.b64decode(written)
            made = charsmap[4 + int.from_bytes(charsmap[:4], "little") :].decode("utf-8", "replace")
            return float(max(1, *map(len, made.split("\0"))))
        case {"type": "TemplateProcessing", "single": single, "pair": pair}:
            texts = ([part["Sequence"]["id"] for part in each if "Sequence" in part] for each in (single, pair))
            return float(max(1, *(ids.count(one) for ids in texts for one in ids)))
        case {"type": "Sequence"}:
            return math.prod((_growth(each) for parts in step.values() if isinstance(parts, list) for each in parts), start=1.0)
    return 1.0


def check_numbers(name: str, file: str, config: dict[str, Any]) -> None:
    """Refuse a configuration, read from that file, with a number that no model has that can be loaded.

    Raises:
        ModelTooLargeError: a number is too large; the message says which.
    """
    for key, value in _numbers(config):
        if value > (bound := _bound(key)):
            raise ModelTooLargeError(
                f"{name} has a {file} with {key} = {min(value, 1e99):.7g}, and at most {bound:,} can be loaded; "
                "choose a smaller model, or get its files again."
            )
    _check_sines(name, config)


def count_parameters(kind: Any, config: Any) -> int:
    """How many parameters, or numbers in fixed tables if these are more, a model has, without making room for them.

    `kind` is a class of transformers such as `AutoModel`.

    Raises:
        ModelTooLargeError: it has more tensors than any model that can be loaded.
    """
    with BUILDING, torch.device("meta"), _Counting():
        model = kind.from_config(config)
    return max(sum(tensor.numel() for tensor in tensors) for tensors in (model.parameters(), model.buffers()))


def check_size(name: str, parameters: int, n_bytes: int = 4) -> None:
    """Refuse what this machine may not load, of parameters that take so many bytes each.

    Raises:
        ModelTooLargeError: there are more parameters than ATTNVIZ_MAX_PARAMETERS, or than the device has room for.
    """
    limit = device.max_parameters(n_bytes)
    if parameters > limit:
        raise ModelTooLargeError(
            f"{name} has {_billions(parameters)} parameters and this machine loads at most {_billions(limit)}; "
            "choose a smaller model, or raise ATTNVIZ_MAX_PARAMETERS."
        )


class _Counting(TorchFunctionMode):
    """Counts the tensors that this thread makes, and stops at too many: experts in every layer multiply."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.tensors += func is torch.empty
        if self.tensors > MOST_TENSORS:
            raise ModelTooLargeError(
                f"This model has more than {MOST_TENSORS:,} tensors, which is more than can be loaded; choose a smaller one."
            )
        return func(*args, **(kwargs or {}))


def _numbers(config: dict[str, Any]) -> Iterator[tuple[str, int | float]]:
    """Every number of a configuration and the key that it stands under, however deep."""
    rest: list[tuple[str, Any]] = list(config.items())
    while rest:
        key, value = rest.pop()
        if isinstance(value, dict):
            # The keys and values of these are the labels themselves.
            rest += [] if key in ("id2label", "label2id") else value.items()
        elif isinstance(value, list):
            rest += [(key, each) for each in value]
        elif isinstance(value, int | float):
            yield key, value


def _bound(key: str) -> int | float:
    """The most that may stand under a key.

    >>> _bound("num_hidden_layers"), _bound("encoder_layers"), _bound("max_position_embeddings"), _bound("rope_theta")
    (256, 256, 16777216, inf)
    """
    return next((bound for pattern, bound in _BOUNDS.items() if re.fullmatch(pattern, key)), float("inf"))


def _check_sines(name: str, config: dict[str, Any]) -> None:
    if str(config.get("model_type")) not in _SINES and not any(config.get(key) for key in _SINES_ASKED):
        return
    numbers = {"max_position_embeddings": 1024.0, **dict(_numbers(config))}
    rows, width = numbers["max_position_embeddings"], max((numbers[key] for key in _WIDTHS if key in numbers), default=1024)
    if rows * width > MOST_SINES:
        raise ModelTooLargeError(
            f"{name} computes a table of {rows:,.0f} positions by {width:,.0f}, which takes too long; choose a smaller model."
        )


def _billions(count: int) -> str:
    """
    >>> _billions(7_240_000_000), _billions(22_713_216), _billions(5_113)
    ('7.24 billion', '22.7 million', '5,113')
    """
    for size, word in ((10**9, "billion"), (10**6, "million")):
        if count >= size:
            return f"{count / size:.3g} {word}"
    return f"{count:,}"
