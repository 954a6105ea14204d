"""What a claim about a model has to beat: the same model with random weights, and the same words in random order."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import capabilities
from attnviz.text.conllu import ParsedSentence

SEED = 0
# The untrained model and the shuffled words need no more sentences than these to be known well enough.
RIVAL_SENTENCES = 500
Rivals = frozenset[Literal["untrained", "shuffled"]]
RIVALS: Rivals = frozenset({"untrained", "shuffled"})


def untrained(model: AttentionModel) -> AttentionModel | None:
    """Build the same model with random weights; None where it cannot be had."""
    return capabilities(model).untrained(SEED)


def in_random_order(sentences: Sequence[ParsedSentence]) -> tuple[ParsedSentence, ...]:
    """Shuffle the words of each sentence, every one in an order of its own."""
    return tuple(shuffled(sentence, SEED + index) for index, sentence in enumerate(sentences))


def shuffled(sentence: ParsedSentence, seed: int) -> ParsedSentence:
    """Lay the words of a sentence out in another order, each with its head, parted by spaces."""
    order = np.random.default_rng(seed).permutation(len(sentence.words)).tolist()
    places = {old: new for new, old in enumerate(order)}
    words, position = [], 0
    for old in order:
        word = sentence.words[old]
        head = None if word.head is None else places[word.head]
        words.append(replace(word, start=position, end=position + len(word.text), head=head))
        position += len(word.text) + 1
    pronoun, antecedent = (None if place is None else places[place] for place in (sentence.pronoun, sentence.antecedent))
    text = " ".join(word.text for word in words)
    return ParsedSentence(text, tuple(words), sentence.name, pronoun, antecedent)
