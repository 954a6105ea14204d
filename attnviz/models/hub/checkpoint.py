"""A model folder, opened with care: its size is known before, and every way in which it can be broken ends in one sentence."""

import base64
import importlib.util
import json
import math
import pickletools
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import torch
import transformers
from torch.overrides import TorchFunctionMode
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_QUESTION_ANSWERING_MAPPING,
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)
from transformers.models.auto.tokenization_auto import get_tokenizer_config
from transformers.utils.logging import set_tqdm_hook

from attnviz.core.errors import ModelError, ModelNotFoundError, ModelTooLargeError, UnsupportedModelError, failing_as
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


@contextmanager
def _loading() -> Iterator[None]:
    """Load a model alone, and without a bar of transformers on stderr; those of other loads are as they were."""
    with BUILDING:
        hook = set_tqdm_hook(lambda bar, values, options: bar(*values, **{**options, "disable": True}))
        try:
            yield
        finally:
            set_tqdm_hook(hook)


def read_config(name: str, path: Path) -> dict[str, Any]:
    """Read a configuration; every number of it has to be small enough for a model that can be loaded.

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
    """Count a model's parameters, or numbers in fixed tables if these are more, without making room for them.

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
    """Yield every number of a configuration and the key that it stands under, however deep."""
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
    """Return the most that may stand under a key.

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
    >>> _billions(7_240_000_000), _billions(999_885_952), _billions(22_713_216), _billions(5_113)
    ('7.24 billion', '1 billion', '22.7 million', '5,113')
    """
    for size, word in ((10**9, "billion"), (10**6, "million")):
        # What rounds to 1,000 million is a billion.
        if count >= 0.9995 * size:
            return f"{count / size:.3g} {word}"
    return f"{count:,}"


CONFIG, ADAPTER, ADAPTER_WEIGHTS = "config.json", "adapter_config.json", "adapter_model.safetensors"
GGUF = ".gguf"
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model", "*.spm", "*.bpe")
SAFETENSORS, PICKLES = "model*.safetensors", "pytorch_model*.bin"
NUMBERS = "pytorch_model.bin, of which only the numbers were read"
OTHER_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
# Weights of other libraries, and what they are called.
OTHER_LIBRARIES = {"tf_model*.h5": "TensorFlow", "model.ckpt.index": "TensorFlow", "flax_model*": "Flax", "*.onnx": "ONNX"}
# model.fp16.safetensors, or a part of it.
_VARIANT = re.compile(r"model\.(?!safetensors)([\w-]+?)(?:-\d+-of-\d+)?\.safetensors")
# Parts that come after the last attention: without them the attention is still that of the trained model.
UNSEEN = ("pooler", "lm_head", "classifier", "score", "qa_outputs", "final_logits_bias")
# What names the next piece, a masked one, or the label of a text: how its class is called, and of which models there is one.
TOPS = (
    (("ForCausalLM", "LMHeadModel"), AutoModelForCausalLM, MODEL_FOR_CAUSAL_LM_MAPPING),
    (("ForMaskedLM",), AutoModelForMaskedLM, MODEL_FOR_MASKED_LM_MAPPING),
    (("ForSequenceClassification",), AutoModelForSequenceClassification, MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING),
)
# Of a model that answers questions, this last layer is what finds the answer.
SPANS = "qa_outputs"
# Of transformers: "You need to install fugashi to use …", "… requires the SentencePiece library but …".
_PACKAGE = re.compile(r"install (?:the )?`?([\w-]+)|requires the (\w+) library|No module named '(\w+)")
_LEGACY_PICKLES = 5
# What the pickle of a model's tensors names. What else torch.load allows makes room for as much as a pickle asks for.
_OF_TENSORS = re.compile(
    r"collections OrderedDict|torch\._utils _rebuild_(tensor|tensor_v2|parameter)|torch\.nn\.parameter Parameter|torch Size|"
    r"torch (\w+Storage|float\d+|bfloat16|u?int\d+|bool|half|long|double|float|int)"
)
_ELSE = "choose a transformer, such as bert-base-uncased"


@dataclass(frozen=True)
class Checkpoint:
    """A folder with a model in it, and the name that a person knows it by.

    allow_pickles  whether weights may be read from a pickle where there are no safetensors; no code in it is run
    gguf           the file of the folder that holds everything, where it is one of llama.cpp
    adapter        the folder of a LoRA adapter (Hu et al. 2021), whose changes are added to the weights
    """

    name: str
    folder: Path
    allow_pickles: bool = True
    gguf: str = ""
    adapter: Path | None = None

    def config(self) -> Any:
        """Read the model's configuration, and check that it can be traced and fits in memory.

        Raises:
            ModelNotFoundError: the folder holds no model.
            UnsupportedModelError: transformers does not know the model, or it needs code of its own, or is quantized.
            ModelTooLargeError: it has more parameters than this machine may load.
        """
        # A named pipe would be waited for, and a device has no end.
        if others := [path.name for path in self.folder.iterdir() if path.exists() and not (path.is_file() or path.is_dir())]:
            raise ModelNotFoundError(f"{self.name} holds {others[0]}, which is no file; name another folder.")
        if self.gguf:
            return self._gguf_config()
        if not (self.folder / CONFIG).is_file():
            raise self.no_config()
        # The numbers first: transformers makes lists and modules of them.
        if read_config(self.name, self.folder / CONFIG).get("quantization_config"):
            raise UnsupportedModelError(
                f"{self.name} is quantized, which attnviz does not read; choose the model it was made of."
            )
        with self._explained(f"The {CONFIG} of {self.name} contradicts itself or is damaged; get the model again."):
            try:
                config = AutoConfig.from_pretrained(self.folder, trust_remote_code=False)
                # A configuration may name any, such as one that transformers would fetch from the hub.
                config._attn_implementation = "eager"
                parameters = self._count_parameters(config)
            except ValueError as error:
                if unsupported := self._unsupported(str(error)):
                    raise UnsupportedModelError(unsupported) from error
                raise
        check_size(self.name, parameters, self._dtype(config).itemsize)
        self._check_weights(parameters)
        return config

    def _count_parameters(self, config: Any) -> int:
        """Count the parameters.

        Raises:
            ModelError: no piece of the model is what its configuration names as padding.
        """
        text = config.get_text_config()
        known, padding = getattr(text, "vocab_size", None), getattr(text, "pad_token_id", None)
        try:
            return count_parameters(_kind(config), config)
        except (AssertionError, IndexError):
            # Some families, such as GPT-2, make no row of padding: they are built all the same.
            if not (isinstance(known, int) and isinstance(padding, int) and padding >= known):
                raise
        raise ModelError(
            f"The {CONFIG} of {self.name} names piece number {padding} as its pad_token_id, and the model has {known:,} pieces "
            "only: name one of these in it, or choose another model."
        )

    def _gguf_config(self) -> Any:
        """Read the configuration of a GGUF file, whose tensors are counted first.

        Raises:
            UnsupportedModelError: transformers cannot read files of this architecture, or a package is missing.
            ModelTooLargeError: it has more parameters than this machine may load.
            ModelError: the file is damaged.
        """
        missing = [package for package in ("gguf", "accelerate") if importlib.util.find_spec(package) is None]
        if missing:
            raise UnsupportedModelError(
                f"{self.name} is a GGUF file, which needs a package that is not installed: pip install {' '.join(missing)}."
            )
        with self._explained(f"{self.name} is no GGUF file, or is damaged or cut short; get it again."):
            n_bytes = device.choose_dtype(None).itemsize
            check_size(self.name, sum(prod(tensor.shape) for tensor in self._gguf_header.tensors), n_bytes)
            try:
                config = AutoConfig.from_pretrained(self.folder, gguf_file=self.gguf, trust_remote_code=False)
            except ValueError as error:
                if "not supported" not in str(error):
                    raise
                raise UnsupportedModelError(
                    f"{self.name} is a GGUF file of the architecture {self._gguf_header.architecture}, which transformers "
                    f"{transformers.__version__} cannot read; choose the model it was made of."
                ) from error
            config._attn_implementation = "eager"
        check_numbers(self.name, self.gguf, config.to_dict())
        return config

    @cached_property
    def _gguf_header(self) -> Any:
        from transformers.integrations.gguf.reader import GgufHeader

        return GgufHeader.from_file(str(self.folder / self.gguf))

    def no_config(self) -> ModelNotFoundError:
        """Say what a folder without a configuration is, or which folder in it was meant."""
        below = [path.parent for pattern in ("*", "snapshots/*") for path in self.folder.glob(f"{pattern}/{CONFIG}")]
        if below:
            # Of a training's checkpoints the last one: checkpoint-1000 comes after checkpoint-500.
            latest = max(below, key=lambda path: [int(part) if part.isdigit() else -1 for part in path.name.split("-")][-1:])
            others = f", the latest of {len(below)} in it" if len(below) > 1 else ""
            return ModelNotFoundError(f"{self.name} holds no model itself; name {latest}{others}.")
        return ModelNotFoundError(f"{self.name} holds no model: there is no {CONFIG} in it; name a folder that has one.")

    @contextmanager
    def _explained(self, sentence: str) -> Iterator[None]:
        """Raise a package that is missing by its name, and every other error as `ModelError(sentence)`."""
        with failing_as(ModelError, sentence):
            try:
                yield
            except ImportError as error:
                package = _PACKAGE.search(str(error))
                if package is None:
                    raise
                named = next(filter(None, package.groups())).lower()
                raise UnsupportedModelError(
                    f"{self.name} needs the package {named}, which is not installed: pip install {named}, then start again."
                ) from error

    def tokenizer(self) -> Any:
        """Load the model's tokenizer.

        Raises:
            UnsupportedModelError: there is none, so the model reads no text.
            ModelError: it is damaged.
        """
        # transformers makes up an empty tokenizer where there is none.
        folders = [self.adapter, self.folder] if self.adapter else [self.folder]
        with self._explained(f"The tokenizer of {self.name} cannot be read; get its files again, or {_ELSE}."):
            holders = [folder for folder in folders if _has_tokenizer(folder)]
        if not holders and not self.gguf:
            raise UnsupportedModelError(
                f"{self.name} has weights and no tokenizer: put tokenizer.json and tokenizer_config.json of the model that it "
                "was trained from into its folder."
            )
        for path in (holders or folders)[0].glob("tokenizer*.json"):
            check_growth(self.name, path)
        options = {"gguf_file": self.gguf} if self.gguf else {}
        with self._explained(f"The tokenizer of {self.name} cannot be read; get its files again, or {_ELSE}."):
            tokenizer: Any = AutoTokenizer.from_pretrained((holders or folders)[0], trust_remote_code=False, **options)
        longest = tokenizer.model_max_length
        if not isinstance(longest, int | float):
            raise ModelError(
                f"The tokenizer of {self.name} says that model_max_length is {longest!r}, which is no number; "
                "correct its tokenizer_config.json."
            )
        tokenizer.truncation_side = "right"
        return tokenizer

    def model(self, config: Any) -> Any:
        """Load the model with its weights, in the type that its device computes in, under "eager" attention.

        Raises:
            ModelError: the weights are missing, damaged, of another model, or in a format that may not be opened.
        """
        model, missing, others = self._read(config, None)
        if missing and (prefix := common_prefix(missing, others)):
            model, missing, others = self._read(config, {f"^{re.escape(prefix)}": ""})
        if missing:
            instead = f" and have others, such as {others[0]}" if others else ""
            raise ModelError(
                f"The weights of {self.name} lack {len(missing)} of the model's tensors, such as {missing[0]}{instead}: "
                "its attention would be random; save it again with save_pretrained."
            )
        if self.adapter:
            model = self._with_adapter(model, self.adapter)
        if not (model._keep_in_fp32_modules or model._keep_in_fp32_modules_strict):
            # transformers converts layers, and leaves bare tensors as they are, such as XLNet's.
            model = model.to(self._dtype(config))
        return model.to(device.choose())

    def _dtype(self, config: Any) -> torch.dtype:
        """Choose the type to compute in: the numbers of a GGUF file, which have fewer bits, are unpacked to float32."""
        return device.choose_dtype(None if self.gguf else config.dtype)

    def _read(self, config: Any, renaming: dict[str, str] | None) -> tuple[Any, list[str], list[str]]:
        """Read the weights; also the names of the model's tensors that are not among them, and of those that it does not have.

        `renaming` has patterns in the names of the file's tensors, and what to put there.
        """
        # Of a pickle only tensors are read: what else stands in it is an error, and is not run.
        options: dict[str, Any] = {"gguf_file": self.gguf}
        if not self.gguf:
            options = {"use_safetensors": self.has_safetensors(), "weights_only": True, "key_mapping": renaming}
            if options["use_safetensors"]:
                options["variant"] = self.variant()
        with self._explained(self._damaged):
            if not options.get("use_safetensors", True):
                for path in self.folder.glob(PICKLES):
                    check_pickle(path)
            try:
                with _loading():
                    model, report = _kind(config).from_pretrained(
                        self.folder,
                        config=config,
                        dtype=self._dtype(config),
                        attn_implementation="eager",
                        output_loading_info=True,
                        trust_remote_code=False,
                        **options,
                    )
            except RuntimeError as error:
                if "mismatch" not in str(error):
                    raise
                raise ModelError(
                    f"The weights of {self.name} have other sizes than its {CONFIG} says; take both from one model."
                ) from error
        missing = list(report["missing_keys"])
        if _kind(config) in {kind for _, kind, _ in TOPS}:
            inside = [name for name in missing if name.startswith(f"{model.base_model_prefix}.")]
            # A top that was not saved would name pieces by chance: the rest is shown without it.
            model, missing = (model, inside) if missing == inside else (model.base_model, inside)
        kept = {SPANS} if answers(config) else set()
        missing = [name for name in missing if not any(part in name for part in set(UNSEEN) - kept)]
        return model, sorted(missing), sorted(report["unexpected_keys"])

    def _with_adapter(self, model: Any, adapter: Path) -> Any:
        """Add what a LoRA adapter changes to the weights: W + scale · B A, Hu et al. 2021, section 4.1.

        Raises:
            UnsupportedModelError: the package that reads adapters is not installed.
            ModelError: the adapter is damaged, or another model's.
        """
        sentence = f"The adapter {self.name} does not fit its model {self.folder.name}, or is damaged; get both again."
        with self._explained(sentence):
            from peft import PeftModel

            if not (adapter / ADAPTER_WEIGHTS).is_file():
                raise no_weights(self.name)
            with _loading():
                adapted: Any = PeftModel.from_pretrained(model, str(adapter))
                return adapted.merge_and_unload(safe_merge=True)

    def weights(self) -> str:
        """Say in which format the weights are, and in how many bits where a file has fewer than sixteen."""
        if self.gguf:
            from gguf import GGMLQuantizationType

            types: Counter[int] = Counter()
            for tensor in self._gguf_header.tensors:
                types[tensor.ggml_type] += prod(tensor.shape)
            kind = GGMLQuantizationType(types.most_common(1)[0][0]).name
            bits = re.search(r"\d+", kind)
            return f"GGUF, {bits[0]}-bit weights ({kind})" if bits else f"GGUF ({kind})"
        return "safetensors" if self.has_safetensors() else NUMBERS

    def variant(self) -> str | None:
        """Find which weights are read where there are several, as fp16 of model.fp16.safetensors; None: the plain ones."""
        if any((self.folder / plain).is_file() for plain in ("model.safetensors", "model.safetensors.index.json")):
            return None
        names = [path.name for path in self.folder.glob(SAFETENSORS)]
        # The most exact first: fp32, fp16, bf16.
        return max((match[1] for name in names if (match := _VARIANT.fullmatch(name))), default=None)

    def has_safetensors(self) -> bool:
        """Say whether the weights are in safetensors; else they are in a pickle that may be opened.

        Raises:
            UnsupportedModelError: they are in a pickle, and none may be opened.
            ModelNotFoundError: there are none.
        """
        if any(self.folder.glob(SAFETENSORS)):
            return True
        if any(self.folder.glob(PICKLES)) and self.allow_pickles:
            return False
        if any(path for pattern in OTHER_PICKLES for path in self.folder.glob(pattern)):
            raise only_pickles(self.name)
        raise no_weights(self.name, sorted(path.name for path in self.folder.iterdir()))

    @property
    def _damaged(self) -> str:
        return f"The weights of {self.name} are damaged, cut short, or another model's; get them again."

    def _check_weights(self, parameters: int) -> None:
        """Stops before room is made for a model that is far larger than its files. They may not be here yet."""
        held = [path.stat().st_size for pattern in (SAFETENSORS, PICKLES) for path in self.folder.glob(pattern)]
        # Nobody saves a parameter in less than a byte; half of it is for tables that are computed and not saved.
        if held and sum(held) < parameters / 2:
            raise ModelError(self._damaged)

    def _unsupported(self, reason: str) -> str:
        """Explain why transformers refuses a model, by its reason; empty if the model may be a damaged one."""
        if "custom code" in reason:
            return f"{self.name} brings code of its own, which attnviz does not run; {_ELSE}."
        if "model_type" in reason:
            return f"The {CONFIG} of {self.name} names no model type, so this is no transformer; {_ELSE}."
        if "nrecognized" in reason or "not recognize" in reason:
            return f"{self.name} is of a kind that transformers {transformers.__version__} cannot read text with; {_ELSE}."
        return ""


def _has_tokenizer(folder: Path) -> bool:
    """Say whether a folder has a tokenizer's pieces, or names one that has none to read: ByT5's pieces are bytes."""
    if any(any(folder.glob(pattern)) for pattern in TOKENIZERS):
        return True
    kind = get_tokenizer_config(folder).get("tokenizer_class")
    return getattr(getattr(transformers, str(kind), None), "vocab_files_names", None) == {}


def common_prefix(missing: Sequence[str], others: Sequence[str]) -> str:
    """Find what all of a model's tensors were saved under, in place of which they are missing; empty where it is not that.

    torch.compile saves under `_orig_mod.`, DistributedDataParallel under `module.`, a class of one's own under a field's name.

    >>> common_prefix(["a.weight", "b.bias"], ["module.a.weight", "module.b.bias", "module.top.weight"])
    'module.'
    """
    first = missing[0]
    prefixes = [name.removesuffix(first) for name in others if name.endswith(f".{first}")]
    return next((prefix for prefix in prefixes if {prefix + name for name in missing} <= set(others)), "")


def check_pickle(path: Path) -> None:
    """Stops at a pickle that names more than tensors, or a file that unpacks to more than it has: either could fill the memory.

    Raises:
        ValueError: it does, or is no file of PyTorch's.
    """
    with path.open("rb") as file:
        # PyTorch, too, asks for nothing but these.
        if file.read(4) != b"PK\x03\x04":
            # Before PyTorch 1.6: magic number, version, system, tensors and the keys of their storages, one after the other.
            file.seek(0)
            for _ in range(_LEGACY_PICKLES):
                _check_names(file)
            return
        with ZipFile(file) as archive:
            entries = archive.infolist()
            if any(entry.compress_type != ZIP_STORED for entry in entries):
                raise ValueError("an entry is compressed")
            for entry in entries:
                if entry.filename.endswith("/data.pkl"):
                    with archive.open(entry) as pickled:
                        _check_names(pickled)


def _check_names(file: Any) -> None:
    for code, given, _ in pickletools.genops(file):
        if code.name in ("STACK_GLOBAL", "INST") or (code.name == "GLOBAL" and not _OF_TENSORS.fullmatch(str(given))):
            raise ValueError(f"it names {given}")


def no_weights(name: str, files: Sequence[str] = ()) -> ModelNotFoundError:
    """Word that a model has no weights that transformers reads; `files` are those that it has."""
    if other := next((file for file in files if file.endswith(".safetensors")), None):
        return ModelNotFoundError(
            f"{name} has its weights in {other}, which transformers does not read; name a folder with model.safetensors."
        )
    for pattern, library in OTHER_LIBRARIES.items():
        if other := next((file for file in files if fnmatch(file, pattern)), None):
            return ModelNotFoundError(f"{name} has weights for {library} only ({other}); choose a model that has safetensors.")
    return ModelNotFoundError(f"{name} has no weights: there is no safetensors file in it; add its model.safetensors.")


def only_pickles(name: str) -> UnsupportedModelError:
    """Make the error for a model that has no weights that may be opened here."""
    return UnsupportedModelError(
        f"{name} has its weights only as pickle files, which are not opened here; "
        "choose a model that has safetensors, or set ATTNVIZ_ALLOW_PICKLES=1."
    )


def answers(config: Any) -> bool:
    """Say whether the weights come with a layer that finds an answer in a text."""
    named = any("ForQuestionAnswering" in name for name in _architectures(config))
    return named and type(config) in MODEL_FOR_QUESTION_ANSWERING_MAPPING


def _kind(config: Any) -> Any:
    if answers(config):
        return AutoModelForQuestionAnswering
    usual = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModel
    # The end of a class's name tells that the weights come with a layer on top.
    tops = [(ends, kind) for ends, kind, known in TOPS if type(config) in known]
    return next((kind for ends, kind in tops if any(name.endswith(ends) for name in _architectures(config))), usual)


def _architectures(config: Any) -> list[str]:
    """List the names of the classes whose weights these are; whatever else stands there names none."""
    given = config.architectures
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
