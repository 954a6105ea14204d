"""Numbers in the sentences of pages, at states drawn at random, against what Python gives for the same address."""

import os
import random
import re
from collections.abc import Callable

import numpy as np
import pytest

import attnviz
from attnviz.analysis.summary_selection import read_passage, selectors
from attnviz.core.trace import AttentionMap, Prompt
from attnviz.models.base import DecodingOptions
from attnviz.models.tasks import draft
from tests.visits import open_page, said

SUBJECTS = ("The old dog", "A tired teacher", "My little sister", "The trophy", "Nobody", "The mayor of the town")
VERBS = ("slept", "won", "looked", "laughed", "was seen", "fell asleep")
ENDS = ("because it was tired", "near the old house", "after the long journey", "in the green garden", "before the others came")
NAMED = "“(.+?)”"
TOKEN = f"(?:the token )?{NAMED}"
SHARE = r"(under 1|over 99|\d+(?:\.\d+)?) %"
# Half of the last digit that is shown.
HALF = 0.005


def plain(page: str, **address: str | list[str]) -> str:
    """What a page says, as text."""
    app = open_page(page, **address)
    assert not app.error
    markup = re.sub(r"<style.*?</style>", "", said(app), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", markup).replace("\\", "").replace("\xa0", " "))


def share(written: str) -> float:
    return {"under 1": 0.005, "over 99": 0.995}.get(written) or float(written.split()[-1]) / 100


def sentence(draw: random.Random) -> str:
    return " ".join(draw.choice(parts) for parts in (SUBJECTS, VERBS, ENDS)) + "."


def is_among(written: str, values: np.ndarray) -> bool:
    """Whether one of the numbers is written so."""
    return bool(np.any(np.abs(values - share(written)) <= HALF + 1e-5))


def cells(weights: np.ndarray, attention: AttentionMap, query: str, key: str) -> np.ndarray:
    """All weights that tokens of one text give to tokens of another."""
    rows, columns = ([place for place, each in enumerate(axis) if each.text == text] for axis, text in (
        (attention.queries, query), (attention.keys, key),
    ))  # fmt: skip
    assert rows, query
    assert columns, key
    return weights[np.ix_(rows, columns)]


def strongest(weights: np.ndarray, attention: AttentionMap) -> float:
    """The largest weight between two different words that are no special tokens and no punctuation."""
    apart = [
        weights[row, column]
        for row, query in enumerate(attention.queries)
        for column, key in enumerate(attention.keys)
        if query.word != key.word and not {query.special, key.special} & {True}
        if any(map(str.isalnum, query.text)) and any(map(str.isalnum, key.text))
    ]
    return max(apart)


def check_link(text: str, attention: AttentionMap, layer: int, head: int) -> int:
    """Hold the sentence of a head against its weights; returns how many numbers it had."""
    weights = attention.weights(layer, head)
    told = re.search(rf"L{layer}·H{head} sends {TOKEN} to {TOKEN} with weight {SHARE}(: its strongest)?", text)
    assert told, text[:400]
    assert is_among(told[3], cells(weights, attention, told[1], told[2])), told[0]
    if told[4]:
        assert is_among(told[3], np.array([strongest(weights, attention)])), told[0]
    if other := re.search(rf"strongest link between different words is {TOKEN} to {TOKEN} \({SHARE}\)", text):
        assert is_among(other[3], np.array([strongest(weights, attention)])), other[0]
        assert is_among(other[3], cells(weights, attention, other[1], other[2])), other[0]
    if special := re.search(rf"{SHARE} of its attention goes to special tokens", text):
        keys = [each.special for each in attention.keys]
        rows = weights[[not each.special for each in attention.queries]][:, keys].sum(axis=-1)
        every = weights[:, keys].sum(axis=-1)
        assert is_among(special[1], np.array([rows.mean(), every.mean()])), special[0]
    return 1 + bool(other) + bool(special)


def encode(draw: random.Random) -> int:
    text, layer, head = sentence(draw), draw.randrange(6), draw.randrange(12)
    place = {}
    attention = attnviz.load("minilm").trace(text).encoder
    if draw.random() < 0.5:
        typed = [index for index, each in enumerate(attention.queries) if not each.special]
        place = {"query": str(draw.choice(typed)), "key": str(draw.choice(typed))}
    return check_link(plain("encode", text=text, layer=str(layer), head=str(head), **place), attention, layer, head)


def write(draw: random.Random) -> int:
    text = sentence(draw).removesuffix(".")
    said_ = plain("write", text=text)
    trace = attnviz.run(attnviz.load("smollm2"), "write", text, tokens=0).trace
    likely = {each.text.strip(): each.probability for each in trace.continuation.next_tokens(len(trace.maps[0].keys) - 1)[:2]}
    told = re.search(rf"Next comes {NAMED} \({SHARE}\), or else {NAMED} \({SHARE}\)", said_)
    assert told, said_[:400]
    for word, written in ((told[1], told[2]), (told[3], told[4])):
        assert is_among(written, np.array([likely[word]])), told[0]
    return 2


def translate(draw: random.Random) -> int:
    text, layer, head = sentence(draw), draw.randrange(3), draw.randrange(4)
    told = plain("translate", models=["transformer-en-fr"], text=text, layer=str(layer), head=str(head))
    written = draft(attnviz.load("transformer-en-fr"), Prompt(text), DecodingOptions())
    numbers = re.findall(r"log p of this translation: (−?\d+\.\d+)", told)
    assert numbers, told[:400]
    assert abs(float(numbers[0].replace("−", "-")) - written.log_probability) <= HALF + 1e-5
    return len(numbers)


def answer(draw: random.Random) -> int:
    passage, question = f"{sentence(draw)} {sentence(draw)}", f"Who {draw.choice(VERBS)}?"
    told = plain("answer", passage=passage, question=question)
    result = attnviz.run(attnviz.load("answer-en"), "answer", Prompt(passage, question=question)).answers.result
    sure = re.search(rf"answer-en · {SHARE} (sure|for no answer)", told)
    assert sure, told[:400]
    best = result.spans[0].probability if sure[2] == "sure" else result.nothing
    assert is_among(sure[1], np.array([best])), sure[0]
    if other := re.search(rf"The (?:next best answer is|likeliest answer would be) {NAMED} \({SHARE}\)", told):
        assert is_among(other[2], np.array([each.probability for each in result.spans])), other[0]
    return 1 + bool(other)


def whatif(draw: random.Random) -> int:
    text, layer, head = sentence(draw), draw.randrange(6), draw.randrange(12)
    words = text.removesuffix(".").split()
    place = draw.randrange(len(words))
    other = " ".join([*words[:place], draw.choice(("green", "seven", "Paris")), *words[place + 1 :]]) + "."
    told = plain("whatif", text=text, other=other, change="word", layer=str(layer), head=str(head))
    one, two = (attnviz.load("minilm").trace(each).encoder for each in (text, other))
    moved = re.search(
        rf"{NAMED} now looks (?:more |less )?at {NAMED} \({SHARE}(?:, was|; in its place {NAMED} gave|; before,) ?"
        rf"(?:{NAMED} (?:got )?)?{SHARE}\)",
        told,
    )
    assert moved, told[:400]
    query, key, now, instead, other_key, was = moved.groups()
    assert is_among(now, cells(two.weights(layer, head), two, query, key)), moved[0]
    assert is_among(was, cells(one.weights(layer, head), one, instead or query, other_key or key)), moved[0]
    return 2


def summarize(draw: random.Random) -> int:
    text = " ".join(sentence(draw) for _ in range(draw.randint(2, 4)))
    told = plain("summarize", text=text)
    model = attnviz.load("summarize-en")
    trace = model.trace(text)
    passage = read_passage(text, trace.maps[0].queries)
    shares = selectors(passage, trace, selects=model.card.selects, layer=0, head=None)[0].sentences
    kept = re.search(rf"Sentence (\d+) of (\d+) is kept. It gets {SHARE} of the attention; the next best gets {SHARE}", told)
    assert kept, told[:400]
    ranked = np.sort(shares)[::-1]
    assert (int(kept[1]), int(kept[2])) == (int(shares.argmax()) + 1, len(shares))
    assert is_among(kept[3], ranked[:1]), kept[0]
    assert is_among(kept[4], ranked[1:2]), kept[0]
    return 4


def matters(draw: random.Random) -> int:
    passage, question = sentence(draw), f"Who {draw.choice(VERBS)}?"
    told = plain("matters", text=passage, pair=question)
    fallen = re.search(rf"Without {NAMED} the model .*?: {SHARE} (?:falls|rises) to {SHARE}", told)
    assert fallen, told[:400]
    model = attnviz.load("answer-en")
    before = model.answers(Prompt(passage, question=question))
    span = before.result.spans[0]
    assert is_among(fallen[2], np.array([span.probability, before.result.nothing])), fallen[0]
    return 1


PAGES: dict[str, Callable[[random.Random], int]] = {
    "encode": encode, "write": write, "translate": translate, "answer": answer, "whatif": whatif,
    "summarize": summarize, "matters": matters,
}  # fmt: skip
# Of each page; more are drawn with STATES=40 in the environment.
STATES = int(os.environ.get("STATES", "2"))


@pytest.mark.gate
@pytest.mark.parametrize("state", range(STATES))
@pytest.mark.parametrize("page", PAGES)
def test_numbers_in_sentences_are_what_python_gives(page: str, state: int) -> None:
    PAGES[page](random.Random(f"{page} {state}"))
