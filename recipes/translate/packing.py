"""What packing the weights of a translator changes: its translations, its alignments, and the weights of its heads."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.core.trace import Prompt
from attnviz.models.shipped_translators import TranslationModel
from recipes.card import table
from recipes.translate.evaluate import corpus_of, evaluate_translator, translate_all
from recipes.translate.sentence_pairs import read_pairs

# Where metrics.json keeps what packing has changed.
PACKING = "packing"
SENTENCES = 200


def packing_changes(
    before: TranslationModel, after: TranslationModel, data: Path, report: Callable[[str], None]
) -> dict[str, Any]:
    """Measure a translator before and after its weights were packed, on the same sentences: its figures now, and the changes.

    Raises:
        DataError: the folder lacks the development pairs, or sacrebleu is not installed.
    """
    texts = [sentence.text for sentence in read_pairs(data, f"{corpus_of(before)}.dev")]
    drawn = random.Random(SENTENCES).sample(texts, min(SENTENCES, len(texts)))
    old, new = (evaluate_translator(model, data, report) for model in (before, after))
    rates = {name: abs(value - old[name]) for name, value in new.items() if name.startswith("AER")}
    changes = {
        "texts": len(drawn),
        "weight": round(largest_weight_change(before, after, drawn), 4),
        "BLEU": [round(figures["BLEU"], 2) for figures in (old, new)],
        **({"AER": round(max(rates.values()), 4)} if rates else {}),
    }
    report(f"{PACKING}  {changes}")
    return {**new, PACKING: changes}


def largest_weight_change(before: TranslationModel, after: TranslationModel, texts: Sequence[str]) -> float:
    """Find the largest change of any weight of any head, where both write the translation of the first."""
    largest = 0.0
    for text, written in zip(texts, translate_all(before, texts), strict=True):
        prompt = Prompt(text, target=written)
        for one, other in zip(before.trace(prompt).maps, after.trace(prompt).maps, strict=True):
            for layer in range(one.n_layers):
                largest = max(largest, float(np.abs(one.layer_weights(layer) - other.layer_weights(layer)).max()))
    return largest


def packing_section(config: dict[str, Any], metrics: dict[str, Any]) -> list[str]:
    """Write the part of a card that says what packing its weights has changed; nothing where that was not measured."""
    if not (changes := metrics.get(PACKING)):
        return []
    rates = [("largest change of any AER above", f"{changes['AER']:.4f}")] if "AER" in changes else []
    bleu = " → ".join(f"{value:.2f}" for value in changes["BLEU"])
    return [
        "## Smaller weights",
        "The trained weights were in half precision, 16 bits each, and then packed: each matrix as integers with one power of "
        "two a row, about 10 bits each. BLEU and chrF by a beam, and how far to believe its pictures, were measured before. "
        f"To pack weights in half precision: `python -m recipes pack {config['recipe']['name']} --data FOLDER`.",
        table([
            ("", "by packing"),
            (f"largest change of any weight of any head, {changes['texts']} texts", f"{changes['weight']:.4f}"),
            ("BLEU", bleu),
            *rates,
        ]),
    ]  # fmt: skip
