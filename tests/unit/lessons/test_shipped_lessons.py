"""The lessons that travel with attnviz pass their own check, and those that teachers write fail it in words."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import attnviz
from attnviz.analysis.head_view import word_at
from attnviz.analysis.heads.atlas import shipped_atlas
from attnviz.analysis.heads.verdict import ClaimReport
from attnviz.attribution.token_removal import word_removals, words
from attnviz.cli import main
from attnviz.core.sampling import Candidate
from attnviz.core.trace import Prompt
from attnviz.lessons.check_lesson import ComputedSource, examine
from attnviz.lessons.hand_in import HandIn, write_hand_in
from attnviz.lessons.lesson_file import parse_lesson, read_lesson
from attnviz.lessons.library import shipped_lessons
from attnviz.lessons.picture_link import TASKS, read_link
from attnviz.lessons.question_kinds import truth_of
from attnviz.models import catalog
from attnviz.models.base import AttentionModel
from attnviz.models.result import Result
from attnviz.survey.treebank_attention import look
from attnviz.text.corpora import SHIPPED, TREEBANK, shipped
from attnviz.ui.background.results import find_shipped
from recipes.first_results import claim_visits

LESSON = """---
title: A lesson
minutes: 5
models: [{models}]
---

## A step

[open]({address})

```question
kind: {kind}
ask: Where?
from: {word}
```
"""


@pytest.fixture(scope="module")
def source() -> Iterator[ComputedSource]:
    """Claims are tested over few sentences: what all of them say travels, and is held against the atlas."""
    few = [each for each in shipped(TREEBANK) if {word.relation for word in each.words} >= {"compound", "obj"}][:70]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("attnviz.lessons.check_lesson.corpus", lambda name: few)
        yield ComputedSource()


@pytest.mark.gate
@pytest.mark.parametrize("name", shipped_lessons())
def test_a_shipped_lesson_has_an_answer_to_every_question(name: str, source: ComputedSource) -> None:
    lesson = read_lesson(shipped_lessons()[name])
    right, wrong = examine(lesson, source)
    assert not wrong
    assert list(right) == [number for number, _, _ in lesson.questions]


@pytest.mark.gate
@pytest.mark.parametrize("name", shipped_lessons())
def test_words_are_ranked_as_the_page_ranks_them(name: str, source: ComputedSource) -> None:
    for _, step, question in read_lesson(shipped_lessons()[name]).questions:
        if question.text("by") != "leave-one-out":
            continue
        tokens = source.shares(step.picture, "leave-one-out").tokens
        groups = words(tokens, frozenset(place for place, token in enumerate(tokens) if token.special))
        without = word_removals(attnviz.load(step.picture.model), step.picture.prompt).without
        ranked = [word_at(word, tokens) for word in truth_of(question, step.picture, source).answer.split(" > ")]
        left = [next(p for p, group in zip(without, groups, strict=True) if place in group) for place in ranked]
        assert left == sorted(left)


# Every number in the prose of the lessons that is no quotation, and what it has to be.
NUMBERS = {
    "72": lambda source: _heads(source, "/encode?text=a&layer=0&head=0"),
    "270": lambda source: _heads(source, "/encode?model=smollm2&text=a&layer=0&head=0"),
    "1,500": lambda source: f"{len(shipped(TREEBANK)):,}",
    "2014": lambda source: "2014",
    # What a row sums to.
    "1": lambda source: "1",
    "100": lambda source: "100",
}
# A head's name, a word of a passage, the two sides of a page's button.
NAMES = re.compile(r"L\d+·H\d+|head \d+ of layer \d+|\*[^*]*\d{4}[^*]*\*|step 0")


def _heads(source: ComputedSource, link: str) -> str:
    attention = source.result(read_link(link)).trace.maps[0]
    return str(attention.n_layers * attention.n_heads)


@pytest.mark.parametrize("name", shipped_lessons())
def test_a_lesson_names_the_models_that_it_uses_and_no_other(name: str) -> None:
    lesson = read_lesson(shipped_lessons()[name])
    pictures = [step.picture for step in lesson.steps if step.picture and step.picture.page in (*TASKS, "heads")]
    assert {*lesson.models} == {picture.model for picture in pictures}


@pytest.mark.parametrize("name", shipped_lessons())
def test_two_questions_never_ask_the_same_of_two_pictures_and_a_head_is_named_as_it_is_drawn(name: str) -> None:
    lesson = read_lesson(shipped_lessons()[name])
    asks = [question.ask for _, _, question in lesson.questions]
    assert len(asks) == len({*asks})
    for _, step, question in lesson.questions:
        if named := re.search(r"head (\d+) of layer (\d+)", question.ask):
            assert (step.picture.get("head"), step.picture.get("layer")) == named.groups()


@pytest.mark.parametrize("name", shipped_lessons())
def test_a_lesson_ends_with_what_was_learned_as_a_question_that_is_graded(name: str) -> None:
    assert read_lesson(shipped_lessons()[name]).steps[-1].questions[-1].kind in ("choice", "claim")


@pytest.mark.parametrize("name", shipped_lessons())
def test_a_number_in_prose_is_true(name: str, source: ComputedSource) -> None:
    lesson = read_lesson(shipped_lessons()[name])
    asked = " ".join(question.ask for _, _, question in lesson.questions)
    prose = " ".join([lesson.intro, *(re.sub(r"\(/[^)]*\)", "", step.prose) for step in lesson.steps), asked])
    for number in re.findall(r"\d[\d,.]*\d|\d", NAMES.sub("", prose)):
        assert NUMBERS[number](source) == number


def travelling(claim: str) -> ClaimReport:
    return find_shipped("claim", "minilm", (claim,))


def test_what_lessons_say_of_claims_is_true() -> None:
    compound = travelling("any: compound -> head").result
    # “three times in four”, and “the next word is the head as often”
    assert compound.rate == pytest.approx(0.75, abs=0.02)
    assert compound.rival("offset +1") == pytest.approx(compound.rate, abs=0.02)
    assert travelling("L0·H2: any -> previous").result.rate > 0.9


@pytest.mark.gate
def test_what_lessons_say_of_what_heads_add_is_true() -> None:
    """“Who gets the drink?” and “Looking is not doing”: the choices that teachers typed, and the prose around them."""
    model, drink = catalog.load("smollm2"), "When Mary and John went to the store, John gave a drink to"
    run = attnviz.run(model, "write", drink, tokens=0)
    adds, looks = attnviz.parts(run, "Mary", "John").heads, _from_last(run)
    assert adds.argmax() == 9 * 23 + 3
    assert looks[..., 1].argmax() == 9 * 24 + 4
    assert adds[24, 4] < -0.5
    # Of two sentences whose giver is another, one head turns the answer round and the others do not.
    other = "When Mary and John went to the store, Mary gave a drink to"
    shipped_patches = find_shipped("_patches", "smollm2", (Prompt(drink), other, ("Mary", "John"), "heads"))
    assert np.argwhere(shipped_patches.patched < 0).tolist() == [[23, 3]]
    # L29·H1 looks at the last word, at no name, and adds more than all heads but one.
    assert (looks[29, 1].argmax(), looks[29, 1, [1, 3, 9]].sum() < 0.05, (adds > adds[29, 1]).sum()) == (13, True, 1)
    capital = attnviz.run(model, "write", "The capital of France is", tokens=0)
    adds = attnviz.parts(capital, "Paris", "London").heads
    assert -0.5 < adds[16, 0] < 0 < 2 < adds[23, 4]
    assert min(_from_last(capital)[16, 0, 3], _from_last(capital)[23, 4, 3]) > 0.7
    first, second = (_likeliest(model, "The capital of France is", edits) for edits in ("d23.4z", "d16.0z"))
    assert (first[0].text, first[0].probability < 1.5 * first[1].probability) == (" Paris", True)
    assert second[0].probability > 0.7


def _from_last(run: Result) -> np.ndarray:
    return np.stack([run.trace.decoder.layer_weights(layer)[:, -1] for layer in range(30)])


def _likeliest(model: AttentionModel, text: str, edits: str) -> tuple[Candidate, ...]:
    made = attnviz.run(model, "write", text, tokens=0, edits=edits).continuation
    return made.next_tokens(len(made.pieces) - 1)


@pytest.mark.parametrize("claim", [address["claim"] for _, address in claim_visits()])
def test_the_verdict_on_a_claim_that_travels_is_that_of_the_atlas_and_its_cases_are_the_model_s(claim: str) -> None:
    """After weights or sentences have changed: python -m recipes examples, and the command that the atlas names."""
    report, atlas = travelling(claim), shipped_atlas("minilm")
    tested, text = report.result, claim.partition(": ")[2]
    # Examples of the page Heads make claims that the atlas does not, too.
    for at, facts in ((at, facts) for at, facts in enumerate(atlas.claims) if facts.text == text):
        offset = tested.rival(f"offset {facts.offset:+d}")
        assert (tested.queries, tested.rival("chance"), tested.rival("untrained"), offset, tested.rate) == pytest.approx(
            (facts.queries, facts.chance, facts.untrained, facts.offset_rate, atlas.rates[at, tested.layer, tested.head]),
            abs=1e-3,
        )
        interval = [ends[at, tested.layer, tested.head] for ends in (atlas.low, atlas.high)]
        assert [tested.low, tested.high] == pytest.approx(interval, abs=1e-3)
    assert {case.holds for case in report.cases} == {False, True}
    looks = look(catalog.load("minilm"), report.sentences, rivals=frozenset())
    assert {*report.cases} <= {*looks.report(tested, most=999).cases}
    assert any({*report.sentences} <= {*shipped(corpus)} for corpus in SHIPPED)


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ""),
        ({"models": "minilmm"}, "minilm"),
        ({"models": "answer-en"}, "minilm"),
        ({"models": ""}, "minilm"),
        ({"word": "mouse"}, "mouse"),
        ({"kind": "riddle"}, "riddle"),
        ({"address": "/encode?layer=3&head=1"}, "text"),
        ({"address": "/encode?text=The+cat+sat.&layer=3&head=99"}, "head"),
        ({"address": "/encode?text=The+cat+sat.&layer=3&head=1&edits=e9.0z"}, "layer"),
        ({"address": "/encode?text=The+cat+sat."}, "head"),
        ({"address": "/answer?passage=The+cat+sat."}, "answer-en"),
        ({"kind": "claim\nclaim: obj -> head\nmodel: bert-base-uncased"}, "bert-base-uncased"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(changes: dict[str, str], names: str, source: ComputedSource) -> None:
    address = "/encode?text=The+cat+sat.&layer=2&head=0"
    text = LESSON.format(**{"models": "minilm", "address": address, "kind": "token", "word": "cat"} | changes)
    _, wrong = examine(parse_lesson(text.encode(), "a.md"), source)
    assert [each.startswith("line ") and names in each for each in wrong] == [True] * bool(names)


def test_the_template_passes_and_a_hand_in_of_it_is_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lesson", "new", "pronouns"]) == 0
    assert main(["lesson", "new", "pronouns"]) == 1
    assert main(["lesson", "check", "pronouns.md"]) == 0
    assert "animal" in capsys.readouterr().out
    folder = tmp_path / "handed-in"
    folder.mkdir()
    (folder / "ada.json").write_bytes(write_hand_in(HandIn("pronouns", {"1.1": "animal", "1.2": "0.7"}, {}, "Ada")))
    (folder / "bob.json").write_bytes(write_hand_in(HandIn("elsewhere", {}, {}, "Bob")))
    assert main(["grade", "handed-in", "-o", "grades.csv", "--lesson", "pronouns.md"]) == 0
    table = (tmp_path / "grades.csv").read_text(encoding="utf-8-sig")
    assert "ada.json,Ada,pronouns,2,2" in table
    assert "elsewhere" in table


@pytest.mark.parametrize("name", ["../a", "a b/c", "", "a" * 61])
def test_a_name_that_is_no_file_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lesson", "new", name]) == 1
    assert not list(tmp_path.iterdir())
