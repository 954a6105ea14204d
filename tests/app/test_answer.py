"""The Answer page's script without a browser: what it finds, in which model, and what it says when there is nothing to find."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis.answer_attention import Side, StrongestHead, question_attention, strongest_heads
from attnviz.analysis.head_view import View
from attnviz.analysis.wording import percent
from attnviz.attribution.quantity_maps import run
from attnviz.core.trace import Prompt
from attnviz.models.question_answering import SpanFinder
from attnviz.models.span_decoding import Answers, SpanDecoding
from tests import visits
from tests.answerers import tiny_answerer, tiny_hub_answerer
from tests.tiny import first_now
from tests.visits import described, html

PAGE = "answer"
QUESTION, PASSAGE = "What was too tired?", "The cat sat on the mat. The animal ran to the street because it was too tired."


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    always = SpanDecoding(limit=7, declines_above=1.0, length_penalty=0.25)
    tiny_answerer(folder / "joint", decoding=always)
    tiny_answerer(folder / "dual", joint=False, decoding=always)
    tiny_answerer(folder / "sure", decoding=replace(always, slope=0.5, slope_nothing=-0.25, intercept=1.0))
    tiny_answerer(folder / "certain", decoding=replace(always, intercept=20.0))
    tiny_answerer(folder / "shy", decoding=SpanDecoding(limit=7, declines_above=0.0))
    tiny_hub_answerer(folder / "hub")
    return {path.name: str(path) for path in folder.iterdir()}


def open_page(app: AppTest, *models: str, **parameters: str) -> AppTest:
    return visits.open_page(app, models=list(models), **{"question": QUESTION, "passage": PASSAGE, **parameters})


def answered(folder: str, passage: str = PASSAGE) -> Answers:
    """What the model itself makes of it."""
    model = attnviz.load(folder)
    assert isinstance(model, SpanFinder)
    return model.answers(Prompt(passage, question=QUESTION))


def answers(app: AppTest) -> list[str]:
    return re.findall(r'<p class="answer"><bdi>(.*?)</bdi>', html(app), re.DOTALL)


def matrices(app: AppTest) -> list[dict[str, Any]]:
    return [matrix for record in described(app) if record.get("part") == "matrices" for matrix in record["matrices"]]


def test_the_answers_of_two_models_stand_side_by_side(app: AppTest, models: dict[str, str]) -> None:
    open_page(app, models["joint"], models["dual"])
    wanted = [attnviz.load(models[name]).trace(Prompt(PASSAGE, question=QUESTION)).output for name in ("joint", "dual")]
    assert answers(app) == wanted
    assert all(wanted)
    # Neither was calibrated.
    assert "such answers" not in html(app)
    assert app.selectbox(key="side").options == [
        "Across: passage → question", "Encoder: passage → question", "Encoder: question → passage",
    ]  # fmt: skip
    app.selectbox(key="side").set_value("question").run()
    assert not app.exception
    # Read apart, the two never meet in the encoder.
    assert "nothing passes between" in html(app)
    assert app.query_params["side"] == "question"


def test_a_calibrated_model_says_how_often_it_is_right_when_so_sure(app: AppTest, models: dict[str, str]) -> None:
    open_page(app, models["sure"])
    result = answered(models["sure"]).result
    p, nothing = result.spans[0].probability, result.nothing
    often = math.exp(1) * math.sqrt(p / (1 - p - nothing)) / math.sqrt(math.sqrt(nothing / (1 - nothing)))
    assert f"about {100 * often / (1 + often):.0f}\xa0% of such answers are correct" in html(app)


@pytest.mark.parametrize("typed", [{"passage": "Ich habe das Buch nicht gesehen."}, {"question": "من هي؟"}], ids=list)
def test_what_was_measured_in_english_is_not_said_of_other_texts(
    app: AppTest, models: dict[str, str], typed: dict[str, str]
) -> None:
    open_page(app, models["sure"], **typed)
    assert "sure" in html(app)
    assert "such answers" not in html(app)
    assert any("does not look like English" in each.value for each in app.info)


def test_an_answer_is_right_no_more_often_than_the_passage_answers(app: AppTest, models: dict[str, str]) -> None:
    open_page(app, models["certain"], passage="Ann")
    nothing = answered(models["certain"], "Ann").result.nothing
    assert 0.01 < nothing < 0.99
    assert f"about {100 * (1 - nothing):.0f}\xa0% of such answers are correct" in html(app)


@pytest.mark.parametrize("names", first_now([["joint"], ["hub"], ["joint", "dual"]], 2), ids="+".join)
def test_it_opens_where_the_answer_looks_most_firmly(app: AppTest, models: dict[str, str], names: list[str]) -> None:
    open_page(app, *(models[name] for name in names))
    actual: list[dict[Side, StrongestHead]] = []
    for name in names:
        found = answered(models[name])
        best, tokens = found.result.spans[0], found.tokens
        actual.append(strongest_heads(found.trace, tokens[best.start].start, tokens[best.end].end))
    shares = {side: min(heads[side].share for heads in actual) for side in ("cross", "passage") if side in actual[0]}
    side = max(shares, key=lambda side: shares[side])
    assert side == {"joint+dual": "cross", "hub": "passage"}.get("+".join(names), side)
    assert app.selectbox(key="side").value == side
    assert "side" not in app.query_params
    chosen = actual[0][side]
    assert (app.number_input(key="layer").value, app.number_input(key="head").value) == (chosen.layer, chosen.head)


def test_a_head_that_was_chosen_stays_though_the_page_opens_with_it(app: AppTest, models: dict[str, str]) -> None:
    found = answered(models["joint"])
    strongest = strongest_heads(found.trace, *found.place)
    other, side = sorted((each for each in strongest if each != "question"), key=lambda each: strongest[each].share)
    chosen = strongest[side].layer, strongest[side].head
    assert chosen != (strongest[other].layer, strongest[other].head)
    open_page(app, models["joint"], layer=str(chosen[0]), head=str(chosen[1]))
    app.selectbox(key="side").set_value(other).run()
    assert (app.number_input(key="layer").value, app.number_input(key="head").value) == chosen


def test_the_table_of_spans_has_the_spans_own_probabilities(app: AppTest, models: dict[str, str]) -> None:
    open_page(app, models["joint"], picture="spans")
    (table,) = matrices(app)
    drawn = table["weights"]
    assert table["ranks"]
    spans = answered(models["joint"]).result.spans
    assert len({span.end - span.start for span in spans}) > 1
    for span in spans:
        assert np.isclose(drawn, span.probability, atol=5.1e-5).any()


def test_one_picture_at_a_time_is_shown_and_it_is_in_the_address(app: AppTest, models: dict[str, str]) -> None:
    open_page(app, models["joint"], models["dual"])
    tabs = app.segmented_control(key="picture")
    assert (tabs.value, "picture" in app.query_params, len(matrices(app))) == ("passage", False, 0)
    for name in ("matrix", "spans"):
        app.segmented_control(key="picture").set_value(name).run()
        assert not app.exception
        assert app.query_params["picture"] == name
        # One of each model.
        assert len(matrices(app)) == 2


def test_a_model_of_the_hub_has_blocks_of_its_encoder(app: AppTest, models: dict[str, str]) -> None:
    open_page(app, models["hub"], layer="0", all_heads="false", head="2", asked1="1", picture="matrix")
    assert answers(app) == [answered(models["hub"]).trace.output]
    assert len(app.selectbox(key="side").options) == 2
    assert any("head 2 of layer 0" in each.value for each in app.caption)
    assert app.button(key="explain1")


def test_a_cell_is_explained_in_compute(app: AppTest, models: dict[str, str]) -> None:
    where = {"attention": "cross", "layer": "1", "head": "3", "query": "4", "key": "2"}
    given = {"source": "model", "model": models["joint"], "text": PASSAGE, "question": QUESTION, **where}
    compute = visits.open_page("compute", **given)
    trace = attnviz.load(models["joint"]).trace(Prompt(PASSAGE, question=QUESTION))
    message = next(caption.value for caption in compute.caption if "in the heatmap" in caption.value)
    assert f"has {trace.cross.weights(1, 3)[4, 2]:.4f} in the heatmap" in message


def test_a_model_that_declines_says_so(app: AppTest, models: dict[str, str]) -> None:
    open_page(app, models["shy"])
    assert "The passage does not say." in html(app)
    assert "the model declines above 0\xa0%" in html(app)
    # Its best span is there all the same, faded, for a person to judge.
    trace = answered(models["shy"])
    assert f'<span class="declined">Likeliest: <bdi>{trace.text(trace.result.spans[0])}</bdi></span>' in html(app)
    assert f"{percent(trace.result.nothing)} for no answer" in html(app)


def test_a_model_that_does_not_answer_is_one_sentence(app: AppTest) -> None:
    open_page(app, "minilm")
    assert ["was not trained to answer questions" in error.value for error in app.error] == [True]
    assert app.text_area(key="typed_passage").value == PASSAGE


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"question": " "}, "There is no question yet"),
        ({"passage": "\n"}, "There is no passage to look in yet"),
        ({"passage": "a\x00b"}, "NUL byte"),
        ({"question": "cat " * 600}, "ask in fewer words"),
        ({"passage": "\u200d"}, "this passage"),
        ({"passage": "word " * 15_000}, "paste the part that the question is about"),
        ({"passage": "word " * 100_000}, "shorten it"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_cannot_be_answered_is_one_sentence_and_nothing_is_lost(
    app: AppTest, models: dict[str, str], typed: dict[str, str], message: str
) -> None:
    open_page(app, models["hub"], **typed)
    assert [message in error.value for error in app.error] == [True]
    for name, value in typed.items():
        assert app.text_area(key=f"typed_{name}").value == value


@pytest.mark.parametrize("passage", ["tired", "😀 مرحبا بك. 中文字\r\n\r\n<script>alert(1)</script> a&b"])
def test_any_passage_with_a_word_is_read(app: AppTest, models: dict[str, str], passage: str) -> None:
    open_page(app, models["joint"], passage=passage)
    assert not app.error
    assert "<script>" not in html(app)


def test_an_address_that_makes_no_sense_still_opens(app: AppTest, models: dict[str, str]) -> None:
    open_page(app, models["hub"], layer="99", head="x", side="nowhere", asked1="-4", all_heads="false", query1="7777", key1="z")
    assert app.number_input(key="layer").value == 1
    assert answers(app)


def test_an_example_is_read_when_its_chip_is_chosen(app: AppTest, models: dict[str, str]) -> None:
    open_page(app, models["joint"])
    app.pills(key="example").set_value("Who taught whom?").run()
    assert not app.exception
    assert app.text_area(key="typed_question").value == "Who taught Ben to sail?"
    assert app.query_params["question"] == "Who taught Ben to sail?"


@pytest.mark.gate
def test_numbers_can_be_what_a_head_moves(app: AppTest) -> None:
    side: Side = "cross"
    given = {"layer": "0", "head": "1", "all_heads": "false", "side": side, "picture": "matrix", "whole_words": "false"}
    open_page(app, "answer-en", **given, weighing="norms")
    want = run(attnviz.load("answer-en"), "answer", Prompt(PASSAGE, question=QUESTION), quantity="norms").trace
    shown = question_attention(want, side, layer=0, head=1, view=View())
    (picture,) = matrices(app)
    np.testing.assert_allclose(picture["weights"], shown.around(*_place(want.output)).weights.ravel(), atol=1e-6)
    assert picture["name"] == "norm share"
    assert any("This layer changes a token by" in each.value for each in app.markdown)
    app.selectbox(key="weighing").set_value("mixing").run()
    assert not app.exception
    assert any("looks in Layer 0" in each.value for each in app.caption)
    app.selectbox(key="weighing").set_value("weights").run()
    assert "weighing" not in app.query_params
    assert not any("changes a token" in each.value for each in app.markdown)


def test_cut_links_and_hidden_words_look_switched_off(app: AppTest) -> None:
    given = {"layer": "0", "head": "1", "all_heads": "false", "side": "passage", "picture": "matrix", "whole_words": "false"}
    open_page(app, "answer-en", **given, edits1="ek2,e0.1c9.3", question=QUESTION)
    (picture,) = matrices(app)
    trace = attnviz.load("answer-en").trace(Prompt(PASSAGE, question=QUESTION), edits="ek2,e0.1c9.3")
    matrix = question_attention(trace, "passage", layer=0, head=1, view=View()).around(*_place(trace.output))
    hidden = matrix.columns.index(2)
    assert list(picture["edited"]["columns"]) == [hidden]
    assert [what for *_, what in picture["edited"]["cells"]] == ["cut"] * (9 in matrix.rows)


def _place(answer: str) -> tuple[int, int]:
    return PASSAGE.index(answer), PASSAGE.index(answer) + len(answer)
