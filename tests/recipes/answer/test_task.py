"""Training an answerer: what an epoch reads, the loss by hand, how one begins with another, and what is saved of it."""

import collections
import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from attnviz.core.trace import Prompt
from attnviz.models.base import silent
from attnviz.models.hub.minilm import minilm
from attnviz.models.shipped_answerer import AnswerModel
from attnviz.models.span_decoding import SpanDecoding
from attnviz.nn.encoder import Answerer
from recipes import commands
from recipes.answer import card
from recipes.answer import task as answering
from recipes.answer.calibrate import Calibration, calibration_error
from recipes.answer.card import answerer_card, answerer_facts, configuration, export_answerer
from recipes.answer.development import calibrating, exact, measured, mismatched, overlap, read_sources
from recipes.answer.evaluate import evaluate_answerer
from recipes.answer.initial_weights import LAYERS, begin
from recipes.answer.questions import EncodedQuestion, Question, collate, read_questions
from recipes.answer.recipe import RECIPES, Diet
from recipes.answer.run import train_answerer
from recipes.answer.task import Answering, framed, span_choices, span_loss
from recipes.export import load_trained_as
from recipes.loop import Run
from recipes.task import RunProgress
from tests.answerers import tiny_answerer
from tests.recipes.answer.conftest import CITIES, JOINT, TINY, numbered


def test_a_source_is_gone_through_before_it_comes_again():
    task = Answering(TINY, [*numbered(11, "squad-1.1"), *numbered(4, "qamr")])
    served = [[row for batch in task.batches(epoch) for row in batch.question[:, 1].tolist()] for epoch in range(4)]
    # Sources share their numbers here: of 8 rows, 5 are of one and 3 of the other.
    assert [len(epoch) for epoch in served] == [8, 8, 7, 7]
    squad = Answering(dataclasses.replace(TINY, diets=(Diet(0, {"squad-1.1": 5}, (7, 11), {}),)), numbered(11, "squad-1.1"))
    seen = [row for epoch in range(11) for batch in squad.batches(epoch) for row in batch.question[:, 1].tolist()]
    assert collections.Counter(seen) == dict.fromkeys(range(11), 5)


def test_an_answer_that_fills_pages_is_left_out():
    long = EncodedQuestion((1,), tuple(range(900)), 100, 700, "squad-1.1")
    diet = Diet(0, {"squad-1.1": 2}, (7, 11), {})
    task = Answering(dataclasses.replace(TINY, diets=(diet,)), [long, *numbered(1, "squad-1.1")])
    assert [batch.question[:, 1].tolist() for batch in task.batches(0)] == [[0]]


def test_the_share_without_an_answer():
    unanswered = {"sentence": 0.2, "elsewhere": 0.1}
    task = Answering(
        dataclasses.replace(TINY, diets=(Diet(0, {"squad-1.1": 1000}, (7, 11), unanswered),)), numbered(300, "squad-1.1")
    )
    actual = [
        (int(start), context.tolist(), int(question[1]))
        for batch in task.batches(0)
        for start, context, question in zip(batch.start, batch.context, batch.question, strict=True)
    ]
    assert sum(start < 0 for start, _, _ in actual) / 1000 == pytest.approx(0.3, abs=0.05)
    own = 0
    for start, context, number in actual:
        answer = set(range(100 * number + 17, 100 * number + 20))
        assert answer <= set(context) if start >= 0 else not answer & set(context)
        assert start < 0 or context[start] == 100 * number + 17
        own += start < 0 and context[0] // 100 == number
    assert own / 1000 == pytest.approx(0.2, abs=0.05)


def test_the_loss_by_hand():
    """Of -log(e^x / (1 + Σ e^x)): the 1 is that of no answer, whose logit is 0."""
    start = torch.tensor([[1.0, 2.0, -math.inf], [0.5, -1.0, -math.inf]])
    end = torch.tensor([[0.0, 3.0, -math.inf], [-2.0, 0.25, -math.inf]])
    model: Any = torch.nn.Linear(1, 1)
    model.forward = lambda *ids, **visible: (start, end, ())
    batch = collate([framed((7,), (11, 13), 1, 1, JOINT), framed((7,), (11, 13), -1, -1, JOINT)])
    choices = span_choices(model, batch, torch.device("cpu"))
    e = np.exp
    by_hand = [
        -np.log(e(2) / (1 + e(1) + e(2))), -np.log(1 / (1 + e(0.5) + e(-1))),
        -np.log(e(3) / (1 + 1 + e(3))), -np.log(1 / (1 + e(-2) + e(0.25))),
    ]  # fmt: skip
    assert float(span_loss(choices, batch)) == pytest.approx(np.mean(by_hand))


def test_an_epochs_diet_says_what_is_dropped():
    diets = (TINY.diets[0], dataclasses.replace(TINY.diets[1], dropout=0.25))
    task = Answering(dataclasses.replace(TINY, diets=diets), numbered(5, "squad-1.1"))
    model = answering.untrained_answerer(task.recipe, minilm(silent).model)
    for epoch, share in ((1, 0.0), (2, 0.25), (0, 0.0)):
        task.loss(model, task.batches(epoch)[0], RunProgress(epoch=epoch))
        layers: Any = model.encoder.encoder.layer
        assert [layer.output.dropout.p for layer in layers] == [*[0.0] * TINY.frozen, share]
        assert [layer.attention.output.dropout.p for layer in layers] == [*[0.0] * TINY.frozen, share]
        assert model.encoder.embeddings.dropout.p == layers[5].attention.self.dropout.p == 0.0


def test_special_ids_stand_around_both_texts():
    alone = dataclasses.replace(JOINT, joint=False)
    assert framed((7,), (11, 13), 0, 1, JOINT) == answering.QuestionExample((101, 7, 102), (11, 13, 102), 0, 1)
    assert framed((7,), (11, 13), 0, 1, alone) == answering.QuestionExample((101, 7, 102), (101, 11, 13, 102), 1, 2)
    assert framed((7,), (11, 13), -1, -1, alone).start == -1


def test_the_lower_a_layer_the_less_it_learns():
    for recipe in RECIPES.values():
        model = Answerer(recipe.model, minilm(silent).model)
        scales = {
            id(parameter): group["scale"]
            for group in Answering(recipe, []).optimizer(model).param_groups
            for parameter in group["params"]
        }
        named = {name: scales[id(parameter)] for name, parameter in model.named_parameters() if "encoder.layer" in name}
        depth = recipe.model.depth or LAYERS
        by_layer = [named[f"encoder.encoder.layer.{layer}.output.dense.weight"] for layer in range(depth)]
        assert by_layer == sorted(by_layer)
        assert by_layer[-1] < scales[id(model.output.weight)] == 1.0


def test_one_begins_as_a_whole_other_of_its_shape():
    base, model = (Answerer(JOINT, minilm(silent).model) for _ in range(2))
    with torch.no_grad():
        for parameter in base.parameters():
            parameter.add_(1.0)
    begin(model, base)
    assert all(torch.equal(one, other) for one, other in zip(model.parameters(), base.parameters(), strict=True))


def test_one_begins_with_the_layers_of_another():
    base = Answerer(JOINT, minilm(silent).model)
    with torch.no_grad():
        for parameter in base.encoder.parameters():
            parameter.add_(torch.randn_like(parameter) / 50)
    recipe = RECIPES["answer-en-dual"]
    model = Answerer(recipe.model, minilm(silent).model)
    begin(model, base)
    read: Any = model.encoder
    blocks: Any = model.blocks
    layers: Any = base.encoder.encoder.layer
    depth = recipe.model.depth
    for mine, theirs in zip(read.encoder.layer, layers, strict=False):
        assert all(torch.equal(one, other) for one, other in zip(mine.parameters(), theirs.parameters(), strict=True))
    for block, layer in zip(blocks, layers[depth:], strict=True):
        assert torch.equal(block.attention.query.weight, layer.attention.self.query.weight)
        assert torch.equal(block.thinking.attention.output.weight, layer.attention.output.dense.weight / 2)
        # Without what it looks at across, and with all of its attention within, a block is the layer that it began as.
        states = torch.randn(1, 7, 384)
        with torch.no_grad():
            torch.nn.init.zeros_(block.attention.output.weight)
            torch.nn.init.zeros_(block.attention.output.bias)
            block.thinking.attention.output.weight.mul_(2)
            got, _ = block.eval()(states, states)
            torch.testing.assert_close(got, layer.eval()(states), atol=1e-4, rtol=1e-4)


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A folder with the tiny answerer in models/, trained and calibrated, and its run in runs/."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RECIPES, TINY.name, TINY)
        out = folder / "models" / TINY.name
        commands.train(TINY.name, data, folder / "runs", out=out, epochs=None, report=lambda line: None)
    return folder


def test_a_trained_answerer_is_saved_measured_and_described(data, trained):
    folder = trained / "models" / TINY.name
    model = load_trained_as(AnswerModel, folder)
    run = train_answerer(TINY, data, trained / "runs" / TINY.name, lambda report: None)
    temperature = json.loads((folder / "config.json").read_text(encoding="utf-8"))["temperature"]
    assert model.decoding.length_penalty == pytest.approx(0.25 / temperature, abs=1e-3)
    weights = model.answerer.state_dict()
    for name, value in run.best.items():
        if name.startswith("output."):
            value = value / temperature
        torch.testing.assert_close(weights[name], value, atol=1e-3, rtol=1e-3)
    # One layer of six and the new ones: the rest is the embedded encoder's.
    assert (folder / "model.safetensors").stat().st_size < 6e6
    actual = commands.evaluate(str(folder), data, save=True, report=lambda line: None)
    assert actual["questions"] == len(CITIES)
    assert 0 <= actual["EM"] <= actual["F1"] <= 100
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["questions to train on"] == len(CITIES) - 2
    written = (folder / "card.md").read_text(encoding="utf-8")
    assert [row for row in metrics["by source"] if metrics["by source"][row]] == ["SQuAD half", "Reddit"]
    assert f"| Reddit | {len(CITIES)} | {metrics['EM']:.2f} | {metrics['F1']:.2f} |" in written
    assert "no figure below can be compared with a published one" in written
    assert f"takes {model.decoding.length_penalty} from the span's logit." in written
    assert "SQuAD v1.1" not in written


def test_what_is_kept_lies_between_the_run_and_what_it_began_with(data, trained, monkeypatch):
    monkeypatch.setattr("recipes.answer.run.assets_folder", lambda: trained)
    base = load_trained_as(AnswerModel, trained / "models" / TINY.name).answerer.state_dict()
    runs = [
        train_answerer(dataclasses.replace(TINY, base=TINY.name, alpha=alpha), data, None, lambda report: None).best
        for alpha in (1.0, 0.25)
    ]
    assert not torch.allclose(runs[0]["output.weight"], base["output.weight"], rtol=1e-2)
    for name in ("output.weight", "encoder.encoder.layer.5.output.dense.weight"):
        torch.testing.assert_close(runs[1][name], 0.75 * base[name] + 0.25 * runs[0][name], atol=1e-6, rtol=1e-5)
    recipe = dataclasses.replace(TINY, alpha=0.25)
    run = Run(recipe, answering.untrained_answerer(recipe, minilm(silent).model), Answering(recipe, []))
    written = answerer_card(configuration(recipe, SpanDecoding()), answerer_facts(run))
    assert "held out of the training file, mixed with those it began with, 25% to 75% (Wortsman et al. 2022" in written


def test_the_calibration_error_is_that_of_how_sure_it_is(data, tmp_path):
    decoding = SpanDecoding(limit=7, declines_above=1.0, slope=0.5, slope_nothing=-0.25, intercept=-1.0)
    model = load_trained_as(AnswerModel, tiny_answerer(tmp_path / "tiny", decoding=decoding))
    row = evaluate_answerer(model, data, lambda line: None, {})["by source"]["Reddit"]
    sure, right = [], []
    for one in measured(read_questions(data, "qa-shifts.dev")):
        answers = model.answers(Prompt(one.context, question=one.text))
        span, nothing = answers.result.spans[0], answers.result.nothing
        odds = (
            0.5 * math.log(span.probability / (1 - nothing - span.probability)) - 0.25 * math.log(nothing / (1 - nothing)) - 1
        )
        sure.append(1 / (1 + math.exp(-odds)))
        right.append(exact(answers.text(span), one.answers))
    assert row["calibration error"] == pytest.approx(calibration_error(sure, right), abs=1e-6)


def test_all_of_a_calibration_is_saved(data, tmp_path, monkeypatch):
    monkeypatch.setattr(card, "calibrate", lambda model, data, report: Calibration(2.0, 0.3125, 0.5, -0.25, 0.75))
    model = answering.untrained_answerer(TINY, minilm(silent).model)
    export_answerer(TINY, Run(TINY, model, Answering(TINY, [])), tmp_path, data, lambda line: None)
    decoding = load_trained_as(AnswerModel, tmp_path).decoding
    # Three digits are kept; the penalty is divided as the logits are.
    expected = SpanDecoding(declines_above=0.312, length_penalty=0.125, slope=0.5, slope_nothing=-0.25, intercept=0.75)
    assert decoding == expected
    written = answerer_card(configuration(TINY, decoding) | {"temperature": 2.0}, {})
    assert "0.5 × those of the span among all spans − 0.25 × those of no answer + 0.75 (Platt 1999)" in written


def test_layers_that_began_as_another_answerers_are_saved(data, tmp_path, monkeypatch):
    """They are frozen here, and not the embedded encoder's either."""
    monkeypatch.setattr(card, "calibrate", lambda model, data, report: Calibration())
    model = answering.untrained_answerer(TINY, minilm(silent).model)
    with torch.no_grad():
        model.encoder.encoder.layer[1].output.dense.bias.add_(0.5)
    export_answerer(TINY, Run(TINY, model, Answering(TINY, [])), tmp_path, data, lambda line: None)
    saved = {name for name in load_file(tmp_path / "model.safetensors") if name.startswith("encoder.")}
    # The top layer is trained, but has not been yet.
    assert saved == {"encoder.encoder.layer.1.output.dense.bias"}


def test_a_mismatched_passage_is_of_another_article():
    questions = [Question(str(number), f"article {number // 4}", 0, ("x",)) for number in range(16)]
    actual = mismatched(questions, 4)
    assert [one.text for one in actual] == ["0", "4", "8", "12"]
    assert [one.context for one in actual] == ["article 2", "article 3", "article 0", "article 1"]


def test_what_calibrates_is_not_what_is_measured(data):
    questions = [Question(str(number), f"passage {number // 3}", 0, ("x",)) for number in range(33)]
    kept, rest = calibrating(questions), measured(questions)
    assert [one.text for one in kept] == ["0", "1", "2", "15", "16", "17", "30", "31", "32"]
    assert not {one.context for one in kept} & {one.context for one in rest}
    assert len(kept) + len(rest) == len(questions)
    assert list(read_sources(data, {})) == ["SQuAD half", "Reddit"]


@pytest.mark.parametrize(
    ("text", "answers", "em", "f1"),
    [
        ("The Broncos!", ["Denver", "broncos"], 1, 1),
        ("Denver Broncos won", ["Denver Broncos", "Broncos"], 0, 0.8),
        ("Carolina", ["Denver"], 0, 0),
        ("the a", ["an"], 1, 0),
    ],
)
def test_scores_are_those_of_squads_own_script(text, answers, em, f1):
    assert exact(text, answers) == em
    assert overlap(text, answers) == pytest.approx(f1)
