"""What a selector is worth, measured against ways that only look, and ways that do not even look."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from attnviz.analysis.summary_selection import (
    Passage,
    attention_received_by_head,
    plain_layers,
    read_passage,
    rollout,
    rouge,
    selectors,
    stems,
    top,
)
from attnviz.analysis.wording import head_name
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models.shipped_summarizer import SummaryModel
from recipes.summarize.abstracts import Abstract, in_references, is_content_word, read_abstracts

# Words kept of an abstract where their precision is measured.
KEPT = 15
# The rows of the card, in its order; "every head" are those of the pretrained layers, of which the best is told.
BEST = "Best sentence there is"
ALONE = "Attention alone, the best of all ways"
RANDOM = "Random"


@dataclass
class Tally:
    """What one way has chosen so far: ROUGE of its sentences, and the precision of its words; 0 to 1 each."""

    sentences: list[tuple[float, float, float]] = field(default_factory=list)
    words: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Means over all abstracts, in percent."""
        means = (100 * np.mean(self.sentences, axis=0)).tolist()
        named = dict(zip(("ROUGE-1", "ROUGE-2", "ROUGE-L"), means, strict=True))
        return {**named, **({f"words at {KEPT}": 100 * float(np.mean(self.words))} if self.words else {})}


@dataclass(frozen=True, eq=False)
class Judged:
    """An abstract with what each of its sentences and words is worth.

    sentences  ROUGE-1, -2 and -L of every sentence, against the best of the references
    words      of every unit the share of references that have it; NaN where it is no content word
    """

    passage: Passage
    sentences: Float[np.ndarray, "sentence measure"]
    words: Float[np.ndarray, " unit"]

    @classmethod
    def of(cls, abstract: Abstract, trace: AttentionTrace) -> "Judged":
        """Measured against the abstract's references."""
        text = read_passage(abstract.text, trace.encoder.keys, sentences=abstract.spans)
        scores = [rouge(sentence, abstract.references) for sentence in abstract.sentences]
        references = [frozenset(stems(reference)) for reference in abstract.references]
        words = [in_references(unit.text, references) if is_content_word(unit.text) else np.nan for unit in text.units]
        return cls(text, np.array([(each.one, each.two, each.longest) for each in scores]), np.array(words, dtype=float))

    def sentence(self, scores: Float[np.ndarray, " sentence"]) -> tuple[float, float, float]:
        """Look up what the sentence of the highest score is worth."""
        one, two, longest = self.sentences[top(scores, 1, self.passage.read)][0].tolist()
        return one, two, longest

    def precision(self, scores: Float[np.ndarray, " unit"]) -> float:
        """Compute which share of the content words among those kept a reference has; 0 where none is kept."""
        kept = self.words[top(scores, KEPT, self.passage.candidate)]
        content = kept[~np.isnan(kept)]
        return float((content > 0).mean()) if content.size else 0.0


def evaluate_summarizer(model: SummaryModel, data: Path, report: Callable[[str], None]) -> dict[str, Any]:
    """ROUGE of the chosen sentence and precision of the chosen words, for every way, by name.

    Raises:
        DataError: the folder lacks the development abstracts.
    """
    abstracts = read_abstracts(data, "scitldr.dev")
    tallies: dict[str, Tally] = {}
    for number, abstract in enumerate(abstracts, 1):
        trace = model.trace_sentences(Prompt(abstract.text), abstract.spans)
        _judge(Judged.of(abstract, trace), trace, model.card.selects, tallies)
        if number % 100 == 0:
            report(f"measured {number} of {len(abstracts)} abstracts")
    metrics: dict[str, Any] = {"abstracts": len(abstracts), "references": sum(len(each.references) for each in abstracts)}
    for name, figures in _rows(tallies):
        report(f"{name}: " + "  ".join(f"{measure} {value:.2f}" for measure, value in figures.items() if measure != "way"))
        metrics.update({f"{name}: {measure}": value for measure, value in figures.items()})
    return metrics


def _judge(judged: Judged, trace: AttentionTrace, selects: tuple[int, int] | None, tallies: dict[str, Tally]) -> None:
    text = judged.passage
    for way in selectors(text, trace, selects=selects, layer=0, head=0):
        if "chosen head" in way.name:
            continue  # every head has its turn below
        tally = tallies.setdefault(way.name, Tally())
        if way.name == RANDOM:
            # The expected value: no luck of a single draw.
            tally.sentences.append(tuple(judged.sentences[text.read].mean(axis=0).tolist()))
            content = judged.words[text.candidate & ~np.isnan(judged.words)]
            tally.words.append(float((content > 0).mean()) if content.size else 0.0)
            continue
        tally.sentences.append(judged.sentence(way.sentences))
        tally.words.append(judged.precision(way.units))
    best = judged.sentences.mean(axis=1)
    tallies.setdefault(BEST, Tally()).sentences.append(judged.sentence(best))
    for name, scores, words in _alone(judged, trace, selects):
        tally = tallies.setdefault(f"{ALONE}: {name}", Tally())
        tally.sentences.append(judged.sentence(scores))
        tally.words.append(judged.precision(words))


def _alone(
    judged: Judged, trace: AttentionTrace, selects: tuple[int, int] | None
) -> Iterator[tuple[str, Float[np.ndarray, " sentence"], Float[np.ndarray, " unit"]]]:
    """Score by every pretrained head, every layer's mean, their mean, and rollout, each summed over a sentence and averaged."""
    by_head = attention_received_by_head(trace.encoder)
    plain = plain_layers(trace.encoder, selects)
    named = {head_name(layer, head): by_head[layer, head] for layer in plain for head in range(by_head.shape[1])}
    named |= {f"mean of {head_name(layer, None)}": by_head[layer].mean(axis=0) for layer in plain}
    named["mean of all layers"] = by_head[plain.start : plain.stop].mean(axis=(0, 1))
    named["rollout"] = rollout(trace.encoder, plain)
    for name, tokens in named.items():
        for mean in (False, True):
            how = "mean over a sentence's tokens" if mean else "sum over a sentence's tokens"
            yield f"{name}, {how}", judged.passage.by_sentence(tokens, mean=mean), judged.passage.by_unit(tokens)


def _rows(tallies: dict[str, Tally]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The card's rows: every way, and of all the ways to use attention alone the one whose sentences are best."""
    alone = {name: tally.figures() for name, tally in tallies.items() if name.startswith(ALONE)}
    for name, tally in tallies.items():
        if name not in alone:
            yield name, tally.figures()
    sentences = max(alone, key=lambda name: _mean_rouge(alone[name]))
    words = max(alone, key=lambda name: alone[name][f"words at {KEPT}"])
    # The best for sentences and the best for words, each chosen with hindsight: an upper bound for attention alone.
    figures = {**alone[sentences], f"words at {KEPT}": alone[words][f"words at {KEPT}"]}
    way = f"{sentences.removeprefix(f'{ALONE}: ')}; for words {words.removeprefix(f'{ALONE}: ').split(',')[0]}"
    yield ALONE, {**figures, "way": way}


def _mean_rouge(figures: dict[str, float]) -> float:
    return sum(value for name, value in figures.items() if name.startswith("ROUGE")) / 3


def names_of_ways(metrics: dict[str, Any]) -> Sequence[str]:
    """List the selectors that a metrics.json has figures of, in its order."""
    return list(dict.fromkeys(name.split(": ")[0] for name in metrics if ": " in name))
