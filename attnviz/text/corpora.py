"""The sentences that travel with attnviz, those of one's own, and which may stand on a school's projector."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from attnviz.core.errors import CorpusError, PromptError
from attnviz.core.trace import Prompt
from attnviz.settings import assets_folder
from attnviz.text.data_files import ParsedSentence, find_format, read_conllu, split_lines, text_lines
from attnviz.text.winogender import plain_sentence, read_winogender

TREEBANK, WINOGENDER = "ewt", "winogender"
SHIPPED = {TREEBANK: "ewt-dev-1500.conllu.gz", WINOGENDER: "winogender.tsv.gz"}
# Sentences that are typed into a box; a file may have more.
MOST_TYPED = 300


@cache
def shipped(name: str) -> tuple[ParsedSentence, ...]:
    """Read a corpus that travels with attnviz: "ewt", 1,500 sentences with their syntax, or "winogender".

    >>> len(shipped("ewt")), len(shipped("winogender"))
    (1500, 720)

    Raises:
        CorpusError: there is none of that name.
    """
    if name not in SHIPPED:
        raise CorpusError(f"No corpus {name!r} travels with attnviz: choose {' or '.join(SHIPPED)}.")
    path = assets_folder() / "corpora" / SHIPPED[name]
    return (read_conllu if name == TREEBANK else read_winogender)(_read_text(path), path.name)


def random_passages(count: int, n_words: int) -> tuple[str, ...]:
    """Draw passages of the treebank, always the same ones: sentences that follow each other, of so many words together or more.

    >>> [len(passage.split()) >= 30 for passage in random_passages(2, 30)]
    [True, True]
    """
    sentences, passages = shipped(TREEBANK), []
    for start in np.random.default_rng(0).choice(len(sentences) * 3 // 4, count, replace=False).tolist():
        taken: list[str] = []
        for sentence in sentences[start:]:
            taken.append(sentence.text)
            if len(" ".join(taken).split()) >= n_words:
                break
        passages.append(" ".join(taken))
    return tuple(passages)


def corpus(name: str) -> tuple[ParsedSentence, ...]:
    """Read the corpus of that name: a shipped one, a CoNLL-U file, or a text of one sentence a line.

    Raises:
        CorpusError: there is no such corpus, or it cannot be read; the message names the line.
    """
    if name in SHIPPED:
        return shipped(name)
    path = Path(name)
    if not path.is_file():
        raise CorpusError(f"There is no corpus {name!r}: name {' or '.join(SHIPPED)}, CoNLL-U, or a text, one sentence a line.")
    if path.name.removesuffix(".gz").endswith(".conllu"):
        return read_conllu(_read_text(path), path.name)
    form = find_format(path)
    if form.kind == "conllu":
        return read_conllu(_read_text(path), path.name)
    if form.kind in ("squad", "json", "jsonl") or form.heading:
        raise CorpusError(f"{form.description}, and here a text of one sentence a line is wanted, or CoNLL-U.")
    return plain(text_lines(path), path.name)


def plain(lines: Iterable[str], name: str = "this text") -> tuple[ParsedSentence, ...]:
    """Make sentences of lines, of which nothing is known but their words.

    Raises:
        CorpusError: no line holds a word, or one holds what is no text.
    """
    sentences = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            sentences.append(plain_sentence(Prompt(line.strip()).text, f"line {number}"))
        except PromptError as error:
            raise CorpusError(f"{name}, line {number}: {error}") from error
    if not sentences:
        raise CorpusError(f"{name} holds no sentence: write one a line.")
    return tuple(sentences)


def own_sentences(text: str) -> tuple[ParsedSentence, ...]:
    """Make sentences of what somebody typed, one a line.

    Raises:
        CorpusError: there is none, or too many.
    """
    sentences = plain(split_lines(text), "Your text")
    if len(sentences) > MOST_TYPED:
        raise CorpusError(f"These are {len(sentences):,} sentences, and at most {MOST_TYPED} are read here: leave some out.")
    return sentences


def _read_text(path: Path) -> str:
    return "".join(text_lines(path))


# Words of sentences that a school would not project: the treebank's come from blogs, mail and the news.
_UNSUITABLE = re.compile(
    r"\b(?:abus\w*|alcohol\w*|assault\w*|attack\w*|bastard\w*|beer|behead\w*|bitch\w*|bomb\w*|crap\w*|damn\w*|dead|death\w*|"
    r"die[ds]?|drug\w*|drunk\w*|enemy|explosi\w*|fuck\w*|gun\w*|hell|idiot\w*|insurgen\w*|jail\w*|kill\w*|milita\w*|missile\w*|"
    r"murder\w*|nazi\w*|nuclear|porn\w*|prison\w*|rap(?:e|ed|es|ist)|sex\w*|shit\w*|shoot\w*|shot|slaughter\w*|stupid\w*|"
    r"suck\w*|suicid\w*|terror\w*|tortur\w*|troops|victim\w*|violen\w*|wars?|weapon\w*|liberal revisionist)\b",
    re.IGNORECASE,
)


def is_suitable(text: str) -> bool:
    """Say whether a sentence may stand on a school's projector: it has none of a short list of words.

    >>> is_suitable("Try googling it for more info."), is_suitable("They call it a covert nuclear weapons program.")
    (True, False)
    """
    return not _UNSUITABLE.search(text)
