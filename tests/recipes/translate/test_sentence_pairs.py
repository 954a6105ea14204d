"""Reading pairs, cutting them into pieces, and dealing them out."""

import gzip
import random

import pytest
import torch

from recipes.data import DataError
from recipes.translate import bpe
from recipes.translate.sentence_pairs import (
    EncodedPair,
    Sentence,
    Tokenizers,
    all_batches,
    collate,
    deal,
    draw,
    encode_pairs,
    read_pairs,
)

ENGLISH = ["I can't tell you, O'Brien: it's 5 o'clock.", "Tom's twenty-five.", "I'm sure she's here!", "They're 1,998 dogs..."]
FRENCH = [
    "L'eau n'est pas froide, aujourd'hui !",
    "Qu'est-ce que c'est ?",
    "Y a-t-il quelqu'un d'autre ?",
    "Je n'ai vu qu'eux.",
]
PAIRS = [EncodedPair((5,) * length, ((7,) * length, (8,) * (length + 1))) for length in (2, 3, 3, 3, 5, 5, 7)]


def batches_of(pairs, size, seed):
    generator = random.Random(seed)
    return deal(draw(pairs, generator), size, generator)


@pytest.fixture(scope="module")
def tokenizers():
    sentences = [Sentence(text, (translation,)) for text, translation in zip(ENGLISH, FRENCH, strict=True)]
    return Tokenizers.trained(sentences, ("en", "fr"), (127, 131))


def cut(tokenizer, text: str) -> list[str]:
    return [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("I can't.", ["▁I", "▁can't", "."]),
        ("It's Tom's.", ["▁It", "'s", "▁Tom", "'s", "."]),
        ("They'll say I'd won!", ["▁They", "'ll", "▁say", "▁I", "'d", "▁won", "!"]),
        ("5 o'clock, twenty-five", ["▁5", "▁o'clock", ",", "▁twenty", "-five"]),
        ("Wait... 42?", ["▁Wait", "...", "▁4", "2", "?"]),
    ],
)
def test_english_is_cut_into_words_contractions_and_marks(tokenizers, text, pieces):
    assert cut(tokenizers.source, text) == pieces


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Il n'est pas.", ["▁Il", "▁n'", "est", "▁pas", "."]),
        ("L'eau, qu'il a !", ["▁L'", "eau", ",", "▁qu'", "il", "▁a", "▁!"]),
        ("d'aujourd'hui", ["▁d'", "aujourd'hui"]),
        ("Quelqu'un va-t-il ?", ["▁Quelqu'un", "▁va", "-t", "-il", "▁?"]),
        ("C’est lorsqu’on rit", ["▁C'", "est", "▁lorsqu'", "on", "▁rit"]),
    ],
)
def test_french_is_cut_into_words_elisions_and_marks(tokenizers, text, pieces):
    assert cut(tokenizers.target, text) == pieces


def test_every_text_is_rebuilt_from_its_pieces(tokenizers):
    for tokenizer, texts in ((tokenizers.source, ENGLISH), (tokenizers.target, FRENCH)):
        for text in texts:
            assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_no_piece_crosses_a_word(tokenizers):
    for tokenizer, texts in ((tokenizers.source, ENGLISH), (tokenizers.target, FRENCH)):
        for text in texts:
            words = cut(tokenizer, text)
            encoding = tokenizer.encode(text)
            for number, word in enumerate(words):
                mine = [piece for piece, at in zip(encoding.tokens, encoding.word_ids, strict=True) if at == number]
                assert "".join(mine) == word


def test_special_pieces_have_the_ids_that_models_count_on(tokenizers):
    assert [tokenizers.source.id_to_token(index) for index in range(4)] == list(bpe.SPECIAL)
    assert 3 in tokenizers.source.encode("猫").ids


def test_pairs_are_gathered_by_sentence(tmp_path):
    with gzip.open(tmp_path / "x.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("Go.\tVa !\nHi.\tSalut.\nGo.\tAllez !\n")
    assert read_pairs(tmp_path, "x") == [Sentence("Go.", ("Va !", "Allez !")), Sentence("Hi.", ("Salut.",))]


def test_missing_and_broken_files_are_named(tmp_path):
    with pytest.raises(DataError, match=r"there is no x\.tsv\.gz in"):
        read_pairs(tmp_path, "x")
    with gzip.open(tmp_path / "x.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("Go.\tVa !\nHi.\n")
    with pytest.raises(DataError, match=r"line 2 of x\.tsv\.gz is not two texts"):
        read_pairs(tmp_path, "x")


def test_what_is_too_long_is_left_out(tokenizers):
    long = "dog " * 50
    sentences = [Sentence("I'm sure.", ("Je ris.", long)), Sentence(long, ("Je ris.",)), Sentence("Tom.", (long,))]
    (pair,) = encode_pairs(sentences, tokenizers, 40)
    assert tokenizers.source.decode(list(pair.source)) == "I'm sure."
    assert len(pair.targets) == 1


def test_an_epoch_has_every_sentence_once_with_one_of_its_translations():
    batches = batches_of(PAIRS, 2, seed=3)
    assert sum(len(batch.source) for batch in batches) == len(PAIRS)
    for batch in batches:
        assert len(batch.source) <= 2
        # Rows of one source length: no source is ever padded.
        assert (batch.source != 0).all()
        assert torch.equal(batch.inputs[:, 1:], batch.labels[:, :-1].masked_fill(batch.labels[:, :-1] == 2, 0))


def test_the_seed_decides_order_and_choice():
    flat = lambda seed: [batch.labels.tolist() for batch in batches_of(PAIRS, 2, seed)]
    assert flat(3) == flat(3)
    assert flat(3) != flat(5)
    chosen = {batch.labels[0, 0].item() for seed in range(11) for batch in batches_of(PAIRS[:1], 1, seed)}
    assert chosen == {7, 8}


def test_measuring_sees_every_translation():
    assert sum(len(batch.source) for batch in all_batches(PAIRS, 3)) == 2 * len(PAIRS)


def test_rows_are_padded_and_marked():
    batch = collate([((5, 6), (7,)), ((5,), (7, 8, 9))])
    assert batch.source.tolist() == [[5, 6], [5, 0]]
    assert batch.inputs.tolist() == [[1, 7, 0, 0], [1, 7, 8, 9]]
    assert batch.labels.tolist() == [[7, 2, 0, 0], [7, 8, 9, 2]]
