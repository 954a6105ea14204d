"""Build a translator of our own, LSTM or Transformer, from its saved folder."""

from typing import Any

from tokenizers import Tokenizer

from attnviz.models import device
from attnviz.models.base import ModelCard, Progress
from attnviz.models.saved_models import SavedModel
from attnviz.models.translate.translation_model import TranslationModel
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.seq2seq import RecurrentConfig, Seq2Seq, Seq2SeqConfig
from attnviz.nn.translator import Translator, TranslatorConfig

# Each language has its own subwords.
SOURCE, TARGET = "source.json", "target.json"
MAX_TOKENS = 128


def translator(saved: SavedModel, progress: Progress) -> TranslationModel:
    """Build a translator with its weights and the tokenizers of both languages.

    Raises:
        ValueError, KeyError, RuntimeError, …: the folder is damaged.
    """
    model = untrained_translator(saved.config)
    model.load_state_dict(saved.weights)
    source, target = (Tokenizer.from_file(str(saved.folder / name)) for name in (SOURCE, TARGET))
    across = model.attentions["cross"]
    # Attention without heads is one head.
    layers, heads = len(across), getattr(across[0], "n_heads", 1)
    where = device.choose()
    model.eval().requires_grad_(False).to(where)
    card = ModelCard(
        **saved.about,
        architecture="encoder-decoder",
        n_layers=layers,
        n_heads=heads,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        max_tokens=MAX_TOKENS,
        device=str(where),
        reads=("target",),
        languages=tuple(saved.config["card"]["languages"]),
        supervised_head=_supervised_head(saved.config, layers, heads),
    )
    return TranslationModel(card, model, source, target)


def untrained_translator(config: dict[str, Any]) -> Seq2Seq | Translator:
    """Build the model that a configuration describes, with weights not yet loaded."""
    values: dict[str, Any] = dict(config["model"])
    if config["kind"] == "transformer":
        values["block"] = BlockConfig(**values["block"])
        return Translator(TranslatorConfig(**values))
    values["recurrent"] = RecurrentConfig(**values["recurrent"])
    return Seq2Seq(Seq2SeqConfig(**values))


def _supervised_head(config: dict[str, Any], n_layers: int, n_heads: int) -> tuple[int, int] | None:
    """Read the layer and head that the recipe says were trained to align."""
    if not (named := config.get("recipe", {}).get("supervised_head")):
        return None
    layer, head = int(named["layer"]), int(named["head"])
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        raise ValueError(f"there is no head L{layer}·H{head}")
    return layer, head
