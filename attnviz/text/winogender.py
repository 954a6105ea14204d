"""Sentences with a pronoun whose antecedent is known: Winogender (Rudinger et al. 2018, NAACL), 720 of them.

One line a sentence: `occupation.participant.answer.gender.txt TAB sentence`. The answer is 0 where the pronoun stands for the
occupation, 1 where it stands for the other person.
"""

import re

from attnviz.core.errors import CorpusError
from attnviz.text.data_files import ParsedSentence, ParsedWord, split_lines
from attnviz.text.words import Words

_PRONOUNS = {"he", "she", "they", "him", "her", "them", "his", "their"}
_NAME = re.compile(r"([a-z ]+)\.([a-z ]+)\.([01])\.(male|female|neutral)\.txt")


def read_winogender(text: str, name: str = "this file") -> tuple[ParsedSentence, ...]:
    """Read all sentences.

    Raises:
        CorpusError: a line is none of Winogender; the message has its number.

    >>> line = "clerk.visitor.1.female.txt\\tThe clerk told the visitor that she could pay."
    >>> sentence, = read_winogender(line)
    >>> [sentence.words[place].text for place in (sentence.pronoun, sentence.antecedent)]
    ['she', 'visitor']
    """
    lines = [(number, line) for number, line in enumerate(split_lines(text), start=1) if line.strip()]
    return tuple(_sentence(line, f"{name}, line {number}") for number, line in lines if not line.startswith("sentid\t"))


def _sentence(line: str, where: str) -> ParsedSentence:
    key, _, text = line.partition("\t")
    if not (match := _NAME.fullmatch(key)) or not text.strip():
        raise CorpusError(f"{where}: this is no sentence of Winogender, occupation.participant.answer.gender.txt TAB sentence.")
    sentence = plain_sentence(text, key)
    words = [word.text.lower() for word in sentence.words]
    meant = match[1 + int(match[3])].split()[-1]
    pronouns = [index for index, word in enumerate(words) if word in _PRONOUNS]
    if not pronouns or meant not in words:
        raise CorpusError(f"{where}: this sentence has no pronoun, or not the word {meant!r} that it stands for.")
    return ParsedSentence(text, sentence.words, key, pronouns[0], words.index(meant))


def plain_sentence(text: str, name: str = "") -> ParsedSentence:
    """Cut a text into words of which nothing else is known."""
    words = tuple(ParsedWord(text[start:end], start, end, pos="", relation="") for start, end in Words.of(text).spans)
    return ParsedSentence(text, words, name)
