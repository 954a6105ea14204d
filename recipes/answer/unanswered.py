"""Passages that do not answer a question, of several kinds: from the easy one of elsewhere to its own without the answer.

A passage that answers looks like one that does not in all but the answer. Who has only seen strange passages declines by topic
alone, as Rajpurkar et al. 2018 (arXiv:1806.03822) found of SQuAD 1.1's readers.
"""

import collections
import math
import random
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from recipes.answer.questions import EncodedQuestion

Kind = Literal["window", "sentence", "beside", "words", "elsewhere"]
# Passages before and after a question's own in the file: of the same article, and where there are none, of the same source.
NEAR = 5
# Tokens that more than this share of the passages have say nothing of what a passage is about.
COMMON = 0.1


class OtherPassages:
    """The passages of one source, in the order of its file, and what each of its questions could be asked of in vain."""

    def __init__(self, questions: Sequence[EncodedQuestion]) -> None:
        self.passages = list(dict.fromkeys(question.context for question in questions))
        self._places = {passage: place for place, passage in enumerate(self.passages)}

    def draw(self, question: EncodedQuestion, kind: Kind, generator: random.Random) -> tuple[int, ...] | None:
        """Draw a passage of a kind in which the answer does not stand; None where there is none.

        window     a side of its own, before or after the answer: what a window that misses the answer shows
        sentence   its own, without the sentence that answers
        beside     one that stands beside it in the file: of the same article, the same author or shop
        words      the one that shares most of the question's rarer words
        elsewhere  any other of the source
        """
        match kind:
            case "window":
                sides = question.context[: question.start], question.context[question.end + 1 :]
                passage = generator.choices(sides, [len(side) + 1e-9 for side in sides])[0]
            case "sentence":
                first, stop = question.sentence
                passage = question.context[:first] + question.context[stop:]
            case "beside":
                passage = self._beside(question, generator)
            case "words":
                passage = self._alike(question)
            case "elsewhere":
                passage = generator.choice(self.passages)
        if not passage or passage == question.context or holds(passage, question.answer):
            return None
        return passage

    def _beside(self, question: EncodedQuestion, generator: random.Random) -> tuple[int, ...]:
        own = self._places[question.context]
        near = [place for place in range(own - NEAR, own + NEAR + 1) if place != own and 0 <= place < len(self.passages)]
        return self.passages[generator.choice(near)] if near else ()

    def _alike(self, question: EncodedQuestion) -> tuple[int, ...]:
        """Choose by the sum of the inverse document frequencies (Spärck Jones 1972) of the tokens shared."""
        own, scores = self._places[question.context], collections.defaultdict[int, float](float)
        for token in set(question.question):
            places = self._index.get(token, ())
            for place in places:
                scores[place] += math.log(len(self.passages) / len(places))
        best = max((place for place in scores if place != own), key=scores.__getitem__, default=None)
        return () if best is None else self.passages[best]

    @cached_property
    def _index(self) -> dict[int, list[int]]:
        index = collections.defaultdict(list)
        for place, passage in enumerate(self.passages):
            for token in set(passage):
                index[token].append(place)
        return {token: places for token, places in index.items() if len(places) <= COMMON * len(self.passages)}


def holds(passage: Sequence[int], part: Sequence[int]) -> bool:
    """Whether the tokens of `part` stand in a passage one after the other.

    >>> holds((1, 2, 3), (2, 3)), holds((1, 2, 3), (1, 3))
    (True, False)
    """
    width = len(part)
    return any(tuple(passage[at : at + width]) == tuple(part) for at in range(len(passage) - width + 1))
