"""Subwords by byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909) that respect words, clitics and punctuation.

What a piece may hold decides what attention can point at. A piece "pas." would mix two alignments in one row; here no piece
crosses from a word to the mark after it, and the elided words of French (l', qu'), like the contractions of English ('m, 's),
are pieces of their own. "▁" marks a piece with a space before it, so that a text is rebuilt from its pieces exactly.
"""

from collections.abc import Iterable
from typing import Literal

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

Language = Literal["en", "fr", "de"]
# Their positions are their ids: the models know 0 as padding, and start and end a target with 1 and 2.
SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
SPACE = "▁"
_LETTER = r"[\p{L}\p{M}]"
# Whether a letter is large or small is left open only where letters are named: Oniguruma reads a whole class of letters without
# case as "one of these, or ss, or ff, or st …" (ß, ﬀ, ﬆ), and tries every way to part "hissssss" into them, 2^n for n of s.
_SHORT = rf"'(?i:s|m|re|ve|ll|d)(?!{_LETTER})"
_ELIDED = r"(?i:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)"
# In order of preference: what is cut off a word, words (a hyphen stays with what follows it), single digits, runs of one mark.
_WORD = rf"[{SPACE}-]?{_LETTER}+(?:'{_LETTER}+)*"
_REST = rf"{SPACE}?\p{{N}}|{SPACE}?([^\p{{L}}\p{{M}}\p{{N}}{SPACE}])(?i:\1*)"
PATTERNS = {
    "en": rf"[{SPACE}-]?{_LETTER}+(?={_SHORT})|{_SHORT}|{_WORD}|{_REST}",
    "fr": rf"(?:[{SPACE}-]|(?<!{_LETTER})){_ELIDED}'(?={_LETTER})|{_WORD}|{_REST}",
    "de": rf"{_WORD}|{_REST}",
}


def untrained_tokenizer(language: Language) -> Tokenizer:
    """Make a tokenizer that has learned nothing yet, but knows where words end."""
    tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL[3], fuse_unk=True))
    # One form for each character, and plain apostrophes and spaces: what looks alike should read alike.
    plain = [normalizers.NFC(), normalizers.Replace("’", "'"), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    tokenizer.normalizer = normalizers.Sequence(plain)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(SPACE, prepend_scheme="always", split=False),
            pre_tokenizers.Split(Regex(PATTERNS[language]), "isolated"),
        ]
    )
    tokenizer.decoder = decoders.Metaspace(SPACE, prepend_scheme="always", split=False)
    return tokenizer


def train_tokenizer(texts: Iterable[str], language: Language, n_pieces: int) -> Tokenizer:
    """Train a tokenizer of `n_pieces`, special ones counted, learned from texts of one language.

    >>> tokenizer = train_tokenizer(["J'ai faim.", "Il n'a pas faim !"], "fr", 48)
    >>> tokenizer.decode(tokenizer.encode("Il n'a pas faim !").ids)
    "Il n'a pas faim !"
    """
    tokenizer = untrained_tokenizer(language)
    trainer = trainers.BpeTrainer(vocab_size=n_pieces, special_tokens=list(SPECIAL), limit_alphabet=128, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
