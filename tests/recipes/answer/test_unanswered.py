"""Passages that do not answer: each kind is what it says, and the answer stands in none."""

import random

import pytest

from recipes.answer.questions import EncodedQuestion
from recipes.answer.unanswered import NEAR, OtherPassages, holds

# Passage p: the tokens 100p to 100p + 30, whose sentences are ten tokens each; a question of it shares its rare token.
PASSAGES = [tuple(range(100 * place, 100 * place + 30)) for place in range(31)]
QUESTIONS = [EncodedQuestion((7, 100 * place + 3), passage, 12, 13, "x", (10, 20)) for place, passage in enumerate(PASSAGES)]
OTHERS = OtherPassages(QUESTIONS)


def test_the_answering_sentence_is_taken_out():
    assert OTHERS.draw(QUESTIONS[3], "sentence", random.Random(1)) == (*range(300, 310), *range(320, 330))


def test_a_window_misses_the_answer():
    drawn = {OTHERS.draw(QUESTIONS[3], "window", random.Random(seed)) for seed in range(50)}
    assert drawn == {tuple(range(300, 312)), tuple(range(314, 330))}


def test_what_stands_beside_is_near_in_the_file():
    def near(place: int) -> set[int]:
        drawn = [OTHERS.draw(QUESTIONS[place], "beside", random.Random(seed)) for seed in range(200)]
        return {passage[0] // 100 for passage in drawn if passage}

    assert near(13) == set(range(13 - NEAR, 13 + NEAR + 1)) - {13}
    assert near(0) == set(range(1, NEAR + 1))


def test_the_passage_alike_shares_the_rarest_words():
    passages = [(*passage, 9000) if place in (4, 5, 6) else passage for place, passage in enumerate(PASSAGES)]
    passages[8] = (*passages[8], 9000, 9001)
    question = EncodedQuestion((9000, 9001, 7), passages[4], 12, 13, "x", (10, 20))
    others = OtherPassages([EncodedQuestion((7,), passage, 0, 0, "x") for passage in passages])
    # Four of 31 are more than a tenth: that token says nothing; the other is only in one.
    assert others.draw(question, "words", random.Random(1)) == passages[8]
    assert others.draw(EncodedQuestion((99_999,), passages[4], 12, 13, "x"), "words", random.Random(1)) is None


@pytest.mark.parametrize("kind", ["window", "sentence", "beside", "words", "elsewhere"])
def test_a_passage_with_the_answer_is_none(kind):
    passages = [(1, 2, *range(100 * place + 3, 100 * place + 10), 1, 2, 3, 1, 2) for place in range(20)]
    everywhere = [EncodedQuestion((7,), passage, 9, 10, "x", (9, 12)) for passage in passages]
    others = OtherPassages(everywhere)
    assert all(others.draw(question, kind, random.Random(4)) is None for question in everywhere)


def test_a_part_holds_where_its_tokens_follow_each_other():
    assert holds((5, 1, 1, 2), (1, 2))
    assert not holds((1, 5, 2), (1, 2))
    assert not holds((1,), (1, 2))
