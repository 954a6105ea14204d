"""The Matters page's script without a browser: shaded rows, words that are taken, and one sentence for what cannot be asked."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis.matters import AttributionReport, MaskedOutput
from attnviz.attribution import token_removal
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel, Progress
from attnviz.models.span_decoding import text_of
from attnviz.ui import matters
from tests.answerers import tiny_answerer
from tests.visits import html, open_page, pictures, press, said

BRIDGE = (
    "The old bridge over the Elm was opened in 1887 by the mayor. Engineers found cracks in two of its pillars last spring, "
    "and on Monday the bridge was closed."
)
SENTENCE, QUESTION = "Ada Lovelace wrote the first program in 1843.", "Who wrote the first program?"
FAST = matters.FAST


@pytest.fixture(autouse=True)
def _few_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which methods are compared changes nothing of most of what the page says."""
    monkeypatch.setattr(matters, "FAST", ("attention", "random"))
    monkeypatch.setattr(matters, "SLOW", ())


@pytest.fixture
def every_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matters, "FAST", FAST)
    monkeypatch.setattr(matters, "SLOW", ("leave-one-out",))


def drawn(app: AppTest) -> str:
    """What the page mounts as HTML: its sentences, the text, and the rows of all ways."""
    return " ".join(str(each.proto) for kind in ("html", "bidi_component") for each in app.get(kind))


@pytest.mark.gate
@pytest.mark.usefixtures("every_method")
def test_what_was_computed_elsewhere_has_no_duration() -> None:
    # The one slow method of these tests is computed here.
    assert drawn(open_page("matters", methods="open")).count(" ms<") == 1
    assert drawn(open_page("matters", text=SENTENCE, pair=QUESTION, methods="open")).count(" ms<") > 5
    (machine,) = [each.value for each in open_page("encode").sidebar.caption if "parameters" in each.value]
    assert machine.startswith("Saved result: the model has not run now.")


def answer_without(word: str = "") -> tuple[float, str]:
    """P of the answer "Ada Lovelace", and what the model answers, where somebody has typed its mask for a word."""
    text, question = (re.sub(rf"\b{word}\b", "[MASK]", each) if word else each for each in (SENTENCE, QUESTION))
    answers = attnviz.load("answer-en").answers(Prompt(text, question=question))
    best = answers.result.spans[0]
    assert text_of(best, text, answers.tokens) == "Ada Lovelace"
    return best.probability, answers.trace.output


def percent(p: float) -> str:
    return f"{100 * p:.0f}\xa0%"


def test_the_heading_says_what_the_model_makes_of_the_text_without_a_word() -> None:
    whole, (who, output) = answer_without()[0], answer_without("Who")
    app = open_page("matters", text=SENTENCE, pair=QUESTION)
    assert f"The answer is “Ada Lovelace” ({percent(whole)} sure)." in said(app)
    # Of the words that stand there once, none is needed more, and each has its number where it is pointed at.
    others = {word: answer_without(word)[0] for word in ("in", "1843")}
    assert who < min(others.values())
    heading = f"Without <strong>“<bdi>Who</bdi>”</strong> the model still answers <strong>“<bdi>{output}</bdi>”</strong>"
    assert f"{heading}: {percent(whole)} falls to {percent(who)}." in html(app)
    (experiment,) = [picture for picture in pictures(app) if 'class="removals' in picture]
    for word, p in others.items():
        (title,) = re.findall(rf'<button[^>]*title="([^"]*)"[^>]*><bdi>{word}<', experiment)
        assert title == f"without it: {percent(p)}"
    # What a click chooses is what its address opens.
    app.session_state.taken = "13"
    app.run()
    assert "Without <strong>“<bdi>1843</bdi>”</strong> the model still answers" in html(app)
    again = open_page("matters", text=SENTENCE, pair=QUESTION, taken="13")
    assert (html(again), pictures(again)) == (html(app), pictures(app))


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ("Ada Lovelace", "still answers “Ada Lovelace”"),
        ("Ada", "answers “Ada”"),
        ("the passage does not say", "no longer answers"),
    ],
)
def test_an_answer_is_the_same_only_as_a_whole(says: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.ui.matters.without", lambda *_: MaskedOutput(0.5, says))
    sentences = re.sub("<[^>]*>", "", html(open_page("matters", text=SENTENCE, pair=QUESTION, taken="0.1")))
    assert f"Without “Who” and “wrote” the model {expected}" in sentences


@pytest.mark.gate
def test_where_no_method_can_follow_a_model_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    # Flow is refused for so many tokens.
    monkeypatch.setattr(matters, "FAST", ("flow", "random"))
    app = open_page("matters", model="minilm", text="A cat sat. " * 30, pair="A dog.", methods="open")
    assert not app.exception
    assert "No method that was tested can follow this model" in drawn(app)


@pytest.mark.gate
def test_methods_are_run_where_they_are_open_the_slow_ones_last_and_the_most_faithful_stands_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matters, "FAST", ("attention", "gradient-input", "received", "random"))
    monkeypatch.setattr(matters, "SLOW", ("leave-one-out",))
    run: list[tuple[str, ...]] = []
    report = token_removal.attribution_report

    def noted(
        model: AttentionModel, prompt: Prompt, target: str, names: tuple[str, ...], progress: Progress
    ) -> AttributionReport:
        run.append(names)
        return report(model, prompt, target, names, progress)

    monkeypatch.setattr(token_removal, "attribution_report", noted)
    address = {"text": BRIDGE, "pair": "Who closed the bridge on Monday?"}
    app = open_page("matters", **address)
    assert run == [("attention", "random")]
    assert not [picture for picture in pictures(app) if 'class="ways"' in picture]
    app.session_state.methods = True
    app.run()
    assert run[1:] == [("attention", "gradient-input", "received", "random"), ("leave-one-out",)]
    assert "is running…" not in drawn(app)
    # The most faithful first, and it is the one that is shown unasked.
    table = rows(app)
    tested = report(attnviz.load("answer-en"), Prompt(BRIDGE, question=address["pair"], pair=address["pair"]), "",
                    ("attention", "gradient-input", "received", "leave-one-out"))  # fmt: skip
    dropped = {name: figures.comprehensiveness for name, figures in tested.figures.items()}
    assert table == [f"way:{name}" for name in sorted(dropped, key=dropped.__getitem__, reverse=True)]
    first = max(("attention", "gradient-input", "received"), key=dropped.__getitem__)
    assert re.findall(r'class="way chosen[^"]*" data-pick="([^"]*)"', rows_of(app)[0]) == [f"way:{first}"]
    assert app.query_params["methods"] in ("open", ["open"])
    # What has been run is shown at once, the same to whoever opens the address, and by any other method.
    again = open_page("matters", **address, way="received")
    assert rows(again) == table
    assert "attention received" in drawn(again)
    assert {name: again.query_params[name] for name in ("way", "methods")} in (
        {"way": "received", "methods": "open"}, {"way": ["received"], "methods": ["open"]},
    )  # fmt: skip
    again.session_state.methods = False
    again.run()
    assert again.query_params["methods"] in ("closed", ["closed"])
    assert not rows_of(open_page("matters", **address, way="received", methods="closed"))
    assert len(run) == 3


def rows_of(app: AppTest) -> list[str]:
    """The tables of methods that stand there."""
    return [picture for picture in pictures(app) if 'class="ways"' in picture]


def rows(app: AppTest) -> list[str]:
    """What a click on each row of the table of methods picks."""
    (table,) = rows_of(app)
    return re.findall(r'data-pick="(way:[^"]*)"', table)


def test_words_that_were_taken_stand_in_the_address_and_can_be_given_back():
    app = open_page("matters", text=SENTENCE, pair=QUESTION, taken="0.2.999")
    assert "Without “Who” and “the” the model" in re.sub("<[^>]*>", "", html(app))
    # The last of the three is no word of this text.
    assert app.query_params["taken"] in ("0.2", ["0.2"])
    press(app, "Restore all words")
    assert "taken" not in app.query_params
    assert not [button for button in app.button if button.label == "Restore all words"]


@pytest.mark.gate
def test_where_answer_declines_that_is_what_is_explained() -> None:
    app = open_page("matters", text=BRIDGE, pair="Who painted the bridge?")
    nothing = attnviz.load("answer-en").answers(Prompt(BRIDGE, question="Who painted the bridge?")).result.nothing
    assert f"The passage does not say ({100 * nothing:.0f}\xa0% sure)." in drawn(app)
    (picker,) = [each for each in app.selectbox if each.key == "about"]
    picker.set_value("answer").run()
    assert app.query_params["about"] == "answer"
    assert "The answer is “" in drawn(app)


@pytest.mark.gate
def test_of_a_long_passage_the_page_says_which_window_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    model = str(tiny_answerer(tmp_path / "tiny"))
    assert "overlapping windows" in said(open_page("matters", model=model, text=f"{BRIDGE} {BRIDGE} {BRIDGE}", pair=QUESTION))
    assert "overlapping windows" not in said(open_page("matters", model=model, text=SENTENCE, pair=QUESTION))


def test_what_a_model_does_not_know_is_named_as_it_was_typed() -> None:
    app = open_page("matters", model="dot-lstm-en-fr", text="The *猫* <b>sleeps</b>.")
    assert any("does not know “\\*”, “猫”" in each.value for each in app.info)


@pytest.mark.gate
def test_one_token_of_a_translation_can_be_asked_about_and_another_model_forgets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matters, "FAST", ("attention", "rollout", "random"))
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
    assert "Where L0·H3, the head you came from, looked" in " ".join(pictures(app))
    assert "By “L0·H3, the head you came from” it depends" in drawn(
        open_page("matters", text=SENTENCE, pair=QUESTION, seen="head:cross:0:3", methods="open")
    )
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


def test_an_address_of_answer_means_the_same_and_an_empty_question_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    model = str(tiny_answerer(tmp_path / "tiny"))
    app = open_page("matters", models=model, passage=SENTENCE, question=QUESTION)
    assert not app.error
    assert (app.session_state.model, app.session_state.text, app.session_state.pair) == (model, SENTENCE, QUESTION)
    for each in (model, "answer-en"):
        empty = open_page("matters", models=each, passage=SENTENCE, question="")
        assert [error.value for error in empty.error] == ["There is no question yet: type one about the passage."]


@pytest.mark.gate
def test_one_word_rather_than_another_is_explained_from_its_address() -> None:
    text = "Mary and John met. John saw"
    app = open_page("matters", model="smollm2", text=text, about="rather:Mary John")
    report = token_removal.word_removals(attnviz.load("smollm2"), Prompt(text), "rather:Mary John")
    assert f"the first has {percent(report.before.probability)} of what the model gives the two" in said(app)
    assert app.query_params["about"] == "rather:Mary John"
    assert open_page("matters", model="smollm2", text=text, about="rather:Mary").error
