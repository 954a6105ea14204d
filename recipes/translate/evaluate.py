"""Measure a translator: BLEU and chrF of its translations, and the error rate of its alignments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.analysis.translation_alignment import balanced, same_class
from attnviz.models.shipped_translators import TranslationModel
from attnviz.nn.decoding import END, Beam, greedy
from attnviz.nn.lstm_translator import Seq2Seq
from attnviz.nn.transformer_translator import Translator
from attnviz.training.toy_training import TranslationBatch, collate
from recipes.data import DataError
from recipes.translate.alignment_error import (
    LinkedPair,
    alignment_error_rate,
    by_word,
    by_words,
    hard_links,
    read_links,
    spans,
)
from recipes.translate.sentence_pairs import Sentence, read_pairs

Report = Callable[[str], None]
# The corpus that links are looked for in, by metric: in the domain of the training data, and the field's standard.
LINKS = {"AER in domain": "{corpus}.dev.links", "AER Hansards": "hansards-{languages}.gold"}

# Sentences of more words than this are measured apart: short ones are most of the corpus, and hide what happens to long ones.
LONG = 8


@dataclass(frozen=True)
class Scores:
    """BLEU and chrF, 0 to 100, with sacrebleu's signatures: without them a figure cannot be compared."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str


def score(written: Sequence[str], sentences: Sequence[Sentence]) -> Scores:
    """Corpus BLEU (Papineni et al. 2002) and chrF (Popović 2015) against all translations of each sentence.

    Raises:
        DataError: sacrebleu is not installed.
    """
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError:
        raise DataError("to measure BLEU, install sacrebleu: pip install attnviz[train]") from None
    most = max(len(sentence.translations) for sentence in sentences)
    # As many columns as the most translations; sacrebleu takes None where a sentence has fewer, though its types do not say.
    references: list[list[Any]] = [
        [sentence.translations[index] if index < len(sentence.translations) else None for sentence in sentences]
        for index in range(most)
    ]
    bleu, chrf = BLEU(), CHRF()
    values = [metric.corpus_score(list(written), references).score for metric in (bleu, chrf)]
    return Scores(values[0], values[1], str(bleu.get_signature()), str(chrf.get_signature()))


def translate_all(model: TranslationModel, texts: Sequence[str], size: int = 64) -> list[str]:
    """Greedy translations of many texts, batched by length, in the order of the texts."""
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    translations = [""] * len(texts)
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        encodings = [model.source.encode(texts[index]) for index in rows]
        source = collate([(encoding.ids, ()) for encoding in encodings]).source
        with torch.inference_mode():
            written = greedy(model.speaking(source), len(rows), model.longest(source.shape[1]), never=model.never_written)
        for index, pieces, encoding in zip(rows, written, encodings, strict=True):
            # In a batch the longest source sets the limit; each is held to its own.
            mine = pieces[: model.longest(len(encoding.ids))]
            translations[index] = model.target.decode([piece for piece in mine if piece != END]).strip()
    return translations


def aligned(model: TranslationModel, pairs: Sequence[LinkedPair], size: int = 64) -> dict[str, float]:
    """Measure the AER of the forced alignments: of an LSTM's one, or of every layer and head of a Transformer, read both ways.

    A Transformer's row is named by the token it reads. `naive` takes for a token the row that writes it; `shifted` the row
    that reads it, one step later (Chen et al. 2020, arXiv:2004.14837). `norms` are the weights times `carried_lengths`.
    `balanced`, with every source word used
    and words linked with words (`attnviz.analysis.translation_alignment`), is measured of an LSTM, and of the supervised head.
    """
    alignments: dict[str, list[frozenset[tuple[int, int]]]] = {}
    whole = {"", "L{}·H{} shifted".format(*model.card.supervised_head)} if model.card.supervised_head else {""}
    order = sorted(range(len(pairs)), key=lambda index: len(pairs[index].texts[0]))
    for start in range(0, len(order), size):
        batch = [pairs[index] for index in order[start : start + size]]
        sources = [model.source.encode(pair.texts[0]) for pair in batch]
        targets = [model.target.encode(pair.texts[1]) for pair in batch]
        tensors = collate([(one.ids, other.ids) for one, other in zip(sources, targets, strict=True)])
        readings = _readings(model.model, tensors)
        for row, (pair, source, target) in enumerate(zip(batch, sources, targets, strict=True)):
            columns = by_word(source.offsets, spans(pair.words[0], pair.texts[0]))
            rows = by_word(target.offsets, spans(pair.words[1], pair.texts[1]))
            for name, (weights, shift) in readings.items():
                mine = by_words(weights[row, shift : shift + len(target.ids), : len(source.ids)], rows, columns)
                alignments.setdefault(name, []).append(hard_links(mine))
                if name in whole:
                    shares = balanced(mine, same_class(pair.words[1], pair.words[0]))
                    alignments.setdefault(f"{name} balanced".strip(), []).append(hard_links(shares))
    gold = [pairs[index] for index in order]
    return {name: alignment_error_rate(links, gold) for name, links in alignments.items()}


def _readings(model: Seq2Seq | Translator, batch: TranslationBatch) -> dict[str, tuple[np.ndarray, int]]:
    """Matrices by name, and by how many rows each is read late."""
    with torch.inference_mode():
        attention: Any = model(batch.source, batch.inputs)[1]
        if isinstance(model, Seq2Seq):
            return {"": (attention.cpu().numpy(), 0)}
        lengths = carried_lengths(model, batch.source)
    layers = [[each.cpu().numpy() for each in (weights, weights * length[:, :, None])]
              for weights, length in zip(attention.cross, lengths, strict=True)]  # fmt: skip
    readings: dict[str, tuple[np.ndarray, int]] = {}
    for by, kind in enumerate(("", "norms ")):
        for shift, way in enumerate(("naive", "shifted")):
            for layer, matrices in enumerate(layers):
                readings[f"L{layer} mean {kind}{way}"] = (matrices[by].mean(axis=1), shift)
                for head in range(matrices[by].shape[1]):
                    readings[f"L{layer}·H{head} {kind}{way}"] = (matrices[by][:, head], shift)
    return readings


def carried_lengths(model: Translator, source: Int[Tensor, "batch key"]) -> list[Float[Tensor, "batch head key"]]:
    """Measure ‖x_j W_V W_O‖ of each layer's cross-attention: how long the vector is that a weight of 1 carries.

    Kobayashi et al. 2020, arXiv:2004.10102, equation 3: what a head moves is its weight times this length.
    """
    lengths = []
    for block, cache in zip(model.blocks, model.begin(source).caches, strict=True):
        out = block.cross.output.weight.unflatten(1, (block.cross.n_heads, -1))
        lengths.append(torch.einsum("bhkd,ohd->bhko", cache.source.value, out).norm(dim=-1))
    return lengths


def evaluate_translator(model: TranslationModel, data: Path, report: Report, *, beam: Beam | None = None) -> dict[str, Any]:
    """Measure every metric that the data folder allows, by name; each is reported as soon as it is known.

    Raises:
        DataError: the folder lacks the development pairs, or sacrebleu is not installed.
    """
    corpus, languages = corpus_of(model), "-".join(model.card.languages)
    sentences = read_pairs(data, f"{corpus}.dev")
    texts = [sentence.text for sentence in sentences]
    metrics: dict[str, Any] = {"sentences": len(sentences), "references": sum(len(one.translations) for one in sentences)}

    def note(**figures: Any) -> None:
        for name, value in figures.items():
            report(f"{name}  {value:.2f}" if isinstance(value, float) else f"{name}  {value}")
        metrics.update(figures)

    written = translate_all(model, texts)
    scores = score(written, sentences)
    note(**{"BLEU": scores.bleu, "chrF": scores.chrf, "BLEU signature": scores.bleu_signature})
    note(**{"chrF signature": scores.chrf_signature})
    for name, long in ((f"BLEU up to {LONG} words", False), (f"BLEU over {LONG} words", True)):
        rows = [index for index, text in enumerate(texts) if (len(text.split()) > LONG) == long]
        if rows:
            note(**{name: score([written[row] for row in rows], [sentences[row] for row in rows]).bleu})
    if beam is not None:
        best = score([model.translate(text, beam)[0].text for text in texts], sentences)
        note(**{f"BLEU beam {beam.width}": best.bleu, f"chrF beam {beam.width}": best.chrf})
    for metric, pattern in LINKS.items():
        path = data / f"{pattern.format(corpus=corpus, languages=languages)}.tsv.gz"
        if path.is_file():
            readings = aligned(model, read_links(path))
            note(**{f"{metric} {name}".strip(): value for name, value in readings.items()})
    return metrics


def corpus_of(model: TranslationModel) -> str:
    """Name the corpus that a translator is measured on."""
    return f"tatoeba-{'-'.join(model.card.languages)}"
