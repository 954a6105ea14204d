"""`python -m recipes.treebank DEV.conllu.gz`: the sentences that claims are tested on, from UD English EWT."""

import gzip
import sys
from pathlib import Path

from attnviz.settings import assets_folder
from attnviz.text.data_files import split_lines, text_lines

# Shorter sentences have nothing to tell, longer ones are few and slow.
SHORTEST, LONGEST, MOST = 4, 40, 1500


def _sample(text: str) -> str:
    """Keep the first sentences of a treebank that are neither short nor long, and of their words what is read here."""
    kept: list[str] = []
    for block in text.replace("\r\n", "\n").strip("\n").split("\n\n"):
        lines = split_lines(block)
        words = [
            line for line in lines if line[:1].isdigit() and "-" not in line.split("\t")[0] and "." not in line.split("\t")[0]
        ]
        if SHORTEST <= len(words) <= LONGEST and len(kept) < MOST:
            comments = [line for line in lines if line.startswith(("# sent_id", "# text ="))]
            kept.append("\n".join([*comments, *map(_thin, (line for line in lines if not line.startswith("#")))]))
    return "\n\n".join(kept) + "\n\n"


def _thin(line: str) -> str:
    """Leave lemma, language's own tag, features and enhanced relations out of a line."""
    columns = line.split("\t")
    spaces = "SpaceAfter=No" if "SpaceAfter=No" in columns[9] else "_"
    return "\t".join([columns[0], columns[1], "_", columns[3], "_", "_", columns[6], columns[7], "_", spaces])


if __name__ == "__main__":
    made = gzip.compress(_sample("".join(text_lines(Path(sys.argv[1])))).encode(), 9, mtime=0)
    (assets_folder() / "corpora" / "ewt-dev-1500.conllu.gz").write_bytes(made)
