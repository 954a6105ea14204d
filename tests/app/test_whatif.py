"""What if without a browser: two texts, two models, an edit, every head off in turn, and what cannot be done."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz.analysis.heads.atlas import Atlas
from attnviz.analysis.whatif_comparison import written_cost
from attnviz.analysis.wording import signed
from attnviz.core.edits import NO_EDITS
from attnviz.core.trace import HeadCosts, Prompt
from attnviz.models.toy_config import preset
from attnviz.models.whatif import head_costs
from attnviz.training.background_run import Line, LiveRun
from attnviz.training.toy_training import Training
from attnviz.ui import heads, training_checkpoints
from attnviz.ui.background import results
from attnviz.ui.prompt_box import examples
from attnviz.ui.training_checkpoints import name_of
from attnviz.ui.whatif import view
from tests.tiny import DECODER, FAMILY, VOCABULARY, first_now, tokenizer
from tests.visits import Visit, open_page, pictures, press, said


def test_tired_and_wide_come_first_and_a_head_is_in_the_address():
    app = open_page("whatif")
    assert "(28\xa0%, was 68\xa0%)" in said(app)
    assert "layer" not in app.query_params


@pytest.mark.parametrize("example", [each for each in examples("whatif") if not each.rather], ids=lambda each: each.label)
def test_every_example_opens_from_its_link_and_shows_a_change(example):
    link = {name: getattr(example, name) for name in ("text", "other", "model", "second", "edits")}
    link["change"] = "model" if example.second else "head" if example.edits else ""
    app = open_page("whatif", **{name: value for name, value in link.items() if value})
    assert not app.error
    assert "Average change " in said(app)
    assert example.notice in said(app)


def test_the_notice_of_tired_and_wide_is_what_the_model_has() -> None:
    example = examples("whatif")[0]
    before, after = (attnviz.load("minilm").trace(text).encoder for text in (example.text, example.other))
    words = [token.text for token in before.queries]
    it, street = words.index("it"), words.index("street")
    was, now = (
        np.array([[each.weights(layer, head)[it, street] for head in range(12)] for layer in range(6)])
        for each in (before, after)
    )
    layer, head = np.unravel_index((now - was).argmax(), was.shape)
    assert (
        f"L{layer}·H{head} gains most there, from {100 * was[layer, head]:.0f} % to {100 * now[layer, head]:.0f} %."
        in example.notice
    )


def trained(first: int = 1) -> LiveRun:
    """A run that has taken a few steps, kept before the first and after the last."""
    recipe = replace(preset("toy-transformer").recipe, seed=first)
    training = Training(recipe)
    run = LiveRun(training, Line(1))
    for _ in range(20):
        training.step()
    run.history.add(training.look())
    return run


def test_a_checkpoint_that_is_let_go_meanwhile_is_read_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained()
    thinned = iter((run.frames, ()))

    class Thinned:
        recipe = run.recipe
        frames = property(lambda _: next(thinned))

    monkeypatch.setattr(training_checkpoints, "_run", Thinned)
    result = training_checkpoints._of_checkpoint(name_of(run.recipe, 0), Prompt("network"), NO_EDITS)
    assert result is not None
    assert result.trace.prompt.text == "network"


def test_two_checkpoints_of_a_training_are_compared_on_what_is_right():
    run = trained()
    first, last = (name_of(run.recipe, step) for step in (0, 20))
    app = open_page("whatif", {"run": run}, model=first, second=last, text="network", other="network")
    assert not app.error
    assert "Average change " in said(app)
    drawn = " ".join(each.proto.json for each in app.get("bidi_component"))
    assert "Train, step 20" in drawn


def test_a_step_that_was_not_kept_is_the_nearest_that_was_and_the_address_says_which():
    run = trained()
    app = open_page(
        "whatif", {"run": run}, model=name_of(run.recipe, 2), second=name_of(run.recipe, 17), text="network", other="network"
    )
    assert not app.info
    asked = app.session_state.address
    assert (asked["model"], asked["second"]) == (name_of(run.recipe, 0), name_of(run.recipe, 20))


def test_a_training_of_others_settings_is_not_shown_for_it_but_offered():
    asked = trained(first=7).recipe
    link = {"model": name_of(asked, 0), "second": name_of(asked, 20), "trained": "kind=transformer&first=7&x=<b>"}
    app = open_page("whatif", {"run": trained()}, **link, text="network", other="network")
    assert "on Train" in said(app)
    assert app.session_state.address["model"] == link["model"]
    press(app, "Train it")
    assert app.session_state.visits["train"] == {"kind": "transformer", "first": "7"}


def test_what_a_task_does_not_read_gets_its_sentence():
    run = trained()
    app = open_page(
        "whatif", {"run": run}, model=name_of(run.recipe, 0), second=name_of(run.recipe, 20), text="Größe 7!", other="network"
    )
    assert len(app.error) == 1


@pytest.mark.parametrize(("change", "typed"), [("word", ""), ("model", ""), ("model", "It ran.")])
def test_what_was_typed_as_the_second_text_is_what_the_address_opens(change: str, typed: str):
    app = open_page("whatif", change=change, text="It ran.", other="He sat.")
    app.text_area(key="typed_other").set_value(typed)
    app.button(key="run-prompt").click().run()
    again = open_page("whatif", **app.session_state.address)
    assert [box.value for box in app.text_area] == [box.value for box in again.text_area]
    assert [len(each.error) for each in (app, again)] == [not typed] * 2


def test_the_same_twice_changes_nothing():
    app = open_page("whatif", other=examples("whatif")[0].text, layer="3", head="1")
    assert "both sides are the same in every head" in said(app)
    assert not [each for each in app.get("bidi_component") if "L3·H1: average change" in each.proto.json]


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ({"edits": "e77.1z"}, "6 layers of 12 heads"),
        ({"edits": "nonsense"}, "is no edit"),
        ({"second": "transformer-en-fr"}, "no encoder|layers of"),
        ({"text": "yes", "other": "no", "model": "bahdanau-en-fr", "edits": "e0.0z"}, "no encoder attention"),
    ],
)
def test_what_cannot_be_compared_gets_one_sentence(parameters, wrong):
    app = open_page("whatif", **parameters)
    assert len(app.error) + len(app.info) == 1
    assert any(part in said(app) for part in wrong.split("|"))


def test_what_is_compared_can_be_downloaded_as_drawing_and_numbers():
    app = open_page("whatif", {"keep": True})
    assert [button.label for button in app.get("download_button")] == ["SVG", "PNG", "PDF", "CSV"]


@pytest.mark.gate
@pytest.mark.parametrize(
    ("model", "typed", "output"),
    [
        ("minilm", {}, "the model reads this text differently"),
        ("transformer-en-fr", {}, "vieux amis"),
        # Short ones: every head is switched off by itself.
        ("answer-en", {"text": "It cost three million dollars.", "pair": "How much did it cost?"}, "three million"),
        ("summarize-en", {"text": "The cat sat on the mat. It was tired."}, "change"),
    ],
)
def test_every_task_has_its_costs_and_its_curve(model, typed, output):
    app = open_page("whatif", change="head", model=model, **typed)
    assert not app.error
    assert output in said(app)
    assert "heads at once costs" in said(app)


def test_a_head_that_is_chosen_leads_to_its_picture_and_to_its_edit():
    for button, expected in (
        ("Read the output without it", {"edits": "e3.9m"}),
        ("See this head", {"layer": "3", "head": "9"}),
    ):
        app = open_page("whatif", text="The cat sat.", change="head", attention="encoder", layer="3", head="9", to="mean")
        assert "head 9 of layer 3" in said(app)
        press(app, button)
        assert expected.items() <= app.session_state.visits["encode"].items()


def test_a_head_that_is_not_there_becomes_the_most_costly():
    app = open_page("whatif", change="head", attention="cross", layer="77", head="9")
    assert "the most of all 72" in said(app)


def test_what_was_stopped_stays_stopped_until_somebody_goes_on():
    app = open_page("whatif", change="head", stopped="curve")
    assert "You stopped this." in said(app)
    assert "the most of all 72" in said(app)
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
    app = open_page("whatif", change="head", model=str(tmp_path), text="the cat sat")
    assert ["looked at but not edited" in error.value for error in app.error] == [True]
    assert "heads at once" not in said(app)


def test_an_empty_text_gets_one_sentence():
    app = open_page("whatif", change="head", text="")
    assert ["nothing to read" in error.value for error in app.error] == [True]


def test_a_head_off_is_compared_with_all_heads_on_and_leads_back():
    app = press(
        open_page("whatif", change="head", attention="encoder", layer="0", head="2"), "Compare attention with this head off"
    )
    assert app.session_state.address == {"change": "head", "edits": "e0.2z", "attention": "encoder"}
    assert "L0·H2 off" in said(app)
    press(app, "Back to all heads")
    assert "edits" not in app.session_state.address
    assert "the most of all 72" in said(app)


@pytest.mark.parametrize("text", first_now(["", "My sister gave her dog a bath."]))
def test_what_is_changed_is_chosen_and_each_choice_is_a_fresh_load_of_its_address(text):
    app = open_page("whatif", **({"text": text} if text else {}))
    for change in ("model", "head", "word", "head", "model", "word"):
        app.segmented_control(key="change").set_value(change).run()
        assert [*app.exception, *app.error, *app.info] == []
        address = dict(app.session_state.address)
        assert address.get("text", "") == text
        assert said(open_page("whatif", **address)) == said(app)


@pytest.fixture
def tiny_writer(tmp_path, monkeypatch):
    """A tiny decoder with the layer that names the next word, in a folder as the hub would have it."""
    model = hf.AutoModelForCausalLM.from_config(FAMILY["gpt2"].config(), attn_implementation="eager")
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.4)
    model.save_pretrained(tmp_path)
    tokenizer(DECODER).save_pretrained(tmp_path)
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    return str(tmp_path), model.eval()


def test_another_word_changes_the_next_one_and_the_bars_say_by_how_much(tiny_writer):
    folder, model = tiny_writer
    shares = []
    for text in ("the cat sat", "the dog sat"):
        with torch.no_grad():
            shares.append(model(**tokenizer(DECODER)(text, return_tensors="pt")).logits[0, -1].softmax(dim=0))
    best = int(shares[0].argmax())
    name = (tokenizer(DECODER).decode([best]).strip() or "?").replace("##", "")
    (drawn,) = [
        each
        for each in pictures(open_page("whatif", model=folder, text="the cat sat", other="the dog sat"))
        if "shares" in each
    ]
    before, after = (100 * float(each[best]) for each in shares)
    row = next(row for row in drawn.split('class="share"') if f"{before:.1f}\xa0%" in row and name in row)
    assert f"{after:.1f}\xa0%" in row
    assert signed(after - before, "+.1f") in row


def test_heads_are_measured_by_the_word_of_the_address(tiny_writer):
    folder, _ = tiny_writer
    address = {"change": "head", "model": folder, "text": "the cat sat"}
    costs = {
        about: head_costs(attnviz.load(folder), Prompt("the cat sat", target=about or None)) for about in ("", "rather:on by")
    }
    for about, cost in costs.items():
        app = open_page("whatif", **address, **({"about": about} if about else {}))
        assert [each.value for each in app.error] == []
        assert written_cost(float(cost.costs["decoder"].max()), float(cost.costs["decoder"].max())) in str(pictures(app))
        assert app.query_params.get("about", "") == about
    assert open_page("whatif", **address, about="rather:on").error
    app = press(open_page("whatif", **address, attention="decoder", layer="1", head="2"), "Read the output without it")
    assert {"model": folder, "text": "the cat sat", "edits": "d1.2z"}.items() <= app.session_state.visits["write"].items()


def part_grid(app) -> str:
    (grid,) = (each for each in pictures(app) if 'class="why"' in each)
    return grid


def test_parts_of_another_text_come_first_without_a_model(monkeypatch):
    monkeypatch.setattr(results, "load_model", None)
    results.traces_kept().clear()
    app = open_page("whatif", change="patch")
    assert not app.error
    assert "of the way to the −5.49 of the other text" in said(app)
    assert "The same part of 5 random texts changes it by " in said(app)
    assert "the quick estimate correlates with them by 0.94" in said(app)
    assert part_grid(app).count("data-pick") == 270
    assert "The 4 best of 270 heads together go 119\xa0% of the way to the other text" in said(app)
    assert len([each for each in pictures(app) if each.count("<polyline") == 3]) == 1
    assert examples("whatif")[3].notice in said(app)
    assert said(open_page("whatif", change="patch", stopped="patches")) == said(app)
    chosen = open_page("whatif", change="patch", layer="24", head="4")
    assert "with L24·H4 of the other text" in said(chosen)
    assert 'data-pick="24.4" aria-pressed="true"' in part_grid(chosen)
    press(chosen, "See where it looks")
    assert {"layer": "24", "head": "4"}.items() <= chosen.session_state.visits["write"].items()


@pytest.mark.parametrize(
    ("part", "place", "name"),
    first_now([
        ("stream", {"layer": "1", "query": "5"}, "L0 at “mat”"),
        ("heads", {"layer": "1", "head": "2"}, "L1·H2"), ("mlps", {"layer": "1"}, "L1·MLP"),
    ]),
)  # fmt: skip
def test_the_part_that_is_set_is_in_the_address(part, place, name, tiny_writer, monkeypatch):
    typed = {"text": "the cat sat on the mat", "other": "the dog sat on the mat", "next": "mat", "rather": "dog"}
    visit = Visit(monkeypatch, "whatif", {"change": "patch", "model": tiny_writer[0], "part": part, **typed, **place})
    assert f"with {name} of the other text" in said(visit.app)
    assert visit.address["part" if part != "heads" else "next"] == (part if part != "heads" else "mat")
    assert place.items() <= visit.address.items()


def test_a_head_stays_chosen_while_other_parts_are_looked_at(tiny_writer, monkeypatch):
    head = {"layer": "1", "head": "2"}
    typed = {"text": "the cat sat on the mat", "other": "the dog sat on the mat", "next": "mat", "rather": "dog"}
    visit = Visit(monkeypatch, "whatif", {"change": "patch", "model": tiny_writer[0], "part": "stream", **typed, **head})
    assert head.items() <= visit.address.items()


def test_texts_that_are_not_of_one_length_get_one_sentence(tiny_writer):
    typed = {"text": "the cat sat", "other": "the cat sat on"}
    app = open_page("whatif", change="patch", model=tiny_writer[0], **typed)
    assert ["as many tokens as each other" in error.value for error in app.error] == [True]
    assert not [each for each in pictures(app) if 'class="why"' in each]


@pytest.mark.parametrize("box", ["text", "other"])
def test_of_parts_of_another_text_both_have_to_be_there(box: str) -> None:
    app = open_page("whatif", change="patch", **{box: ""})
    assert [each.value for each in app.error] == ["There is nothing to read yet: type a sentence first."]


def test_patches_that_were_stopped_stay_an_estimate_until_somebody_goes_on(tiny_writer):
    typed = {"text": "the cat sat on the mat", "other": "the dog sat on the mat", "next": "mat", "rather": "dog"}
    app = open_page("whatif", change="patch", model=tiny_writer[0], stopped="patches", **typed)
    assert "Estimated: gradient × difference" in said(app)
    assert "it is about " in said(app)
    press(app, "Continue")
    assert "Each part is set in a pass of its own" in said(app)
    assert "random texts" in said(app)


def test_what_heads_cost_and_what_they_do_are_files_of_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[str] = []
    for page in (view, heads):
        monkeypatch.setattr(page, "drawing_buttons", lambda name, *_: named.append(name))
        monkeypatch.setattr(page, "file_button", lambda *_: None)
    view.cost_buttons(Mock(HeadCosts), None, "minilm")
    heads.atlas_buttons(Mock(Atlas, model="minilm"), None)
    assert named == ["minilm-costs", "minilm-heads"]
