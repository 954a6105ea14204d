"""Translators with random weights, saved as `python -m recipes` saves them: small enough to be made in a moment."""

import json
from pathlib import Path

import torch

from attnviz.nn.encoder import BlockConfig
from attnviz.nn.lstm_translator import RecurrentConfig
from recipes.translate.card import export_translator
from recipes.translate.recipe import Corpus, LSTMSpec, Recipe, TransformerSpec
from recipes.translate.sentence_pairs import Sentence, Tokenizers

PAIRS = (
    ("The dog, which isn't Tom's, didn't eat.", "Le chien qui n'est pas à Tom n'a pas mangé !"),
    ("The red car is not new.", "La voiture rouge n'est pas neuve."),
)
KINDS = {
    "additive": LSTMSpec("additive", RecurrentConfig(dim=11, hidden=13)),
    "dot": LSTMSpec("dot", RecurrentConfig(dim=11, hidden=13, bidirectional=False)),
    "scaled": LSTMSpec("scaled", RecurrentConfig(dim=11, hidden=13)),
    "transformer": TransformerSpec(2, BlockConfig(dim=22, n_heads=2, hidden=13, norm="before")),
}


def tiny_translator(
    folder: Path, kind: str = "additive", *, seed: int = 7, supervised_head: tuple[int, int] | None = None
) -> Path:
    """Save one; the same seed gives the same weights. `supervised_head` is the one that was trained to align, if any."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizers = Tokenizers.trained([Sentence(source, (target,)) for source, target in PAIRS], ("en", "fr"), (97, 89))
    tokenizers.source.save(str(folder / "source.json"))
    tokenizers.target.save(str(folder / "target.json"))
    torch.manual_seed(seed)
    recipe = Recipe(f"tiny-{kind}", "made for a test", "https://arxiv.org/abs/1409.0473", KINDS[kind], Corpus())
    sizes = tokenizers.source.get_vocab_size(), tokenizers.target.get_vocab_size()
    # Weights of this size make random models say something else for every text.
    weights = {name: 3 * value for name, value in recipe.model.untrained_model(*sizes).state_dict().items()}
    export_translator(recipe, weights, folder, folder / recipe.name)
    if supervised_head:
        supervise(folder / recipe.name, *supervised_head)
    return folder / recipe.name


def supervise(folder: Path, layer: int, head: int) -> None:
    """Says in a translator's configuration that one of its heads was taught to align."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["recipe"]["supervised_head"] = {"layer": layer, "head": head}
    path.write_text(json.dumps(config), encoding="utf-8")
