"""The Translate page's script without a browser: what it shows, what it steers, and what it says when something is wrong."""

import itertools
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_view import word_names
from attnviz.analysis.translation_alignment import truer
from attnviz.analysis.wording import signed
from attnviz.core.trace import Prompt
from attnviz.figures.explorer.overview import unpack_chunks
from attnviz.models import catalog
from attnviz.models.base import DecodingOptions
from attnviz.models.tasks import draft
from attnviz.ui.prompt_box import examples
from tests import tiny
from tests.norms import cross_norm_shares
from tests.translators import tiny_translator
from tests.visits import Visit, differences, html, open_page, press

PAGE = "translate"
TEXT = "The red car is not Tom's."
TARGET = "La voiture n'est pas rouge."


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    made = tmp_path_factory.mktemp("translators")
    return [str(tiny_translator(made / kind, kind)) for kind in ("additive", "transformer")]


@pytest.fixture(scope="module")
def hub_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("marian")
    tiny.FAMILY["marian"].save(folder)
    return str(folder)


@pytest.fixture(
    scope="module",
    params=[tiny.NLLB, *(pytest.param(each, marks=pytest.mark.gate) for each in (tiny.MBART_50, tiny.M2M_100))],
    ids=["nllb", "mbart-50", "m2m-100"],
)
def many_languages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The folder of a model that writes many languages, and the mark of one."""
    make, kind, config, source = request.param
    folder = tmp_path_factory.mktemp("languages")
    tokenizer = tiny.of_many_languages(make, source, None)
    model = tiny.of_so_many_pieces(kind, config, tokenizer, max_length=13)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder), {"eng_Latn": "deu_Latn", "en_XX": "de_DE", "en": "de"}[source]


def bodies(app: AppTest) -> list[str]:
    return [each.proto.body for each in app.get("html")]


def package(app: AppTest) -> dict[str, Any]:
    """What the picture is told; with no model nothing."""
    packages = [unpack_chunks(each.proto.bytes)[0] for each in app.get("bidi_component") if each.proto.bytes]
    return next((each for each in packages if "cells" in each), {"models": []})


def drawn(app: AppTest, slot: int) -> np.ndarray:
    """The numbers of a model's matrix."""
    chunks = next(
        chunks for head, chunks in (unpack_chunks(each.proto.bytes) for each in app.get("bidi_component") if each.proto.bytes)
        if "cells" in head
    )  # fmt: skip
    model = next(each for each in models(app) if each["slot"] == slot)
    return np.frombuffer(chunks[str(slot)], dtype="<f4").reshape(len(model["rows"]), len(model["columns"]))


def models(app: AppTest) -> list[dict[str, Any]]:
    """What is shown of each model."""
    return package(app)["models"]


def answers(app: AppTest) -> list[str]:
    """The translations."""
    return [model["translation"] for model in models(app)]


def markup(app: AppTest, kind: str) -> list[str]:
    """The HTML of our own figures of a kind, one a model."""
    sent = [json.loads(each.proto.json) for each in app.get("bidi_component") if each.proto.json]
    shown = [each[0] for each in sent if isinstance(each, list) and each]
    return [each for each in shown if isinstance(each, str) and each.startswith(f'<div class="{kind}"')]


def rows(app: AppTest) -> list[str]:
    """The target words of the first model."""
    return [text for text, *_ in models(app)[0]["queries"]]


def test_without_a_translator_one_sentence_says_how_to_get_one(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "available_for", lambda task: ())
    open_page(app)
    assert len(app.info) == 1
    assert "python -m recipes bahdanau-en-fr" in app.info[0].value
    assert app.text_area(key="typed").value.startswith("He has never")


@pytest.mark.gate
def test_the_translators_of_the_catalog_are_there_on_the_first_visit(
    app: AppTest, monkeypatch: pytest.MonkeyPatch, folders: list[str]
) -> None:
    monkeypatch.setattr(catalog, "available_for", lambda task: tuple(folders))
    open_page(app)
    assert app.multiselect(key="models").value == folders
    assert len(answers(app)) == 2
    assert "models" not in app.query_params


def test_another_language_brings_its_own_translators_and_examples(app: AppTest) -> None:
    open_page(app)
    french = list(app.session_state.models)
    assert french
    assert all(name.endswith("-en-fr") for name in french)
    app.segmented_control(key="into").set_value("German").run()
    assert not app.exception
    first = examples("translate-german")[0]
    german = ["bahdanau-en-de", "transformer-en-de"]
    assert (app.session_state.models, app.session_state.text) == (german, first.text)
    assert answers(app) == [attnviz.load(name).trace(first.text).output for name in german]
    assert (app.query_params["into"], "models" in app.query_params) == ("German", False)
    app.segmented_control(key="into").set_value("French").run()
    assert app.session_state.models == french
    assert app.session_state.text == examples("translate")[0].text
    assert "into" not in app.query_params


def test_heads_that_are_open_stay_open_in_another_language(app: AppTest) -> None:
    open_page(app, models="transformer-en-fr", text="I am tired.", all1="open")
    app.session_state.into = "German"
    app.session_state.models = ["transformer-en-de"]
    app.run()
    assert not app.exception
    assert app.session_state.models == ["transformer-en-de"]
    assert app.query_params["all1"] == "open"
    folded = [each for each in app.expander if "transformer-en-de" in each.label]
    assert [each.proto.expanded for each in folded] == [True, True]


def test_two_models_stand_side_by_side(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders, text=TEXT)
    assert answers(app) == [attnviz.load(folder).trace(TEXT).output for folder in folders]
    assert app.query_params["models"] == folders
    # Of the two only the Transformer has two rows for a word, and several heads.
    assert [(model["place"], model["shape"]) for model in models(app)] == [([0, None], [1, 1]), ([1, None], [2, 2])]
    assert not any("Chen et al." in caption.value for caption in app.caption)
    app.session_state["hero"] = 2
    open_page(app)
    assert package(app)["hero"] == 2
    assert app.query_params["hero"] == "2"
    # Nothing was measured of it.
    assert sum("(naive)" in caption.value for caption in app.caption) == 1


def test_a_model_whose_steps_write_their_rows_has_one_reading(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders[:1], text=TEXT, reading="Naive")
    assert "Row of a word" not in [each.label for each in app.get("button_group")]
    assert not any("Chen et al." in caption.value or "(naive)" in caption.value for caption in app.caption)


@pytest.mark.parametrize("reading", ["Shifted", "Naive"])
def test_a_word_has_two_rows_where_a_decoder_reads_what_it_wrote(app: AppTest, folders: list[str], reading: str) -> None:
    written = [token.text for token in attnviz.load(folders[0]).trace(Prompt(TEXT, target=TARGET)).cross.queries[:-1]]
    open_page(app, models=folders[1:], text=TEXT, target=TARGET, whole_words="false", reading=reading)
    assert "Row of a word" in [each.label for each in app.get("button_group")]
    assert rows(app) == (["<s>", *written] if reading == "Shifted" else [*written, "</s>"])
    cross = attnviz.load(folders[1]).trace(Prompt(TEXT, target=TARGET)).cross
    wanted = np.mean([cross.weights(1, head) for head in range(cross.n_heads)], axis=0)
    np.testing.assert_allclose(drawn(app, 1), wanted, atol=1e-6)
    assert any(f"({reading.lower()}" in caption.value for caption in app.caption)


def test_a_supervised_head_is_opened_and_marked(app: AppTest, folders: list[str], tmp_path: Path) -> None:
    supervised = str(tiny_translator(tmp_path, "transformer", supervised_head=(0, 1)))
    open_page(app, models=[folders[0], supervised], text=TEXT, hero="2")
    assert (app.number_input(key="layer").value, app.number_input(key="head").value) == (0, 1)
    assert app.toggle(key="all_heads").value is False
    assert [(model["place"], model["isTrained"]) for model in models(app)] == [([0, None], False), ([0, 1], True)]
    assert [info.value for info in app.info if "was told where to look" in info.value]
    app.number_input(key="layer").set_value(1).run()
    assert [(model["place"], model["isTrained"]) for model in models(app)] == [([0, None], False), ([1, 1], False)]
    assert not [info.value for info in app.info if "was told where to look" in info.value]
    app.button(key="supervised_head").click().run()
    assert not app.exception
    assert [info.value for info in app.info if "was told where to look" in info.value]


def test_a_head_that_nobody_chose_goes_with_the_models(app: AppTest, folders: list[str], tmp_path: Path) -> None:
    supervised = str(tiny_translator(tmp_path, "transformer", supervised_head=(0, 1)))
    open_page(app, models=folders[1:], text=TEXT)
    assert (app.number_input(key="layer").value, app.toggle(key="all_heads").value) == (1, True)
    app.multiselect(key="models").set_value([folders[1], supervised]).run()
    assert (app.number_input(key="layer").value, app.toggle(key="all_heads").value) == (0, False)
    app.number_input(key="head").set_value(0).run()
    app.multiselect(key="models").set_value(folders[1:]).run()
    assert (app.number_input(key="layer").value, app.number_input(key="head").value) == (0, 0)
    assert app.query_params["all_heads"] == "false"


def test_the_link_to_copy_names_every_model(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders)
    payloads = [json.loads(each.proto.json) for each in app.get("bidi_component") if each.proto.json]
    (link,) = (each["link"] for each in payloads if isinstance(each, dict) and "link" in each)
    assert parse_qs(urlsplit(link).query)["models"] == folders


def test_with_all_models_taken_away_one_sentence_says_to_choose(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "available_for", lambda task: ("bahdanau-en-fr",))
    open_page(app)
    app.multiselect(key="models").set_value([]).run()
    assert not app.exception
    assert [info.value for info in app.info] == ["Choose a translator in the sidebar: up to four stand side by side."]


def test_a_target_that_is_no_text_is_told_and_left_out(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders[:1], target="la\x00voiture")
    assert ["NUL byte" in error.value for error in app.error] == [True]
    assert len(answers(app)) == 1


def test_steering_and_candidates_come_from_the_address(app: AppTest, folders: list[str]) -> None:
    model = attnviz.load(folders[0])
    own = draft(model, Prompt(TEXT), DecodingOptions())
    name = next(name for name, _ in own.steps[0].alternatives if name not in (own.pieces[0], "<unk>"))
    open_page(app, models=folders[:1], text=TEXT, begins1=name)
    assert answers(app) == [draft(model, Prompt(TEXT), DecodingOptions(begins=(name,))).trace.output]
    app.button(key="unsteer1").click().run()
    assert answers(app) == [own.trace.output]
    assert "begins1" not in app.query_params


def test_a_candidate_of_the_beam(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders[:1], text=TEXT, decoding="Beam", width="3", candidate1="2")
    assert answers(app) == [draft(attnviz.load(folders[0]), Prompt(TEXT), DecodingOptions(3, 1.0, candidate=2)).trace.output]


def test_the_tree_of_a_beam_is_there_and_of_greedy_decoding_is_not(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders[:1], text=TEXT, decoding="Beam", width="3", candidate1="1")
    (tree,) = markup(app, "tree")
    assert re.findall(r'class="twig (\w+)" data-pick="(\d)"', tree).count(("chosen", "1")) == 1
    assert sorted(re.findall(r'data-pick="(\d)"', tree)) == ["0", "1", "2"]
    app.segmented_control(key="decoding").set_value("Greedy").run()
    assert not app.exception
    assert "decoding" not in app.query_params
    assert not markup(app, "tree")


def test_a_model_of_the_hub_is_asked_the_same_as_ours(app: AppTest, hub_folder: str) -> None:
    open_page(app, models=[hub_folder], text="the cat sat", decoding="Beam", width="3")
    model = attnviz.load(hub_folder)
    own = draft(model, Prompt("the cat sat"), DecodingOptions(3))
    assert answers(app) == [own.trace.output]
    assert any(f"log p of this translation: {signed(own.log_probability)}" in each.value for each in app.caption)
    assert len(re.findall("data-pick", markup(app, "candidates")[0])) == 3
    assert not markup(app, "tree")
    choices = [choice for row in models(app)[0]["choices"] for choice in row]
    assert [choice["step"] for choice in choices] == list(range(len(own.steps)))
    assert [choice["p"] for choice in choices] == pytest.approx([step.probability for step in own.steps])
    assert any("(naive)" in caption.value for caption in app.caption)
    app = open_page(PAGE, models=[hub_folder], text="the cat sat", reading="Shifted")
    assert any("(shifted: Chen et al. 2020)" in caption.value for caption in app.caption)


@pytest.mark.gate
def test_the_language_that_a_model_writes_is_chosen(monkeypatch: pytest.MonkeyPatch, many_languages: tuple[str, str]) -> None:
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "13")
    folder, german = many_languages
    model = attnviz.load(folder)
    visit = Visit(monkeypatch, PAGE, {"models": [folder, "bahdanau-en-fr"], "text": "the cat sat"})
    picker = visit.app.selectbox(key="language1")
    assert (picker.value, list(picker.options)) == (model.card.languages[1], list(model.card.writes))
    assert "language2" not in visit.widgets
    picker.set_value(german)
    visit.run()
    written = draft(model, Prompt("the cat sat", language=german), DecodingOptions()).trace.output
    assert answers(visit.app)[0] == written
    assert visit.address["language1"] == german
    # An edit is made in the same language, and a reload shows the same.
    edited = Visit(monkeypatch, PAGE, visit.address | {"edits1": "c0.1z", "text": "the dog ran"})
    asked = [(each.trace.prompt.language, each.trace.edits.text) for each in edited.actual]
    assert {*asked} == {(german, ""), (german, "c0.1z"), (None, "")}
    again = Visit(monkeypatch, PAGE, edited.address)
    assert not differences(edited, again)
    assert edited.hashes == again.hashes
    # Other models have other languages.
    edited.app.multiselect(key="models").set_value(["bahdanau-en-fr"])
    edited.run()
    assert "language1" not in edited.address
    assert not edited.app.error


@pytest.mark.parametrize(
    ("page", "more"),
    tiny.first_now([
        ("write", {}),
        ("matters", {}),
        ("compute", {"source": "model"}),
        ("whatif", {"change": "head"}),
        ("whatif", {"other": "the dog sat"}),
    ]),
    ids=["write", "matters", "compute", "heads off", "two texts"],
)  # fmt: skip
def test_every_page_writes_the_language_of_its_address(
    monkeypatch: pytest.MonkeyPatch, many_languages: tuple[str, str], page: str, more: dict[str, str]
) -> None:
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    folder, german = many_languages
    own = attnviz.load(folder).card.languages[1]
    visit = Visit(monkeypatch, page, {"model": folder, "text": "the cat sat"} | more)
    assert visit.app.selectbox(key="language").value == own
    before = [str(each.proto) for each in visit.app.get("bidi_component")]
    visit.app.selectbox(key="language").set_value(german)
    visit.run()
    assert visit.address["language"] == german
    assert [str(each.proto) for each in visit.app.get("bidi_component")] != before
    again = Visit(monkeypatch, page, visit.address)
    assert not differences(visit, again)
    assert not again.app.error
    wrong = open_page(page, model=folder, text="the cat sat", language=german[:-1], **more)
    press(wrong, next(each.label for each in wrong.button if each.key == "own-language"))
    assert "language" not in wrong.query_params


def test_a_language_that_a_model_does_not_write_is_refused_with_a_way_back(app: AppTest, folders: list[str]) -> None:
    app = open_page(app, models=folders[:1], text=TEXT, language1="deu_Latn")
    assert "no languages to choose from: leave out 'deu" in app.error[0].value.replace("\\", "")
    press(app, next(each.label for each in app.button if each.key == "own-language1"))
    assert not app.error
    assert "language1" not in app.query_params


def test_a_model_of_the_hub_is_steered_and_forced(app: AppTest, hub_folder: str) -> None:
    open_page(app, models=[hub_folder], text="the cat sat", begins1="dog")
    wanted = draft(attnviz.load(hub_folder), Prompt("the cat sat"), DecodingOptions(begins=("dog",)))
    assert answers(app) == [wanted.trace.output]
    assert wanted.trace.output.startswith("dog")
    app.text_input(key="target").set_value("a dog ran").run()
    assert answers(app) == ["a dog ran"]
    assert any("likely</strong> than its own" in body for body in bodies(app))


def test_a_target_is_forced_compared_and_let_go_of(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders[:1], text=TEXT)
    own = answers(app)
    app.text_input(key="target").set_value(TARGET).run()
    assert answers(app) == [TARGET]
    assert any("times less likely" in body or "more likely" in body for body in bodies(app))
    app.button(key="own").click().run()
    assert answers(app) == own


@pytest.mark.parametrize("typed", ["", TARGET])
def test_an_examples_target_goes_with_its_text_and_a_typed_one_stays(app: AppTest, folders: list[str], typed: str) -> None:
    example = next(example for example in examples("translate") if example.target)
    open_page(app, models=folders[:1], text=example.text, target=example.target)
    assert app.text_input(key="target").value == example.target
    if typed:
        app.text_input(key="target").set_value(typed).run()
    app.text_area(key="typed").set_value("Tom is not red.")
    app.button[0].click().run()
    assert not app.exception
    assert app.text_input(key="target").value == typed
    assert models(app)[0]["isGiven"] is bool(typed)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"text": " "}, "There is nothing to read yet: type a sentence first."),
        ({"text": TEXT, "target": "pas " * 300}, "type less"),
        ({"text": TEXT, "begins1": "nonsense"}, "has no piece 'nonsense'"),
        ({"text": TEXT, "models": ["minilm"]}, "minilm does not translate"),
        ({"text": TEXT, "models": ["/nowhere/at/all"]}, "/nowhere/at/all"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_nothing_is_lost(
    app: AppTest, folders: list[str], parameters: dict, message: str
) -> None:
    open_page(app, **{"models": folders[:1], **parameters})
    assert len(app.error) == 1
    assert message in app.error[0].value
    assert app.text_area(key="typed").value == parameters["text"]
    if "target" in parameters:
        assert app.text_input(key="target").value == parameters["target"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Je ne mange pas de viande.", "does not look like English"),
        ("The red car is red. " * 7, "tokens, and tiny-additive"),
    ],
)
def test_a_text_of_another_kind_is_translated_all_the_same(app: AppTest, folders: list[str], text: str, message: str) -> None:
    open_page(app, models=folders[:1], text=text)
    assert any(message in info.value for info in app.info)
    assert len(answers(app)) == 1
    assert not app.error


def test_a_notice_about_a_word_stands_only_where_the_translation_has_it() -> None:
    (example, *_) = examples("translate")
    for target, stands in (("", True), ("Bonjour.", False)):
        app = open_page(PAGE, models="transformer-en-fr", text=example.text, target=target)
        assert any(example.notice in each.value for each in app.caption) is stands


def test_a_wrong_name_gets_only_translators(app: AppTest) -> None:
    open_page(app, models=["minilmm", "bahdanau-en-frr"])
    one, other = (error.value for error in app.error)
    assert "minilmm" in one
    assert "Did you mean" not in one
    assert other.endswith("Did you mean bahdanau-en-fr?")


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("猫" * 90, ["bahdanau-en-fr and dot-lstm-en-fr do not know “" + "猫" * 59 + "…”: they read a placeholder instead."]),
        (
            "The red car is red. " * 60,
            ["This text has more than 128 tokens", "bahdanau-en-fr and dot-lstm-en-fr read 128 tokens at most"],
        ),
    ],
)
def test_models_that_say_the_same_of_a_text_say_it_together(app: AppTest, text: str, messages: list[str]) -> None:
    open_page(app, models=["bahdanau-en-fr", "dot-lstm-en-fr"], text=text)
    (notice,) = (each.value for each in (*app.info, *app.warning) if "bahdanau-en-fr and" in each.value)
    assert [notice.count(each) for each in messages] == [1] * len(messages)


@pytest.mark.parametrize("given", [{}, {"target": "Bonjour"}])
def test_a_translation_that_came_to_no_end_says_so(app: AppTest, given: dict[str, str]) -> None:
    open_page(app, models=["transformer-en-fr"], text="Hello", **given)
    sentence = "transformer-en-fr had not ended its translation after 13 tokens: it was stopped there."
    assert any(sentence in info.value for info in app.info) == (not given)


def test_an_address_that_makes_no_sense_still_opens(app: AppTest, folders: list[str]) -> None:
    open_page(
        app, models=folders[1:], text=TEXT, layer="99", head="x", query1="-4", key1="z", candidate1="?", all_heads="false"
    )
    assert (app.number_input(key="layer").value, app.number_input(key="head").value) == (1, 0)
    assert len(answers(app)) == 1


def test_hiding_all_there_is_says_so(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders[:1], text=TEXT, begins1="</s>", hide_special="true")
    assert any("Nothing is left to show" in info.value for info in app.info)


def test_the_start_mark_is_ranked_by_the_one_row_that_it_has(app: AppTest) -> None:
    text = "I have a red car."
    cross = attnviz.load("transformer-en-fr").trace(text).cross
    row = np.stack([cross.layer_weights(layer)[:, 0] for layer in range(cross.n_layers)])
    open_page(app, models="transformer-en-fr", text=text, query1="0", key1="0")
    link = package(app)["ranked"]["1"]
    assert link["mean"] == pytest.approx(row[..., 0].mean(), abs=1e-6)
    assert link["first"][0]["weight"] == pytest.approx(row[..., 0].max(), abs=1e-6)
    assert link["step"] == "reads"
    # It is followed to a head that draws it; one that does not says so.
    assert models(app)[0]["queries"][package(app)["cells"]["1"][0]][0] == "<s>"
    elsewhere = open_page(PAGE, models="transformer-en-fr", text=text, query1="0", layer="0", head="1", all_heads="false")
    sentence = "only reads “&lt;s&gt;”: head 1 of layer 0 is drawn by the steps that write a word, and has no row of it."
    assert sentence in re.sub("</?b[^>]*>|</?bdi>|</?em[^>]*>|</?strong[^>]*>", "", html(elsewhere))


def test_switching_the_shown_head_off_leaves_the_word(app: AppTest) -> None:
    text = "The house was sold."
    open_page(app, models="transformer-en-fr", text=text)
    assert models(app)[0]["place"] == [1, 0]
    cell = package(app)["cells"]["1"]
    off = open_page(PAGE, models="transformer-en-fr", text=text, edits1="c1.0z")
    assert not drawn(off, 1).any()
    assert package(off)["cells"]["1"] == cell
    # Of a word that was asked alone the column stays, too.
    for edits in ({}, {"edits1": "c1.0z"}):
        asked = open_page(
            PAGE, models="transformer-en-fr", text=text, query1="4", layer="1", head="0", all_heads="false", **edits
        )
        row, column = package(asked)["cells"]["1"]
        assert [models(asked)[0][axis][at][0] for axis, at in (("queries", row), ("keys", column))] == ["vendue", "sold"]


def test_every_head_of_a_transformer_is_counted(app: AppTest) -> None:
    open_page(app, models=["transformer-en-fr", "bahdanau-en-fr"], text="I have a red car.")
    assert [model["shape"] for model in models(app)] == [[3, 4], [1, 1]]


def test_that_no_model_is_chosen_is_in_the_address(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders, text=TEXT)
    app.multiselect(key="models").set_value([]).run()
    assert app.query_params["models"] == ""
    open_page(app, models="", text=TEXT)
    assert app.multiselect(key="models").value == []


def test_the_large_picture_is_that_of_the_address_and_is_called_so(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders, text=TEXT, hero="2", query2="1", key2="3", alternatives="open")
    shown = package(app)
    assert (shown["hero"], shown["open"]) == (2, True)
    assert shown["cells"]["2"] == [models(app)[1]["rows"].index(0), models(app)[1]["columns"].index(3)]
    assert any(expander.label == "Advanced · tiny-transformer" for expander in app.expander)


def test_a_large_picture_that_is_not_there_is_the_first(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders[:1], text=TEXT, hero="3")
    assert package(app)["hero"] == 1
    assert "hero" not in app.query_params


def test_the_choices_of_a_word_close_with_its_text(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders[:1], text=TEXT, alternatives="open")
    app.text_area(key="typed").set_value("Tom is not red.")
    app.button[0].click().run()
    assert package(app)["open"] is False
    assert "alternatives" not in app.query_params


@pytest.mark.parametrize("whole_words", ["true", "false"])
@pytest.mark.parametrize("reading", ["Shifted", "Naive"])
def test_every_token_stands_with_the_word_that_it_was_written_for(
    app: AppTest, folders: list[str], reading: str, whole_words: str
) -> None:
    open_page(app, models=folders[1:], text=TEXT, target=TARGET, reading=reading, whole_words=whole_words)
    (shown,) = models(app)
    for (word, special, *_), choices in zip(shown["queries"], shown["choices"], strict=True):
        written = "".join(choice["text"] for choice in choices if choice["text"] != "</s>")
        assert written == ("" if special else word)
    steps = [choice["step"] for row in shown["choices"] for choice in row]
    assert steps == list(range(len(steps)))
    # The end mark has no row where rows are named after what is read: it stands with the last.
    assert shown["choices"][-1][-1]["text"] == "</s>"


def test_words_that_a_model_spells_out_are_named(app: AppTest, folders: list[str]) -> None:
    open_page(app, models=folders, text="Zbigniew is not Tom.")
    (sentence,) = (info.value for info in app.info if "spelled out" in info.value)
    assert "tiny-additive and tiny-transformer" in sentence
    assert "Zbigniew" in sentence


def test_numbers_can_be_what_a_head_moves(app: AppTest) -> None:
    names = ["bahdanau-en-fr", "transformer-en-fr"]
    given = {"layer": "1", "head": "2", "all_heads": "false", "whole_words": "false", "reading": "Shifted"}
    open_page(app, models=names, text="I am tired.", weighing="norms", **given)
    translator = attnviz.load(names[1])
    written = draft(translator, Prompt("I am tired."), DecodingOptions())
    np.testing.assert_allclose(drawn(app, 2), cross_norm_shares(translator, written, 1, 2), atol=1e-5)
    assert [model["number"] for model in models(app)] == ["weight", "norm share"]
    assert (models(app)[1]["place"], models(app)[1]["number"]) == ([1, 2], "norm share")
    # Of an LSTM it is not known, and that is said.
    assert any("no output matrix" in each.value for each in app.error)
    np.testing.assert_allclose(drawn(app, 1), attnviz.load(names[0]).trace("I am tired.").cross.weights(0, 0), atol=1e-6)
    app.session_state["hero"] = 2
    app.selectbox(key="weighing").set_value("mixing").run()
    assert not app.exception
    assert (models(app)[1]["place"][0], models(app)[1]["number"]) == (1, "mixing share")
    assert (app.number_input(key="layer").disabled, app.number_input(key="head").disabled) == (False, True)
    assert app.toggle(key="all_heads").disabled
    assert any("This layer changes a token by" in each.value for each in app.markdown)
    app.selectbox(key="weighing").set_value("weights").run()
    assert "weighing" not in app.query_params
    assert not any("changes a token" in each.value for each in app.markdown)
    assert (app.number_input(key="head").disabled, app.number_input(key="head").value) == (False, 2)
    np.testing.assert_allclose(drawn(app, 2), written.trace.cross.weights(1, 2), atol=1e-6)


def test_what_is_edited_shows_its_weights(app: AppTest) -> None:
    open_page(app, models="transformer-en-fr", text="I am tired.", edits1="c0.0z", weighing="norms")
    assert "weighing" not in app.query_params
    assert "weighing" not in {each.key for each in app.selectbox}
    assert models(app)[0]["number"] == "weight"


def test_cut_links_and_hidden_words_are_marked_where_they_stand(app: AppTest) -> None:
    given = {"layer": "1", "head": "2", "all_heads": "false", "whole_words": "false", "hide_special": "true"}
    wanted = {"models": "transformer-en-fr", "text": "I am tired.", "reading": "Shifted", **given}
    # Query 0 is the start mark, which is not shown.
    open_page(app, **wanted, edits1="c1.2c2.1,c1.0c1.1,ck3")
    assert [models(app)[0][name] for name in ("edited", "hidden", "off")] == [[[1, 1, "cut"]], [3], False]
    app.session_state["edit_view"] = "Before"
    before = open_page(app)
    assert [models(before)[0][name] for name in ("edited", "hidden")] == [[], []]


def test_the_head_follows_what_is_asked_until_one_is_chosen(app: AppTest) -> None:
    translator = attnviz.load("transformer-en-fr")
    written = draft(translator, Prompt("I am tired."), DecodingOptions())
    tokens, cross = [token.text for token in written.trace.cross.queries], written.trace.cross
    reads = {place: truer(translator.card.metrics, *place) for place in np.ndindex(cross.n_layers, cross.n_heads)}
    # The step that writes a word is the one before that which reads it.
    given = {place: np.vstack([cross.weights(*place)[:1], cross.weights(*place)])[: len(tokens)] for place in reads}
    assert set(reads.values()) == {"naive", "shifted"}
    # Another row is drawn of the trained one: a word leads to those whose numbers its own row has.
    drawn_places = [place for place, reading in reads.items() if reading == "naive"]
    open_page(app, models="transformer-en-fr", text="I am tired.", whole_words="false")
    assert models(app)[0]["place"] == list(translator.card.supervised_head or ())
    words = [key for key, token in enumerate(cross.keys) if is_word(token)]
    rows_asked = [row for row, text in enumerate(tokens) if row and text.strip().isalpha()]
    for key, query in itertools.product((None, 1, 2), rows_asked):
        for name, value in (("query1", query), ("key1", key)):
            app.session_state[name] = value
        app.run()
        asked = words if key is None else [key]
        first = max(drawn_places, key=lambda place, columns=asked, row=query: given[place][row][columns].max())
        assert models(app)[0]["place"] == list(first)
        row, column = package(app)["cells"]["1"]
        assert models(app)[0]["queries"][row][0].strip() == tokens[query].strip()
        assert models(app)[0]["columns"][column] in asked
        assert drawn(app, 1)[row, column] == pytest.approx(given[first][query][asked].max(), abs=1e-6)
        link = package(app)["ranked"]["1"]
        key_asked = models(app)[0]["columns"][column]
        every = {place: float(weights[query][key_asked]) for place, weights in given.items()}
        assert link["mean"] == pytest.approx(np.mean(list(every.values())), abs=1e-6)
        best = max(every, key=every.__getitem__)
        assert (link["first"][0]["layer"], link["first"][0]["head"]) == best
        assert link["first"][0]["weight"] == pytest.approx(every[best], abs=1e-6)
        assert link["step"] == "writes"
        word, other = (word_names(cross.keys if at else cross.queries)[key_asked if at else query] for at in (0, 1))
        in_python = attnviz.rank_heads(written.trace, word, other)
        assert [(each.layer, each.head) for each in in_python[:5]] == [(each["layer"], each["head"]) for each in link["first"]]
        assert [each.weight for each in in_python[:5]] == pytest.approx([each["weight"] for each in link["first"]], abs=1e-6)
        assert [each for each in ("layer", "head", "all_heads") if each in app.query_params] == []
    # One that is chosen stays, and the word too, though its row is another.
    app.number_input(key="layer").set_value(1).run()
    app.number_input(key="head").set_value(0).run()
    # The trained one is as good a choice as any: it stays, too.
    for query in rows_asked[:2]:
        app.session_state["query1"] = query
        app.run()
        assert (models(app)[0]["place"], app.query_params["layer"], app.query_params["head"]) == ([1, 0], "1", "0")
        assert models(app)[0]["queries"][package(app)["cells"]["1"][0]][0].strip() == tokens[query].strip()
