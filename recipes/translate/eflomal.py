"""Links between the words of a corpus, drawn by the statistical aligner eflomal (Östling & Tiedemann 2016).

They supervise one attention head (`recipes.translate.supervised_head`), and alignments are measured against them in
domain. eflomal is a program of its own, and no part of attnviz: `pip install eflomal` puts it on the path.
"""

import gzip
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

from attnviz.core import whole_files
from recipes.data import DataError
from recipes.translate import bpe
from recipes.translate.recipe import Corpus
from recipes.translate.sentence_pairs import read_pairs

SPLITS = ("train", "dev")


def words(tokenizer: Tokenizer, text: str) -> list[str]:
    """Cut a text into the words that no subword crosses, as `recipes.translate.bpe` cuts them.

    >>> words(bpe.untrained_tokenizer("fr"), "Il n’est pas là !")
    ['Il', "n'", 'est', 'pas', 'là', '!']
    """
    cut = tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))
    return [word for piece, _ in cut if (word := piece.replace(bpe.SPACE, ""))]


def link(corpus: Corpus, data: Path, folder: Path, report: Callable[[str], None]) -> None:
    """Write `corpus`.train.links.tsv.gz and `corpus`.dev.links.tsv.gz, as `alignment_error.read_links` reads them.

    What both directions of the aligner agree on is sure, what only one of them finds is possible.

    Raises:
        DataError: the corpus is not there, or eflomal is not installed.
    """
    aligner = shutil.which("eflomal-align")
    if aligner is None:
        raise DataError("to link words, install the aligner eflomal: pip install eflomal")
    pairs = [
        (split, (sentence.text, translation))
        for split in SPLITS
        for sentence in read_pairs(data, f"{corpus.name}.{split}")
        for translation in sentence.translations
    ]
    blanks = [bpe.untrained_tokenizer(language) for language in corpus.languages]
    cut = [[words(blank, text) for blank, text in zip(blanks, texts, strict=True)] for _, texts in pairs]
    forward, backward = _aligned(aligner, cut)
    folder.mkdir(parents=True, exist_ok=True)
    rows = zip(pairs, cut, forward, backward, strict=True)
    for split in SPLITS:
        path = folder / f"{corpus.name}.{split}.links.tsv.gz"
        count = sum(1 for one, _ in pairs if one == split)
        with whole_files.replacing(path) as whole, gzip.open(whole, "wt", encoding="utf-8") as file:
            for (_, texts), both, one, other in islice(rows, count):
                plain = [blank.normalizer.normalize_str(text) for blank, text in zip(blanks, texts, strict=True)]
                file.write("\t".join((" ".join(both[0]), " ".join(both[1]), _links(one, other), *plain)) + "\n")
        report(f"{count} pairs linked in {path}")


def _aligned(aligner: str, cut: Sequence[Sequence[Sequence[str]]]) -> tuple[list[str], list[str]]:
    """Run the aligner over every pair in both directions, and return its links as it writes them: `0-0 1-2`."""
    with tempfile.TemporaryDirectory() as name:
        source, target, forward, backward = (Path(name) / part for part in ("source", "target", "forward", "backward"))
        for side, path in enumerate((source, target)):
            path.write_text("".join(" ".join(both[side]).lower() + "\n" for both in cut), encoding="utf-8")
        command = [aligner, "--model", "3", "-s", source, "-t", target, "-f", forward, "-r", backward]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        lines = [path.read_text(encoding="utf-8").splitlines() for path in (forward, backward)]
    return lines[0], lines[1]


def _links(forward: str, backward: str) -> str:
    one, other = ({tuple(map(int, link.split("-"))) for link in links.split()} for links in (forward, backward))
    return " ".join(f"{i + 1}{'-' if (i, j) in one & other else 'p'}{j + 1}" for i, j in sorted(one | other))
