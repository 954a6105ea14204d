"""Questions with passages that answer them: read, cut into tokens, cropped around the answer, and dealt out in batches."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnviz.text.sentences import Sentences
from recipes.data import read_records

# Penn Treebank's marks, as some sources have them: (pattern, what stands for it in running text).
_MARKS = ((r"-LRB- ?", "("), (r" ?-RRB-", ")"), (r"(?<!\S)`` ?", '"'), (r" ?''(?!\S)", '"'), (r" n't\b", "n't"))


@dataclass(frozen=True)
class Question:
    """A question, the passage that answers it, the character where the answer starts, and all answers that are accepted.

    >>> Question("Who?", "It was Ann.", 7, ("Ann",)).answers[0]
    'Ann'
    """

    text: str
    context: str
    start: int
    answers: tuple[str, ...]
    source: str = ""


@dataclass(frozen=True)
class EncodedQuestion:
    """A question and its passage as ids without special ones; its answer: tokens `start` to `end`, both included.

    `sentence`: the first token of the sentences that hold the answer, and the one behind their last.
    """

    question: tuple[int, ...]
    context: tuple[int, ...]
    start: int
    end: int
    source: str
    sentence: tuple[int, int] = (0, 0)

    @property
    def answer(self) -> tuple[int, ...]:
        return self.context[self.start : self.end + 1]


@dataclass(frozen=True)
class QuestionExample:
    """What is read in training: ids with special ones, and where the answer starts and ends; -1 where there is none."""

    question: tuple[int, ...]
    context: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class QuestionBatch:
    """Pairs padded at their ends with 0; `start` and `end` are -1 where the passage does not answer."""

    question: Int[Tensor, "batch question"]
    context: Int[Tensor, "batch context"]
    question_visible: Bool[Tensor, "batch question"]
    context_visible: Bool[Tensor, "batch context"]
    start: Int[Tensor, " batch"]
    end: Int[Tensor, " batch"]


def read_questions(folder: Path, name: str) -> list[Question]:
    """`name`.jsonl.gz of a folder, one question a line.

    Raises:
        DataError: there is no such file, or a line is no question with a passage that has its answer.
    """

    def made(row: dict[str, Any]) -> Question:
        answers = tuple(row["answers"] if "answers" in row else [row["answer"]])
        start = int(row["start"]) if "start" in row else row["context"].index(answers[0])
        return Question(row["question"], row["context"], start, answers, row.get("source", ""))

    return read_records(folder, name, made, "question with context, answer and start")


def plain(text: str) -> str:
    """Text without the marks of a treebank; spaces stay where they are, for no subword has one.

    >>> plain("Ann -LRB- she -RRB- said `` I do n't '' .")
    'Ann (she) said "I don\\'t" .'
    """
    for pattern, mark in _MARKS:
        text = re.sub(pattern, mark, text)
    return text


def plain_question(question: Question) -> Question:
    """Remove a treebank's marks from a question and its passage, and move its answer along."""
    before, answer = question.context[: question.start], question.answers[0]
    after = question.context[question.start + len(answer) :]
    # Each part by itself: what is changed before the answer moves it, and by how much is then known.
    before, own, after = plain(before), plain(answer), plain(after)
    return Question(plain(question.text), before + own + after, len(before), (own,), question.source)


def encode_questions(questions: Sequence[Question], tokenizer: Any) -> list[EncodedQuestion]:
    """Tokenize questions and passages; answers that no token holds are left out."""
    options = {"add_special_tokens": False, "return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
    question_ids = tokenizer([question.text for question in questions], **options)["input_ids"]
    passages = tokenizer([question.context for question in questions], **options, return_offsets_mapping=True)
    encoded = []
    for question, ids, context, offsets in zip(
        questions, question_ids, passages["input_ids"], passages["offset_mapping"], strict=True
    ):
        stop = question.start + len(question.answers[0])
        inside = [index for index, (first, last) in enumerate(offsets) if first < stop and last > question.start]
        if inside and ids:
            around = _sentence(question.context, question.start, stop)
            sentence = [index for index, (first, last) in enumerate(offsets) if first < around[1] and last > around[0]]
            encoded.append(
                EncodedQuestion(
                    tuple(ids), tuple(context), inside[0], inside[-1], question.source, (sentence[0], sentence[-1] + 1)
                )
            )
    return encoded


def _sentence(text: str, start: int, stop: int) -> tuple[int, int]:
    """Characters of the sentences that text[start:stop] stands in."""
    sentences = Sentences.of(text)
    touched = [span for span in sentences.spans if span[0] < stop and span[1] > start]
    return (touched[0][0], touched[-1][1]) if touched else (start, stop)


def crop(question: EncodedQuestion, size: int, generator: random.Random) -> tuple[tuple[int, ...], int, int]:
    """`size` tokens of the passage with the answer somewhere in them, and where it then starts and ends."""
    size = max(size, question.end - question.start + 1)
    lowest = max(0, question.end - size + 1)
    first = generator.randint(lowest, max(lowest, min(question.start, len(question.context) - size)))
    return question.context[first : first + size], question.start - first, question.end - first


def part(passage: Sequence[int], size: int, generator: random.Random) -> tuple[int, ...]:
    """Cut `size` tokens out of a passage, or take all of it where it is shorter."""
    first = generator.randint(0, max(0, len(passage) - size))
    return tuple(passage[first : first + size])


def in_batches(pairs: Sequence[QuestionExample], tokens: int, generator: random.Random) -> list[list[QuestionExample]]:
    """Deal all pairs out in a shuffled order, those of like lengths together, at most `tokens` a batch with padding counted."""
    drawn = generator.sample(pairs, len(pairs))
    # Steps of eight: within them the order stays random, and padding small.
    drawn.sort(key=lambda pair: (len(pair.context) // 8, len(pair.question)))
    batches: list[list[QuestionExample]] = []
    widths = (0, 0)
    for pair in drawn:
        widths = max(widths[0], len(pair.question)), max(widths[1], len(pair.context))
        if not batches or sum(widths) * (len(batches[-1]) + 1) > tokens:
            batches.append([])
            widths = len(pair.question), len(pair.context)
        batches[-1].append(pair)
    generator.shuffle(batches)
    return batches


def collate(pairs: Sequence[QuestionExample]) -> QuestionBatch:
    """Pad pairs into one batch.

    >>> collate([QuestionExample((1, 7, 2), (5, 6, 2), 0, 1), QuestionExample((1, 2), (5, 2), -1, -1)]).context_visible
    tensor([[ True,  True,  True],
            [ True,  True, False]])
    """

    def padded(rows: Sequence[tuple[int, ...]]) -> tuple[Tensor, Tensor]:
        width = max(len(row) for row in rows)
        ids = torch.tensor([(*row, *([0] * (width - len(row)))) for row in rows])
        return ids, torch.arange(width)[None] < torch.tensor([len(row) for row in rows])[:, None]

    question, question_visible = padded([pair.question for pair in pairs])
    context, context_visible = padded([pair.context for pair in pairs])
    start, end = torch.tensor([pair.start for pair in pairs]), torch.tensor([pair.end for pair in pairs])
    return QuestionBatch(question, context, question_visible, context_visible, start, end)
