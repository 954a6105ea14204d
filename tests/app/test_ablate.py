"""The Ablate page's script without a browser: costs of every task, the chosen head and its ways, and what was stopped."""

import pytest
import transformers as hf

from tests.tiny import VOCABULARY, tokenizer
from tests.visits import open_page, press, said


@pytest.mark.parametrize(
    ("model", "output"),
    [
        ("minilm", "the last states turn"),
        ("transformer-en-fr", "vieux amis"),
        ("answer-en", "three million"),
        ("summarize-en", "turn"),
    ],
)
def test_every_task_has_its_costs_and_its_curve(model, output):
    app = open_page("ablate", model=model)
    assert not app.error
    assert output in said(app)
    assert "heads at once costs" in said(app)


def test_a_head_that_is_chosen_leads_to_its_picture_and_to_its_edit():
    app = open_page("ablate", attention="encoder", layer="3", head="9", to="mean")
    assert "L3·H9" in said(app)
    press(app, "Switch it off")
    assert app.session_state.visits["encode"]["edits"] == "e3.9m"


def test_a_head_that_is_not_there_becomes_the_most_costly():
    app = open_page("ablate", attention="cross", layer="77", head="9")
    assert "number 1 of 72" in said(app)


def test_what_was_stopped_stays_stopped_until_somebody_goes_on():
    app = open_page("ablate", stopped="curve")
    assert "You stopped this." in said(app)
    assert "more than without any other head" in said(app)
    assert "heads at once costs" not in said(app)
    press(app, "Continue")
    assert "stopped" not in app.query_params
    assert "heads at once costs" in said(app)


def test_a_model_that_cannot_be_edited_gets_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    sizes = {"vocab_size": VOCABULARY, "hidden_size": 24, "attention_head_size": 8, "num_attention_heads": 3}
    shape = {"attn_layers": ["local"], "axial_pos_embds_dim": [8, 16], "axial_pos_shape": [8, 8], "is_decoder": False}
    hf.ReformerModel(hf.ReformerConfig(**sizes, **shape)).save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    app = open_page("ablate", model=str(tmp_path), text="the cat sat")
    assert ["looked at but not edited" in error.value for error in app.error] == [True]
    assert "heads at once" not in said(app)


def test_an_empty_text_gets_one_sentence():
    app = open_page("ablate", text="")
    assert ["nothing to read" in error.value for error in app.error] == [True]
