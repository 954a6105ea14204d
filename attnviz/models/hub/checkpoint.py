"""A model folder, opened with care: every way in which one can be broken ends in one clear sentence."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from transformers import (
    MODEL_FOR_QUESTION_ANSWERING_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
)

from attnviz.core.errors import ModelError, ModelNotFoundError, ModelTooLargeError, UnsupportedModelError
from attnviz.models import device

CONFIG = "config.json"
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model", "*.spm", "*.bpe")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
# Parts that come after the last attention: without them the attention is still that of the trained model.
UNSEEN = ("pooler", "lm_head", "classifier", "score", "qa_outputs", "final_logits_bias")
# Of a model that answers questions, this last layer is what finds the answer.
SPANS = "qa_outputs"
_ELSE = "choose a transformer, such as bert-base-uncased"


@dataclass(frozen=True)
class Checkpoint:
    """A folder with a model in it, and the name that a person knows it by."""

    name: str
    folder: Path

    def config(self) -> Any:
        """The model's configuration, checked to be one that can be traced and fits in memory.

        Raises:
            ModelNotFoundError: the folder holds no model.
            UnsupportedModelError: transformers does not know the model, or it needs code of its own.
            ModelTooLargeError: it has more parameters than this machine may load.
        """
        if not (self.folder / CONFIG).is_file():
            raise ModelNotFoundError(f"{self.name} holds no model: there is no {CONFIG} in it; name a folder that has one.")
        try:
            config = AutoConfig.from_pretrained(self.folder, trust_remote_code=False)
            check_size(self.name, count_parameters(config))
        except (ValueError, KeyError) as error:
            raise UnsupportedModelError(self._unsupported(str(error))) from error
        except (OSError, StrictDataclassError, TypeError, AttributeError, RuntimeError) as error:
            raise ModelError(f"The {CONFIG} of {self.name} is damaged and cannot be read; get the model again.") from error
        return config

    def tokenizer(self) -> Any:
        """The model's tokenizer.

        Raises:
            UnsupportedModelError: there is none, so the model reads no text.
        """
        # transformers makes up an empty tokenizer where there is none.
        if not any(any(self.folder.glob(pattern)) for pattern in TOKENIZERS):
            raise UnsupportedModelError(f"{self.name} comes without a tokenizer, so it cannot read text; {_ELSE}.")
        try:
            tokenizer = AutoTokenizer.from_pretrained(self.folder, trust_remote_code=False)
        except Exception as error:  # Tokenizer libraries raise bare Exception, and much else, on broken files.
            raise ModelError(f"The tokenizer of {self.name} cannot be read; get its files again, or {_ELSE}.") from error
        tokenizer.truncation_side = "right"
        return tokenizer

    def model(self, config: Any) -> Any:
        """The model with its weights, in float32, under "eager" attention.

        Raises:
            ModelError: the weights are missing, damaged, of another model, or in a format that is not safe to open.
        """
        self._check_weights()
        try:
            model, report = _kind(config).from_pretrained(
                self.folder, config=config, use_safetensors=True, trust_remote_code=False, dtype=torch.float32,
                attn_implementation="eager", output_loading_info=True,
            )  # fmt: skip
        except (SafetensorError, OSError, RuntimeError, ValueError) as error:
            raise ModelError(
                f"The weights of {self.name} are damaged, cut short, or another model's; get them again."
            ) from error
        kept = {SPANS} if answers(config) else set()
        missing = [name for name in report["missing_keys"] if not any(part in name for part in set(UNSEEN) - kept)]
        if missing:
            raise ModelError(
                f"The weights of {self.name} lack {len(missing)} of the model's tensors ({missing[0]}, …), "
                "so its attention would be random; get them again."
            )
        return model.to(device.choose())

    def _check_weights(self) -> None:
        if any(self.folder.glob("*.safetensors")):
            return
        if any(path for pattern in PICKLES for path in self.folder.glob(pattern)):
            raise UnsupportedModelError(
                f"{self.name} has its weights only as pickle files, which can run code when opened; "
                "save it with safetensors, or choose a model that has them."
            )
        raise ModelNotFoundError(f"{self.name} has no weights: there is no safetensors file in it; get the model again.")

    def _unsupported(self, reason: str) -> str:
        if "custom code" in reason:
            return f"{self.name} brings code of its own, which attnviz does not run; {_ELSE}."
        if "model_type" in reason:
            return f"The {CONFIG} of {self.name} names no model type, so this is no transformer; {_ELSE}."
        return f"{self.name} is of a kind that transformers {transformers.__version__} cannot read text with; {_ELSE}."


def count_parameters(config: Any) -> int:
    """How many parameters a model of that configuration has, without making room for them."""
    with torch.device("meta"):
        model = _kind(config).from_config(config)
    return sum(parameter.numel() for parameter in model.parameters())


def check_size(name: str, parameters: int) -> None:
    """Refuse what this machine may not load.

    Raises:
        ModelTooLargeError: there are more parameters than ATTNVIZ_MAX_PARAMETERS, or than the device has room for.
    """
    limit = device.max_parameters()
    if parameters > limit:
        raise ModelTooLargeError(
            f"{name} has {_billions(parameters)} parameters and this machine loads at most {_billions(limit)}; "
            "choose a smaller model, or raise ATTNVIZ_MAX_PARAMETERS."
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


def answers(config: Any) -> bool:
    """Whether the weights of a model of one stack come with a layer that finds an answer in a text."""
    named = any("ForQuestionAnswering" in name for name in config.architectures or ())
    return named and not config.is_encoder_decoder and type(config) in MODEL_FOR_QUESTION_ANSWERING_MAPPING


def _kind(config: Any) -> Any:
    if config.is_encoder_decoder:
        return AutoModelForSeq2SeqLM
    return AutoModelForQuestionAnswering if answers(config) else AutoModel
