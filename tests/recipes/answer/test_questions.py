"""Questions as training reads them: the answer stays where it is, whatever is cropped, shuffled or taken out."""

import gzip
import json
import random

import pytest

import attnviz
from recipes.answer.questions import (
    EncodedQuestion,
    Question,
    QuestionExample,
    collate,
    crop,
    encode_questions,
    in_batches,
    part,
    plain_question,
    read_questions,
)
from recipes.data import DataError


def encoded(generator: random.Random) -> EncodedQuestion:
    n = generator.randint(1, 61)
    start = generator.randrange(n)
    return EncodedQuestion((7, 11), tuple(range(100, 100 + n)), start, generator.randint(start, min(n - 1, start + 5)), "x")


@pytest.fixture
def cases() -> list[tuple[EncodedQuestion, int, random.Random]]:
    """Questions, and the tokens that are to be read of their passages: fewer than the answer has, and more than there are."""
    generator = random.Random(17)
    return [(encoded(generator), generator.randint(1, 70), generator) for _ in range(500)]


def test_a_crop_has_the_answer(cases):
    for question, size, generator in cases:
        context, start, end = crop(question, size, generator)
        assert context[start : end + 1] == question.context[question.start : question.end + 1]
        assert len(context) == min(len(question.context), max(size, question.end - question.start + 1))
        assert context == question.context[context[0] - 100 :][: len(context)]


def test_a_crop_is_anywhere_around_the_answer():
    question = EncodedQuestion((7,), tuple(range(40)), 20, 21, "x")
    firsts = {crop(question, 7, random.Random(seed))[0][0] for seed in range(200)}
    assert firsts == set(range(15, 21))


def test_a_part_is_anywhere_in_a_passage():
    generator = random.Random(3)
    parts = {part(range(40), 7, generator) for _ in range(500)}
    assert parts == {tuple(range(first, first + 7)) for first in range(34)}
    assert part((1, 2), 7, generator) == (1, 2)


def test_marks_of_a_treebank_move_the_answer_with_its_text():
    context = "`` It -LRB- the dog -RRB- does n't bark '' , she said -LRB- twice -RRB- ."
    question = Question("What -LRB- here -RRB- ?", context, context.index("bark"), ("bark",))
    actual = plain_question(question)
    assert actual.context == '"It (the dog) doesn\'t bark" , she said (twice) .'
    assert actual.context[actual.start :].startswith("bark")
    assert actual.text == "What (here) ?"


def test_the_answers_tokens_are_found():
    tokenizer = attnviz.load("minilm").tokenizer
    context = "In Zürich, the Großmünster’s towers rise 62.3 m."
    for answer in ("Zürich", "Großmünster’s towers", "62.3 m"):
        question = Question("Where?", context, context.index(answer), (answer,))
        (actual,) = encode_questions([question], tokenizer)
        pieces = tokenizer.decode(actual.context[actual.start : actual.end + 1])
        assert pieces.replace(" ", "") == tokenizer.decode(tokenizer(answer, add_special_tokens=False)["input_ids"]).replace(
            " ", ""
        )


def test_the_sentences_of_an_answer_are_known_by_their_tokens():
    tokenizer = attnviz.load("minilm").tokenizer
    context = "It rained, e.g. on Monday. We stayed in. Nobody came! Ann slept."
    question = Question("Who?", context, context.index("in. Nobody"), ("in. Nobody",))
    (actual,) = encode_questions([question], tokenizer)
    assert tokenizer.decode(actual.context[slice(*actual.sentence)]) == "we stayed in. nobody came!"


@pytest.mark.parametrize("tokens", [71, 130, 307])
def test_every_pair_is_in_one_batch_that_is_not_too_large(tokens):
    generator = random.Random(tokens)
    pairs = [
        QuestionExample((number,) * generator.randint(1, 20), (0,) * generator.randint(1, 50), 0, 0) for number in range(61)
    ]
    batches = in_batches(pairs, tokens, generator)
    assert sorted(pair.question[0] for batch in batches for pair in batch) == list(range(len(pairs)))
    for batch in batches:
        read = collate(batch)
        assert read.question.numel() + read.context.numel() <= tokens


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DataError, match=r"there is no qa\.train\.jsonl\.gz"):
        read_questions(tmp_path, "qa.train")
    good = {"question": "Who?", "context": "Ann.", "answer": "Ann", "start": 0}
    with gzip.open(tmp_path / "qa.train.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(good) + '\n{"question": 3}\n')
    with pytest.raises(DataError, match=r"line 2 of qa\.train\.jsonl\.gz"):
        read_questions(tmp_path, "qa.train")
