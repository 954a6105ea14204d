"""Summarize's pictures: the sentences that are kept, and the text with a bar for what each word receives."""

from collections.abc import Mapping, Sequence
from typing import Any

from attnviz.analysis.summarize.selection import Amount, choose, read_passage
from attnviz.analysis.summarize.selectors import selectors
from attnviz.analysis.summarize.summary_words import describe_choice, describe_sentences
from attnviz.live.story import Described
from attnviz.models.result import Result

# What the page keeps unasked (`attnviz.ui.address.parameters`).
AMOUNT = Amount(words=15, sentences=1)


def describe_selection(results: Sequence[Result], example: Mapping[str, Any]) -> Described:
    """Describe what the trained selector keeps of a text."""
    result = results[0]
    attention, card = result.trace.encoder, result.card
    passage = read_passage(result.prompt.text, attention.keys)
    layer = card.selects[0] if card.selects else card.n_layers - 1
    selector = selectors(passage, result.trace, selects=card.selects, layer=layer, head=None)[0]
    kept = choose(passage, selector.units, selector.sentences, AMOUNT)
    story = (describe_sentences(passage, kept, selector.sentences), describe_choice(passage, kept, selector.units))
    facts = ["The summary", card.name, selector.name]
    drawn = {
        "units": [[unit.start, unit.end] for unit in passage.units],
        "bars": [{"name": "attention received", "values": selector.units.round(5).tolist()}],
        "kept": [int(place) for place in kept.units.nonzero()[0]],
        "sentences": [passage.sentences[int(place)] for place in kept.sentences.nonzero()[0]],
    }
    more = {"answer": {"text": passage.extract(kept.sentences), "declined": "", "facts": facts}, "passage": drawn}
    return Described({"encoder": (layer, None)}, story, more)
