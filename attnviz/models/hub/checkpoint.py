"""A model folder, opened with care: every way in which one can be broken ends in one clear sentence."""

import pickletools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import torch
import transformers
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

from attnviz.core.errors import ModelError, ModelNotFoundError, UnsupportedModelError, failing_as
from attnviz.models import device
from attnviz.models.hub.sizes import check_size, count_parameters, read_config

CONFIG = "config.json"
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model", "*.spm", "*.bpe")
SAFETENSORS, PICKLES = "model*.safetensors", "pytorch_model*.bin"
NUMBERS = "pytorch_model.bin, of which only the numbers were read"
OTHER_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
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
    """

    name: str
    folder: Path
    allow_pickles: bool = True

    def config(self) -> Any:
        """The model's configuration, checked to be one that can be traced and fits in memory.

        Raises:
            ModelNotFoundError: the folder holds no model.
            UnsupportedModelError: transformers does not know the model, or it needs code of its own, or is quantized.
            ModelTooLargeError: it has more parameters than this machine may load.
        """
        # A named pipe would be waited for, and a device has no end.
        if others := [path.name for path in self.folder.iterdir() if path.exists() and not (path.is_file() or path.is_dir())]:
            raise ModelNotFoundError(f"{self.name} holds {others[0]}, which is no file; name another folder.")
        if not (self.folder / CONFIG).is_file():
            raise ModelNotFoundError(f"{self.name} holds no model: there is no {CONFIG} in it; name a folder that has one.")
        # The numbers first: transformers makes lists and modules of them.
        if read_config(self.name, self.folder / CONFIG).get("quantization_config"):
            raise UnsupportedModelError(
                f"{self.name} is quantized, which attnviz does not read; choose the model it was made of."
            )
        with failing_as(ModelError, f"The {CONFIG} of {self.name} contradicts itself or is damaged; get the model again."):
            try:
                config = AutoConfig.from_pretrained(self.folder, trust_remote_code=False)
                # A configuration may name any, such as one that transformers would fetch from the hub.
                config._attn_implementation = "eager"
                parameters = count_parameters(_kind(config), config)
            except ValueError as error:
                if unsupported := self._unsupported(str(error)):
                    raise UnsupportedModelError(unsupported) from error
                raise
        check_size(self.name, parameters)
        self._check_weights(parameters)
        return config

    def tokenizer(self) -> Any:
        """The model's tokenizer.

        Raises:
            UnsupportedModelError: there is none, so the model reads no text.
            ModelError: it is damaged.
        """
        # transformers makes up an empty tokenizer where there is none.
        if not any(any(self.folder.glob(pattern)) for pattern in TOKENIZERS):
            raise UnsupportedModelError(f"{self.name} comes without a tokenizer, so it cannot read text; {_ELSE}.")
        with failing_as(ModelError, f"The tokenizer of {self.name} cannot be read; get its files again, or {_ELSE}."):
            tokenizer: Any = AutoTokenizer.from_pretrained(self.folder, trust_remote_code=False)
        longest = tokenizer.model_max_length
        if not isinstance(longest, int | float):
            raise ModelError(
                f"The tokenizer of {self.name} says that model_max_length is {longest!r}, which is no number; "
                "correct its tokenizer_config.json."
            )
        tokenizer.truncation_side = "right"
        return tokenizer

    def model(self, config: Any) -> Any:
        """The model with its weights, in float32, under "eager" attention.

        Raises:
            ModelError: the weights are missing, damaged, of another model, or in a format that may not be opened.
        """
        # Of a pickle only tensors are read: what else stands in it is an error, and is not run.
        options = {"use_safetensors": self.has_safetensors(), "weights_only": True, "trust_remote_code": False}
        with failing_as(ModelError, self._damaged):
            if not options["use_safetensors"]:
                for path in self.folder.glob(PICKLES):
                    check_pickle(path)
            model, report = _kind(config).from_pretrained(
                self.folder,
                config=config,
                dtype=torch.float32,
                attn_implementation="eager",
                output_loading_info=True,
                **options,
            )
        missing = list(report["missing_keys"])
        if _kind(config) in {kind for _, kind, _ in TOPS}:
            inside = [name for name in missing if name.startswith(f"{model.base_model_prefix}.")]
            # A top that was not saved would name pieces by chance: the rest is shown without it.
            model, missing = (model, inside) if missing == inside else (model.base_model, inside)
        kept = {SPANS} if answers(config) else set()
        missing = [name for name in missing if not any(part in name for part in set(UNSEEN) - kept)]
        if missing:
            raise ModelError(
                f"The weights of {self.name} lack {len(missing)} of the model's tensors ({missing[0]}, …), "
                "so its attention would be random; get them again."
            )
        return model.to(device.choose())

    def weights(self) -> str:
        """In which format the weights are."""
        return "safetensors" if self.has_safetensors() else NUMBERS

    def has_safetensors(self) -> bool:
        """Whether the weights are in safetensors; else they are in a pickle that may be opened.

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
        raise no_weights(self.name)

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
        """What is said of a model that transformers refuses for that reason; nothing if it may be a damaged one."""
        if "custom code" in reason:
            return f"{self.name} brings code of its own, which attnviz does not run; {_ELSE}."
        if "model_type" in reason:
            return f"The {CONFIG} of {self.name} names no model type, so this is no transformer; {_ELSE}."
        if "nrecognized" in reason or "not recognize" in reason:
            return f"{self.name} is of a kind that transformers {transformers.__version__} cannot read text with; {_ELSE}."
        return ""


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


def no_weights(name: str) -> ModelNotFoundError:
    """What is said of a model that has no weights at all."""
    return ModelNotFoundError(f"{name} has no weights: there is no safetensors file in it; get the model again.")


def only_pickles(name: str) -> UnsupportedModelError:
    """What is said of a model that has no weights that may be opened here."""
    return UnsupportedModelError(
        f"{name} has its weights only as pickle files, which are not opened here; "
        "choose a model that has safetensors, or set ATTNVIZ_ALLOW_PICKLES=1."
    )


def answers(config: Any) -> bool:
    """Whether the weights come with a layer that finds an answer in a text."""
    named = any("ForQuestionAnswering" in name for name in _architectures(config))
    return named and type(config) in MODEL_FOR_QUESTION_ANSWERING_MAPPING


def _kind(config: Any) -> Any:
    if answers(config):
        return AutoModelForQuestionAnswering
    usual = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModel
    return next((kind for names, kind, known in TOPS if _names(config, names) and type(config) in known), usual)


def _names(config: Any, endings: tuple[str, ...]) -> bool:
    """Whether a configuration says that its weights come with such a layer on top."""
    return any(name.endswith(endings) for name in _architectures(config))


def _architectures(config: Any) -> list[str]:
    """The classes whose weights these are, by name; whatever else stands there names none."""
    given = config.architectures
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
