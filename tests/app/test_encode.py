"""The Encode page's script without a browser: what it asks of models, and what it says when they fail."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
import torch
from safetensors.torch import save_file
from streamlit.testing.v1 import AppTest

from attnviz.analysis.heads.atlas import shipped_atlas
from attnviz.analysis.heads.verdict import describe_label
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models import catalog
from attnviz.ui import visitor_limits as settings
from attnviz.ui.background.jobs import Job
from attnviz.ui.layout import size
from attnviz.ui.prompt_box import examples
from tests import tiny
from tests.factories import make_map, numbered
from tests.tiny import FAMILY
from tests.translators import tiny_translator
from tests.visits import html, open_page, pictures, said, script

PAGE = "encode"


def test_the_page_runs_and_tells_the_picture_in_words(app: AppTest) -> None:
    app.run()
    assert not app.exception
    assert any("sends" in each.proto.body and "animal" in each.proto.body for each in app.get("html"))


def test_a_notice_about_heads_stands_only_where_its_model_read_the_text_unchanged() -> None:
    for page, others in {"encode": [{"model": "answer-en"}, {"edits": "e3.1z"}], "write": [{"chat": "true"}]}.items():
        example = examples(page)[0]
        assert example.model
        assert "·H" in example.notice
        shown = [open_page(page, **address).caption for address in ({}, *others)]
        assert [any(example.notice in each.value for each in captions) for captions in shown] == [True, *[False] * len(others)]


def test_run_without_a_change_keeps_what_was_chosen_and_another_text_does_not() -> None:
    app = open_page(PAGE, text="The dog ran home", query="2", key="4")
    app.button(key="run-prompt").click().run()
    assert {"query": "2", "key": "4"}.items() <= app.session_state.address.items()
    app.text_area(key="typed").set_value("The cat ran home")
    app.button(key="run-prompt").click()
    app.run()
    assert "query" not in app.session_state.address


def test_a_line_says_what_the_head_does_over_many_sentences_and_opens_its_evidence(app: AppTest) -> None:
    app.query_params.update(layer="2", head="0")
    app.run()
    label = app.button(key="head-label")
    assert label.label == describe_label(shipped_atlas("minilm"), 2, 0)
    assert "looks from an object to its verb in 72\xa0% of cases" in label.label
    label.click().run()
    assert app.session_state["visits"]["heads"] == {"model": "minilm", "layer": "2", "head": "0"}
    other = script(PAGE)
    other.query_params["mean"] = "true"
    other.run()
    assert not [button for button in other.button if button.key == "head-label"]


def test_a_model_is_loaded_once_and_traced_once_for_each_prompt(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    fetch = catalog.fetch

    def counted(name: str, **options: object) -> object:
        calls.append(name)
        return fetch(name, **options)

    monkeypatch.setattr(catalog, "fetch", counted)
    st.cache_resource.clear()
    app.run()
    app.number_input(key="head").set_value(2).run()
    app.text_area(key="typed").set_value("Another sentence.")
    app.button[0].click().run()
    assert not app.exception
    assert app.session_state["text"] == "Another sentence."
    assert calls == ["minilm"]


def test_a_failure_is_told_and_not_kept(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = catalog.fetch

    def fails(name: str, **options: object) -> object:
        raise ModelError("The model is being moved: try again.")

    st.cache_resource.clear()
    monkeypatch.setattr(catalog, "fetch", fails)
    # What the page shows at first needs no model.
    app.query_params["text"] = "The animal crossed."
    app.run()
    assert [error.value for error in app.error] == ["The model is being moved: try again."]
    assert app.text_area(key="typed").value.startswith("The animal")
    monkeypatch.setattr(catalog, "fetch", fetch)
    app.run()
    assert not app.error


def test_running_out_of_memory_is_one_sentence(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    app.run()

    def too_large(self: object, prompt: object) -> object:
        raise MemoryError

    monkeypatch.setattr("attnviz.models.hub.hub_model.TracedModel.trace", too_large)
    app.text_area(key="typed").set_value("A sentence that takes all there is.")
    app.button[0].click().run()
    assert [error.value for error in app.error] == [
        "This needs more memory than there is: try a shorter text or a smaller model."
    ]


def test_an_address_with_a_head_that_does_not_exist_opens_the_last_there_is(app: AppTest) -> None:
    app.query_params.update(layer="99", head="nonsense")
    app.run()
    assert not app.exception
    assert (app.number_input(key="layer").value, app.number_input(key="head").value) == (5, 1)


@pytest.mark.parametrize(
    ("shape", "message"), [((1, 1, 3, 5), "3 × 5 tokens · 1 head"), ((2, 3, 5, 5), "5 tokens · 6 heads")], ids=str
)
def test_a_picture_says_how_much_it_shows(shape: tuple[int, int, int, int], message: str) -> None:
    layers, heads, queries, keys = shape
    assert size(make_map(numbered(queries), numbered(keys), layers=layers, heads=heads)) == message


def test_an_address_with_the_mean_has_no_head_to_choose(app: AppTest) -> None:
    app.query_params["mean"] = "true"
    app.run()
    assert not app.exception
    assert app.number_input(key="head").disabled


def test_a_formula_stands_only_where_it_is_the_models(app: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    app.run()
    assert len(app.latex) == 2
    additive = str(tiny_translator(tmp_path / "additive", "additive"))
    app = script(PAGE)
    app.query_params["model"] = additive
    app.run()
    assert not app.exception
    assert not app.latex
    assert any("in a way of its own" in each.value for each in app.markdown)


def test_a_setting_or_a_wish_that_cannot_be_is_one_sentence(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_MODELS", "gpt2")
    monkeypatch.setenv("ATTNVIZ_MAX_CHARACTERS", "20")
    app.query_params.update({"model": "bert-base-uncased", "text": "The cat sat."})
    app.run()
    assert [each.value for each in app.error] == [
        "bert-base-uncased is not offered here: choose a model that travels with attnviz and gpt2."
    ]
    app.selectbox(key="model").set_value("minilm").run()
    assert not app.error
    app.text_area(key="typed").set_value("The cat sat on the mat.")
    app.button[0].click().run()
    assert [each.value for each in app.error] == [
        "This text has more than 20 characters, and no more are read here: shorten it."
    ]
    assert app.text_area(key="typed").value == "The cat sat on the mat."
    monkeypatch.setenv("ATTNVIZ_RUNS", "none")
    app.run()
    assert app.error[0].value.startswith("ATTNVIZ_RUNS must be")
    assert not app.exception


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ({"text": "half\x00way"}, "NUL byte"),
        ({"text": " \n  "}, "nothing to read yet"),
        ({"text": "\u200b\u200d"}, "minilm finds nothing to read in this text"),
        pytest.param(
            {"text": "word " * 600},
            "512 tokens at most: the text was cut after character 2,549 of 3,000",
            marks=pytest.mark.gate,
        ),
        ({"text": "word " * 120, "view": "BertViz"}, "open Grid instead"),
    ],
)
def test_what_cannot_be_read_whole_or_drawn_is_one_sentence_and_is_kept(
    app: AppTest, address: dict[str, str], message: str
) -> None:
    app.query_params.update(address)
    app.run()
    assert not app.exception
    assert [message in each.value for each in (*app.error, *app.warning, *app.info)] == [True]
    assert app.text_area(key="typed").value == address["text"]


@pytest.mark.parametrize(
    ("setting", "address", "allowed"),
    [(None, "localhost", True), (None, "127.0.0.1", True), (None, None, False), (None, "0.0.0.0", False),
     ("1", None, True), ("0", "localhost", False)],
)  # fmt: skip
def test_folders_are_for_those_at_the_machine(
    monkeypatch: pytest.MonkeyPatch, setting: str | None, address: str | None, allowed: bool
) -> None:
    monkeypatch.delenv("ATTNVIZ_ALLOW_FOLDERS", raising=False)
    if setting:
        monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", setting)
    monkeypatch.setattr(st, "get_option", lambda name: {"server.address": address}[name])
    assert settings.folders_allowed() is allowed


def test_a_job_shows_how_far_it_is_and_hands_its_error_on() -> None:
    def script() -> None:
        import time

        import streamlit as st

        from attnviz.ui.background.jobs import Job

        def work(progress):
            progress("Downloading", 0.5)
            time.sleep(1.2)
            raise ValueError("spoilt")

        try:
            Job(work).result(st.empty())
        except ValueError as error:
            st.write(str(error))

    app = AppTest.from_function(script, default_timeout=20).run()
    assert not app.exception
    assert app.markdown[0].value == "spoilt"
    assert Job(lambda progress: 41 + 1).result(st.empty()) == 42


@pytest.mark.parametrize("by", tiny.first_now(["mixing", "norms"]))
def test_numbers_can_be_what_a_head_moves(app: AppTest, by: str) -> None:
    app.query_params.update(text="The cat sat on the mat near it.", weighing=by, layer="2", head="5")
    app.run()
    assert not app.exception
    assert any("This layer changes a token by" in each.value for each in app.markdown)
    assert any("norm share" in each.proto.body or "mixing share" in each.proto.body for each in app.get("html"))
    app.selectbox(key="weighing").set_value("weights").run()
    assert "weighing" not in app.query_params
    assert not any("changes a token" in each.value for each in app.markdown)
    assert any("with weight" in each.proto.body for each in app.get("html"))
    # Where heads were mixed none could be chosen; the one that was is there again.
    assert app.number_input(key="head").value == 5
    assert app.query_params["head"] == "5"


def test_a_model_of_which_nothing_is_known_shows_its_weights(app: AppTest) -> None:
    app.query_params.update(model="bahdanau-en-fr", text="I am tired.", weighing="norms")
    app.run()
    assert not app.exception
    assert any("no output matrix" in each.value for each in app.error)
    assert any("with weight" in each.proto.body for each in app.get("html"))


def _truncated(folder: Path) -> None:
    FAMILY["bert"].save(folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])


def _plain_mlp(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "mlp", "hidden_size": 8}))
    save_file({"layer.weight": torch.zeros(8, 8)}, folder / "model.safetensors")


def _rwkv(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "rwkv", "hidden_size": 8, "num_hidden_layers": 1}))


@pytest.mark.parametrize("spoil", [_truncated, _plain_mlp, _rwkv], ids=["cut", "mlp", "rwkv"])
def test_what_is_no_model_gets_one_sentence_and_the_next_run_works(app: AppTest, tmp_path: Path, spoil: Callable) -> None:
    spoil(tmp_path)
    app.query_params.update(model=str(tmp_path), text="The cat sat.")
    app.run()
    assert not app.exception
    (error,) = app.error
    assert tmp_path.name in error.value
    assert app.text_area(key="typed").value == "The cat sat."
    app.selectbox(key="model").set_value("minilm").run()
    app.text_area(key="typed").set_value("It works again.")
    next(button for button in app.button if button.label == "Run").click().run()
    assert not app.exception
    assert not app.error
    assert "works" in html(app)


def test_a_layer_without_attention_is_said_to_be_one(tmp_path: Path, app: AppTest) -> None:
    tiny.hybrid().save_pretrained(tmp_path)
    tiny.tokenizer(tiny.DECODER).save_pretrained(tmp_path)
    open_page(app, model=str(tmp_path), text="the cat sat on the mat", layer="1", head="0")
    assert not app.error
    assert any("Layer 1 mixes words without attention" in caption.value for caption in app.sidebar.caption)
    assert "mixes words without attention in 1 of its 3 layers (1)" in said(app)


def test_the_similarity_of_a_pair_is_that_of_two_sentences_read_together() -> None:
    """Read one by one, as the model was trained to compare them, they have another."""
    text, pair = "The cat sleeps on the sofa.", "A kitten naps on the couch."
    reading = catalog.load("minilm").reading(Prompt(text, pair))
    assert reading.similarity
    app = open_page("encode", text=text, pair=pair)
    drawn = " ".join(pictures(app))
    assert "Similarity of the two sentences, read together" in drawn
    assert f"{reading.similarity:.3f}" in drawn
