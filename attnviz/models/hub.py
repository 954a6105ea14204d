"""Any Hugging Face model, by its id or its folder: safetensors only, no code but transformers' own, in float32."""

from pathlib import Path

import torch
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer

from attnviz.models import device
from attnviz.models.build import Facts, build
from attnviz.models.protocol import Progress
from attnviz.models.traced import TracedModel


def load_folder(folder: Path, facts: Facts, progress: Progress | None = None) -> TracedModel:
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModel
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    model = kind.from_pretrained(
        folder, config=config, use_safetensors=True, trust_remote_code=False, dtype=torch.float32, attn_implementation="eager"
    )
    return build(model.to(device.choose()), tokenizer, facts)


def load_from_hub(name: str, facts: Facts, progress: Progress | None = None) -> TracedModel:
    raise NotImplementedError
