"""Figures about a translator: against sacrebleu by hand, against alignments that are known."""

import gzip
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import attnviz
from attnviz.models.shipped_translators import TranslationModel
from attnviz.nn.decoding import Beam
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.transformer_translator import Attentions, Translator, TranslatorConfig
from recipes import commands
from recipes.data import DataError
from recipes.export import load_trained_as
from recipes.translate import evaluate
from recipes.translate.alignment_error import (
    LinkedPair,
    alignment_error_rate,
    by_word,
    by_words,
    hard_links,
    joined,
    read_links,
    spans,
)
from recipes.translate.recipe import RECIPES, recipe
from recipes.translate.sentence_pairs import Sentence


def pair(sure, possible=()) -> LinkedPair:
    return LinkedPair((("a", "b"), ("c", "d")), ("a b", "c d"), frozenset(sure), frozenset(sure) | frozenset(possible))


def test_the_alignment_error_rate_by_hand():
    """Two pairs: 1 - ((1 + 2) + (1 + 1)) / ((2 + 2) + (1 + 1))."""
    gold = [pair({(0, 0), (1, 1)}, {(0, 1)}), pair({(1, 0)})]
    actual = [frozenset({(0, 0), (0, 1)}), frozenset({(1, 0)})]
    assert alignment_error_rate(actual, gold) == pytest.approx(1 - 5 / 6)
    assert alignment_error_rate([one.sure for one in gold], gold) == 0
    assert alignment_error_rate([frozenset({(1, 0)}), frozenset({(0, 1)})], gold) == 1


def test_links_are_read_in_the_form_of_the_shared_task(tmp_path):
    path = tmp_path / "x.tsv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("the cat .\tle chat .\t1-1 2p2 3-3\nIt 's me\tC' est moi\t1-1 2p1\tIt's me\tC'est moi\n")
    first, second = read_links(path)
    assert first.sure == {(0, 0), (2, 2)}
    assert first.possible == {(0, 0), (1, 1), (2, 2)}
    assert first.texts == ("the cat.", "le chat.")
    assert second.texts == ("It's me", "C'est moi")
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("the cat\tle chat\t1:1\n")
    with pytest.raises(DataError, match=r"line 1 of x\.tsv\.gz"):
        read_links(path)


@pytest.mark.parametrize(
    ("words", "language", "text"),
    [
        ("oh , oh !", "en", "oh, oh!"),
        ("oh , oh !", "fr", "oh, oh !"),
        ("the co - operation ( Mr. X ) .", "en", "the co - operation (Mr. X)."),
        ("l' eau qu' il a", "fr", "l'eau qu'il a"),
    ],
)
def test_words_are_joined_as_they_are_written(words, language, text):
    assert joined(words.split(" "), language) == text


def test_words_are_found_in_their_text_and_pieces_in_their_words():
    text = "no, no"
    places = spans(["no", ",", "no"], text)
    assert places == [(0, 2), (2, 3), (4, 6)]
    np.testing.assert_array_equal(by_word([(0, 1), (1, 3), (3, 6)], places), [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])


def test_a_words_pieces_are_added_before_the_strongest_is_taken():
    weights = np.array([[0.4, 0.3, 0.3], [0.1, 0.2, 0.7]])
    source = np.array([[1.0, 0], [0, 1], [0, 1]])
    assert hard_links(by_words(weights, np.eye(2), source)) == {(1, 0), (1, 1)}
    assert hard_links(by_words(weights, np.array([[1.0], [1.0]]), np.eye(3))) == {(2, 0)}
    np.testing.assert_allclose(by_words(weights, np.array([[1.0], [1.0]]), np.eye(3)), weights.mean(axis=0, keepdims=True))


def test_scores_use_every_reference():
    sentences = [Sentence("Hello there.", ("Bonjour à toi .", "Salut à toi .")), Sentence("Go on now.", ("Allez , vas y .",))]
    perfect = evaluate.score(["Salut à toi .", "Allez , vas y ."], sentences)
    assert perfect.bleu == pytest.approx(100)
    assert perfect.chrf == pytest.approx(100)
    assert evaluate.score(["Salut à moi .", "Allez , vas y ."], sentences).bleu < 100
    assert "nrefs:var" in perfect.bleu_signature


@pytest.fixture
def assets(monkeypatch, tmp_path, recipe_of_the_test):
    """A place of its own for what is trained, and a recipe that takes seconds."""
    monkeypatch.setattr("recipes.commands.assets_folder", lambda: tmp_path / "assets")
    monkeypatch.setitem(RECIPES, "tiny", recipe_of_the_test)
    return tmp_path / "assets" / "models" / "tiny"


@pytest.fixture
def recipe_of_the_test(recipe):
    return recipe


def test_from_a_name_to_a_model_and_its_figures(assets, data, tmp_path):
    lines: list[str] = []
    commands.train("tiny", data, tmp_path / "runs", out=assets, epochs=12, report=lambda line: lines.append(str(line)))
    assert lines[-1].startswith(f"saved in {assets}")
    files = {"config.json", "model.safetensors", "source.json", "target.json", "metrics.json"}
    assert {path.name for path in assets.iterdir()} == files
    saved = json.loads((assets / "config.json").read_text(encoding="utf-8"))
    assert saved["recipe"]["schedule"]["epochs"] == 12
    figures: list[str] = []
    actual = commands.evaluate("tiny", data, save=True, report=lambda line: figures.append(str(line)))
    assert (actual["sentences"], actual["references"]) == (22, 23)
    assert actual["BLEU"] > 5
    # The map is known: a word is one word, the mark is last. A trained model finds it.
    assert 0 <= actual["AER in domain"] < 0.5
    metrics = json.loads((assets / "metrics.json").read_text(encoding="utf-8"))
    assert (metrics["epochs trained"], metrics["sentences trained"], metrics["seed"]) == (12, 151, 2014)
    assert metrics["bytes"] == (assets / "model.safetensors").stat().st_size
    text = (assets / "card.md").read_text(encoding="utf-8")
    for words in (
        "www.manythings.org/anki and tatoeba.org",
        "CC-BY-2.0",
        "nrefs:var",
        "bad at",
        f"| BLEU | {metrics['BLEU']:.2f} |",
    ):
        assert words in text
    printed = dict(line.split("  ", 1) for line in figures)
    for name in ("BLEU", "chrF", "BLEU beam 5", "AER in domain"):
        assert f"{metrics[name]:.2f}" == printed[name]
    assert load_trained_as(TranslationModel, assets).card.metrics["BLEU"] == metrics["BLEU"]
    # Measured again, the same: what is measured is what was saved.
    again = evaluate.evaluate_translator(load_trained_as(TranslationModel, assets), data, lambda line: None, beam=Beam(5))
    assert again == actual


def test_what_is_trained_stays_in_its_run_in_few_bits_and_what_travels_is_not_written_over(assets, data, tmp_path):
    from safetensors.torch import load_file

    lines: list[str] = []
    commands.train("tiny", data, tmp_path / "runs", out=None, epochs=1, report=lambda line: lines.append(str(line)))
    folder = tmp_path / "runs" / "tiny"
    assert f"python -m recipes evaluate {folder} --data" in lines[-1]
    weights = load_file(folder / "model.safetensors")
    assert {value.dtype for value in weights.values()} == {torch.float16, torch.uint8, torch.int8}
    assert not assets.exists()
    assert attnviz.load(folder).trace("a").output is not None
    commands.evaluate(str(folder), data, save=True, report=lambda line: None)
    assert (folder / "card.md").is_file()
    # It goes on from there, and reads the subwords that stand there.
    commands.train("tiny", data, tmp_path / "runs", out=None, epochs=1, report=lambda line: None)


def test_a_name_that_is_none_gets_the_nearest():
    with pytest.raises(Exception, match="did you mean bahdanau-en-fr"):
        recipe("bahdanau")


class Pointing(Translator):
    """Its first head looks, in the row that reads word n, at source word n; its second, in the row that writes it."""

    def forward(self, source, inputs, teacher_forcing=1.0):
        batch, n_keys = source.shape
        n_rows = inputs.shape[1]
        reads = torch.eye(n_rows, n_keys).roll(1, 0)
        weights = torch.stack([reads, torch.eye(n_rows, n_keys)]).expand(batch, 2, n_rows, n_keys)
        return torch.zeros(batch, n_rows, self.config.target_vocabulary), Attentions((), (), (weights,))


def test_a_transformer_is_read_where_a_token_is_written_and_where_it_is_read(assets, data, tmp_path):
    commands.train("tiny", data, tmp_path / "runs", out=assets, epochs=1, report=lambda line: None)
    lstm = load_trained_as(TranslationModel, assets)
    sizes = lstm.source.get_vocab_size(), lstm.target.get_vocab_size()
    pointing = Pointing(TranslatorConfig(*sizes, 1, BlockConfig(dim=22, n_heads=2, hidden=13)))
    pairs = [pair for pair in read_links(data / "tatoeba-en-fr.dev.links.tsv.gz") if _whole(lstm, pair)]
    assert len(pairs) > 5
    actual = evaluate.aligned(replace(lstm, model=pointing, card=replace(lstm.card, supervised_head=(0, 0))), pairs)
    assert actual["L0·H0 shifted"] == actual["L0·H1 naive"] == 0
    assert actual["L0·H0 naive"] > 0.5
    assert actual["L0·H1 shifted"] > 0.5
    assert actual["L0·H0 shifted balanced"] == 0
    ways = ("naive", "shifted", "norms naive", "norms shifted")
    readings = {f"L0{part} {way}" for part in ("·H0", "·H1", " mean") for way in ways}
    # A row that looks at one word moves that word alone.
    assert actual["L0·H0 norms shifted"] == 0
    assert set(actual) == {*readings, "L0·H0 shifted balanced"}


def test_what_a_head_carries_is_as_long_as_its_values_behind_its_own_part_of_the_output_matrix():
    torch.manual_seed(11)
    model = Translator(TranslatorConfig(17, 19, 2, BlockConfig(dim=22, n_heads=2, hidden=13))).eval()
    source, inputs = torch.tensor([[5, 6, 7, 8, 9]]), torch.tensor([[1, 4, 5]])
    lengths = evaluate.carried_lengths(model, source)
    for layer, read in enumerate(model.attended(source, inputs)["cross"]):
        attention: Any = read.attention
        values = read.memory[0].detach().numpy() @ attention.value.weight.detach().numpy().T
        values += attention.value.bias.detach().numpy()
        out = attention.output.weight.detach().numpy()
        for head in range(2):
            own = slice(11 * head, 11 * head + 11)
            want = [np.linalg.norm(out[:, own] @ value[own]) for value in values]
            np.testing.assert_allclose(lengths[layer][0, head].detach().numpy(), want, rtol=1e-5)


def _whole(model, pair) -> bool:
    """Whether every word is one piece on both sides."""
    pieces = len(model.source.encode(pair.texts[0]).ids), len(model.target.encode(pair.texts[1]).ids)
    return pieces == (len(pair.words[0]), len(pair.words[1]))
