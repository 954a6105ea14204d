"""Summarize's pictures: the sentences that are kept, and the text with a bar for what each word receives."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attnviz.analysis.summarize.selection import Amount, choose, read_passage
from attnviz.analysis.summarize.selectors import selectors
from attnviz.analysis.summarize.summary_words import NO_LOOK, describe_choice, describe_rouge, describe_sentences
from attnviz.analysis.wording import Sentence
from attnviz.live.sentence_parts import Described
from attnviz.models.result import Result
from attnviz.paths import assets_folder

# What the page keeps unasked (`attnviz.ui.address.parameters`).
AMOUNT = Amount(words=15, sentences=1)


# What the address calls the selectors, in their order; what chance keeps is in the app only.
KEYS = ("trained", "last", "mean", "head", "rollout", "first")
OWN = "summarize-en"


def describe_selection(results: Sequence[Result], example: Mapping[str, Any]) -> Described:
    """Describe what the trained selector keeps of a text, and what each of the others would."""
    result = results[0]
    selects = result.card.selects or (result.card.n_layers - 1,) * 2
    described = describe_selectors(result, layer=selects[0], head=None)
    story, more = described[0]
    passage = read_passage(result.prompt.text, result.trace.encoder.keys)
    read = {"sentences": passage.sentences, "selects": selects, "name": result.card.name}
    more |= {"read": read, "rows": [each["row"] for _, each in described]}
    return Described({"encoder": (selects[0], None)}, story, more)


def describe_selectors(result: Result, *, layer: int, head: int | None) -> list[tuple[tuple[Sentence, ...], dict[str, Any]]]:
    """Say and draw what each selector keeps; `layer` and `head` are those chosen."""
    card, described = result.card, []
    passage = read_passage(result.prompt.text, result.trace.encoder.keys)
    rows = selectors(passage, result.trace, selects=card.selects, layer=layer, head=head)
    for key, selector in zip(KEYS, rows, strict=False):
        kept = choose(passage, selector.units, selector.sentences, AMOUNT)
        extract = passage.extract(kept.sentences)
        scores = selector.units - min(float(selector.units.min()), 0.0)
        drawn = {
            "units": [[unit.start, unit.end] for unit in passage.units],
            "bars": [{"name": "attention received", "values": scores.round(5).tolist()}],
            "kept": [int(place) for place in kept.units.nonzero()[0]],
            "sentences": [passage.sentences[int(place)] for place in kept.sentences.nonzero()[0]],
        }
        row = {"key": key, "name": selector.name, "sentences": extract, "words": passage.words(kept.units)}
        facts = ["The summary", card.name, selector.name]
        more = {"answer": {"text": extract, "declined": "", "facts": facts}, "passage": drawn, "row": row}
        story: tuple[Sentence, ...] = (NO_LOOK,)
        if selector.tokens is not None:
            story = (describe_sentences(passage, kept, selector.sentences), describe_choice(passage, kept, selector.units))
        described.append((story, more))
    return described


def measured_selectors() -> dict[str, Any]:
    """Read the ROUGE-1 of selectors on held-out abstracts, as it was measured, and say what it is."""
    figures = json.loads((assets_folder() / "models" / OWN / "metrics.json").read_text(encoding="utf-8"))
    end = ": ROUGE-1"
    more = "The app also compares what chance keeps, and a summary of your own: pip install attnviz."
    note = f"{describe_rouge(figures['abstracts'])} {more}"
    return {"rouge": {name.removesuffix(end): value for name, value in figures.items() if name.endswith(end)}, "note": note}
