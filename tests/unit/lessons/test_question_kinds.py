"""Right answers, against weights that stand in the test."""

import json
import re
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

import attnviz
from attnviz.analysis.head_view import View
from attnviz.analysis.heads.claim import parse
from attnviz.analysis.heads.verdict import ClaimResult, Rival
from attnviz.analysis.wording import whole_percent
from attnviz.core.edits import Edits
from attnviz.core.errors import AttnvizError, LessonError
from attnviz.core.sampling import TEMPERATURES, Continuation
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt, Shares, WeightStore
from attnviz.figures.explorer import overview
from attnviz.lessons.check_lesson import ComputedSource
from attnviz.lessons.lesson_file import LessonQuestion, LessonStep
from attnviz.lessons.picture_link import LessonPicture, read_link
from attnviz.lessons.question_kinds import (
    KINDS,
    hidden_map,
    points_of,
    question_form,
    read_number,
    same_answer,
    truth_of,
    words_with_percents,
)
from attnviz.models.base import ModelCard
from attnviz.models.edit import edited
from attnviz.models.result import Result
from tests.factories import make_map, pair, sentence

TOKENS = sentence("the cat saw the dog")
# [CLS] the cat saw the dog [SEP]; in head 0 "cat" gives most to [SEP], of words to "dog", and most goes from "saw" to "cat".
HEAD_0 = np.array(
    [
        [1.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00],
        [0.10, 0.20, 0.30, 0.20, 0.10, 0.05, 0.05],
        [0.05, 0.05, 0.10, 0.15, 0.05, 0.20, 0.40],
        [0.05, 0.05, 0.70, 0.05, 0.05, 0.05, 0.05],
        [0.10, 0.10, 0.10, 0.10, 0.20, 0.31, 0.09],
        [0.10, 0.05, 0.20, 0.21, 0.20, 0.14, 0.10],
        [0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 1.00],
    ]
)
HEAD_1 = np.eye(7)
PICTURE = read_link("/encode?text=the+cat+saw+the+dog&layer=0&head=0")
NAMES = ("[CLS]", "the(1)", "cat", "saw", "the(2)", "dog", "[SEP]")
TEXTS = ("the cat saw the dog",)
FIRST, SECOND = ("[CLS]", "the", "cat", "saw", "[SEP]"), ("dog", "[SEP]")


class Given:
    """One trace, one verdict, some shares."""

    def __init__(self, output: str = "le chat", holds: bool = True, queries: int = 500, least: float = 0.004) -> None:
        attention = AttentionMap("encoder", TOKENS, TOKENS, DenseWeights((np.stack([HEAD_0, HEAD_1]),)))
        # Behind every token dog has 50 %, mouse 20 %, a beginning of words 10 %, and ox the least.
        ids, logs = np.tile(np.arange(4, dtype=np.int32), (7, 1)), np.tile(np.log(np.float32([0.5, 0.2, 0.1, least])), (7, 1))
        rest, given = np.full((7, len(TEMPERATURES)), np.log(0.2 - least), np.float32), np.zeros(7, np.float32)
        names = dict(enumerate((f"_{word}", f" {word}") for word in ("dog", "mouse", "el", "ox")))
        following = Continuation(7, ("_",) * 7, ids, logs, rest, given, names)
        self.trace = AttentionTrace("one", Prompt("the cat saw the dog"), (attention,), output, continuation=following)
        self.holds, self.queries = holds, queries

    def result(self, picture: LessonPicture) -> Result:
        return Result(self.trace, ModelCard("one", "", "encoder", 1, 2, 1, 128, "cpu"), 0.0)

    def verdict(self, model: str, claim: str) -> ClaimResult:
        rivals = (Rival("chance", 0.1), Rival("offset -1", 0.2))
        return ClaimResult(parse(claim), 0, 0, 0.7, 0.6, 0.8, 0.7, self.queries, 300, rivals, 0.001, self.holds)

    def shares(self, picture: LessonPicture, method: str) -> Shares:
        return Shares(method, "the answer", TOKENS, np.array([0, 0.1, 0.5, -0.2, 0.1, 0.3, 0]))


def truth(kind: str, picture: LessonPicture | None = PICTURE, source: Given | None = None, **fields):
    return truth_of(LessonQuestion(kind, "?", fields, 7), picture, source or Given())


@pytest.mark.parametrize(
    ("kind", "fields", "answer", "right", "wrong"),
    [
        ("token", {"from": "saw"}, "cat", ("cat", " Cat. ", "“cat”"), ("dog", "", "cats", "[CLS]")),
        ("token", {"from": "cat"}, "dog", ("dog",), ("[SEP]", "saw")),
        ("token", {"from": "the(2)"}, "dog", ("dog",), ("the(2)",)),
        ("token", {"to": "cat"}, "saw", ("saw",), ("the(1)", "cat")),
        ("number", {"from": "saw", "to": "cat"}, "0.70", (".6", "0,8", "70 %", "65%"), (".59", "81 %", "7", "", "nan")),
        ("number", {"from": "saw", "to": "cat", "tolerance": "0.02"}, "0.70", (".72", ".68"), (".73", ".67")),
        ("head", {"from": "saw", "to": "cat"}, "L0·H0", ("L0·H0", "0.0", "layer 0, head 0", "L0H0"), ("L0·H1", "1.0", "0", "")),
        ("cell", {}, "saw → cat", ("saw → cat", "saw -> cat"), ("cat → saw", "saw")),
        ("output", {}, "le chat", ("le chat", "Le chat."), ("un chat", "")),
        ("output", {"choices": ("Le chat.", "un chat")}, "le chat", ("Le chat.",), ("un chat",)),
        ("claim", {"claim": "L0·H0: obj -> head"}, "true", ("true", "yes"), ("false", "no", "perhaps")),
        ("order", {"words": ("the(1)", "cat", "saw"), "from": "saw"}, None, (), ()),
        ("order", {"words": ("saw", "dog", "cat"), "from": "cat"}, "dog > saw > cat", ("dog > saw > cat", "dog>saw>cat"), ()),
        ("order", {"words": ("saw", "dog", "cat"), "by": "any"}, "cat > dog > saw", ("cat > dog > saw",), ("saw > dog > cat",)),
        ("next", {"choices": ("dog", "mouse", "cat")}, "dog", ("dog",), ("mouse", "cat", "")),
        ("next", {}, "dog", ("Dog",), ("mouse",)),
        ("choice", {"choices": ("one", "two"), "answer": "two"}, "two", ("Two",), ("one", "")),
        ("text", {}, "", (), ("anything",)),
    ],
)  # fmt: skip
def test_a_right_answer_is_computed(kind: str, fields: dict, answer: str | None, right: tuple, wrong: tuple) -> None:
    if answer is None:
        with pytest.raises(LessonError, match="too near"):
            truth(kind, **fields)
        return
    found = truth(kind, **fields)
    assert found.answer == answer
    assert [found.accepts(each) for each in (*right, *wrong)] == [True] * len(right) + [False] * len(wrong)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [("token", {"from": "قطة"}), ("token", {"to": "قطة"}), ("number", {"from": "saw", "to": "قطة"}),
     ("head", {"from": "saw", "to": "قطة"}), ("choice", {"choices": ("a", "b"), "answer": "b", "from": "قطة"})],
)  # fmt: skip
def test_words_from_right_to_left_keep_their_places_in_a_sentence(kind: str, fields: dict) -> None:
    tokens = tuple(replace(token, text={"cat": "قطة", "dog": "كلب"}.get(token.text, token.text)) for token in TOKENS)
    source = Given()
    source.trace = replace(source.trace, maps=(replace(source.trace.maps[0], queries=tokens, keys=tokens),))
    said = truth(kind, source=source, **fields).sentence
    assert "“\u2068قطة\u2069”" in said
    assert not re.search("[“”][قك]", said)


def test_a_sentence_has_one_end_and_says_nothing_of_what_is_nothing() -> None:
    assert truth("output", source=Given(output="Le chat.")).sentence == "The model says “Le chat.”"
    assert truth("output").sentence == "The model says “le chat”."
    one_word = read_link("/encode?text=the+cat+saw+the+dog&layer=0&head=1")
    assert truth("token", one_word, **{"from": "cat"}).sentence == "“cat” gives “cat” 100\N{NO-BREAK SPACE}%."


def test_what_is_a_little_more_than_nothing_is_not_said_to_be_nothing() -> None:
    assert words_with_percents(("cold", "wet"), (0.68, 0.001)) == "“cold” 68\xa0%, “wet” under 1\xa0%"
    # "cat" is none of the words that the model has listed.
    said = truth("next", choices=("dog", "cat")).sentence
    assert said == "The model gives “dog” 50\xa0%, “cat” under 1\xa0%."
    with pytest.raises(LessonError, match="“cat” is none of the 4 likeliest words"):
        truth("next", source=Given(least=0.02), choices=("dog", "cat"))


def test_a_claim_that_does_not_hold_is_false() -> None:
    found = truth("claim", source=Given(holds=False), claim="obj -> head")
    assert (found.answer, found.accepts("no"), found.accepts("true")) == ("false", True, False)


@pytest.mark.parametrize(
    ("kind", "fields", "names"),
    [
        ("token", {"from": "dog"}, "too near"),
        ("token", {"from": "the"}, r"the\(1\)"),
        ("token", {"from": "mouse"}, "mouse"),
        ("token", {}, "from"),
        ("token", {"from": "cat", "to": "cat"}, "from"),
        ("token", {"from": "cat", "hnit": "a"}, "hint"),
        ("token", {"from": "cat", "points": "many"}, "points"),
        ("token", {"from": "cat", "points": "0001000"}, "points"),
        ("number", {"from": "cat"}, "to"),
        ("number", {"from": "cat", "to": "mouse"}, "mouse"),
        ("number", {"from": "cat", "to": "saw", "tolerance": "9"}, "tolerance"),
        ("head", {"from": "cat", "to": "the(1)"}, "no head"),
        # Of the words "dog" gets most, but no half.
        ("head", {"from": "cat", "to": "dog"}, "no head"),
        ("head", {"from": "dog", "to": "dog"}, None),
        ("order", {"words": ("cat",), "from": "cat"}, "two"),
        ("order", {"words": ("cat", "dog")}, "from"),
        ("choice", {"choices": ("one", "two"), "answer": "three"}, "choices"),
        ("choice", {"choices": ("one",), "answer": "one"}, "two or more"),
        ("choice", {"choices": ("one", "two", "One"), "answer": "two"}, "differ"),
        ("choice", {"choices": ("", "two"), "answer": "two"}, "two or more"),
        ("output", {"choices": ("un chat", "une chatte")}, "le chat"),
        ("output", {"choices": "le chat"}, "two or more"),
        ("next", {"choices": ("dog",)}, "two or more"),
        ("next", {"choices": ("cat", "horse")}, "too near"),
        ("next", {"choices": ("dog", "elephant")}, "several pieces"),
        ("riddle", {}, "riddle"),
    ],
)
def test_a_question_that_cannot_be_asked_says_why(kind: str, fields: dict, names: str | None) -> None:
    if names is None:
        assert truth(kind, **fields).answer == "L0·H1"
        return
    with pytest.raises(AttnvizError, match=names):
        truth(kind, **fields)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"choice", "claim", "text"}))
def test_a_question_about_a_picture_needs_one(kind: str) -> None:
    fields = {name: "cat" for name in (*KINDS[kind].required, *KINDS[kind].either[:1])}
    with pytest.raises(LessonError, match="picture"):
        truth(kind, None, **fields | ({"words": ("cat", "dog")} if kind == "order" else {}))
    with pytest.raises(LessonError, match="the page train has none"):
        truth(kind, read_link("/train?topic=toy-reverse"), **fields | ({"words": ("cat", "dog")} if kind == "order" else {}))


def test_a_claim_of_few_cases_is_not_asked() -> None:
    with pytest.raises(LessonError, match="few"):
        truth("claim", source=Given(queries=1), claim="obj -> head")


def test_a_model_that_says_nothing_is_not_asked_what_it_says() -> None:
    with pytest.raises(LessonError, match="says nothing"):
        truth("output", source=Given(output=""))


@pytest.mark.parametrize("address", ["/encode?text=a", "/encode?text=a&layer=3", "/encode?text=a&layer=x&head=1"])
def test_a_picture_that_names_no_head_is_not_asked_about(address: str) -> None:
    with pytest.raises(LessonError, match="head"):
        truth("token", read_link(address), **{"from": "cat"})


def test_the_mean_of_a_layer_is_a_picture_too() -> None:
    found = truth("number", replace(PICTURE, parameters={**PICTURE.parameters, "mean": "true"}), **{"from": "cat", "to": "cat"})
    assert found.answer == "0.55"


@pytest.mark.parametrize(
    ("truth_is", "right"), [(".", "."), ("'", "’"), ("!", " ! "), ("animal", "\u2060ani\u00admal"), ("é", "e\u0301")]
)
def test_a_mark_is_an_answer_and_nothing_is_none(truth_is: str, right: str) -> None:
    assert same_answer(right, truth_is)
    assert not same_answer("", truth_is)


@pytest.mark.parametrize("steered", ["decoding=Beam", "begins1=le", "candidate1=2"])
def test_a_translation_that_a_person_has_steered_is_not_asked_about(steered: str) -> None:
    with pytest.raises(LessonError, match=steered.split("=")[0]):
        truth("output", read_link(f"/translate?text=a&{steered}"))


def test_points() -> None:
    assert [points_of(LessonQuestion("text", "?", fields, 1)) for fields in ({}, {"points": "3"}, {"points": "0"})] == [1, 3, 0]


@pytest.mark.parametrize("written", ["", "%", "1e9", "٧", "0x1", "--1", "9" * 400])
def test_what_is_no_number_is_none(written: str) -> None:
    assert read_number(written) is None


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("token", {"from": "saw"}, {"kind": "token", "words": NAMES, "marked": (3,), "choices": NAMES[1:-1]}),
        ("token", {"to": "cat"}, {"kind": "token", "marked": (2,), "choices": NAMES[1:-1], "other": ()}),
        ("number", {"from": "saw", "to": "cat"}, {"kind": "number", "marked": (3, 2), "choices": ()}),
        ("head", {"from": "saw", "to": "cat"}, {"kind": "head", "marked": (3, 2), "rows": ("L0",), "columns": ("H0", "H1")}),
        ("cell", {}, {"kind": "cell", "rows": NAMES[1:-1], "columns": NAMES[1:-1]}),
        # By the alphabet: as they are written they may stand in their order.
        ("order", {"words": ("saw", "cat"), "from": "dog"}, {"kind": "order", "choices": ("cat", "saw"), "marked": (5,)}),
        ("order", {"words": ("saw", "cat"), "by": "any"}, {"kind": "order", "words": (), "texts": TEXTS}),
        ("output", {}, {"kind": "text", "texts": TEXTS}),
        ("output", {"choices": ("le chat", "un chat")}, {"kind": "choice", "texts": TEXTS, "choices": ("le chat", "un chat")}),
        ("next", {"choices": ("dog", "mouse")}, {"kind": "choice", "texts": TEXTS, "choices": ("dog", "mouse")}),
        ("claim", {"claim": "L0·H0: obj -> head"}, {"kind": "choice", "choices": ("true", "false")}),
        ("choice", {"choices": ("one", "two"), "answer": "two"}, {"kind": "choice", "choices": ("one", "two"), "texts": ()}),
        ("text", {}, {"kind": "text"}),
    ],
)
def test_what_is_asked_holds_no_number_of_the_model(kind: str, fields: dict, expected: dict) -> None:
    question = LessonQuestion(kind, "?", fields, 7)
    form = question_form(question, PICTURE, Given())
    assert {name: getattr(form, name) for name in expected} == expected
    assert not re.search(r"\d\.\d", json.dumps(asdict(form)))
    # What can be chosen can be right, and is read as it was given.
    assert [form.read(each) for each in form.answers] == list(form.answers)
    if form.answers:
        assert any(truth_of(question, PICTURE, Given()).accepts(each) for each in form.answers)


@pytest.mark.parametrize(
    ("fields", "words", "marked", "other", "other_marked"),
    [
        ({"from": "dog"}, FIRST, (), SECOND, (0,)),
        ({"to": "cat"}, SECOND, (), FIRST, (2,)),
        ({"from": "dog", "to": "cat"}, FIRST, (2,), SECOND, (0,)),
    ],
)
def test_between_two_texts_a_form_has_both_and_the_weights_are_of_what_is_chosen_from(
    fields: dict, words: tuple, marked: tuple, other: tuple, other_marked: tuple
) -> None:
    source = Given()
    source.trace = replace(source.trace, maps=(make_map(pair("the cat saw", "dog")),))
    picture = read_link("/encode?text=the+cat+saw&pair=dog&layer=0&head=0&between=second-first")
    kind = "number" if len(fields) > 1 else "token"
    question = LessonQuestion(kind, "?", fields, 7)
    form = question_form(question, picture, source)
    assert (form.words, form.marked, form.other, form.other_marked) == (words, marked, other, other_marked)
    assert len(form.words) == len(truth_of(question, picture, source).weights)


def test_a_hidden_picture_is_the_same_whatever_the_hidden_row_is() -> None:
    """The bytes that a browser gets of it: were anything made of the row, they would differ."""
    step = LessonStep("A", "", PICTURE, (LessonQuestion("token", "?", {"from": "saw"}, 7),), 1)
    given, other = Given(), Given()
    changed = HEAD_0.copy()
    changed[3] = changed[3, ::-1]
    attention = AttentionMap("encoder", TOKENS, TOKENS, DenseWeights((np.stack([changed, HEAD_1]),)))
    other.trace = replace(given.trace, maps=(attention,))
    packages = []
    for source in (given, other):
        hidden = hidden_map(step, source)
        assert hidden is not None
        assert isinstance(hidden.store, WeightStore)
        np.testing.assert_array_equal(np.flatnonzero(~hidden.visible(0).any(axis=1)), [3])
        np.testing.assert_array_equal(np.delete(hidden.weights(0, 1), 3, axis=0), np.delete(np.eye(7), 3, axis=0))
        packages.append(overview(hidden, view=View()).data)
    one, same = (json.dumps(each, default=lambda value: bytes(value).hex()) for each in packages)
    assert one == same
    assert hidden_map(replace(step, questions=(LessonQuestion("cell", "?", {}, 7),)), given) is None
    assert hidden_map(replace(step, questions=(LessonQuestion("token", "?", {"to": "cat"}, 7),)), given) is None


def test_a_head_that_is_known_is_not_another_one() -> None:
    # "[SEP]" looks at itself in both heads; the rule that half of all heads are too many needs more of them.
    source = Given()
    attention = replace(source.trace.encoder, store=DenseWeights((np.stack([HEAD_0, HEAD_1, HEAD_0, HEAD_1]),)))
    source.trace = replace(source.trace, maps=(attention,))
    fields = {"from": "saw", "to": "cat"}
    assert truth("head", source=source, **fields).accepts("L0·H0")
    another = truth("head", source=source, **fields, besides="L0·H0")
    assert (another.answer, another.accepts("L0·H0"), another.accepts("L0·H2")) == ("L0·H2", False, True)
    assert another.sentence == "Besides L0·H0, 1 of 4 heads sends “saw” mostly to “cat”: L0·H2 (70\N{NO-BREAK SPACE}%)."
    with pytest.raises(LessonError, match="besides names heads that do"):
        truth("head", source=source, **fields, besides="L0·H1")


def test_a_special_token_that_gets_more_than_the_right_word_is_said() -> None:
    assert truth("token", **{"from": "cat"}).sentence.endswith(
        "Most goes to “[SEP]” (40\N{NO-BREAK SPACE}%), which is no word of the text."
    )
    assert "no word" not in truth("token", **{"from": "saw"}).sentence


@pytest.mark.gate
def test_the_next_word_is_what_the_model_says_behind_what_was_written_and_with_the_edits() -> None:
    model, address = attnviz.load("smollm2"), "/write?text=The+opposite+of+hot+is&written=%C4%A0the"
    for edits, text in (("", "The opposite of hot is the"), ("d17.4z", None)):
        picture = read_link(f"{address}&edits={edits}" if edits else address)
        source = ComputedSource()
        result = source.result(picture)
        assert text in (None, result.prompt.text)
        ids = model.tokenizer(result.prompt.text, return_tensors="pt")["input_ids"]
        with edited(model, result.prompt, Edits.parse(edits)), torch.no_grad():
            shares = model.model(ids).logits[0, -1].softmax(dim=0)
        found = truth_of(LessonQuestion("next", "?", {}, 7), picture, source)
        best = int(shares.argmax())
        assert found.answer == model.tokenizer.decode([best]).strip()
        assert f"“{found.answer}” {whole_percent(float(shares[best]))}" in found.sentence
        assert question_form(LessonQuestion("next", "?", {}, 7), picture, source).texts == (result.prompt.text,)
        assert ("Without the edit" in found.sentence) == bool(edits)
