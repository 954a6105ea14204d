"""Training a selector on abstracts of our own: targets by hand, losses by hand, and runs that are killed."""

import dataclasses
import gzip
import json
import math
from pathlib import Path

import pytest
import torch

import attnviz
from attnviz.nn.encoder import BlockConfig, Summarizer, SummarizerConfig
from recipes import commands, loop
from recipes.data import DataError
from recipes.loop import Run
from recipes.schedule import Schedule
from recipes.summarize import task as selector
from recipes.summarize.abstracts import Abstract, AbstractExample, collate, example, in_references, read_abstracts
from recipes.summarize.task import Selecting, SelectorRecipe, losses

ABSTRACT = Abstract(("Cats are known.", "We propose a new dog.", "It barks!"), ("A new dog.", "Dogs bark."))
RECIPE = SelectorRecipe(
    "tiny-selector",
    "made for a test",
    "https://arxiv.org/abs/2004.15011",
    SummarizerConfig(n_outputs=2, n_layers=2, block=BlockConfig(24, 12, 13, norm="before", dropout=0.0), dropout=0.1),
    schedule=Schedule(epochs=2, batch=3, learning_rate=1e-2, warmup=2, average=0.5, precision="float32"),
    held_out=2,
)


def run_of(recipe: SelectorRecipe, data: list[AbstractExample], folder: Path | None = None) -> Run:
    """A run as `selector.train` begins it."""
    torch.manual_seed(recipe.schedule.seed)
    task = Selecting(recipe, data[recipe.held_out :], data[: recipe.held_out])
    return Run(recipe, Summarizer(recipe.model), task, folder)


def made(n: int, seed: int) -> list[AbstractExample]:
    """Examples in which a token of the second sentence has a sign that the selector can find."""
    generator = torch.Generator().manual_seed(seed)
    actual = []
    for _ in range(n):
        states = torch.randn(9, 384, generator=generator) * 0.1
        states[4:8] += 1
        importance = torch.tensor([0, 0, 0, 0, 1, 1, 0, 0, 0]).float()
        typed = torch.tensor([False, *[True] * 7, False])
        numbers = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1])
        content = torch.tensor([False, True, True, False, True, True, True, True, False])
        actual.append(AbstractExample(states.half(), numbers, typed, content, importance, torch.tensor([0.1, 0.9])))
    return actual


@pytest.fixture
def data(tmp_path):
    rows = [{"sentences": list(ABSTRACT.sentences), "references": list(ABSTRACT.references)}] * 5
    for split in ("train", "dev"):
        with gzip.open(tmp_path / f"scitldr.{split}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return tmp_path


def test_abstracts_are_read_and_what_is_none_is_named(data):
    assert read_abstracts(data, "scitldr.train")[0] == ABSTRACT
    with pytest.raises(DataError, match=r"no nothing\.jsonl\.gz"):
        read_abstracts(data, "nothing")
    with gzip.open(data / "bad.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write('{"sentences": ["a"], "references": ["b"]}\n{"sentences": 3}\n')
    with pytest.raises(DataError, match=r"line 2 of bad\.jsonl\.gz"):
        read_abstracts(data, "bad")


def test_a_words_target_is_the_share_of_references_that_have_it():
    assert in_references("dogs", [frozenset({"dog"}), frozenset({"cat"})]) == 0.5
    assert in_references("…", [frozenset({"dog"})]) == 0


def test_what_an_abstract_teaches():
    actual = example(ABSTRACT, attnviz.load("minilm"), 0.1)
    tokens = attnviz.load("minilm").trace(ABSTRACT.text).encoder.keys
    importance = {token.text: float(share) for token, share in zip(tokens, actual.importance, strict=True) if share}
    assert importance == {"new": 0.5, "dog": 1.0, "bark": 0.5, "s": 0.5}
    assert [token.text for token, on in zip(tokens, actual.content, strict=True) if on] == [
        "Cats", "known", "propose", "new", "dog", "bark", "s",
    ]  # fmt: skip
    assert actual.numbers.tolist()[-1] == 2
    assert int(actual.target.argmax()) == 1
    assert float(actual.target.sum()) == pytest.approx(1)
    assert actual.typed.tolist() == [not token.special for token in tokens]


def test_the_losses_by_hand():
    rows = made(2, 1)
    batch = collate([rows[0], dataclasses.replace(rows[1], **{
        field: getattr(rows[1], field)[:7] for field in ("states", "numbers", "typed", "content", "importance")
    })])  # fmt: skip
    model = Summarizer(RECIPE.model).eval()
    of_sentences, of_words, of_labels = (float(loss.detach()) for loss in losses(model, batch))
    sentences, words, labels, n_labels = 0.0, 0.0, 0.0, 0
    for row in range(2):
        n = int(batch.real[row].sum())
        logits, weights = model(batch.states[row : row + 1, :n], batch.numbers[row : row + 1, :n])
        typed, content, importance = (getattr(batch, name)[row, :n] for name in ("typed", "content", "importance"))
        first, last = (layer[0].mean(0)[typed].mean(0) for layer in weights)
        second = typed & (batch.numbers[row, :n] == 1)
        share = float(last[second].sum() / last[typed].sum())
        sentences -= 0.1 * math.log(1 - share) + 0.9 * math.log(share)
        shares = first[content] / first[content].sum()
        words -= float((importance[content] / importance[content].sum() * shares.log()).sum())
        for score, is_wanted in zip(logits[0][content].log_softmax(-1), importance[content] > 0, strict=True):
            labels, n_labels = labels - float(score[int(is_wanted)]), n_labels + 1
    assert of_sentences == pytest.approx(sentences / 2, abs=1e-4)
    assert of_words == pytest.approx(words / 2, abs=1e-4)
    assert of_labels == pytest.approx(labels / n_labels, abs=1e-4)


def test_it_learns_what_there_is_to_learn():
    recipe = dataclasses.replace(RECIPE, schedule=dataclasses.replace(RECIPE.schedule, epochs=6))
    run = run_of(recipe, made(29, 2))
    before = [float(loss) for loss in losses(run.model, collate(made(5, 3)))]
    run.train(lambda line: None)
    run.model.load_state_dict(run.best)
    after = [float(loss) for loss in losses(run.model.eval(), collate(made(5, 3)))]
    assert all(late < early for late, early in zip(after, before, strict=True))
    # The entropy of the target, 0.325 nats, is the best there is.
    assert after[0] < 0.45


class KilledError(Exception):
    pass


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_killed_run_goes_on_as_if_it_had_not_been(tmp_path, monkeypatch, steps):
    monkeypatch.setattr(loop, "EVERY", 1)
    whole = run_of(RECIPE, made(11, 4))
    whole.train(lambda line: None)
    killed, taken = run_of(RECIPE, made(11, 4), tmp_path), []
    step = killed._step

    def counted(*arguments):
        if len(taken) == steps:
            raise KilledError
        taken.append(1)
        return step(*arguments)

    monkeypatch.setattr(killed, "_step", counted)
    with pytest.raises(KilledError):
        killed.train(lambda line: None)
    resumed = run_of(RECIPE, made(11, 4), tmp_path)
    assert resumed.progress.step == steps
    resumed.train(lambda line: None)
    for name, value in whole.best.items():
        torch.testing.assert_close(resumed.best[name], value)


def test_another_recipes_run_is_not_gone_on_with(tmp_path):
    run_of(RECIPE, made(5, 4), tmp_path).save()
    with pytest.raises(DataError, match="another recipe"):
        run_of(dataclasses.replace(RECIPE, temperature=0.2), made(5, 4), tmp_path)
    # Words of the card decide no weight.
    run_of(dataclasses.replace(RECIPE, about="something else"), made(5, 4), tmp_path)


def test_from_a_name_to_a_model_its_figures_and_its_card(data, tmp_path, monkeypatch):
    monkeypatch.setattr("recipes.commands.assets_folder", lambda: tmp_path / "assets")
    monkeypatch.setitem(selector.RECIPES, "tiny-selector", RECIPE)
    lines: list[str] = []
    folder = tmp_path / "assets" / "models" / "tiny-selector"
    commands.train("tiny-selector", data, tmp_path / "runs", out=folder, epochs=1, report=lambda line: lines.append(str(line)))
    assert lines[-1].startswith(f"saved in {folder}")
    actual = commands.evaluate("tiny-selector", data, save=True, report=lambda line: None)
    assert (actual["abstracts"], actual["references"]) == (5, 10)
    # The second sentence is the best, and the first has nothing that a summary has.
    assert actual["Best sentence there is: ROUGE-1"] > actual["First: ROUGE-1"] == 0
    assert actual["Attention alone, the best of all ways: ROUGE-1"] <= actual["Best sentence there is: ROUGE-1"]
    # Three of six content words are in a reference.
    assert actual["Random: words at 15"] == pytest.approx(50)
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["abstracts trained"] == 3
    text = (folder / "card.md").read_text(encoding="utf-8")
    for words in ("Apache-2.0", "SciTLDR", "bad at", f"| First | {0:.2f} |", "| Trained selector |"):
        assert words in text
