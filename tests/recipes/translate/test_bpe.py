"""Where words are cut before subwords are learned: the same in what is trained and in what is shipped, and never slow."""

import json
import random
import time

import pytest
from tokenizers import Regex, Tokenizer, pre_tokenizers

from attnviz.settings import assets_folder
from recipes.translate.bpe import PATTERNS, untrained_tokenizer

SHIPPED = sorted(path for name in ("source", "target") for path in (assets_folder() / "models").glob(f"*/{name}.json"))
# As they were written when the models were trained. Of classes of letters without case Oniguruma makes choices without end.
TRAINED = {
    "en": r"(?i)[▁-]?[\p{L}\p{M}]+(?=['](?:s|m|re|ve|ll|d)(?![\p{L}\p{M}]))|['](?:s|m|re|ve|ll|d)(?![\p{L}\p{M}])"
    r"|[▁-]?[\p{L}\p{M}]+(?:'[\p{L}\p{M}]+)*|▁?\p{N}|▁?([^\p{L}\p{M}\p{N}▁])\1*",
    "fr": r"(?i)(?:[▁-]|(?<![\p{L}\p{M}]))(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)'(?=[\p{L}\p{M}])"
    r"|[▁-]?[\p{L}\p{M}]+(?:'[\p{L}\p{M}]+)*|▁?\p{N}|▁?([^\p{L}\p{M}\p{N}▁])\1*",
}
LETTERS = "aabcdeESsfttTLqu''' --▁.!!??99ⅧßﬀŉİıſKⒶⓐ\u0301\u0345éÉ“—"


@pytest.mark.parametrize("path", SHIPPED, ids=["/".join(path.parts[-2:]) for path in SHIPPED])
def test_what_is_shipped_cuts_as_what_is_trained(path):
    (split,) = (each for each in json.loads(path.read_text(encoding="utf-8"))["pre_tokenizer"]["pretokenizers"]
                if each["type"] == "Split")  # fmt: skip
    source, target = path.parent.name.split("-")[-2:]
    assert split["pattern"]["Regex"] == PATTERNS[source if path.stem == "source" else target]


@pytest.mark.parametrize("language", TRAINED)
def test_words_are_cut_as_when_the_models_were_trained(language):
    trained = pre_tokenizers.Split(Regex(TRAINED[language]), "isolated")
    present = pre_tokenizers.Split(Regex(PATTERNS[language]), "isolated")
    draw = random.Random(1)
    texts = ["".join(draw.choice(LETTERS) for _ in range(draw.randint(1, 14))) for _ in range(2000)]
    for text in ["I'm sure they'll say it's Tess's.", "L'âne qu'il A VU, c'est aujourd'hui", "O'Neill's ⒶⓐⒶ!!", *texts]:
        assert present.pre_tokenize_str(text) == trained.pre_tokenize_str(text), text


@pytest.mark.parametrize("language", PATTERNS)
@pytest.mark.parametrize("repeated", ["s", "f", "st", "'s", "s'", "ß", "-", "!"])
def test_no_repetition_takes_long(language, repeated):
    split = untrained_tokenizer(language).pre_tokenizer
    for times in (17, 20_000):
        began = time.thread_time()
        split.pre_tokenize_str("The snake said hi" + repeated * times + "!")
        assert time.thread_time() - began < 1


def test_a_snake_may_hiss_for_as_long_as_it_likes():
    tokenizer = Tokenizer.from_file(str(assets_folder() / "models" / "transformer-en-fr" / "source.json"))
    for times in (*range(10, 30), 99_980):
        text = "The snake said hi" + "s" * times
        assert tokenizer.decode(tokenizer.encode(text).ids) == text
