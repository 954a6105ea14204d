"""A teacher: MPNet read with BERT's ids, its distributions beside its student's by hand, and a run that learns from one."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from attnviz.models.base import silent
from attnviz.models.hub.minilm import minilm
from attnviz.models.span_decoding import SpanDecoding
from attnviz.nn.encoder import Answerer, AnswererConfig, BlockConfig
from recipes.answer.card import answerer_card, answerer_facts, configuration
from recipes.answer.questions import collate
from recipes.answer.recipe import TEACHERS
from recipes.answer.run import train_answerer
from recipes.answer.task import Answering, framed, span_choices, span_loss, untrained_answerer
from recipes.answer.teacher import read_pretrained, soft_loss
from recipes.task import RunProgress
from tests.recipes.answer.conftest import JOINT, TINY, numbered
from tests.tiny import FAMILY, tokenizer

CPU = torch.device("cpu")
MPNET = FAMILY["mpnet"]
WIDE = AnswererConfig(True, 1, BlockConfig(dim=MPNET.config().hidden_size, n_heads=3, hidden=7, norm="before", dropout=0.0))


@pytest.fixture
def pretrained(tmp_path):
    """A random MPNet in a folder, as the hub would have it."""
    return MPNET.save(tmp_path / "mpnet"), str(tmp_path / "mpnet")


def test_mpnet_reads_the_same_tokens_under_its_own_ids(pretrained):
    model, folder = pretrained
    embedded = minilm(silent).tokenizer
    reader = read_pretrained(folder, embedded).eval()
    words = ["the", "cat", "sat", "zebra"]
    ids = torch.tensor([[101, *embedded.convert_tokens_to_ids(words), 102, 0, 0]])
    visible = torch.tensor([[1, 1, 1, 1, 1, 1, 0, 0]])
    actual = reader(ids, visible, position_ids=torch.arange(8)[None]).last_hidden_state
    # "zebra" is not among the tiny model's words.
    marked = ["[CLS]", "the", "cat", "sat", "[UNK]", "[SEP]", "[PAD]", "[PAD]"]
    own = torch.tensor([tokenizer().convert_tokens_to_ids(marked)])
    expected = model(input_ids=own, attention_mask=visible, position_ids=torch.arange(8)[None] + 2).last_hidden_state
    torch.testing.assert_close(actual[:, :6], expected[:, :6])
    assert not torch.allclose(actual[0, 1], actual[0, 2])


def test_the_divergence_by_hand():
    generator = np.random.default_rng(5)
    student, teacher = generator.normal(size=(3, 7)), generator.normal(size=(3, 7))
    student[1, 4:6] = teacher[1, 4:6] = -np.inf
    by_hand = []
    for own, theirs in zip(student, teacher, strict=True):
        seen = np.isfinite(own)
        q, p = log_softmax(own[seen] / 2), log_softmax(theirs[seen] / 2)
        by_hand.append(4 * np.sum(np.exp(p) * (p - q)))
    own = torch.tensor(student, requires_grad=True)
    actual = soft_loss(own, torch.tensor(teacher))
    assert actual.item() == pytest.approx(np.mean(by_hand), rel=1e-5)
    actual.backward()
    assert own.grad is not None
    assert own.grad.isfinite().all()
    assert float(soft_loss(torch.tensor(teacher), torch.tensor(teacher))) == pytest.approx(0, abs=1e-6)


def test_a_share_of_the_loss_is_the_teachers():
    torch.manual_seed(3)
    student, teacher = (Answerer(JOINT, minilm(silent).model).eval() for _ in range(2))
    recipe = dataclasses.replace(TINY, soft=0.75)
    batch = collate([framed((7,), (11, 13, 17), 1, 1, JOINT), framed((7,), (11, 13), -1, -1, JOINT)])
    total, hard = Answering(recipe, numbered(3, "squad-1.1"), teacher=teacher).loss(student, batch, RunProgress())
    own, theirs = (span_choices(model, batch, CPU) for model in (student, teacher))
    soft = np.mean([soft_loss(*pair).item() for pair in zip(own, theirs, strict=True)])
    assert hard.item() == pytest.approx(span_loss(own, batch).item(), rel=1e-5)
    assert total.item() == pytest.approx(0.25 * hard.item() + 0.75 * soft, rel=1e-4)
    total.backward()
    assert student.output.weight.grad is not None
    assert teacher.output.weight.grad is None


def test_of_a_teacher_too_no_attention_weight_is_dropped(pretrained):
    _, folder = pretrained
    recipe = dataclasses.replace(TINY, model=WIDE, frozen=1)
    model = untrained_answerer(recipe, read_pretrained(folder, minilm(silent).tokenizer))
    Answering(dataclasses.replace(recipe, diets=(dataclasses.replace(TINY.diets[0], dropout=0.25),)), []).loss(
        model, collate([framed((7,), (11, 13), 1, 1, JOINT)]), RunProgress()
    )
    encoder: Any = model.encoder
    lower, upper = encoder.encoder.layer
    assert [lower.attention.dropout.p, lower.output.dropout.p] == [0, 0]
    assert [upper.attention.dropout.p, upper.output.dropout.p] == [0.25, 0.25]
    assert lower.attention.attn.dropout.p == upper.attention.attn.dropout.p == 0
    assert not any(parameter.requires_grad for parameter in lower.parameters())


def test_a_teacher_is_trained_first_and_its_student_learns_from_it(pretrained, data, tmp_path, monkeypatch):
    _, folder = pretrained
    teacher = dataclasses.replace(
        TINY, name="tiny-teacher", model=WIDE, pretrained=folder, layers=2, frozen=1, diets=TINY.diets[:1]
    )
    monkeypatch.setitem(TEACHERS, teacher.name, teacher)
    student = dataclasses.replace(TINY, teacher=teacher.name, soft=1.0)
    run = train_answerer(student, data, tmp_path / "run", lambda report: None)
    saved = torch.load(tmp_path / "run" / "tiny-teacher" / "checkpoint.pt", weights_only=True)
    taught = run.task.teacher
    for name, value in saved["best"].items():
        torch.testing.assert_close(taught.state_dict()[name], value)
    assert not taught.training
    alone = train_answerer(TINY, data, None, lambda report: None)
    assert not torch.equal(run.best["output.weight"], alone.best["output.weight"])
    again = train_answerer(student, data, tmp_path / "run", lambda report: None)
    assert torch.equal(run.best["output.weight"], again.best["output.weight"])
    assert again.progress.seconds > saved["progress"]["seconds"]
    written = answerer_card(json.loads(json.dumps(configuration(student, SpanDecoding()))), answerer_facts(run))
    assert "100% of its loss are how far its distributions over start and end, at temperature 2, are from" in written
    assert f"{folder} (https://arxiv.org/abs/1810.04805), which learned from 8 questions" in written
