"""`attnviz ablate`: which heads matter, over a file of texts; a killed run goes on where it stopped."""

import argparse
import csv
import gzip
import io
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.analysis.bootstrap import intervals
from attnviz.core import disk
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import AttnvizError, PromptError
from attnviz.core.trace import Prompt
from attnviz.models import catalog

_EPILOG = """examples:
  attnviz ablate transformer-en-fr --data pairs.tsv --limit 300 --out heads.csv
  attnviz ablate minilm --data sentences.txt
  attnviz ablate transformer-en-fr --data pairs.tsv --edits c1.0z c1.0m "c0.0z,c1.0z"

FILE is .tsv (a text, a tab, what the model is to write), .jsonl (text or context, question, target) or .txt (a text a line);
any may end in .gz. Each row of the table is the mean over the file: what it costs, in nats a piece of the output, or as the
cosine distance of the last states, with a 95% interval (bootstrap over texts).

exit codes: 0 done; 1 it could not be done, and why is on stderr; 2 the command was not understood."""
COLUMNS = ("condition", "edits", "cost", "low", "high")
Conditions = dict[str, Edits]


def add(commands: Any) -> None:
    """Adds the command."""
    ablate = commands.add_parser(
        "ablate", help="which heads matter, over a file", epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ablate.add_argument("model", help="a name of `attnviz models`, a Hugging Face id, or a folder")
    ablate.add_argument("--data", type=Path, required=True, metavar="FILE", help="the texts")
    ablate.add_argument("--limit", type=int, metavar="N", help="read the first N texts (default: all)")
    ablate.add_argument("--to", choices=("zero", "mean", "uniform"), default="zero", help="what a head is set to")
    ablate.add_argument("--edits", nargs="+", metavar="EDITS", help="measure these instead of every head, layer and kind")
    ablate.add_argument("--out", type=Path, metavar="CSV", help="write the table here too; CSV.jsonl keeps what is done")
    ablate.set_defaults(command=ablate_file)


def ablate_file(arguments: argparse.Namespace) -> int:
    """Measure every condition on every text, and print the table."""
    # Imported here: the command's help must not wait for torch.
    from attnviz.models.scoring import scorer_for

    prompts = list(islice(read_prompts(arguments.data), arguments.limit))
    if not prompts:
        raise AttnvizError(f"There is no text in {arguments.data}: give a file with one a line.")
    model = catalog.load(arguments.model, progress=_report)
    conditions = {text: Edits.parse(text) for text in arguments.edits} if arguments.edits else _conditions(model, arguments.to)
    rows = [NO_EDITS, *conditions.values()]
    header = {"model": model.card.name, "revision": model.card.revision, "edits": [edits.text for edits in rows]}
    with _Journal(arguments.out, header) as journal:
        for number, prompt in enumerate(prompts):
            key = json.dumps([prompt.text, prompt.question, prompt.target])
            if key not in journal.done:
                scorer = scorer_for(model, prompt)
                journal.note(key, scorer.n_pieces, scorer.scores(rows).tolist())
            _report(f"{arguments.data.name}: {number + 1} of {len(prompts)}", (number + 1) / len(prompts))
        measured = [journal.done[json.dumps([prompt.text, prompt.question, prompt.target])] for prompt in prompts]
    table = _table(conditions, np.array([row for _, row in measured]), np.array([float(count) for count, _ in measured]))
    if arguments.out:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([COLUMNS, *table])
        disk.write(arguments.out, buffer.getvalue())
    print("\n".join(_lines(table)))
    return 0


def read_prompts(path: Path) -> Iterator[Prompt]:
    """Read the prompts of a file, one a line.

    Raises:
        AttnvizError: the file cannot be read, or a line is none; the message has its number.
    """
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _prompt(line.rstrip("\r\n"), suffixes[-1] if suffixes else "", f"Line {number} of {path.name}")
    except UnicodeDecodeError as error:
        raise AttnvizError(f"{path.name} is no text in UTF-8: convert it first.") from error
    except OSError as error:
        raise AttnvizError(f"{path} cannot be read ({error.strerror or error}): check its path.") from error


def _prompt(line: str, suffix: str, where: str) -> Prompt:
    try:
        if suffix == ".jsonl":
            record = json.loads(line)
            return Prompt(record.get("text") or record["context"], question=record.get("question"), target=record.get("target"))
        if suffix == ".tsv":
            text, target = line.split("\t")[:2]
            return Prompt(text, target=target)
        return Prompt(line)
    except PromptError as error:
        raise AttnvizError(f"{where} cannot be read: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AttnvizError(f"{where} is not as a {suffix} file has it: see attnviz ablate --help.") from error


def _conditions(model: Any, to: Any) -> Conditions:
    """List every head alone, all heads of a layer, all of a kind, and all of a kind but one."""
    from attnviz.models.ablate.head_costs import every_head, without

    heads = every_head(model)
    conditions: Conditions = {f"{kind} L{layer}·H{head}": without([(kind, layer, head)], to) for kind, layer, head in heads}
    for kind in dict.fromkeys(kind for kind, _, _ in heads):
        mine = [place for place in heads if place[0] == kind]
        for layer in sorted({place[1] for place in mine}):
            conditions[f"{kind} L{layer}, all heads"] = without([place for place in mine if place[1] == layer], to)
        conditions[f"{kind}, all heads"] = without(mine, to)
        for one in mine:
            conditions[f"{kind}, all heads but L{one[1]}·H{one[2]}"] = without([place for place in mine if place != one], to)
    return {name: edits for name, edits in conditions.items() if edits}


class _Journal:
    """What is measured already, in a file beside the table: a line a text, as soon as it is known."""

    def __init__(self, out: Path | None, header: dict[str, Any]) -> None:
        self.path, self.header = None if out is None else out.with_name(f"{out.name}.jsonl"), header
        self.done: dict[str, tuple[int, list[float]]] = {}
        self._file: Any = None

    def __enter__(self) -> "_Journal":
        if self.path is None:
            return self
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
        if lines and _record(lines[0]) == self.header:
            # The last line of a run that was killed may be half of one.
            records = [record for line in lines[1:] if isinstance(record := _record(line), list)]
            self.done = {key: (count, scores) for key, count, scores in records}
        kept = [self.header, *([key, *row] for key, row in self.done.items())]
        disk.write(self.path, "".join(json.dumps(record) + "\n" for record in kept))
        self._file = self.path.open("a", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def note(self, key: str, count: int, scores: Sequence[float]) -> None:
        self.done[key] = (count, list(scores))
        if self._file:
            self._file.write(json.dumps([key, count, list(scores)]) + "\n")
            self._file.flush()


def _record(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _table(conditions: Conditions, scores: np.ndarray, counts: np.ndarray) -> list[tuple[str, ...]]:
    """What each condition costs a piece, the dearest first; before them what the model has without edits."""
    falls = scores[:, :1] - scores
    totals = np.concatenate([-scores[:, :1], falls[:, 1:]], axis=1)
    means, (low, high) = totals.sum(axis=0) / counts.sum(), intervals(totals, counts)
    rows = [("as it is", "", means[0], low[0], high[0])]
    for place in 1 + np.argsort(-means[1:], kind="stable"):
        name = list(conditions)[place - 1]
        rows.append((name, conditions[name].text, means[place], low[place], high[place]))
    return [(name, edits, *(f"{number:.4f}" for number in numbers)) for name, edits, *numbers in rows]


def _lines(table: Sequence[tuple[str, ...]]) -> Iterator[str]:
    width = max(len(row[0]) for row in table) + 2
    yield f"{'':<{width}}{'cost':>9}   95% of texts like these"
    for number, (name, _, cost, low, high) in enumerate(table):
        sign = "" if number == 0 or cost.startswith("-") else "+"
        yield f"{name:<{width}}{sign + cost:>9}   {low} to {high}"


def _report(stage: str, fraction: float | None) -> None:
    if fraction is None or sys.stderr.isatty():
        print(f"\r{stage}", end="\n" if fraction is None or fraction >= 1 else "", file=sys.stderr, flush=True)
