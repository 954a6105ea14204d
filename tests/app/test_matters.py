"""The Matters page's script without a browser: shaded rows, words that are taken, and one sentence for what cannot be asked."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis.matters.faithfulness import MaskedOutput
from attnviz.attribution import token_removal
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel, Progress
from attnviz.ui.matters import controls
from tests.answerers import tiny_answerer
from tests.visits import open_page, pictures, press, said

BRIDGE = (
    "The old bridge over the Elm was opened in 1887 by the mayor. Engineers found cracks in two of its pillars last spring, "
    "and on Monday the bridge was closed."
)
SENTENCE, QUESTION = "Ada Lovelace wrote the first program in 1843.", "Who wrote the first program?"
FAST = controls.FAST


@pytest.fixture(autouse=True)
def _few_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which methods are compared changes nothing of most of what the page says."""
    monkeypatch.setattr(controls, "FAST", ("attention", "random"))
    monkeypatch.setattr(controls, "SLOW", ())


@pytest.fixture
def every_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controls, "FAST", FAST)
    monkeypatch.setattr(controls, "SLOW", ("leave-one-out",))


def drawn(app: AppTest) -> str:
    """What the page mounts as HTML: its sentences, the text, and the rows of all ways."""
    return " ".join(str(each.proto) for kind in ("html", "bidi_component") for each in app.get(kind))


@pytest.mark.usefixtures("every_method")
def test_what_was_computed_elsewhere_has_no_duration() -> None:
    # The one slow method of these tests is computed here.
    assert drawn(open_page("matters")).count(" ms<") == 1
    assert drawn(open_page("matters", text=SENTENCE, pair=QUESTION)).count(" ms<") > 5
    (machine,) = [each.value for each in open_page("encode").sidebar.caption if "parameters" in each.value]
    assert machine.startswith("Computed beforehand: no model ran here.")


@pytest.mark.parametrize(("says", "expected"), [("Ada Lovelace", "still says"), ("Ada", "now says"), ("", "now says")])
def test_an_answer_is_the_same_only_as_a_whole(says: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.ui.background.shares_and_costs.without", lambda *_: MaskedOutput(0.5, says))
    assert f"The model {expected} “{says}”" in said(open_page("matters", text=SENTENCE, pair=QUESTION, taken="0"))


def test_where_no_method_can_follow_a_model_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    # Flow is refused for so many tokens.
    monkeypatch.setattr(controls, "FAST", ("flow", "random"))
    app = open_page("matters", model="minilm", text="A cat sat. " * 30, pair="A dog.")
    assert not app.exception
    assert "No method that was tested can follow this model" in drawn(app)


def test_of_a_long_text_two_methods_come_first_and_all_are_shown_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controls, "FAST", ("attention", "last-layer", "received", "random"))
    monkeypatch.setattr(controls, "SLOW", ("leave-one-out",))
    monkeypatch.setattr(controls, "LONG_CHARACTERS", len(BRIDGE) - 1)
    run: list[tuple[tuple[str, ...], bool]] = []
    report = token_removal.attribution_report

    def noted(
        model: AttentionModel, prompt: Prompt, target: str, names: tuple[str, ...], progress: Progress, *, tested: bool = True
    ) -> object:
        run.append((names, tested))
        return report(model, prompt, target, names, progress, tested=tested)

    monkeypatch.setattr(token_removal, "attribution_report", noted)
    address = {"text": BRIDGE, "pair": "Who closed the bridge on Monday?"}
    app = open_page("matters", **address)
    first = ("attention", "random")
    assert run == [(first, False), (first, True), (("last-layer", "received"), True), (("leave-one-out",), True)]
    table = rows(app)
    assert table == ["way:attention", "way:last-layer", "way:received", "way:leave-one-out"]
    assert "is running…" not in drawn(app)
    assert "is being tested" not in drawn(app)
    # What has been run is shown at once, the same to whoever opens the address, and by any other method.
    again = open_page("matters", **address, way="received")
    assert rows(again) == table
    assert "By attention received it depends" in drawn(again)
    assert again.query_params["way"] in ("received", ["received"])
    assert len(run) == 4


def rows(app: AppTest) -> list[str]:
    """What a click on each row of the table of methods picks."""
    (table,) = [picture for picture in pictures(app) if 'class="ways"' in picture]
    return re.findall(r'data-pick="(way:[^"]*)"', table)


def test_words_that_were_taken_stand_in_the_address_and_can_be_given_back():
    app = open_page("matters", text=SENTENCE, pair=QUESTION, taken="0.2.999")
    assert "By “attention, mean of all layers” it depends" in drawn(app)
    assert "Without “Who”, “the”, its probability goes from" in said(app)
    # The last of the three is no word of this text.
    assert app.query_params["taken"] in ("0.2", ["0.2"])
    press(app, "Restore all words")
    assert "taken" not in app.query_params
    assert "Without" not in said(app)


def test_where_answer_declines_that_is_what_is_explained() -> None:
    app = open_page("matters", text=BRIDGE, pair="Who painted the bridge?")
    assert "Orange supports the output, blue opposes it" in said(app)
    nothing = attnviz.load("answer-en").answers(Prompt(BRIDGE, question="Who painted the bridge?")).result.nothing
    assert f"The passage does not say <small>probability {100 * nothing:.0f}\xa0%" in drawn(app)
    (picker,) = [each for each in app.selectbox if each.key == "about"]
    picker.set_value("answer").run()
    assert app.query_params["about"] == "answer"
    assert "The answer “" in drawn(app)


def test_of_a_long_passage_the_page_says_which_window_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    model = str(tiny_answerer(tmp_path / "tiny"))
    assert "overlapping windows" in said(open_page("matters", model=model, text=f"{BRIDGE} {BRIDGE} {BRIDGE}", pair=QUESTION))
    assert "overlapping windows" not in said(open_page("matters", model=model, text=SENTENCE, pair=QUESTION))


def test_one_token_of_a_translation_can_be_asked_about_and_another_model_forgets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controls, "FAST", ("attention", "rollout", "random"))
    app = open_page("matters", model="transformer-en-fr", text="I am tired.", about="token:1", way="rollout")
    (picker,) = [each for each in app.selectbox if each.key == "about"]
    assert picker.options[0] == "The whole translation"
    assert "The word piece" in drawn(app)
    assert "By attention rollout it depends" in drawn(app)
    picker.set_value("translation").run()
    assert not app.exception
    assert "about" not in app.query_params
    assert "The translation" in drawn(app)
    next(each for each in app.selectbox if each.key == "about").set_value("token:2").run()
    app.selectbox(key="model").set_value("bahdanau-en-fr").run()
    assert not app.exception
    assert "about" not in app.query_params
    assert not app.error


def test_the_head_from_which_somebody_came_is_asked_first():
    app = open_page("matters", text=SENTENCE, pair=QUESTION, seen="head:cross:0:3")
    assert "By “L0·H3, the head you came from” it depends" in drawn(app)
    assert app.query_params["seen"] in ("head:cross:0:3", ["head:cross:0:3"])


@pytest.mark.parametrize("address", [{"about": "token:99"}, {"about": "nonsense"}, {"seen": "head:no"}, {"way": "no"}])
def test_what_an_address_asks_wrongly_gets_one_sentence_and_a_way_back(address):
    app = open_page("matters", model="transformer-en-fr", text="I am tired.", **address)
    assert len(app.error) == (1 if "about" in address else 0)
    if app.error:
        press(app, "Back to the default question")
    assert not app.error
    assert "The translation" in drawn(app)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"model": "minilm", "text": "hi there", "pair": ""}, None),
        ({"model": "summarize-en", "text": "One sentence alone."}, "one sentence"),
        ({"text": "?", "pair": QUESTION}, None),
    ],
)
@pytest.mark.usefixtures("every_method")
def test_what_cannot_be_asked_gets_one_sentence(parameters, says):
    app = open_page("matters", **parameters)
    assert len(app.error) <= 1
    assert says is None or says in said(app)
