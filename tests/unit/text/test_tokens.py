import itertools
from pathlib import Path
from typing import Any

import pytest
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from attnviz.analysis.head_view import whole_words, word_names
from attnviz.models.hub.minilm import packaged
from attnviz.text.tokens import Encoded, encode, placed_ids
from attnviz.text.words import visible_text
from tests import languages, tiny


@pytest.fixture(scope="module")
def bert() -> Any:
    folder = packaged()
    assert isinstance(folder, Path)
    return hf.AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def byte_level() -> Any:
    """A byte-level tokenizer like GPT-2's, trained on a sentence: it knows few merges, so it splits what is rare."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, special_tokens=["<|end|>"], show_progress=False)
    inner.train_from_iterator(["the cat sat on the mat because the cat was tired"] * 3, trainer)
    return hf.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|end|>")


def typed(encoded: Encoded) -> list[str]:
    return [token.text for token in encoded.tokens if not token.special]


def test_tokens_are_the_text_as_typed_with_the_vocabularys_piece_beside_it(bert: Any) -> None:
    encoded = encode(bert, ["The animal didn't CROSS unbelievableness"])
    text = "The animal didn't CROSS unbelievableness"
    assert [token.text for token in encoded.tokens] == [
        "[CLS]", "The", "animal", "didn", "'", "t", "CROSS", "unbelievable", "ness", "[SEP]"
    ]  # fmt: skip
    assert [token.piece for token in encoded.tokens] == ["", "the", "", "", "", "", "cross", "", "##ness", ""]
    assert [token.word for token in encoded.tokens] == [None, 0, 1, 2, 2, 2, 3, 4, 4, None]
    assert [token.special for token in encoded.tokens] == [True, *[False] * 8, True]
    assert all(text[token.start : token.end] == token.text for token in encoded.tokens if not token.special)
    assert encoded.cuts == (None,)
    assert set(encoded.inputs) == {"input_ids", "token_type_ids", "attention_mask"}
    assert len(encoded) == 10


def test_every_character_belongs_to_a_token_in_every_script(bert: Any, byte_level: Any) -> None:
    assert len(languages.SENTENCES) == 60
    texts = (
        *languages.SENTENCES.values(),
        *languages.ODD,
        "a\x0bb\x0cc",
        "a\r\nb",
        "the the the",
        "<script>alert('a&b')</script>",
    )
    for text in texts:
        for tokenizer in (bert, byte_level, SlowTokenizer()):
            tokens = [token for token in encode(tokenizer, [text]).tokens if not token.special]
            assert tokens
            starts = [token.start for token in tokens]
            assert starts == sorted(starts), text
            for token in tokens:
                assert token.text == (text[token.start : token.end] or token.piece or token.text)
            covered = {index for token in tokens for index in range(token.start, token.end)}
            lost = [ascii(text[index]) for index in range(len(text)) if index not in covered and not text[index].isspace()]
            assert not lost, text


def test_hindi_is_shown_with_its_vowel_signs(bert: Any) -> None:
    encoded = encode(bert, ["मेरे घर में किताबें हैं ❤️"])
    assert [token.text for _, token in whole_words(encoded.tokens)][1:-1] == ["मेरे", "घर", "में", "किताबें", "हैं", "❤️"]
    assert [token.text for token in encoded.tokens][1:-1] == ["मे", "रे", "घर", "में", "क", "ि", "त", "ा", "बें", "हैं", "❤️"]


def test_signs_that_a_tokenizer_drops_belong_to_the_letter_before_or_after_a_space_to_the_next(bert: Any) -> None:
    encoded = encode(bert, ["\u200bthe ca\u200bt \u200dsat\u200b \u200c on"])
    assert [(token.text, token.word) for token in encoded.tokens][1:-1] == [
        ("\u200bthe", 1), ("ca\u200bt", 2), ("\u200dsat\u200b \u200c", 6), ("on", 9)
    ]  # fmt: skip
    # Of a text that was cut, what was not read belongs to no token.
    cut = encode(bert, ["\u0947a\u0947 \u200d b c"], limit=3)
    assert (cut.tokens[1].text, cut.cuts) == ("a\u0947", (3,))


def test_byte_level_pieces_of_one_emoji_share_its_place(byte_level: Any) -> None:
    tokens = encode(byte_level, ["a 🦊"]).tokens
    fox = [token for token in tokens if token.text == "🦊"]
    assert len(fox) > 1
    assert {(token.start, token.end) for token in fox} == {(2, 3)}
    assert all(token.piece for token in fox)


def test_the_space_before_a_word_is_not_part_of_its_label(byte_level: Any) -> None:
    tokens = encode(byte_level, ["the cat"]).tokens
    assert [(token.text, token.start, token.end) for token in tokens] == [("the", 0, 3), ("cat", 4, 7)]
    assert [token.piece for token in tokens] == ["", "Ġcat"]
    assert [token.word for token in tokens] == [0, 1]


def test_the_mark_before_a_text_has_none_of_its_letters() -> None:
    inner = Tokenizer(models.Unigram([("<unk>", 0.0), ("▁", -1.0), ("猫", -1.0), ("▁a", -1.0)], 0, byte_fallback=False))
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    tokens = encode(hf.PreTrainedTokenizerFast(tokenizer_object=inner), ["猫 a"]).tokens
    assert [(token.text, token.start, token.end) for token in tokens] == [("▁", 0, 0), ("猫", 0, 1), ("a", 2, 3)]


def test_a_token_of_space_alone_is_that_space(byte_level: Any) -> None:
    [_, newline, _] = encode(byte_level, ["a\nb"]).tokens
    assert (newline.text, newline.start, newline.end, newline.word, newline.piece) == ("\n", 1, 2, None, "Ċ")


def test_spaces_that_a_tokenizer_trims_from_its_offsets_are_spaces_between_words(byte_level: Any) -> None:
    trimming = hf.PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(byte_level.backend_tokenizer.to_str()))
    trimming.backend_tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    for text in ("  the cat", "the  cat", "the cat  \n sat "):
        assert encode(trimming, [text]).tokens == encode(byte_level, [text]).tokens


def test_pieces_that_share_a_letter_are_of_one_word() -> None:
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    inner.train_from_iterator(
        ["日本"], trainers.BpeTrainer(vocab_size=258, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    )
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=inner)
    tokens = encode(tokenizer, ["日本語"]).tokens
    assert any(one.end > other.start > one.start for one, other in itertools.pairwise(tokens))
    assert [word.text for _, word in whole_words(tokens)] == ["日本", "語"]


def test_spaces_of_bytes_are_shown_as_spaces(byte_level: Any) -> None:
    """Where GPT-2's vocabulary has Ċ, Â and ł, a reader sees the line's end and a space."""
    texts = {"a\n\tb": ["a", "↵", "⇥", "b"], "the cat\u00a0sat": ["the", "cat", "␣", "␣", "sat"], "a \n": ["a", "␣", "↵"]}
    for text, shown in texts.items():
        tokens = encode(byte_level, [text]).tokens
        assert [visible_text(token.text) for token in tokens] == shown
    assert word_names(encode(byte_level, ["a\nb\nc"]).tokens) == ["a", "↵(1)", "b", "↵(2)", "c"]


@pytest.mark.parametrize("name", ["[CLS]", "[SEP]"])
def test_a_special_tokens_name_in_the_text_is_text(bert: Any, name: str) -> None:
    tokens = encode(bert, [f"say {name} now"]).tokens
    assert [token.text for token in tokens][1:-1] == ["say", name, "now"]
    assert [token.special for token in tokens] == [True, False, False, False, True]


def test_an_unknown_word_is_shown_as_typed() -> None:
    tokens = encode(tiny.tokenizer(), ["the ☃ sat"]).tokens
    assert [(token.text, token.piece) for token in tokens] == [
        ("[CLS]", ""),
        ("the", ""),
        ("☃", "[UNK]"),
        ("sat", ""),
        ("[SEP]", ""),
    ]


def test_a_pair_has_two_segments_and_words_counted_in_each(bert: Any) -> None:
    encoded = encode(bert, ["A cat.", "It didn't sit"])
    assert [token.segment for token in encoded.tokens] == [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert [token.word for token in encoded.tokens] == [None, 0, 1, 2, None, 0, 1, 1, 1, 2, None]
    assert encoded.tokens[5].start == 0


def test_long_text_is_cut_and_says_where(bert: Any) -> None:
    text = "one two three four five six"
    encoded = encode(bert, [text], limit=5)
    assert typed(encoded) == ["one", "two", "three"]
    assert encoded.cuts == (text.index(" four"),)
    assert encode(bert, [text], limit=8).cuts == (None,)


def test_of_a_pair_the_longer_text_is_cut_first(bert: Any) -> None:
    first, second = "one two three four five six", "seven eight"
    encoded = encode(bert, [first, second], limit=8)
    assert typed(encoded) == ["one", "two", "three", "seven", "eight"]
    assert encoded.cuts == (len("one two three"), None)


class SlowTokenizer:
    """What encode uses of a tokenizer without offsets."""

    is_fast = False
    all_special_ids = (0, 3)

    def __init__(self, *, types: bool = False) -> None:
        self._inner = tiny.tokenizer()
        self._types = types

    def __call__(self, *texts: str, return_offsets_mapping: bool, **options: Any) -> dict[str, list[int]]:
        assert not return_offsets_mapping
        encoding = dict(self._inner(*texts, **options))
        if not self._types:
            del encoding["token_type_ids"]
        return encoding

    def decode(self, ids: list[int], **options: Any) -> str:
        return self._inner.decode(ids, **options).removeprefix("##")

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return list(self._inner.convert_ids_to_tokens(ids))


@pytest.mark.parametrize("types", [False, True])
@pytest.mark.parametrize("texts", [["The cats sat, sitting by ☃ it"], ["a cat", "The cats sat"], ["the [CLS] cat"]])
def test_a_tokenizer_without_offsets_gives_the_same_tokens(texts: list[str], types: bool) -> None:
    slow, fast = encode(SlowTokenizer(types=types), texts), encode(tiny.tokenizer(), texts)
    assert slow.tokens == fast.tokens
    assert slow.cuts == fast.cuts
    assert "special_tokens_mask" not in slow.inputs


def test_a_cut_text_without_offsets_says_where() -> None:
    text = "the cat sat on the mat"
    assert (
        encode(SlowTokenizer(), [text], limit=5).cuts == encode(tiny.tokenizer(), [text], limit=5).cuts == (len("the cat sat"),)
    )


def test_bytes_stand_where_their_character_does() -> None:
    read = encode(hf.ByT5Tokenizer(), ["Löwe ☃"])
    assert [token.text for token in read.tokens] == ["L", "ö", "ö", "w", "e", " ", "☃", "☃", "☃", "</s>"]
    assert [(token.start, token.end) for token in read.tokens[:4]] == [(0, 1), (1, 2), (1, 2), (2, 3)]
    assert encode(hf.ByT5Tokenizer(), ["é" * 9], limit=7).cuts == (3,)
    with pytest.warns(UserWarning, match="already has </s>"):
        assert typed(encode(hf.ByT5Tokenizer(), ["a </s>"])) == ["a", "</s>"]
    written = placed_ids(hf.ByT5Tokenizer(), read.inputs["input_ids"], "Löwe ☃")
    assert [token.text for token in written] == [token.text for token in read.tokens]


def test_what_a_model_wrote_is_laid_over_its_own_text() -> None:
    tokenizer = tiny.tokenizer(tiny.SEQ2SEQ)
    ids = [0, *tokenizer("the cats ran")["input_ids"]]
    tokens = placed_ids(tokenizer, ids, "the cats ran")
    assert [token.text for token in tokens] == ["[PAD]", "the", "cat", "s", "ran", "[SEP]"]
    assert [token.special for token in tokens] == [True, False, False, False, False, True]
    assert [(token.start, token.end) for token in tokens][1:5] == [(0, 3), (4, 7), (7, 8), (9, 12)]
    assert [token.word for token in tokens] == [None, 0, 1, 1, 2, None]


@pytest.mark.parametrize("text", ["the cat\n\n\tran  far", "\nthe cat", " \n the\n"])
def test_spaces_that_a_model_wrote_are_laid_as_where_they_are_typed(byte_level: Any, text: str) -> None:
    read = encode(byte_level, [text])
    tokens = placed_ids(byte_level, read.inputs["input_ids"], text)
    assert any(not text[token.start : token.end].strip() for token in tokens)
    assert tokens == read.tokens


def test_an_id_that_stands_for_nothing_is_shown_by_its_number() -> None:
    tokenizer = tiny.tokenizer(tiny.SEQ2SEQ)
    [token] = placed_ids(tokenizer, [4999], "")
    assert token.text == "<4999>"


def test_a_target_is_read_as_a_target() -> None:
    class Translator(SlowTokenizer):
        def __call__(self, *texts: str, **options: Any) -> dict[str, list[int]]:
            assert not texts
            return super().__call__(options.pop("text_target"), **options)

    assert typed(encode(Translator(), ["the cat"], target=True)) == ["the", "cat"]


def test_a_mark_that_was_typed_is_read_once(bert: Any) -> None:
    encoded = encode(bert, ["[CLS] the cat sat [SEP]"])
    assert encoded.inputs["input_ids"] == encode(bert, ["the cat sat"]).inputs["input_ids"]
    assert set(map(len, encoded.inputs.values())) == {5}
    assert typed(encoded) == ["the", "cat", "sat"]
    assert [token.start for token in encoded.tokens] == [0, 6, 10, 14, 0]
    # In the middle of a text, or alone, it is what was typed.
    assert typed(encode(bert, ["the [SEP] cat"])) == ["the", "[SEP]", "cat"]
    assert typed(encode(bert, ["[CLS]"])) == ["[CLS]"]
